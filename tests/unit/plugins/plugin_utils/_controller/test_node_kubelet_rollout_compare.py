# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is reviewed before a kubelet changes, and which kubelets are compared with what is desired: the steps of the role in their order."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, Call, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import nodes_result
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_runs import (
    DIFFERENT,
    IDLE,
    SETTING,
    SILENT,
    lease_calls,
    node_queries,
    role_run,
    run,
)

DESIRED: Json = {"node_kubelet_config": {"maxPods": 50}}
ALL_IDLE = {"cp1": IDLE, "w1": IDLE}


@pytest.mark.parametrize("check_mode", [False, True])
def test_kubelets_with_nothing_to_change_are_compared(check_mode: bool) -> None:
    found = run("cp1", "w1", plans=ALL_IDLE, variables=DESIRED, check_mode=check_mode)
    assert (found.failures, found.changed, lease_calls(found)) == ({}, [], [])
    expected = {"feature_gates": {}, "config": {"maxPods": 50}}
    assert [each["kubelets"] for each in node_queries(found)] == [{"cp1": expected, "w1": expected}]
    assert found.lines == "Nothing to change on 2 nodes"


def unread(node: str, problem: str = "403, forbidden") -> t.Callable[[Call], Json]:
    """An API that cannot read one kubelet."""

    def result(call: Call) -> Json:
        entry: Json = {node: {"kubelet": {"config": None, "differences": [], "problem": problem}}}
        is_requested = node in call.arguments.get("kubelets", {})
        return {
            **nodes_result(call, **(entry if is_requested else {})),
            **({"failed": True, "msg": problem} if is_requested else {}),
        }

    return result


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (unread("w1"), "what it uses cannot be compared with what is desired: 403, forbidden."),
        (lambda call: nodes_result(call, **DIFFERENT), "config maxPods is 110, not 50"),
    ],
)
def test_idle_kubelet_that_is_not_as_desired_fails_its_host(result: t.Any, words: str) -> None:
    """A run that ended between the change and the comparison, or was refused there, is followed by one with nothing to change."""
    found = run("cp1", "w1", plans=ALL_IDLE, variables=DESIRED, results={"node_resource_info": result})
    assert list(found.failures) == ["w1 end"]
    assert words in found.failures["w1 end"]
    assert found.report("w1")["failed"] is True
    assert "1 other node: nothing to change" in found.lines
    assert f"w1: {found.failures['w1 end']}\nFailed: w1 failed." in found.lines


@pytest.mark.parametrize("result", [SILENT, GONE])
def test_api_that_is_silent_fails_a_run_that_compares(result: Json) -> None:
    found = run("cp1", "w1", plans=ALL_IDLE, variables=DESIRED, results={"node_resource_info": result})
    assert list(found.failures) == ["cp1 end", "w1 end"]
    assert "whether kubelets use what is desired could not be compared: " in found.failures["cp1 end"]
    assert found.failures["w1 end"].endswith("could not be compared")
    assert all(found.report(host)["failed"] for host in ("cp1", "w1"))


def test_idle_kubelets_are_compared_by_the_next_control_plane() -> None:
    results = {"node_resource_info": lambda call: SILENT if call.on == "cp1" else nodes_result(call)}
    found = run("cp1", "cp2", plans={"cp1": IDLE, "cp2": IDLE}, variables=DESIRED, results=results)
    assert found.failures == {}
    assert [call.on for call in found.play.calls("node_resource_info")] == ["cp1", "cp2"]


LACKS: Json = {
    "user": "runner",
    "missing": [{"verb": "get", "resource": "nodes/proxy", "group": "", "namespace": "", "names": []}],
}


def test_missing_right_is_one_failure_for_all_idle_kubelets() -> None:
    results = {"node_resource_info": unread("w1"), "access_info": LACKS}
    found = run("cp1", "w1", plans=ALL_IDLE, variables=DESIRED, results=results)
    lacks = "the account runner lacks rights that node_kubelet needs to compare them: get nodes/proxy."
    assert lacks in found.failures["cp1 end"]
    assert lacks not in found.failures["w1 end"]
    assert "403" not in found.lines


def test_idle_kubelets_are_not_compared_without_the_api() -> None:
    variables = {**DESIRED, "node_kubelet_check_api": False}
    found = run("cp1", "w1", plans=ALL_IDLE, variables=variables, results={"node_resource_info": SILENT})
    assert (found.failures, node_queries(found)) == ({}, [])
    limit = "whether it uses what is desired: node_kubelet_check_api is false, so /configz was not compared"
    assert found.report("w1")["unverified"] == [limit]
    assert f"WARNING: cp1, w1 kubelet: not verified: {limit}" in found.lines


