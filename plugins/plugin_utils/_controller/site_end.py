# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of site and its parts: what became of each host in all roles, and on one of them of all hosts."""

from __future__ import annotations

import functools
import itertools
import typing as t

from ...module_utils._plan.common.typed import Mapped
from ...module_utils._plan.transaction import rollout, site
from ...module_utils._plan.transaction.report import Part, Run, host_not_started, pending_message
from ...module_utils._plan.transaction.rollout import PassEnd, RunSummary, StepResult
from ...module_utils._plan.transaction.site import PassRecord, SiteDecision, SiteEnd
from .base_steps import BEGIN, Steps
from .control_plane_rollout import ControlPlaneRollout
from .node_kubelet_rollout import NodeKubeletRollout
from .node_resources_rollout import NodeResourcesRollout
from .placement_guard_rollout import PlacementGuardRollout
from .play_view import Json
from .role_rollout import RoleRollout
from .rollout_pass import parse_register

# Those that are all planned before any of them changes something.
_ROLES: dict[str, type[RoleRollout[t.Any]]] = {
    "control_plane": ControlPlaneRollout,
    "node_kubelet": NodeKubeletRollout,
    "node_resources": NodeResourcesRollout,
}
# What the tasks of these steps register.
_DECIDE, _RECORD, _END = "__play_decide", "__play_record", "__play_end"


