# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes of a control plane are changed in which order, which may begin, and what became of each."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import rollout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.static_pod_results import (
    PodState,
    StaticPodHost,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.results import ComponentResult
from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_hosts import (
    API_SERVER,
    ETCD,
    ON,
    SCHEDULER,
    after_failure,
    after_observation,
    after_turn,
    host,
    observed,
    pod,
    results,
)

Json = dict[str, t.Any]

ALL = ("cp1", "cp2", "cp3")
NOTHING: Json = {API_SERVER: pod()}
DOWN: Json = {API_SERVER: pod(ON, problem="is down")}
COMMITTED: Json = {"transaction": {"outcome": "committed"}}


def three(**hosts: Json) -> dict[str, Json]:
    """cp1, cp2 and cp3, which change their API servers unless something else is said of them."""
    return {name: hosts.get(name) or host(name) for name in ALL}


def parsed(hosts: dict[str, Json]) -> dict[str, StaticPodHost]:
    """Hosts as the decisions see them."""
    return {name: results(registers) for name, registers in hosts.items()}


def pod_state(name: str, problem: str | None = None) -> PodState:
    """A static pod as a host observed it."""
    return typed.parse(PodState, observed(name, problem))


# ---- before the first write ------------------------------------------------------------------------------------------


def test_hosts_that_planned_may_be_changed() -> None:
    assert rollout.run_refusal(parsed(three()), "cp1", ALL, ALL) == ""


@pytest.mark.parametrize(
    ("hosts", "reachable", "batch", "words"),
    [
        (three(), ["cp1", "cp3"], ALL, "cp2 failed or was lost while everything was planned"),
        (three(cp2=host("cp2", node_name="b")), ALL, ALL, "control_plane_node_name of cp2 is b"),
        (
            three(cp2=host("cp2", control_plane_lease=False)),
            ALL,
            ALL,
            "control_plane_lease is True on cp1 and False on",
        ),
        (three(cp2=host("cp2", control_plane_lease_takeover=True)), ALL, ALL, "control_plane_lease_takeover is"),
        (three(cp2=host("cp2", control_plane_resume=True)), ALL, ALL, "control_plane_resume is"),
        (three(cp2=host("cp2", control_plane_api_host="x")), ALL, ALL, "control_plane_api_host is"),
        (three(), ALL, ["cp2"], "serial excludes cp1, cp3"),
    ],
)
def test_hosts_that_cannot_be_changed_in_one_run_are_refused(
    hosts: dict[str, Json], reachable: list[str], batch: list[str], words: str
) -> None:
    found = rollout.run_refusal(parsed(hosts), "cp1", reachable, batch)
    assert words in found
    assert found.startswith("Nothing was changed on cp1")


def test_hosts_of_two_clusters_are_refused() -> None:
    hosts = three()
    hosts["cp2"]["plan"]["cluster"] = {"ca_sha256": "b", "server": "https://b:6443", "machine_id": ""}
    assert "belong to 2 clusters: cp1, cp3" in rollout.run_refusal(parsed(hosts), "cp1", ALL, ALL)


def test_a_batch_with_nothing_to_change_needs_no_other_nodes() -> None:
    assert rollout.run_refusal(parsed({"cp1": host("cp1", NOTHING)}), "cp1", ALL, ["cp1"]) == ""


def test_a_kubelet_that_does_not_work_stops_the_run_until_it_is_repaired() -> None:
    hosts = three()
    assert rollout.kubelet_refusal(parsed(hosts), []) == ""
    hosts["cp2"]["plan"]["kubelet_problem"] = "kubelet on cp2 is down; it logged last: panic: no gate"
    message = rollout.kubelet_refusal(parsed(hosts), ["cp1"])
    assert message.startswith("kubelet on cp2 is down; it logged last: panic: no gate. Nothing was changed")
    assert rollout.kubelet_refusal(parsed(hosts), ["cp2"]) == ""


