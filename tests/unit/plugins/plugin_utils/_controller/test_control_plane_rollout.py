# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the steps of the role control_plane return, and which hosts they query."""

from __future__ import annotations

import time
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.api_host import ApiHost
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.control_plane_rollout import (
    ControlPlaneRollout,
)
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.rollout_steps import ANSIBLE_KEYS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_hosts import (
    API_SERVER,
    ON,
    Json,
    after_turn,
    host,
    observed,
    pod,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.rollouts import registered

ACQUIRED: Json = {"api_reachable": True, "holder": "us"}
NOTHING: Json = {API_SERVER: pod()}
DOWN: Json = {API_SERVER: pod(ON, problem="is down")}
SILENT: Json = {"api_reachable": False, "msg": "no answer."}


class FakePass:
    """A pass in which cp1 coordinates. hosts: their results. result: of each module that runs, but for the review of rights."""

    def __init__(self, hosts: dict[str, Json], own: str = "cp1", result: Json | None = None) -> None:
        self.host = self.delegate_host = own
        self.check_mode = False
        self.is_run_once = True  # of the step summary, the only one that reads it
        self.play_hosts = self.batch_hosts = list(hosts)
        self.excluded_by_serial = list
        self.module_calls: list[tuple[str, Json]] = []
        # The rights that were reviewed, and what the account lacks of them.
        self.reviewed: list[Json] = []
        self.missing: list[Json] = []
        self._module_result = result or {}
        self._hosts = hosts
        self.kubelets: Json = {}
        for each in hosts.values():
            each["begin"].update(at=time.time(), api=[{"host": name, "become": True} for name in hosts])

    @property
    def own(self) -> Json:
        return self._hosts[self.host]

    @property
    def all_play_hosts(self) -> list[str]:
        return list(self._hosts)

    def hosts(self) -> dict[str, Json]:
        return self._hosts

    def host_variables(self, name: str) -> Json:
        """What the tasks of the roles left on a host."""
        started = registered(self._hosts[name])("begin")
        own = {f"__control_plane_{register}": result for register, result in self._hosts[name].items()}
        own["__control_plane_begin"] = started
        kubelets = {f"__node_kubelet_{register}": result for register, result in self.kubelets.get(name, {}).items()}
        return {**own, **kubelets}

    def variable(self, _name: str, default: t.Any = None) -> t.Any:
        return default

    def origin_of(self, _host: str, _name: str) -> str:
        return ""

    def control_planes(self) -> list[str]:
        return ["cp1", "cp2", "cp9"]

    def api_hosts(self, candidates: t.Sequence[str], _named: str, **more: t.Any) -> list[ApiHost]:
        bad = [*more.get("changing", ()), *more.get("impaired", ())]
        rest = [name for name in candidates if name not in more["reachable"]]
        return [ApiHost(name, become=True) for name in sorted(candidates, key=lambda name: name in [*bad, *rest])]

    def run(self, module: str, arguments: Json, kind: type[t.Any], *, is_plan: bool = False) -> t.Any:
        return typed.parse(kind, self._result_of(module, arguments, is_plan=is_plan))

    def _result_of(self, module: str, arguments: Json, *, is_plan: bool) -> Json:
        if module == "access_info":
            self.reviewed += arguments["rights"]
            return {"user": "runner", "missing": self.missing}
        self.module_calls.append((f"{module}{' in check mode' if is_plan else ''}", arguments))
        is_ours = self._module_result.get("holder") == "us"
        return {**self._module_result, "holder": arguments["holder"]} if is_ours else self._module_result

    def run_step(self, step: str, **settings: t.Any) -> Json:
        """The result of a step of this host, which is registered. settings: of the task."""
        this: t.Any = self
        steps = ControlPlaneRollout(this, this, "control_plane", settings)
        found = typed.as_mapping(getattr(steps, step)())
        result = {
            **{key: value for key, value in found.items() if value or key not in ANSIBLE_KEYS},
            "pass_id": self.own["begin"]["pass_id"],
        }
        self.own[step] = result
        return result

    def as_host(self, name: str) -> FakePass:
        """The same pass as another host sees it."""
        self.host = self.delegate_host = name
        return self


def two(**settings: t.Any) -> dict[str, Json]:
    return {name: host(name, **settings) for name in ("cp1", "cp2")}


def decided(its_pass: FakePass, **settings: t.Any) -> FakePass:
    """After the step decide of all hosts. settings: of its task."""
    for name in its_pass.hosts():
        its_pass.as_host(name).run_step("decide", **settings)
    return its_pass


def test_one_host_decides_and_acquires_the_lease() -> None:
    its_pass = FakePass(two(), result=ACQUIRED)
    found = its_pass.run_step("decide")
    assert (found["api_reachable"], found["planned"], found["turns"]) == (True, ["cp1", "cp2"], ["cp1", "cp2"])
    warnings = ["this run leaves out cp9: nothing is planned there"]
    assert (found["lease"]["held"], found["is_ready"], found["report_warnings"]) == (True, True, warnings)
    ((module, request),) = its_pass.module_calls
    assert (module, request["state"], request["plan_age"]) == ("rollout_lease", "held", 0)
    other = its_pass.as_host("cp2").run_step("decide")
    assert (other["api_reachable"], other["coordinator"], other["planned"]) == (True, "cp1", [])
    assert len(its_pass.module_calls) == 1


LEASE_RIGHTS = [("get", "leases"), ("update", "leases"), ("create", "leases")]


def reviewed(its_pass: FakePass) -> list[tuple[str, str]]:
    return [(each["verb"], each["resource"]) for each in its_pass.reviewed]


@pytest.mark.parametrize("plan_only", [False, True])
def test_missing_right_to_the_lease_is_refused_before_it_is_acquired(plan_only: bool) -> None:
    its_pass = FakePass(two(), result=ACQUIRED)
    its_pass.missing = [{"verb": "update", "resource": "leases", "group": "g", "namespace": "kube-system", "names": []}]
    found = its_pass.run_step("decide", plan_only=plan_only)
    assert (found["failed"], its_pass.module_calls, reviewed(its_pass)) == (True, [], LEASE_RIGHTS)
    assert "Nothing was changed on cp1: the account runner lacks rights" in found["msg"]
    assert "update leases in kube-system" in found["msg"]
    assert "{apiGroups: ['g'], resources: [leases], verbs: [update]}" in found["msg"]


def test_repair_does_not_review_rights() -> None:
    """It must not wait for an API server that is down."""
    its_pass = FakePass({"cp1": host("cp1", DOWN)}, result=ACQUIRED)
    its_pass.run_step("decide")
    assert its_pass.reviewed == []


def test_a_host_that_is_repaired_passes_the_question_on() -> None:
    its_pass = FakePass({"cp1": host("cp1", DOWN), "cp2": host("cp2")}, result=ACQUIRED)
    assert not its_pass.run_step("decide")["api_reachable"]
    its_pass.delegate_host = "cp2"
    found = its_pass.run_step("decide")
    assert (found["api_reachable"], found["is_ready"], len(its_pass.module_calls)) == (True, False, 1)


@pytest.mark.parametrize("hosts", [{"cp1": host("cp1", NOTHING)}, {"cp1": host("cp1", control_plane_lease=False)}])
def test_no_lease_is_requested_without_a_change_unless_one_is_desired(hosts: dict[str, Json]) -> None:
    its_pass = FakePass(hosts, result=ACQUIRED)
    assert not its_pass.run_step("decide")["lease"]["held"]
    assert its_pass.module_calls == []


def test_a_refusal_is_one_of_all() -> None:
    its_pass = FakePass(two())
    its_pass.batch_hosts = ["cp1"]
    found = its_pass.run_step("decide")
    assert found["failed"]
    assert "serial excludes cp2" in found["msg"]
    assert its_pass.run_step("admit")["files"] == []


def test_without_the_lease_the_step_fails_for_all() -> None:
    found = FakePass(two(), result=SILENT).run_step("decide")
    assert found["failed"]
    assert found["msg"].startswith("Nothing was changed on cp1: no answer. To continue")


def test_a_lease_that_is_observed_is_not_held() -> None:
    its_pass = FakePass(two(), result={**ACQUIRED, "taken_over_from": "them"})
    found = its_pass.run_step("decide", plan_only=True)
    assert (found["lease"]["held"], found["warnings"]) == (False, ["the Lease would be taken over from them."])
    assert its_pass.module_calls[0][0] == "rollout_lease in check mode"
    its_pass.check_mode = True
    assert its_pass.run_step("decide")["lease"]["held"] is False


def test_a_plan_that_another_run_made_old_is_made_again_with_the_same_lease() -> None:
    its_pass = decided(FakePass(two(), result={**ACQUIRED, "stale": True}))
    assert [its_pass.as_host(name).run_step("admit")["files"][0]["file"] for name in ("cp1", "cp2")] == [
        "replan.yml"
    ] * 2
    before = its_pass.hosts()["cp1"]["decide"]
    again = its_pass.as_host("cp1").run_step("decide")
    assert (again["lease"]["held"], again["lease"]["stale"]) == (True, False)
    assert again["planned_at"] == before["at"]
    assert len(its_pass.module_calls) == 1
    assert its_pass.run_step("admit")["files"] == [{"file": "turn.yml", "host": "cp1"}]


def test_first_pass_behind_another_run_is_refused_and_releases_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it keeps for the second pass was decided from what was there before."""
    monkeypatch.setattr(
        FakePass, "variable", lambda _pass, name, default=None: "additions" if name == "__play_pass" else default
    )
    its_pass = FakePass(two(), result={**ACQUIRED, "stale": True})
    found = its_pass.run_step("decide")
    assert found["failed"]
    assert "another run may have changed something" in found["msg"]
    its_pass.run_step("end")
    assert its_pass.module_calls[-1][1]["state"] == "released"


def test_a_run_has_one_name_in_all_its_passes() -> None:
    its_pass = FakePass(two(), result=ACQUIRED)
    its_pass.run_step("decide")
    its_pass.own["begin"].update({"pass_id": "later"})
    its_pass.run_step("decide")
    first, second = (request["holder"] for _module, request in its_pass.module_calls)
    assert first == second


def test_each_host_takes_its_own_part() -> None:
    hosts = {"cp1": host("cp1"), "cp2": host("cp2", DOWN), "cp3": host("cp3", NOTHING)}
    its_pass = FakePass(hosts, result=ACQUIRED)
    its_pass.delegate_host = "cp1"
    decided(its_pass)
    first, repair, nothing = (its_pass.as_host(name).run_step("admit") for name in hosts)
    assert first["rounds"] == [[], [{"file": "turn.yml", "host": "cp1"}]]
    assert all(each["round_numbers"] == [0, 1] for each in (first, repair, nothing))
    assert repair["rounds"] == [[{"file": "turn.yml", "host": "cp2"}], []]
    assert (nothing["rounds"], nothing["observes"]) == ([[], []], [])
    # What is down was not ready, so that the plan does not do.
    assert first["observes"] == repair["observes"] == ["cp1", "cp2", "cp3"]
    assert (first["turn_api"]["host"], first["end_api"]["host"]) == ("cp3", "cp1")
    # Where the third reports, those before it were lost.
    assert nothing["end_api"]["host"] == "cp3"


def test_only_the_first_turn_goes_by_the_plan() -> None:
    its_pass = decided(FakePass(two(), result=ACQUIRED))
    assert [its_pass.as_host(name).run_step("admit")["observes"] for name in ("cp1", "cp2")] == [[], ["cp1", "cp2"]]


def test_what_was_only_planned_is_decided_about_once_more() -> None:
    its_pass = decided(FakePass(two(), result=ACQUIRED), plan_only=True)
    planned = its_pass.hosts()["cp1"]["decide"]
    its_pass.own["plan"]["static_pods"][API_SERVER]["rehearsal"] = {"verdict": "accepted", "seconds": 0}
    # Where the run ends with it, it is left undone.
    ended = its_pass.run_step("end")
    expected = (True, "Not changed, because the run ended before.", False)
    assert (bool(ended["why"]), ended["why"], ended["report"][API_SERVER]["started"]) == expected
    decided(its_pass)
    applied = its_pass.hosts()["cp1"]["decide"]
    assert (planned["lease"]["held"], applied["lease"]["held"]) == (False, True)
    assert applied["planned_at"] == planned["planned_at"]
    assert its_pass.as_host("cp1").run_step("admit")["files"] == [{"file": "turn.yml", "host": "cp1"}]


PROBLEM = "kubelet on cp2 is down; it logged last: panic: no such gate"


def test_a_kubelet_that_does_not_work_stops_the_rollout_unless_this_run_repaired_it() -> None:
    its_pass = FakePass({name: host(name, control_plane_lease=False) for name in ("cp1", "cp2")})
    its_pass.hosts()["cp2"]["plan"]["kubelet_problem"] = PROBLEM
    refused = its_pass.run_step("decide", plan_only=False)
    assert (refused["failed"], refused["msg"].startswith(PROBLEM)) == (True, True)
    # A playbook decides that itself after all plans.
    assert not its_pass.run_step("decide", plan_only=True).get("failed")
    own: Json = {"begin": {"pass_id": "k"}, "turn": {"pass_id": "k"}, "conclude": {"pass_id": "k", "failed": False}}
    its_pass.kubelets = {"cp2": own}
    decided = its_pass.run_step("decide", plan_only=False)
    assert (decided.get("failed"), decided["turns"]) == (None, ["cp1", "cp2"])
    # In check mode it was not repaired: what was planned is reported.
    its_pass.check_mode = True
    decided = its_pass.run_step("decide", plan_only=False)
    assert (decided.get("failed"), decided["turns"], decided["plan_only"]) == (None, [], True)


def test_a_host_whose_kubelet_does_not_work_counts_as_one_that_cannot_be_queried() -> None:
    result: Json = {"static_pods": [observed("kube-apiserver")], "kubelet_problem": PROBLEM}
    observed_pods = FakePass({name: host(name) for name in ("cp1", "cp2")}, result=result).run_step("observe")
    assert (observed_pods.get("static_pods"), observed_pods["msg"]) == (None, PROBLEM)


def test_no_host_goes_on_before_all_have_planned() -> None:
    its_pass = FakePass(two(), result=ACQUIRED)
    its_pass.run_step("decide")
    with pytest.raises(Refusal, match="cp2 is not planned yet"):
        its_pass.run_step("admit")
    with pytest.raises(Refusal, match="Nothing was changed on cp2"):
        its_pass.as_host("cp2").run_step("admit")
    # It came to the step, which failed without a word of who decides.
    its_pass.own["decide"] = {"pass_id": "cp2", "failed": True}
    with pytest.raises(Refusal, match="Nothing was changed on cp2"):
        its_pass.run_step("admit")


def test_what_an_earlier_run_left_is_acknowledged_by_the_host_itself() -> None:
    planned = {API_SERVER: pod(previous_transaction={"id": "7", "outcome": "committed"})}
    its_pass = decided(FakePass({"cp1": host("cp1", planned)}))
    its_pass.run_step("admit")
    assert its_pass.module_calls == []
    its_pass.run_step("end")
    assert its_pass.module_calls == []  # that task may run elsewhere
    its_pass.run_step("acknowledge")
    assert its_pass.module_calls[-1] == ("node_transaction", {"name": API_SERVER, "id": "7"})


def test_a_host_is_requested_another() -> None:
    pods = [{**observed("etcd", "starts"), "env": ["A"]}]
    its_pass = FakePass(two(), result={"static_pods": pods})
    its_pass.delegate_host = "cp2"
    found = its_pass.run_step("observe")
    assert (found["host"], found["awaited"]) == ("cp2", ["etcd"])
    assert found["static_pods"] == [{"name": "etcd", "ready": False, "problem": "starts", "unverified": []}]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"unreachable": True, "msg": "gone"}, "gone"),
        ({"failed": True, "msg": "killed"}, "killed"),
        ({"static_pods": [observed(API_SERVER)], "kubelet_problem": PROBLEM}, PROBLEM),
        ({}, "no answer"),
    ],
)
def test_a_host_that_does_not_respond_is_waited_for(result: Json, message: str) -> None:
    found = FakePass(two(), result=result).run_step("observe")
    assert (found.get("static_pods"), found["msg"], found["awaited"]) == (None, message, ["cp1"])


def test_host_with_unreadable_manifest_instead_of_etcd_is_unknown() -> None:
    pods = [observed(API_SERVER)]
    result = {"static_pods": pods, "unreadable_files": ["/m/etcd.yaml"]}
    found = FakePass(two(), result=result).run_step("observe")
    assert (found.get("static_pods"), found["awaited"]) == (None, [])
    assert found["msg"] == "/m/etcd.yaml cannot be read, and may be etcd"


def test_a_turn_renews_the_lease_and_names_what_to_change() -> None:
    its_pass = decided(FakePass(two(), result=ACQUIRED)).as_host("cp1")
    assert its_pass.run_step("turn")["changes"] == [{"name": API_SERVER, "pass_id": "cp1"}]
    assert (its_pass.module_calls[-1][0], its_pass.module_calls[-1][1]["wait_timeout"]) == ("rollout_lease", 0)
    with pytest.raises(Refusal, match="cp1 is not changed yet"):
        its_pass.as_host("cp2").run_step("turn")


@pytest.mark.parametrize(("lease", "held"), [(True, False), (False, True)])
def test_a_turn_needs_the_lease_where_it_is_wanted(lease: bool, held: bool) -> None:
    its_pass = decided(FakePass(two(control_plane_lease=lease), result={"api_reachable": True}))
    if held:
        assert its_pass.as_host("cp1").run_step("turn")["changes"]
        assert its_pass.module_calls == []
    else:
        with pytest.raises(Refusal, match="does not hold the Lease"):
            its_pass.as_host("cp1").run_step("turn")
        its_pass.check_mode = True
        assert its_pass.run_step("turn")["changes"]


def test_the_host_that_reports_releases_the_lease_and_reports_all() -> None:
    its_pass = decided(FakePass(two(), result=ACQUIRED))
    done = {"changed": True, "rehearsal": {"verdict": "accepted", "seconds": 0}, "failed": True, "msg": "bad"}
    its_pass._hosts["cp1"] = after_turn(its_pass.hosts()["cp1"], done)
    planned = its_pass.hosts()["cp2"]["plan"]["static_pods"][API_SERVER]
    planned["rehearsal"] = done["rehearsal"]
    silent = its_pass.as_host("cp2").run_step("end")
    reason = "Not changed, because cp1 failed."
    assert (silent["lines"], silent["why"]) == ([], reason)
    assert silent["report"][API_SERVER]["msg"] == reason
    its_pass._module_result = SILENT
    found = its_pass.as_host("cp1").run_step("end")
    assert "failed" not in found  # its change has
    assert its_pass.module_calls[-1][1]["state"] == "halted"
    assert found["lines"][1].startswith("WARNING: the Lease is still held by ")
    summary = its_pass.run_step("summary")
    assert set(found["lines"]) < set(summary["lines"])
    assert summary["lines"][1:3] == ["  cp1  kube-apiserver  + feature gate A=true  (failed)", f"  cp2: {reason}"]
    assert summary["lines"][-1].startswith("Failed: cp1 failed; 1 node did not begin.")
    assert summary["ansible_stats"]["data"]["control_plane_report"].keys() == {"cp1", "cp2"}


def test_a_host_that_decided_nothing_reports_its_own_plan_alone() -> None:
    found = FakePass(two()).run_step("end")
    assert found["why"] == found["report"][API_SERVER]["msg"] == "Not changed, because the run ended before."
    assert found["lines"] == []
