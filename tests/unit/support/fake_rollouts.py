# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The roles on a play without Ansible: which step follows which, as in the files of their tasks. What those files have for Ansible is
played by tests/unit/roles."""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import Call, FakePlay, Json, PlayEnded

# How often a turn of the control plane observes what is not ready.
_OBSERVE_RETRIES = 3
# By host: a result, or one for each time, the last for all that follow.
Results = t.Mapping[str, t.Union[Json, t.Sequence[Json]]]


class RoleRun:
    """One role on a play. role: its name. plans, changes: the results of the modules that plan and change, by host."""

    role = ""
    # The module that plans a host within the first step, and what is in each of its results.
    planner = ""
    planned: t.ClassVar[Json] = {}

    def __init__(self, play: FakePlay, plans: Results | None = None, changes: Results | None = None) -> None:
        self.play = play
        self.changed: list[str] = []
        self.summary: Json = {}
        self._plans, self._changes = plans or {}, changes or {}
        self._result_counts: dict[tuple[str, str], int] = {}

    def run(self, *, skipped_by: t.Sequence[str] = ()) -> RoleRun:
        """One pass. skipped_by: hosts that skip the role."""
        for host in skipped_by:
            own = [name for name in self.play.hostvars[host] if name.startswith(f"__{self.role}_")]
            for name in {*own, f"__{self.role}_begin"}:
                self.play.hostvars[host][name] = {"skipped": True, "changed": False}
        hosts = [host for host in self.play.all_hosts if host not in (*skipped_by, *self.play.lost)]
        with contextlib.suppress(PlayEnded):
            self.plan(hosts)
            self.apply(hosts)
        self.end(hosts)
        return self

    def plan(self, hosts: t.Sequence[str]) -> None:
        """Until everything is decided."""
        raise NotImplementedError

    def apply(self, hosts: t.Sequence[str]) -> None:
        """The changes."""
        raise NotImplementedError

    def prepare_apply(self, hosts: t.Sequence[str]) -> None:
        """What comes before the changes where a playbook has planned."""

    def end(self, hosts: t.Sequence[str]) -> None:
        """What is done whatever became of it."""
        self.play.run_on_hosts(self.role, "end", hosts, on=self._end_host, is_fatal=False)
        self._acknowledge(hosts)
        left = [host for host in hosts if host not in self.play.lost]
        self.summary = self.play.run_step(self.role, "summary", left[0]) if left else {}

    # ---- what came of it ---------------------------------------------------------------------------------------------

    def result(self, step: str, host: str) -> Json:
        """The result of a step on a host."""
        return self.play.last_result(f"__{self.role}_{step}", host)

    def report(self, host: str) -> Json:
        """What became of a host."""
        return t.cast(Json, self.result("end", host)["report"])

    @property
    def lines(self) -> str:
        """The lines that one host prints for all, with one space between the columns."""
        return "\n".join(" ".join(line.split()) for line in self.summary["lines"])

    @property
    def statistics(self) -> Json:
        """The statistics of the run as a whole."""
        found: Json = self.summary["ansible_stats"]["data"]
        return found

    @property
    def failures(self) -> dict[str, str]:
        """Why tasks failed, by host and step."""
        return self.play.failures

    # ---- what all roles have -----------------------------------------------------------------------------------------

    def _begin(self, hosts: t.Sequence[str]) -> None:
        if self.planner:
            self.play.planners.add(self.planner)
            self.play.results[self.planner] = lambda call: {
                **self.planned,
                **self._next_result("plan", self._plans, call.host),
            }
        self.play.run_on_hosts(
            self.role, "begin", hosts, settings=lambda host: self.play.role_settings(self.role, host), is_fatal=True
        )

    def _end_host(self, host: str) -> str:
        return host

    def _acknowledge(self, hosts: t.Sequence[str]) -> None:
        """What follows an end that may run elsewhere."""

    def _next_result(self, what: str, results: Results, host: str) -> Json:
        """The result of this time."""
        found = results.get(host, {})
        if isinstance(found, dict):
            return dict(found)
        number = self._result_counts.get((what, host), 0)
        self._result_counts[what, host] = number + 1
        each: t.Sequence[Json] = t.cast(t.Any, found)
        return dict(each[min(number, len(each) - 1)])

    def _api_hosts(self, step: str) -> t.Callable[[str], list[str]]:
        """The hosts that a step of one host is taken on, one after the other."""
        return lambda host: [each["host"] for each in self.result(step, host).get("api") or ()]

    def _plan_only(self) -> Json:
        return {"plan_only": self.is_plan_only}

    # Whether a playbook only plans.
    is_plan_only = False


class ControlPlanes(RoleRun):
    """The role C(control_plane). A change is that of the kube-apiserver."""

    role = "control_plane"
    planner = "static_pod_plan"

    def plan(self, hosts: t.Sequence[str]) -> None:
        self._begin(hosts)
        self._decide(hosts)

    def prepare_apply(self, hosts: t.Sequence[str]) -> None:
        self._decide(hosts)

    def _decide(self, hosts: t.Sequence[str]) -> None:
        self.play.run_on_hosts(self.role, "decide", hosts, loop=self._api_hosts("begin"), settings=self._plan_only())

    def apply(self, hosts: t.Sequence[str]) -> None:
        self.play.run_on_hosts(self.role, "admit", hosts)
        admitted = {host: self.result("admit", host) for host in hosts if host not in self.play.lost}
        included = {host: own.get("files") or [] for host, own in admitted.items()}
        is_in_order = any(each["file"] == "in_order.yml" for found in included.values() for each in found)
        rounds = max((len(own.get("rounds") or ()) for own in admitted.values()), default=0) if is_in_order else 1
        for number in range(rounds):
            files = {host: own["rounds"][number] for host, own in admitted.items()} if is_in_order else included
            again = [host for host, found in files.items() if found and found[0]["file"] == "replan.yml"]
            if again:
                self.play.run_on_hosts(self.role, "plan", again, register="begin")
                self._decide(again)
                self.apply(again)
            for host, found in files.items():
                for file in found if host not in again else ():
                    self._persist_config(host) if file["file"] == "persist.yml" else self._turn(host)

    def _persist_config(self, host: str) -> None:
        """The last host, for all: verify kubeadm-config on each, and write it."""
        admitted = self.result("admit", host)
        proofs = [self.play.run_step(self.role, "verify", host, on=each) for each in admitted["verifies"]]
        why = [str(proof["msg"]) for proof in proofs if proof.get("failed")]
        failed = {"failed": True, "msg": why[0]} if why else {}
        self.play.register("__control_plane_verify", lambda _host: {"results": proofs, **failed}, [host], step="verify")
        self.play.run_on_hosts(self.role, "apply", [host], on=lambda _host: str(admitted["end_api"]["host"]))

    def _turn(self, host: str) -> None:
        admitted = self.result("admit", host)

        def observe(_host: str) -> Json:
            results = []
            for observed in admitted["observes"]:
                for _attempt in range(_OBSERVE_RETRIES):
                    found = self.play.run_step(self.role, "observe", host, on=observed)
                    if not found.get("awaited"):
                        break
                results.append(found)
            return {"results": results}

        self.play.register("__control_plane_observe", observe, [host], step="observe", is_fatal=False)
        self.play.run_on_hosts(self.role, "turn", [host], on=lambda _host: str(admitted["turn_api"]["host"]))

        def change(_host: str) -> Json:
            results = []
            for item in self.result("turn", host).get("changes") or ():
                self.changed.append(host)
                results.append({"item": item, "failed": False, **self._next_result("change", self._changes, host)})
                if results[-1]["failed"] or results[-1].get("unreachable"):
                    break
            return _loop_result(results)

        try:
            self.play.register("__control_plane_change", change, [host], step="change")
        except PlayEnded:
            if host not in self.play.lost:
                self._revert(host)
            raise

    def _revert(self, host: str) -> None:
        """What follows a change that failed: its own failure stays the only one."""
        own, api = self.play.hostvars[host], str(self.result("admit", host)["turn_api"]["host"])
        own["__control_plane_trace"] = self.play.run_step(self.role, "trace", host, on=api)
        reverts = own["__control_plane_trace"].get("reverts") or ()
        results = [self.play.run_step(self.role, "revert", host, on=each["host"]) for each in reverts]
        if results:
            own["__control_plane_revert"] = {"results": results}

    def _end_host(self, host: str) -> str:
        return str(self.result("admit", host).get("end_api", {}).get("host", host))

    def _acknowledge(self, hosts: t.Sequence[str]) -> None:
        for host in hosts:
            if host not in self.play.lost:
                self.play.run_step(self.role, "acknowledge", host)


class Kubelets(RoleRun):
    """The role C(node_kubelet)."""

    role = "node_kubelet"
    planner = "kubelet"
    planned: t.ClassVar[Json] = {"sandbox_image": "registry.k8s.io/pause:3.10"}

    def set_desired(self, **desired: t.Any) -> None:
        """Set the desired state in the variables of all hosts."""
        for variables in self.play.hostvars.values():
            variables.update({f"node_kubelet_{name}": value for name, value in desired.items()})

    def plan(self, hosts: t.Sequence[str]) -> None:
        self._begin(hosts)
        self.play.run_on_hosts(self.role, "decide", hosts)
        self._admit(hosts)

    def _admit(self, hosts: t.Sequence[str]) -> None:
        self.play.run_on_hosts(self.role, "admit", hosts, loop=self._api_hosts("decide"), settings=self._plan_only())

    def prepare_apply(self, hosts: t.Sequence[str]) -> None:
        self._admit(hosts)

    def apply(self, hosts: t.Sequence[str]) -> None:
        files = {each["file"] for host in hosts for each in self.result("admit", host).get("files") or ()}
        for is_plane in (True, False) if files == {"control_planes_first.yml"} else (None,):
            own = [
                host
                for host in hosts
                if is_plane is None
                or bool((self.result("begin", host).get("plan") or {}).get("control_plane")) is is_plane
            ]
            batches: dict[tuple[str, ...], list[str]] = {}
            for host in own:
                for batch in self.result("admit", host).get("batches") or ():
                    batches.setdefault(tuple(batch), []).append(host)
            for members in batches.values():
                self._turn(members)

    def _turn(self, hosts: t.Sequence[str]) -> None:
        self.play.run_on_hosts(
            self.role, "turn", hosts, on=lambda host: self._end_host(self._responding_coordinator(host) or host)
        )

        def change(host: str) -> Json:
            results = []
            for item in self.result("turn", host).get("changes") or ():
                self.changed.append(host)
                results.append({"item": item, "failed": False, **self._next_result("change", self._changes, host)})
            return _loop_result(results)

        self.play.register("__node_kubelet_change", change, hosts, step="change", is_ignored=True)
        verified = [host for host in hosts if not self.result("turn", host).get("failed")]
        self.play.run_on_hosts(
            self.role,
            "verify",
            verified,
            on=lambda host: self.result("turn", host)["api"]["host"],
            settings={"poll_interval": 0},
            is_ignored=True,
        )
        self.play.run_on_hosts(self.role, "conclude", verified)

    def compare(self, hosts: t.Sequence[str]) -> None:
        """What a playbook compares again after the changes of other roles."""
        comparing = [host for host in hosts if self.result("decide", host).get("compares")]
        self.play.run_on_hosts(
            self.role,
            "compare",
            comparing,
            loop=lambda host: [each["host"] for each in self.result("decide", host)["compares"]],
        )

    def _responding_coordinator(self, host: str) -> str:
        """The coordinator, where its admission found an API host that responds."""
        coordinator = str(self.result("decide", host)["coordinator"])
        return coordinator if self.result("admit", coordinator).get("api") else ""

    def _end_host(self, host: str) -> str:
        return str(self.result("admit", host).get("api", {"host": host})["host"])

    def _acknowledge(self, hosts: t.Sequence[str]) -> None:
        for host in hosts:
            if host not in self.play.lost:
                self.play.run_step(self.role, "acknowledge", host)


class NodeResources(RoleRun):
    """The role C(node_resources)."""

    role = "node_resources"

    def plan(self, hosts: t.Sequence[str]) -> None:
        self._begin(hosts)
        self.play.run_on_hosts(self.role, "decide", hosts)
        self.prepare_apply(hosts)

    def prepare_apply(self, hosts: t.Sequence[str]) -> None:
        api_hosts = [host for host in hosts if self.result("decide", host).get("api")]
        self.play.run_on_hosts(
            self.role, "apply", api_hosts, loop=self._api_hosts("decide"), settings=self._plan_only()
        )

    def apply(self, hosts: t.Sequence[str]) -> None:
        """It is done already."""


class Guard(RoleRun):
    """The role C(placement_guard). A change is that of the host that sends the requests."""

    role = "placement_guard"

    def plan(self, hosts: t.Sequence[str]) -> None:
        self.play.run_on_hosts(self.role, "begin", hosts)
        self.play.run_on_hosts(self.role, "decide", hosts)
        api_hosts = [host for host in hosts if self.result("decide", host).get("api")]
        self.play.run_on_hosts(self.role, "admit", api_hosts, loop=self._api_hosts("decide"))
        for host in api_hosts:
            self.changed.append(self.result("admit", host)["api"]["host"])
            self.play.register(
                "__placement_guard_change",
                lambda each: self._next_result("change", self._changes, each),
                [host],
                step="change",
            )

    def apply(self, hosts: t.Sequence[str]) -> None:
        """It is done already."""


class DevicePlugin(RoleRun):
    """The role C(device_plugin). What is written is in the changes of the host that sends the requests; an image is always loaded."""

    role = "device_plugin"

    def plan(self, hosts: t.Sequence[str]) -> None:
        self.play.run_on_hosts(self.role, "begin", hosts)
        readers = self.result("begin", hosts[0])["settings"]["readers"]
        if readers:
            self.play.run_on_hosts(self.role, "identify", hosts, on=lambda _host: str(readers[0]["host"]))
        self.play.run_on_hosts(
            self.role, "decide", hosts, on=lambda host: str(self.result("begin", host)["settings"]["api"]["host"])
        )

    def apply(self, hosts: t.Sequence[str]) -> None:
        (coordinator,) = [host for host in hosts if self.result("decide", host)["coordinator"] == host]
        variables = self.play.variables(self.role, coordinator)
        if variables["device_plugin_state"] == "absent":
            self.play.register(
                "__device_plugin_removal", lambda host: self._next_result("change", self._changes, host), [coordinator]
            )
            self.play.run_on_hosts(self.role, "verify", [coordinator])
            return
        if "device_plugin_image_archive" in variables:
            self.play.run_on_hosts(self.role, "turn", hosts)
            self.play.register(
                "__device_plugin_load", lambda host: {"changed": bool(self.result("turn", host)["loads"])}, hosts
            )
            self.play.run_on_hosts(self.role, "admit", [coordinator])
        self.changed.append(coordinator)
        self.play.register(
            "__device_plugin_change", lambda host: self._next_result("change", self._changes, host), [coordinator]
        )
        if self.result("change", coordinator).get("changed") or self.result("decide", coordinator)["must_verify"]:
            self.play.run_on_hosts(self.role, "verify", [coordinator])


def _loop_result(results: list[Json]) -> Json:
    """The result of a task with a loop."""
    bad = [each for each in results if each.get("failed") or each.get("unreachable")]
    how = {key: True for key in ("failed", "unreachable") if any(each.get(key) for each in bad)}
    return {"results": results, **({**how, "msg": bad[-1].get("msg")} if bad else {})}


# ---- results of modules ----------------------------------------------------------------------------------------------


def lease_result(call: Call) -> Json:
    """The result of C(rollout_lease) when no other run holds the Lease."""
    is_ours = call.arguments["state"] == "held" and not call.dry
    return {
        "api_reachable": True,
        "stale": False,
        "taken_over_from": None,
        "holder": call.arguments["holder"] if is_ours else None,
    }


# What became of pods that all go on.
NO_LOSSES: Json = {"watched": 2, "lost": [], "restarted": [], "deleted": [], "unknown": []}
# A kubelet that uses what is expected.
IN_USE: Json = {"config": {}, "differences": [], "problem": None}


def nodes_result(call: Call, **more: Json) -> Json:
    """The result of C(node_resource_info) for the requested nodes. more: of single nodes."""
    requested = [name for option in ("nodes", "restarted_nodes", "kubelets") for name in call.arguments.get(option, [])]
    named: Json = {name: {"labels": {}} for name in requested}
    kubelets, before = (call.arguments.get(option, {}) for option in ("kubelets", "running_before"))
    return {
        "nodes": {
            name: {
                **({"kubelet": IN_USE} if name in kubelets else {}),
                **({"running": {}} if call.arguments.get("running") else {}),
                **({"losses": NO_LOSSES} if name in before else {}),
                **named.get(name, {}),
                **more.get(name, {}),
            }
            for name in {**named, **more}
        }
    }