@pytest.mark.parametrize(
    ("after", "order"),
    [
        (True, [ETCD, API_SERVER, SCHEDULER]),
        ("enabled", [ETCD, API_SERVER, SCHEDULER]),
        (None, [ETCD, SCHEDULER, API_SERVER]),
        (False, [ETCD, SCHEDULER, API_SERVER]),
        ("disabled", [ETCD, SCHEDULER, API_SERVER]),
    ],
)
def test_etcd_is_first_and_what_is_switched_off_goes_the_other_way(after: t.Any, order: list[str]) -> None:
    change = pod({"after": after})
    planned = {API_SERVER: change, ETCD: pod(ON), "kube-controller-manager": pod(), SCHEDULER: change}
    assert rollout.pods_in_order(results(host("cp1", planned))) == order


def test_one_setting_that_is_switched_on_decides_the_order() -> None:
    planned = {API_SERVER: pod({"after": None}, ON), SCHEDULER: pod({"after": None})}
    assert rollout.pods_in_order(results(host("cp1", planned))) == [API_SERVER, SCHEDULER]


def test_what_is_switched_on_in_etcd_decides_nothing_for_others() -> None:
    planned = {ETCD: pod(ON), API_SERVER: pod({"after": None}), SCHEDULER: pod({"after": None})}
    assert rollout.pods_in_order(results(host("cp1", planned))) == [ETCD, SCHEDULER, API_SERVER]


def test_a_change_that_is_open_is_ended() -> None:
    assert rollout.pods_in_order(results(host("cp1", {API_SERVER: pod(), SCHEDULER: pod(phase="waiting")}))) == [
        SCHEDULER
    ]


def test_a_repair_is_first_and_does_not_query() -> None:
    hosts = three(cp2=host("cp2", NOTHING), cp3=host("cp3", DOWN))
    assert rollout.turn_order(parsed(hosts)) == ["cp3", "cp1"]
    assert rollout.impaired_hosts(parsed(hosts)) == ["cp3"]


def test_leaders_of_several_components_are_last_in_one_order() -> None:
    led = {"cp1": ETCD, "cp2": "kube-controller-manager", "cp3": SCHEDULER, "cp4": ""}
    planned = {
        node: {name: {**pod(ON), "leads": name == own} for name in led.values() if name} for node, own in led.items()
    }
    hosts = {node: host(node, pods) for node, pods in planned.items()}
    turns = rollout.turn_order(parsed(hosts))
    assert turns == ["cp4", "cp3", "cp2", "cp1"]
    assert rollout.turn_rounds(hosts, turns) == [["cp4"], ["cp3"], ["cp2"], ["cp1"]]


@pytest.mark.parametrize(
    ("turns", "rounds"),
    [
        ([], []),
        (["cp1", "cp3"], [["cp1", "cp3"]]),
        (["cp2", "cp3", "cp1"], [["cp2", "cp3"], ["cp1"]]),
        (["cp3", "cp1", "cp2"], [["cp3"], ["cp1", "cp2"]]),
    ],
)
def test_round_keeps_the_order_of_the_play(turns: list[str], rounds: list[list[str]]) -> None:
    assert rollout.turn_rounds(["cp1", "cp2", "cp3"], turns) == rounds


def test_the_member_that_leads_etcd_is_last() -> None:
    planned = {name: {ETCD: {**pod(ON), "leads": name == "cp1"}} for name in ("cp1", "cp2")}
    hosts = three(**{name: host(name, pods) for name, pods in planned.items()}, cp3=host("cp3", DOWN))
    assert rollout.turn_order(parsed(hosts)) == ["cp3", "cp2", "cp1"]
    # Where the member itself stays, leading is no reason.
    unchanged = three(cp1=host("cp1", {ETCD: {**pod(), "leads": True}, API_SERVER: pod(ON)}))
    assert rollout.turn_order(parsed(unchanged))[0] == "cp1"


