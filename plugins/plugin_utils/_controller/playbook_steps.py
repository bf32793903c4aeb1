# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the playbooks rollback, resize and upgrade_check: what a run requests, and its result."""

from __future__ import annotations

import dataclasses

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.kubernetes import control_plane_nodes
from ...module_utils._plan.pod import report as pod_report
from ...module_utils._plan.transaction import rollback
from ...module_utils._plan.transaction.api_host import ApiHost
from ...module_utils._plan.transaction.rollback import KubeletUndo, PodUndos, RollbackStart
from ...module_utils._plan.transaction.rollout import ClusterFound, ClusterReaders, LinesEnd, StepResult
from ...module_utils._plan.upgrade import findings as upgrade_checks
from ...module_utils._plan.upgrade import report as upgrade_report
from ...module_utils._plan.upgrade.report import UpgradeInfo, UpgradeResult
from .base_steps import BEGIN, FIRST_TASK_SKIPPED, UNCHANGED_PREFIX, Steps
from .rollout_pass import parse_register, read_register

# What the tasks of these steps register.
_END = "__play_end"
_CLUSTER = "__play_cluster"  # of the step admit, which only identifies the cluster in these playbooks
_INFO, _CHECK, _INFO_AFTER = "__play_upgrade_info", "__play_upgrade_check", "__play_upgrade_info_after"


class RollbackSteps(Steps):
    """The steps of rollback, each taken once, on the first host, for all."""

    def begin(self) -> RollbackStart:
        """Read what is to be reverted, and on which hosts to read its state."""
        play = self._play
        ignored = play.variable("rollback_ignored_variables", [])
        self._refuse(rollback.unknown_variables(play.variable_names(), ignored), UNCHANGED_PREFIX)
        request = self._request()
        planes, hosts = play.group_hosts(control_plane_nodes.GROUP), play.all_play_hosts
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
        pods_register, kubelet_register = self._step.registers
        for host in self._play.play_hosts:
            pods = parse_register(self._play, pods_register, PodUndos, host)
            kubelet = parse_register(self._play, kubelet_register, KubeletUndo, host)
            undos[host], unread[host] = rollback.undos_by_component(pods, kubelet), pods.unreadable_files
        self._refuse(
            rollback.rollback_refusal(self._request(), undos, self._play.all_play_hosts, unread), UNCHANGED_PREFIX
        )
        return StepResult()

    def _request(self) -> rollback.RollbackRequest:
        nodes = rollback.parse_names(self._play.variable("rollback_nodes")) or self._play.all_play_hosts
        return rollback.RollbackRequest(rollback.parse_names(self._play.variable("rollback_components")), nodes)


class ResizeSteps(Steps):
    """The steps of resize, whose only host is the controller."""

    def begin(self) -> ClusterReaders:
        """Check the names of the variables, and see which control planes can identify the cluster."""
        self._refuse(pod_report.variables_error(self._play.variable_names(), self._step.known), UNCHANGED_PREFIX)
        planes = [] if self._play.has_api_credentials() else self._play.group_hosts(control_plane_nodes.GROUP)
        return ClusterReaders(api=tuple(ApiHost(host, become=True) for host in planes))

    def admit(self) -> ClusterFound:
        """Identify the cluster: read from a control plane which one it belongs to."""
        return self._read_cluster(list(self._step.planes), named="")

    def summary(self) -> LinesEnd:
        """Report the result."""
        result = self._step.result
        return LinesEnd.of("pod_resize_report", pod_report.make_report(result), pod_report.report_lines(result))


class UpgradeCheckSteps(Steps):
    """The steps of upgrade_check. Each but C(report) is taken once, on the first host, for all."""

    def begin(self) -> ClusterReaders:
        """Check the variables, and see which control planes can identify the cluster."""
        objection = upgrade_report.variables_error(
            self._play.variable_names(), self._step.known, self._accepted_names()
        ) or upgrade_checks.differing_refusal(
            [self._play.host_variables(host).get(upgrade_checks.ACCEPT) for host in self._play.all_play_hosts]
        )
        self._refuse(objection, "Nothing was checked. ")
        # Those of the run first: with --limit the inventory may have control planes of other clusters.
        planes = sorted(self._play.control_planes(), key=lambda host: host not in self._play.all_play_hosts)
        return ClusterReaders(api=tuple(ApiHost(host, become=True) for host in planes))

    def _accepted_names(self) -> list[str]:
        """The names of what need not be rehearsed."""
        return rollback.parse_names(self._play.variable(upgrade_checks.ACCEPT))

    def admit(self) -> ClusterFound:
        """Identify the cluster: read from a control plane which one it belongs to."""
        return self._read_cluster(list(self._step.planes), named="")

    def end(self) -> LinesEnd:
        """Report what the check found on all hosts; nothing where it did not begin."""
        if "api" not in read_register(self._play, BEGIN):
            return LinesEnd()
        target = self._step.target
        hosts = self._play.all_play_hosts
        info, second_info = (parse_register(self._play, name, UpgradeInfo) for name in (_INFO, _INFO_AFTER))
        results = upgrade_report.without_outsiders(
            {host: parse_register(self._play, _CHECK, UpgradeResult, host) for host in hosts},
            typed.parse(ClusterFound, [{}, *read_register(self._play, _CLUSTER).get("results", ())][-1]),
            info.with_nodes_of(second_info),
        )
        check_report = upgrade_report.make_report(
            target,
            {host: dict(result.raw) for host, result in results.items()},
            upgrade_report.cluster_part(target, results, info.with_nodes_of(second_info), second_info),
            self._accepted_names(),
        )
        end = LinesEnd.of("upgrade_check_report", check_report, upgrade_report.report_lines(check_report))
        return dataclasses.replace(end, report=check_report)

    def summary(self) -> LinesEnd:
        """Print the lines, when all hosts have reported whether they failed."""
        return LinesEnd(lines=parse_register(self._play, _END, LinesEnd).lines)

    def report(self) -> StepResult:
        """Fail on each host on which the upgrade breaks something, or that was not checked."""
        if not read_register(self._play, BEGIN):
            raise Refusal(f"Nothing was checked. {FIRST_TASK_SKIPPED}")
        end = parse_register(self._play, _END, LinesEnd)
        why = upgrade_report.failure_reason(dict(end.report), self._play.host) if end.report else ""
        return StepResult(failed=bool(why), msg=why)
