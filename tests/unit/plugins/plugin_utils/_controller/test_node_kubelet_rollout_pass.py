# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kubelet is changed when, what stops that, which queries the API gets, and what is reported: the steps of the role in their order."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, Call, Json, PlayEnded
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import lease_result, nodes_result
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_runs import (
    DIFFERENT,
    FAILED,
    FOUR,
    IDLE,
    REJECTED,
    SETTING,
    SILENT,
    lease_calls,
    node_queries,
    role_run,
    run,
)

# ---- whose turn it is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forks", [1, 2, 5])
def test_those_that_need_it_are_changed_one_after_the_other(forks: int) -> None:
    found = run(*FOUR, plans={"w2": IDLE}, forks=forks)
    assert (found.failures, found.changed, "msg" in found.result("admit", "cp1")) == ({}, ["cp1", "w1", "w3"], False)
    assert "cp1, w1, w3 kubelet + --v=5 (committed; " in found.lines
    assert "1 other node: nothing to change" in found.lines
    assert found.statistics["node_kubelet_report"] == {name: found.report(name) for name in FOUR}
    # One request for the nodes that change, and in each turn two for its pods.
    first, *later = node_queries(found)
    assert first["restarted_nodes"] == ["cp1", "w1", "w3"]
    assert [each["running_before"] for each in later] == [{"cp1": {}}, {"w1": {}}, {"w3": {}}]
    assert len(found.play.calls("node_resource_info")) == 1 + 2 * 3
    # The others only get the name of the coordinator.
    decided = found.result("decide", "w1")
    assert (decided["coordinator"], decided["api"], decided["planned"]) == (
        "cp1",
        [{"host": "w1", "become": False}],
        [],
    )


def test_the_size_of_a_batch_may_be_a_text() -> None:
    found = run(*FOUR, variables={"node_kubelet_max_unavailable": "2"}, changes={"w1": FAILED})
    assert found.changed == ["cp1", "w1", "w2"]
    assert found.report("w1")["msg"] == "it is restored"
    assert found.report("w3")["msg"] == "Not changed, because w1 failed."


@pytest.mark.parametrize(
    ("size", "words"), [(0, "Invalid node_kubelet_max_unavailable 0: must be at least 1."), (-1, "-1: must be")]
)
def test_a_batch_of_no_host_is_refused(size: int, words: str) -> None:
    found = run("cp1", variables={"node_kubelet_max_unavailable": size})
    assert words in found.failures["cp1 begin"]
    assert found.changed == []


def test_nothing_is_queried_when_nothing_changes() -> None:
    found = run("cp1", "w1", plans={"cp1": IDLE, "w1": IDLE}, results={"node_resource_info": SILENT})
    assert (found.failures, found.changed, node_queries(found), lease_calls(found)) == ({}, [], [], [])


def test_a_change_that_is_open_is_ended_and_an_earlier_one_acknowledged() -> None:
    left: Json = {**IDLE, "previous_transaction": {"id": "7", "outcome": "committed"}}
    plans = {
        "cp1": left,
        "w1": {**IDLE, "open_transaction": {"phase": "applied"}},
        "w2": {"previous_transaction": {"id": "8", "outcome": "committed"}},
    }
    found = run("cp1", "w1", "w2", plans=plans)
    assert found.changed == ["w1", "w2"]
    # Behind all that is verified: a run that is killed before that leaves the next one the outcome.
    acknowledged = found.play.calls("node_transaction")
    # On the node, although another host ends the rollout.
    assert [(each.on, each.arguments) for each in acknowledged] == [
        ("cp1", {"name": "kubelet", "id": "7"}),
        ("w1", {"name": "kubelet", "id": "new"}),
        ("w2", {"name": "kubelet", "id": "new"}),
    ]
    order = [call.module for call in found.play.all_calls]
    assert order.index("node_transaction") > max(at for at, name in enumerate(order) if name == "node_resource_info")
    acquired = found.play.calls("rollout_lease")[0].arguments
    assert acquired["open_transactions"] == ["kubelet on w1 (applied)"]


