# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role C(node_resources) decides: which nodes one task serves, with what, and the result of each.

The desired state of a node stands in the settings of its host.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import typing as t

from ..common import typed
from ..common.errors import Refusal
from ..common.typed import ModuleResult
from ..kubernetes import access, clusters
from ..kubernetes.clusters import ClusterIdentity
from ..transaction import rollout
from ..transaction.api_host import ApiHost
from ..transaction.results import PartResult
from ..transaction.rollout import Decision, HostResults, Hosts, StepResult
from . import extended_resources, labels, taints

# One task serves all hosts, so these are the same for all.
SAME_FOR_ALL = (
    "node_resources_purge",
    "node_resources_wait",
    "node_resources_wait_timeout",
    "node_resources_allow_eviction",
    "node_resources_api_host",
)
# The tasks in their order, each by what it changes: a node is kept free before anything is offered there.
TASKS = {"taints": "node_taint", "resources": "node_extended_resource", "labels": "node_label"}
_VARIABLES = {"resources": "extended_resources"}
_OPTIONS = {
    "purge": "node_resources_purge",
    "wait": "node_resources_wait",
    "wait_timeout": "node_resources_wait_timeout",
}


Json = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class NodeSettings:
    """What the others have to know of a host. node: its name in Kubernetes. cluster: of the node, when that was queried. max_unreachable: how many hosts
    may be skipped. The desired state is by kind, None where no variable names it."""

    node: str = ""
    cluster: ClusterIdentity | None = typed.field_of(ClusterIdentity)
    control_plane: bool = False
    max_unreachable: int = 0
    node_resources_purge: bool = True
    node_resources_wait: bool = True
    node_resources_wait_timeout: int = 0
    node_resources_allow_eviction: bool = False
    node_resources_api_host: str = ""
    taints: t.Any = None
    resources: t.Any = None
    labels: t.Any = None


@dataclasses.dataclass(frozen=True)
class NodesDecision(Decision):
    """Of the step decide. served: the hosts that take part. excluded: those that are skipped, because they cannot be reached. api: who may query the API
    for them, best first."""

    served: t.Sequence[str] = ()
    excluded: t.Sequence[str] = ()
    api: tuple[ApiHost, ...] = typed.tuple_of(ApiHost.parse)


@dataclasses.dataclass(frozen=True)
class NodeResult(PartResult):
    """What a module did to one node. left_alone: the keys of what is owned and not named."""

    left_alone: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class NodesResult(ModuleResult):
    """What a module did to all nodes, by name. diff: what it shows of each node that changes, as Ansible takes it."""

    diff: t.Sequence[t.Any] = ()
    nodes: t.Mapping[str, NodeResult] = typed.mapping_of(NodeResult)
    unverified: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Applied(StepResult):
    """Of the step apply, by kind; None where it did not come so far. What has failed stands there. refusal: why else nothing may be changed. failed_hosts:
    those of nodes that failed."""

    api_reachable: bool = True
    refusal: str = ""
    failed_hosts: t.Sequence[str] = ()
    unverified: t.Sequence[str] = ()
    taints: NodesResult | None = typed.field_of(NodesResult)
    resources: NodesResult | None = typed.field_of(NodesResult)
    labels: NodesResult | None = typed.field_of(NodesResult)

    def of(self, kind: str) -> NodesResult | None:
        """The result of one kind."""
        found: NodesResult | None = getattr(self, kind)
        return found

    @property
    def failed_nodes(self) -> list[str]:
        """The nodes of which a module reports a failure."""
        results = [result for kind in TASKS if (result := self.of(kind))]
        return list(dict.fromkeys(node for result in results for node, each in result.nodes.items() if each.failed))


