# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo makes of a run while it runs."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.demo.part_change import COMPONENTS, ChangeFollower
from ansible_collections.nodecraft.kubeadm.demo.story import Story
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab
from ansible_collections.nodecraft.kubeadm.lab.waiting import Waiting

Json = dict[str, t.Any]

GATE = "InPlacePodVerticalScaling"


def task(name: str) -> Json:
    return {"event": "task", "name": f"nodecraft.kubeadm.x : {name}"}


def transaction(action: str, **result: t.Any) -> Json:
    ended = {"outcome": "committed", "seconds": 9.0, "outage_seconds": 2.0, "proof": {"feature_gates": {GATE: True}}}
    text = {"before": "a\n", "after": "b\n"}
    rehearsal = {"verdict": "accepted", "seconds": 1.0}
    found = {"node": "demo-cp1", "transaction": ended, "rehearsal": rehearsal, "diff": [text], **result}
    return {"event": "transaction", "action": action, "result": found}


@pytest.fixture
def follower(tmp_path: Path) -> ChangeFollower:
    return ChangeFollower(Story(Lab("demo", "1.32", 1, 2), tmp_path, 3), "planning", 5, COMPONENTS)


def test_each_component_is_told_at_once_and_the_first_one_is_the_first_effect(
    follower: ChangeFollower, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = Waiting("planning")
    follower.on_event(task("Change demo-cp1"), waiting)
    assert waiting._what == "demo-cp1: kube-apiserver restarts with its gate"
    follower.on_event(transaction("static_pod", name="kube-apiserver"), waiting)
    assert waiting._what == "kube-scheduler restarts with its gate"
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("   demo-cp1: kube-apiserver, rehearsal accepted in 1.0 s; committed after 9 s")
    assert lines[1:3] == ["     - a", "     + b"]
    assert lines[3].startswith("   first effect after 0 s: kube-apiserver of demo-cp1 runs with InPlace")
    for name in COMPONENTS[1:]:
        follower.on_event(transaction("static_pod", name=name), waiting)
    assert "first effect" not in capsys.readouterr().out


def test_what_only_plans_is_not_what_changes(follower: ChangeFollower) -> None:
    waiting = Waiting("planning")
    for name in ("Taint the nodes", "Change the nodes that need it, one after the other"):
        follower.on_event(task(name), waiting)
        assert waiting._what == "planning"
    follower.on_event(task("Change the kubelet"), waiting)
    follower.on_event(transaction("kubelet"), waiting)
    assert waiting._what.startswith("the kubelets restart")
    follower.on_event(task("Taint the nodes"), waiting)
    assert waiting._what.startswith("the API gets taint")
