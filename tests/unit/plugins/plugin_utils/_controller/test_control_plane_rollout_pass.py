# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host is changed when, who keeps other runs out, what is observed before each turn, and what a failure leaves: the steps of the role in their order."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_hosts import (
    API_SERVER,
    ETCD,
    ON,
    SCHEDULER,
    observed,
    pod,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_runs import (
    CHANGES,
    DOWN,
    FAILED,
    NOTHING,
    READY,
    REHEARSED,
    SILENT,
    TRANSACTION,
    plan,
    role_run,
    run,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, Call, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import ControlPlanes, lease_result

LOST = "connection lost, end not seen"


def lease_calls(found: ControlPlanes) -> list[tuple[str, str]]:
    """The states of the Lease that were requested, and where."""
    return [(call.arguments["state"], call.on) for call in found.play.calls("rollout_lease")]


def by_state(**results: t.Any) -> dict[str, t.Callable[[Call], Json]]:
    """Results for the Lease: acquired, renewed or released; well by default. A renewal does not name whom it may take over from."""

    def result(call: Call) -> Json:
        state = call.arguments["state"]
        name = "renewed" if state == "held" and "takeover" not in call.arguments else state
        found: Json = results.get(name, {})
        return {**lease_result(call), **found} if not found.get("failed") and not found.get("unreachable") else found

    return {"rollout_lease": result}


# ---- whose turn it is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forks", [1, 2, 5])
def test_all_are_planned_and_then_changed_one_after_the_other(forks: int) -> None:
    found = run(None, NOTHING, None, forks=forks)
    assert (found.failures, found.changed) == ({}, ["cp1", "cp3"])
    assert "cp1, cp3 kube-apiserver + feature gate A=true (committed; away up to 1.0 s)" in found.lines
    assert "1 other node: nothing to change" in found.lines
    assert found.lines.count("WARNING") == 1  # that of an upgrade
    assert [name for name in found.play.all_hosts if found.result("end", name)["lines"]] == ["cp1"]
    # The first turn goes by the plan.
    assert [call.on for call in found.play.calls("static_pod_info")] == ["cp1", "cp2", "cp3"]


def test_a_second_pass_reports_those_that_take_part() -> None:
    found = role_run(None, None)
    found.run()
    found.run(skipped_by=["cp1"])
    assert found.changed == ["cp1", "cp2", "cp2"]
    excluded = (
        "WARNING: this run leaves out cp1: nothing is planned there",
        "WARNING: not verified: whether API server and etcd of cp1 are ready: this run leaves them out",
    )
    assert [line for line in found.summary["lines"] if "cp1" in line] == list(excluded)
    # The one that skips it may be changed by another run meanwhile, but the Lease is held for that.
    assert lease_calls(found)[-3:] == [("held", "cp1"), ("held", "cp1"), ("released", "cp1")]


@pytest.mark.parametrize("forks", [1, 5])
@pytest.mark.parametrize(
    ("how", "ending", "reason"),
    [
        (FAILED, "failed", "the change was rolled back"),
        ({**GONE, "failed": False}, LOST, "it was lost in the middle of its change."),
    ],
)
def test_a_failure_leaves_later_nodes_untouched_and_its_mark(how: Json, ending: str, reason: str, forks: int) -> None:
    found = run(None, None, None, changes={"cp2": how}, forks=forks)
    assert found.changed == ["cp1", "cp2"]
    assert f"cp2 kube-apiserver + feature gate A=true ({ending})\ncp3: Not changed, because cp2 failed." in found.lines
    assert "; rehearsed: 3 x kube-apiserver\n" in found.lines
    # A host that has failed in its change does not fail once more.
    assert found.failures.keys() == ({"cp3 end"} if ending == LOST else {"cp2 change", "cp3 end"})
    assert found.failures["cp3 end"] == "Not changed, because cp2 failed."
    assert found.lines.endswith("run again with -e control_plane_resume=true --limit cp2,cp3")
    assert "run with -e control_plane_resume=true, too\n" in found.lines
    acquired, *_renewed, halted = (call.arguments for call in found.play.calls("rollout_lease"))
    assert (halted["state"], halted["node"], halted["reason"]) == ("halted", "cp2", reason)
    assert halted["intents"] == acquired["intents"]
    # Another host reports one that is lost.
    assert list(found.result("end", "cp1")["others"]) == (["cp2"] if ending == LOST else [])
    assert list(found.statistics["control_plane_report"]) == ["cp1", "cp2", "cp3"]


@pytest.mark.parametrize("forks", [1, 5])
def test_a_node_that_was_lost_and_goes_on_is_reported_of_by_another(forks: int) -> None:
    """With ignore_unreachable it comes to its end, before the host that reports for all."""
    found = role_run(None, None, changes={"cp1": GONE}, forks=forks, ignores_errors=True, ignores_unreachable=True)
    found.run()
    assert found.changed == ["cp1"]
    assert f"cp1 kube-apiserver + feature gate A=true ({LOST})" in found.lines
    assert lease_calls(found)[-1] == ("halted", "cp2")


def test_nothing_is_changed_behind_a_failure_that_is_ignored() -> None:
    found = run(None, None, changes={"cp1": FAILED}, ignores_errors=True)
    assert found.changed == ["cp1"]
    assert found.failures["cp2 turn"] == "Not changed, because cp1 failed or was lost."
    assert found.failures.keys() == {"cp1 change", "cp2 turn"}


@pytest.mark.parametrize("ignores_errors", [False, True])
@pytest.mark.parametrize(
    "bad",
    [
        plan("cp1", failed=True, msg="refused in the rehearsal"),
        GONE,
        plan("cp1", cluster={"ca_sha256": "b", "server": "https://b:6443", "machine_id": ""}),
    ],
)
def test_what_a_plan_reports_keeps_every_node_from_a_change(bad: Json, ignores_errors: bool) -> None:
    found = run(None, None, plans={"cp1": bad}, ignores_errors=ignores_errors)
    assert (found.changed, lease_calls(found)) == ([], [])


def test_several_clusters_are_named_with_their_hosts() -> None:
    other = {"cluster": {"ca_sha256": "b", "server": "https://b:6443", "machine_id": ""}}
    found = run(None, None, plans={"cp2": plan("cp2", **other)})
    assert "run each by itself, with --limit cp1 and --limit cp2." in found.failures["cp1 decide"]


def test_a_batch_is_not_changed_without_the_nodes_of_the_others() -> None:
    found = role_run(None, None)
    found.play.batch = ["cp1"]
    found.play.lost = ["cp2"]
    found.run()
    assert found.changed == []
    assert "Nothing was changed on cp1, because serial excludes cp2" in found.failures["cp1 decide"]
    found = role_run(NOTHING, NOTHING)
    found.play.batch, found.play.lost = ["cp1"], ["cp2"]
    found.run()
    assert (found.failures, found.lines) == ({}, "Nothing to change on 1 node")


# ---- variables -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("each", "step", "words"),
    [
        ({"cp2": {"control_plane_feature_gate": {}}}, "cp2 begin", "did you mean control_plane_feature_gates?"),
        ({"cp2": {"control_plane_lease": False}}, "cp1 decide", "control_plane_lease is True on cp1 and False on cp2."),
        ({"cp2": {"control_plane_node_name": "x"}}, "cp1 decide", "control_plane_node_name of cp2 is x"),
    ],
)
def test_variables_that_cannot_be_used(each: Json, step: str, words: str) -> None:
    found = run(None, None, each=each)
    assert words in found.failures[step]
    assert found.failures[step].startswith("Nothing was changed")
    assert found.changed == []