def test_hosts_that_skip_the_role_take_no_part() -> None:
    found = role_run(*FOUR)
    found.run(skipped_by=["cp1", "w2", "w3"])
    assert (found.failures, found.changed) == ({}, ["w1"])
    assert found.lines.startswith("Changed: 1 operation on 1 of 1 node; ")
    assert list(found.statistics["node_kubelet_report"]) == ["w1"]
    # Who takes part sends the query, and reports itself; the control plane is one of the inventory all the same.
    assert {call.on for call in found.play.calls("node_resource_info")} == {"cp1"}


def test_a_second_pass_reports_those_that_take_part() -> None:
    found = role_run(*FOUR)
    found.run()
    found.run(skipped_by=["cp1", "w1", "w3"])
    assert found.changed == ["cp1", "w1", "w2", "w3", "w2"]
    assert "w2 kubelet + --v=5 (committed; " in found.lines
    assert "w1" not in found.lines
    assert list(found.statistics["node_kubelet_report"]) == ["w2"]


def test_check_mode_queries_and_changes_nothing_for_good() -> None:
    found = run("cp1", "w1", check_mode=True)
    assert found.failures == {}
    (query,) = node_queries(found)
    limits = {"cp1": {"max_pods": 1}, "w1": {"max_pods": 1}}
    assert (query["restarted_nodes"], query["readmission"], query["limits"]) == (["cp1", "w1"], True, limits)
    assert [call.dry for call in found.play.calls("rollout_lease")] == [True]
    assert "started" not in found.report("w1")
    # A turn that does not come is reported only for runs that change something.
    stopped = run("cp1", "w1", check_mode=True, changes={"cp1": FAILED})
    assert "started" not in stopped.report("w1")
    assert "run again" not in stopped.lines


def test_the_plan_of_a_playbook_holds_no_lease_and_gives_no_turn() -> None:
    found = role_run("cp1", "w1")
    found.is_plan_only = True
    found.plan(["cp1", "w1"])
    assert (lease_calls(found), [found.result("admit", name)["batches"] for name in ("cp1", "w1")]) == ([], [[], []])
    assert len(node_queries(found)) == 1
    found.is_plan_only = False
    found.prepare_apply(["cp1", "w1"])
    found.apply(["cp1", "w1"])
    assert (found.changed, lease_calls(found)) == (["cp1", "w1"], [("held", "cp1")])


# ---- what stops it before the first write ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plans", "words"),
    [
        ({"w1": {"failed": True, "msg": "refused in the rehearsal"}}, "w1 cannot be changed as planned"),
        ({"w1": {"unreachable": True, "msg": "gone"}}, "w1 failed or was lost while everything was planned"),
        (
            {"w1": {"cluster": {"ca_sha256": "b", "server": "https://b:6443", "machine_id": ""}}},
            "belong to 2 clusters: cp1",
        ),
    ],
)
@pytest.mark.parametrize("ignores_errors", [False, True])
def test_what_a_plan_reports_keeps_every_node_from_a_change(plans: Json, words: str, ignores_errors: bool) -> None:
    found = run("cp1", "w1", plans=plans, ignores_errors=ignores_errors, ignores_unreachable=ignores_errors)
    assert (found.changed, found.play.all_calls) == ([], [])
    if "cluster" in plans["w1"] or ignores_errors:
        assert words in found.failures["cp1 decide"]
        assert found.failures["cp1 decide"].startswith("Nothing was changed. ")


@pytest.mark.parametrize(
    ("each", "step", "words"),
    [
        ({"w1": {"node_kubelet_feature_gate": {}}}, "w1 begin", "did you mean node_kubelet_feature_gates?"),
        (
            {"w1": {"node_kubelet_config": "maxPods=5"}},
            "w1 begin",
            "invalid node_kubelet_config: must be a mapping, not text",
        ),
        (
            {"w1": {"node_kubelet_node_name": "other"}},
            "cp1 decide",
            "node_kubelet_node_name of w1 is other, but its kubelet",
        ),
        (
            {"w1": {"node_kubelet_max_unavailable": 2}},
            "cp1 decide",
            "node_kubelet_max_unavailable is 1 on cp1 and 2 on w1.",
        ),
    ],
)
def test_variables_that_cannot_be_used(each: Json, step: str, words: str) -> None:
    found = run("cp1", "w1", each=each)
    assert words in found.failures[step]
    assert found.changed == []


