# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person sees of the lab's playbooks."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from ansible_collections.nodecraft.kubeadm.lab.callback import progress
from ansible_collections.nodecraft.kubeadm.lab.programs import USUAL_SECONDS, Progress
from ansible_collections.nodecraft.kubeadm.lab.waiting import minutes_left
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT


@pytest.mark.parametrize(
    ("result", "expected"),
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
def test_a_failure_is_one_line(result: dict[str, str], expected: str) -> None:
    assert progress.failure_reason(result) == expected


class Playing(progress.CallbackModule):
    """The callback while a release is made whose programs are in a directory, or being compiled."""

    def __init__(self, directory: Path, compiled: Progress | None) -> None:
        release = mock.Mock(directory=directory, progress=compiled)
        super().__init__()
        self._watch.close()
        self._release = release


def test_minutes_left_are_those_of_build_lab_and_what_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "AFTERWARDS", 180.0)
    compiling = Playing(tmp_path / "missing", Progress(0, 100, 0))
    assert compiling._time_left() == minutes_left(USUAL_SECONDS + progress.LAB_SECONDS + 180)
    assert compiling._state() == "0 of up to 100 packages compiled"
    compiled = Playing(tmp_path, None)
    assert (compiled._time_left(), compiled._state()) == ("about 4 min left", "")


def test_minutes_left_are_reported_of_no_other_playbook(tmp_path: Path) -> None:
    other = Playing(tmp_path, None)
    other._release = None
    assert (other._time_left(), other._state()) == ("", "")


def test_the_first_play_is_that_of_a_lab_that_starts() -> None:
    assert f"- name: {progress.FIRST_PLAY}\n" in (ROOT / "lab/up.yml").read_text(encoding="utf-8")
