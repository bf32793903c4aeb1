# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the playbooks that use several roles: what a run asks for, and what it does after its plan."""

from __future__ import annotations

import dataclasses

from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.kubernetes import control_plane_nodes
from ...module_utils._plan.pod import report as pod_report
from ...module_utils._plan.transaction import rollback, site
from ...module_utils._plan.upgrade import cluster as upgrade_cluster
from ...module_utils._plan.upgrade import findings as upgrade_checks
from ...module_utils._plan.upgrade import prerequisites as upgrade_steps
from ...module_utils._plan.upgrade import report as upgrade_report
from ...module_utils._plan.upgrade.findings import Finding, UpgradeFindings
from .control_plane_rollout import ControlPlaneRollout
from .inventory_check import InventoryCheck
from .node_kubelet_rollout import NodeKubeletRollout
from .node_resources_rollout import NodeResourcesRollout
from .role_rollout import RoleRollout, Steps
from .rollout_pass import Json

# Those that are all planned before any of them changes something.
_ROLES: dict[str, type[RoleRollout]] = {
    "control_plane": ControlPlaneRollout,
    "node_kubelet": NodeKubeletRollout,
    "node_resources": NodeResourcesRollout,
}
# What the tasks of these steps register.
_BEGIN, _DECIDE, _END = "__play_begin", "__play_decide", "__play_end"
# By the steps split and note.
_NOTE = "__play_note"
_SKIPPED = "The first task of the playbook was skipped. Run it from there, without --start-at-task."
_UPGRADE_INFO, _UPGRADE_CHECK, _UPGRADE_AGAIN = "__play_upgrade_info", "__play_upgrade_check", "__play_upgrade_again"
# Those that can revert what they set, with the variable that says so.
_STATES = {"control_plane": "control_plane_state", "node_kubelet": "node_kubelet_state"}
_PRESENT = "present"
# Of the inventory. Where they have other names, variables say which.
_GROUPS = (control_plane_nodes.GROUP, "kube_node")