def test_a_step_that_did_not_come_to_all_is_no_admission() -> None:
    found = role_run("cp1", "w1")
    found.plan(["cp1", "w1"])
    del found.play.hostvars["w1"]["__node_kubelet_decide"]
    result = found.play.run_step("node_kubelet", "admit", "cp1", on="cp1", settings={"plan_only": False})
    assert result["failed"]
    assert result["msg"].startswith("Nothing was changed. w1 is not planned yet")


def test_nothing_is_admitted_that_was_not_decided() -> None:
    found = role_run("cp1")
    found.plan(["cp1"])
    del found.play.hostvars["cp1"]["__node_kubelet_decide"]
    admitted = found.play.run_step("node_kubelet", "admit", "cp1", settings={"plan_only": False})
    assert (admitted["batches"], admitted["before"], "failed" in admitted) == ([], [], False)


def test_each_host_of_a_batch_that_may_not_begin_reports_why_itself() -> None:
    results = {"rollout_lease": lambda call: {**lease_result(call), "stale": "takeover" not in call.arguments}}
    found = role_run(
        "cp1", "w1", "w2", plans={"cp1": IDLE}, variables={"node_kubelet_max_unavailable": 2}, results=results
    )
    found.plan(["cp1", "w1", "w2"])
    # It was acquired a long time ago.
    found.play.hostvars["cp1"]["__node_kubelet_admit"]["results"][-1]["lease"]["at"] = 0.0
    with pytest.raises(PlayEnded):
        found.apply(["cp1", "w1", "w2"])
    found.end(["cp1", "w1", "w2"])
    for host in ("w1", "w2"):
        assert found.report(host)["msg"].startswith("Not changed: another run held the Lease of the kubelets")
    assert "w1, w2: Not changed: another run held the Lease of the kubelets" in found.lines


def test_a_batch_that_may_not_begin_reports_nothing_of_an_earlier_pass() -> None:
    """Only one of its hosts is refused; the other one waits for it."""
    found = role_run("cp1", "w1", "w2", plans={"cp1": IDLE}, variables={"node_kubelet_max_unavailable": 2})
    found.run()
    assert found.changed == ["w1", "w2"]
    found.play.results["rollout_lease"] = lambda call: {
        **lease_result(call),
        "stale": call.host == "w1" and "takeover" not in call.arguments,
    }
    found.plan(["cp1", "w1", "w2"])
    # It was acquired a long time ago.
    found.play.hostvars["cp1"]["__node_kubelet_admit"]["results"][-1]["lease"]["at"] = 0.0
    with pytest.raises(PlayEnded):
        found.apply(["cp1", "w1", "w2"])
    found.end(["cp1", "w1", "w2"])
    assert found.changed == ["w1", "w2"]
    assert "committed" not in found.lines
    assert "w1: Not changed: another run held the Lease" in found.lines
    assert "w2: Not changed, because w1 failed." in found.lines
    assert "--limit" not in found.lines
    # A turn that did not begin has failed already.
    assert list(found.failures) == ["w1 turn", "w2 end"]


def test_a_turn_of_a_rollout_that_was_refused_does_not_begin() -> None:
    found = run("cp1", "w1", results={"node_resource_info": SILENT}, ignores_errors=True)
    assert found.changed == []
    assert found.failures["cp1 turn"] == "Not changed, because the rollout was refused."


def test_a_turn_does_not_begin_where_who_decides_did_not_come_to_admit() -> None:
    found = role_run("cp1", "w1", plans={"cp1": IDLE})
    found.plan(["cp1", "w1"])
    del found.play.hostvars["cp1"]["__node_kubelet_admit"]
    turn = found.play.run_step("node_kubelet", "turn", "w1", settings={"plan_only": False})
    assert (turn["failed"], turn["msg"]) == (True, "Not changed, because the rollout was refused.")


# ---- hosts that cannot be reached, and nodes that are not in the run -------------------------------------------------

AT_MOST_ONE: Json = {"node_kubelet_max_unreachable": 1}


def labelled(*planes: str, **others: Json) -> t.Callable[[Call], Json]:
    """An API that knows control planes, and other nodes."""
    label = {"node-role.kubernetes.io/control-plane": ""}
    return lambda call: nodes_result(call, **{name: {"labels": label} for name in planes}, **others)


