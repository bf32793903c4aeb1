# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose kubelet is restarted when, what the API has against it, and what is reported of each node."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import rollout, unverified_changes
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_results import (
    KubeletHost,
    KubeletPlan,
    KubeletSettings,
    LeaseState,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.results import (
    ChangeResult,
    ComponentResult,
    LeaseResult,
    NodesInfo,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.rollouts import (
    DONE,
    IN_TURN,
    LOST,
    SETTING,
    THIS_PASS,
    Json,
    host,
    made,
    refused,
    results,
)

SAME = dict.fromkeys(rollout.SAME_FOR_ALL, 1)
SETTINGS = KubeletSettings(wait_timeout=10, min_ready_seconds=1, lock_timeout=5, allocatable_timeout=7)


def every(hosts: t.Mapping[str, Json]) -> dict[str, KubeletHost]:
    return {name: results(registers) for name, registers in hosts.items()}


def info(response: Json) -> NodesInfo:
    return typed.parse(NodesInfo, response)


def report(registers: Json) -> Json:
    """What is reported of one host; empty when it was not even planned."""
    found = rollout.host_report(results(registers))
    return dict(found.raw) if found else {}


def final_report(name: str, registers: Json, coordinator: Json, stopped: t.Sequence[str], *, has_turn: bool) -> Json:
    """The same, with what others decided."""
    found = rollout.final_report(name, results(registers), results(coordinator), stopped, has_turn=has_turn)
    return dict(found.raw) if found else {}


def plane(name: str, **more: t.Any) -> Json:
    return host(name, plan={"control_plane": ["etcd runs"], **more})


def idle(name: str, settings: Json | None = None, **more: t.Any) -> Json:
    return host(name, plan={"operations": [], **more}, settings=settings)


# ---- before the first write ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (host("w2", settings=SAME), ""),
        (host("w2", settings=SAME, plan={"failed": True}), "w2 cannot be changed as planned"),
        (host("w2", settings={**SAME, "node_name": "x"}), "node_kubelet_node_name of w2 is x"),
        (host("w2", settings={**SAME, "node_kubelet_lease": 0}), "node_kubelet_lease is 1 on w1 and 0 on w2"),
        (host("w2", settings=SAME, plan={"cluster": {"ca_sha256": "b"}}), "belong to 2 clusters"),
    ],
)
def test_what_refuses_all(second: Json, words: str) -> None:
    found = rollout.run_refusal(every({"w1": host(settings=SAME), "w2": second}), ["w1", "w2"])
    assert words in found
    assert bool(found) is bool(words)


def test_a_turn_is_for_a_change_or_one_that_is_open() -> None:
    assert results(host()).has_turn
    assert results(idle("w1", open_transaction={"phase": "prepared"})).has_turn
    assert not results(idle("w1")).has_turn


def test_control_planes_come_first_wherever_they_stand() -> None:
    hosts = {"w1": host(), "c1": plane("c1"), "w2": idle("w2"), "c2": plane("c2", operations=[]), "w3": host("w3")}
    assert rollout.batches(every(hosts), 5) == [["c1"], ["w1", "w3"]]


def test_the_cluster_is_reported_by_all_nodes() -> None:
    other = host("w2", plan={"cluster": {"ca_sha256": "b", "machine_id": "2"}})
    assert rollout.cluster(every({"w1": host(), "w2": other, "w3": host("w3")})) == {
        "ca_sha256": "a,b",
        "machine_ids": {"w1": "id-w1", "w2": "2", "w3": "id-w3"},
    }


DESIRED: Json = {"config": {"maxPods": 5}}
EXPECTED: Json = {"feature_gates": {}, "config": {"maxPods": 5}}


def test_what_is_queried_before_the_restarts() -> None:
    hosts = {
        "w1": host("n1", settings=DESIRED),
        "w2": idle("n2", settings=DESIRED),
        "w3": idle("n3"),
        "w4": host("n4", plan={"problem": "it is down"}),
    }
    assert rollout.info_request(every(hosts), ["w1", "w4"]) == {
        "requested": False,
        "readmission": True,
        "restarted_nodes": ["n1", "n4"],
        "limits": {"n1": {"max_pods": 1}, "n4": {"max_pods": 1}},
        # One that is down cannot be read.
        "kubelets": {"n1": {}, "n2": EXPECTED},
    }