@dataclasses.dataclass(frozen=True)
class NodeOutcome:
    """The result of one host, which is its report: by kind, None where it was not desired. msg: why a host was skipped that is unreachable."""

    node: str | None = None
    taints: NodeResult | None = typed.field_of(NodeResult)
    resources: NodeResult | None = typed.field_of(NodeResult)
    labels: NodeResult | None = typed.field_of(NodeResult)
    unreachable: bool = False
    msg: str = ""

    def of(self, kind: str) -> NodeResult | None:
        """The result of one kind."""
        found: NodeResult | None = getattr(self, kind)
        return found

    @property
    def is_changed(self) -> bool:
        """Whether something of the node was changed."""
        return any(result.changed for kind in TASKS if (result := self.of(kind)))

    def diff(self, applied: Applied) -> list[t.Any]:
        """What differs of the node, as the modules show it. applied: their results for all nodes."""
        results = [result for kind in TASKS if (result := applied.of(kind))]
        diffs = [each for result in results for each in result.diff]
        return [each for each in diffs if each["before_header"] == f"node/{self.node}"]

    def report(self) -> dict[str, t.Any]:
        """The same as data."""
        kinds = {kind: dict(result.raw) if (result := self.of(kind)) else None for kind in TASKS}
        why = {"unreachable": True, "msg": self.msg} if self.unreachable else {}
        return {"node": self.node, **kinds, **why}


class NodeHost(HostResults[NodeSettings, ModuleResult]):
    """What the tasks of the role left on one host."""

    settings_type = NodeSettings

    @functools.cached_property
    def decision(self) -> NodesDecision:
        """Of the step decide; empty before that."""
        return self.of_pass("decide", NodesDecision) or NodesDecision()

    @functools.cached_property
    def applied(self) -> Applied:
        """Of the step apply; empty where it was not taken."""
        return self.of_pass("apply", Applied) or Applied()

    @property
    def causes(self) -> list[str]:
        """As in all rollouts."""
        refusal = self.applied.refusal
        return [*super().causes, *([refusal] if refusal else [])]


def value_error(variable: str, value: t.Any) -> str:
    """Why no node could take the value of a variable of the role, which has the types of its specification; empty when one could."""
    kinds = {variable_of(kind.field): kind for kind in (taints.TAINTS, extended_resources.RESOURCES, labels.LABELS)}
    if variable not in kinds:
        return ""
    try:
        kinds[variable].parse(value, "present")
    except Refusal as exc:
        return f"invalid {variable}: {str(exc).removeprefix(f'{kinds[variable].field}: ')}"
    return ""


def run_refusal(hosts: Hosts[NodeHost]) -> str:
    """Why hosts cannot be served by one task; empty when they can."""
    different = rollout.different_settings(hosts, SAME_FOR_ALL)
    if different:
        return different
    nodes = {name: host.settings.node for name, host in hosts.items()}
    twice = [node for node, number in collections.Counter(nodes.values()).items() if number > 1]
    if twice:
        same = ", ".join(name for name, node in nodes.items() if node == twice[0])
        return f"{same} are the same node, {twice[0]}. Each host of the play must be another node."
    return clusters.cluster_conflict({name: host.settings.cluster for name, host in hosts.items()})


def rights(hosts: Hosts[NodeHost]) -> list[access.Right]:
    """What the account must be allowed to set again what restarted kubelets may have lost."""
    settings = [host.settings for host in hosts.values()]
    fields = [kind for kind in TASKS if any(getattr(each, kind) for each in settings)]
    return access.of_nodes([each.node for each in settings], fields)


def control_planes(hosts: Hosts[NodeHost]) -> list[str]:
    """The hosts that run a control plane."""
    return [name for name, host in hosts.items() if host.settings.control_plane]


def module_arguments(kind: str, hosts: Hosts[NodeHost]) -> dict[str, t.Any]:
    """The options of one task for all hosts. kind: a key of TASKS."""
    settings = [host.settings for host in hosts.values()]
    identities = {each.node: each.cluster for each in settings if each.cluster}
    found: dict[str, t.Any] = {
        "per_node": {each.node: {kind: getattr(each, kind)} for each in settings},
        **{option: getattr(settings[0], variable) for option, variable in _OPTIONS.items()},
    }
    if kind == "taints":
        found["allow_eviction"] = settings[0].node_resources_allow_eviction
    if identities:
        # By what the API is verified to be that of the nodes. One whose name stands in the inventory was not queried.
        found["cluster"] = clusters.expected_identity(identities)
    return found


