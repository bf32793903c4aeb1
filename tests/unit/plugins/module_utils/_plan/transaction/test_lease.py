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


def held(by: LeaseRequest, now: float = NOW, found: Json | None = None) -> Json:
    return body(rollout_lease.hold(found, by, now))


def released(by: LeaseRequest, now: float = NOW) -> Json:
    return body(rollout_lease.release(held(by, now), by, now, completed=True))


def halted(by: LeaseRequest, mark: Halt = MARK, now: float = NOW) -> Json:
    return body(rollout_lease.halt(held(by, now), by, now, mark))


def test_a_lease_that_is_not_there_is_taken() -> None:
    lease = held(US)
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
    lease = held(US, NOW + 50, free)
    assert lease["metadata"]["resourceVersion"] == "7"
    assert lease["metadata"]["labels"] == {"a": "b"}
    assert lease["metadata"]["annotations"]["theirs"] == "x"
    assert lease["spec"]["leaseTransitions"] == 1
    assert free["spec"]["holderIdentity"] == ""


def test_ours_is_renewed() -> None:
    lease = held(dataclasses.replace(US, duration=7), NOW + 500, held(US))
    assert lease["spec"]["acquireTime"] == "2027-01-15T08:00:00.000000Z"
    assert lease["spec"]["renewTime"] == "2027-01-15T08:08:20.000000Z"
    assert (lease["spec"]["leaseTransitions"], lease["spec"]["leaseDurationSeconds"]) == (0, 7)


def test_anothers_is_waited_for_as_long_as_it_lasts() -> None:
    plan = rollout_lease.hold(held(THEM), US, NOW + 30)
    assert (plan.body, plan.wait, plan.stale) == (None, 70.0, True)
    assert "the run them@there/2 is in progress" in plan.warnings[0]
    assert "renewed 30 s ago and expires in 70 s" in plan.warnings[0]


def test_a_renewal_in_the_future_is_told_as_that() -> None:
    plan = rollout_lease.hold(held(THEM, NOW + 30), US, NOW)
    assert "has a renewTime 30 s ahead of the API server's clock and expires in 130 s" in plan.warnings[0]


def test_one_that_ran_out_is_taken_over() -> None:
    plan = rollout_lease.hold(held(THEM), US, NOW + 100)
    assert body(plan)["spec"]["holderIdentity"] == "us@here/1"
    assert (plan.taken_over_from, plan.stale) == ("them@there/2", True)


def test_lease_of_a_run_that_is_gone_counts_as_expired() -> None:
    plan = rollout_lease.hold(held(THEM), dataclasses.replace(US, gone=THEM.holder), NOW + 1)
    assert body(plan)["spec"]["holderIdentity"] == "us@here/1"
    assert (plan.taken_over_from, plan.stale) == ("them@there/2", True)
    assert rollout_lease.hold(held(THEM), dataclasses.replace(US, gone="other@there/3"), NOW + 1).body is None
    desired = dataclasses.replace(US, gone=THEM.holder, open_transactions=("kube-apiserver on cp2",))
    with pytest.raises(Refusal, match="its run left changes open: kube-apiserver on cp2"):
        rollout_lease.hold(held(THEM), desired, NOW + 1)


def test_one_that_ran_out_is_not_taken_over_while_a_change_is_open() -> None:
    desired = dataclasses.replace(US, open_transactions=("kube-apiserver on cp2",))
    with pytest.raises(Refusal, match="expired 900 s ago, and its run left changes open: kube-apiserver on cp2"):
        rollout_lease.hold(held(THEM), desired, NOW + 1000)


def test_open_changes_say_nothing_of_a_free_one() -> None:
    desired = dataclasses.replace(US, open_transactions=("kube-apiserver on cp2",))
    assert body(rollout_lease.hold(released(THEM), desired, NOW + 1000))


@pytest.mark.parametrize("changes", [(), ("kube-apiserver on cp2",)])
def test_a_human_may_take_it_over_at_once(changes: tuple[str, ...]) -> None:
    desired = dataclasses.replace(US, takeover=True, open_transactions=changes)
    plan = rollout_lease.hold(held(THEM), desired, NOW + 1)
    assert (body(plan)["spec"]["holderIdentity"], plan.taken_over_from) == ("us@here/1", "them@there/2")


def test_one_without_a_time_never_runs_out() -> None:
    manual = {"metadata": {"name": "x"}, "spec": {"holderIdentity": "me"}}
    plan = rollout_lease.hold(manual, US, NOW)
    assert (plan.body, plan.wait) == (None, float("inf"))
    assert "never expires" in plan.warnings[0]


@pytest.mark.parametrize(("ago", "stale"), [(200, True), (104, True), (90, False)])
def test_a_plan_older_than_the_end_of_another_run_is_stale(ago: int, stale: bool) -> None:
    desired = dataclasses.replace(US, plan_age=ago)
    assert rollout_lease.hold(released(THEM), desired, NOW + 100).stale is stale


def test_our_own_end_makes_no_plan_stale() -> None:
    assert not rollout_lease.hold(released(US), US, NOW + 1).stale