class SiteSteps(Steps):
    """The steps of site and its parts. C(begin) and C(decide) are taken once, on the first host, for all."""

    def check(self, step: str) -> None:
        """Raise Refusal for a run that would change something and whose variables were not looked at."""
        if step == "decide" and not self._pass.registered(_BEGIN):
            raise Refusal(f"Nothing was changed. {_SKIPPED}")

    def begin(self) -> Json:
        """Check the variables of all hosts for all roles, and note which settings are named. Refuses a run that names none."""
        tags = self._pass.deselecting_tags()
        if tags:
            return {
                "named": [],
                **self._shown([f"Nothing of this playbook is run with {tags}: its tasks have no such tags."]),
            }
        check = InventoryCheck(self._pass, self._nodes(), **self._settings)
        mistakes = check.mistakes()
        if mistakes:
            return self._failed("Nothing was changed. Variables cannot be used", mistakes)
        named = check.named()
        return {"named": named, "roles": check.roles(named), "warnings": check.near_misses()}

    def _nodes(self) -> list[str]:
        """The hosts of the run that are nodes, in the groups of these names or in those that the inventory names."""
        groups = [name for group in _GROUPS for name in (group, str(self._pass.variable(f"{group}_group", group)))]
        nodes = {host for name in groups for host in self._pass.group(name)}
        return [host for host in self._pass.all_play_hosts if host in nodes]

    def decide(self) -> Json:
        """Work out from the plans of all hosts what is added and what goes. Refuses control planes that the run would miss."""
        in_pass = self._settings["in_pass"]
        try:
            return dataclasses.asdict(self._decision(in_pass))
        except Refusal as exc:
            # A run that is refused in its second pass has changed something in the first one, which its end has to tell.
            return {"failed": True, "msg": str(exc), "work": [], "in_pass": in_pass}

    def _decision(self, in_pass: str) -> site.Decision:
        roles = self._roles()
        planned = {name: role.planned() for name, role in roles.items()}
        repaired = site.changed_hosts(planned.get("node_kubelet", {}))
        for role in roles.values():
            self._refuse(role.kubelet_refusal(repaired))
        if site.sets_control_planes(planned, self._settings["named"]):
            kubelets = {host: parts["kubelet"] for host, parts in planned.get("node_kubelet", {}).items()}
            self._refuse(site.strayed(kubelets, self._pass.group(control_plane_nodes.GROUP)))
        return site.decide(
            {
                name: [each for parts in by_host.values() for each in parts.values()]
                for name, by_host in planned.items()
            },
            in_pass=in_pass,
            check_mode=self._pass.check_mode,
        )

    def split(self) -> Json:
        """What the first of two passes leaves as it is on this host."""
        host = self._pass.host
        planned = {name: role.planned([host]).get(host, {}) for name, role in self._roles().items() if role.is_at_work}
        absent = [role for role, name in _STATES.items() if self._pass.variable(name, _PRESENT) != _PRESENT]
        return {"kept": site.kept(planned, absent), "reports": {}}

    def note(self) -> Json:
        """Remember what roles that run once more have changed on this host."""
        note = self._pass.registered(_NOTE) if self._is_split else {}
        noted = dict(note.get("reports", {}))
        for name in self._settings["noted"]:
            noted[name] = site.both(noted.get(name, {}), self._pass.registered(f"{name}_report"))
        return {**note, "reports": noted}

    @property
    def _decided(self) -> Json:
        return self._pass.registered(_DECIDE)

    @property
    def _is_split(self) -> bool:
        """Whether the run is in one of its two passes."""
        return self._decided.get("in_pass") in (site.ADDITIONS, site.REST)

    def end(self) -> Json:
        """End on this host what no role has ended, because there was nothing to change or something failed before."""
        found: Json = {"reports": {}, "ended": [], "lines": [], "left": ""}
        stats: Json = {}
        # What is left of an earlier import of a playbook does not count.
        is_noted = self._is_split or self._decided.get("looks_again")
        noted: Json = self._pass.registered(_NOTE).get("reports", {}) if is_noted else {}
        for name, role in self._roles().items():
            fact = f"{name}_report"
            was_planned = role.is_at_work
            ended: Json = role.end() if was_planned else {"report": self._pass.registered(fact), "lines": []}
            told: Json = ended.get("ansible_stats", {}).get("data", {}).get(fact, {})
            missed = self._missed(name, ended["report"], is_ended=not was_planned)
            why = self._why(missed) if missed else role.why_failed(ended["report"]) if was_planned else ""
            found["left"] = found["left"] or why
            report = site.both(noted.get(name, {}), missed or ended["report"])
            if report != ended["report"]:
                told[self._pass.host] = report
            found["reports"][name] = report
            found["ended"] += [name] * was_planned
            found["lines"] += [] if self._is_told(name) else ended["lines"]
            if told:
                stats[fact] = told
        found["left"] = found["left"] or self._not_removed()
        return {**found, **({"ansible_stats": {"data": stats, "per_host": False, "aggregate": True}} if stats else {})}

    def _is_told(self, role: str) -> bool:
        """Whether the first of two passes has told of a role what it changed, and the second one would say that there is nothing to change."""
        if self._decided.get("in_pass") != site.REST or self._decided.get("failed") or role in self._decided["work"]:
            return False
        notes = (self._pass.registered(_NOTE, host).get("reports", {}) for host in self._pass.all_play_hosts)
        return any(site.has_changed(reports.get(role, {})) for reports in notes)

    def _missed(self, role: str, report: Json, *, is_ended: bool) -> Json:
        """The report of this host in a role that was to change something, and did not begin because the run ended before; else empty."""
        is_refused = self._decided.get("failed") and self._decided.get("in_pass") == site.REST
        if self._pass.check_mode or not (is_refused or self._decided.get("work")):
            return {}
        return site.left(report, self._stopped(), role, self._pass.host, is_ended=is_ended)

    def _not_removed(self) -> str:
        """What this host still has because the second of two passes did not come; empty without."""
        # A first pass that is refused has changed nothing, and is run again as it was.
        is_waiting = self._decided.get("in_pass") == site.ADDITIONS and not self._decided.get("failed")
        if self._pass.check_mode or not is_waiting:
            return ""
        role = next(iter(self._pass.registered(_NOTE).get("kept", {})), "")
        return site.not_removed(role, self._pass.host, self._stopped()) if role else ""

    def _stopped(self) -> list[str]:
        """The hosts that failed in a role, and so ended the run for all. Who is still in the play does not tell: then it has no host."""
        names = [f"{name}_report" for name in self._settings["roles"]]
        return [
            host
            for host in self._pass.all_play_hosts
            if any(site.has_failed(self._pass.registered(name, host), begun=True) for name in names)
        ]

    @staticmethod
    def _why(missed: Json) -> str:
        parts = [missed, *(each for each in missed.values() if isinstance(each, dict))]
        return next(str(each["msg"]) for each in parts if each.get("begun") is False)

    def report(self) -> Json:
        """Show the lines on the host that speaks, and fail on a host for which a role did not begin."""
        end = self._pass.registered(_END)
        for name in end.get("ended", ()):  # the others have done so in their own reports
            _ROLES[name](self._pass.of_role(name), {}).acknowledge(end["reports"][name])
        lines, why = list(end.get("lines") or ()), end.get("left")
        if (lines or (why and self._speaks())) and (left := self._left()):
            lines.append(site.again(left))
        if (
            self._pass.check_mode
            and self._decided.get("in_pass") == site.REST
            and self._pass.host == self._pass.play_hosts[0]
        ):
            lines.append(site.SPLIT)
        if why:
            return self._failed(why, lines)
        return self._shown(lines)

    def _speaks(self) -> bool:
        """Whether this host says for all what no other one does, because every role has ended itself: the first with something left."""
        hosts = self._pass.all_play_hosts
        first = next(host for host in hosts if self._pass.registered(_END, host).get("left"))
        return self._pass.host == first and not any(self._pass.registered(_END, host).get("lines") for host in hosts)

    def _left(self) -> list[str]:
        """The hosts with something left to do, where a role did not begin; else none."""
        ends = {host: self._pass.registered(_END, host) for host in self._pass.all_play_hosts}
        if not any(end.get("left") for end in ends.values()):
            return []
        return [
            host
            for host, end in ends.items()
            if not end
            or end["left"]
            or any(map(site.has_failed, end["reports"].values()))  # one that was lost has none
        ]

    def _roles(self) -> dict[str, RoleRollout]:
        """The steps of the roles that the playbook uses."""
        return {name: _ROLES[name](self._pass.of_role(name), {}) for name in self._settings["roles"]}