@pytest.mark.parametrize("forks", [1, 5])
@pytest.mark.parametrize("gone", ["w0", "w2"])
def test_a_worker_that_cannot_be_reached_may_be_excluded(gone: str, forks: int) -> None:
    """Also before the first host that is reached, which ends when that one has ended already."""
    names = ("w0", "cp1", "w2")
    results = {"node_resource_info": labelled("cp1", w9={})}
    found = run(*names, plans={gone: GONE}, variables=AT_MOST_ONE, results=results, forks=forks)
    assert found.failures == {}
    assert found.changed == ["cp1", *(name for name in ("w0", "w2") if name != gone)]
    assert f"{gone}: skipped, because it cannot be reached" in found.lines
    # One host reports it.
    assert found.lines.count("not in this run: w9") == 1
    assert (found.report(gone)["unreachable"], found.report(gone)["msg"]) == (
        True,
        "skipped, because it cannot be reached: gone",
    )


def test_without_the_api_no_host_is_excluded() -> None:
    variables = {"node_kubelet_max_unreachable": 1, "node_kubelet_check_api": False}
    found = run("cp1", "w1", "w2", plans={"w1": GONE}, variables=variables)
    assert found.changed == []
    assert "the API does not show which nodes are control planes" in found.failures["cp1 admit"]


def test_where_nothing_changes_no_host_queries_who_was_excluded() -> None:
    results = {"node_resource_info": SILENT}
    found = run("cp1", "w1", plans={"cp1": IDLE, "w1": GONE}, variables=AT_MOST_ONE, results=results)
    assert (found.failures, node_queries(found)) == ({}, [])
    assert found.lines == "Nothing to change on 2 nodes\nw1: skipped, because it cannot be reached: gone"


@pytest.mark.parametrize(
    ("gone", "result", "words"),
    [
        (["w1", "w2"], labelled("cp1"), "node_kubelet_max_unreachable is 1, and 2 would be skipped."),
        (["cp1"], labelled("cp1"), "A control plane is never skipped, and cp1 is one."),
        (["w1"], labelled("cp1", "cp2"), "w1 cannot be reached, and the cluster has the control plane cp2"),
        (["w1"], SILENT, "w1 cannot be reached, and the API does not show which nodes are control planes"),
    ],
)
def test_who_must_not_be_excluded(gone: list[str], result: t.Any, words: str) -> None:
    variables = {**AT_MOST_ONE, "node_kubelet_force": True}
    plans = dict.fromkeys(gone, GONE)
    found = run("cp1", "w1", "w2", plans=plans, variables=variables, results={"node_resource_info": result})
    assert found.changed == []
    assert words in " ".join(found.failures.values())


def test_a_run_that_reaches_no_host_is_refused() -> None:
    groups = {"kube_control_plane": ["cp1"]}
    found = run("w1", groups=groups, plans={"w1": GONE}, variables=AT_MOST_ONE)
    assert "No host of this run is left." in found.failures["w1 decide"]


def test_what_else_is_wrong_with_a_node_its_plan_reports() -> None:
    found = run("cp1", "w1", variables=AT_MOST_ONE, results={"kubelet_info": {"failed": True, "msg": "no kubelet"}})
    assert found.changed == ["cp1", "w1"]


GATES: Json = {"control_plane_feature_gates": {"A": True}}


@pytest.mark.parametrize(
    ("variables", "groups", "refused"),
    [
        (GATES, {}, "control_plane_feature_gates would have no effect: the cluster has the control planes c1, c2"),
        ({}, {}, ""),
        (GATES, {"kube_control_plane": ["c1"]}, ""),
        ({**GATES, "kube_control_plane_group": "masters"}, {"masters": ["c1"]}, ""),
    ],
)
@pytest.mark.parametrize("checks_api", [True, False])
def test_a_run_without_control_planes(variables: Json, groups: Json, refused: str, checks_api: bool) -> None:
    api_check = {} if checks_api else {"node_kubelet_check_api": "no"}
    results = {"node_resource_info": labelled("c1", "c2")}
    found = run("w1", groups=groups, variables={**variables, **api_check}, results=results)
    assert found.changed == ([] if refused and checks_api else ["w1"])
    if checks_api:
        assert refused in found.failures.get("w1 admit", "")
        warnings = " ".join(found.result("admit", "w1").get("warnings", ()))
        assert ("the cluster has c1, c2" in warnings) is not bool(refused)


