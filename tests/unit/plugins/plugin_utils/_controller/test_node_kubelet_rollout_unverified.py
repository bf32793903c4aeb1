# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet whose change stands and was not verified to the end: it is observed first by the next run, and no run leaves it out."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import Call, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import NO_LOSSES, Kubelets, nodes_result
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_runs import DONE, IDLE, SILENT, advertising, run

LOG = "the pod's log"
WORKS: Json = {"steps": {LOG: ""}, "unverified": ""}
NO_LOG: Json = {"steps": {LOG: "405"}, "unverified": ""}
UNMADE: Json = {"steps": {}, "unverified": "check mode makes no object"}
BEFORE: Json = {"canary": [LOG], "allocatable": {"a/b": 2}}
UNVERIFIED: Json = {**IDLE, "previous_transaction": {"id": "t1", "outcome": "committed", "observed_before": BEFORE}}
RESUME: Json = {"variables": {"node_kubelet_resume": True}}


def next_run(canary: Json | None = None, devices: int = 2, plan: Json | None = None, **more: t.Any) -> Kubelets:
    """A run behind one that ended before it had verified w1."""
    resources = {"a/b": {"allocatable": str(devices), "device_plugin": True}}
    results = {
        "node_canary": canary or WORKS,
        "node_resource_info": lambda call: nodes_result(call, w1={"extended_resources": resources}),
    }
    return run("cp1", "w1", "w2", **{"plans": {"cp1": IDLE, "w1": plan or UNVERIFIED}, "results": results, **more})


def query_of(found: Kubelets, state: str) -> Json:
    (call,) = [call for call in found.play.calls("rollout_lease") if call.arguments["state"] == state]
    return call.arguments


def acknowledged(found: Kubelets) -> list[str]:
    """The transactions that count as reported."""
    calls = [call.arguments for call in found.play.calls("node_transaction")]
    return [each["id"] for each in calls if not {"wait", "problem"} & set(each)]


def test_what_works_is_observed_once_and_the_run_goes_on() -> None:
    found = next_run()
    assert (found.failures, found.changed) == ({}, ["w2"])
    first = found.play.calls("node_canary")[0].arguments
    assert (first["node"], first["name"].rpartition("-")[0]) == ("w1", "kubelet-again")
    assert "t1" in acknowledged(found)
    assert "w1 kubelet: a change of an earlier run that was not followed to its end: committed" in found.lines
    assert "whether device plugins offer what they did" not in found.lines


@pytest.mark.parametrize(
    ("canary", "devices", "problem"),
    [
        (NO_LOG, 2, "what worked before does not: the pod's log (405)"),
        (WORKS, 1, "device plugins offer less than before: a/b is 1, expected 2"),
    ],
)
@pytest.mark.parametrize("others", ["idle", "changing"])
def test_what_is_lost_refuses_the_run_until_it_is_resumed(
    canary: Json, devices: int, problem: str, others: str
) -> None:
    plans = {"cp1": IDLE, "w1": UNVERIFIED, **({"w2": IDLE} if others == "idle" else {})}
    found = next_run(canary, devices, plans=plans)
    assert (found.changed, acknowledged(found)) == ([], [])
    failure = found.failures["w1 end"]
    assert "no run has verified its last change to the end (transaction t1), and " in failure
    assert problem in failure
    assert "run with -e node_kubelet_resume=true" in failure
    again = next_run(canary, devices, plans=plans, **RESUME)
    assert (again.failures, again.changed) == ({}, ["w2"] if others == "changing" else [])
    assert "t1" in acknowledged(again)


def test_pods_that_ended_are_not_observed_again_and_need_a_person() -> None:
    previous = {**UNVERIFIED["previous_transaction"], "problem": "its restart ended 1 of 2 pods: default/p (OutOfcpu)"}
    plans = {"cp1": IDLE, "w1": {**UNVERIFIED, "previous_transaction": previous}, "w2": IDLE}
    found = next_run(plans=plans)
    assert "(transaction t1), and its restart ended 1 of 2 pods: default/p (OutOfcpu). Set" in found.failures["w1 end"]
    assert acknowledged(found) == []
    again = next_run(plans=plans, **RESUME)
    assert (again.failures, acknowledged(again)) == ({}, ["t1"])