def test_texts_are_taken_for_what_they_state() -> None:
    texts = {
        "control_plane_lease_takeover": "yes",
        "control_plane_resume": "true",
        "control_plane_purge": "no",
        "control_plane_wait_timeout": "400",
        "control_plane_min_ready_seconds": "10",
        "control_plane_lock_timeout": "3",
        "control_plane_confirm": "on",
        "control_plane_confirm_timeout": "50",
    }
    found = run(None, variables=texts)
    arguments = found.play.calls("rollout_lease")[0].arguments
    assert (arguments["takeover"], arguments["resume"], arguments["wait_timeout"]) == (True, True, 3)
    assert arguments["duration"] == 60 + 3 + 400 + 400 + 20 + 50 + 180 + 2 * (400 + 90)
    other = run(None, variables={**texts, "control_plane_purge": "yes"})
    assert other.play.calls("rollout_lease")[0].arguments["intents"] != arguments["intents"]


# ---- the Lease -------------------------------------------------------------------------------------------------------


def test_the_lease_is_acquired_for_the_changes_and_renewed_before_each_turn() -> None:
    found = run(NOTHING, None, None, variables={"control_plane_lock_timeout": 3})
    assert found.changed == ["cp2", "cp3"]
    # A control plane that has no turn sends the requests.
    assert lease_calls(found) == [("held", "cp1"), ("held", "cp1"), ("held", "cp1"), ("released", "cp1")]
    acquired, renewed, _again, released = (call.arguments for call in found.play.calls("rollout_lease"))
    assert (acquired["takeover"], acquired["resume"], acquired["open_transactions"]) == (False, False, [])
    assert [len(desired) for desired in acquired["intents"]] == [16]
    assert acquired["cluster"] == {
        "ca_sha256": "a",
        "machine_ids": {name: f"id-{name}" for name in ("cp1", "cp2", "cp3")},
    }
    assert (renewed["wait_timeout"], "takeover" in renewed, int(renewed["plan_age"]) >= 0) == (0, False, True)
    assert released["completed"] is True
    assert len({call.arguments["holder"] for call in found.play.calls("rollout_lease")}) == 1