@pytest.mark.parametrize("check_mode", [False, True])
def test_idle_kubelet_that_is_not_as_desired_stops_a_change_of_others(check_mode: bool) -> None:
    results = {"node_resource_info": unread("cp1")}
    found = run("cp1", "w1", plans={"cp1": IDLE}, variables=DESIRED, results=results, check_mode=check_mode)
    assert (found.changed, lease_calls(found)) == ([], [])
    assert found.failures["cp1 admit"].startswith("Nothing was changed. The kubelet of cp1 has nothing to change")
    assert found.report("cp1")["msg"].startswith("Nothing was changed. The kubelet of cp1")
    assert ("w1 kubelet + --v=5 (restart)" if check_mode else "w1: Not changed, because cp1 failed.") in found.lines
    assert list(found.failures) == ["cp1 admit", *([] if check_mode else ["w1 end"])]


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize("force", [False, True])
def test_missing_right_is_refused_before_the_first_change(check_mode: bool, force: bool) -> None:
    variables = {**DESIRED, "node_kubelet_force": force}
    found = run("cp1", "w1", variables=variables, results={"access_info": LACKS}, check_mode=check_mode)
    assert (found.changed, lease_calls(found)) == ([], [])
    message = found.failures["cp1 admit"]
    assert message.startswith("Nothing was changed: the account runner lacks rights that node_kubelet needs")
    assert "get nodes/proxy. These rules grant them" in message
    (call,) = found.play.calls("access_info")
    resources = {(each["verb"], each["resource"]) for each in call.arguments["rights"]}
    needed = {
        ("get", "nodes"),
        ("list", "nodes"),
        ("get", "nodes/proxy"),
        *((verb, "leases") for verb in ("get", "create", "update")),
        *((verb, "pods") for verb in ("create", "list", "deletecollection")),
        ("get", "pods/log"),
        ("list", "events"),
    }
    assert resources == needed
    listed = [
        each["namespace"] for each in call.arguments["rights"] if (each["verb"], each["resource"]) == ("list", "pods")
    ]
    assert listed == [*([] if force else [""]), "nodecraft-kubeadm"]


def test_what_a_playbook_compares_at_its_end_counts() -> None:
    """Another role may have repaired what prevented the API server from reaching a kubelet."""
    results = {"node_resource_info": [unread("w1")(Call("", "", "", {"kubelets": {"cp1": {}, "w1": {}}}, False)), {}]}
    found = role_run("cp1", "w1", plans=ALL_IDLE, variables=DESIRED, results=results)
    found.is_plan_only = True
    found.plan(["cp1", "w1"])
    assert list(found.result("admit", "cp1")["mismatches"]) == ["w1"]
    found.play.results["node_resource_info"] = nodes_result
    found.compare(["cp1", "w1"])
    found.end(["cp1", "w1"])
    assert found.failures == {}
    assert found.lines == "Nothing to change on 2 nodes"


@pytest.mark.parametrize("plan_only", [False, True])
def test_plan_that_repairs_a_control_plane_does_not_wait_for_its_api(plan_only: bool) -> None:
    found = role_run("cp1", plans={"cp1": IDLE}, variables=DESIRED, results={"node_resource_info": SILENT})
    down = {"ready": False, "problem": "is down", "operations": [SETTING], "open_transaction": None}
    own = {"pass_id": "c", "at_work": True, "excluded": ""}
    started = {**own, "plan": {"static_pods": {"kube-apiserver": down}}}
    found.play.hostvars["cp1"]["__control_plane_begin"] = started
    found.is_plan_only = plan_only
    found.plan(["cp1"])
    assert (found.play.calls("node_resource_info") == []) is plan_only


def test_kubelet_out_of_reach_is_changed_with_a_warning() -> None:
    """Its change may be what brings it back."""
    reached: list[bool] = []

    def result(call: Call) -> Json:
        reached.append("restarted_nodes" not in call.arguments)
        return nodes_result(call) if reached[-1] else unread("w1", "503")(call)

    found = role_run("w1", groups={}, results={"node_resource_info": result})
    found.set_desired(config={"maxPods": 50})
    found.run()
    assert (found.failures, found.changed) == ({}, ["w1"])
    assert "what the kubelet of w1 uses cannot be read before its change" in " ".join(
        found.result("admit", "w1")["warnings"]
    )


# ---- runs that are forced ----------------------------------------------------------------------------------------------


def listing_no_pods(call: Call, **nodes: Json) -> Json:
    """An account that may not list pods gets no result where they are requested, too."""
    lists_pods = call.arguments.get("requested", True) or call.arguments.get("restarted_nodes")
    return SILENT if lists_pods else nodes_result(call, **nodes)


def test_forced_run_of_an_account_that_may_not_list_pods() -> None:
    results = {"node_resource_info": lambda call: listing_no_pods(call, w9={})}
    found = run("cp1", variables={"node_kubelet_force": True}, results=results)
    assert (found.failures, found.changed) == ({}, ["cp1"])
    assert "not in this run: w9" in found.lines
    assert "not verified" not in found.lines


def test_forced_run_of_an_account_that_may_not_list_pods_compares_idle_kubelets() -> None:
    wrong: Json = {"kubelet": {"config": None, "differences": [], "problem": "its kubelet answers 500"}}
    results = {"node_resource_info": lambda call: listing_no_pods(call, w1=wrong)}
    found = role_run("cp1", "w1", plans={"w1": IDLE}, variables={"node_kubelet_force": True}, results=results)
    found.set_desired(config={"maxPods": 50})
    found.run()
    assert found.changed == []
    assert "its kubelet answers 500" in found.lines


def test_forced_run_reports_kubelets_and_devices_that_the_api_does_not_show() -> None:
    def result(call: Call) -> Json:
        return SILENT if call.arguments.get("readmission") else nodes_result(call, cp1={}, w1={})

    variables = {"node_kubelet_force": True}
    found = role_run("cp1", "w1", plans={"w1": IDLE}, variables=variables, results={"node_resource_info": result})
    found.set_desired(config={"maxPods": 50})
    found.run()
    assert found.changed == ["cp1"]
    assert "WARNING: not verified: whether the kubelets of w1 use what is desired: " in found.lines
    devices = "whether device plugins offer what they did: the API did not show that before the change"
    assert found.report("cp1")["unverified"] == [devices]
    assert f"WARNING: cp1 kubelet: not verified: {devices}" in found.lines