class RollbackSteps(Steps):
    """The steps of rollback, each taken once, on the first host, for all."""

    def begin(self) -> Json:
        """Read what shall be reverted, and whom to look at for it."""
        variables = self._pass
        ignored = variables.variable("rollback_ignored_variables", [])
        self._refuse(self._begun(rollback.misnamed(variables.variable_names(), ignored)))
        request = self._request()
        planes, hosts = variables.group(control_plane_nodes.GROUP), variables.all_play_hosts
        return {
            "static_pods": request.static_pods,
            "kubelet": rollback.KUBELET in request.components,
            "nodes": request.nodes,
            "pod_hosts": [host for host in hosts if request.reads_static_pods(host, planes)],
            "kubelet_hosts": [host for host in hosts if request.reads_kubelet(host)],
        }

    def decide(self) -> Json:
        """Refuse what cannot be reverted at once."""
        undos, unread = {}, {}
        for host in self._pass.play_hosts:
            pods, kubelet = (self._pass.registered(name, host) for name in self._settings["looks"])
            undos[host], unread[host] = rollback.undos_of(pods, kubelet), pods.get("unreadable_files") or ()
        self._refuse(self._begun(rollback.objection(self._request(), undos, self._pass.all_play_hosts, unread)))
        return {}

    def _request(self) -> rollback.RollbackRequest:
        nodes = rollback.listed(self._pass.variable("rollback_nodes")) or self._pass.all_play_hosts
        return rollback.RollbackRequest(rollback.listed(self._pass.variable("rollback_components")), nodes)

    @staticmethod
    def _begun(objection: str) -> str:
        return f"Nothing was changed. {objection}" if objection else ""


