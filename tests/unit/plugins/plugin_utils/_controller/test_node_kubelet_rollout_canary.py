# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role observes of a changed kubelet while its node waits, and that the node ends the change by that."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import Call, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import Kubelets, nodes_result
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_runs import DIFFERENT, FAILED, run

WAITS: Json = {"changed": True, "node": "w1", "transaction": {"id": "t1", "phase": "observing"}}
STEPS = ("the creation of a pod", "the pod at the API", "the start of the pod", "the pod's log", "the end of the pod")
WORKS: Json = {"steps": dict.fromkeys(STEPS, ""), "unverified": ""}
NO_LOG: Json = {"steps": {**dict.fromkeys(STEPS[:3], ""), "the pod's log": "502"}, "unverified": ""}
UNSTARTED: Json = {"steps": {**dict.fromkeys(STEPS[:2], ""), "the start of the pod": "no sandbox"}, "unverified": ""}
REFUSED: Json = {"steps": {"the creation of a pod": "exceeded quota"}, "unverified": ""}
UNPULLED: Json = {"steps": dict.fromkeys(STEPS[:2], ""), "unverified": "its image cannot be pulled: no such host"}
SILENT: Json = {"failed": True, "msg": "no API server answers."}


def ended(call: Call) -> Json:
    """A node that ends its change by what it is handed."""
    losses = call.arguments.get("losses")
    outcome = "rolled_back" if losses else "committed"
    transaction: Json = {
        "id": "t1",
        "outcome": outcome,
        "reason": losses,
        "healthy": True,
        "log": [],
        "proof": {"unverified": []},
    }
    return {"phase": "closed", "message": outcome, "running": False, "transaction": transaction}


def observed(*observations: Json, changes: t.Mapping[str, Json] | None = None, **more: t.Any) -> Kubelets:
    """A run over one node whose canary shows this before and after its change."""
    results = {"node_canary": list(observations), "node_transaction": ended, **more.pop("results", {})}
    return run(
        "cp1",
        "w1",
        "w2",
        plans={"cp1": {"operations": []}},
        changes={"w1": WAITS, "w2": WAITS} | dict(changes or {}),
        results=results,
        **more,
    )


def answers(found: Kubelets) -> list[tuple[str, t.Any]]:
    """What each node was handed of its change."""
    return [
        (call.on, call.arguments["losses"])
        for call in found.play.calls("node_transaction")
        if "observed" in call.arguments
    ]


def test_what_works_is_committed() -> None:
    found = observed(WORKS)
    assert answers(found) == [("w1", ""), ("w2", "")]
    assert not found.failures
    assert "not verified" not in found.lines
    calls = found.play.calls("node_canary")
    assert [(call.on, call.arguments["node"], call.arguments["timeout"]) for call in calls] == [
        ("cp1", "w1", 30),
        ("cp1", "w1", 120),
        ("cp1", "w2", 30),
        ("cp1", "w2", 120),
    ]
    assert calls[0].arguments["image"] == "registry.k8s.io/pause:3.10"
    assert len({call.arguments["name"] for call in calls}) == 4


@pytest.mark.parametrize(
    ("after", "lost"), [(NO_LOG, "the pod's log (502)"), (UNSTARTED, "the start of the pod (no sandbox)")]
)
def test_what_is_lost_is_rolled_back_and_stops_the_rollout(after: Json, lost: str) -> None:
    found = observed(WORKS, after)
    assert answers(found) == [("w1", f"what worked before does not: {lost}")]
    assert found.changed == ["w1"]
    assert (
        f"kubelet on w1: what worked before does not: {lost}; the change was rolled back"
        in found.failures["w1 conclude"]
    )
    assert found.report("w1")["transaction"]["outcome"] == "rolled_back"
    assert found.report("w1")["changed"] is False
    assert f"w1: kubelet on w1: what worked before does not: {lost}" in found.lines


def test_what_did_not_work_before_is_no_loss_and_named() -> None:
    found = observed(NO_LOG, NO_LOG, NO_LOG, NO_LOG)
    assert answers(found) == [("w1", ""), ("w2", "")]
    assert "not verified: whether it starts pods: not before the change either (the pod's log: 502)" in found.lines


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (REFUSED, "the creation of a pod (exceeded quota)"),
        (UNPULLED, "its image cannot be pulled: no such host"),
        (SILENT, "no API server answers."),
    ],
)
def test_what_others_refuse_is_no_loss_and_named(after: Json, why: str) -> None:
    found = observed(WORKS, after, WORKS, after)
    assert answers(found) == [("w1", ""), ("w2", "")]
    assert f"not verified: whether it starts pods: {why.rstrip('.')}" in found.lines


def test_a_kubelet_that_uses_something_else_is_rolled_back() -> None:
    results = {
        "node_resource_info": lambda call: nodes_result(
            call, **(DIFFERENT if call.arguments.get("nodes") == ["w1"] else {})
        )
    }
    found = observed(WORKS, results=results, variables={"node_kubelet_config": {"maxPods": 50}})
    assert "config maxPods is 110, not 50" in answers(found)[0][1]
    assert "Nothing was rolled back" not in found.failures["w1 conclude"]
    assert found.report("w1")["transaction"]["outcome"] == "rolled_back"


def test_a_node_that_failed_does_not_keep_others_from_being_observed() -> None:
    found = observed(WORKS, changes={"w1": FAILED}, variables={"node_kubelet_max_unavailable": 2})
    assert answers(found) == [("w2", "")]
    assert "it is restored" in found.failures["w1 conclude"]
    assert found.report("w2")["transaction"]["outcome"] == "committed"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"variables": {"node_kubelet_canary": False}}, "node_kubelet_canary is false"),
        (
            {"plans": {"w1": {"sandbox_image": None}}},
            "no image is known to be on the node; node_kubelet_canary_image names one",
        ),
        ({"plans": {"w1": {"problem": "it is down"}}}, "it did not work before the change, so nothing can be compared"),
    ],
)
def test_what_is_not_observed_is_named(options: Json, why: str) -> None:
    found = run("cp1", "w1", **{"plans": {}, **options})
    assert f"whether it starts pods: {why}" in found.lines


def test_check_mode_starts_no_pod() -> None:
    found = observed(WORKS, check_mode=True)
    assert found.play.calls("node_canary") == []


def test_an_answer_that_does_not_arrive_is_given_again() -> None:
    busy: Json = {"failed": True, "msg": "waits for no observation: it is in phase waiting"}
    results = [busy, busy, ended(Call("", "", "", {"losses": ""}, False))]
    found = observed(WORKS, results={"node_transaction": results})
    assert ["observed" in call.arguments for call in found.play.calls("node_transaction")][:3] == [True, True, True]
    assert found.report("w1")["transaction"]["outcome"] == "committed"


def test_an_end_that_is_not_seen_fails_the_node() -> None:
    open_still: Json = {"phase": "observing", "message": "waits", "running": True, "transaction": None}
    found = observed(WORKS, results={"node_transaction": open_still})
    assert found.failures["w1 conclude"].startswith("the end of transaction t1 was not seen")
    assert found.changed == ["w1"]