def unverified(hosts: Hosts[NodeHost], applied: Applied) -> list[str]:
    """What the tasks could not verify, and whose API it is, where no node was queried. applied: the results of the tasks for all hosts."""
    results = [result for kind in TASKS if (result := applied.of(kind))]
    found = [*applied.unverified, *(text for result in results for text in result.unverified)]
    if hosts and not any(host.settings.cluster for host in hosts.values()):
        found.append("whether the API is that of these nodes: all of them have node_resources_node_name")
    return list(dict.fromkeys(found))


def settings_of_pass(settings: Json) -> dict[str, t.Any]:
    """The settings of a host, with its desired state by kind, None where no variable names it; without the keys for the two passes.

    The first of two passes leaves what they remove: by kind under C(preserved), in a field of the same name. That is not set to the value it had,
    for it may be gone meanwhile: it is not named, and nothing is purged.
    """
    desired = {kind: settings["desired"].get(_VARIABLES.get(kind, kind)) for kind in TASKS}
    found = {
        key: value for key, value in settings.items() if key not in ("desired", "first_of_two", "preserved")
    } | desired
    if settings["first_of_two"]:
        found["node_resources_purge"] = False
    for kind, part in settings["preserved"].items():
        preserved, option = part[kind], found[kind]
        if kind == taints.TAINTS.field:
            found[kind] = taints.without_preserved(option, preserved)
        else:
            found[kind] = {key: value for key, value in option.items() if key not in preserved}
    return found


def api_repair_hint(down: t.Iterable[str]) -> str:
    """What repairs kubelets that keep the API down, for the message of a failure; empty where all work. down: the hosts whose kubelets do not."""
    hosts = ", ".join(sorted(down))
    if not hosts:
        return ""
    return (
        f" A kubelet that does not work, as on {hosts}, starts no API server. Where none is left, the playbook feature_gates repairs"
        " kubelets without one, with their settings in the inventory and -e node_kubelet_check_api=false. Run this again"
        " afterwards."
    )


def host_outcome(host: NodeHost, applied: Applied) -> NodeOutcome:
    """The result of one host. applied: the results of the tasks for all hosts."""
    if host.end.report is not None:  # it has come to its end already
        return typed.parse(NodeOutcome, host.end.report)
    if host.start.excluded:
        # No request was sent to the API for it.
        return NodeOutcome(unreachable=True, msg=f"skipped, because it cannot be reached: {host.start.excluded}")
    own = {kind: _node_result(host.settings, kind, applied) for kind in TASKS}
    return dataclasses.replace(NodeOutcome(host.settings.node), **t.cast("t.Any", own))  # by the names of its fields


def _node_result(settings: NodeSettings, kind: str, applied: Applied) -> NodeResult | None:
    """What a task for all nodes did to one; None for one that did not run.

    A task that failed as a whole reports at most what it has planned for single nodes, so its message stands for each. One that did not run because
    others failed before it has left something of a node that names it.
    """
    result = applied.of(kind)
    if result is None:
        failed = applied.failed_nodes
        is_missed = failed and settings.node not in failed and getattr(settings, kind) is not None
        return (
            typed.parse(NodeResult, {**rollout.not_started_result(applied.failed_hosts), "operations": []})
            if is_missed
            else None
        )
    own = result.nodes.get(settings.node)
    if not result.has_failed or any(each.failed for each in result.nodes.values()):
        return own
    known = own.raw if own else {"operations": []}
    return typed.parse(NodeResult, {**known, "changed": False, "failed": True, "msg": result.msg or "no answer"})


def variable_of(kind: str) -> str:
    """The variable with the desired state of a task."""
    return f"node_resources_{_VARIABLES.get(kind, kind)}"


def left_alone(outcomes: t.Mapping[str, NodeOutcome]) -> t.Iterator[tuple[str, str, str]]:
    """What is owned and no variable names, as C(report.left_alone) takes it. outcomes: by host."""
    for host, each in outcomes.items():
        for kind in TASKS:
            variable = f"{variable_of(kind)}: {'[]' if kind == taints.TAINTS.field else '{}'}"
            result = each.of(kind)
            for key in result.left_alone if result else ():
                yield host, f"{kind} {key}", variable
