# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read out of records of Ansible, as each ansible-core writes them."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.lab.runs import Run

Json = dict[str, t.Any]

TRANSACTION = {"outcome": "restored", "seconds": 61.2, "outage_seconds": 3.44}
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
    loop = result(results=[{"msg": "fine", "failed": False}, {"msg": "left out", "skipped": True}])
    assert record({"cp1": result(msg="fine", failed=False), "cp2": loop}).reasons == []


def test_only_the_results_of_the_modules_that_are_asked_for() -> None:
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


def test_changed_counts_all_hosts() -> None:
    assert record(stats={"cp1": {"changed": 2}, "w1": {"changed": 0}, "localhost": {"changed": 1}}).changed == 3
