# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of site and its parts: what a run requests, what it does after its plan, and how it ends."""

from __future__ import annotations

import contextlib
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_hosts import API_SERVER, ON, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import Call, FakePlay, Json, PlayEnded
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import (
    ControlPlanes,
    Kubelets,
    NodeResources,
    RoleRun,
    lease_result,
    nodes_result,
)

OFF: Json = {"field": "feature_gates", "key": "B", "before": True, "after": None}
REHEARSED: Json = {"rehearsal": {"verdict": "accepted", "message": "", "seconds": 0.1}}
TRANSACTION: Json = {
    "id": "new",
    "outcome": "committed",
    "seconds": 1.0,
    "outage_seconds": 1.0,
    "proof": {"pid": 1, "uid": "u"},
}
DONE: Json = {"changed": True, "transaction": TRANSACTION}
FAILED: Json = {"changed": True, "failed": True, "msg": "it is restored"}
PANIC = "kubelet on cp1 is down; it logged last: panic: unrecognized feature gate: OldGate"
ROLES = ["control_plane", "node_kubelet", "node_resources"]


def identity(host: str) -> Json:
    return {"ca_sha256": "a", "server": "https://a:6443", "machine_id": f"id-{host}"}


def kubelet(host: str, operations: list[Json], **more: t.Any) -> Json:
    """What is planned for a kubelet. Hosts called cp1, cp2 ... are control planes."""
    return {
        "node": host,
        "cluster": identity(host),
        "control_plane": ["etcd runs"] if host.startswith("cp") else [],
        "limits": {"max_pods": 1},
        "operations": operations,
        "open_transaction": None,
        **REHEARSED,
        **more,
    }


def resources(call: Call) -> Json:
    """Nothing changes."""
    result: Json = {"changed": False, "failed": False, "msg": "", "operations": []}
    return {"changed": False, "nodes": dict.fromkeys(call.arguments["per_node"], result)}


def labels(call: Call) -> Json:
    """Each node gets one."""
    operation = {"field": "labels", "key": "a", "before": None, "after": "b"}
    result: Json = {"changed": True, "failed": False, "msg": "", "operations": [operation]}
    return {"changed": True, "nodes": dict.fromkeys(call.arguments["per_node"], result)}