@pytest.mark.parametrize(
    ("planned", "others"),
    [
        ({API_SERVER: pod(ON)}, {ETCD: pod(problem="is down")}),
        ({API_SERVER: pod(problem="is down"), SCHEDULER: pod(ON)}, {}),
        ({API_SERVER: pod(ON), SCHEDULER: pod(ON, problem="is down")}, {}),
    ],
)
def test_only_what_is_down_and_changed_and_vital_is_a_repair(planned: Json, others: Json) -> None:
    hosts = {"cp1": host("cp1"), "cp2": host("cp2", planned, others=others)}
    assert rollout.turn_order(parsed(hosts)) == ["cp1", "cp2"]
    assert rollout.impaired_hosts(parsed(hosts)) == []


def test_the_api_has_to_prove_itself_by_all_nodes() -> None:
    hosts = three()
    hosts["cp2"]["plan"]["cluster"]["ca_sha256"] = "b"
    hosts["cp3"]["plan"] = {"unreachable": True, "msg": "gone"}
    machines = {"cp1": "machine-cp1", "cp2": "machine-cp2"}
    assert rollout.expected_cluster(parsed(hosts)) == {"ca_sha256": "a,b", "machine_ids": machines}
    assert rollout.expected_cluster(parsed({"cp1": host("cp1"), "cp2": host("cp2")}))["ca_sha256"] == "a"


def test_open_changes_are_reported_also_of_what_is_not_planned() -> None:
    hosts = three(
        cp1=host("cp1", {API_SERVER: pod(phase="waiting")}, others={ETCD: pod(phase="")}),
        cp2=host("cp2", NOTHING),
    )
    assert rollout.open_transactions(parsed(hosts)) == [
        "etcd on cp1 (its journal cannot be read)",
        "kube-apiserver on cp1 (waiting)",
    ]


# ---- a turn ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("planned", "plan_age", "ready"),
    [
        ({API_SERVER: pod(ON)}, 30.0, True),
        ({API_SERVER: pod(ON)}, 30.1, False),
        (DOWN, 0.0, False),
        ({SCHEDULER: pod(ON, problem="is down")}, 0.0, True),
    ],
)
def test_the_plan_is_believed_while_it_is_new_and_all_is_ready(planned: Json, plan_age: float, ready: bool) -> None:
    assert rollout.is_ready(parsed(three(cp3=host("cp3", planned))), plan_age) is ready


def test_all_that_is_vital_is_waited_for_but_what_is_repaired() -> None:
    pods = [pod_state(API_SERVER, "is down"), pod_state(ETCD, "starts"), pod_state(SCHEDULER, "starts")]
    assert rollout.awaited_pods(results(host("cp1")), pods) == [API_SERVER, ETCD]
    assert rollout.awaited_pods(results(host("cp1")), [pod_state(API_SERVER), *pods[1:]]) == [ETCD]
    assert rollout.awaited_pods(results(host("cp1", DOWN)), pods) == [ETCD]
    assert rollout.awaited_pods(results(after_turn(host("cp1", DOWN), COMMITTED)), pods) == [API_SERVER, ETCD]


def test_a_turn_begins_when_those_before_it_are_done() -> None:
    hosts = three(cp1=after_turn(host("cp1"), COMMITTED))
    assert rollout.turn_refusal(parsed(hosts), "cp1", ALL, ALL) == ""
    assert rollout.turn_refusal(parsed(hosts), "cp2", ALL, ALL) == ""
    message = rollout.turn_refusal(parsed(hosts), "cp3", ALL, ALL)
    assert message.startswith(
        "cp2 is not changed yet, so this play does not keep its hosts in sync: its strategy must be"
    )
    assert message.endswith("Nothing was changed on cp3.")


