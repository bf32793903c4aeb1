# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of C(site) and its parts: which roles a run uses, what it adds first and removes then, and what became of each host."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.common.typed import Mapped
from ...module_utils._plan.kubelet.kubelet_results import KubeletHost
from ...module_utils._plan.kubernetes import control_plane_nodes
from ...module_utils._plan.transaction import site
from ...module_utils._plan.transaction.results import Report
from ...module_utils._plan.transaction.rollout import StepResult
from ...module_utils._plan.transaction.site import SiteDecision
from .control_plane_rollout import ControlPlaneRollout
from .inventory_check import InventoryCheck
from .node_kubelet_rollout import NodeKubeletRollout
from .node_resources_rollout import NodeResourcesRollout
from .play_view import Json
from .role_rollout import RoleRollout, Steps
from .rollout_pass import RolloutPass, registered, registered_as

# Those that are all planned before any of them changes something.
_ROLES: dict[str, type[RoleRollout[t.Any]]] = {
    "control_plane": ControlPlaneRollout,
    "node_kubelet": NodeKubeletRollout,
    "node_resources": NodeResourcesRollout,
}
# What the tasks of these steps register.
_BEGIN, _DECIDE, _NOTE, _END = "__play_begin", "__play_decide", "__play_note", "__play_end"
SKIPPED = "The first task of the playbook was skipped. Run it from there, without --start-at-task."
# Those that can revert what they set, with the variable that says so.
_STATES = {"control_plane": "control_plane_state", "node_kubelet": "node_kubelet_state"}
_PRESENT = "present"
# Of the inventory. Where they have other names, variables say which.
_GROUPS = (control_plane_nodes.GROUP, "kube_node")


@dataclasses.dataclass(frozen=True)
class SiteStart(StepResult):
    """Of the step begin. named: the settings that variables name. roles: those of the run of which something is named."""

    named: t.Sequence[str] = ()
    roles: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class PassNote(StepResult):
    """Of the steps split and note. kept: what the first of two passes leaves as it is. reports: by role, of what was changed before the last pass."""

    kept: Mapped | None = None
    reports: t.Mapping[str, Mapped] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class SiteEnd(StepResult):
    """Of the step end. reports: by role. ended: the roles that this step has ended. lines: theirs. left: why the host fails; empty when it does not."""

    reports: t.Mapping[str, Mapped] = dataclasses.field(default_factory=dict)
    ended: t.Sequence[str] = ()
    lines: t.Sequence[str] = ()
    left: str = ""
    ansible_stats: Mapped | None = None


