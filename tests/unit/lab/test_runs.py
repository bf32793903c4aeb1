# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read out of records of Ansible, as each ansible-core writes them, and out of a cluster."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab import runs
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab, Run

Json = dict[str, t.Any]

TRANSACTION = {"outcome": "rolled_back", "seconds": 61.2, "outage_seconds": 3.44}
# A loop that failed at its second item. Up to ansible-core 2.20 a failed item says so; 2.21 leaves only its exception.
FAILED_ITEM = {
    "2.20": {"failed": True, "msg": "no such gate", "transaction": TRANSACTION},
    "2.20, with a traceback": {
        "failed": True,
        "exception": "Traceback",
        "msg": "no such gate",
        "transaction": TRANSACTION,
    },
    "2.21": {"exception": "(traceback unavailable)", "msg": "no such gate", "transaction": TRANSACTION},
}


def record(*tasks: t.Mapping[str, Json], stats: Json | None = None) -> Run:
    """A run of one play. tasks: host -> its result, each."""
    return Run(2, 1.0, {"plays": [{"tasks": [{"hosts": dict(hosts)} for hosts in tasks]}], "stats": stats or {}})


def result(action: str = "nodecraft.kubeadm.static_pod", **more: t.Any) -> Json:
    return {"action": action, "changed": False, **more}


@pytest.mark.parametrize("item", FAILED_ITEM.values(), ids=FAILED_ITEM)
def test_a_failed_item_of_a_loop_gives_the_reason(item: Json) -> None:
    loop = result(results=[{"msg": "all is well"}, item], msg="One or more items failed", failed=True)
    assert record({"cp1": loop}).reasons == ["no such gate"]


@pytest.mark.parametrize("item", FAILED_ITEM.values(), ids=FAILED_ITEM)
def test_a_failed_item_of_a_loop_is_a_change_with_its_node(item: Json) -> None:
    loop = result(results=[{"msg": "nothing to do"}, item], failed=True)
    assert record({"cp1": loop}).changes("static_pod") == [{**item, "host": "cp1"}]


def test_a_task_without_a_loop_gives_its_reason_once() -> None:
    failed = result(failed=True, msg="no such gate")
    run = record({"cp1": result(msg="fine")}, {"cp1": failed, "cp2": failed}, {"cp3": result(failed=True)})
    assert run.reasons == ["no such gate"]


def test_what_went_well_gives_no_reason() -> None:
    loop = result(results=[{"msg": "fine", "failed": False}, {"msg": "skipped", "skipped": True}])
    assert record({"cp1": result(msg="fine", failed=False), "cp2": loop}).reasons == []


def test_only_the_results_of_the_modules_that_are_requested() -> None:
    run = record(
        {"cp1": result(n=1), "cp2": result("nodecraft.kubeadm.kubelet", n=2)},
        {"cp1": result("ansible.builtin.debug", n=3), "cp2": {"n": 4}},
        {"localhost": result("nodecraft.kubeadm.node_taint", results=[{"n": 5}, {"n": 6}])},
    )
    assert [one["n"] for one in run.results("static_pod", "node_taint")] == [1, 5, 6]
    assert [one["host"] for one in run.results("kubelet")] == ["cp2"]


def test_changes_are_results_with_a_transaction() -> None:
    run = record({"cp1": result(transaction=None), "cp2": result(transaction=TRANSACTION), "cp3": result()})
    assert [one["host"] for one in run.changes("static_pod")] == ["cp2"]


def test_the_lines_of_a_run_are_those_of_its_last_step() -> None:
    step = "nodecraft.kubeadm.rollout"
    ends = {"cp1": result(step, lines=["a note of the role"]), "w1": result(step, lines=None)}
    summary, after = (
        {"cp1": result(step, lines=["Nothing to change on 2 nodes"])},
        {"cp1": result("debug", lines=["x"])},
    )
    assert record(ends, summary, after).lines == ["Nothing to change on 2 nodes"]
    assert record(ends).lines == []
    assert record().lines == []


def test_changed_counts_all_hosts() -> None:
    assert record(stats={"cp1": {"changed": 2}, "w1": {"changed": 0}, "localhost": {"changed": 1}}).changed == 3


@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_kubectl_reaches_the_lab_past_a_proxy(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "ROOT", tmp_path)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv(name, "own.example")
    lab = Lab("x", "1.37", 1, 2)
    lab.directory.mkdir(parents=True)
    (lab.directory / "kubeconfig").write_text("    server: https://192.0.2.11:6443\n", encoding="utf-8")
    (lab.directory / "kubectl").write_text(f'#!/bin/sh\necho "${name}"\n', encoding="utf-8")
    (lab.directory / "kubectl").chmod(0o755)
    assert lab.kubectl("get", "nodes") == "192.0.2.11,own.example\n"


NODE: Json = {
    "metadata": {"name": "w1", "labels": {}, "annotations": {}},
    "spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]},
    "status": {"capacity": {"cpu": "2"}},
}


class LabWithNode(Lab):
    """It has one node."""

    node: t.ClassVar[Json] = NODE

    def get(self, *arguments: str) -> Json:
        return {"items": [self.node]}


@pytest.mark.parametrize(
    ("place", "value", "differs"),
    [
        ("spec", {}, False),
        ("spec", {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}, False),
        ("spec", {"unschedulable": True}, True),
        ("spec", {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]}, True),
        ("status", {"capacity": {"cpu": "2", "example.com/unit": "4"}}, True),
    ],
    ids=["ready", "unreachable", "cordoned", "out of service", "device of a plugin"],
)
def test_observation_of_a_node_sees_all_but_what_its_conditions_bring(
    place: str, value: Json, differs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = LabWithNode("x", "1.37", 1, 2)
    before = lab.node_objects()
    monkeypatch.setattr(LabWithNode, "node", {**NODE, place: value})
    assert (lab.node_objects() != before) == differs
