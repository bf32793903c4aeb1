# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people read at the end of a run."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import report
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.report import Part, Run
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.results import ComponentResult

GATE = {"field": "feature_gates", "key": "A", "before": None, "after": True}
REHEARSAL = {"verdict": "accepted", "seconds": 0.25}
COMMITTED = {"outcome": "committed", "seconds": 9.04, "outage_seconds": 2.0, "proof": {"pid": 7, "uid": "u"}}
DONE: dict[str, t.Any] = {"changed": True, "transaction": COMMITTED}
WAITING: dict[str, t.Any] = {"failed": True, "started": False, "msg": "Not changed, because w2 failed."}
LIMIT = "whether feature gates A are as desired: 403"


def part(host: str = "w1", component: str = "kubelet", **other: t.Any) -> Part:
    """A part with one operation, or those in C(operations)."""
    result = typed.parse(ComponentResult, {"operations": [GATE], "rehearsal": REHEARSAL, **other})
    return Part(host, component, result, tuple(map(report.describe_operation, result.operations or ())))


def lines(*parts: Part, hosts: t.Sequence[str] = ("w1", "w2", "w3"), **other: t.Any) -> list[str]:
    """The lines of a run on three nodes."""
    return report.report_lines(Run(hosts=hosts, parts=parts, **other))


def row(**other: t.Any) -> str:
    """The line of one change of a kubelet in a run."""
    return lines(part(**other))[1]


# ---- how much, and of whom -------------------------------------------------------------------------------------------


def test_a_run_reports_how_much_it_changed_where_and_what_stayed() -> None:
    unchanged = part("w2", operations=[])
    assert lines(part("w1", **DONE), part("w1", "Node", changed=True), unchanged, part("w3", operations=[])) == [
        "Changed: 2 operations on 1 of 3 nodes; rehearsed: 1 kubelet, Node",
        "  w1  kubelet  + feature gate A=true  (committed; away 2.0 s)",
        "  w1  Node     + feature gate A=true",
        "  2 other nodes: nothing to change",
    ]


def test_a_plan_reports_what_would_be_restarted_and_how_to_apply_it() -> None:
    parts = [part("cp1", "kube-apiserver"), part("w1"), part("w2", operations=[])]
    assert lines(*parts, hosts=["cp1", "w1", "w2"], dry=True) == [
        "Plan: 2 operations on 2 of 3 nodes; nothing was refused; rehearsed: kube-apiserver, 1 kubelet",
        "  cp1  kube-apiserver  + feature gate A=true  (restart)",
        "  w1   kubelet         + feature gate A=true  (restart)",
        "  1 other node: nothing to change",
        "Apply: the same command without --check",
    ]


def test_a_plan_that_fails_on_pending_changes_is_reported_with_its_last_word() -> None:
    report_lines = lines(part("w1"), dry=True, fails_on_pending=True)
    assert report_lines[-1] == "Pending: 1 operation not applied. Apply: the same command without --check"
    assert report.pending_message(2) == "Pending: 2 operations are not applied."
    assert lines(part("w1", operations=[]), dry=True, fails_on_pending=True)[:1] == ["Nothing to change on 3 nodes"]


def test_hosts_with_the_same_change_share_a_line() -> None:
    """With what took longest, and the pods of all."""
    pods = {"watched": 3, "lost": [], "restarted": [{"pod": "a/b", "reason": "x"}]}
    many = [part(f"w{number}", **{**DONE, "pods": pods}) for number in range(12)]
    slow = part("w12", changed=True, transaction={**COMMITTED, "outage_seconds": 31.0}, pods=pods)
    report_lines = lines(*many, slow, hosts=[f"w{number}" for number in range(13)])
    assert report_lines == [
        "Changed: 13 operations on 13 of 13 nodes; rehearsed: 13 kubelets",
        "  w0, w1, w2, w3, w4, w5, w6, w7, w8, w9 and 3 more  kubelet  + feature gate A=true"
        "  (committed; away up to 31.0 s; 39 pods, 0 lost, 13 restarted)",
    ]


