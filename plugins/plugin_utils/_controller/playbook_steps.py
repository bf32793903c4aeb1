# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the playbooks rollback, resize and upgrade_check: what a run asks for, and what it came to."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.common.typed import Mapped, ModuleResult
from ...module_utils._plan.kubernetes import control_plane_nodes
from ...module_utils._plan.pod import report as pod_report
from ...module_utils._plan.transaction import rollback
from ...module_utils._plan.transaction.api_host import ApiHost
from ...module_utils._plan.transaction.rollback import KubeletUndo, PodUndos, RollbackStart
from ...module_utils._plan.transaction.rollout import ClusterFound, StepResult
from ...module_utils._plan.upgrade import cluster as upgrade_cluster
from ...module_utils._plan.upgrade import findings as upgrade_checks
from ...module_utils._plan.upgrade import prerequisites as upgrade_steps
from ...module_utils._plan.upgrade import report as upgrade_report
from ...module_utils._plan.upgrade.findings import Finding, UpgradeFindings
from .base_steps import BEGIN, SKIPPED, Steps
from .play_view import Json
from .rollout_pass import registered, registered_as

# What the tasks of these steps register.
_END = "__play_end"
_UPGRADE_INFO, _UPGRADE_CHECK, _UPGRADE_AGAIN = "__play_upgrade_info", "__play_upgrade_check", "__play_upgrade_again"


@dataclasses.dataclass(frozen=True)
class ClusterReaders(StepResult):
    """Who may tell whose cluster it is: the control planes."""

    api: tuple[ApiHost, ...] = typed.several(ApiHost.parse)


@dataclasses.dataclass(frozen=True)
class LinesEnd(StepResult):
    """Of the steps end and summary of a playbook. lines: for people. report: for programs."""

    lines: t.Sequence[str] = ()
    report: Mapped | None = None
    ansible_stats: Mapped | None = None


@dataclasses.dataclass(frozen=True)
class UpgradeInfo(ModuleResult):
    """The result of C(upgrade_info). kubelets: versions by node."""

    cluster_configuration: str = ""
    kubelets: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class UpgradeResult(ModuleResult):
    """The result of C(upgrade_check) of a node. versions: by component."""

    node: str = ""
    is_control_plane: bool = False
    versions: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


class RollbackSteps(Steps):
    """The steps of rollback, each taken once, on the first host, for all."""

    def begin(self) -> RollbackStart:
        """Read what shall be reverted, and whom to look at for it."""
        play = self._play
        ignored = play.variable("rollback_ignored_variables", [])
        self._refuse(self._begun(rollback.misnamed(play.variable_names(), ignored)))
        request = self._request()
        planes, hosts = play.group(control_plane_nodes.GROUP), play.all_play_hosts
        return RollbackStart(
            static_pods=request.static_pods,
            kubelet=rollback.KUBELET in request.components,
            nodes=request.nodes,
            pod_hosts=[host for host in hosts if request.reads_static_pods(host, planes)],
            kubelet_hosts=[host for host in hosts if request.reads_kubelet(host)],
        )

    def decide(self) -> StepResult:
        """Refuse what cannot be reverted at once."""
        undos, unread = {}, {}
        pods_register, kubelet_register = self._given.looks
        for host in self._play.play_hosts:
            pods = registered_as(self._play, pods_register, PodUndos, host)
            kubelet = registered_as(self._play, kubelet_register, KubeletUndo, host)
            undos[host], unread[host] = rollback.undos_of(pods, kubelet), pods.unreadable_files
        self._refuse(self._begun(rollback.objection(self._request(), undos, self._play.all_play_hosts, unread)))
        return StepResult()

    def _request(self) -> rollback.RollbackRequest:
        nodes = rollback.listed(self._play.variable("rollback_nodes")) or self._play.all_play_hosts
        return rollback.RollbackRequest(rollback.listed(self._play.variable("rollback_components")), nodes)

    @staticmethod
    def _begun(objection: str) -> str:
        return f"Nothing was changed. {objection}" if objection else ""