class SiteSteps(Steps):
    """The steps of site and its parts. C(begin) and C(decide) are taken once, on the first host, for all."""

    def check(self, step: str) -> None:
        """Raise Refusal for a run that would change something and whose variables were not looked at."""
        if step == "decide" and not registered(self._play, _BEGIN):
            raise Refusal(f"Nothing was changed. {SKIPPED}")

    def begin(self) -> SiteStart | Json:
        """Check the variables of all hosts for all roles, and note which settings are named. Refuses a run that names none."""
        tags = self._play.deselecting_tags()
        if tags:
            return {
                "named": [],
                **self._shown([f"Nothing of this playbook is run with {tags}: its tasks have no such tags."]),
            }
        check = InventoryCheck(self._play, self._nodes(), **self._settings)
        mistakes = check.mistakes()
        if mistakes:
            return self._failed("Nothing was changed. Variables cannot be used", mistakes)
        named = check.named()
        return SiteStart(named=named, roles=check.roles(named), warnings=check.near_misses())

    def _nodes(self) -> list[str]:
        """The hosts of the run that are nodes, in the groups of these names or in those that the inventory names."""
        groups = [name for group in _GROUPS for name in (group, str(self._play.variable(f"{group}_group", group)))]
        nodes = {host for name in groups for host in self._play.group(name)}
        return [host for host in self._play.all_play_hosts if host in nodes]

    def decide(self) -> SiteDecision:
        """Work out from the plans of all hosts what is added and what goes. Refuses control planes that the run would miss."""
        in_pass = self._given.in_pass
        try:
            return self._decision(in_pass)
        except Refusal as exc:
            # A run that is refused in its second pass has changed something in the first one, which its end has to tell.
            return SiteDecision(failed=True, msg=str(exc), in_pass=in_pass)

    def _decision(self, in_pass: str) -> SiteDecision:
        roles = self._roles()
        planned = {name: role.planned() for name, role in roles.items()}
        repaired = site.changed_hosts(planned.get("node_kubelet", {}))
        for role in roles.values():
            self._refuse(role.kubelet_refusal(repaired))
        if site.sets_control_planes(planned, self._given.named):
            kubelets = RolloutPass(self._play, "node_kubelet", KubeletHost)
            reasons = {name: kubelets.host(name).plan.control_plane for name in planned.get("node_kubelet", {})}
            self._refuse(site.outside_group(reasons, self._play.group(control_plane_nodes.GROUP)))
        return site.decide(
            {
                name: [each for report in by_host.values() for each in report.values()]
                for name, by_host in planned.items()
            },
            in_pass=in_pass,
            check_mode=self._play.check_mode,
        )

    def split(self) -> PassNote:
        """What the first of two passes leaves as it is on this host."""
        host = self._play.host
        planned = {name: role.planned([host]).get(host, {}) for name, role in self._roles().items() if role.is_at_work}
        absent = [role for role, name in _STATES.items() if self._play.variable(name, _PRESENT) != _PRESENT]
        return PassNote(kept=site.kept(planned, absent))

    def note(self) -> PassNote:
        """Remember what roles that run once more have changed on this host."""
        note = self._note() if self._is_split else PassNote()
        noted = dict(note.reports)
        for name in self._given.noted:
            noted[name] = self._merged(_ROLES[name], noted.get(name, {}), self._fact(name))
        return dataclasses.replace(note, reports=noted)

    @staticmethod
    def _merged(role: type[RoleRollout[t.Any]], first: Mapped, last: Mapped) -> Json:
        """The report of a host in a role that ran twice."""
        merged = site.both(role.parts_of(dict(first)), role.parts_of(dict(last)))
        return role.published(merged, dict(last or first))

    def _note(self, host: str = "") -> PassNote:
        """What was noted of the passes before."""
        return registered_as(self._play, _NOTE, PassNote, host)

    def _fact(self, role: str, host: str = "") -> Json:
        """The report of a role that has ended by itself."""
        return registered(self._play, f"{role}_report", host)

    @functools.cached_property
    def _decided(self) -> SiteDecision:
        return registered_as(self._play, _DECIDE, SiteDecision)

    @property
    def _is_split(self) -> bool:
        """Whether the run is in one of its two passes."""
        return self._decided.in_pass in (site.ADDITIONS, site.REST)

    def end(self) -> SiteEnd:
        """End on this host what no role has ended, because there was nothing to change or something failed before."""
        decided = self._decided
        # What is left of an earlier import of a playbook does not count.
        noted = self._note().reports if self._is_split or decided.looks_again else {}
        reports: dict[str, Mapped] = {}
        ended, lines, left, stats = [], [], "", {}
        for name, role in self._roles().items():
            was_planned = role.is_at_work
            last = role.end() if was_planned else None
            published = dict((last.report if last else self._fact(name)) or {})
            parts = role.parts_of(published)
            missed = self._missed(name, parts, is_ended=not was_planned)
            left = left or role.why_failed(missed) or (role.why_failed(parts) if was_planned else "")
            report = role.published(missed, published) if missed else published
            if noted.get(name):
                report = self._merged(_ROLES[name], noted[name], report)
            told = dict(last.ansible_stats["data"][f"{name}_report"]) if last and last.ansible_stats else {}
            if report != published:
                told[self._play.host] = report
            reports[name] = report
            ended += [name] * was_planned
            lines += list(last.lines) if last and not self._is_told(name) else []
            if told:
                stats[f"{name}_report"] = told
        return SiteEnd(
            reports=reports,
            ended=ended,
            lines=lines,
            left=left or self._not_removed(),
            ansible_stats={"data": stats, "per_host": False, "aggregate": True} if stats else None,
        )

    def _is_told(self, role: str) -> bool:
        """Whether the first of two passes has told of a role what it changed, and the second one would say that there is nothing to change."""
        decided = self._decided
        if decided.in_pass != site.REST or decided.failed or role in decided.work:
            return False
        notes = (self._note(host).reports.get(role, {}) for host in self._play.all_play_hosts)
        return any(site.has_changed(_ROLES[role].parts_of(dict(report))) for report in notes)

    def _missed(self, role: str, parts: Report, *, is_ended: bool) -> Report:
        """The report of this host in a role that was to change something, and did not begin because the run ended before; else empty."""
        decided = self._decided
        is_refused = decided.failed and decided.in_pass == site.REST
        if self._play.check_mode or not (is_refused or decided.work):
            return {}
        return site.left(parts, self._stopped(), role, self._play.host, is_ended=is_ended)

    def _not_removed(self) -> str:
        """What this host still has because the second of two passes did not come; empty without."""
        decided = self._decided
        # A first pass that is refused has changed nothing, and is run again as it was.
        is_waiting = decided.in_pass == site.ADDITIONS and not decided.failed
        if self._play.check_mode or not is_waiting:
            return ""
        role = next(iter(self._note().kept or {}), "")
        return site.not_removed(role, self._play.host, self._stopped()) if role else ""

    def _stopped(self) -> list[str]:
        """The hosts that failed in a role, and so ended the run for all. Who is still in the play does not tell: then it has no host."""
        return [
            host
            for host in self._play.all_play_hosts
            if any(
                site.has_failed(_ROLES[name].parts_of(self._fact(name, host)), begun=True) for name in self._given.roles
            )
        ]

    def report(self) -> Json:
        """Show the lines on the host that speaks, and fail on a host for which a role did not begin."""
        end = self._end()
        for name in end.ended:  # the others have done so in their own reports
            role = _ROLES[name](self._play, self._modules, name, {})
            role.acknowledge(role.parts_of(dict(end.reports[name])))
        lines, why = list(end.lines), end.left
        if (lines or (why and self._speaks())) and (left := self._left()):
            lines.append(site.again(left))
        is_last = self._play.check_mode and self._decided.in_pass == site.REST
        if is_last and self._play.host == self._play.play_hosts[0]:
            lines.append(site.SPLIT)
        return self._failed(why, lines) if why else self._shown(lines)

    def _end(self, host: str = "") -> SiteEnd:
        """What a host handed on from its end."""
        return registered_as(self._play, _END, SiteEnd, host)

    def _speaks(self) -> bool:
        """Whether this host says for all what no other one does, because every role has ended itself: the first with something left."""
        ends = {host: self._end(host) for host in self._play.all_play_hosts}
        first = next(host for host, end in ends.items() if end.left)
        return self._play.host == first and not any(end.lines for end in ends.values())

    def _left(self) -> list[str]:
        """The hosts with something left to do, where a role did not begin; else none."""
        ends = {host: self._end(host) for host in self._play.all_play_hosts}
        if not any(end.left for end in ends.values()):
            return []
        return [host for host, end in ends.items() if not registered(self._play, _END, host) or _has_left(end)]

    def _roles(self) -> dict[str, RoleRollout[t.Any]]:
        """The steps of the roles that the playbook uses."""
        return {name: _ROLES[name](self._play, self._modules, name, {}) for name in self._given.roles}


def _has_left(end: SiteEnd) -> bool:
    """Whether something is left to do on a host. One that was lost has no report of its own."""
    return bool(end.left) or any(
        site.has_failed(_ROLES[name].parts_of(dict(report))) for name, report in end.reports.items()
    )
