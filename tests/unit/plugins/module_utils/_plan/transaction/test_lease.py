# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What there is to do about a Lease: free, ours, another run's, run out, halted."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import lease as rollout_lease
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.lease import (
    Halt,
    LeasePlan,
    LeaseRequest,
)

Json = dict[str, t.Any]
NOW = 1_800_000_000.0
US = LeaseRequest(holder="us@here/1", duration=100, intents=("w1", "w2"))
THEM = LeaseRequest(holder="them@there/2", duration=100, intents=("theirs",))
MARK = Halt(node="cp1", reason="it did not come up.", intent="w1")


def body(plan: LeasePlan) -> Json:
    assert plan.body is not None
    return plan.body


def acquired(by: LeaseRequest, now: float = NOW, found: Json | None = None) -> Json:
    return body(rollout_lease.acquire(found, by, now))


def released(by: LeaseRequest, now: float = NOW) -> Json:
    return body(rollout_lease.release(acquired(by, now), by, now, completed=True))


def halted(by: LeaseRequest, mark: Halt = MARK, now: float = NOW) -> Json:
    return body(rollout_lease.halt(acquired(by, now), by, now, mark))


def test_a_lease_that_is_not_there_is_taken() -> None:
    lease = acquired(US)
    assert (lease["kind"], lease["metadata"]["name"], lease["metadata"]["namespace"]) == (
        "Lease",
        "nodecraft-kubeadm-control-plane",
        "kube-system",
    )
    assert lease["spec"] == {
        "holderIdentity": "us@here/1",
        "leaseDurationSeconds": 100,
        "acquireTime": "2027-01-15T08:00:00.000000Z",
        "renewTime": "2027-01-15T08:00:00.000000Z",
        "leaseTransitions": 0,
    }


def test_a_free_one_is_taken_and_keeps_what_others_noted() -> None:
    free = released(THEM)
    free["metadata"].update(resourceVersion="7", labels={"a": "b"})
    free["metadata"]["annotations"]["theirs"] = "x"
    lease = acquired(US, NOW + 50, free)
    assert lease["metadata"]["resourceVersion"] == "7"
    assert lease["metadata"]["labels"] == {"a": "b"}
    assert lease["metadata"]["annotations"]["theirs"] == "x"
    assert lease["spec"]["leaseTransitions"] == 1
    assert free["spec"]["holderIdentity"] == ""


def test_ours_is_renewed() -> None:
    lease = acquired(dataclasses.replace(US, duration=7), NOW + 500, acquired(US))
    assert lease["spec"]["acquireTime"] == "2027-01-15T08:00:00.000000Z"
    assert lease["spec"]["renewTime"] == "2027-01-15T08:08:20.000000Z"
    assert (lease["spec"]["leaseTransitions"], lease["spec"]["leaseDurationSeconds"]) == (0, 7)


def outcome(found: Json | None, request: LeaseRequest, now: float) -> str:
    """What a run comes to that asks for the Lease so many seconds later."""
    try:
        plan = rollout_lease.acquire(found, request, NOW + now)
    except Refusal as refusal:
        return f"refused: {refusal}"
    stale = " and the plan is stale" if plan.stale else ""
    if plan.body is None:
        return f"waits {plan.wait:g} s{stale}: {plan.warnings[0]}"
    assert plan.body["spec"]["holderIdentity"] == request.holder
    return f"taken{f' over from {plan.taken_over_from}' if plan.taken_over_from else ''}{stale}."


def request_with(**more: t.Any) -> LeaseRequest:
    return dataclasses.replace(US, **more)