def test_a_halted_desired_state_is_refused_until_it_is_resumed() -> None:
    with pytest.raises(
        Refusal, match=r"failed on cp1 at 2027-01-15T08:00:00.000000Z \(run of them@there/2\): it did not come up. C"
    ):
        rollout_lease.hold(halted(THEM), US, NOW + 1)
    assert body(rollout_lease.hold(halted(THEM), dataclasses.replace(US, resume=True), NOW + 1))


def test_another_desired_state_goes_on_and_the_mark_stays_until_it_is_done() -> None:
    repair = dataclasses.replace(US, intents=("w3",))
    lease = held(repair, NOW + 1, halted(THEM))
    assert rollout_lease.HALTED in lease["metadata"]["annotations"]
    for completed in (False, True):
        after = body(rollout_lease.release(lease, repair, NOW + 2, completed=completed))
        assert (rollout_lease.HALTED in after["metadata"]["annotations"]) is not completed


def test_a_renewal_is_not_refused_for_a_mark() -> None:
    resumed = held(dataclasses.replace(US, resume=True), NOW + 1, halted(THEM))
    assert held(US, NOW + 2, resumed)


def test_letting_go() -> None:
    plan = rollout_lease.release(held(US), US, NOW + 1, completed=True)
    assert body(plan)["spec"]["holderIdentity"] == ""
    assert plan.operations == ({"field": "lease", "key": "holderIdentity", "before": "us@here/1", "after": None},)


@pytest.mark.parametrize("found", [None, released(US)])
def test_what_is_not_held_is_not_let_go(found: Json | None) -> None:
    assert rollout_lease.release(found, US, NOW, completed=True) == LeasePlan(None)


def test_what_another_took_over_is_left_alone() -> None:
    for plan in (
        rollout_lease.release(held(THEM), US, NOW + 1, completed=True),
        rollout_lease.halt(held(THEM), US, NOW + 1, MARK),
    ):
        assert (plan.body, plan.operations) == (None, ())
        assert "was lost: the run them@there/2" in plan.warnings[0]


def test_a_mark_says_who_and_when_and_is_no_log() -> None:
    lease = halted(US, dataclasses.replace(MARK, reason="x" * 5000))
    assert lease["spec"]["holderIdentity"] == ""
    mark = rollout_lease.parse(lease).halt
    assert mark == Halt("cp1", "x" * 500, "w1", "us@here/1", "2027-01-15T08:00:00.000000Z")


def test_a_mark_is_left_also_where_the_lease_was_lost_and_once_only() -> None:
    plan = rollout_lease.halt(None, US, NOW, MARK)
    assert rollout_lease.parse(body(plan)).halt is not None
    assert rollout_lease.halt(body(plan), US, NOW + 1, MARK).body is None


def test_a_run_that_waits_in_vain_is_told_what_to_do() -> None:
    said = rollout_lease.late(held(THEM), rollout_lease.LEASE_NAME, NOW + 60, 60.4)
    assert "waited 60 s" in said
    assert "control_plane_lease_takeover" in said


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
    marked = held(dataclasses.replace(US, resume=True), NOW + 1, halted(US))
    plan = rollout_lease.halt(marked, US, NOW + 2, MARK)
    assert body(plan)["spec"]["holderIdentity"] == ""


def test_a_free_lease_gets_another_mark() -> None:
    other = dataclasses.replace(MARK, node="cp2")
    plan = rollout_lease.halt(halted(US), US, NOW + 1, other)
    mark = rollout_lease.parse(body(plan)).halt
    assert mark is not None
    assert mark.node == "cp2"


def test_an_end_without_a_time_makes_no_plan_stale() -> None:
    ended = {"metadata": {"name": "x", "annotations": {rollout_lease.LAST_HOLDER: "them"}}, "spec": {}}
    assert not rollout_lease.hold(ended, US, NOW).stale


def test_what_becomes_of_a_mark_is_an_operation() -> None:
    repair = dataclasses.replace(US, intents=("w3",))
    taken = rollout_lease.hold(halted(THEM), repair, NOW + 1)
    assert [each["key"] for each in taken.operations] == ["holderIdentity"]
    freed = rollout_lease.release(body(taken), repair, NOW + 2, completed=True)
    (mark,) = (each for each in freed.operations if each["key"] == "halted")
    assert (mark["before"]["node"], mark["after"]) == ("cp1", None)


def test_equal_values_have_one_digest() -> None:
    assert rollout_lease.slow_digest({"a": 1, "b": [None]}) == rollout_lease.slow_digest({"b": [None], "a": 1})
    assert rollout_lease.slow_digest({"a": 1}) != rollout_lease.slow_digest({"a": 2})


def test_it_is_the_same_in_each_run_and_on_each_controller() -> None:
    """The mark of a failed rollout is read by later runs."""
    assert rollout_lease.slow_digest({}) == "9277f12a78c0c732c9e44bb397ed20099e5352808ecf0849bc79aad34e2c6f43"
