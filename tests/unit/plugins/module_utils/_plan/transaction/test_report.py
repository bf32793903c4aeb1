# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people read at the end of a rollout."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import report
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.results import ComponentResult

GATE = {"field": "feature_gates", "key": "A", "before": None, "after": True}
REHEARSAL = {"verdict": "accepted", "seconds": 0.25}
COMMITTED = {"outcome": "committed", "seconds": 9.04, "outage_seconds": 2.0, "proof": {"pid": 7, "uid": "u"}}
WARNING = "WARNING: a kubeadm upgrade writes the manifests again and so reverts this; run the role again after one."


def result(**other: t.Any) -> ComponentResult:
    given = {"operations": [GATE], "rehearsal": REHEARSAL, "transaction": None, "failed": False, **other}
    return typed.parse(ComponentResult, given)


def kubelet(**other: t.Any) -> str:
    """The first line of a kubelet's change on w1."""
    return report.kubelets({"w1": result(**other)})[0]


def test_a_static_pod_tells_process_and_outage_and_that_an_upgrade_undoes_it() -> None:
    assert report.static_pods({"cp1": {"kube-apiserver": result(transaction=COMMITTED)}}) == [
        "cp1 kube-apiserver: committed after 9.0 s, outage 2.0 s, now pid 7 of pod u; rehearsal accepted in 0.2 s",
        "    feature_gates A: unset -> true",
        WARNING,
    ]


def test_what_an_upgrade_took_is_named_whether_it_comes_back_or_not() -> None:
    lost = {"feature_gates": ["A"], "args": ["v"]}
    told = report.static_pods({"cp1": {"etcd": result(transaction=COMMITTED, lost=lost)}})
    assert told[1:3] == [
        "    feature_gates A: unset -> true, lost when kubeadm wrote the manifest again",
        "cp1 etcd: args v lost when kubeadm wrote the manifest again; not set again, because it is not desired",
    ]
    idle = report.static_pods({"cp1": {"etcd": result(operations=[], lost={"args": ["v"]})}})
    assert idle[1:] == ["cp1 static pods: nothing to change"]
    assert idle[0].startswith("cp1 etcd: args v lost")


def test_a_kubelet_that_was_down_is_quoted() -> None:
    problem = "kubelet on w1 is failed; it logged last: panic: unrecognized feature gate: A"
    told = report.kubelets({"w1": result(transaction=COMMITTED, problem=problem)})
    assert told[0] == f"w1 kubelet: before the change, {problem}"


def test_a_kubelet_tells_its_process() -> None:
    assert report.kubelets({"w1": result(transaction=COMMITTED)}) == [
        "w1 kubelet: committed after 9.0 s, not healthy for 2.0 s, now pid 7; rehearsal accepted in 0.2 s",
        "    feature_gates A: unset -> true",
    ]


def test_what_did_not_begin_or_did_not_end_says_so() -> None:
    assert kubelet().startswith("w1 kubelet: planned; rehearsal")
    assert kubelet(failed=True).startswith("w1 kubelet: failed; rehearsal")
    assert kubelet(transaction={"id": "1", "outcome": None}).startswith("w1 kubelet: end not seen; rehearsal")
    restored = {"outcome": "rolled_back", "seconds": 3, "outage_seconds": None, "proof": None}
    assert (
        kubelet(transaction=restored)
        == "w1 kubelet: rolled back after 3.0 s, not healthy for: not known; rehearsal accepted in 0.2 s"
    )
    lost = report.kubelets({"w1": result(failed=True), "w2": result()}, lost=["w1"])
    assert [line.partition(";")[0] for line in lost if line.startswith("w")] == [
        "w1 kubelet: lost",
        "w2 kubelet: planned",
    ]


def test_a_change_that_was_refused_in_its_turn_is_no_node_without_changes() -> None:
    refused = result(operations=[], failed=True, msg="config.yaml changed after the kubelet was started.")
    assert report.kubelets({"w1": refused}) == [
        "w1 kubelet: failed: config.yaml changed after the kubelet was started."
    ]
    pods = {"etcd": result(operations=[]), "kube-apiserver": refused}
    assert report.static_pods({"cp1": pods}) == [
        "cp1 kube-apiserver: failed: config.yaml changed after the kubelet was started."
    ]


def test_a_host_that_is_lost_after_its_change_tells_how_that_ended() -> None:
    line = report.static_pods({"cp1": {"etcd": result(transaction=COMMITTED)}}, lost=["cp1"])[0]
    assert line.startswith("cp1 etcd: committed")


def test_what_is_reverted_is_named_and_no_upgrade_undoes_that() -> None:
    lines = report.static_pods({"cp1": {"etcd": result(transaction=COMMITTED, reverts="20261125T1")}})
    assert lines[0].endswith("in 0.2 s; reverts 20261125T1")
    assert WARNING not in lines


def test_a_snapshot_is_named() -> None:
    line = report.static_pods({"cp1": {"etcd": result(snapshot="/var/lib/x.db")}})[0]
    assert line == "cp1 etcd: planned; rehearsal accepted in 0.2 s; snapshot /var/lib/x.db"


@pytest.mark.parametrize("outcome", ["rolled_back", "alarm"])
def test_no_upgrade_undoes_what_was_not_committed(outcome: str) -> None:
    assert WARNING not in report.static_pods({"cp1": {"etcd": result(transaction={**COMMITTED, "outcome": outcome})}})
    assert WARNING not in report.static_pods({"cp1": {"etcd": result()}})