class Site:
    """A run of the playbook on cp1 and w1. api, kubelets: the operations that are planned. changes: of those that do not go well, by role."""

    def __init__(
        self,
        api: list[Json],
        kubelets: list[Json],
        *,
        changes: t.Mapping[str, t.Mapping[str, Json]] | None = None,
        of_kubelet: Json | None = None,
        problem: str | None = None,
        named: t.Sequence[str] = ("control_plane_components",),
        planes: t.Sequence[str] = ("cp1",),
        roles: t.Sequence[str] = (),
        results: Json | None = None,
        **settings: t.Any,
    ) -> None:
        started = {"__play_begin": {"named": list(named), "pass_id": "run"}, "__play_roles": ROLES}
        hosts: dict[str, Json] = {name: {"node_resources_node_name": name, **started} for name in ("cp1", "w1")}
        taints = dict.fromkeys(("node_taint", "node_extended_resource", "node_label"), resources)
        self.play = FakePlay(
            hosts,
            {"kube_control_plane": planes},
            results={"rollout_lease": lease_result, "node_resource_info": nodes_result, **taints, **(results or {})},
            **settings,
        )
        self.named, self.roles = list(named), list(roles or ROLES)
        self.work: list[str] = []
        pods = {API_SERVER: pod(*api, **REHEARSED)}
        plan = {
            "static_pods": pods,
            "others": {},
            "node": "cp1",
            "cluster": identity("cp1"),
            "kubelet_problem": problem,
        }
        plans = {name: kubelet(name, kubelets, **(of_kubelet or {})) for name in hosts}
        made = {role: {name: (changes or {}).get(role, {}).get(name, DONE) for name in hosts} for role in ROLES}
        self._role_runs: dict[str, RoleRun] = {
            "control_plane": ControlPlanes(self.play, {"cp1": plan}, made["control_plane"]),
            "node_kubelet": Kubelets(self.play, plans, made["node_kubelet"]),
            "node_resources": NodeResources(self.play),
        }

    def run(self) -> Site:
        """Plan, decide, change and end."""
        with contextlib.suppress(PlayEnded):
            self._change()
        self.end()
        return self

    def _hosts(self, role: str) -> list[str]:
        return ["cp1"] if role == "control_plane" else ["cp1", "w1"]

    def _change(self) -> None:
        for role in self.roles:
            self._role_runs[role].is_plan_only = True
            self._role_runs[role].plan(self._hosts(role))
            self._role_runs[role].is_plan_only = False
        decided = self.decide()
        if decided.get("failed"):
            self.play.play_hosts = []
            raise PlayEnded(str(decided["msg"]))
        for role in decided["work"]:
            self.work.append(role)
            role_run, hosts = self._role_runs[role], self._hosts(role)
            try:
                role_run.prepare_apply(hosts)
                role_run.apply(hosts)
            finally:
                role_run.end(hosts)
        if self.work and "node_kubelet" not in self.work:
            t.cast(Kubelets, self._role_runs["node_kubelet"]).compare(self._hosts("node_kubelet"))

    def decide(self) -> Json:
        """The step, whose result all hosts have."""
        settings = {"roles": self.roles, "named": self.named, "in_pass": "whole"}
        found = self.play.run_step("site", "decide", "cp1", settings=settings)
        for variables in self.play.hostvars.values():
            variables["__play_decide"] = found
        return found

    def end(self) -> None:
        """What is done whatever became of it."""
        hosts = [name for name in self.play.all_hosts if name not in self.play.lost]
        for name in hosts:
            found = self.play.run_step("site", "end", name, settings={"roles": self.roles})
            self.play.hostvars[name]["__play_end"] = found

    def ended(self, host: str) -> Json:
        """The result of the step end on a host."""
        return t.cast(Json, self.play.hostvars[host]["__play_end"])

    def why(self, host: str) -> str:
        """Why a host fails at the end; empty when it does not."""
        ended = self.ended(host)
        assert bool(ended.get("failed")) is bool(ended.get("msg"))
        return str(ended.get("msg", ""))

    def summary(self) -> Json:
        """What the last step reports of all hosts, from one that the play still reaches."""
        host = next(name for name in self.play.all_hosts if name not in self.play.lost)
        return self.play.run_step("site", "summary", host, settings={"roles": self.roles})


def planned_site(*operations: list[Json], **options: t.Any) -> Site:
    """One whose roles have planned."""
    site = Site(*operations, **options)
    for role in ROLES:
        site._role_runs[role].is_plan_only = True
        site._role_runs[role].plan(site._hosts(role))
    return site


# ---- kubelets with nothing to change ---------------------------------------------------------------------------------

MISMATCH: Json = {"config": None, "differences": [], "problem": "503, not reached"}


@pytest.mark.parametrize("api", [[], [ON]])
def test_idle_kubelet_that_is_not_as_desired_fails_the_run_at_its_end(api: list[Json]) -> None:
    """It keeps no control plane from a change, which may be what repairs it."""
    results = {"node_resource_info": lambda call: nodes_result(call, w1={"kubelet": MISMATCH})}
    site = Site(api, [], results=results)
    for variables in site.play.hostvars.values():
        variables["node_kubelet_config"] = {"maxPods": 5}
    site.run()
    assert site.work == (["control_plane"] if api else [])
    assert site.why("cp1") == ""
    assert "cannot be compared with what is desired: 503, not reached." in site.why("w1")
    assert site.ended("w1")["reports"]["node_kubelet"]["failed"] is True
    assert site.summary()["hosts"]["w1"]["failed"] is True


# ---- what is decided ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "kubelets", "work", "is_split", "rechecks"),
    [
        ([], [], [], False, False),
        ([ON], [ON], ROLES, False, False),
        ([OFF], [OFF], ROLES[::-1], False, True),
        ([ON, OFF], [ON], ROLES[::-1], True, True),
        ([ON], [], ["control_plane"], False, False),
    ],
)
def test_what_is_added_and_what_goes(
    api: list[Json], kubelets: list[Json], work: list[str], is_split: bool, rechecks: bool
) -> None:
    site = Site(api, kubelets)
    site.run()
    decided = site.play.hostvars["w1"]["__play_decide"]
    again = "plan_and_apply" in [step["tasks_from"] for step in decided["steps"]]
    assert (decided["work"], decided["is_split"], again) == (work, is_split, rechecks)
    assert (
        site.play.run_step("site", "decide", "cp1", settings={"roles": [], "named": [], "in_pass": "single"})["work"]
        == []
    )