def test_a_run_that_misses_its_control_planes_hears_of_them_before_its_pods() -> None:
    planes = labelled("c1")
    results = {"node_resource_info": lambda call: {**nodes_result(call, **REJECTED), "nodes": planes(call)["nodes"]}}
    found = run("w1", "w2", groups={}, variables=GATES, results=results)
    assert "control_plane_feature_gates would have no effect" in found.failures["w1 admit"]


def test_in_check_mode_no_turn_is_missed() -> None:
    found = run("cp1", "w1", check_mode=True, changes={"cp1": FAILED})
    assert "started" not in found.report("w1")


# ---- what the API knows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check_mode", [False, True])
def test_pods_that_would_not_come_back_keep_every_node_from_a_change(check_mode: bool) -> None:
    results = {"node_resource_info": lambda call: nodes_result(call, **REJECTED)}
    found = run("cp1", "w1", "w2", results=results, check_mode=check_mode)
    assert (found.changed, lease_calls(found)) == ([], [])
    assert "default/picky (selects disk=fast)" in found.failures["cp1 admit"]
    assert "w2 kubelet + --v=5 (failed)" in found.lines
    assert found.report("w2")["msg"].startswith("Nothing was changed, because the restarted kubelet of w2")
    line = "cp1, w1 kubelet + --v=5 (restart)" if check_mode else "w1: Not changed, because cp1 failed."
    assert line in found.lines
    # The host that decides for all has failed with that already, and the one with the pods fails with it as well.
    assert list(found.failures) == ["cp1 admit", *([] if check_mode else ["w1 end"]), "w2 end"]
    assert found.failures["w2 end"] == found.report("w2")["msg"]


def test_force_of_one_host_restarts_under_such_pods() -> None:
    results = {"node_resource_info": lambda call: nodes_result(call, **REJECTED)}
    found = run("cp1", "w1", "w2", each={"w2": {"node_kubelet_force": "yes"}}, results=results)
    assert (found.failures, found.changed) == ({}, ["cp1", "w1", "w2"])
    forced = run("w1", groups={}, variables={"node_kubelet_force": True}, results={"node_resource_info": SILENT})
    assert forced.changed == ["w1"]


@pytest.mark.parametrize("result", [SILENT, GONE])
def test_an_api_that_cannot_be_queried_is_refused_with_the_ways_out(result: Json) -> None:
    found = run("cp1", "w1", results={"node_resource_info": result})
    assert found.changed == []
    message = found.failures["cp1 admit"]
    assert "the API does not show which pods of cp1, w1 the restarted kubelets would reject" in message
    assert "To skip this check, set node_kubelet_check_api to false" in message


def test_the_next_control_plane_is_queried_where_the_api_of_the_first_does_not_respond() -> None:
    def result(call: Call) -> Json:
        return SILENT if call.on == "cp1" and call.arguments.get("readmission") else nodes_result(call)

    found = run("cp1", "cp2", "cp3", results={"node_resource_info": result})
    assert found.changed == ["cp1", "cp2", "cp3"]
    assert [call.on for call in found.play.calls("node_resource_info")][:2] == ["cp1", "cp2"]
    assert [call.on for call in found.play.calls("access_info")] == ["cp1", "cp2"]
    assert found.result("admit", "cp1")["api"]["host"] == "cp2"


def test_a_control_plane_that_answered_is_requested_again() -> None:
    """One that takes no part in the run may be down."""
    groups = {"kube_control_plane": ["cp8", "cp9"]}
    results = {"node_resource_info": lambda call: GONE if call.on == "cp8" else nodes_result(call)}
    found = role_run("w1", "w2", groups=groups, results=results)
    found.set_desired(config={"maxPods": 50})
    found.run()
    assert (found.failures, found.changed) == ({}, ["w1", "w2"])
    assert [call.on for call in found.play.calls("node_resource_info")] == ["cp8", *["cp9"] * 5]


UNREAD = (
    "WARNING: not verified: whether nodes are missing in this run, and whether restarted kubelets would reject pods: "
)


def test_without_the_api() -> None:
    found = run("cp1", "w1", variables={"node_kubelet_check_api": False}, results={"node_resource_info": SILENT})
    assert (found.failures, found.changed) == ({}, ["cp1", "w1"])
    assert [call.module for call in found.play.all_calls] == ["node_transaction", "node_transaction"]
    assert f"{UNREAD}node_kubelet_check_api is false" in found.lines.splitlines()