@pytest.mark.parametrize(
    "hosts",
    [
        three(cp1=after_turn(host("cp1"), {"failed": True})),
        three(cp1=after_turn(host("cp1"), {"unreachable": True})),
        three(cp1={**host("cp1"), "plan": {"failed": True}}),
    ],
)
def test_no_turn_begins_after_a_failure(hosts: dict[str, Json]) -> None:
    message = "Not changed, because cp1 failed or was lost."
    assert rollout.turn_refusal(parsed(hosts), "cp2", ALL, ["cp1", "cp2"]) == message


def test_no_turn_begins_without_a_host_that_the_play_has_lost() -> None:
    message = "Not changed, because cp1, cp3 failed or was lost."
    assert rollout.turn_refusal(parsed(three()), "cp2", ["cp2"], ["cp2"]) == message


def test_a_node_that_is_not_ready_keeps_another_from_its_turn() -> None:
    message = after_observation(
        host("cp1"),
        cp1=[observed(API_SERVER), observed(ETCD), observed(SCHEDULER, "is down")],
        cp2=[observed(ETCD, "runs, not ready yet")],
        cp3="no route.",
    )
    assert (
        rollout.readiness_refusal(parsed(three(cp1=message)), "cp1")
        == "Not changed, because not all API servers and etcds are ready, and this change would stop its own: etcd on cp2 runs, not ready"
        " yet; cp3 could not be checked (no route). Repair that first; a run that changes what is down may continue."
    )


def test_a_node_that_was_not_queried_is_not_known() -> None:
    message = after_observation(host("cp1"), cp1=[observed(API_SERVER)], cp2=[observed(API_SERVER)])
    assert "cp3 could not be checked (no answer)" in rollout.readiness_refusal(parsed(three(cp1=message)), "cp1")
    message["observe"]["results"].append({"host": "cp3", "static_pods": None})
    assert "cp3 could not be checked (no answer)" in rollout.readiness_refusal(parsed(three(cp1=message)), "cp1")


def test_all_ready_nodes_let_a_turn_begin() -> None:
    well = [observed(API_SERVER), observed(ETCD)]
    assert (
        rollout.readiness_refusal(
            parsed(three(cp1=after_observation(host("cp1"), cp1=well, cp2=well, cp3=well))), "cp1"
        )
        == ""
    )
    assert rollout.readiness_refusal(parsed(three()), "cp1") == ""


def test_a_repair_may_begin_while_others_are_not_ready() -> None:
    down = [observed(API_SERVER, "is down")]
    repair = after_observation(host("cp1"), cp1=down, cp2=down, cp3="gone")
    assert rollout.readiness_refusal(parsed(three(cp1=repair)), "cp1") == ""
    other = after_observation(host("cp1", {SCHEDULER: pod(ON)}), cp1=down, cp2=down, cp3=down)
    assert "kube-apiserver on cp1 is down" in rollout.readiness_refusal(parsed(three(cp1=other)), "cp1")
    unknown = after_observation(host("cp1"), cp1="gone", cp2=down, cp3=down)
    assert "cp1 could not be checked (gone)" in rollout.readiness_refusal(parsed(three(cp1=unknown)), "cp1")


def test_the_plan_reports_readiness_before_the_first_turn() -> None:
    hosts = three(cp2=host("cp2", others={ETCD: pod(problem="starts")}))
    assert "etcd on cp2 starts" in rollout.readiness_refusal(parsed(hosts), "cp1")
    assert rollout.readiness_refusal(parsed(three(cp1=host("cp1", DOWN))), "cp1") == ""


# ---- after a turn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("registers", "state"),
    [
        (host("cp1"), "waiting"),
        (after_failure(host("cp1"), "turn", "no"), "refused"),
        (after_turn(host("cp1"), {"unreachable": True, "failed": True}), "lost"),
        (after_turn(host("cp1"), {"failed": True}), "failed"),
        (after_turn(host("cp1"), COMMITTED), "done"),
        (after_turn(host("cp1")), "unfinished"),
        (after_turn(host("cp1"), COMMITTED, order=[ETCD, API_SERVER]), "unfinished"),
        ({**after_turn(host("cp1")), "change": {"failed": True, "msg": "no loop"}}, "unfinished"),
        ({**after_turn(host("cp1"), COMMITTED), "begin": {"pass_id": "later"}}, "waiting"),
    ],
)
def test_how_far_a_host_is(registers: Json, state: str) -> None:
    assert results(registers).state == state


