# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role refuses before anything is written."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_role import OURS, D, Play


def test_a_configuration_that_the_plugin_would_refuse_is_refused_before_anything_is_queried(play: Play) -> None:
    """The plugin's own reader refuses that, on the controller."""
    config = {"resources": [{"name": D, "discover": [{"fake": {"count": "x"}}], "preference": "best"}]}
    outcome = play({**OURS, "device_plugin_config": config, "device_plugin_expected": []})
    assert outcome.status != 0
    expected = [
        "Nothing was changed. device_plugin_config is not valid (lines are those of its ConfigMap): ",
        "line 6: resources[0].discover[0].fake.count: invalid value 'x': must be an integer, 0 or more",
        "line 7: resources[0].preference: invalid value 'best': must be one of packed, spread",
    ]
    assert [words for words in expected if words not in outcome.output] == []
    assert outcome.calls == []