def test_many_operations_of_a_part_go_on_in_the_next_line() -> None:
    operations = [{**GATE, "key": f"Gate{number:02}"} for number in range(5)]
    first, second = lines(part(operations=operations, **DONE))[1:3]
    assert first.startswith("  w1  kubelet  + feature gate Gate00=true  + feature gate Gate01=true")
    assert second.startswith("               + feature gate Gate")
    assert second.endswith("Gate04=true  (committed; away 2.0 s)")


def test_a_revert_is_counted_and_reports_where_its_variable_is() -> None:
    revert = Change("config", "maxPods", 200, None, no_longer_desired=True)
    place = "; node_kubelet_config is from group_vars/kube_node.yml:2"
    assert report.describe_operation(revert, place) == f"- maxPods: 200 (no longer desired{place})"
    report_lines = lines(part(operations=[GATE, revert.to_result()], **DONE))
    assert report_lines[0].startswith("Changed: 2 operations on 1 of 3 nodes, 1 of them a revert;")


@pytest.mark.parametrize(
    ("result", "state"),
    [
        ({"transaction": {"id": "1", "outcome": None}, "failed": True}, "end not seen"),
        ({"failed": True, "unreachable": True}, "connection lost, end not seen"),
        ({"failed": True}, "failed"),
        ({"failed": True, "rehearsal": {"verdict": "refused", "seconds": 0.5}}, "refused"),
        ({**DONE, "reverts": "20261125T1"}, "committed; away 2.0 s; reverts 20261125T1"),
        (
            {**DONE, "transaction": {**DONE["transaction"], "proof": {"acting_seconds": 58.04}}},
            "committed; away 2.0 s; pods made again after 58.0 s",
        ),
        ({**DONE, "snapshot": "/var/lib/x.db"}, "committed; away 2.0 s; snapshot /var/lib/x.db"),
        (
            {"failed": True, "transaction": {"outcome": "rolled_back", "outage_seconds": None}},
            "rolled back; how long it was away is not known",
        ),
    ],
)
def test_how_a_change_ended(result: t.Any, state: str) -> None:
    assert row(**result).endswith(f"  ({state})")


def test_a_node_that_was_not_patched_is_not_done() -> None:
    report_lines = lines(part("w1", "Node", failed=False))
    assert report_lines[:2] == ["Nothing to change on 3 nodes", "  w1  Node  + feature gate A=true  (not done)"]


# ---- what failed, and how to go on -----------------------------------------------------------------------------------


def test_a_run_that_failed_ends_with_its_cause_and_how_to_continue() -> None:
    restored: dict[str, t.Any] = {
        "failed": True,
        "msg": "it was not healthy",
        "transaction": {**COMMITTED, "outcome": "rolled_back"},
    }
    report_lines = lines(part("w1", **DONE), part("w2", **restored), part("w3", **WAITING))
    assert report_lines == [
        "Changed: 1 operation on 1 of 3 nodes; rehearsed: 3 kubelets",
        "  w1  kubelet  + feature gate A=true  (committed; away 2.0 s)",
        "  w2  kubelet  + feature gate A=true  (rolled back; away 2.0 s)",
        "  w3: Not changed, because w2 failed.",
        "w2: it was not healthy",
        "Failed: w2 failed; rolled back: kubelet on w2; 1 node did not begin. To continue when that is repaired, run again with --limit w2,w3",
    ]


def test_host_of_which_a_part_was_changed_did_begin() -> None:
    cause: dict[str, t.Any] = {"started": True, "failed": True, "msg": "w1: no"}
    report_lines = lines(
        *(part("w1", **cause), part("w2", **DONE), part("w2", "Node", **WAITING), part("w3", **WAITING)),
        hosts=["w1", "w2", "w3", "w4"],
    )
    assert "  w2  Node     + feature gate A=true  (not begun)" in report_lines
    assert "  w3: Not changed, because w2 failed." in report_lines
    assert report_lines[-1].startswith("Failed: w1 failed; 1 node did not begin; 1 node not complete. To continue")
    assert report_lines[-1].endswith("--limit w1,w2,w3")
    report_lines = lines(part("w2", **DONE), part("w2", "Node", **WAITING), part("w3", **WAITING))
    assert report_lines[-1].startswith("Failed: w3 did not begin; w2 not complete. ")