def test_who_has_its_turn_does_not_query_while_another_can() -> None:
    assert lease_calls(run(None, None)) == [("held", "cp1"), ("held", "cp2"), ("held", "cp1"), ("released", "cp1")]
    assert {on for _state, on in lease_calls(run(None))} == {"cp1"}
    assert {on for _state, on in lease_calls(run(DOWN, NOTHING))} == {"cp2"}
    assert {on for _state, on in lease_calls(run(None, NOTHING, variables={"control_plane_api_host": "cp2"}))} == {
        "cp2"
    }


@pytest.mark.parametrize(
    ("switch", "groups", "is_refused"),
    [
        (True, {"kube_control_plane": ["cp1"]}, True),
        ("yes", {"kube_control_plane": ["cp1"]}, True),
        (False, {"kube_control_plane": ["cp1"]}, False),
        (True, {"kube_control_plane": ["cp1", "cp2"]}, False),
        (True, {}, False),
    ],
)
def test_short_restarts_are_refused_with_more_control_planes_than_in_inventory(
    switch: t.Any, groups: dict[str, list[str]], is_refused: bool
) -> None:
    known = {"cp1": plan("cp1", kubeadm_config={"control_planes": ["cp1", "cp2"]})}
    found = run(None, plans=known, groups=groups, variables={"control_plane_short_restarts": switch})
    words = "control_plane_short_restarts sets another leader election"
    assert any(words in why for why in found.failures.values()) is is_refused
    assert bool(found.changed) is not is_refused


def test_one_that_takes_no_part_may_query_too() -> None:
    found = run(None, groups={"kube_control_plane": ["cp9", "cp1"]})
    assert lease_calls(found) == [("held", "cp1"), ("held", "cp1"), ("released", "cp1")]
    named = run(None, groups={"masters": ["cp1"]}, variables={"control_plane_api_host": "bastion"})
    assert {on for _state, on in lease_calls(named)} == {"bastion"}


def test_a_host_without_the_role_that_is_no_control_plane_of_the_inventory_does_not_query() -> None:
    found = role_run(None, None, groups={})
    found.run(skipped_by=["cp1"])
    assert (found.changed, {on for _state, on in lease_calls(found)}) == (["cp2"], {"cp2"})


def test_no_lease_without_a_change_unless_one_is_desired() -> None:
    assert run(NOTHING, NOTHING).play.all_calls == []
    found = run(None, variables={"control_plane_lease": "no"})
    assert (found.changed, [call.module for call in found.play.all_calls]) == (["cp1"], ["node_transaction"])