@pytest.mark.parametrize(
    ("force", "lease", "missing"),
    [(False, True, set()), (True, True, {"pods"}), (False, False, {"leases"})],
)
def test_rights_are_those_of_what_follows(force: bool, lease: bool, missing: set[str]) -> None:
    hosts = {"w1": host("n1", settings={"force": force, "canary": False})}
    rights = rollout.rights(every(hosts), ["w1"], KubeletSettings(node_kubelet_lease=lease), canaries=["w1"])
    assert {right.resource for right in rights} == {"nodes", "nodes/proxy", "pods", "leases"} - missing
    proxy = next(right for right in rights if right.resource == "nodes/proxy")
    assert (proxy.verb, proxy.names) == ("get", ("n1",))


# ---- what kubelets use that have nothing to change -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("registers", "expected"),
    [
        (idle("w1", settings=DESIRED), {"h": EXPECTED}),
        (host("w1", settings=DESIRED), {}),
        (idle("w1", settings={"config": {"maxPods": None}}), {}),
        (idle("w1", settings={**DESIRED, "node_kubelet_check_api": False}), {}),
    ],
)
def test_idle_kubelet_is_compared_with_what_is_desired(registers: Json, expected: Json) -> None:
    assert rollout.idle_settings(every({"h": registers})) == expected


def kubelet(*differences: Json, problem: str | None = None) -> Json:
    return {"config": {}, "differences": list(differences), "problem": problem}


DIFFERENCE = {"field": "config", "key": "maxPods", "expected": 5, "found": 110}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (kubelet(), ""),
        (kubelet(DIFFERENCE), "it does not use what is desired: config maxPods is 110, not 5."),
        (kubelet(problem="403."), "cannot be compared with what is desired: 403."),
        (None, "the API does not show what it uses"),
    ],
)
def test_idle_kubelet_that_is_not_as_desired_is_named(entry: Json | None, words: str) -> None:
    hosts = every({"h": idle("n1", settings=DESIRED)})
    found = rollout.idle_mismatches(hosts, info({"nodes": {"n1": {"kubelet": entry}}}))
    assert list(found) == (["h"] if words else [])
    assert words in found.get("h", "")
    assert not words or found["h"].startswith("The kubelet of n1 has nothing to change and is healthy, but ")


def test_api_that_reports_no_node_blames_no_kubelet() -> None:
    assert rollout.idle_mismatches(every({"h": idle("n1", settings=DESIRED)}), info({"msg": "silent."})) == {}
    assert rollout.read_error(info({"msg": "silent."})).startswith("silent. If credentials are missing")


def test_kubelet_out_of_reach_before_its_change_is_a_warning() -> None:
    response = {"nodes": {"n1": {"kubelet": kubelet(problem="503.")}, "n2": {"kubelet": kubelet()}, "n3": {}}}
    hosts = every({name: host(name) for name in ("n1", "n2", "n3")})
    (warning,) = rollout.unreadable_warnings(hosts, list(hosts), info(response))
    assert warning.startswith("what the kubelet of n1 uses cannot be read before its change")


FORCED = host(settings={"force": True})
REJECTED = {"nodes": {"w1": {"readmission": [{"pod": "default/p", "reason": "too big"}]}, "w2": {"readmission": []}}}


def test_pods_that_would_not_come_back_are_named() -> None:
    found = rollout.check_restarts(every({"w1": host(), "w2": host("w2")}), ["w1", "w2"], info(REJECTED))
    assert list(found.by_host) == ["w1"]
    assert "kubelet of w1 would reject pods that run there: default/p (too big). Give the node" in found.message


def test_an_api_that_is_silent_objects_for_all_but_the_forced() -> None:
    hosts = every({"w1": FORCED, "w2": host("w2")})
    found = rollout.check_restarts(hosts, ["w1", "w2"], info({"msg": "no credentials."}))
    assert list(found.by_host) == ["w2"]
    assert found.message.startswith(
        "the API does not show which pods of w2 the restarted kubelets would reject: no credentials. If"
    )
    assert rollout.check_restarts(every({"w2": host()}), ["w2"], info({})).message.count("no answer") == 1


@pytest.mark.parametrize("response", [REJECTED, {}])
def test_force_takes_no_objection(response: Json) -> None:
    assert rollout.check_restarts(every({"w1": FORCED}), ["w1"], info(response)) == rollout.RestartRefusals({}, "")