def test_a_change_of_an_earlier_pass_is_none_of_this_one() -> None:
    registers = after_turn(host("cp1"), COMMITTED)
    later = {"pass_id": "later", "changes": [{"name": API_SERVER, "pass_id": "later"}]}
    again = {**registers, "begin": {**registers["begin"], "pass_id": "later"}, "turn": later}
    assert results(again).state == "unfinished"


def test_a_host_that_only_waited_is_busy() -> None:
    assert results(after_turn(host("cp1"), {"failed": True, "busy": True})).is_busy
    assert not results(after_turn(host("cp1"), {"busy": True}, {"failed": True}, order=[ETCD, API_SERVER])).is_busy
    assert not results(host("cp1")).is_busy


def test_host_with_an_unreadable_manifest_blocks_other_turns() -> None:
    """The kubelet stops the pod of a manifest that it cannot read any more."""
    hosts = three()
    plan = {**hosts["cp2"]["plan"], "others": {}, "unreadable_files": ["/m/etcd.yaml"]}
    hosts["cp2"] = {**hosts["cp2"], "plan": plan}
    assert not rollout.is_ready(parsed(hosts), 0)
    refusal = rollout.readiness_refusal(parsed(hosts), "cp1")
    assert "cp2 could not be checked (/m/etcd.yaml cannot be read, and may be etcd)" in refusal


@pytest.mark.parametrize(("known", "is_refused"), [(["cp1", "cp2"], True), (["cp1"], False), ([], False)])
def test_cluster_is_not_taken_for_one_with_one_control_plane(known: list[str], is_refused: bool) -> None:
    cp1 = host("cp1")
    hosts = parsed({"cp1": {**cp1, "plan": {**cp1["plan"], "kubeadm_config": {"control_planes": known}}}})
    assert ("it has cp1, cp2. Put all of them into" in rollout.alone_refusal(hosts)) is is_refused
    assert bool(rollout.alone_refusal(hosts)) is is_refused


def test_control_planes_only_the_api_knows_are_not_verified() -> None:
    hosts = three()
    assert rollout.unverified(parsed(hosts), []) == []
    limit = "whether API server and etcd of {} are ready: this run leaves them out"
    assert rollout.unverified(parsed(hosts), ["cp4"]) == [limit.format("cp4")]
    known = {"problem": None, "control_planes": ["cp1", "cp2", "cp3", "cp8", "cp9"]}
    hosts["cp2"] = {**hosts["cp2"], "plan": {**hosts["cp2"]["plan"], "kubeadm_config": known}}
    assert rollout.unverified(parsed(hosts), []) == [limit.format("cp8, cp9")]
    assert rollout.unverified(parsed(hosts), ["cp9", "cp4"]) == [limit.format("cp8, cp9, cp4")], "cp4 has no label"


def test_what_counts_as_ready_without_being_known_is_named_for_others_too() -> None:
    probe = "whether its probes pass: exec probe: not known"
    quiet = {**pod(), "unverified": [probe]}
    hosts = three(cp2=host("cp2", {API_SERVER: pod()}, others={ETCD: quiet, SCHEDULER: quiet}))
    assert rollout.assumed_ready(parsed(hosts)) == [("cp2", ETCD, probe)]
    seen = {**observed(ETCD), "unverified": [probe]}
    hosts["cp1"] = after_observation(hosts["cp1"], cp1=[], cp2="no answer", cp3=[seen])
    hosts["cp3"] = after_observation(hosts["cp3"], cp1=[], cp2=[], cp3=[{**seen, "ready": False}])
    assert rollout.assumed_ready(parsed(hosts)) == [("cp3", ETCD, probe)]