@pytest.mark.parametrize(("in_pass", "is_split"), [("single", False), ("additions", False), ("whole", True)])
@pytest.mark.parametrize("check_mode", [False, True])
def test_a_run_splits_once(in_pass: str, is_split: bool, check_mode: bool) -> None:
    site = planned_site([ON, OFF], [ON], check_mode=check_mode)
    settings = {"roles": ROLES, "named": [], "in_pass": in_pass}
    assert site.play.run_step("site", "decide", "cp1", settings=settings)["is_split"] is is_split


@pytest.mark.parametrize(
    ("operations", "check_mode", "work"),
    [
        ([OFF], False, ["node_kubelet", "control_plane", "node_resources"]),
        ([OFF], True, ["node_kubelet", "control_plane", "node_resources"]),
        ([], False, []),
    ],
)
def test_a_kubelet_that_is_down_is_repaired_first_or_stops_the_run(
    operations: list[Json], check_mode: bool, work: list[str]
) -> None:
    site = Site(
        [ON, OFF],
        operations,
        problem=PANIC,
        of_kubelet={"problem": PANIC if operations else None},
        check_mode=check_mode,
    )
    site.run()
    if work:
        assert (sorted(site.work), site.work[0]) == (sorted(work), "node_kubelet")
        return
    assert site.work == []
    refused = site.play.hostvars["cp1"]["__play_decide"]
    assert refused["msg"].startswith(f"{PANIC}. Nothing was changed")


def test_labels_alone_are_a_change() -> None:
    site = Site([], [], results={"node_label": labels}).run()
    assert site.work == ["node_resources"]
    # What was planned of a host that reports nothing of it is none.
    assert Site([], [], results={"node_label": {"changed": False, "nodes": {}}}).run().work == []


def test_a_playbook_that_changes_no_kubelet_is_refused_after_its_plan() -> None:
    site = Site([ON], [], problem=PANIC, roles=["control_plane"]).run()
    assert (site.work, PANIC in site.play.hostvars["cp1"]["__play_decide"]["msg"]) == ([], True)


@pytest.mark.parametrize(
    ("named", "refused"), [(["control_plane_components"], True), (["node_kubelet_config"], False), ([], True)]
)
def test_a_control_plane_outside_its_group_is_refused_where_settings_would_miss_it(
    named: list[str], refused: bool
) -> None:
    site = Site([], [ON], named=named, planes=[])
    site._role_runs["node_kubelet"].is_plan_only = True
    site._role_runs["node_kubelet"].plan(["cp1", "w1"])
    settings = {"roles": ["control_plane", "node_kubelet"], "named": named, "in_pass": "whole"}
    found = site.play.run_step("site", "decide", "cp1", settings=settings)
    assert bool(found.get("failed")) is refused
    assert ("cp1 is a control plane (etcd runs), but the group kube_control_plane" in str(found.get("msg"))) is refused


def test_what_the_first_pass_keeps_on_each_host() -> None:
    site = planned_site([ON, OFF], [OFF])
    settings = {"roles": ROLES}
    cp1, w1 = (site.play.run_step("site", "split", name, settings=settings)["preserved"] for name in ("cp1", "w1"))
    assert cp1["control_plane"] == {API_SERVER: {"waits": False, "feature_gates": {OFF["key"]: OFF["before"]}}}
    assert w1 == {"node_kubelet": {"kubelet": {"waits": True, "feature_gates": {OFF["key"]: OFF["before"]}}}}
    site.play.hostvars["cp1"]["control_plane_state"] = "previous"
    assert site.play.run_step("site", "split", "cp1", settings=settings)["preserved"]["control_plane"][API_SERVER][
        "waits"
    ]


