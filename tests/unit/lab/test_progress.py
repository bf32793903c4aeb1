# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person sees of the lab's playbooks."""

from __future__ import annotations

import threading

import pytest
from ansible_collections.nodecraft.kubeadm.lab.callback import progress


class Lines(list[str]):
    """What was said, and a way to wait for the next of it."""

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self.wanted = wanted
        self.full = threading.Event()

    def __call__(self, text: str) -> None:
        self.append(text)
        if len(self) == self.wanted:
            self.full.set()


def test_a_task_that_takes_long_is_told_and_how_far_it_is() -> None:
    lines = Lines(3)
    seconds = iter((0.0, 20.0, 35.0, 50.0))
    waiting = progress.Waiting(
        lines, lambda: "7 of up to 9 packages compiled", clock=lambda: next(seconds, 60.0), patience=0, period=0
    )
    waiting.begin("Build 1 of 6, the Kubernetes programs (usually 5 minutes)")
    assert lines.full.wait(10)
    waiting.end()
    assert lines[:3] == [
        "Build 1 of 6, the Kubernetes programs (usually 5 minutes)",
        "   20 s, 7 of up to 9 packages compiled",
        "   35 s, 7 of up to 9 packages compiled",
    ]


def test_a_quick_task_is_not_told() -> None:
    lines = Lines(1)
    waiting = progress.Waiting(lines, str, patience=3600)
    waiting.begin("Check the name")
    waiting.begin("Check the request")
    waiting.end()
    assert lines == []


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