@pytest.mark.parametrize("response", [REJECTED, {"nodes": {"w2": {}}}])
def test_nothing_to_object_to(response: Json) -> None:
    assert rollout.check_restarts(every({"w2": host("w2")}), ["w2"], info(response)) == rollout.RestartRefusals({}, "")


RESOURCES = {
    "a/plugged": {"allocatable": "4", "device_plugin": True},
    "a/none": {"allocatable": "0", "device_plugin": True},
    "a/unset": {"allocatable": None, "device_plugin": True},
    "a/patched": {"allocatable": "4", "device_plugin": False},
}


def test_what_device_plugins_offer() -> None:
    assert rollout.plugin_allocatable(info({"nodes": {"w1": {"extended_resources": RESOURCES}}}), "w1") == {
        "a/plugged": 4
    }
    assert rollout.plugin_allocatable(info({"msg": "silent"}), "w1") is None


# ---- the Lease -------------------------------------------------------------------------------------------------------


def test_how_the_lease_is_held_and_released() -> None:
    assert rollout.turn_seconds(SETTINGS) == 5 + 2 * 11 + 7 + 330
    assert rollout.lease_request("me", {"ca_sha256": "a"}, SETTINGS, plan_age=3) == {
        "name": "nodecraft-kubeadm-kubelets",
        "state": "held",
        "holder": "me",
        "duration": 546,
        "plan_age": 3,
        "cluster": {"ca_sha256": "a"},
    }
    assert unverified_changes.release_request({}, "me", {}) == {
        "name": "nodecraft-kubeadm-kubelets",
        "state": "released",
        "holder": "me",
        "cluster": {},
        "completed": False,
    }


def test_changes_that_are_open_are_reported() -> None:
    hosts = {
        "w1": host(),
        "w2": idle("w2", open_transaction={"phase": "applied"}),
        "w3": idle("w3", open_transaction={"phase": None}),
    }
    assert rollout.open_transactions(every(hosts)) == [
        "kubelet on w2 (applied)",
        "kubelet on w3 (its journal cannot be read)",
    ]


STALE = "another run held the Lease of the kubelets since everything was planned"


@pytest.mark.parametrize(
    ("response", "acquired", "renewed"),
    [
        ({"stale": False}, "", ""),
        ({"stale": True}, "", STALE),
        ({"failed": True, "api_reachable": True, "msg": "taken."}, "taken.", "taken."),
        ({"failed": True, "api_reachable": False, "msg": "silent."}, "silent. To continue", "silent. To continue"),
        (
            {"unreachable": True, "msg": "gone"},
            "gone. To continue although nothing excludes other runs",
            "gone. To continue",
        ),
    ],
)
def test_what_the_lease_refuses(response: Json, acquired: str, renewed: str) -> None:
    result = typed.parse(LeaseResult, response)
    for found, words in ((rollout.lease_refusal(result), acquired), (rollout.renewal_refusal(result), renewed)):
        assert found.startswith(words)
        assert bool(found) is bool(words)
        assert ("node_kubelet_lease" in found) is ("To continue" in words)


def test_what_is_reported_of_a_lease_that_was_acquired() -> None:
    assert rollout.lease_warnings(typed.parse(LeaseResult, {"stale": False, "taken_over_from": None})) == []
    result = typed.parse(LeaseResult, {"stale": True, "taken_over_from": "them"})
    takeover, stale = rollout.lease_warnings(result)
    assert takeover == "the Lease nodecraft-kubeadm-kubelets is taken over from them."
    assert stale.startswith(f"{STALE}. Nodes on which there was nothing to change are not checked again: run again")


def test_when_the_lease_was_renewed() -> None:
    lease = LeaseState(at=5.0)
    renewed = host(turn={**THIS_PASS, "lease": {"at": 7.0}})
    assert rollout.lease_renewed_at(lease, {}) == 5.0
    before = every({"w1": host(), "w2": renewed, "w3": host(turn={**THIS_PASS, "lease": {}})})
    assert rollout.lease_renewed_at(lease, before) == 7.0


@pytest.mark.parametrize(("now", "renews"), [(100.0, False), (281.9, False), (282.0, True)])
def test_the_lease_is_renewed_while_it_lasts_for_a_turn(now: float, renews: bool) -> None:
    assert rollout.must_renew(100.0, SETTINGS, now) is renews


