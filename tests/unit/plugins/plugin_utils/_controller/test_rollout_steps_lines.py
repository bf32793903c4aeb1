# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the lines of a summary are printed."""

from __future__ import annotations

import pytest
from ansible import constants
from ansible.utils.display import Display
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.rollout_steps import print_lines


@pytest.mark.parametrize(
    ("callback", "original", "printed"),
    [
        ("default", "", True),
        ("minimal", "", True),
        ("ansible.posix.jsonl", "", False),
        # ansible-runner sets its own and hands the output to the one that the user configured.
        ("awx_display", "default", True),
        ("awx_display", "ansible.posix.json", False),
    ],
)
def test_what_programs_read_gets_no_lines(
    callback: str, original: str, printed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not what comes out: 2.22 hides what any test before this one has called a secret.
    output: list[str] = []
    monkeypatch.setattr(Display, "display", lambda _display, text: output.append(text))
    monkeypatch.setattr(constants.config, "get_config_value", lambda _name: callback)
    monkeypatch.setenv("ORIGINAL_STDOUT_CALLBACK", original)
    print_lines(["Changed: 1 operation"])
    assert output == (["Changed: 1 operation"] if printed else [])