def test_check_mode_only_observes_it() -> None:
    found = run(None, None, check_mode=True, results=by_state(held={"taken_over_from": "them"}))
    assert found.failures == {}
    assert [call.dry for call in found.play.calls("rollout_lease")] == [True]
    assert "WARNING: the Lease would be taken over from them." in found.lines


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (SILENT, "To continue although nothing excludes other runs, set control_plane_lease: false."),
        ({"failed": True, "api_reachable": None, "msg": "no credentials."}, "set control_plane_lease: false"),
        (GONE, "set control_plane_lease: false"),
        (
            {"failed": True, "api_reachable": True, "msg": "a rollout of the same desired state failed on cp1."},
            "failed on cp1.",
        ),
    ],
)
@pytest.mark.parametrize("ignores_errors", [False, True])
def test_without_the_lease_nothing_is_changed(result: Json, message: str, ignores_errors: bool) -> None:
    found = run(None, None, results={"rollout_lease": result}, ignores_errors=ignores_errors)
    assert (found.changed, lease_calls(found)) == ([], [("held", "cp1")])
    assert message in found.failures["cp1 decide"]
    assert found.report("cp2")[API_SERVER]["msg"] == "Not changed, because cp1 failed."
    assert found.failures.keys() == {"cp1 decide", "cp2 end"}
    assert f"cp2: Not changed, because cp1 failed.\ncp1: {found.failures['cp1 decide']}\n" in found.lines


def test_a_host_that_failed_in_check_mode_does_not_fail_once_more_for_what_is_pending() -> None:
    variables = {"nodecraft_kubeadm_fail_on_pending": True}
    found = run(None, None, results={"rollout_lease": SILENT}, check_mode=True, variables=variables)
    assert found.failures.keys() == {"cp1 decide", "cp2 end"}


@pytest.mark.parametrize(
    ("pods", "groups", "goes_on"),
    [
        (CHANGES, ["cp1"], True),
        (DOWN, ["cp1"], True),
        (CHANGES, ["cp1", "cp2"], False),
        (DOWN, ["cp1", "cp2"], True),
    ],
)
def test_where_no_api_responds_one_alone_or_a_repair_goes_on(pods: Json, groups: list[str], goes_on: bool) -> None:
    found = run(pods, groups={"kube_control_plane": groups}, results={"rollout_lease": SILENT})
    assert found.changed == (["cp1"] if goes_on else [])
    if goes_on:
        assert "WARNING: continuing without the Lease" in found.lines
        assert ("make sure that nothing changes cp2 meanwhile" in found.lines) is ("cp2" in groups)


def test_those_excluded_are_known_by_the_group_that_the_inventory_names() -> None:
    variables = {"kube_control_plane_group": "masters"}
    found = run(None, groups={"masters": ["cp1", "cp2"]}, variables=variables, results={"rollout_lease": SILENT})
    assert found.changed == []


def test_a_plan_older_than_another_run_is_made_again() -> None:
    found = role_run(
        None, None, plans={"cp1": [plan("cp1"), plan("cp1", NOTHING)]}, results=by_state(held={"stale": True})
    )
    found.run()
    assert found.changed == ["cp2"]
    assert [state for state, _on in lease_calls(found)] == ["held", "held", "released"]


def change(before: t.Any, after: t.Any, key: str = "v") -> Json:
    return {API_SERVER: pod({"field": "args", "key": key, "before": before, "after": after}, **REHEARSED)}