OPEN = ("kube-apiserver on cp2",)
MANUAL = {"metadata": {"name": "x"}, "spec": {"holderIdentity": "me"}}
TIMELESS = {"metadata": {"name": "x", "annotations": {rollout_lease.LAST_HOLDER: "them"}}, "spec": {}}
FROM_THEM = "taken over from them@there/2 and the plan is stale."
ACQUIRED, STALE = "taken.", "taken and the plan is stale."
LEFT_OPEN = "and its run left changes open: kube-apiserver on cp2"
HALTED = "failed on cp1 at 2027-01-15T08:00:00.000000Z (run of them@there/2): it did not come up. C"
REQUESTS = {
    "theirs": (acquired(THEM), US, 30, "waits 70 s and the plan is stale: the run them@there/2 is in progress"),
    "theirs, its time": (acquired(THEM), US, 30, "renewed 30 s ago and expires in 70 s"),
    "theirs, renewed in the future": (
        *(acquired(THEM, NOW + 30), US, 0),
        "has a renewTime 30 s ahead of the API server's clock and expires in 130 s",
    ),
    "theirs, another is gone": (acquired(THEM), request_with(gone="other@there/3"), 1, "waits 99 s"),
    "made manually, never expires": (MANUAL, US, 0, "waits inf s"),
    "made manually, is told": (MANUAL, US, 0, "never expires"),
    "expired": (acquired(THEM), US, 100, FROM_THEM),
    "expired, with open changes": (
        acquired(THEM),
        request_with(open_transactions=OPEN),
        1000,
        f"expired 900 s ago, {LEFT_OPEN}",
    ),
    "gone": (acquired(THEM), request_with(gone=THEM.holder), 1, FROM_THEM),
    "gone, with open changes": (acquired(THEM), request_with(gone=THEM.holder, open_transactions=OPEN), 1, LEFT_OPEN),
    "taken over by a person": (acquired(THEM), request_with(takeover=True), 1, FROM_THEM),
    "taken over, with open changes": (
        acquired(THEM),
        request_with(takeover=True, open_transactions=OPEN),
        1,
        FROM_THEM,
    ),
    "free, with open changes": (released(THEM), request_with(open_transactions=OPEN), 1000, ACQUIRED),
    "free, planned before": (released(THEM), request_with(plan_age=200), 100, STALE),
    "free, planned shortly before": (released(THEM), request_with(plan_age=104), 100, STALE),
    "free, planned at its end": (released(THEM), request_with(plan_age=96), 100, STALE),
    "free, planned after": (released(THEM), request_with(plan_age=90), 100, ACQUIRED),
    "free, was ours": (released(US), US, 1, ACQUIRED),
    "free, without a time": (TIMELESS, US, 0, ACQUIRED),
    "halted": (halted(THEM), US, 1, HALTED),
    "halted, resumed": (halted(THEM), request_with(resume=True), 1, STALE),
    "halted, renewed": (acquired(request_with(resume=True), NOW + 1, halted(THEM)), US, 2, ACQUIRED),
}


