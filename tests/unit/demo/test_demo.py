# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo refuses before it begins, and how it ends."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.demo import demo
from ansible_collections.nodecraft.kubeadm.demo.story import Story
from ansible_collections.nodecraft.kubeadm.lab.labs import OwnedLab
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab


@pytest.mark.parametrize("workers", [1, 3])
def test_a_lab_on_which_its_pods_would_not_do_as_claimed_is_refused(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: object) -> t.NoReturn:
        pytest.fail("The lab was made.")

    monkeypatch.setattr(Lab, "recreate", start)
    args = argparse.Namespace(
        standing=False, output=tmp_path, leave_out=[], second_runs=False, min_ready_seconds=1, ssh=False
    )
    with pytest.raises(SystemExit, match=rf"^invalid WORKERS {workers}: must be 2"):
        demo.show_demo(args, OwnedLab(Lab("x", "1.37", 1, workers), "demo"))


class DemoRun:
    """The demo as a program, with one part, on a lab whose playbooks are only noted."""

    def __init__(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, part: t.Callable[[Story], None], *arguments: str
    ) -> None:
        self.played: list[str] = []
        for name, value in {"LAB": "x", "K8S": "1.37", "CONTROL_PLANES": "1", "WORKERS": "2"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["demo.py", f"--output={directory}", *arguments])
        monkeypatch.setattr(demo, "PARTS", {"pods": part})
        monkeypatch.setattr(demo, "end_with_parent", lambda: self.played.append("the end of the parent is watched"))
        monkeypatch.setattr(Lab, "play", lambda _lab, playbook, *_args, **_options: self.played.append(playbook))
        self.status = demo.main()


@pytest.mark.parametrize(("holds", "status"), [(True, 0), (False, 1)])
def test_a_claim_that_does_not_hold_fails_the_demo(
    holds: bool, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = DemoRun(tmp_path, monkeypatch, lambda story: story.claim(holds, "so it is"))
    assert run.status == status
    assert capsys.readouterr().err == ("" if holds else "1 claim(s) did not hold.\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_removes_the_lab_that_it_made(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = DemoRun(tmp_path, monkeypatch, lambda _story: os.kill(os.getpid(), number))
    assert run.status == 130
    assert run.played == ["the end of the parent is watched", "down", "up", "down"]


def test_an_interrupted_demo_leaves_a_lab_that_stood_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = DemoRun(tmp_path, monkeypatch, lambda _story: os.kill(os.getpid(), signal.SIGINT), "--standing")
    assert run.status == 130
    assert run.played == ["the end of the parent is watched"]