# ---- after a change --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "check_mode", "found"),
    [
        ({"changed": True}, False, True),
        ({"changed": True}, True, False),
        ({"changed": True, "failed": True}, False, False),
        ({"changed": False}, False, False),
        (None, False, False),
    ],
)
def test_what_counts_as_changed(change: Json | None, check_mode: bool, found: bool) -> None:
    result = None if change is None else typed.parse(ChangeResult, change)
    assert rollout.was_changed(result, check_mode=check_mode) is found


def operation(field: str, key: str, after: t.Any) -> Json:
    return {"field": field, "key": key, "before": None, "after": after}


def test_what_is_expected_of_the_kubelet() -> None:
    desired: Json = {"feature_gates": {"A": True}, "config": {"maxPods": 5}, "state": "present"}
    assert rollout.expected(KubeletPlan(), typed.parse(KubeletSettings, desired)) == {
        "feature_gates": {"A": True},
        "config": {"maxPods": 5},
    }
    plan = typed.parse(KubeletPlan, {"operations": [operation("feature_gates", "B", False)]})
    assert rollout.expected(plan, typed.parse(KubeletSettings, {**desired, "state": "previous"})) == {
        "feature_gates": {"B": False},
        "config": {},
    }


@pytest.mark.parametrize(
    ("gates", "config", "found"),
    [({}, {}, False), ({"A": None}, {}, False), ({}, {"a": 0}, True), ({"A": False}, {}, True)],
)
def test_what_can_be_compared(gates: Json, config: Json, found: bool) -> None:
    assert rollout.is_compared({"feature_gates": gates, "config": config}) is found


def test_what_the_kubelet_reports_that_it_uses() -> None:
    differences = [
        {"field": "config", "key": "maxPods", "expected": 50, "found": 110},
        {"field": "feature_gates", "key": "A", "expected": True, "found": None},
    ]
    message = rollout.kubelet_mismatch("w1", info({"nodes": {"w1": {"kubelet": kubelet(*differences)}}}), changed=True)
    assert message.startswith("The kubelet of w1 was changed and is healthy, but /configz shows")
    assert "config maxPods is 110, not 50; feature_gates A is unset, not true. Set a value" in message
    assert message.endswith("Nothing was rolled back, and no later node was changed.")
    silent = rollout.kubelet_mismatch("w1", info({"msg": "silent."}), changed=False)
    assert silent.startswith("The kubelet of w1 is healthy, but the API does not show what it uses: silent. If")


def test_a_kubelet_without_a_difference_is_not_doubted() -> None:
    assert rollout.kubelet_mismatch("w1", info({"nodes": {"w1": {"kubelet": kubelet()}}}), changed=True) == ""


@pytest.mark.parametrize("entry", [None, kubelet(problem="503")])
def test_kubelet_that_was_not_compared_is_doubted(entry: Json | None) -> None:
    assert rollout.kubelet_mismatch("w1", info({"nodes": {"w1": {"kubelet": entry}}}), changed=True)


# ---- the end ---------------------------------------------------------------------------------------------------------


def test_a_host_that_has_not_planned_has_no_report() -> None:
    started = {"begin": {**THIS_PASS, "at_work": True, "excluded": ""}}
    assert report(started) == {}
    assert report({**started, "plan": {"unreachable": True, "msg": "gone"}}) == {}
    assert report({"begin": {"skipped": True}, "plan": host()["plan"]}) == {}
    assert report({}) == {}


def test_a_host_that_is_excluded_reports_why() -> None:
    found = report({"begin": {**THIS_PASS, "at_work": True, "excluded": "no route"}})
    assert (found["unreachable"], found["failed"]) == (True, False)
    assert found["msg"] == "skipped, because it cannot be reached: no route"


def test_a_change_goes_on_top_of_its_plan() -> None:
    done = host(plan={"changed": True, "rehearsal": {"verdict": "r"}, "limits": {}}, **DONE, observe={})
    done["change"] = made(transaction={"id": "t"}, changed=True, invocation={})
    found = report(done)
    assert (found["transaction"], found["rehearsal"]) == ({"id": "t"}, {"verdict": "r"})
    assert not {"limits", "invocation"} & set(found)