def test_nothing_is_kept_on_a_host_without_a_static_pod_in_its_plan() -> None:
    site = planned_site([ON, OFF], [])
    site.play.hostvars["cp1"]["__control_plane_begin"]["plan"]["static_pods"] = {}
    assert site.play.run_step("site", "split", "cp1", settings={"roles": ROLES})["preserved"] == {}


# ---- the end ---------------------------------------------------------------------------------------------------------


def test_a_run_that_goes_well_reports_all_at_its_end() -> None:
    site = Site([ON], [ON]).run()
    assert (site.work, site.play.failures) == (ROLES, {})
    assert [site.why(name) for name in ("cp1", "w1")] == ["", ""]
    assert site.ended("w1")["reports"]["node_kubelet"]["changed"] is True
    assert site.ended("cp1")["reports"]["control_plane"][API_SERVER]["changed"] is True
    found = site.summary()
    assert found["lines"][:3] == [
        "Changed: 3 operations on 2 of 2 nodes; rehearsed: kube-apiserver, 2 kubelets",
        "  cp1      kube-apiserver  + feature gate A=true  (committed; away 1.0 s)",
        "  cp1, w1  kubelet         + feature gate A=true  (committed; away up to 1.0 s; 4 pods, 0 lost, 0 restarted)",
    ]
    assert (found["outcome"], found["hosts"]["w1"]) == ("changed", {"changed": 1, "pending": 0, "failed": False})
    stats = found["ansible_stats"]
    assert (stats["aggregate"], sorted(stats["data"])) == (
        True,
        ["control_plane_report", "node_kubelet_report", "node_resources_report", "nodecraft_kubeadm_pending"],
    )
    assert sorted(stats["data"]["node_kubelet_report"]) == ["cp1", "w1"]


def test_what_was_only_planned_is_ended_here() -> None:
    site = Site([], []).run()
    assert site.work == []
    assert site.summary()["lines"] == [
        "Nothing to change on 2 nodes",
        "WARNING: not verified: whether the API is that of these nodes: all of them have node_resources_node_name",
    ]


def test_what_an_earlier_run_left_is_acknowledged_where_no_role_reports_it() -> None:
    earlier: Json = {"previous_transaction": {**TRANSACTION, "id": "7"}}
    site = Site([ON], [], of_kubelet=earlier).run()
    assert site.work == ["control_plane"]
    acknowledged = [each for each in site.play.calls("node_transaction") if each.arguments["id"] == "7"]
    assert [(each.on, each.arguments["name"]) for each in acknowledged] == [("cp1", "kubelet"), ("w1", "kubelet")]


def test_in_check_mode_nothing_is_left() -> None:
    site = Site([ON], [ON], check_mode=True, changes={"control_plane": {"cp1": FAILED}}).run()
    assert [site.why(name) for name in ("cp1", "w1")] == ["", ""]


@pytest.mark.parametrize(("kubelets", "why"), [([ON], "Pending: 1 operation is not applied."), ([], "")])
def test_a_plan_with_changes_may_fail(kubelets: list[Json], why: str) -> None:
    site = Site([], kubelets, check_mode=True)
    for variables in site.play.hostvars.values():
        variables["nodecraft_kubeadm_fail_on_pending"] = "true"
    site.run()
    assert site.why("w1") == why
    found = site.summary()
    assert found["lines"][-1].startswith("Pending: 2 operations not applied.") is bool(kubelets)
    assert found["ansible_stats"]["data"]["nodecraft_kubeadm_pending"] == 2 * len(kubelets)


def test_what_was_planned_and_did_not_begin_fails_and_is_in_the_limit_that_goes_on() -> None:
    site = Site([ON], [ON], changes={"control_plane": {"cp1": FAILED}}).run()
    assert site.work == ["control_plane"]
    # A task of cp1 has failed already.
    assert (site.why("cp1"), site.why("w1")) == ("", "Not changed, because cp1 failed.")
    assert site.ended("w1")["reports"]["node_kubelet"]["started"] is False
    # What had nothing to change is not missed.
    assert "failed" not in site.ended("w1")["reports"]["node_resources"]
    found = site.summary()
    assert found["ansible_stats"]["data"]["node_kubelet_report"]["w1"]["failed"] is True
    assert "cp1: it is restored" in found["lines"]
    assert (
        found["lines"][-1]
        == "Failed: cp1 failed; 1 node did not begin. Run the same command again with -e control_plane_resume=true when that is repaired."
    )


