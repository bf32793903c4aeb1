# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(node_kubelet): fetches what is decided from, asks the API, and hands over what was decided."""

from __future__ import annotations

import itertools
import time
import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.kubelet import rollout as kubelets
from ...module_utils._plan.kubernetes import access, coverage
from ...module_utils._plan.static_pod import rollout as control_planes
from ...module_utils._plan.transaction import report, rollout
from .lease_holder import holder
from .role_rollout import RoleRollout
from .rollout_pass import Json

_BOOLEANS = ("node_kubelet_check_api", "node_kubelet_lease", "lease_takeover", "force")
_NUMBERS = (
    "node_kubelet_max_unavailable",
    "max_unreachable",
    "wait_timeout",
    "min_ready_seconds",
    "lock_timeout",
    "allocatable_timeout",
)
_PLANE_SETTINGS = ("control_plane_feature_gates", "control_plane_admission_plugins", "control_plane_components")


class NodeKubeletRollout(RoleRollout):
    """The steps of one host."""

    def _checked_settings(self) -> Json:
        found = dict(self._settings)
        found.update(
            {name: boolean(found[name]) for name in _BOOLEANS}, **{name: int(found[name]) for name in _NUMBERS}
        )
        found["at"] = time.time()
        if found["node_kubelet_max_unavailable"] < 1:
            raise Refusal(
                f"Nothing was changed on {self._pass.host}. Invalid node_kubelet_max_unavailable"
                f" {found['node_kubelet_max_unavailable']}: must be at least 1."
            )
        return found

    # ---- before the first write --------------------------------------------------------------------------------------

    def decide(self) -> Json:
        """Work out on one host, when all have planned, who has a turn. The others do not ask."""
        coordinator = self._pass.coordinator
        if coordinator != self._pass.host:
            return {"coordinator": coordinator, "api": [{"host": self._pass.host, "become": False}]}
        hosts = self._pass.hosts()
        planned = rollout.participants(hosts)
        found: Json = {"coordinator": coordinator, "planned": list(planned), "excluded": list(rollout.excluded(hosts))}
        refusal = self._excluded_refusal(hosts) or kubelets.refusal(planned, self._pass.play_hosts)
        if refusal:
            return {**found, "failed": True, "msg": f"Nothing was changed. {refusal}"}
        planes = [host for host, registers in planned.items() if kubelets.is_control_plane(registers)]
        candidates = list(dict.fromkeys([*planes, *self._pass.control_planes()]))
        size = rollout.settings_of(self._pass.own)["node_kubelet_max_unavailable"]
        api, batches = self._api_hosts(candidates), kubelets.batches(planned, size)
        # Where one is to change, the others are compared before it.
        compares = not batches and bool(kubelets.idle_settings(planned))
        return {
            **found,
            "candidates": candidates,
            "api": api,
            "batches": batches,
            "compares": api if compares else [],
        }

    def _api_hosts(
        self, candidates: t.Sequence[str], *, changing: t.Sequence[str] = (), lost: t.Sequence[str] = ()
    ) -> list[Json]:
        """Who may ask the API. candidates: the control planes of the play, then those of the inventory. changing: who has a turn. lost: who
        cannot be asked then, besides those that are lost already."""
        gone = [host for host, registers in self._pass.hosts(candidates).items() if rollout.state(registers) == "lost"]
        return self._pass.api_hosts(
            candidates,
            rollout.settings_of(self._pass.own)["node_kubelet_api_host"],
            reachable=[host for host in self._pass.play_hosts if host not in gone and host not in lost],
            changing=changing,
        )

    def admit(self) -> Json:
        """Ask the API on one host what it says against the restarts, and keep other runs out. The others take their own part of it."""
        decision = self._decision
        if not decision or decision.get("failed"):
            return {"api_reachable": True, "batches": [], "before": []}
        if self._pass.own["decide"]["coordinator"] != self._pass.host:
            return {"api_reachable": True, "api": self._end_api(decision), **self._own_part(decision)}
        hosts = self._pass.hosts(decision["planned"])
        barrier = rollout.step_refusal(hosts, "decide")
        if barrier:
            raise Refusal(f"Nothing was changed. {barrier}")
        turns = [host for batch in decision["batches"] for host in batch]
        found: Json = {
            "api_reachable": True,
            "api": self._here(decision),
            "cluster": kubelets.cluster(hosts),
            "refusal": "",
            **self._own_part(decision),
        }
        if turns and rollout.settings_of(self._pass.own)["node_kubelet_check_api"]:
            found.update(self._asked(hosts, turns, decision, found["cluster"]))
        elif turns:
            why = "node_kubelet_check_api is false"
            found.update(self._judged_coverage(hosts, None, decision["excluded"], why=why))
        elif decision["compares"] and not self._repairs_control_planes:
            found.update(self._compared(hosts, decision))
        return {**found, "failed": bool(found["refusal"])}

    @property
    def _repairs_control_planes(self) -> bool:
        """Whether this is the plan of a run that repairs a control plane, which must not wait for its API. The kubelets are compared after that."""
        return self._plan_only and bool(control_planes.impaired(self._pass.of_role("control_plane").hosts()))

    def _end_api(self, decision: Json) -> Json:
        """Who asks the API for a host that does not decide: if it ends the rollout for all, those before it were lost."""
        before = set(itertools.takewhile(lambda host: host != self._pass.host, decision["planned"]))
        lost = [host for host in decision["candidates"] if host in before]
        return self._api_hosts(decision["candidates"], lost=lost)[0]

    def _own_part(self, decision: Json) -> Json:
        """The batch of this host as a list, with the one before it; both are empty when it has no turn."""
        batches = [] if self._plan_only else decision["batches"]
        number = next((number for number, batch in enumerate(batches) if self._pass.host in batch), None)
        if number is None:
            return {"batches": [], "before": []}
        return {"batches": [batches[number]], "before": batches[number - 1] if number else []}

    def _here(self, decision: Json) -> Json:
        """The host that is asked."""
        answers: list[Json] = decision["api"]
        return next(each for each in answers if each["host"] == self._pass.asked_host)

    def _asked(self, hosts: rollout.Hosts, turns: t.Sequence[str], decision: Json, cluster: Json) -> Json:
        """What the API says of the restarts, and the Lease of those that make them."""
        found = self._judged(hosts, turns, decision, cluster)
        if found.get("refusal") or not found.get("api_reachable", True):
            return found
        acquired = self._acquired(cluster)
        if acquired.pop("stale", False):
            # What was told before is of the time when the other run was at work.
            found = self._judged(hosts, turns, decision, cluster)
        warnings = [*found.pop("warnings", ()), *acquired.pop("warnings", ())]
        return {**found, **acquired, **({"warnings": warnings} if warnings else {})}

    def _judged(self, hosts: rollout.Hosts, turns: t.Sequence[str], decision: Json, cluster: Json) -> Json:
        """What the API says of the restarts. api_reachable is false when the next host is to be asked."""
        rights = kubelets.rights(hosts, turns, rollout.settings_of(self._pass.own))
        answer, refusal = self._review(rights, cluster, "node_kubelet needs until the last kubelet is compared")
        if refusal:
            return {"refusal": refusal, "msg": f"Nothing was changed: {refusal}"}
        is_reachable = "missing" in answer
        if is_reachable:
            answer = self._pass.ask("node_resource_info", {**kubelets.question(hosts, turns), "cluster": cluster})
        if "nodes" not in answer and not self._is_last_api(decision):
            return {"api_reachable": False}  # the next control plane may have an API server that answers
        # An account that may not list pods may still list nodes.
        known = (
            self._pass.ask("node_resource_info", {"requested": False, "cluster": cluster})
            if is_reachable and "nodes" not in answer
            else answer
        )
        found = self._judged_coverage(
            hosts, known.get("nodes"), decision["excluded"], why=str(answer.get("msg") or "the API does not answer")
        )
        judged = kubelets.objections(hosts, turns, answer)
        offers = {host: kubelets.offers(answer, hosts[host]["plan"]["node"]) for host in turns}
        mismatches = kubelets.idle_mismatches(hosts, answer)
        if judged.told and not found["refusal"]:
            found.update(refusal=judged.told, msg=f"Nothing was changed, because {judged.told}")
        if mismatches and not found["refusal"]:
            reasons = " ".join(mismatches.values())
            found.update(refusal=reasons, msg=f"Nothing was changed. {reasons}")
        found.update(objections=judged.by_host, mismatches=mismatches, offers=offers)
        found["told"] = [*found["told"], *report.limits(kubelets.unverified_idle(hosts, answer))]
        found["warnings"] = [*found.get("warnings", ()), *kubelets.unreached(hosts, turns, answer)]
        return found

    def _is_last_api(self, decision: Json) -> bool:
        """Whether no other host sends the requests where this one is not answered."""
        return bool(self._pass.asked_host == decision["api"][-1]["host"])

    def compare(self) -> Json:
        """Compare kubelets again that were compared when a playbook planned, and that had nothing to change while others had."""
        decision = self._decision
        return self._compared(self._pass.hosts(decision["planned"]), decision)

    def _compared(self, hosts: rollout.Hosts, decision: Json) -> Json:
        """See on one host, where no kubelet is to change, that all of them use what is desired. The end tells of those that do not, because other
        roles may have something to repair. api_reachable is false when the next host is to be asked."""
        cluster, idle = kubelets.cluster(hosts), kubelets.idle_settings(hosts)
        expected = kubelets.by_node(hosts, idle)
        arguments: Json = {"requested": False, "kubelets": expected, "cluster": cluster}
        answer = self._pass.ask("node_resource_info", arguments)
        if "nodes" not in answer and not self._is_last_api(decision):
            return {"api_reachable": False}
        found: Json = {"api_reachable": True, "mismatches": kubelets.idle_mismatches(hosts, answer)}
        why = "" if "nodes" in answer else kubelets.unread(answer)
        if "nodes" in answer and answer.get("failed"):
            # A right that is missing is the same for all of them.
            rights = access.of_kubelets(list(expected), reads_pods=False)
            dummy, why = self._review(rights, cluster, "node_kubelet needs to compare them")
        if why:
            # One of them says why for all.
            first = f"{kubelets.NOT_COMPARED}: {why}"
            found["mismatches"] = {host: kubelets.NOT_COMPARED if number else first for number, host in enumerate(idle)}
        return found

    def _judged_coverage(
        self, hosts: rollout.Hosts, nodes: Json | None, excluded: t.Sequence[str], *, why: str
    ) -> Json:
        """What is said of a run by the nodes that the API knows. nodes: these, None when it does not tell. why: not."""
        has_control_plane = any(kubelets.is_control_plane(registers) for registers in hosts.values())
        # Read only where it counts: what is for control planes need not be defined on the host that asks.
        settings = {} if has_control_plane else {name: self._pass.variable(name) for name in _PLANE_SETTINGS}
        found = coverage.judge(
            nodes,
            [registers["plan"]["node"] for registers in hosts.values()],
            excluded=excluded,
            grouped=self._pass.control_planes(),
            has_control_plane=has_control_plane,
            settings=settings,
        )
        return {
            "refusal": found.refusal,
            "told": [
                *filter(None, [coverage.told_missing(found.missing)]),
                *report.limits(kubelets.unverified_nodes(nodes, why)),
            ],
            **({"msg": f"Nothing was changed: {found.refusal}"} if found.refusal else {}),
            **({"warnings": [found.warning]} if found.warning else {}),
        }

    # ---- the Lease ---------------------------------------------------------------------------------------------------

    def _acquired(self, cluster: Json) -> Json:
        """Keep other runs out while kubelets are restarted. In check mode, and in the plan of a playbook, nothing is held."""
        own = rollout.settings_of(self._pass.own)
        if not own["node_kubelet_lease"] or self._plan_only:
            return {}
        answer = self._held(
            cluster,
            wait_timeout=own["lock_timeout"],
            takeover=own["lease_takeover"],
            open_transactions=kubelets.open_transactions(self._pass.hosts(self._decision["planned"])),
        )
        refusal = kubelets.lease_refusal(answer)
        if refusal:
            return {"refusal": refusal, "msg": f"Nothing was changed: {refusal}"}
        if self._pass.check_mode:
            return {}
        lease = {"cluster": cluster, "at": time.time()}
        warnings = kubelets.lease_warnings(answer)
        return {"lease": lease, "stale": answer["stale"], **({"warnings": warnings} if warnings else {})}

    def _held(self, cluster: Json, **more: t.Any) -> Json:
        """Take the Lease, or renew it."""
        own = rollout.settings_of(self._pass.own)
        arguments = kubelets.lease_request(holder(), cluster, own, plan_age=int(time.time() - own["at"]))
        return self._pass.ask("rollout_lease", {**arguments, **more})

    def _renewed(self, lease: Json, before: rollout.Hosts) -> Json:
        """The Lease at the beginning of a turn: renewed when its time would not do for all of it. Raises Refusal when it is another run's."""
        since = kubelets.lease_renewed_at(lease, before)
        if not kubelets.must_renew(since, rollout.settings_of(self._pass.own), time.time()):
            return {**lease, "at": since}
        answer = self._held(lease["cluster"], wait_timeout=0)
        refusal = kubelets.renewal_refusal(answer)
        if refusal:
            raise Refusal(f"{self._pass.host} was not changed: {refusal}")
        return {**lease, "at": time.time()}

    def planned(self, hosts: t.Iterable[str] | None = None) -> dict[str, dict[str, Json]]:
        """What was planned, by host, of its kubelet."""
        return {host: {"kubelet": kubelets.report(registers)} for host, registers in self._pass.hosts(hosts).items()}

    # ---- a turn ------------------------------------------------------------------------------------------------------

    def turn(self) -> Json:
        """Let this host begin when those before it are done."""
        admitted = self._coordinator_admit
        before = self._pass.hosts(self._pass.own["admit"]["before"])
        why = "the rollout was refused" if not admitted or admitted.get("failed") else rollout.turn_refusal(before)
        if why:
            msg = f"{self._pass.host} was not changed, because {why}."
            return {"failed": True, "msg": msg, "stopped_by": rollout.stopped_by(before)}
        lease = self._renewed(admitted["lease"], before) if "lease" in admitted else {}
        (batch,) = self._pass.own["admit"]["batches"]
        # Of those that are as good, the one that answered: control planes that take no part may be down.
        responding = admitted.get("api", {}).get("host")
        candidates = sorted(self._decision["candidates"], key=lambda host: host != responding)
        api = self._api_hosts(candidates, changing=batch)[0]
        offered = admitted.get("offers", {}).get(self._pass.host) or {}
        # The result of the change tells by its item to which pass it belongs.
        changes = [{"host": self._pass.host, "pass": self._pass.own["pass"]["pass"]}]
        return {"api": api, "lease": lease, "offered": offered, "changes": changes, **self._watched(admitted)}

    def _watched(self, admitted: Json) -> Json:
        """The pods that run when the turn begins: C(running), or C(unwatched), why they are not known."""
        if self._pass.check_mode or not rollout.settings_of(self._pass.own)["node_kubelet_check_api"]:
            return {}
        node = self._pass.own["plan"]["node"]
        question = {"nodes": [node], "requested": False, "running": True, "cluster": admitted["cluster"]}
        return kubelets.watched(self._pass.ask("node_resource_info", question), node)

    def verify(self) -> Json:
        """Ask the API whether the restarted kubelet uses what was asked for, what became of the pods, and whether the node has its devices
        back."""
        own, settings = self._pass.own, rollout.settings_of(self._pass.own)
        plan, turn = own["plan"], rollout.of_pass(own, "turn")
        change = rollout.change_of(own)
        if not (settings["node_kubelet_check_api"] and kubelets.has_ended(change, check_mode=self._pass.check_mode)):
            return {}
        node, expected = plan["node"], kubelets.expected(plan, settings)
        compared = {"kubelets": {node: expected}} if kubelets.is_compared(expected) else {}
        pods = {"running_before": {node: turn["running"]}} if "running" in turn else {}
        has_devices = bool(turn["offered"]) and settings["allocatable_timeout"] > 0
        if not (compared or pods or has_devices):
            return {}
        # What pods request is not counted: the account need not be allowed to list them.
        common = {"nodes": [node], "requested": False, "cluster": self._coordinator_admit["cluster"]}
        answer = self._pass.ask("node_resource_info", {**compared, **pods, **common})
        problems = [kubelets.doubt(node, answer, changed=bool(change.get("changed")))] if compared else []
        if has_devices and not any(problems):
            answer, lacking = self._wait_for_devices(node, turn["offered"], answer, {**pods, **common})
            problems.append(lacking)
        problems += [kubelets.loss_of_pods(node, answer)] if pods else []
        problem = " ".join(filter(None, problems))
        found = {"pods": kubelets.losses(answer, node)} if pods else {}
        return {**found, "failed": True, "msg": problem} if problem else found

    def _wait_for_devices(
        self, node: str, offered: t.Mapping[str, int], answer: Json, question: Json
    ) -> tuple[Json, str]:
        """Wait until a node offers what it did before. A restarted kubelet has nothing of a device plugin until that has registered again.
        Returns the last answer, and what is said of a node that offers less."""
        seconds = rollout.settings_of(self._pass.own)["allocatable_timeout"]
        look_again = int(self._settings["look_again"])
        for _look in range(max(1, seconds // max(1, look_again))):
            if not kubelets.missing(offered, answer, node):
                return answer, ""
            time.sleep(look_again)
            answer = self._pass.ask("node_resource_info", question)
        return answer, kubelets.loss(node, answer, kubelets.missing(offered, answer, node), seconds)

    # ---- the end -----------------------------------------------------------------------------------------------------

    def end(self) -> Json:
        """Tell what became of this host, and on one host of all; and let other runs in again."""
        host, own = self._pass.host, self._pass.own
        decision, admitted = self._decision, self._coordinator_admit
        has_turn = bool(rollout.of_pass(own, "admit").get("batches")) and not self._pass.check_mode
        stopped = self._stopped(decision) if has_turn else ()
        found = kubelets.judged(host, own, self._coordinator, stopped, has_turn=has_turn)
        planned = ((name, self._pass.registers(name)) for name in decision.get("planned", ()))
        if rollout.speaker(planned) != host:
            return self._ended(found)
        return self._told(found, decision, admitted)

    def _stopped(self, decision: Json) -> list[str]:
        """Who stopped the rollout, where this host was waiting for its turn. Read no further than needed."""
        if rollout.has_begun(self._pass.own):
            return []
        turn = rollout.of_pass(self._pass.own, "turn")
        if turn.get("failed"):
            return list(turn.get("stopped_by", ()))
        for batch in decision.get("batches", ()):
            stopped = [each for each in rollout.stopped_by(self._pass.hosts(batch)) if each != self._pass.host]
            if stopped:
                return stopped
        return []

    def _told(self, own_report: Json, decision: Json, admitted: Json) -> Json:
        """The report of all, on the host that speaks."""
        hosts = self._pass.hosts([*decision["planned"], *decision["excluded"]])
        turns = (
            {host for batch in decision.get("batches", ()) for host in batch} if not self._pass.check_mode else set()
        )
        stopped = rollout.stopped_by(hosts)
        reports = {
            host: kubelets.judged(host, each, self._coordinator, stopped, has_turn=host in turns)
            for host, each in hosts.items()
        }
        lost = [host for host, each in hosts.items() if rollout.state(each) == "lost"]
        shown = {host: each for host, each in reports.items() if each and host not in decision["excluded"]}
        lines = [
            *(f"{host}: skipped, because it cannot be reached" for host in decision["excluded"]),
            *admitted.get("told", ()),
            *report.kubelets(
                shown, lost, places=lambda each, field: self._named_in(each, f"{self._pass.role}_{field}")
            ),
            *report.left_alone(kubelets.left_alone(shown)),
            rollout.again(shown),
        ]
        ended = self._ended(own_report, [line for line in lines if line], {host: reports[host] for host in lost})
        return {**ended, **self._released(admitted)}

    @staticmethod
    def _transactions(own_report: Json) -> t.Mapping[str, Json]:
        return {"kubelet": own_report}

    def why_failed(self, own_report: Json) -> str:
        """As in all roles, and why a kubelet with nothing to change does not count as using what is desired."""
        return str(own_report["msg"]) if own_report.get("compared") is False else super().why_failed(own_report)

    def _released(self, admitted: Json) -> Json:
        lease = admitted.get("lease")
        if not lease:
            return {}
        answer = self._pass.ask("rollout_lease", kubelets.lease_release(holder(), lease["cluster"]))
        if not answer.get("failed") and not answer.get("unreachable"):
            return {}
        told = f"the Lease {kubelets.LEASE} is still held by {holder()} until it expires: {answer.get('msg')}"
        return {"warnings": [told]}

    @property
    def _coordinator_admit(self) -> Json:
        """What the coordinator was told by the API."""
        return dict(rollout.of_pass(self._coordinator, "admit"))