def test_what_a_former_pass_changed_is_not_reported() -> None:
    former = {"pass_id": "former"}
    change = {"results": [{"item": former, "transaction": {"id": "t"}}]}
    assert "transaction" not in report(host(turn=former, change=change))


def test_a_change_that_is_in_doubt_failed() -> None:
    found = report(host(**{**DONE, "verify": {**THIS_PASS, "failed": True, "msg": "doubt"}}))
    assert (found["failed"], found["msg"]) == (True, "doubt")


USED, DEVICES = "whether it uses what is desired", "whether device plugins offer what they did"
PODS = "whether its restart ended pods"
SWITCHED_OFF = "node_kubelet_check_api is false"


@pytest.mark.parametrize(
    ("settings", "unverified"),
    [
        (
            {**DESIRED, "node_kubelet_check_api": False},
            [
                f"{USED}: node_kubelet_check_api is false, so /configz was not compared",
                f"{DEVICES}: {SWITCHED_OFF}",
                f"{PODS}: {SWITCHED_OFF}",
            ],
        ),
        ({"node_kubelet_check_api": False}, [f"{DEVICES}: {SWITCHED_OFF}", f"{PODS}: {SWITCHED_OFF}"]),
        ({**DESIRED, "allocatable_timeout": 0}, [f"{DEVICES}: node_kubelet_allocatable_timeout is 0"]),
        (DESIRED, []),
    ],
)
def test_change_that_was_not_compared_on_purpose_is_reported(settings: Json, unverified: list[str]) -> None:
    done = host(settings=settings, **{**DONE, "change": made(changed=True, unverified=["its Node"])})
    assert report(done)["unverified"] == ["its Node", *unverified]


@pytest.mark.parametrize(
    ("state", "limits"),
    [
        ("previous", [f"{USED}: A, b went back to a default or a flag, with which /configz is not compared"]),
        ("present", []),
    ],
)
def test_what_went_back_and_is_not_compared_is_reported(state: str, limits: list[str]) -> None:
    done = host(settings={**DESIRED, "state": state}, **{**DONE, "change": made(changed=True)})
    gone = [operation("feature_gates", "A", None), operation("config", "b", None), operation("config", "c", 3)]
    done["plan"] = {**done["plan"], "operations": gone}
    assert report(done).get("unverified", []) == limits


@pytest.mark.parametrize(("lost", "is_reported"), [([], False), ([{"pod": "default/p", "reason": "OutOfcpu"}], True)])
def test_pods_and_devices_that_no_new_kubelet_reported_are_not_verified(lost: list[Json], is_reported: bool) -> None:
    # Seen with a kubelet.conf whose server is a name without an address: "6 pods, 0 lost, 0 restarted", by statuses from before.
    limit = "whether its Node is ready and evicts no pods: no address"
    pods = {"watched": 6, "lost": lost, "restarted": []}
    change = made(changed=True, unverified=[limit])
    found = report(host(turn=THIS_PASS, settings=DESIRED, change=change, verify={**THIS_PASS, "pods": pods}))
    why = "the API only shows what was so before it: no address"
    assert found["unverified"] == [limit, f"{DEVICES}: {why}", f"{PODS}: {why}"]
    assert ("pods" in found) is is_reported


@pytest.mark.parametrize(
    ("outcome", "is_known"), [("committed", False), ("unhealthy", False), ("rolled_back", False), ("aborted", True)]
)
def test_pods_and_devices_behind_a_restart_that_was_not_followed_are_not_verified(outcome: str, is_known: bool) -> None:
    left = idle("w1")
    left["plan"] = {**left["plan"], "previous_transaction": {"id": "7", "outcome": outcome}}
    why = "the run that made transaction 7 ended before it looked"
    expected = [] if is_known else [f"{DEVICES}: {why}", f"{PODS}: {why}"]
    assert report(left).get("unverified", []) == expected


def test_the_same_of_a_restart_whose_end_the_turn_waited_for() -> None:
    earlier = {"id": "7", "outcome": "committed"}
    resumed = host(**{**DONE, "change": made(changed=False, previous_transaction=earlier)})
    why = "the run that made transaction 7 ended before it looked"
    assert report(resumed)["unverified"] == [f"{DEVICES}: {why}", f"{PODS}: {why}"]