def test_another_desired_state_of_the_node_is_no_reason_to_wait() -> None:
    found = next_run(NO_LOG, plan={**UNVERIFIED, "operations": [{"field": "args", "key": "v", "after": ["5"]}]})
    assert (found.failures, found.changed) == ({}, ["w1", "w2"])


def test_check_mode_names_what_it_does_not_observe() -> None:
    found = next_run(UNMADE, check_mode=True)
    assert found.failures == {}
    assert "w1 kubelet: not verified: whether it starts pods: check mode makes no object" in found.lines


def test_without_a_canary_before_nothing_is_started_again() -> None:
    previous = {**UNVERIFIED["previous_transaction"], "observed_before": None}
    found = next_run(plan={**UNVERIFIED, "previous_transaction": previous}, check_mode=True)
    assert (found.failures, found.play.calls("node_canary")) == ({}, [])


@pytest.mark.parametrize("outcome", ["rolled_back", "alarm"])
def test_a_change_that_does_not_stand_is_not_observed_again(outcome: str) -> None:
    previous = {**UNVERIFIED["previous_transaction"], "outcome": outcome}
    found = next_run(plan={**UNVERIFIED, "previous_transaction": previous}, check_mode=True)
    assert found.play.calls("node_canary") == []


def test_the_account_needs_the_rights_for_what_is_observed_again() -> None:
    more = {"w1": {"node_kubelet_canary_namespace": "of-w1"}, "w2": {"node_kubelet_canary": False}}
    (call,) = next_run(each=more).play.calls("access_info")
    assert {each["namespace"] for each in call.arguments["rights"]} >= {"of-w1"}


# ---- the run before ----------------------------------------------------------------------------------------------------


def test_the_node_has_what_was_observed_before_its_change() -> None:
    found = run("w1", results={"node_canary": NO_LOG, "node_resource_info": advertising("w1", 2)})
    assert found.result("turn", "w1")["observed_before"] == {"canary": [], "allocatable": {"a/b": 2}}


def loses(call: Call) -> Json:
    """An API that shows a pod that the restarted kubelet of w1 ended."""
    losses = {**NO_LOSSES, "lost": [{"pod": "default/p", "reason": "OutOfcpu"}]}
    return nodes_result(call, **({"w1": {"losses": losses}} if "running_before" in call.arguments else {}))


@pytest.mark.parametrize(
    ("info", "mark", "ended"),
    [
        (loses, "pods of w1", "its restart ended 1 of 2 pods: default/p (OutOfcpu)"),
        (lambda call: SILENT if "running_before" in call.arguments else nodes_result(call), "w1", ""),
    ],
)
def test_a_node_that_was_not_verified_stays_on_the_lease(info: t.Any, mark: str, ended: str) -> None:
    found = run("w1", "w2", results={"node_resource_info": info})
    assert found.changed == ["w1"]
    released = query_of(found, "halted")
    assert (released["node"], released["intents"]) == ("w1", [mark])
    assert released["reason"] == (ended or found.failures["w1 conclude"])
    assert acknowledged(found) == []
    kept = [(call.on, call.arguments["problem"]) for call in found.play.calls("node_transaction")]
    assert kept == ([("w1", ended)] if ended else [])


def test_a_run_is_refused_by_the_marks_of_nodes_that_it_leaves_out() -> None:
    def nodes(call: Call) -> Json:
        return nodes_result(call, w9={"labels": {}})

    found = run("w1", "w2", plans={"w2": IDLE}, results={"node_resource_info": nodes})
    assert query_of(found, "held")["intents"] == ["w9", "pods of w9", "pods of w2"]
    assert query_of(found, "released")["completed"] is True


def test_a_run_that_did_not_come_to_its_end_leaves_the_mark_of_another() -> None:
    failed = {"changed": True, "failed": True, "msg": "it is restored"}
    found = run("w1", "w2", changes={"w1": failed, "w2": DONE})
    assert query_of(found, "released")["completed"] is False
