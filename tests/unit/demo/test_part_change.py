# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo makes of a run while it runs."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.demo.part_change import (
    API_SERVER,
    KUBELET_TASK,
    NODES_TASK,
    ChangeObserver,
    _claim_manifests,
)
from ansible_collections.nodecraft.kubeadm.demo.story import Story
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab
from ansible_collections.nodecraft.kubeadm.lab.waiting import Waiting
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

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
def observer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChangeObserver:
    monkeypatch.delenv("MAKE_BEGAN", raising=False)
    return ChangeObserver(Story(Lab("demo", "1.32", 1, 2), tmp_path, 3), "planning", 5)


def test_each_change_is_reported_at_once_and_the_first_one_is_the_first_effect(
    observer: ChangeObserver, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = Waiting("planning")
    observer.on_event(transaction("static_pod", name=API_SERVER), waiting)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("   demo-cp1: kube-apiserver, rehearsal accepted in 1.0 s; committed after 9 s")
    assert lines[1:3] == ["     - a", "     + b"]
    assert lines[3].startswith("   first effect after 0 s: kube-apiserver of demo-cp1 runs with InPlace")
    observer.on_event(transaction("static_pod", name=API_SERVER, node="demo-cp2"), waiting)
    assert "first effect" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "file"), [(KUBELET_TASK, "node_kubelet/tasks/batch.yml"), (NODES_TASK, "node_resources/tasks/nodes.yml")]
)
def test_the_tasks_are_those_of_the_roles(name: str, file: str) -> None:
    assert f"- name: {name}\n" in (ROOT / "roles" / file).read_text(encoding="utf-8")


def test_what_only_plans_is_not_what_changes(observer: ChangeObserver) -> None:
    waiting = Waiting("planning")
    for name in (NODES_TASK, "Change the nodes that need it, one after the other"):
        observer.on_event(task(name), waiting)
        assert waiting._what == "planning"
    observer.on_event(task(KUBELET_TASK), waiting)
    observer.on_event(transaction("kubelet"), waiting)
    assert waiting._what.startswith("the kubelets restart")
    observer.on_event(task(NODES_TASK), waiting)
    assert waiting._what.startswith("the API gets taint")


PLUGINS = "    - --enable-admission-plugins=NodeRestriction"


def manifest(*lines: str) -> Json:
    return {"mode": "0600", "owner": [0, 0], "lines": [f"{line}\n" for line in ("kind: Pod", *lines)]}


BEFORE: Json = {
    "etcd.yaml": manifest(),
    "kube-apiserver.yaml": manifest(PLUGINS),
    "kube-controller-manager.yaml": manifest(),
    "kube-scheduler.yaml": manifest(),
}
AFTER: Json = {
    **BEFORE,
    "kube-apiserver.yaml": manifest(f"{PLUGINS},ExtendedResourceToleration", f"    - --feature-gates={GATE}=true"),
}
CHANGED: dict[str, Json] = {
    "the controller manager": {"kube-controller-manager.yaml": manifest("    - --profiling=true")},
    "garbage in the API server": {"kube-apiserver.yaml": manifest("garbage")},
    "a line more of the API server": {
        "kube-apiserver.yaml": manifest(
            f"{PLUGINS},ExtendedResourceToleration", f"    - --feature-gates={GATE}=true", "# x"
        )
    },
    "three other lines of the API server": {"kube-apiserver.yaml": manifest("a", "b")},
    "an owner": {"kube-apiserver.yaml": {**AFTER["kube-apiserver.yaml"], "owner": [1, 1]}},
    "a mode": {"etcd.yaml": {**BEFORE["etcd.yaml"], "mode": "0644"}},
    "another file": {"kube-apiserver.yaml~": manifest()},
}


def broken_claims(directory: Path, after: Json, node: str) -> list[str]:
    """The broken claims when one control plane of two has these manifests."""
    story = Story(Lab("x", "1.32", 2, 2), directory, 3)
    snapshots = [{name: {"manifests": copy.deepcopy(part)} for name in ("x-cp1", "x-cp2")} for part in (BEFORE, AFTER)]
    snapshots[1][node]["manifests"] = after
    _claim_manifests(story, snapshots[0], snapshots[1])
    return story.broken_claims


def test_manifests_with_what_was_requested_are_as_claimed(tmp_path: Path) -> None:
    assert broken_claims(tmp_path, AFTER, "x-cp1") == []


@pytest.mark.parametrize("node", ["x-cp1", "x-cp2"])
@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_whatever_else_differs_in_a_manifest_breaks_the_claim(change: Json, node: str, tmp_path: Path) -> None:
    assert len(broken_claims(tmp_path, {**AFTER, **change}, node)) == 1


@pytest.mark.parametrize("file", AFTER)
def test_a_manifest_that_is_gone_breaks_the_claim(file: str, tmp_path: Path) -> None:
    assert len(broken_claims(tmp_path, {name: AFTER[name] for name in AFTER if name != file}, "x-cp2")) == 1