def test_forced_run_without_api_reports_what_was_not_verified() -> None:
    variables = {"node_kubelet_force": True, "node_kubelet_lease": False}
    found = run("w1", groups={}, variables=variables, results={"node_resource_info": SILENT})
    assert found.changed == ["w1"]
    assert f"{UNREAD}no credentials" in found.lines


def test_what_is_desired_is_not_compared_without_the_api() -> None:
    found = role_run("cp1", "w1", variables={"node_kubelet_check_api": False}, results={"node_resource_info": SILENT})
    found.set_desired(config={"maxPods": 50})
    found.run()
    assert (found.failures, found.changed, node_queries(found)) == ({}, ["cp1", "w1"], [])


def test_no_host_of_a_batch_queries_while_another_can() -> None:
    found = run("cp1", "cp2", "w1", plans={"w1": IDLE, "cp2": {"operations": [SETTING]}})
    turns = [found.result("turn", name)["api"]["host"] for name in ("cp1", "cp2")]
    assert turns == ["cp2", "cp1"]


def test_what_is_desired_is_compared_after_every_batch() -> None:
    found = role_run("cp1", "w1")
    found.set_desired(config={"maxPods": 50})
    found.run()
    expected = {"feature_gates": {}, "config": {"maxPods": 50}}
    assert [each["kubelets"] for each in node_queries(found)[1:]] == [{"cp1": expected}, {"w1": expected}]
    assert node_queries(found)[1]["cluster"] == {"ca_sha256": "a", "machine_ids": {"cp1": "id-cp1", "w1": "id-w1"}}


def test_of_a_change_that_is_reverted_the_plan_is_compared() -> None:
    gate = {"field": "feature_gates", "key": "A", "before": False, "after": True}
    found = role_run("w1", plans={"w1": {"operations": [gate]}}, groups={})
    found.set_desired(state="previous", feature_gates={"B": True}, config={"maxPods": 50})
    found.run()
    assert node_queries(found)[-1]["kubelets"] == {"w1": {"feature_gates": {"A": True}, "config": {}}}


@pytest.mark.parametrize("ignores_errors", [False, True])
def test_a_kubelet_that_uses_something_else_stops_the_next_batch(ignores_errors: bool) -> None:
    found = role_run(
        *FOUR,
        results={"node_resource_info": lambda call: nodes_result(call, **DIFFERENT)},
        ignores_errors=ignores_errors,
    )
    found.set_desired(config={"maxPods": 50})
    found.run()
    assert found.changed == ["cp1", "w1"]
    assert "config maxPods is 110, not 50. Set a value" in found.failures["w1 conclude"]
    assert found.report("w2")["msg"] == "Not changed, because w1 failed."
    assert lease_calls(found)[-1][0] == "halted"


# ---- after a failure -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "ending"), [(FAILED, "failed"), ({**GONE, "failed": False}, "connection lost, end not seen")]
)
def test_a_failure_leaves_later_nodes_untouched(how: Json, ending: str) -> None:
    found = run(*FOUR, changes={"w1": how})
    assert found.changed == ["cp1", "w1"]
    assert f"w1 kubelet + --v=5 ({ending})" in found.lines
    assert "w2, w3: Not changed, because w1 failed." in found.lines
    assert "run again with --limit w1,w2,w3" in found.lines
    stats = found.statistics["node_kubelet_report"]
    assert (stats["w1"]["failed"], stats["w2"]["started"], stats["w2"]["msg"]) == (
        True,
        False,
        "Not changed, because w1 failed.",
    )
    assert found.failures["w2 end"] == "Not changed, because w1 failed."
    assert "w1 end" not in found.failures


def test_nothing_is_changed_behind_a_failure_that_is_ignored() -> None:
    found = run("cp1", "w1", "w2", changes={"cp1": FAILED}, ignores_errors=True)
    assert found.changed == ["cp1"]
    assert found.failures["w1 turn"] == "Not changed, because cp1 failed."
    assert found.failures["w2 turn"] == "Not changed, because cp1 failed."
    assert found.result("turn", "w2")["stopped_by"] == ["cp1"]