@pytest.mark.parametrize(("found", "lease_request", "now", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_what_a_run_that_queries_comes_to(found: Json, lease_request: LeaseRequest, now: float, expected: str) -> None:
    assert expected in outcome(found, lease_request, now)


def test_another_desired_state_goes_on_and_the_mark_stays_until_it_is_done() -> None:
    repair = dataclasses.replace(US, intents=("w3",))
    lease = acquired(repair, NOW + 1, halted(THEM))
    assert rollout_lease.HALTED in lease["metadata"]["annotations"]
    for completed in (False, True):
        after = body(rollout_lease.release(lease, repair, NOW + 2, completed=completed))
        assert (rollout_lease.HALTED in after["metadata"]["annotations"]) is not completed


def test_letting_go() -> None:
    plan = rollout_lease.release(acquired(US), US, NOW + 1, completed=True)
    assert body(plan)["spec"]["holderIdentity"] == ""
    assert plan.operations == ({"field": "lease", "key": "holderIdentity", "before": "us@here/1", "after": None},)


@pytest.mark.parametrize("found", [None, released(US)])
def test_what_is_not_held_is_not_let_go(found: Json | None) -> None:
    assert rollout_lease.release(found, US, NOW, completed=True) == LeasePlan(None)


def test_what_another_took_over_is_left_alone() -> None:
    for plan in (
        rollout_lease.release(acquired(THEM), US, NOW + 1, completed=True),
        rollout_lease.halt(acquired(THEM), US, NOW + 1, MARK),
    ):
        assert (plan.body, plan.operations) == (None, ())
        assert "was lost: the run them@there/2" in plan.warnings[0]


def test_a_mark_reports_who_and_when_and_is_no_log() -> None:
    lease = halted(US, dataclasses.replace(MARK, reason="x" * 5000))
    assert lease["spec"]["holderIdentity"] == ""
    mark = rollout_lease.parse(lease).halt
    assert mark == Halt("cp1", "x" * 500, "w1", "us@here/1", "2027-01-15T08:00:00.000000Z")


def test_a_mark_is_left_also_where_the_lease_was_lost_and_once_only() -> None:
    plan = rollout_lease.halt(None, US, NOW, MARK)
    assert rollout_lease.parse(body(plan)).halt is not None
    assert rollout_lease.halt(body(plan), US, NOW + 1, MARK).body is None


def test_a_run_that_waits_in_vain_is_named_with_what_to_do() -> None:
    message = rollout_lease.timeout_message(acquired(THEM), rollout_lease.LEASE_NAME, NOW + 60, 60.4)
    assert "waited 60 s" in message
    assert "control_plane_lease_takeover" in message


@pytest.mark.parametrize("mark", ["no JSON", "[]", '{"node": "cp1"}', '{"nodes": 1}'])
def test_a_mark_that_another_client_changed(mark: str) -> None:
    with pytest.raises(KubeadmError, match=r"annotate lease nodecraft-kubeadm-control-plane nodecraft.kubeadm/halted-"):
        rollout_lease.parse({"metadata": {"annotations": {rollout_lease.HALTED: mark}}})


def test_times() -> None:
    spec = {"holderIdentity": "x", "leaseDurationSeconds": 5, "renewTime": "2027-01-15T08:00:00Z"}
    assert rollout_lease.parse({"metadata": {}, "spec": spec}).left(NOW) == 5.0
    with pytest.raises(KubeadmError, match="the time 'soon'"):
        rollout_lease.parse({"metadata": {}, "spec": {"renewTime": "soon"}})


def test_a_mark_that_is_there_already_still_frees_the_lease() -> None:
    marked = acquired(dataclasses.replace(US, resume=True), NOW + 1, halted(US))
    plan = rollout_lease.halt(marked, US, NOW + 2, MARK)
    assert body(plan)["spec"]["holderIdentity"] == ""


def test_a_free_lease_gets_another_mark() -> None:
    other = dataclasses.replace(MARK, node="cp2")
    plan = rollout_lease.halt(halted(US), US, NOW + 1, other)
    mark = rollout_lease.parse(body(plan)).halt
    assert mark is not None
    assert mark.node == "cp2"


def test_what_becomes_of_a_mark_is_an_operation() -> None:
    repair = dataclasses.replace(US, intents=("w3",))
    plan = rollout_lease.acquire(halted(THEM), repair, NOW + 1)
    assert [each["key"] for each in plan.operations] == ["holderIdentity"]
    freed = rollout_lease.release(body(plan), repair, NOW + 2, completed=True)
    (mark,) = (each for each in freed.operations if each["key"] == "halted")
    assert (mark["before"]["node"], mark["after"]) == ("cp1", None)


def test_equal_values_have_one_digest() -> None:
    assert rollout_lease.slow_digest({"a": 1, "b": [None]}) == rollout_lease.slow_digest({"b": [None], "a": 1})
    assert rollout_lease.slow_digest({"a": 1}) != rollout_lease.slow_digest({"a": 2})


def test_it_is_the_same_in_each_run_and_on_each_controller() -> None:
    """The mark of a failed rollout is read by later runs."""
    assert rollout_lease.slow_digest({}) == "9277f12a78c0c732c9e44bb397ed20099e5352808ecf0849bc79aad34e2c6f43"


# ---- what is not proven ------------------------------------------------------------------------------------------------


def released_with(found: Json, **proofs: t.Any) -> Json:
    """The Lease behind another run of ours."""
    request = dataclasses.replace(US, proofs=proofs, resume=True)
    return body(rollout_lease.release(acquired(request, NOW, found), request, NOW, completed=True))


def test_missing_proof_stays_on_the_lease_until_there_is_one() -> None:
    missing_proofs = {"nodes": ["cp1"], "leader": "cp3"}
    first = released_with(released(THEM), scheduler=missing_proofs)
    mark = {**missing_proofs, "by": "us@here/1", "at": "2027-01-15T08:00:00.000000Z"}
    assert rollout_lease.parse_missing_proofs(first) == {"scheduler": mark}
    other = released_with(first, manager=None)
    assert rollout_lease.parse_missing_proofs(other) == {"scheduler": mark}
    failed = body(rollout_lease.halt(acquired(US, NOW, other), US, NOW, MARK))
    assert rollout_lease.parse_missing_proofs(failed) == {"scheduler": mark}
    assert rollout_lease.MISSING_PROOFS not in released_with(failed, scheduler=None)["metadata"]["annotations"]


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"scheduler": 1}'])
def test_mark_of_missing_proofs_that_another_client_changed_is_none(text: str) -> None:
    assert rollout_lease.parse_missing_proofs({"metadata": {"annotations": {rollout_lease.MISSING_PROOFS: text}}}) == {}
    assert rollout_lease.parse_missing_proofs(None) == {}