def test_what_another_run_set_meanwhile_is_reported() -> None:
    """cp1 and cp2: what is taken back, with and without an earlier plan. cp3: what the other run did for this one. cp4: none of its business."""
    plans = {
        "cp1": [plan("cp1", change(None, "4")), plan("cp1", change("6", "4"))],
        "cp2": [plan("cp2", NOTHING), plan("cp2", change("6", None))],
        "cp3": [plan("cp3", change("2", "4")), plan("cp3", NOTHING)],
        "cp4": [plan("cp4", change("2", "4")), plan("cp4", change("2", "4"))],
    }
    results = by_state(held={"stale": True, "taken_over_from": "them"})
    found = role_run(*[None] * 4, plans=plans, results=results)
    found.run()
    assert found.changed == ["cp1", "cp2", "cp4"]
    warnings = found.result("decide", "cp1")["report_warnings"]
    assert warnings == [
        "the Lease is taken over from them.",
        "cp1 kube-apiserver: meanwhile another run: + --v=6; this run: ~ --v=6 -> 4",
        "cp2 kube-apiserver: meanwhile another run: + --v=6; this run: - --v=6",
        "cp3 kube-apiserver: meanwhile another run: ~ --v=2 -> 4, as this run was to",
    ]
    assert [f"WARNING: {line}" in found.lines for line in warnings] == [True] * 4


def test_a_control_plane_that_takes_no_part_is_named() -> None:
    """Also where nothing is to change."""
    found = run(NOTHING, groups={"kube_control_plane": ["cp1", "cp2"]})
    excluded = "WARNING: this run leaves out cp2: nothing is planned there"
    assert found.summary["lines"] == ["Nothing to change on 1 node", excluded]


def test_a_lease_is_released_when_the_other_run_has_left_nothing_to_do() -> None:
    found = role_run(None, plans={"cp1": [plan("cp1"), plan("cp1", NOTHING)]}, results=by_state(held={"stale": True}))
    found.run()
    assert (found.failures, found.changed) == ({}, [])
    assert [state for state, _on in lease_calls(found)] == ["held", "released"]
    # It was no rollout, so the mark of one that failed stays.
    assert found.play.calls("rollout_lease")[-1].arguments["completed"] is False


@pytest.mark.parametrize(
    "result", [{"stale": True}, {"failed": True, "api_reachable": True, "msg": "the run them is in progress."}]
)
def test_a_lease_that_was_lost_ends_the_rollout(result: Json) -> None:
    found = run(None, NOTHING, results=by_state(renewed=result))
    assert (found.changed, [state for state, _on in lease_calls(found)]) == ([], ["held", "held", "released"])
    assert "Not changed, because the Lease of this run" in found.failures["cp1 turn"]
    assert found.play.calls("rollout_lease")[-1].arguments["completed"] is False


@pytest.mark.parametrize("result", [SILENT, GONE])
def test_a_lease_that_cannot_be_released_fails_nothing(result: Json) -> None:
    found = run(None, results=by_state(released=result))
    assert (found.failures, found.changed) == ({}, ["cp1"])
    assert "WARNING: the Lease is still held by" in found.lines


def test_a_node_that_stays_busy_is_no_failed_desired_state() -> None:
    found = run(None, None, changes={"cp1": {"failed": True, "busy": True, "msg": "busy", "changed": False}})
    assert (found.changed, lease_calls(found)[-1][0]) == (["cp1"], "released")


# ---- readiness -------------------------------------------------------------------------------------------------------


def test_others_that_count_as_ready_unseen_are_in_the_report() -> None:
    limit = "whether its probes pass: exec probe: not known"
    others = {"etcd": {**observed("etcd"), "unverified": [limit]}}
    found = run(None, NOTHING, plans={"cp2": {**plan("cp2", NOTHING), "others": others}})
    assert found.changed == ["cp1"]
    assert f"WARNING: cp2 etcd: not verified: {limit}" in found.lines
    assert "not verified" not in run(NOTHING, NOTHING, plans={"cp2": {**plan("cp2", NOTHING), "others": others}}).lines


@pytest.mark.parametrize("result", [{"failed": True, "msg": "the API server answers 500."}, GONE])
def test_rights_that_could_not_be_reviewed_are_in_the_report(result: Json) -> None:
    found = run(None, results={"access_info": result})
    assert found.changed == ["cp1"]
    limit = f"whether the account has the rights that control_plane needs until its last write: {result['msg']}"
    assert f"WARNING: not verified: {limit}" in found.lines
    assert f"not verified: {limit}" in found.result("decide", "cp1")["warnings"]


