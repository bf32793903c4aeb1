# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which nodes a placement guard protects, and whose pods it would keep off them."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.batch import join_first
from ..common.errors import Refusal
from ..kubernetes import pods, quantities
from ..node import plan as node_plan
from ..node import readmission
from ..node import taints as node_taints
from ..node.extended_resources import RESOURCES
from ..node.plan import Node
from ..node.taints import TAINTS
from . import policies as placement_policies
from .desired import Desired
from .policies import BINDING, POLICY, Json, ObjectKey

DAEMON_SET, CRON_JOB = "DaemonSet", "CronJob"
# What makes pods from a template for good, and where the API lists it. What it makes itself, as ReplicaSets, need not be read.
WORKLOADS = {
    DAEMON_SET: "/apis/apps/v1/daemonsets",
    "Deployment": "/apis/apps/v1/deployments",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    CRON_JOB: "/apis/batch/v1/cronjobs",
}
# No pod is kept off by PreferNoSchedule.
_REPELLING_EFFECTS = ("NoSchedule", node_taints.NO_EXECUTE)


@dataclasses.dataclass(frozen=True)
class Cluster:
    """What was read. objects: those of the guard's name and of its trial's. workloads: what makes pods from a template, by kind,
    read only for a guard with require_request. guards: the policies of the other guards that refuse, by name, read only for one that
    refuses itself.
    """

    objects: t.Mapping[ObjectKey, Json]
    nodes: t.Mapping[str, Node]
    workloads: t.Mapping[str, t.Sequence[Json]] = dataclasses.field(default_factory=dict)
    guards: t.Mapping[str, Json] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Protection:
    """Which nodes are protected, all of them sorted.

    added, removed: as against the guard in force. stale: desired, protected before, and no nodes any more. untainted: on which
    the scheduler itself may place any pod. gone: removed because they are no nodes any more. taints: those that keep pods off,
    each with effect, key and value. denied_workloads: those of which the guard would refuse the next pods, by kind and
    name; pods that run stay.
    """

    nodes: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    untainted: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    taints: tuple[Json, ...] = ()
    denied_workloads: tuple[str, ...] = ()


def plan_protection(desired: Desired, cluster: Cluster, *, dry: bool) -> Protection:
    """Which nodes are protected. dry: nothing is written, so that nodes may yet come to be managed.

    Raises Refusal for nodes that do not exist or have another guard, for none at all when there is no guard yet, and for
    workloads whose next pods would be refused.
    """
    former = placement_policies.nodes_of(cluster.objects.get((POLICY, desired.name)))
    nodes = (desired.nodes or _find_reserved_nodes(desired, cluster)) if desired.present else ()
    removed = tuple(sorted(set(former) - set(nodes)))
    by_node = {
        name: _repelling_taints(desired.taint_keys, cluster.nodes[name]) for name in nodes if name in cluster.nodes
    }
    taints = _unique_taints(taint for found in by_node.values() for taint in found)
    missing = [name for name in nodes if name not in cluster.nodes]
    found = Protection(
        nodes=nodes,
        added=tuple(name for name in nodes if name not in former),
        removed=removed,
        stale=tuple(name for name in missing if name in former),
        untainted=tuple(name for name, taints_there in by_node.items() if not taints_there),
        gone=tuple(name for name in removed if name not in cluster.nodes) if desired.present else (),
        taints=taints,
        denied_workloads=tuple(_find_denied(desired, cluster, nodes, taints)),
    )
    if desired.present:
        _refuse_unknown_nodes([name for name in missing if name not in former], cluster)
        # A guard that is there follows its nodes, also when the last one goes.
        if not (nodes or dry or (POLICY, desired.name) in cluster.objects):
            raise Refusal(no_nodes(desired))
        _refuse_conflicts(desired, found, cluster)
        refuse_unprotected(desired, cluster.nodes, found, cluster.guards)
        _refuse_denied_workloads(desired, found)
    return found


def _find_reserved_nodes(desired: Desired, cluster: Cluster) -> tuple[str, ...]:
    """The nodes that have one of the taints, whoever set it, or on which this collection set one or advertises one of the resources."""
    return tuple(
        name
        for name, node in sorted(cluster.nodes.items())
        if _repelling_taints(desired.taint_keys, node) or _is_managed(desired, node)
    )