def test_what_the_run_does_not_plan_is_reported_where_it_is_wrong() -> None:
    scheduler = {SCHEDULER: pod()}
    hosts = {
        "cp1": host("cp1", scheduler, others={API_SERVER: {"ready": True}, ETCD: {"ready": False}}),
        "cp2": host("cp2", scheduler, others={ETCD: {"ready": True}}),
        "cp3": host("cp3", {API_SERVER: pod()}, others={SCHEDULER: {"ready": False}}),
    }
    assert rollout.unplanned_problems(parsed(hosts)) == [
        f"cp1 {ETCD}: it is not ready",
        f"cp2: there is no manifest of {API_SERVER}, so it does not run there",
    ]
    hosts["cp2"]["plan"]["unreadable_files"] = ["/m/x"]  # a turn is refused for it
    assert rollout.unplanned_problems(parsed({"cp2": hosts["cp2"]})) == []
    assert rollout.unplanned_problems(parsed({"gone": {}})) == []


def test_unreadable_file_beside_all_vital_pods_blocks_nothing() -> None:
    pods = {API_SERVER: {"ready": True}, ETCD: {"ready": True}}
    assert rollout.unknown_readiness(pods, ["/m/README"]) == ""
    assert rollout.unknown_readiness({API_SERVER: {"ready": True}}, []) == ""


@pytest.mark.parametrize("step", ["plan", "change"])
def test_a_host_whose_connection_broke_does_not_speak(step: str) -> None:
    hosts = three()
    assert rollout.choose_reporter(parsed(hosts)) == "cp1"
    assert rollout.choose_reporter(parsed({**hosts, "cp1": {**hosts["cp1"], step: {"unreachable": True}}})) == "cp2"
    assert rollout.choose_reporter(parsed({})) == ""


# ---- the end ---------------------------------------------------------------------------------------------------------


def test_a_change_goes_on_top_of_its_plan_and_only_known_keys_are_kept() -> None:
    unchanged: Json = {
        "node": "cp1",
        "manifest": "/m",
        "snapshot": "/s",
        "reverts": "7",
        "rehearsal": {"verdict": "accepted"},
    }
    registers = after_turn(
        host("cp1", {API_SERVER: pod(ON, **unchanged)}), {**COMMITTED, "changed": True, "msg": None, "env": 1}
    )
    found = rollout.build_reports(parsed({"cp1": registers, "cp2": {"plan": {"unreachable": True}}}), dry=False)
    planned = {"operations": [ON], "open_transaction": None, "previous_transaction": None}
    assert typed.as_mapping(found) == {
        "cp1": {API_SERVER: {**unchanged, **planned, **COMMITTED, "changed": True, "failed": False, "msg": None}}
    }


@pytest.mark.parametrize(
    ("stopper", "name"),
    [
        (after_turn(host("cp2"), {"failed": True, "msg": "bad"}), "cp2"),
        (after_turn(host("cp2"), {"unreachable": True}), "cp2"),
        (after_turn(host("cp2")), "cp2"),
        (after_failure(host("cp2"), "turn", "no"), "cp2"),
        ({**host("cp2"), "plan": {"unreachable": True}}, "cp2"),
    ],
)
def test_a_host_whose_turn_did_not_come_names_who_stopped_the_rollout(stopper: Json, name: str) -> None:
    hosts = three(cp1=after_turn(host("cp1"), COMMITTED), cp2=stopper)
    found = rollout.build_reports(parsed(hosts), dry=False)["cp3"][API_SERVER]
    assert (found.raw["failed"], found.raw["started"], found.raw["changed"]) == (True, False, False)
    assert found.msg == f"Not changed, because {name} failed."


