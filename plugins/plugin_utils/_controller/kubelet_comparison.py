# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(node_kubelet) that compare kubelets which have nothing to change with what is desired, and observe once more what no run has
verified."""

from __future__ import annotations

import dataclasses
import secrets
import typing as t

from ...module_utils._plan.kubelet import observation, unverified_changes
from ...module_utils._plan.kubelet import rollout as kubelets
from ...module_utils._plan.kubelet.kubelet_results import Comparison, KubeletDecision, KubeletHost
from ...module_utils._plan.kubelet.observation import CanaryResult
from ...module_utils._plan.kubernetes import access
from ...module_utils._plan.static_pod import rollout as control_planes
from ...module_utils._plan.static_pod.static_pod_results import StaticPodHost
from ...module_utils._plan.transaction import report
from ...module_utils._plan.transaction.results import NodesInfo
from ...module_utils._plan.transaction.rollout import Hosts
from .play_view import Json
from .role_rollout import RoleRollout
from .rollout_pass import RolloutPass


class KubeletComparison(RoleRollout[KubeletHost]):
    """These steps of one host."""

    host_type = KubeletHost
    _planner = "kubelet"

    def compare(self) -> Comparison:
        """Compare kubelets again that were compared when a playbook planned, and that had nothing to change while others had."""
        decision = self._coordinator.decision
        return self._compare_kubelets(self._pass.hosts(decision.planned), decision)

    def _compare_kubelets(self, hosts: Hosts[KubeletHost], decision: KubeletDecision) -> Comparison:
        """See on one host, where no kubelet is to change, that all of them use what is desired. The end reports those that do not, because other
        roles may have something to repair. api_reachable is false when the next host is to be tried."""
        cluster, unchanged_hosts = kubelets.cluster(hosts), kubelets.idle_settings(hosts)
        expected = kubelets.by_node(hosts, unchanged_hosts)
        arguments: Json = {"requested": False, "kubelets": expected, "cluster": cluster}
        info = self._modules.run("node_resource_info", arguments, NodesInfo)
        if info.nodes is None and not self._is_last_api(decision):
            return Comparison(api_reachable=False)
        why = kubelets.read_error(info) if info.nodes is None else ""
        if info.nodes is not None and info.failed:
            # A right that is missing is the same for all of them.
            rights = access.of_kubelets(list(expected), reads_pods=False)
            why = self._review_rights(rights, cluster, "node_kubelet needs to compare them")[1]
        if why:
            return Comparison(mismatches=kubelets.not_compared(unchanged_hosts, why))
        again = self._observe_again(hosts, info, cluster)
        mismatches = {**again.mismatches, **kubelets.idle_mismatches(hosts, info)}
        return dataclasses.replace(again, mismatches=mismatches)

    def _observe_again(self, hosts: Hosts[KubeletHost], info: NodesInfo, cluster: t.Any) -> Comparison:
        """Observe the kubelets whose last change no run has verified to the end. info: of the API."""
        mismatches, unverified = dict[str, str](), list[str]()
        for name in unverified_changes.hosts_to_observe(hosts) if info.nodes is not None else ():
            host = hosts[name]
            canary = self._run_canary(host, cluster, "again") if unverified_changes.has_canary(host) else None
            problem, unknown = unverified_changes.find_losses(host, canary, info)
            mismatches.update({name: problem} if problem else {})
            unverified += report.unverified_lines(unknown, f"{name} kubelet")
        return Comparison(mismatches=mismatches, report_lines=unverified)

    def _run_canary(self, host: KubeletHost, cluster: t.Any, moment: str) -> CanaryResult:
        """Start a pod on the node of a host, from the host that sends the requests. moment: before or after a change, or again."""
        name = f"kubelet-{moment}-{secrets.token_hex(4)}"
        is_first = moment == "before"
        request = observation.canary_request(host.plan, host.settings, name=name, is_first=is_first, cluster=cluster)
        return self._modules.run("node_canary", request, CanaryResult)

    def _is_last_api(self, decision: KubeletDecision) -> bool:
        """Whether no other host sends the requests where this one gets no response."""
        return self._play.delegate_host == decision.api[-1].host

    @property
    def _repairs_control_planes(self) -> bool:
        """Whether this is the plan of a run that repairs a control plane, which must not wait for its API. The kubelets are compared after that."""
        planes = RolloutPass(self._play, "control_plane", StaticPodHost)
        return self._step.plan_only and bool(control_planes.impaired_hosts(planes.hosts()))