def refuse_unprotected(
    desired: Desired, nodes: t.Mapping[str, Node], found: Protection, guards: t.Mapping[str, Json]
) -> None:
    """See that no node leaves a guard that refuses with its taint, and that no node has one that the guard does not protect, unless the
    task names the nodes. nodes: all of the cluster. guards: the policies of the other guards that refuse. Raises Refusal."""
    if not (desired.enforce and desired.taint_keys):
        return
    elsewhere = {name for policy in guards.values() for name in placement_policies.nodes_of(policy)}
    by_node = {
        name: _repelling_taints(desired.taint_keys, node)
        for name, node in sorted(nodes.items())
        if name not in found.nodes and name not in elsewhere and (name in found.removed or not desired.nodes)
    }
    unprotected = [
        f"{name} ({', '.join(node_taints.taint_key(taint['key'], taint['effect']) for taint in taints)})"
        for name, taints in by_node.items()
        if taints
    ]
    if unprotected:
        raise Refusal(
            f"nodes: {join_first(unprotected)}: tainted, and not protected any more or not yet. A node that is not kept for the resources any more"
            " loses its taint first; one that moves to another guard leaves this one with enforce: false first."
        )


def _is_managed(desired: Desired, node: Node) -> bool:
    keys = {key.rpartition(":")[0] for key in node_plan.read_record(TAINTS, node)}
    resources = set(node_plan.read_record(RESOURCES, node))
    return not (keys.isdisjoint(desired.taint_keys) and resources.isdisjoint(desired.resources))


def _repelling_taints(keys: t.Collection[str], node: Node) -> list[Json]:
    """Those of a node's taints that keep pods off; all of them without keys."""
    return [
        {"effect": taint["effect"], "key": taint["key"], "value": taint.get("value") or ""}
        for taint in node_taints.of_node(node) or []
        if taint["effect"] in _REPELLING_EFFECTS and (not keys or taint["key"] in keys)
    ]


def _unique_taints(taints: t.Iterable[Json]) -> tuple[Json, ...]:
    found = {(taint["key"], taint["effect"], taint["value"]): taint for taint in taints}
    return tuple(found[key] for key in sorted(found))


def _refuse_unknown_nodes(unknown: t.Sequence[str], cluster: Cluster) -> None:
    if unknown:
        raise Refusal(
            f"nodes: {join_first(unknown)}: there is no node of this name in the cluster; it has {join_first(sorted(cluster.nodes))}."
        )


def no_nodes(desired: Desired) -> str:
    purpose = " or ".join(dict.fromkeys([*desired.resources, *desired.taint_keys]))
    return (
        f"nodes: none is given, and no node is kept for {purpose}, by a taint or by this collection. Name the nodes, or use node_taint,"
        " node_extended_resource or the role node_resources first; state absent removes a guard that is no longer needed."
    )


def enforcing_policies(objects: t.Mapping[ObjectKey, Json], name: str) -> dict[str, Json]:
    """The policy of each guard that refuses, but for the one of that name and for copies. objects: policies and bindings of ours."""
    return {
        other_name: found
        for (kind, other_name), found in sorted(objects.items())
        if kind == POLICY
        and other_name != name
        and not placement_policies.is_trial(other_name)
        and placement_policies.denies(objects.get((BINDING, other_name)))
    }


def _refuse_conflicts(desired: Desired, found: Protection, cluster: Cluster) -> None:
    # Each would refuse what the other lets through. One that only warns blocks nothing.
    conflicts = [
        text
        for name, policy in cluster.guards.items()
        for text in _find_conflicts(desired, found, cluster, name, policy)
    ]
    if desired.enforce and conflicts:
        raise Refusal(
            f"{'; '.join(conflicts)}. Of two guards that refuse, one would refuse what the other is for. Name all resources in one guard, give"
            " the nodes other taints, or remove the other guard first (state absent)."
        )