class ResizeSteps(Steps):
    """The steps of resize, whose only host is the controller."""

    def begin(self) -> ClusterReaders:
        """Check the names of the variables, and see which control planes may tell whose cluster it is."""
        objection = pod_report.objection(self._play.variable_names(), self._given.known)
        self._refuse(f"Nothing was changed. {objection}" if objection else "")
        planes = [] if self._play.has_api_credentials() else self._play.group(control_plane_nodes.GROUP)
        return ClusterReaders(api=tuple(ApiHost(host, become=True) for host in planes))

    def admit(self) -> ClusterFound:
        """Read from a control plane which cluster it belongs to."""
        return self._cluster(list(self._given.planes), "")

    def summary(self) -> LinesEnd:
        """Tell what came of it."""
        result = self._given.result
        told = {
            **{name: result.get(name) or {} for name in ("pods", "templates")},
            "unverified": result.get("unverified") or [],
        }
        stats = {"data": {"pod_resize_report": told}, "per_host": False, "aggregate": False}
        return LinesEnd(lines=pod_report.lines(result), ansible_stats=stats)


class UpgradeCheckSteps(Steps):
    """The steps of upgrade_check. Each but C(report) is taken once, on the first host, for all."""

    def begin(self) -> ClusterReaders:
        """Check the variables, and see which control planes may tell whose cluster it is."""
        objection = upgrade_report.objection(
            self._play.variable_names(), self._given.known, self._accepted()
        ) or upgrade_checks.differing_refusal(
            [self._play.host_variables(host).get(upgrade_checks.ACCEPT) for host in self._play.all_play_hosts]
        )
        self._refuse(f"Nothing was checked. {objection}" if objection else "")
        return ClusterReaders(api=tuple(ApiHost(host, become=True) for host in self._play.control_planes()))

    def _accepted(self) -> list[str]:
        """The names of what need not be rehearsed."""
        return rollback.listed(self._play.variable(upgrade_checks.ACCEPT))

    def admit(self) -> ClusterFound:
        """Read from a control plane which cluster it belongs to."""
        return self._cluster(list(self._given.planes), "")

    def end(self) -> LinesEnd:
        """Tell what the check found on all hosts; nothing where it did not begin."""
        if "api" not in registered(self._play, BEGIN):
            return LinesEnd()
        target = self._given.target
        hosts = self._play.all_play_hosts
        results = {host: registered_as(self._play, _UPGRADE_CHECK, UpgradeResult, host) for host in hosts}
        told = upgrade_report.report(
            target,
            {host: dict(result.raw) for host, result in results.items()},
            self._of_cluster(target, results),
            self._accepted(),
        )
        stats = {"data": {"upgrade_check_report": told}, "per_host": False, "aggregate": False}
        return LinesEnd(report=told, lines=upgrade_report.report_lines(told), ansible_stats=stats)

    def summary(self) -> LinesEnd:
        """Show the lines, when all hosts have told whether they failed."""
        return LinesEnd(lines=registered_as(self._play, _END, LinesEnd).lines)

    def _of_cluster(self, target: str, results: t.Mapping[str, UpgradeResult]) -> Json:
        """What is found and not checked of no single host of the run. results: of all hosts."""
        info = registered_as(self._play, _UPGRADE_INFO, UpgradeInfo)
        again = registered_as(self._play, _UPGRADE_AGAIN, UpgradeInfo)
        kubelets = {**info.kubelets, **again.kubelets}  # a node may join while others are checked
        missing = upgrade_cluster.not_checked(kubelets, [each.node for each in results.values() if each.node])
        own = UpgradeFindings(upgrade_cluster.unchecked_kubelets(kubelets, missing, target))
        own.findings += self._mixed(results)
        changed = upgrade_cluster.changed_meanwhile(info.cluster_configuration, again.cluster_configuration or None)
        own.check(upgrade_checks.KUBEADM_CONFIG, changed)
        for node in missing:
            own.skip(f"{upgrade_checks.NODE}{node}", "the cluster has this node, and the run did not check it")
        return {key: [*(info.raw.get(key) or ()), *more] for key, more in own.report().items()}

    @staticmethod
    def _mixed(results: t.Mapping[str, UpgradeResult]) -> list[Finding]:
        """What it means that the control planes have several versions."""
        planes = [result for result in results.values() if result.is_control_plane]
        return upgrade_steps.mixed({each.node: str(each.versions[control_plane_nodes.API_SERVER]) for each in planes})

    def report(self) -> StepResult:
        """Fail on each host on which the upgrade breaks something, or that was not checked."""
        if not registered(self._play, BEGIN):
            raise Refusal(f"Nothing was checked. {SKIPPED}")
        end = registered_as(self._play, _END, LinesEnd)
        why = upgrade_report.failure(dict(end.report), self._play.host) if end.report else ""
        return StepResult(failed=bool(why), msg=why)
