# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role sees behind the restart of a kubelet: what became of its pods, and what its device plugins offer again."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import Call, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import NO_LOSSES, nodes_result
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_runs import (
    DIFFERENT,
    SILENT,
    advertising,
    node_queries,
    role_run,
    run,
)


def loses(node: str, **losses: t.Any) -> t.Callable[[Call], Json]:
    """An API that shows pods that a restarted kubelet ended."""
    return lambda call: nodes_result(
        call, **({node: {"losses": {**NO_LOSSES, **losses}}} if "running_before" in call.arguments else {})
    )


@pytest.mark.parametrize("kind", ["lost", "restarted"])
def test_pods_that_a_restart_ended_stop_the_rollout_and_are_named(kind: str) -> None:
    ended = {"pod": "default/p", "reason": "UnexpectedAdmissionError: no devices"}
    found = run("cp1", "w1", "w2", results={"node_resource_info": loses("w1", **{kind: [ended]})})
    assert found.changed == ["cp1", "w1"]
    problem = found.failures["w1 conclude"]
    assert "its restart ended 1 of 2 pods: default/p (UnexpectedAdmissionError: no devices)." in problem
    assert "Nothing was rolled back" in problem
    assert f"4 pods, {int(kind == 'lost')} lost, {int(kind == 'restarted')} restarted" in found.lines
    assert "cp1, w1 kubelet + --v=5 (committed; " in found.lines
    assert f"w1: {problem}" in found.lines


def test_pods_that_were_deleted_during_a_restart_are_not_verified() -> None:
    found = run("cp1", "w1", "w2", results={"node_resource_info": loses("w1", deleted=["default/p"])})
    assert found.changed == ["cp1", "w1", "w2"]
    assert "w1 kubelet: not verified: whether its restart ended pods: default/p does not exist any more" in found.lines
    assert found.lines.count("not verified") == 1


def test_pods_with_containers_of_an_unknown_end_are_not_verified() -> None:
    found = run("cp1", "w1", results={"node_resource_info": loses("w1", unknown=["default/p"])})
    unverified = "whether its restart ended pods: containers of default/p ended, and nothing shows how"
    assert f"w1 kubelet: not verified: {unverified}" in found.lines
    assert found.lines.count("not verified") == 1


def test_pods_that_are_not_shown_after_a_restart_stop_the_rollout() -> None:
    results = {"node_resource_info": lambda call: SILENT if "running_before" in call.arguments else nodes_result(call)}
    found = run("cp1", "w1", results=results)
    assert found.changed == ["cp1"]
    assert (
        "the API does not show what became of the pods that ran there: no credentials."
        in found.failures["cp1 conclude"]
    )


def test_pods_that_could_not_be_read_before_a_restart_are_not_verified() -> None:
    results = {"node_resource_info": lambda call: SILENT if call.arguments.get("running") else nodes_result(call)}
    found = run("cp1", "w1", results=results)
    assert found.changed == ["cp1", "w1"]
    assert "WARNING: cp1, w1 kubelet: not verified: whether its restart ended pods: no credentials" in found.lines


# There is no sleep between two queries, of which there are two.
BRISK: Json = {"node_kubelet_allocatable_timeout": 2}


@pytest.mark.parametrize(
    ("numbers", "queries", "problem"),
    [
        ((4, 4), 1, ""),
        ((4, 5), 1, ""),
        ((4, 0, 4), 2, ""),
        ((4, "silent", 4), 2, ""),
        (
            (4, 3),
            3,
            "2 s later device plugins have less allocatable there than before: a/b is 3, expected 4",
        ),
        ((4, None), 3, "a/b is 0, expected 4"),
        ((4, "silent"), 3, "the API does not show whether device plugins advertise there"),
        ((0,), 1, ""),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_a_restarted_kubelet_is_waited_for_until_it_offers_its_devices_again(
    numbers: tuple[t.Any, ...], queries: int, problem: str, force: bool
) -> None:
    each = {"w1": {"node_kubelet_force": force}}
    results = {"node_resource_info": advertising("w1", *numbers)}
    found = run("cp1", "w1", "w2", each=each, variables=BRISK, results=results)
    assert sum(each.get("nodes") == ["w1"] for each in node_queries(found)) == queries
    assert problem in found.failures.get("w1 conclude", "")
    assert found.changed == ["cp1", "w1", *([] if problem else ["w2"])]
    # Who offered nothing before is not waited for.
    assert sum(each.get("nodes") == ["w2"] for each in node_queries(found)) == (0 if problem else 1)


@pytest.mark.parametrize("variable", ["node_kubelet_allocatable_timeout", "node_kubelet_check_api"])
def test_devices_may_be_excluded(variable: str) -> None:
    results = {"node_resource_info": advertising("w1", 4, 0)}
    found = run("w1", groups={}, variables={variable: 0}, results=results)
    assert (found.failures, found.changed) == ({}, ["w1"])
    assert f"not verified: whether device plugins offer what they did: {variable} is " in found.lines


def test_devices_that_may_be_excluded_are_not_judged_by_what_is_compared() -> None:
    variables = {"node_kubelet_allocatable_timeout": 0}
    found = role_run("w1", groups={}, variables=variables, results={"node_resource_info": advertising("w1", 4, 0)})
    found.set_desired(config={"maxPods": 50})
    found.run()
    assert (found.failures, found.changed) == ({}, ["w1"])


def test_a_kubelet_that_uses_something_else_is_reported_before_its_devices() -> None:
    offers = advertising("w1", 4, 0)
    results = {
        "node_resource_info": lambda call: (
            {**offers(call), **nodes_result(call, **DIFFERENT)} if call.arguments.get("kubelets") else offers(call)
        )
    }
    found = role_run("w1", groups={}, variables=BRISK, results=results)
    found.set_desired(config={"maxPods": 50})
    found.run()
    assert "config maxPods is 110, not 50" in found.failures["w1 conclude"]


def test_what_was_not_changed_in_its_turn_is_compared_all_the_same() -> None:
    """Such as what an earlier run changed, whose transaction this turn only ended."""
    changes = {"w1": {"changed": False}}
    found = role_run("w1", groups={}, changes=changes, results={"node_resource_info": advertising("w1", 4)})
    found.set_desired(config={"maxPods": 50})
    found.run()
    assert found.failures == {}
    assert (found.report("w1")["failed"], found.report("w1")["started"]) == (False, True)
    assert node_queries(found)[-1]["kubelets"] == {"w1": {"feature_gates": {}, "config": {"maxPods": 50}}}