def test_a_host_that_was_lost_is_in_the_limit_too() -> None:
    site = Site([ON], [ON], changes={"control_plane": {"cp1": {"unreachable": True, "msg": "gone"}}}).run()
    assert site.play.lost == ["cp1"]
    assert site.why("w1") == "Not changed, because cp1 failed."
    assert site.summary()["lines"][-2:] == [
        "cp1: gone",
        "Failed: cp1 failed; 1 node did not begin. Run the same command again when that is repaired.",
    ]


def test_a_role_of_the_end_that_does_not_come_is_missed_by_its_host_alone() -> None:
    """What goes from the control plane goes last."""
    site = Site([OFF], [OFF], changes={"node_kubelet": {"w1": FAILED}}).run()
    assert site.work == ["node_resources", "node_kubelet"]
    # Its kubelet was changed.
    assert (site.why("cp1"), site.why("w1")) == ("Not complete, because w1 failed.", "")
    lines = site.summary()["lines"]
    assert "  cp1  kube-apiserver  - feature gate B=true  (not begun)" in lines
    assert lines[-1].startswith("Failed: w1 failed; 1 node not complete. Run the same command again")


def test_a_run_that_was_refused_has_failed_where_something_was_to_change() -> None:
    """Or a run with --limit of the failed hosts would miss it. On the host that decided its task has failed already."""
    site = Site([ON], [], problem=PANIC, results={"node_label": labels}).run()
    assert (site.why("cp1"), site.why("w1")) == ("", "Not changed, because the run ended before.")
    assert any(line.startswith(f"cp1: {PANIC}. Nothing was changed") for line in site.summary()["lines"])


def test_a_host_that_was_not_planned_fails_where_another_one_did() -> None:
    site = Site([ON], [])
    role_run = site._role_runs["control_plane"]
    role_run._plans = {"cp1": {"failed": True, "msg": "no manifest"}}
    site.run()
    assert site.work == []
    assert (site.why("cp1"), site.why("w1")) == ("", "Not planned, because cp1 failed.")
    assert site.summary()["lines"] == [
        "Nothing was changed on 2 nodes",
        "  w1: Not planned, because cp1 failed.",
        "cp1: no manifest",
        "Failed: cp1 failed; 1 node did not begin. Run the same command again when that is repaired.",
    ]


def decided(in_pass: str, **more: t.Any) -> Json:
    """The result of the step decide on all hosts."""
    return {"__play_decide": {"work": ["node_kubelet"], "in_pass": in_pass, "pass_id": "run", **more}}


PRESERVED: Json = {"__play_record": {"preserved": {"control_plane": {API_SERVER: {"waits": True}}}}}
CHANGED: Json = {"operations": [ON], "changed": True}
_TURN: Json = {"name": "w1", "pass_id": "k"}
FAILED_KUBELET: Json = {
    "__node_kubelet_begin": {"pass_id": "k", "at_work": True},
    "__node_kubelet_end": {"pass_id": "k", "report": {"operations": [ON], "failed": True}},
    "__node_kubelet_turn": {"pass_id": "k", "changes": [_TURN]},
    "__node_kubelet_change": {"results": [{"failed": True, "item": _TURN}]},
}


@pytest.mark.parametrize(("in_pass", "is_left"), [("additions", True), ("rest", False)])
def test_a_host_whose_removals_did_not_come_fails_and_is_in_the_limit(in_pass: str, is_left: bool) -> None:
    """Every role of the first pass has ended."""
    hosts = {"cp1": PRESERVED, "w1": FAILED_KUBELET, "w2": PRESERVED}
    started: Json = {"__play_begin": {"pass_id": "run"}}
    play = FakePlay({name: {**started, **each, **decided(in_pass)} for name, each in hosts.items()})
    for name in hosts:
        play.hostvars[name]["__play_end"] = play.run_step("site", "end", name, settings={"roles": ROLES})
    why = "What control_plane is to remove is still there, because w1 failed."
    messages = [play.hostvars[name]["__play_end"].get("msg", "") for name in hosts]
    assert messages == ([why, "", why] if is_left else ["", "", ""])
    last = play.run_step("site", "summary", "cp1", settings={"roles": ROLES})
    assert (f"  cp1, w2: {why}" in last["lines"]) is is_left