def test_pods_that_were_not_read_are_not_reported_as_there() -> None:
    pods = {"watched": 2, "lost": [], "restarted": [], "deleted": [], "unknown": []}
    seen, unseen = part("w1", **DONE, pods=pods), part("w2", **DONE)
    assert "2 pods, 0 lost, 0 restarted)" in lines(seen)[1]
    assert "2 pods, 0 lost, 0 restarted, not known of all)" in lines(seen, unseen)[1]


def test_what_each_pass_reports_is_reported_once() -> None:
    assert lines(part(**DONE), notes=["a", "b", "a"]) == lines(part(**DONE), notes=["a", "b"])


def test_hosts_of_later_batches_are_not_missed() -> None:
    report_lines = lines(part("w1", **DONE), part("w2", failed=True), later=4)
    assert report_lines[-1] == (
        "Failed: w2 failed; 4 nodes of later batches did not begin. Run the same command again when that is repaired."
    )


def test_forty_hosts_that_did_not_begin_have_one_line() -> None:
    hosts = [f"w{number}" for number in range(43)]
    report_lines = lines(
        part("w0", **DONE), part("w1", failed=True), *(part(host, **WAITING) for host in hosts[2:]), hosts=hosts
    )
    assert len(report_lines) == 5
    assert report_lines[3] == "  w2, w3, w4, w5, w6, w7, w8, w9, w10, w11 and 31 more: Not changed, because w2 failed."
    # What is left is named in full: it is a command.
    assert report_lines[-1].endswith(f"--limit {','.join(hosts[1:])}")


def test_a_run_that_changed_nothing_is_run_again_as_it_was() -> None:
    report_lines = lines(part("w1", operations=[], failed=False), causes={"w2": ["no route"], "w3": ["no route"]})
    assert report_lines == [
        "Nothing was changed on 3 nodes",
        "w2, w3: no route",
        "Failed: w2, w3 failed. Run the same command again when that is repaired.",
    ]


def test_why_all_were_refused_is_reported_once() -> None:
    report_lines = lines(
        part("w1", **{**WAITING, "msg": "the Lease is held"}), causes={"w2": ["the Lease is held"]}, hosts=["w1", "w2"]
    )
    assert report_lines[1:3] == ["  w1: not changed", "w2: the Lease is held"]


@pytest.mark.parametrize(("causes", "expected"), [(30, 30), (31, 31), (150, 31)])
def test_many_causes_do_not_push_the_changes_off_the_screen(causes: int, expected: int) -> None:
    hosts = [f"w{number}" for number in range(200)]
    report_lines = lines(hosts=hosts, causes={host: [f"cause {host}"] for host in hosts[:causes]})
    assert sum("cause" in line for line in report_lines) == expected
    assert (f"{causes - 30} more causes: see the errors of the hosts above" in report_lines) == (causes == 150)


def test_a_host_of_which_nothing_is_known_is_not_called_unchanged() -> None:
    report_lines = lines(part("w1", operations=[]), hosts=["w1", "w2"])
    assert report_lines == ["Nothing to change on 2 nodes", "  w2: nothing was planned"]


def test_a_host_that_was_skipped_reports_why() -> None:
    skipped = part("w2", operations=[], unreachable=True, msg="skipped, because it cannot be reached: no route")
    assert "  w2: skipped, because it cannot be reached: no route" in lines(part("w1", operations=[]), skipped)


# ---- what else is to be known ----------------------------------------------------------------------------------------


