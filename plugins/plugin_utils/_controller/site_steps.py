# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of C(site) and its parts before the end: which roles a run uses, what it adds first and removes then."""

from __future__ import annotations

import dataclasses

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.kubelet.kubelet_results import KubeletHost
from ...module_utils._plan.kubernetes import control_plane_nodes
from ...module_utils._plan.transaction import site
from ...module_utils._plan.transaction.site import BeginSettings, NodeGroups, PassRecord, SiteDecision, SiteStart
from .base_steps import BEGIN, FIRST_TASK_SKIPPED
from .inventory_check import InventoryCheck
from .play_view import Json
from .rollout_pass import RolloutPass, read_register
from .site_end import SiteEndSteps

# Those that can revert what they set, with the variable that requests it.
_STATES = {"control_plane": "control_plane_state", "node_kubelet": "node_kubelet_state"}
_PRESENT = "present"


class SiteSteps(SiteEndSteps):
    """The steps of site and its parts. C(begin) and C(decide) are taken once, on the first host, for all."""

    def check(self, step: str) -> None:
        """Raise Refusal for a run that would change something and whose variables were not checked, too."""
        super().check(step)
        if step == "decide" and not read_register(self._play, BEGIN):
            raise Refusal(f"Nothing was changed. {FIRST_TASK_SKIPPED}")

    def begin(self) -> SiteStart | Json:
        """Check the groups of the inventory, and the variables of all nodes for all roles; report which settings are named. Refuses a run that names none,
        unless its playbook applies no desired state."""
        tags = self._play.deselecting_tags()
        if tags:
            return {
                "named": [],
                "lines": [f"Nothing of this playbook is run with {tags}: its tasks have no such tags."],
            }
        settings, groups = typed.parse(BeginSettings, self._settings), self._node_groups()
        self._refuse(groups.refusal(settings.groups))
        start = SiteStart(renamed={usual: name for usual, name in groups.named.items() if name != usual})
        in_groups = groups.nodes()
        nodes = [host for host in self._play.all_play_hosts if host in in_groups]
        if not settings.roles or not nodes:  # a limit may leave none
            return start
        check = InventoryCheck(self._play, nodes, settings.roles, settings.required)
        mistakes = check.find_mistakes()
        if mistakes:
            # One line for each, with the default callback too.
            why = {"failed": True, "msg": "Nothing was changed. Variables cannot be used"}
            return {**why, "report": mistakes, "_ansible_verbose_always": True}
        named = check.named_settings()
        is_guarded = any(name.startswith(f"{site.GUARD}_") for name in named)
        applied = [role for role in settings.roles if role != site.GUARD or is_guarded]
        return dataclasses.replace(
            start, named=named, roles=check.roles(named), applied=applied, warnings=check.find_near_misses()
        )

    def _node_groups(self) -> NodeGroups:
        """The groups of the inventory. Without a host in any of them this is a step of the controller, whose variables name nothing."""
        hosts = self._play.variable("groups")
        variables = self._play.variable_names() if any(hosts.values()) else ()
        names = {group: name for group, name in site.GROUP_VARIABLES.items() if name in variables}
        return NodeGroups(hosts, {group: str(self._play.variable(name)) for group, name in names.items()})

    def decide(self) -> SiteDecision:
        """Work out from the plans of all hosts what is added and what goes. Refuses control planes that the run would miss."""
        in_pass = self._step.in_pass
        try:
            return self._decide_pass(in_pass)
        except Refusal as exc:
            # A run that is refused in its second pass has changed something in the first one, which its end has to report.
            return SiteDecision(failed=True, msg=str(exc), in_pass=in_pass)

    def _decide_pass(self, in_pass: str) -> SiteDecision:
        roles = self._node_roles()
        planned = {name: role.planned_reports() for name, role in roles.items()}
        nodes = roles.get(site.RESOURCES)
        if nodes and (nodes.causes() or any(map(site.has_failed, planned[site.RESOURCES].values()))):
            # What the API refuses for single nodes is reported by these at the end.
            return SiteDecision(in_pass=in_pass, is_refused=True)
        repaired = site.changed_hosts(planned.get("node_kubelet", {}))
        for role in roles.values():
            self._refuse(role.kubelet_refusal(repaired))
        if site.sets_control_planes(planned, self._step.named):
            kubelets = RolloutPass(self._play, "node_kubelet", KubeletHost)
            reasons = {name: kubelets.host(name).plan.control_plane for name in planned.get("node_kubelet", {})}
            self._refuse(site.outside_group(reasons, self._play.group_hosts(control_plane_nodes.GROUP)))
        return site.decide(
            {
                name: [each for report in by_host.values() for each in report.values()]
                for name, by_host in planned.items()
            },
            has_guard=site.GUARD in self._step.roles,
            in_pass=in_pass,
            check_mode=self._play.check_mode,
        )

    def split(self) -> PassRecord:
        """What the first of two passes leaves as it is on this host."""
        host = self._play.host
        planned = {
            name: role.planned_reports([host]).get(host, {})
            for name, role in self._node_roles().items()
            if role.own.is_at_work
        }
        absent = [role for role, name in _STATES.items() if self._play.variable(name, _PRESENT) != _PRESENT]
        return PassRecord(preserved=site.preserved_settings(planned, absent))

    def record(self) -> PassRecord:
        """Record what roles that run once more have changed on this host."""
        before = self._pass_record() if self._is_split else PassRecord()
        reports, lines = dict(before.reports), list(before.lines)
        for name in self._step.recorded_roles:
            ended = self._role_steps(name).own.end
            reports[name] = self._merge_reports(name, reports.get(name, {}), ended.report or {})
            lines += ended.lines
        return dataclasses.replace(before, reports=reports, lines=lines)
