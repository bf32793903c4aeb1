# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter as a template uses it."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.control_plane_absence import FilterModule


def test_it_returns_what_a_template_can_read() -> None:
    absence = FilterModule().filters()["control_plane_absence"]
    assert absence([], [], {}) == {"warning": "", "refusal": ""}
    assert set(absence(["cp1"], [], {"a": 1})) == {"warning", "refusal"}