def test_an_earlier_change_is_told_where_nothing_is_to_change() -> None:
    assert report.kubelets({"w1": result(operations=[], previous_transaction=COMMITTED)}) == [
        "w1 kubelet: an earlier run that was not followed to its end: committed after 9.0 s, not healthy for 2.0 s, now pid 7",
        "w1 kubelet: nothing to change",
    ]


LIMIT = "whether feature gates A are as desired: 403"
UNVERIFIED = {**COMMITTED, "proof": {"pid": 7, "uid": "u", "unverified": [LIMIT]}}


def test_what_was_not_verified_has_a_line_behind_the_operations() -> None:
    lines = report.static_pods({"cp1": {"etcd": result(transaction=UNVERIFIED, unverified=[LIMIT])}})
    assert lines[1:3] == ["    feature_gates A: unset -> true", f"WARNING: cp1 etcd: not verified: {LIMIT}"]
    idle = report.static_pods({"cp1": {"etcd": result(operations=[], unverified=[LIMIT])}})
    assert idle == [f"WARNING: cp1 etcd: not verified: {LIMIT}", "cp1 static pods: nothing to change"]


def test_what_was_not_verified_of_an_earlier_change_is_told() -> None:
    lines = report.kubelets({"w1": result(operations=[], previous_transaction=UNVERIFIED)})
    assert lines[1:] == [f"WARNING: w1 kubelet: not verified: {LIMIT}", "w1 kubelet: nothing to change"]


def test_times_that_were_not_measured_are_not_known() -> None:
    unmeasured = {**COMMITTED, "seconds": None, "outage_seconds": None, "proof": None}
    lines = report.static_pods({"cp1": {"etcd": result(transaction=unmeasured)}})
    assert lines[0].startswith("cp1 etcd: committed after: not known, outage: not known; rehearsal accepted in ")


def test_skipped_rehearsal_has_its_reason() -> None:
    rehearsal = {"verdict": "skipped", "message": "its manifest has no command", "seconds": 0}
    lines = report.static_pods({"cp1": {"kube-vip": result(rehearsal=rehearsal)}})
    assert lines[0].endswith("rehearsal skipped (its manifest has no command)")


def test_what_programs_say_of_what_they_accept_is_told_once() -> None:
    gate = "kube-scheduler says: Setting GA feature gate A=true. It will be removed in a future release."
    own = result(rehearsal={**REHEARSAL, "warnings": [gate]})
    told = report.static_pods({"cp1": {"kube-scheduler": own}, "cp2": {"kube-scheduler": own}}, warns=False)
    assert told[4:] == [f"WARNING: {gate} (cp1, cp2)"]
    assert report.kubelets({"w1": own})[2:] == [f"WARNING: {gate} (w1)"]


def test_hosts_without_a_change_have_one_line() -> None:
    unchanged = {"etcd": result(operations=[]), "kube-apiserver": result(operations=[])}
    assert report.static_pods({"cp1": unchanged}) == ["cp1 static pods: nothing to change"]
    changed = report.static_pods({"cp1": {**unchanged, "etcd": result()}})
    assert "cp1 static pods: nothing to change" not in changed
    failed = typed.parse(ComponentResult, {"failed": True, "msg": "refused"})
    assert report.kubelets({"w1": failed}) == ["w1 kubelet: failed: refused"]


@pytest.mark.parametrize(
    ("value", "argument", "setting"),
    [
        (None, "unset", "unset"),
        (False, "false", "false"),
        (3, "3", "3"),
        ("x", "x", "x"),
        ("", "", '""'),
        (["a", 1], "a,1", '["a", 1]'),
        ({"a": None}, "other content", '{"a": null}'),
    ],
)
def test_values_are_shown_as_an_argument_or_a_setting(value: t.Any, argument: str, setting: str) -> None:
    change = result(operations=[{**GATE, "after": value}])
    assert report.static_pods({"cp1": {"etcd": change}})[1] == f"    feature_gates A: unset -> {argument}"
    assert report.kubelets({"w1": change})[1] == f"    feature_gates A: unset -> {setting}"


REVERT = {"field": "config", "key": "maxPods", "before": 200, "after": None, "no_longer_desired": True}


@pytest.mark.parametrize("place", ["", "; node_kubelet_config is from group_vars/kube_node.yml:2"])
def test_a_revert_is_marked_and_counted_apart(place: str) -> None:
    first, *lines = report.kubelets(
        {"w1": result(operations=[GATE, REVERT], transaction=COMMITTED)},
        places=lambda host, field: place if (host, field) == ("w1", "config") else "",
    )
    assert first.endswith("; 1 change and 1 revert")
    assert lines == [
        "    feature_gates A: unset -> true",
        f"    - config maxPods: 200 -> unset (no longer desired{place})",
    ]


def test_what_is_owned_and_not_named_is_one_line_for_all_its_hosts() -> None:
    maximum = ("config maxPods", "node_kubelet_config: {}")
    hosts = [f"w{number}" for number in range(12)]
    assert report.left_alone([*((host, *maximum) for host in hosts), ("w0", "args v", "node_kubelet_args: {}")]) == [
        "config maxPods on w0, w1, w2, w3, w4, w5, w6, w7, w8, w9 and 2 more is owned and no variable names it, so it stays;"
        " node_kubelet_config: {} reverts it",
        "args v on w0 is owned and no variable names it, so it stays; node_kubelet_args: {} reverts it",
    ]