def test_a_refused_plan_names_its_host_too() -> None:
    hosts = three(cp2=host("cp2", {API_SERVER: pod(failed=True, msg="refused")}))
    hosts["cp2"]["plan"]["failed"] = True
    found = rollout.build_reports(parsed(hosts), dry=False)
    assert "because cp2 " in found["cp1"][API_SERVER].msg
    assert found["cp2"][API_SERVER].msg == "refused"


def test_what_was_done_and_what_has_nothing_to_do_did_not_fail() -> None:
    planned = {API_SERVER: pod(ON), SCHEDULER: pod()}
    hosts = three(
        cp1=after_turn(host("cp1"), COMMITTED), cp2=after_turn(host("cp2"), {"failed": True}), cp3=host("cp3", planned)
    )
    found = rollout.build_reports(parsed(hosts), dry=False)
    assert found["cp1"][API_SERVER].raw["failed"] is False
    assert "started" not in {**found["cp2"][API_SERVER].raw, **found["cp3"][SCHEDULER].raw}
    assert found["cp3"][API_SERVER].raw["started"] is False


@pytest.mark.parametrize("step", ["decide", "admit"])
def test_of_a_refusal_of_all_each_names_who_has_reported_it(step: str) -> None:
    hosts = parsed(three(cp1=after_failure(host("cp1"), step, "Nothing was changed: why.")))
    assert rollout.build_reports(hosts, dry=False)["cp3"][API_SERVER].msg == "Not changed, because cp1 failed."
    assert hosts["cp1"].causes == ["Nothing was changed: why."]


def test_a_refusal_of_its_own_turn_comes_before_others() -> None:
    hosts = three(cp1=after_failure(host("cp1"), "admit", "all"), cp2=after_failure(host("cp2"), "turn", "own"))
    assert rollout.build_reports(parsed(hosts), dry=False)["cp2"][API_SERVER].msg == "own"


def test_where_nothing_was_to_be_changed_nothing_failed() -> None:
    found = rollout.build_reports(parsed(three()), dry=True)
    assert [found[name][API_SERVER].raw["failed"] for name in ALL] == [False, False, False]


def test_what_is_left_to_do_is_reported_by_host() -> None:
    reports = rollout.build_reports(
        parsed(three(cp1=after_turn(host("cp1"), COMMITTED), cp2=after_turn(host("cp2"), {"failed": True}))), dry=False
    )
    found = {name: pods[API_SERVER] for name, pods in reports.items()}
    assert {name: (each.failed, each.is_waiting) for name, each in found.items()} == {
        "cp1": (False, False),
        "cp2": (True, False),
        "cp3": (True, True),
    }


def test_a_lost_connection_is_a_failure() -> None:
    found = rollout.build_reports(
        parsed({"cp1": after_turn(host("cp1"), {"unreachable": True, "failed": False, "msg": "gone"})}), dry=False
    )
    assert (found["cp1"][API_SERVER].raw["failed"], found["cp1"][API_SERVER].unreachable) == (True, True)
    assert found["cp1"][API_SERVER].msg == "gone"


def test_a_change_whose_end_was_not_seen_is_lost() -> None:
    hosts = three(cp1=after_turn(host("cp1"), {"unreachable": True}), cp2=after_turn(host("cp2")))
    assert rollout.lost_hosts(parsed(hosts)) == ["cp1", "cp2"]


def test_what_is_owned_and_not_named_comes_with_what_reverts_it() -> None:
    owned = {"feature_gates": ["A"], "args": ["v"], "files": ["/a"]}
    pods = {"etcd": ComponentResult(), "kube-scheduler": typed.parse(ComponentResult, {"left_alone": owned})}
    assert [each[1:] for each in rollout.left_alone_settings({"cp1": pods})] == [
        ("kube-scheduler feature_gates A", "control_plane_feature_gates: {}"),
        ("kube-scheduler args v", "control_plane_components: {kube-scheduler: {args: {}}}"),
        ("kube-scheduler files /a", "control_plane_components: {kube-scheduler: {files: []}}"),
    ]