def _find_conflicts(desired: Desired, found: Protection, cluster: Cluster, name: str, policy: Json) -> list[str]:
    """What another guard protects, too: nodes, and, where a request is required, taints of them."""
    others = placement_policies.nodes_of(policy)
    both = sorted(set(found.nodes) & set(others))
    guarded_taints = found.taints if desired.require_request else ()
    shared = [taint for taint in guarded_taints if taint in _all_taints(cluster, others)]
    shared += [taint for taint in placement_policies.taints_of(policy) if taint in _all_taints(cluster, found.nodes)]
    taints = sorted({f"{taint['key']}:{taint['effect']}" for taint in shared})
    conflicts = [f"{', '.join(both)} protected by {name} already"] if both else []
    return conflicts + (
        [f"{', '.join(taints)} on nodes of {name}, too, and require_request"] if taints and not both else []
    )


def _all_taints(cluster: Cluster, nodes: t.Iterable[str]) -> list[Json]:
    """All taints that keep pods off some nodes."""
    return [taint for name in nodes if name in cluster.nodes for taint in _repelling_taints((), cluster.nodes[name])]


def _refuse_denied_workloads(desired: Desired, found: Protection) -> None:
    if found.denied_workloads and desired.enforce and not desired.allow_refusals:
        raise Refusal(
            f"require_request: {denials(found, 'would be refused')} Add DaemonSets that belong there to exempt_daemon_sets, or"
            " the namespaces of others that belong there to exempt_namespaces; remove the toleration from the rest; or set allow_refusals, for"
            " example when exceptions are for them."
        )


def denials(found: Protection, verb: str) -> str:
    return (
        f"pods of {join_first(found.denied_workloads)} {verb} at their next start, because these tolerate a taint of the protected nodes"
        " and request nothing: those of DaemonSets on these nodes, those of others wherever they would run."
    )


def _find_denied(desired: Desired, cluster: Cluster, nodes: t.Sequence[str], taints: t.Sequence[Json]) -> list[str]:
    """The workloads whose pods the policy would deny although they tolerate the taints."""
    there = [cluster.nodes[name] for name in nodes if name in cluster.nodes]
    found = []
    for kind, workloads in cluster.workloads.items():
        for workload in workloads:
            metadata, spec = workload["metadata"], _template_of(kind, workload)
            name = f"{metadata['namespace']}/{metadata['name']}"
            exempt = metadata["namespace"] in desired.exempt_namespaces or (
                # Each of its pods is for one node, which the policy sees.
                name in desired.exempt_daemon_sets or not _selects_any(spec, there)
                if kind == DAEMON_SET
                else _is_elsewhere(spec, nodes)
            )
            if not exempt and _tolerates_any(spec, taints) and not _requests_any(spec, desired.resources):
                found.append(f"{kind} {name}")
    return sorted(found)


def _template_of(kind: str, workload: Json) -> Json:
    """The specification of the pods that it makes."""
    spec = workload["spec"]["jobTemplate"]["spec"] if kind == CRON_JOB else workload["spec"]
    template: Json = spec["template"]["spec"]
    return template


def _is_elsewhere(spec: Json, nodes: t.Collection[str]) -> bool:
    """Whether pods name nodes that are not protected, which is all that the policy can see before they have one."""
    if spec.get("nodeName"):
        return spec["nodeName"] not in nodes
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or []
    return bool(terms) and all(
        any(
            (field.get("key"), field.get("operator")) == ("metadata.name", "In")
            and set(field.get("values") or []).isdisjoint(nodes)
            for field in term.get("matchFields") or []
        )
        for term in terms
    )


def _selects_any(spec: Json, nodes: t.Iterable[Node]) -> bool:
    """Whether pods select one of the nodes, by its name or its labels."""
    return any(_selects_node(spec, node["metadata"]) for node in nodes)


def _selects_node(spec: Json, metadata: Json) -> bool:
    name, labels = metadata["name"], metadata.get("labels") or {}
    return spec.get("nodeName") in (None, "", name) and not readmission.affinity_reason({"spec": spec}, name, labels)


def _tolerates_any(spec: Json, taints: t.Iterable[Json]) -> bool:
    return any(pods.tolerations_of({"spec": spec}, taint) for taint in taints)


def _requests_any(spec: Json, resources: t.Collection[str]) -> bool:
    """Whether some container requests one of the resources. In a template a limit alone stands for the request, too."""
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        found = container.get("resources") or {}
        amounts = {**(found.get("limits") or {}), **(found.get("requests") or {})}
        if any(quantities.parse(str(amounts.get(name, 0))) > 0 for name in resources):
            return True
    return False