def test_what_an_upgrade_took_is_named_whether_it_comes_back_or_not() -> None:
    report_lines = lines(part("cp1", "etcd", lost={"feature_gates": ["A"], "args": ["v"]}, **DONE))
    assert "cp1 etcd: feature_gates A lost when kubeadm wrote the manifest again" in report_lines
    assert (
        "cp1 etcd: args v lost when kubeadm wrote the manifest again; not set again, because it is not desired"
        in report_lines
    )


def test_a_kubelet_that_was_down_is_quoted() -> None:
    problem = "kubelet on w1 is failed; it logged last: panic: unrecognized feature gate: A"
    assert f"w1 kubelet: before the change, {problem}" in lines(part(problem=problem, **DONE))


def test_an_earlier_change_is_reported_where_nothing_is_to_change() -> None:
    unverified = {**COMMITTED, "proof": {"pid": 7, "uid": "u", "unverified": [LIMIT]}}
    report_lines = lines(part(operations=[], previous_transaction=unverified))
    assert report_lines[-2:] == [
        "w1 kubelet: a change of an earlier run that was not followed to its end: committed; away 2.0 s",
        f"WARNING: w1 kubelet: not verified: {LIMIT}",
    ]


def test_what_is_the_same_on_several_hosts_is_reported_once() -> None:
    gate = "kubelet says: Setting GA feature gate A=true. It will be removed in a future release."
    own = {**DONE, "unverified": [LIMIT], "rehearsal": {**REHEARSAL, "warnings": [gate]}}
    report_lines = lines(part("w1", **own), part("w2", **own))
    assert report_lines[-2:] == [f"WARNING: {gate} (w1, w2)", f"WARNING: w1, w2 kubelet: not verified: {LIMIT}"]


@pytest.mark.parametrize(
    ("rehearsal", "report_lines"),
    [
        ({"verdict": "skipped", "message": "its manifest has no command"}, "its manifest has no command"),
        (None, "its rehearsal is not known"),
    ],
)
def test_a_change_without_a_rehearsal_is_not_reported_as_rehearsed(rehearsal: t.Any, report_lines: str) -> None:
    found = lines(part(rehearsal=rehearsal, **DONE))
    assert found[0] == "Changed: 1 operation on 1 of 3 nodes"
    assert f"WARNING: w1 kubelet: not rehearsed: {report_lines}" in found


def test_a_change_that_its_rehearsal_refused_is_recognized_by_its_cause_alone() -> None:
    refused = {"verdict": "refused", "message": "unknown flag: --x"}
    found = lines(part(failed=True, started=False, rehearsal=refused), causes={"w1": ["unknown flag: --x"]})
    assert not [line for line in found if "rehearsed" in line]
    assert "w1: unknown flag: --x" in found


def test_times_that_were_not_measured_are_not_known() -> None:
    unmeasured = {**COMMITTED, "outage_seconds": None}
    both = [part("w1", **DONE), part("w2", changed=True, transaction=unmeasured)]
    assert lines(*both)[1].endswith("(committed; away up to 2.0 s, not known of all)")


# ---- for programs ----------------------------------------------------------------------------------------------------


def test_the_same_is_there_for_programs() -> None:
    run = Run(hosts=["w1", "w2", "w3"], parts=[part("w1", **DONE), part("w2", failed=True), part("w3", **WAITING)])
    assert report.report_data(run) == {
        "outcome": "failed",
        "hosts": {
            "w1": {"changed": 1, "pending": 0, "failed": False},
            "w2": {"changed": 0, "pending": 1, "failed": True},
            "w3": {"changed": 0, "pending": 1, "failed": True},
        },
    }
    assert report.count_pending(run) == 2


@pytest.mark.parametrize(
    ("run", "outcome", "pending"),
    [
        (Run(parts=[part(**DONE)]), "changed", 0),
        (Run(parts=[part(operations=[])]), "unchanged", 0),
        (Run(parts=[part(**DONE)], dry=True), "pending", 1),
        (Run(objects={"placement guard": True}), "changed", 0),
        (Run(objects={"placement guard": True}, dry=True), "pending", 1),
        (Run(objects={"placement guard": False}), "unchanged", 0),
    ],
)
def test_the_outcome_of_a_run(run: Run, outcome: str, pending: int) -> None:
    assert (report.report_data(run)["outcome"], report.count_pending(run)) == (outcome, pending)