class ResizeSteps(Steps):
    """The steps of resize, whose only host is the controller."""

    def begin(self) -> Json:
        """Check the names of the variables, and see which control planes may tell whose cluster it is."""
        objection = pod_report.objection(self._pass.variable_names(), self._settings["known"])
        self._refuse(f"Nothing was changed. {objection}" if objection else "")
        planes = [] if self._pass.has_api_credentials() else self._pass.group(control_plane_nodes.GROUP)
        return {"api": [{"host": host, "become": True} for host in planes]}

    def admit(self) -> Json:
        """Ask a control plane which cluster it belongs to."""
        return self._cluster(self._settings["planes"], "")

    def end(self) -> Json:
        """Tell what came of it."""
        result = self._settings["result"]
        told = {
            **{name: result.get(name) or {} for name in ("pods", "templates")},
            "unverified": result.get("unverified") or [],
        }
        stats = {"data": {"pod_resize_report": told}, "per_host": False, "aggregate": False}
        return {"lines": pod_report.lines(result), "ansible_stats": stats}


class UpgradeCheckSteps(Steps):
    """The steps of upgrade_check. Each but C(report) is taken once, on the first host, for all."""

    def begin(self) -> Json:
        """Check the variables, and see which control planes may tell whose cluster it is."""
        objection = upgrade_report.objection(
            self._pass.variable_names(), self._settings["known"], self._accepted()
        ) or upgrade_checks.differing_refusal(
            [self._pass.host_variables(host).get(upgrade_checks.ACCEPT) for host in self._pass.all_play_hosts]
        )
        self._refuse(f"Nothing was checked. {objection}" if objection else "")
        planes = self._pass.control_planes()
        return {"api": [{"host": host, "become": True} for host in planes]}

    def _accepted(self) -> list[str]:
        """The names of what need not be rehearsed."""
        return rollback.listed(self._pass.variable(upgrade_checks.ACCEPT))

    def admit(self) -> Json:
        """Ask a control plane which cluster it belongs to."""
        return self._cluster(self._settings["planes"], "")

    def end(self) -> Json:
        """Tell what the check found on all hosts; nothing where it did not begin."""
        if "api" not in self._pass.registered(_BEGIN):
            return {"lines": []}
        info = self._pass.registered(_UPGRADE_INFO)
        target = str(self._settings["target"])
        results = {host: self._pass.registered(_UPGRADE_CHECK, host) for host in self._pass.all_play_hosts}
        told = upgrade_report.report(target, results, self._of_cluster(target, info, results), self._accepted())
        stats = {"data": {"upgrade_check_report": told}, "per_host": False, "aggregate": False}
        return {"report": told, "lines": upgrade_report.report_lines(told), "ansible_stats": stats}

    def _of_cluster(self, target: str, info: Json, results: dict[str, Json]) -> Json:
        """What is found and not checked of no single host of the run. info: of the API. results: of all hosts."""
        kubelets = info.get("kubelets") or {}
        missing = upgrade_cluster.not_checked(kubelets, [each["node"] for each in results.values() if "node" in each])
        own = UpgradeFindings(upgrade_cluster.unchecked_kubelets(kubelets, missing, target))
        own.findings += self._mixed(results)
        again = self._pass.registered(_UPGRADE_AGAIN).get("cluster_configuration")
        changed = upgrade_cluster.changed_meanwhile(str(info.get("cluster_configuration")), again)
        own.check(upgrade_checks.KUBEADM_CONFIG, changed)
        for node in missing:
            own.skip(f"{upgrade_checks.NODE}{node}", "the cluster has this node, and the run did not check it")
        return {key: [*(info.get(key) or ()), *more] for key, more in own.report().items()}

    @staticmethod
    def _mixed(results: dict[str, Json]) -> list[Finding]:
        """What it means that the control planes have several versions."""
        versions = {
            result["node"]: str(result["versions"]["kube-apiserver"])
            for result in results.values()
            if result.get("is_control_plane")
        }
        return upgrade_steps.mixed(versions)

    def report(self) -> Json:
        """Show the lines on the first host, and fail on each on which the upgrade breaks something, or that was not checked."""
        if not self._pass.registered(_BEGIN):
            raise Refusal(f"Nothing was checked. {_SKIPPED}")
        end = self._pass.registered(_END)
        lines = list(end.get("lines") or ()) if self._pass.host == self._pass.all_play_hosts[0] else []
        why = upgrade_report.failure(end["report"], self._pass.host) if "report" in end else ""
        return self._failed(why, lines) if why else self._shown(lines)
