# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a program says of the lab that it made, and whose labs it removes."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab.labs import OwnedLab
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab


class RecordingLab(Lab):
    """Keeps which playbooks were run, and fails at one of them."""

    played: t.ClassVar[list[tuple[str, dict[str, t.Any]]]] = []
    fails: t.ClassVar[str] = ""

    def play(
        self, playbook: str, log: Path, *, show: bool = False, seconds_after: float = 0, **variables: t.Any
    ) -> None:
        self.played.append((playbook, variables))
        if playbook == self.fails:
            raise SystemExit(f"{playbook} failed")


@pytest.fixture(autouse=True)
def nothing_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordingLab, "played", [])


def owned() -> OwnedLab:
    return OwnedLab(RecordingLab("x", "1.99", 1, 2), "demo")


def test_what_is_requested_is_checked_before_anything_is_removed(tmp_path: Path) -> None:
    owned().start(tmp_path / "log")
    (down, without_usage), (up, with_usage) = RecordingLab.played
    assert (down, up) == ("down", "up")
    assert without_usage == {
        "lab_program": "demo",
        "lab_kubernetes": "1.99",
        "lab_control_planes": 1,
        "lab_workers": 2,
        "lab_grace_seconds": 30,
        "lab_node_status_seconds": 10,
    }
    assert with_usage == {**without_usage, "lab_show_usage": False}


def test_what_was_refused_is_not_removed_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(RecordingLab, "fails", "down")
    lab = owned()
    with pytest.raises(SystemExit):
        lab.start(tmp_path / "log")
    lab.remove(tmp_path / "log")
    assert [playbook for playbook, _variables in RecordingLab.played] == ["down"]
    assert capsys.readouterr().out == "Interrupted.\n"


def test_a_lab_is_removed_when_that_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = owned()
    lab.start(tmp_path / "log")
    lab.remove(tmp_path / "log")
    assert RecordingLab.played[-1] == ("down", {})
    start_line, end_line = capsys.readouterr().out.splitlines()
    assert start_line.startswith("Interrupted: lab x is being removed (usually 5 s)")
    assert end_line == "Lab x is removed."