def unready(name: str, **problems: str) -> t.Callable[[Call], Json]:
    """What the nodes report of themselves. problems: of the static pods of one."""

    def result(call: Call) -> Json:
        if call.on != name:
            return READY
        return {"static_pods": [observed(API_SERVER), *(observed(each, why) for each, why in problems.items())]}

    return result


def test_a_node_that_is_not_ready_keeps_others_from_their_turn() -> None:
    plans = {"cp2": plan("cp2", NOTHING, others={ETCD: pod(problem="starts")})}
    found = run(None, NOTHING, plans=plans, results={"static_pod_info": unready("cp2", etcd="runs, not ready yet")})
    assert (found.changed, [state for state, _on in lease_calls(found)]) == ([], ["held", "released"])
    assert "etcd on cp2 runs, not ready yet" in found.failures["cp1 turn"]


def test_a_node_that_gets_ready_is_waited_for() -> None:
    pod_results: list[t.Any] = [unready("cp2", etcd="starts"), unready("cp2", etcd="starts"), lambda _call: READY]
    plans = {"cp2": plan("cp2", NOTHING, others={ETCD: pod(problem="starts"), "kube-scheduler": pod(problem="down")})}

    def result(call: Call) -> Json:
        found: Json = (pod_results.pop(0) if call.on == "cp2" and len(pod_results) > 1 else pod_results[-1])(call)
        return found

    assert run(None, NOTHING, plans=plans, results={"static_pod_info": result}).changed == ["cp1"]


def test_a_node_that_is_lost_while_it_is_queried_ends_the_rollout() -> None:
    found = run(None, None, None, results={"static_pod_info": lambda call: GONE if call.on == "cp3" else READY})
    assert found.changed == ["cp1"]
    assert "cp3 could not be checked (gone)" in found.failures["cp2 turn"]
    # It is not cp2 that stopped the run.
    assert found.failures["cp3 end"] == "Not changed, because cp3 failed."
    assert found.play.calls("rollout_lease")[-1].arguments["completed"] is False


def test_what_is_down_is_repaired_first() -> None:
    open_pod = {**DOWN, ETCD: pod(phase="waiting", **REHEARSED)}
    found = run(None, open_pod, results={"static_pod_info": READY})
    assert found.changed == ["cp2", "cp2", "cp1"]
    assert found.play.calls("rollout_lease")[0].arguments["open_transactions"] == ["etcd on cp2 (waiting)"]


def test_the_member_that_leads_etcd_is_changed_last() -> None:
    leading, following = ({ETCD: {**pod(ON, **REHEARSED), "leads": leads}} for leads in (True, False))
    found = run(leading, following, results={"static_pod_info": READY})
    assert (found.failures, found.changed) == ({}, ["cp2", "cp1"])


def test_the_first_static_pod_that_fails_ends_the_turn() -> None:
    pods = {ETCD: pod(ON, **REHEARSED), **CHANGES}
    found = run(pods, pods, changes={"cp1": FAILED})
    assert found.changed == ["cp1"]
    assert found.report("cp1")[API_SERVER]["started"] is False
    assert found.failures.keys() == {"cp1 change", "cp2 end"}
    lines = [
        f"cp1 {name} + feature gate A=true ({ending})" for name, ending in ((ETCD, "failed"), (API_SERVER, "not begun"))
    ]
    assert "\n".join([*lines, "cp2: Not changed, because cp1 failed."]) in found.lines


# ---- what is reverted on other nodes -----------------------------------------------------------------------------------

LOSS = "a pod for the Deployment (none was made, after 60 s)"
ROLLED_BACK: Json = {
    "failed": True,
    "msg": "kube-scheduler on cp3: rolled back",
    "transaction": {**TRANSACTION, "outcome": "rolled_back", "reason": f"what worked before does not: {LOSS}"},
}
REVERTED: Json = {"changed": True, "transaction": {**TRANSACTION, "id": "undo"}, "reverts": "new"}


def lose(name: str = SCHEDULER, lost: Json | None = None, revert: t.Any = None) -> ControlPlanes:
    """Three nodes that change a component, of which the last one has lost it."""
    pods = {name: pod(ON, **REHEARSED)}
    reverts = revert or (lambda call: {**REVERTED, "changed": not call.dry})
    results = {"static_pod": reverts, "static_pod_info": READY}
    return run(pods, pods, pods, changes={"cp3": lost or ROLLED_BACK}, results=results)


