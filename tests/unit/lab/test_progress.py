# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person sees of the lab's playbooks."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.lab.callback import progress


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"msg": "Lab x is there\n and differs."}, "Lab x is there and differs."),
        (
            {"msg": "non-zero return code", "stderr": "a\nno space left on device\n"},
            "non-zero return code: no space left on device",
        ),
        ({"msg": "non-zero return code", "stdout": "lost"}, "non-zero return code: lost"),
        ({}, "failed"),
    ],
    ids=["message", "command", "command without errors", "nothing"],
)
def test_a_failure_is_one_line(result: dict[str, str], told: str) -> None:
    assert progress.reason(result) == told