class SiteEndSteps(Steps):
    """The last steps, and what they and those before them read of the run."""

    @staticmethod
    def _merge_reports(name: str, first: Mapped, last: Mapped) -> Json:
        """The report of a host in a role that ran twice."""
        role = _ROLES[name]
        merged = site.merge_reports(role.parts_of(dict(first)), role.parts_of(dict(last)))
        return role.with_parts(merged, dict(last or first))

    def _pass_record(self) -> PassRecord:
        """What was recorded in the passes before."""
        return parse_register(self._play, _RECORD, PassRecord)

    @functools.cached_property
    def _decision(self) -> SiteDecision:
        """Of this run; an empty one where it did not come so far."""
        found = parse_register(self._play, _DECIDE, SiteDecision)
        return found if found.pass_id == self.pass_id else SiteDecision()

    @property
    def pass_id(self) -> str:
        """Of the run, which its first step gave it."""
        return parse_register(self._play, BEGIN, StepResult).pass_id

    @property
    def _is_split(self) -> bool:
        """Whether the run is in one of its two passes."""
        return self._decision.in_pass in (site.ADDITIONS, site.REST)

    def end(self) -> SiteEnd:
        """End on this host what no role has ended, because there was nothing to change or something failed before. The host fails with what is left to do
        there, which no task of it has failed with."""
        decision = self._decision
        # What is left of an earlier import of a playbook does not count.
        record = self._pass_record() if self._is_split or decision.rechecks else PassRecord()
        ends = {name: self._end_role(role) for name, role in self._node_roles().items()}
        reports = {
            name: self._merge_reports(name, first, end.report or {})
            if (first := record.reports.get(name))
            else end.report or {}
            for name, end in ends.items()
        }
        return SiteEnd(
            why=self._why_failed(ends, reports),
            reports=reports,
            lines=[*record.lines, *(line for end in ends.values() for line in end.lines)],
        )

    def _end_role(self, role: RoleRollout[t.Any]) -> PassEnd:
        """The end of a role on this host, which is made here where the role did not come so far."""
        end: PassEnd = role.own.end
        if role.own.is_at_work:
            end = role.end_because_of(lambda: self._stopping_hosts)
            role.acknowledge_outcomes(end.report)  # the others have done that behind their own end
        return end

    def _why_failed(self, ends: t.Mapping[str, PassEnd], reports: t.Mapping[str, Mapped]) -> str:
        """Why this host fails; empty when it does not, or has failed already. reports: of it, by role."""
        roles, guards = self._node_roles(), self._guard_role().values()
        is_refused = self._decision.failed and self._play.host == self._play.all_play_hosts[0]
        if is_refused or any(role.own.has_failed for role in (*roles.values(), *guards)):
            return ""
        number = sum(roles[name].count_pending(dict(each)) for name, each in reports.items())
        number += sum(guard.count_pending(dict(guard.own.end.report or {})) for guard in guards)
        pending = pending_message(number) if number and self._fails_on_pending else ""
        why = next(filter(None, (end.why for end in ends.values())), self._remaining_work() or pending)
        is_started = any(
            part.changed for name, each in reports.items() for part in _ROLES[name].parts_of(dict(each)).values()
        )
        is_waiting = why == rollout.not_changed_message(self._stopping_hosts)
        return rollout.not_complete_message(self._stopping_hosts) if is_started and is_waiting else why

    def acknowledge(self) -> StepResult:
        """Fail this host where the end found a reason."""
        why = parse_register(self._play, _END, SiteEnd).why
        return StepResult(failed=bool(why), msg=why)

    def _remaining_work(self) -> str:
        """What is left to do on this host, where none of its tasks has failed; empty without."""
        if self._play.check_mode:
            return ""
        decision = self._decision
        if not decision.pass_id:
            return rollout.not_planned_message(self._stopping_hosts)
        # A first pass that is refused has changed nothing, and is run again as it was.
        is_waiting = decision.in_pass == site.ADDITIONS and not decision.failed
        role = next(iter(self._pass_record().preserved or {}), "") if is_waiting else ""
        return site.not_removed_message(role, self._stopping_hosts) if role else ""

    @functools.cached_property
    def _stopping_hosts(self) -> list[str]:
        """The first host that failed in a role, and so ended the run for all. Not who is still in the play: then it has no host."""
        roles = {**self._node_roles(), **self._guard_role()}
        return list(itertools.islice((host for role in roles.values() for host in role.failed_hosts()), 1))

    def summary(self) -> RunSummary:
        """Report what became of all hosts in all roles."""
        ends = {host: parse_register(self._play, _END, SiteEnd, host) for host in self._play.all_play_hosts}
        ends = {host: end for host, end in ends.items() if end.pass_id == self.pass_id}
        decision = self._decision
        run = Run(
            hosts=list(self._run_hosts()),
            parts=[]
            if self._play.check_mode
            else [part for host, end in ends.items() for part in _unstarted_parts(host, end)],
            causes={self._play.all_play_hosts[0]: [decision.msg]} if decision.failed else {},
            notes=[line for end in ends.values() for line in end.lines],
            **self._run_fields,
        )
        statistics: Json = {}
        for name, role in {**self._node_roles(), **self._guard_role()}.items():
            ended = {host: dict(end.reports[name]) for host, end in ends.items() if end.reports.get(name)}
            lost = {host: each for host, each in role.all_reports().items() if host not in ends or name not in _ROLES}
            reports = {**lost, **ended}
            run = run.with_role(
                causes=role.causes(), notes=() if name in _ROLES else role.notes(), **role.run_fields(reports)
            )
            statistics.update(role.statistics(reports))
        if self._play.check_mode and decision.in_pass == site.REST:
            run = run.with_role(notes=[site.SPLIT])
        return RunSummary.of(run, statistics)

    def _run_hosts(self) -> t.Iterator[str]:
        """The hosts of the run: those of the play, or the ones that are reverted."""
        named = self._play.variable("__play_hosts", self._play.all_play_hosts)
        return (host for host in self._play.all_play_hosts if host in named)

    def _guard_role(self) -> dict[str, RoleRollout[t.Any]]:
        """The placement guard, where the run applies it. It has no part on a host."""
        is_applied = site.GUARD in self._step.roles
        return {site.GUARD: PlacementGuardRollout(self._play, self._modules, site.GUARD, {})} if is_applied else {}

    def _node_roles(self) -> dict[str, RoleRollout[t.Any]]:
        """The steps of the roles that the playbook uses on nodes."""
        return {name: self._role_steps(name) for name in self._step.roles if name in _ROLES}

    def _role_steps(self, name: str) -> RoleRollout[t.Any]:
        return _ROLES[name](self._play, self._modules, name, {})


def _unstarted_parts(host: str, end: SiteEnd) -> list[Part]:
    """Of a host that fails although nothing of it has: a part whose turn did not come."""
    reports = [_ROLES[name].parts_of(dict(each)) for name, each in end.reports.items()]
    is_known = not end.why or any(map(site.has_failed, reports))
    return [] if is_known else [host_not_started(host, end.why)]
