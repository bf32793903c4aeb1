# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(control_plane) in a turn and at the end: the nodes that must be ready, kubeadm-config, and what became of each node.

Tasks that only some runs have are in three files of the role: C(replan.yml) for all hosts, C(turn.yml) for a host that has its turn, and
C(persist.yml) for the last one, when all turns are over.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.common.typed import ModuleResult
from ...module_utils._plan.common.verdict import SKIPPED
from ...module_utils._plan.static_pod import rollout as control_planes
from ...module_utils._plan.static_pod import rollout_leaders, rollout_lease
from ...module_utils._plan.static_pod.static_pod_results import (
    ChangeReverted,
    ChangesTraced,
    ConfigVerified,
    ConfigWritten,
    PodsInfo,
    PodsObserved,
    PodState,
    StaticPodDecision,
    StaticPodHost,
)
from ...module_utils._plan.transaction import report
from ...module_utils._plan.transaction.results import ComponentResult, Item, LeaseResult, Report
from ...module_utils._plan.transaction.rollout import Hosts, PassEnd, Turn
from .control_plane_decision import ControlPlaneDecision
from .lease_holder import holder_name
from .play_view import Json

if t.TYPE_CHECKING:
    from ...module_utils._plan.kubeadm_config.control_plane_persistence import Persistence
    from ...module_utils._plan.kubeadm_config.plan import ConfigPlan