OTHER: Json = {**THIS_PASS, "mismatches": {"w1": "it uses something else."}}


@pytest.mark.parametrize(
    ("steps", "message", "step_failed"),
    [
        ({"admit": OTHER}, "it uses something else.", False),
        # The step itself has failed then.
        ({"admit": {**OTHER, "refusal": "no"}}, "Nothing was changed. it uses something else.", True),
        ({"admit": THIS_PASS, "compare": OTHER}, "it uses something else.", False),
        ({"admit": OTHER, "compare": {**THIS_PASS, "mismatches": {}}}, None, None),
        (
            {"admit": OTHER, "compare": {**OTHER, "pass_id": "former", "mismatches": {}}},
            "it uses something else.",
            False,
        ),
    ],
)
def test_mismatch_of_an_idle_kubelet_fails_its_host(steps: Json, message: str | None, step_failed: bool | None) -> None:
    coordinator = {"begin": THIS_PASS, **steps}
    found = final_report("w1", idle("w1"), coordinator, [], has_turn=False)
    assert (found.get("failed", False), found.get("msg")) == (bool(message), message)
    assert found.get("step_failed") is step_failed
    assert "failed" not in final_report("w2", idle("w2"), coordinator, [], has_turn=False)


def test_what_was_reported_at_the_end_is_reported_again() -> None:
    assert report({"end": {"report": {"msg": "text"}}}) == {"msg": "text"}


@pytest.mark.parametrize(
    ("registers", "has_turn", "stopped", "expected"),
    [
        (
            host(),
            True,
            ["w0"],
            {"failed": True, "started": False, "changed": False, "msg": "Not changed, because w0 failed."},
        ),
        (host(), False, ["w0"], {}),
        (host(), True, [], {}),
        (
            host(**refused("w0")),
            True,
            ["w0"],
            {"failed": True, "started": False, "changed": False, "msg": "Not changed, because w0 failed."},
        ),
        (host(**DONE), True, ["w0"], {"started": True, "changed": True}),
        (host(**DONE), False, [], {"changed": True}),
        # One of its batch may not begin, so it does not, either.
        (
            host(**IN_TURN),
            True,
            ["w0"],
            {"failed": True, "started": False, "changed": False, "msg": "Not changed, because w0 failed."},
        ),
        (
            host(**IN_TURN, change={"results": [{"item": {"pass_id": "former"}, "transaction": {"id": "t"}}]}),
            True,
            ["w0"],
            {"failed": True, "started": False, "changed": False, "msg": "Not changed, because w0 failed."},
        ),
        (
            host(turn={**THIS_PASS, "failed": True, "msg": "not now"}),
            True,
            ["w1"],
            {"failed": True, "started": False, "changed": False, "msg": "not now"},
        ),
        (host(**LOST), True, ["w1"], {"started": True, "failed": True, "unreachable": True}),
    ],
)
def test_final_report_of_a_host(registers: Json, has_turn: bool, stopped: list[str], expected: Json) -> None:
    found = final_report("w1", registers, {}, stopped, has_turn=has_turn)
    assert {
        key: value
        for key, value in found.items()
        if key not in ("node", "cluster", "control_plane", "operations", "open_transaction")
    } == expected
    assert found["operations"] == [SETTING]


def test_an_objection_is_reported_of_its_host() -> None:
    coordinator: Json = {"begin": THIS_PASS, "admit": {**THIS_PASS, "restart_refusals": {"w1": "pods would be lost."}}}
    found = final_report("w1", host(), coordinator, [], has_turn=True)
    assert (found["failed"], found["msg"]) == (True, "Nothing was changed, because pods would be lost.")
    assert found["operations"] == [SETTING]
    assert "failed" not in final_report("w2", host(), coordinator, [], has_turn=True)


def test_what_is_owned_and_not_named_comes_with_what_reverts_it() -> None:
    owned = {"left_alone": {"config": ["a", "b"], "register_with_taints": ["t"]}}
    reports = {"w1": typed.parse(ComponentResult, owned), "w2": ComponentResult()}
    assert list(rollout.left_alone(reports)) == [
        ("w1", "config a", "node_kubelet_config: {}"),
        ("w1", "config b", "node_kubelet_config: {}"),
        ("w1", "register_with_taints t", "node_kubelet_register_with_taints: []"),
    ]