def test_what_has_no_part_on_a_host_is_reported_as_it_is() -> None:
    assert report.report_lines(Run(notes=["guard refuses; protected: w1"])) == ["guard refuses; protected: w1"]


@pytest.mark.parametrize(
    ("parts", "dry", "headline"),
    [
        ([part(operations=[])], True, "Plan: kubeadm-config; nothing to change on 1 node"),
        ([part(operations=[])], False, "Changed: kubeadm-config; nothing to change on 1 node"),
        ([part()], True, "Plan: 1 operation on 1 of 1 node and kubeadm-config; nothing was refused"),
    ],
)
def test_what_no_host_has_is_in_the_headline_as_well(parts: list[Part], dry: bool, headline: str) -> None:
    run = Run(hosts=["w1"], parts=parts, objects={"kubeadm-config": True, "placement guard": False}, dry=dry)
    assert report.report_lines(run)[0].startswith(headline)


def test_what_the_next_run_needs_is_in_the_command_to_continue_with() -> None:
    run = Run(hosts=["w1", "w2"], parts=[part("w2", failed=True)], resume="-e again=true")
    assert (
        report.report_lines(run)[-1]
        == "Failed: w2 failed. Run the same command again with -e again=true when that is repaired."
    )
    half_done = Run(hosts=["w1", "w2"], parts=[part("w1", **DONE), part("w2", failed=True)], resume="-e again=true")
    assert report.report_lines(half_done)[-1].endswith("run again with -e again=true --limit w2")


# ---- operations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (Change("feature_gates", "A", None, True), "+ feature gate A=true"),
        (Change("feature_gates", "A", False, None), "- feature gate A=false"),
        (Change("admission_plugins", "A", None, "enabled"), "+ admission plugin A"),
        (Change("admission_plugins", "A", None, "disabled"), "+ admission plugin A: disabled"),
        (Change("args", "v", "2", "4"), "~ --v=2 -> 4"),
        (Change("args", "x", None, ["a", "b"]), "+ --x=a,b"),
        (Change("config", "maxPods", 110, 200), "~ maxPods: 110 -> 200"),
        (Change("config", "x", None, {"a": None}), '+ x: {"a": null}'),
        (Change("config", "x", None, ""), '+ x: ""'),
        (Change("volumes", "x", None, {"path": "/a"}), "+ volumes x: other content"),
        (Change("labels", "a", None, "b"), "+ label a=b"),
        (Change("labels", "a", None, ""), "+ label a="),
        (Change("taints", "a:NoSchedule", None, ""), "+ taint a:NoSchedule"),
        (Change("taints", "a:NoSchedule", None, "b"), "+ taint a:NoSchedule: b"),
        (Change("resources", "example.com/a", "4", "8"), "~ example.com/a: 4 -> 8"),
    ],
)
def test_an_operation_is_shown_as_its_setting_is_written(change: Change, text: str) -> None:
    assert report.describe_operation(change) == text


def test_what_is_owned_and_not_named_is_one_line_for_all_its_hosts() -> None:
    maximum = ("config maxPods", "node_kubelet_config: {}")
    hosts = [f"w{number}" for number in range(12)]
    assert report.left_alone_lines(
        [*((host, *maximum) for host in hosts), ("w0", "args v", "node_kubelet_args: {}")]
    ) == [
        "config maxPods on w0, w1, w2, w3, w4, w5, w6, w7, w8, w9 and 2 more is owned and no variable names it, so it stays;"
        " node_kubelet_config: {} reverts it",
        "args v on w0 is owned and no variable names it, so it stays; node_kubelet_args: {} reverts it",
    ]