class ControlPlaneRollout(ControlPlaneDecision):
    """All steps of one host."""

    _part_type = ComponentResult  # its parts are static pods

    def planned_reports(self, hosts: t.Iterable[str] | None = None) -> dict[str, Report]:
        """What was planned, by host and static pod, and of kubeadm-config."""
        found: dict[str, Report] = dict(control_planes.build_reports(self._pass.hosts(hosts), dry=True))
        decision = self._coordinator.decision
        if decision and decision.persists:
            change = {"field": "kubeadm_config", "key": "settings", "before": None, "after": True}
            config = typed.parse(ComponentResult, {"operations": [change]})
            found[decision.coordinator] = {**found.get(decision.coordinator, {}), "kubeadm-config": config}
        return found

    def observe(self) -> PodsObserved:
        """Read the static pods of one host, on behalf of the one whose turn it is."""
        host = self._play.delegate_host
        info = self._modules.run("static_pod_info", {}, PodsInfo)
        pods = tuple(
            PodState(name=pod.name, ready=pod.ready, problem=pod.problem, unverified=pod.unverified)
            for pod in info.static_pods or ()
        )
        problem = info.kubelet_problem or info.msg
        if info.static_pods is None or problem:
            # It responded when everything was planned, so it may only be restarting.
            return PodsObserved(host=host, msg=problem or "no answer", awaited=[host])
        if problem := control_planes.unknown_readiness([pod.name for pod in pods], info.unreadable_files):
            return PodsObserved(host=host, msg=problem)
        return PodsObserved(
            host=host, static_pods=pods, awaited=control_planes.awaited_pods(self._pass.host(host), pods)
        )

    def turn(self) -> Turn:
        """Let this host begin when those before it are done and all others are ready."""
        decision, host = self._decision, self._play.host
        hosts = self._pass.hosts(decision.planned)
        needs_lease = self._pass.own.settings.control_plane_lease and not self._is_dry
        self._refuse(control_planes.turn_refusal(hosts, host, self._play.play_hosts, decision.turns))
        self._refuse(rollout_lease.turn_refusal(decision.lease, is_needed=needs_lease))
        if why := control_planes.readiness_refusal(hosts, host):
            return Turn(failed=True, msg=why, stopped_by=control_planes.hosts_not_ready(hosts, host))
        self._refuse(self._renewal_refusal(hosts, decision, host))
        pass_id = self._pass.own.start.pass_id
        return Turn(changes=tuple(Item(name, pass_id) for name in control_planes.pods_in_order(self._pass.own)))

    def trace(self) -> ChangesTraced:
        """Behind a change that failed, find the other hosts on which this run has made it, and it has to be reverted: what was lost is lost with each of
        them that leads. Raises Refusal without any: the turn has failed."""
        decision, host = self._decision, self._play.host
        hosts = self._pass.hosts(decision.planned)
        reverts = rollout_leaders.trace_changes(hosts, host, decision.turns)
        if not reverts:
            raise Refusal(f"The turn of {host} ends with what failed above. Nothing is reverted on another node.")
        self._refuse(self._renewal_refusal(hosts, decision, host, turns=len(reverts)))
        why = rollout_leaders.loss_reason(hosts, host)
        msg = f"The turn of {host} ends: {why}. The same change was to be reverted on {', '.join(each.host for each in reverts)}."
        return ChangesTraced(reverts=tuple(reverts), why=why, msg=msg)

    def revert(self) -> ChangeReverted:
        """Revert one of these changes, which must be the last one of its static pod, without another canary: the cluster does not work now."""
        host = self._play.delegate_host
        change = next(each for each in self._pass.own.traced.reverts if each.host == host)
        # It is reported as that of this run, not as one of an earlier run.
        self._modules.run("node_transaction", {"name": change.pod, "id": change.transaction}, ModuleResult)
        options = rollout_leaders.revert_options(self._play.variable("__control_plane_options", {}), change)
        planned = self._modules.run(
            "static_pod", {**options, "rehearse": False}, ComponentResult, is_plan=True, is_complete=True
        )
        if why := rollout_leaders.other_change_refusal(planned, change):
            return ChangeReverted(change=change, failed=True, msg=why)
        result = self._modules.run("static_pod", options, ComponentResult, is_complete=True)
        return ChangeReverted(change=change, failed=result.has_failed, msg=result.msg, result=result)

    def _renewal_refusal(
        self, hosts: Hosts[StaticPodHost], decision: StaticPodDecision, host: str | None, *, turns: int = 1
    ) -> str:
        """Renew the Lease for as long as the turn of a host may take; None: as kubeadm-config is written. turns: how often. Returns why that may not
        begin."""
        if not decision.lease.held:
            return ""
        plan_age = int(time.time() - decision.planned_at)
        request = rollout_lease.renew_request(hosts, host, holder_name(), plan_age, turns=turns)
        return rollout_lease.renewal_refusal(self._modules.run("rollout_lease", request, LeaseResult))

    def verify(self) -> ConfigVerified:
        """Prove on one host that kubeadm would generate what that host has now, on behalf of the last one."""
        persistence, plan = self._config_change()
        result = self._modules.run("kubeadm_config_check", persistence.proof_options(plan), ModuleResult)
        found: ConfigVerified = typed.parse(ConfigVerified, _step_result(result))
        return dataclasses.replace(found, host=self._play.delegate_host)

    def apply(self) -> ConfigWritten:
        """Write what all hosts have verified, under the Lease."""
        decision = self._decision
        verified = [each.host for each in self._pass.own.verified if not (each.failed or each.unreachable)]
        unverified = [host for host in decision.planned if host not in verified]
        if unverified:
            raise Refusal(f"kubeadm-config was not written, because it was not verified on {', '.join(unverified)}.")
        self._refuse(self._renewal_refusal(self._pass.hosts(decision.planned), decision, None))
        persistence, plan = self._config_change()
        result = self._modules.run("kubeadm_config", persistence.write_options(plan), ModuleResult)
        return typed.parse(ConfigWritten, _step_result(result))

    def _config_change(self) -> tuple[Persistence, ConfigPlan]:
        """The change of kubeadm-config that was decided, and what planned it. Raises Refusal when it must not be any more."""
        hosts = self._pass.hosts(self._decision.planned)
        if stopped := control_planes.stopped_by(hosts, self._play.play_hosts):
            raise Refusal(f"kubeadm-config was not written, because {', '.join(stopped)} failed or was lost.")
        persistence = self._persistence_type(hosts, dry=self._play.check_mode)
        plan = persistence.pending_plan
        if plan is None:
            raise Refusal(persistence.failure)
        return persistence, plan

    def variable_of(self, field: str) -> str:
        """As in all roles."""
        return control_planes.variable_of(field)

    def _end(self) -> PassEnd:
        decision, host = self._coordinator.decision, self._play.host
        # Where nothing was decided, each host reports its own plan.
        hosts = self._pass.hosts(decision.planned if decision else [host])
        reports = control_planes.build_reports(hosts, dry=decision is None or decision.plan_only)
        own = self.with_parts(reports.get(host, {}), {})
        if decision is None or control_planes.choose_reporter(hosts) != host:
            return PassEnd(report=own)
        released = self._release_lease(hosts, decision)
        warning = rollout_lease.release_warning(holder_name(), released) if released else ""
        resumption = rollout_lease.resume_hint(hosts) if released and not warning else ""
        # The plan of a run that failed does not have what it left on a node.
        has_stopped = bool(control_planes.stopped_by(hosts, self._play.play_hosts))
        persistence = None if has_stopped else self._plan_persistence(hosts)
        last = self._pass.host(decision.planned[-1])
        persistence_lines = persistence.report_lines(last.written, diff=self._play.diff_mode) if persistence else []
        first = [line for line in persistence_lines[:1] if line.startswith("WARNING")]
        warnings = [*decision.report_warnings, warning, *control_planes.unplanned_problems(hosts)]
        lines = [
            *first,
            *(f"WARNING: {warning}" for warning in warnings if warning),
            *(self._unverified_lines(hosts, reports) if decision.turns else ()),
            *rollout_leaders.missing_proof_lines(hosts, released.missing_proofs if released else {}),
            *report.left_alone_lines(control_planes.left_alone_settings(reports)),
            *(control_planes.undone_by_upgrade(reports) if persistence is None else ()),
            *persistence_lines[len(first) :],
            *report.unverified_lines(_unrehearsed_settings(last) if last.written else ()),
            resumption,
        ]
        others = {name: self.with_parts(reports[name], {}) for name in control_planes.lost_hosts(hosts)}
        return PassEnd(report=own, lines=[line for line in lines if line], others=others)

    def run_fields(self, reports: t.Mapping[str, Json]) -> Json:
        """As in all roles, and of kubeadm-config, which no single host has, and of the mark on the Lease."""
        objects = {"kubeadm-config": True} if self._is_config_changed else {}
        is_marked = any(rollout_lease.RESUMPTION in host.end.lines for host in self._reported_hosts.values())
        return {**super().run_fields(reports), "objects": objects, "resume": rollout_lease.RESUME if is_marked else ""}

    def count_pending(self, own_report: Json) -> int:
        """As in all roles. kubeadm-config counts on the host that decides for all."""
        is_first = self._play.check_mode and self._pass.coordinator == self._play.host
        return super().count_pending(own_report) + int(is_first and self._is_config_changed)

    @property
    def _is_config_changed(self) -> bool:
        """Whether kubeadm-config was written; in check mode, whether it would be."""
        hosts = dict(self._pass.all_hosts())
        if not self._play.check_mode:
            return any(host.written.changed for host in hosts.values() if host.written)
        planned = next(
            (host.decision.planned for host in hosts.values() if host.decision and host.decision.planned), ()
        )
        persistence = self._plan_persistence(self._pass.hosts(planned))
        return bool(persistence and persistence.rights)

    def _unverified_lines(self, hosts: Hosts[StaticPodHost], reports: control_planes.Reports) -> list[str]:
        """A line for each part that could not be verified before API servers and etcds were stopped, beside those in the reports."""
        lines = report.unverified_lines(control_planes.unverified(hosts, self._skipped(hosts)))
        for host, name, what in control_planes.assumed_ready(hosts):
            reported = reports.get(host, {}).get(name)
            if reported is None or what not in reported.unverified:
                lines += report.unverified_lines([what], f"{host} {name}")
        return lines

    def _release_lease(self, hosts: Hosts[StaticPodHost], decision: StaticPodDecision) -> LeaseResult | None:
        """Let other runs in again, unless a change may still go on. None where the Lease is not released."""
        request = rollout_lease.release_request(hosts, holder_name()) if decision.lease.held else None
        return self._modules.run("rollout_lease", request, LeaseResult) if request else None


def _step_result(result: ModuleResult) -> Json:
    """What a module returned, as the result of a step."""
    failed = result.has_failed or result.msg
    return {"failed": True, "msg": result.msg or "no answer"} if failed else dict(result.raw)


def _unrehearsed_settings(host: StaticPodHost) -> list[str]:
    """What of the new kubeadm-config could not be rehearsed."""
    return [
        f"whether kubeadm-config suits {each.component} on {result.host}: {each.message}"
        for result in host.verified
        for each in result.rehearsed
        if each.verdict == SKIPPED
    ]
