# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(control_plane): fetches what is decided from, asks nodes and the API, and hands over what was decided.

Tasks that only some runs have are in three files of the role: C(plan_again.yml) for all hosts, C(turn.yml) for a host that has its turn, and
C(persist.yml) for the last one, when all turns are over.
"""

from __future__ import annotations

import time
import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.common.verdict import SKIPPED
from ...module_utils._plan.kubernetes import access
from ...module_utils._plan.static_pod import requests, rollout_lease
from ...module_utils._plan.static_pod import rollout as control_planes
from ...module_utils._plan.transaction import report, rollout
from ...module_utils._plan.transaction.lease import LEASE_NAME, LEASE_NAMESPACE
from .lease_holder import holder
from .role_rollout import RoleRollout
from .rollout_pass import Json

if t.TYPE_CHECKING:
    from ...module_utils._plan.kubeadm_config.plan import ConfigPlan
    from .control_plane_persistence import Persistence

_BOOLEANS = (
    "control_plane_lease",
    "control_plane_lease_takeover",
    "control_plane_resume",
    "control_plane_persist",
    "confirm",
    "persists",
    "purge",
)
_PERSISTED = ("control_plane_persist_env", "control_plane_persist_feature_gates")
_NUMBERS = ("wait_timeout", "min_ready_seconds", "lock_timeout", "confirm_timeout")
# To acquire, renew and release it.
_LEASE_RIGHTS = access.of_lease(LEASE_NAME, LEASE_NAMESPACE)
_PLAN_AGAIN, _TURN, _PERSIST = "plan_again.yml", "turn.yml", "persist.yml"


class ControlPlaneRollout(RoleRollout):
    """The steps of one host."""

    def begin(self) -> Json:
        """As in all roles, and who may ask the API, best first."""
        begun = super().begin()
        known = dict.fromkeys([*self._pass.control_planes(), *self._pass.play_hosts])
        named = begun["settings"]["control_plane_api_host"]
        api = self._pass.api_hosts(list(known), named, reachable=self._pass.play_hosts)
        return {**begun, "api": api, "at": time.time()}

    def _checked_settings(self) -> Json:
        found = dict(self._settings)
        found.update(
            {name: boolean(found[name]) for name in _BOOLEANS}, **{name: int(found[name]) for name in _NUMBERS}
        )
        found["static_pods"] = requests.named(found["static_pods"])
        # None where there is no variable, so that what stands in kubeadm-config stays.
        found.update({name: self._pass.variable(name) for name in _PERSISTED})
        found["vaulted"] = self._pass.vaulted("control_plane_components")
        return found

    # ---- before the first write --------------------------------------------------------------------------------------

    def decide(self) -> Json:
        """Work out on one host, when all have planned, who has a turn, and keep other runs out. The others do not ask."""
        coordinator, own = self._pass.coordinator, self._pass.own
        if coordinator != self._pass.host:
            return {"api_reachable": True, "coordinator": coordinator}
        hosts, former = self._pass.hosts(), rollout.of_pass(own, "decide")
        # In check mode no kubelet was repaired. The plan has told what would change then.
        plan_only = self._plan_only or (self._pass.check_mode and bool(control_planes.kubelet_refusal(hosts, ())))
        turns = [] if plan_only and not self._plan_only else control_planes.turns(hosts)
        begun_at = min(registers["pass"]["at"] for registers in hosts.values())
        # Where everything was planned again, that was after the last decision.
        planned_at = former["at"] if "at" in former and not former["plan_only"] else begun_at
        found: Json = {
            "api_reachable": True,
            "coordinator": coordinator,
            "plan_only": plan_only,
            "planned": list(hosts),
            "turns": turns,
            "planned_at": planned_at,
            "at": time.time(),
            # Of a run that planned again: it is released at the end, also when nothing is left to do, or what is left is refused.
            "lease": self._kept_lease(former),
            "told": [],
        }
        persistence = self._persistence(hosts)
        refusal = (
            control_planes.refusal(hosts, self._pass.host, self._pass.play_hosts, self._pass.batch_hosts)
            or self._kubelet_refusal(hosts)
            or self._persist_refusal(persistence)
        )
        if refusal:
            return {**found, "failed": True, "msg": refusal}
        writes = persistence is not None and persistence.work is not None
        # What could not be read fails the run at its end: it may be there to repair the API.
        found["persists"] = writes or (persistence is not None and bool(persistence.failure))
        acquires = bool(turns or writes) and self._is_lease_wanted and not found["lease"]
        rights = [*(_LEASE_RIGHTS if acquires else ()), *(persistence.rights if persistence else ())]
        if rights and self._api(hosts)["host"] != self._pass.asked_host:
            return {"api_reachable": False}
        refusal, warnings = self._access(hosts, rights)
        if refusal:
            return {**found, "failed": True, "msg": f"Nothing was changed on {self._pass.host}: {refusal}"}
        if acquires:
            found.update(self._admission(hosts, int(time.time() - planned_at)), at=time.time())
        if warnings:
            found.update({name: [*warnings, *found.get(name, ())] for name in ("told", "warnings")})
        return {**found, "is_ready": control_planes.is_ready(hosts, time.time() - planned_at)}

    @property
    def _persistences(self) -> type[Persistence]:
        # Each step is a process of its own, and only a few come here: the import costs more than the rest of a step.
        from .control_plane_persistence import Persistence  # noqa: PLC0415  # see above

        return Persistence

    def _persistence(self, hosts: rollout.Hosts) -> Persistence | None:
        return self._persistences.of(hosts, check_mode=self._pass.check_mode)

    def _persist_refusal(self, persistence: Persistence | None) -> str:
        """Why kubeadm-config cannot be written, where the run is asked for that: before its first write."""
        why = persistence.refusal() if persistence else ""
        return f"Nothing was changed on {self._pass.host}. {why}" if why else ""

    def _kubelet_refusal(self, hosts: rollout.Hosts) -> str:
        """Why a kubelet that does not work stops this run. A playbook over several roles decides that itself, and may have repaired it since."""
        if self._plan_only or not control_planes.kubelet_refusal(hosts, ()):
            return ""
        kubelets = self._pass.of_role("node_kubelet")
        repaired = [host for host in hosts if rollout.state(kubelets.registers(host)) == "done"]
        return control_planes.kubelet_refusal(hosts, repaired)

    def kubelet_refusal(self, repaired: t.Collection[str]) -> str:
        """As in all roles: static pods are started by a kubelet that works."""
        return control_planes.kubelet_refusal(self._pass.hosts(), repaired)

    def _access(self, hosts: rollout.Hosts, rights: t.Sequence[access.Right]) -> tuple[str, list[str]]:
        """Why the account must not begin what it could not end, empty when it has these rights, and a warning where that is not known. A
        repair does not wait for an API server that may be what it repairs."""
        if not rights or control_planes.impaired(hosts):
            return "", []
        purpose = "control_plane needs until its last write"
        result, refusal = self._review(rights, control_planes.cluster(hosts), purpose)
        return refusal, [f"not verified: {what}" for what in access.unverified(result, purpose)]

    @staticmethod
    def _kept_lease(former: rollout.Result) -> Json:
        """The Lease that this pass holds already, because everything was planned again; empty without. former: the last decision."""
        lease = former.get("lease", {})
        return {**lease, "stale": False} if lease.get("held") else {}

    def _admission(self, hosts: rollout.Hosts, plan_age: int) -> Json:
        """Acquire the Lease."""
        request = rollout_lease.acquisition(hosts, rollout.settings_of(self._pass.own), holder(), plan_age)
        answer = self._pass.ask("rollout_lease", request, is_plan=self._is_dry)
        found = rollout_lease.admission(hosts, answer, holder(), self._skipped(hosts), dry=self._is_dry)
        lease = {"held": found.is_held, "alone": found.is_alone, "stale": found.is_stale}
        told = [found.warning] if found.warning else []
        result: Json = {"lease": lease, "told": told, "warnings": told}
        if found.objection:
            result.update(failed=True, msg=f"Nothing was changed on {self._pass.host}: {found.objection}")
        return result

    def admit(self) -> Json:
        """Take this host's own part of what was decided: its files, the hosts that it asks first, and who asks the API for it."""
        decision = self._decision
        found: Json = {"first": [], "then": [], "asked": []}
        if decision.get("failed"):
            return found
        barrier = rollout.step_refusal(self._pass.hosts(), "decide")
        if barrier or not decision:
            raise Refusal(f"Nothing was changed on {self._pass.host}. {barrier}")
        hosts, host = self._pass.hosts(decision["planned"]), self._pass.host
        # Who is before the host that ends the rollout was lost.
        lost = decision["planned"][: decision["planned"].index(host)]
        found["end_api"] = self._api(hosts, lost=lost)
        if decision["lease"].get("stale"):
            # In the last include of the file that is repeated there, which has no other one to come.
            return {**found, "then": [{"file": _PLAN_AGAIN, "host": "all nodes"}]}
        # Files are included in the order of the hosts, so what the last one includes is behind all others.
        is_last = bool(decision.get("persists")) and host == decision["planned"][-1]
        persist = [{"file": _PERSIST, "host": host}] if is_last else []
        found.update(then=persist, **({"verifies": decision["planned"]} if is_last else {}))
        if host not in decision["turns"]:
            return found
        is_first = host == decision["turns"][0]
        # With its host, without which it would be one file for all hosts.
        turn = [{"file": _TURN, "host": host}]
        is_repair = control_planes.repairs(self._pass.own)
        return {
            **found,
            "first": turn if is_repair else [],
            "then": persist if is_repair else [*turn, *persist],
            "asked": [] if is_first and decision["is_ready"] else decision["planned"],
            "turn_api": self._api(hosts, changing=[host]),
        }

    def _skipped(self, hosts: t.Container[str]) -> list[str]:
        """The control planes of the inventory that take no part: by C(--limit), or in the play but without this role."""
        return [host for host in self._pass.control_planes() if host not in hosts]

    def _api(self, hosts: rollout.Hosts, *, changing: t.Sequence[str] = (), lost: t.Collection[str] = ()) -> Json:
        """Who asks the API. changing: the host that has its turn then. lost: those that cannot be asked then."""
        known = {*hosts, *self._skipped(hosts)}
        found = self._pass.api_hosts(
            [each["host"] for each in self._pass.own["pass"]["api"] if each["host"] in known],
            rollout.settings_of(self._pass.own)["control_plane_api_host"],
            reachable=[host for host in self._pass.play_hosts if host not in lost],
            changing=changing,
            impaired=control_planes.impaired(hosts),
        )
        return found[0]

    def planned(self, hosts: t.Iterable[str] | None = None) -> dict[str, dict[str, Json]]:
        """What was planned, by host and static pod, and of kubeadm-config."""
        found: dict[str, dict[str, Json]] = control_planes.reports(self._pass.hosts(hosts), dry=True)
        decision = self._decision
        if decision.get("persists"):
            change = {"field": "kubeadm_config", "key": "settings", "before": None, "after": True}
            found.setdefault(decision["coordinator"], {})["kubeadm-config"] = {"operations": [change]}
        return found

    # ---- a turn ------------------------------------------------------------------------------------------------------

    def look(self) -> Json:
        """Ask one host for its static pods, on behalf of the one whose turn it is."""
        host = self._pass.asked_host
        answer = self._pass.ask("static_pod_info", {})
        pods, problem = answer.get("static_pods"), answer.get("kubelet_problem") or answer.get("msg")
        kept = [{key: pod[key] for key in ("name", "ready", "problem", "unverified")} for pod in pods or ()]
        problem = problem or control_planes.unknown_readiness(
            {pod["name"]: pod for pod in kept}, answer.get("unreadable_files", ())
        )
        if pods is None or problem:
            return {"host": host, "static_pods": None, "msg": str(problem or "no answer"), "awaited": []}
        return {"host": host, "static_pods": kept, "awaited": control_planes.awaited(self._pass.registers(host), kept)}

    def turn(self) -> Json:
        """Let this host begin when those before it are done and all others are ready."""
        decision, host = self._decision, self._pass.host
        hosts = self._pass.hosts(decision["planned"])
        needs_lease = self._is_lease_wanted and not self._is_dry
        refusal = (
            control_planes.turn_refusal(hosts, host, self._pass.play_hosts, decision["turns"])
            or rollout_lease.turn_refusal(host, decision["lease"], is_needed=needs_lease)
            or control_planes.readiness_refusal(hosts, host)
            or self._renewal_refusal(hosts, decision, host)
        )
        if refusal:
            raise Refusal(refusal)
        own = self._pass.own["pass"]["pass"]
        return {"changes": [{"name": name, "pass": own} for name in control_planes.order(self._pass.own)]}

    def _renewal_refusal(self, hosts: rollout.Hosts, decision: Json, host: str | None) -> str:
        """Renew the Lease for as long as the turn of a host may take; None: as kubeadm-config is written. Returns why that may not begin."""
        lease = decision["lease"]
        if not lease.get("held"):
            return ""
        plan_age = int(time.time() - decision["planned_at"])
        request = rollout_lease.renewal(hosts, host, holder(), plan_age)
        return rollout_lease.renewal_refusal(self._pass.host, self._pass.ask("rollout_lease", request))

    # ---- kubeadm-config ----------------------------------------------------------------------------------------------

    def verify(self) -> Json:
        """Prove on one host that kubeadm would generate what that host has now, on behalf of the last one."""
        persistence, work = self._to_write()
        return {"host": self._pass.asked_host, **self._asked("kubeadm_config_check", persistence.proof(work))}

    def apply(self) -> Json:
        """Write what all hosts have verified, under the Lease."""
        decision = self._decision
        hosts = self._pass.hosts(decision["planned"])
        unverified = [host for host in hosts if host not in _verified_hosts(self._pass.own)]
        if unverified:
            raise Refusal(f"kubeadm-config was not written, because it was not verified on {', '.join(unverified)}.")
        self._refuse(self._renewal_refusal(hosts, decision, None))
        persistence, work = self._to_write()
        return self._asked("kubeadm_config", persistence.write(work))

    def _to_write(self) -> tuple[Persistence, ConfigPlan]:
        """What was decided to be written, and by whom it was worked out. Raises Refusal when it must not be any more."""
        hosts = self._pass.hosts(self._decision["planned"])
        if stopped := control_planes.stopped_by(hosts, self._pass.play_hosts):
            raise Refusal(f"kubeadm-config was not written, because {', '.join(stopped)} failed or was lost.")
        persistence = self._persistences(hosts, check_mode=self._pass.check_mode)
        work = persistence.work
        if work is None:
            raise Refusal(persistence.failure)
        return persistence, work

    def _asked(self, module: str, options: Json) -> Json:
        """What a module answers, as the result of the step."""
        answer = self._pass.ask(module, options)
        if answer.get("msg") is not None:
            return {"failed": True, "msg": str(answer["msg"])}
        kept = ("changed", "operations", "diff", "version", "rehearsed", "seconds")
        return {key: answer[key] for key in kept if key in answer}

    # ---- the end -----------------------------------------------------------------------------------------------------

    def _place(self, host: str, field: str) -> str:
        """Where the variable comes from that says all of a field of a static pod."""
        return self._named_in(host, control_planes.variable_of(field))

    def end(self) -> Json:
        """Tell what became of this host, and on one host of all; and let other runs in again."""
        decision, host = self._decision, self._pass.host
        if not decision:  # its plan may be that of an earlier pass
            return self._ended({})
        hosts = self._pass.hosts(decision["planned"])
        reports = control_planes.reports(hosts, dry=decision["plan_only"])
        own = reports.get(host, {})
        if control_planes.speaker(hosts) != host:
            return self._ended(own)
        lost = control_planes.lost(hosts)
        warning, resumption = self._released(hosts, decision)
        warnings = [*decision.get("told", ()), warning]
        # What a run that failed has left on a node its plan does not tell.
        persistence = None if control_planes.stopped_by(hosts, self._pass.play_hosts) else self._persistence(hosts)
        kept = persistence.lines(self._written(decision), diff=self._pass.diff_mode) if persistence else []
        first = [line for line in kept[:1] if line.startswith("WARNING")]
        lines = [
            *first,
            *(f"WARNING: {warning}" for warning in (*warnings, *control_planes.beside(hosts)) if warning),
            *(self._unverified(hosts, reports) if decision["turns"] else ()),
            *report.static_pods(reports, lost, warns=persistence is None, places=self._place),
            *report.left_alone(control_planes.left_alone(reports)),
            *kept[len(first) :],
            *report.limits(
                _unrehearsed(self._pass.registers(decision["planned"][-1])) if self._written(decision) else ()
            ),
            rollout.again(control_planes.left(reports)),
            resumption,
        ]
        told_for = {name: reports[name] for name in lost}
        return self._ended(own, [line for line in lines if line], told_for)

    def _unverified(self, hosts: rollout.Hosts, reports: t.Mapping[str, t.Mapping[str, Json]]) -> list[str]:
        """A line for each part that could not be verified before API servers and etcds were stopped, beside what the reports tell."""
        lines = report.limits(control_planes.unverified(hosts, self._skipped(hosts)))
        for host, name, what in control_planes.assumed_ready(hosts):
            if what not in reports.get(host, {}).get(name, {}).get("unverified", ()):
                lines += report.limits([what], f"{host} {name}")
        return lines

    def _ended(self, report: Json, lines: t.Sequence[str] = (), others: Json | None = None) -> Json:
        # With ignore_unreachable a host that was lost ends too, maybe before the one that says on the Lease what was asked of it.
        settings = self._pass.own.get("pass", rollout.NOTHING).get("settings", {})
        return {**super()._ended(report, lines, others), "settings": settings}

    def _written(self, decision: Json) -> rollout.Result:
        """What was written to kubeadm-config, by the last host."""
        return rollout.of_pass(self._pass.registers(decision["planned"][-1]), "apply")

    @staticmethod
    def _transactions(own_report: Json) -> t.Mapping[str, Json]:
        return own_report

    def why_failed(self, own_report: Json) -> str:
        """As in all roles, of any of its static pods."""
        for result in own_report.values():
            if why := super().why_failed(result):
                return why
        return ""

    def _released(self, hosts: rollout.Hosts, decision: Json) -> tuple[str, str]:
        """Let other runs in again, unless a change may still go on. Returns a warning and what the next run needs, either may be empty."""
        lease = decision.get("lease", {})
        request = rollout_lease.release(hosts, holder()) if lease.get("held") else None
        if request is None:
            return "", ""
        warning = rollout_lease.release_warning(holder(), self._pass.ask("rollout_lease", request))
        return warning, "" if warning else rollout_lease.resumption(request)

    # ---- of the coordinator ------------------------------------------------------------------------------------------

    @property
    def _is_dry(self) -> bool:
        """Whether the Lease is only looked at: in check mode, and in the plan of a playbook."""
        return self._pass.check_mode or self._plan_only

    @property
    def _is_lease_wanted(self) -> bool:
        return bool(rollout.settings_of(self._pass.own)["control_plane_lease"])


def _unrehearsed(registers: rollout.Registers) -> list[str]:
    """What of the new kubeadm-config could not be rehearsed."""
    return [
        f"whether kubeadm-config suits {each['component']} on {result['host']}: {each['message']}"
        for result in registers.get("verify", rollout.NOTHING).get("results") or ()
        for each in result.get("rehearsed") or ()
        if each["verdict"] == SKIPPED
    ]


def _verified_hosts(registers: rollout.Registers) -> list[str]:
    """The hosts on which the new kubeadm-config is verified."""
    results = registers.get("verify", rollout.NOTHING).get("results") or ()
    own = registers["pass"]["pass"]
    return [
        result["host"]
        for result in results
        if result.get("pass") == own and not result.get("failed") and not result.get("unreachable")
    ]