def test_loss_of_an_elected_component_is_reverted_on_every_node_of_the_run() -> None:
    found = lose()
    assert found.changed == ["cp1", "cp2", "cp3"]
    made = [
        (call.on, call.dry, call.arguments["state"], call.arguments["canary"])
        for call in found.play.calls("static_pod")
    ]
    assert made == [(on, dry, "previous", False) for on in ("cp2", "cp1") for dry in (True, False)]
    for name in ("cp1", "cp2"):
        part = found.report(name)[SCHEDULER]
        assert part["msg"] == f"{SCHEDULER} is reverted, because cp3 lost {LOSS}."
        assert (part["changed"], part["reverted"], part["transaction"]["id"]) == (False, True, "undo")
        assert found.failures[f"{name} end"] == part["msg"]
        assert part["unverified"] == ["whether the cluster works again: nothing is observed behind a revert"]
    assert f"cp1, cp2 {SCHEDULER} + feature gate A=true (reverted; away up to 1.0 s)" in found.lines
    assert f"cp1, cp2: {SCHEDULER} is reverted, because cp3 lost {LOSS}." in found.lines
    assert f"rolled back: {SCHEDULER} on cp3; reverted: {SCHEDULER} on cp1, {SCHEDULER} on cp2." in found.lines
    # The Lease is renewed for that, and marked.
    *_others, renewed, halted = (call.arguments for call in found.play.calls("rollout_lease"))
    assert (renewed["state"], halted["state"], halted["node"]) == ("held", "halted", "cp3")


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        (API_SERVER, ROLLED_BACK),
        (SCHEDULER, FAILED),
        (SCHEDULER, {**ROLLED_BACK, "transaction": {**TRANSACTION, "outcome": "rolled_back", "reason": "it crashed"}}),
    ],
)
def test_other_failures_revert_nothing(name: str, lost: Json) -> None:
    found = lose(name, lost)
    assert found.play.calls("static_pod") == []
    assert found.report("cp1")[name]["transaction"]["outcome"] == "committed"


def test_a_loss_that_its_own_rollback_does_not_end_is_reverted_as_well() -> None:
    found = lose(SCHEDULER, {**ROLLED_BACK, "transaction": {**ROLLED_BACK["transaction"], "outcome": "alarm"}})
    assert [call.on for call in found.play.calls("static_pod") if not call.dry] == ["cp2", "cp1"]


@pytest.mark.parametrize(
    ("revert", "reason"),
    [
        ({**REVERTED, "reverts": "later"}, "its last change is not new of this run but later"),
        ({"failed": True, "msg": "Is busy."}, "Is busy"),
        (GONE, "gone"),
    ],
)
def test_revert_that_fails_leaves_an_alarm_and_goes_on(revert: Json, reason: str) -> None:
    found = lose(revert=lambda call: revert if call.on == "cp2" else {**REVERTED, "changed": not call.dry})
    part = found.report("cp2")[SCHEDULER]
    assert (
        part["msg"] == f"{SCHEDULER} is not reverted, although cp3 lost {LOSS}: {reason}. The node needs manual repair."
    )
    assert (part["failed"], part["changed"]) == (True, True)
    assert found.report("cp1")[SCHEDULER]["reverted"] is True


# ---- the plan of a playbook ------------------------------------------------------------------------------------------


def test_a_playbook_plans_first_and_decides_again_when_it_changes() -> None:
    found = role_run(None, NOTHING)
    found.is_plan_only = True
    found.plan(["cp1", "cp2"])
    planned = found.result("decide", "cp1")
    assert (planned["turns"], planned["lease"]["held"]) == (["cp1"], False)
    assert [call.dry for call in found.play.calls("rollout_lease")] == [True]
    found.is_plan_only = False
    found.prepare_apply(["cp1", "cp2"])
    found.apply(["cp1", "cp2"])
    found.end(["cp1", "cp2"])
    assert (found.failures, found.changed) == ({}, ["cp1"])
