# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(node_resources): one host sends the requests for all, and each reports what became of its node."""

from __future__ import annotations

import dataclasses
import itertools
import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.common.typed import ModuleResult
from ...module_utils._plan.kubernetes import access
from ...module_utils._plan.node import labels
from ...module_utils._plan.node import rollout as resources
from ...module_utils._plan.node.rollout import Applied, NodeHost, NodesDecision, NodeSettings, NodesResult
from ...module_utils._plan.transaction import rollout
from ...module_utils._plan.transaction.report import Part, left_alone_lines, unverified_lines
from ...module_utils._plan.transaction.results import KubeletInfo, PartResult, Report
from ...module_utils._plan.transaction.rollout import PassEnd, PassStart
from .base_steps import UNCHANGED_PREFIX
from .play_view import Json
from .role_rollout import RoleRollout
from .rollout_pass import parse_register

R = t.TypeVar("R", bound=ModuleResult)

# What the step begin of the role node_kubelet registers.
_KUBELET_BEGIN = "__node_kubelet_begin"
_NODE = "Node"  # the component, in a report


class NodeResourcesRollout(RoleRollout[NodeHost]):
    """The steps of one host."""

    host_type = NodeHost

    def begin(self) -> PassStart:
        """Read the name of the node as well: from the inventory, from the role node_kubelet before it, or from the node."""
        self._refuse_variables()
        given = resources.settings_of_pass(self._settings)
        node, why_excluded = KubeletInfo(), ""
        if not given["node"]:
            # What that role read of the node, so that the node is not read again.
            node = self._kubelet_plan(self._play.host, KubeletInfo)
            if node.cluster is None:
                node, why_excluded = self._read_node()
                if node.failed or (why_excluded and not int(given["max_unreachable"])):
                    raise Refusal(
                        f"Nothing was changed: the name of {self._play.host} in Kubernetes is not known: {node.msg}"
                    )
        given = {**given, "node": given["node"] or node.node, "control_plane": bool(node.control_plane)}
        settings: NodeSettings = self._typed_settings({**given, "cluster": typed.as_mapping(node.cluster)})
        if not why_excluded:
            self._refuse_labels_of_kubelet(settings, node)
        return PassStart(at_work=True, settings=settings, excluded=why_excluded)

    def _refuse_labels_of_kubelet(self, settings: NodeSettings, node: KubeletInfo) -> None:
        """What the kubelet's command line sets would be set again at its next start. node: as it was read; empty when it was not."""
        if not (node.node and labels.may_be_set_again(settings.labels or {})):
            return
        read = node if node.arguments is not None else self._read_node()[0]
        arguments = [each.argument for each in read.arguments or ()]
        self._refuse(labels.reset_refusal(settings.node, settings.labels, arguments), UNCHANGED_PREFIX)

    def decide(self) -> NodesDecision:
        """See on one host whether one task can serve all, and who uses the API. The others do not."""
        coordinator = self._pass.coordinator
        if coordinator != self._play.host:
            return NodesDecision(coordinator=coordinator)
        hosts = self._pass.hosts()
        served = rollout.participants(hosts)
        self._refuse(self._excluded_refusal(hosts) or resources.run_refusal(served), UNCHANGED_PREFIX)
        candidates = list(dict.fromkeys([*resources.control_planes(served), *self._play.control_planes()]))
        named = self._pass.own.settings.node_resources_api_host
        api = self._play.api_hosts(candidates, named, reachable=self._play.play_hosts)
        return NodesDecision(
            coordinator=coordinator, served=list(served), excluded=list(rollout.excluded_hosts(hosts)), api=tuple(api)
        )

    def apply(self) -> Applied:
        """Taint all nodes, then advertise their extended resources, then label them; what fails ends it. The end reports on each host what became of its
        node, so this step does not fail."""
        decision = self._pass.own.decision
        hosts = self._pass.hosts(decision.served)
        is_last = self._play.delegate_host == decision.api[-1].host
        results: dict[str, t.Any] = {}
        refusal, unverified = "", list[str]()
        for kind, module in resources.TASKS.items():
            result = self._modules.run(
                module, resources.module_arguments(kind, hosts), NodesResult, is_plan=self._step.plan_only
            )
            if result.unreachable and not is_last:
                return Applied(api_reachable=False)
            if result.has_failed:
                failed = result.with_values(msg=f"{result.msg or 'no answer'}{self._api_repair_hint(hosts)}")
                results[kind] = self._with_nodes(failed)
                break
            results[kind] = self._with_nodes(result)
        else:
            refusal, unverified = self._check_restart_rights(hosts)
        warnings = [f"not verified: {what}" for what in unverified]
        applied = Applied(refusal=refusal, warnings=warnings, unverified=unverified, **results)
        failed_nodes = set(applied.failed_nodes)
        failed_hosts = [name for name, host in hosts.items() if host.settings.node in failed_nodes]
        return dataclasses.replace(applied, failed_hosts=failed_hosts)

    def _with_nodes(self, result: NodesResult) -> NodesResult:
        """A result with what a diff shows by node. A plan changes nothing: what it found stands in its operations."""
        nodes = result.raw.get("nodes") or {}
        if self._step.plan_only:
            nodes = {node: {**each, "changed": False} for node, each in nodes.items()}
        return result.with_values(nodes=nodes)

    def _check_restart_rights(self, hosts: rollout.Hosts[NodeHost]) -> tuple[str, list[str]]:
        """Why a run must not restart kubelets whose nodes it could not set right again afterwards, and what of that is not known. What is to change
        now was sent as a dry run."""
        kind = resources.NodeResult
        plans = [self._kubelet_plan(name, kind) for name in hosts] if self._step.plan_only else []
        rights = resources.rights(hosts) if any(plan.operations for plan in plans) else []
        if not rights:
            return "", []
        purpose = "node_resources needs after the kubelets are restarted"
        result, refusal = self._review_rights(
            rights, resources.module_arguments("labels", hosts).get("cluster"), purpose
        )
        return f"Nothing was changed: {refusal}" if refusal else "", access.unverified_rights(result, purpose)

    def _kubelet_plan(self, host: str, kind: type[R]) -> R:
        """What the role node_kubelet planned in this run; an empty plan without."""
        return typed.parse(kind, parse_register(self._play, _KUBELET_BEGIN, PassStart, host).plan or {})

    def _api_repair_hint(self, hosts: t.Iterable[str]) -> str:
        """What to do about kubelets that this run found down and has not repaired yet."""
        kind = resources.NodeResult
        down = (host for host in hosts if self._step.plan_only and self._kubelet_plan(host, kind).problem)
        return resources.api_repair_hint(down)

    def planned_reports(self, hosts: t.Iterable[str] | None = None) -> dict[str, Report]:
        """What was planned, by host and kind."""
        applied = self._coordinator.applied
        outcomes = {name: resources.host_outcome(host, applied) for name, host in self._pass.hosts(hosts).items()}
        return {
            name: {kind: result for kind in resources.TASKS if (result := outcome.of(kind))}
            for name, outcome in outcomes.items()
        }

    def _end(self) -> PassEnd:
        if not self._pass.own.is_at_work:
            return PassEnd(report={})
        applied = self._coordinator.applied
        own, decision = resources.host_outcome(self._pass.own, applied), self._pass.own.decision
        # Of the coordinator alone these are named.
        outcomes = {
            name: resources.host_outcome(host, applied) for name, host in self._pass.hosts(decision.served).items()
        }
        # Without purge an empty variable reverts nothing. The first of two passes purges nothing by itself and reports all the same.
        purges = boolean(self._play.variable("node_resources_purge", True))
        unverified = resources.unverified(self._pass.hosts(decision.served), applied)
        lines = [*left_alone_lines(resources.left_alone(outcomes) if purges else ()), *unverified_lines(unverified)]
        report, diff = own.report(), own.diff(applied) or None
        return PassEnd(report=report, lines=lines if outcomes else [], changed=own.is_changed, diff=diff)

    def failed_hosts(self) -> t.Iterator[str]:
        """As in all roles, and whose nodes have failed."""
        return itertools.chain(self._coordinator.applied.failed_hosts, super().failed_hosts())

    def why_failed(self, parts: Report) -> str:
        """As in all roles, and why the request of this host for all was refused."""
        coordinator = self._coordinator
        return super().why_failed(parts) or (coordinator.applied.refusal if coordinator is self._pass.own else "")

    def _build_parts(self, host: str, parts: Report) -> list[Part]:
        """One part of its Node for each end that taints, resources and labels came to."""
        kinds = [super(NodeResourcesRollout, self)._build_part(host, _NODE, part) for part in parts.values()]
        ends: dict[tuple[bool, bool, str], list[Part]] = {}
        for each in kinds:
            ends.setdefault((each.result.changed, each.result.failed, each.result.msg), []).append(each)
        return [
            Part(host, _NODE, same[0].result, tuple(text for each in same for text in each.operations))
            for same in ends.values()
        ]

    def run_fields(self, reports: t.Mapping[str, Json]) -> Json:
        """As in all roles, and the hosts that are skipped, of which nothing is planned."""
        ends = {host: typed.parse(ModuleResult, each) for host, each in reports.items()}
        skipped = {host: PartResult(unreachable=True, msg=each.msg) for host, each in ends.items() if each.unreachable}
        return {"parts": [*(Part(host, _NODE, each) for host, each in skipped.items()), *self._all_parts(reports)]}

    def variable_of(self, field: str) -> str:
        """As in all roles."""
        return resources.variable_of(field)