def test_what_the_first_pass_changed_is_in_the_report_of_the_run() -> None:
    started: Json = {"__play_begin": {"pass_id": "run"}}
    play = FakePlay(
        {"w1": {**started, "__node_kubelet_end": {"report": CHANGED, "lines": ["a line"]}, **decided("additions")}}
    )
    play.hostvars["w1"]["__play_record"] = play.run_step(
        "site", "record", "w1", settings={"recorded_roles": ["node_kubelet"]}
    )
    play.hostvars["w1"]["__node_kubelet_end"] = {"report": {"operations": [], "changed": False}}
    # Also where the second pass could not be planned.
    assert play.run_step("site", "end", "w1", settings={"roles": ROLES})["reports"]["node_kubelet"] == CHANGED
    play.hostvars["w1"].update(decided("rest"))
    found = play.run_step("site", "end", "w1", settings={"roles": ROLES})
    assert (found["reports"]["node_kubelet"], found["lines"]) == (CHANGED, ["a line"])
    # What is recorded again goes on top, and what an earlier import left counts for nothing.
    record = play.run_step("site", "record", "w1", settings={"recorded_roles": ["node_kubelet"]})
    assert record["reports"] == {"node_kubelet": CHANGED}
    play.hostvars["w1"].update(decided("whole"))
    assert play.run_step("site", "end", "w1", settings={"roles": ROLES})["reports"]["node_kubelet"]["changed"] is False
    record = play.run_step("site", "record", "w1", settings={"recorded_roles": ["node_kubelet"]})
    assert record["reports"] == {"node_kubelet": {"operations": [], "changed": False}}
    play.hostvars["w1"].update(decided("whole", steps=[{"file": "recheck.yml"}]))
    assert play.run_step("site", "end", "w1", settings={"roles": ROLES})["reports"]["node_kubelet"] == CHANGED


@pytest.mark.parametrize(("in_pass", "is_second"), [("rest", True), ("additions", False), ("whole", False)])
def test_a_second_pass_that_is_refused_hides_nothing_of_the_first_one(in_pass: str, is_second: bool) -> None:
    """A kubelet that went down between the passes, on which nothing is to be changed."""
    site = planned_site([OFF], [], problem=PANIC)
    site.play.hostvars["cp1"]["__play_pass"] = in_pass
    refused = site.play.run_step("site", "decide", "cp1", settings={"roles": ROLES, "named": [], "in_pass": in_pass})
    assert refused["failed"]
    assert refused["msg"].startswith("The first of two passes is done, and what it changed stays. ") is is_second
    reports = {"control_plane": {API_SERVER: CHANGED}} if is_second else {}
    site.play.hostvars["cp1"].update(
        __play_decide=refused, __play_record={**PRESERVED["__play_record"], "reports": reports}
    )
    found = site.play.run_step("site", "end", "cp1", settings={"roles": ROLES})
    api = found["reports"]["control_plane"][API_SERVER]
    assert api["operations"] == ([ON, OFF] if is_second else [OFF])
    # What is to be removed is not reported as removed.
    assert (api.get("changed"), api.get("started")) == (is_second, False)
    # That it was refused has failed a task of this host.
    assert "failed" not in found


def test_each_role_that_did_not_begin_is_reported() -> None:
    site = Site([ON], [ON], changes={"control_plane": {"cp1": FAILED}}, results={"node_label": labels}).run()
    reports = site.ended("w1")["reports"]
    assert [reports["node_kubelet"]["started"], reports["node_resources"]["labels"]["started"]] == [False, False]


def test_run_whose_first_task_was_skipped_is_refused_before_its_first_write() -> None:
    site = Site([ON], [])
    for variables in site.play.hostvars.values():
        del variables["__play_begin"]
    site.run()
    assert site.work == []
    assert "The first task was skipped" in site.play.hostvars["cp1"]["__play_decide"]["msg"]
