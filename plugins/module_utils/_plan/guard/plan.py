# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a placement guard: the desired state and a cluster in, objects to write and to remove out."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.errors import Refusal
from . import policies as placement_policies
from .desired import Desired
from .policies import BINDING, GUARD_KINDS, POLICY, Guard, Json, ObjectKey
from .protection import Cluster, Protection, denials, no_nodes

CREATED, CHANGED, REMOVED = "created", "changed", "removed"

_PRESERVED = ("annotations", "finalizers", "ownerReferences")  # metadata that a replacement keeps
_KUBE_SCHEDULER = "system:kube-scheduler"


@dataclasses.dataclass(frozen=True)
class ObjectChange:
    """One object that is created, changed or removed."""

    key: ObjectKey
    action: str

    def __str__(self) -> str:
        return f"{' '.join(self.key)}: {self.action}"


@dataclasses.dataclass(frozen=True)
class GuardPlan:
    """What will be done. writes: bodies in the order in which they are written. leftovers: of a trial that was interrupted.
    removals: what is not desired any more. The last two in the order in which they are removed.
    """

    operations: tuple[ObjectChange, ...]
    warnings: tuple[str, ...]
    writes: tuple[Json, ...]
    leftovers: tuple[ObjectKey, ...]
    removals: tuple[ObjectKey, ...]


def refuse_foreign(objects: t.Mapping[ObjectKey, Json]) -> None:
    """Refuse foreign objects of the same names."""
    foreign = [f"{kind} {name}" for (kind, name), found in objects.items() if not _is_owned(found)]
    if foreign:
        raise Refusal(
            f"{' and '.join(foreign)}: not created by this collection, because there is no label"
            f" {'='.join(next(iter(placement_policies.OWNER.items())))}. Remove it first, or use another name."
        )


def _is_owned(found: Json) -> bool:
    return placement_policies.OWNER.items() <= (found["metadata"].get("labels") or {}).items()


# ---- what is to be done ------------------------------------------------------------------------------------------------


def build_guard(desired: Desired, protection: Protection) -> Guard:
    """The values of which the policies are made."""
    return Guard(
        name=desired.name,
        nodes=protection.nodes,
        resources=desired.resources,
        taints=protection.taints,
        require_request=desired.require_request,
        enforce=desired.enforce,
        affinity=desired.affinity,
        schedulers=desired.schedulers,
        exceptions=desired.exceptions,
        exempt_daemon_sets=desired.exempt_daemon_sets,
        exempt_namespaces=desired.exempt_namespaces,
    )


def build_bodies(desired: Desired, cluster: Cluster, protection: Protection) -> list[Json]:
    """The objects as they would be sent: what is there is replaced as it was read."""
    if not desired.present:
        return []
    found = placement_policies.build_objects(build_guard(desired, protection))
    return [as_replacement(body, cluster.objects.get(key_of(body))) for body in found]


def as_replacement(body: Json, found: Json | None) -> Json:
    """The body of a request that replaces the object that was read, and no later one; a new object as it is."""
    if not found:
        return body
    # What others wrote there stays.
    labels = {**(found["metadata"].get("labels") or {}), **(body["metadata"].get("labels") or {})}
    preserved = {key: found["metadata"][key] for key in ("resourceVersion", *_PRESERVED) if key in found["metadata"]}
    return {**body, "metadata": {**body["metadata"], **preserved, "labels": labels}}


def as_new_object(found: Json) -> Json:
    """The body of a request that creates an object again as it was read."""
    metadata = {key: found["metadata"][key] for key in ("name", "labels", *_PRESERVED) if key in found["metadata"]}
    return {**{key: found[key] for key in ("apiVersion", "kind", "spec")}, "metadata": metadata}


def key_of(body: t.Mapping[str, t.Any]) -> ObjectKey:
    """Kind and name of an object."""
    return body["kind"], body["metadata"]["name"]


def plan(
    desired: Desired,
    cluster: Cluster,
    protection: Protection,
    sent: t.Sequence[Json],
    validated: t.Mapping[ObjectKey, Json],
) -> GuardPlan:
    """Work out what to do.

    sent: the objects as they would be sent. validated: what the API server's dry run would make of them, with its defaults; one that it
    declines is missing.
    """
    writes = [body for body in sent if differs(cluster.objects.get(key_of(body)), validated.get(key_of(body)))]
    desired_keys = [key_of(body) for body in sent]
    obsolete = [(kind, desired.name) for kind in reversed(GUARD_KINDS) if (kind, desired.name) not in desired_keys]
    trial_keys = [(kind, placement_policies.trial_name(desired.name)) for kind in reversed(GUARD_KINDS)]
    removals = tuple(key for key in obsolete if key in cluster.objects)
    leftovers = tuple(key for key in trial_keys if key in cluster.objects)
    operations = [ObjectChange(key, REMOVED) for key in leftovers]
    operations += [
        ObjectChange(key_of(body), CHANGED if key_of(body) in cluster.objects else CREATED) for body in writes
    ]
    operations += [ObjectChange(key, REMOVED) for key in removals]
    warnings = [
        *_disarming_warnings(desired, cluster),
        *_empty_guard_warnings(desired, cluster, protection),
        *_node_warnings(desired, protection),
    ]
    return GuardPlan(tuple(operations), tuple(warnings), tuple(writes), leftovers, removals)


def differs(found: t.Mapping[str, t.Any] | None, desired: t.Mapping[str, t.Any] | None) -> bool:
    """Whether an object is not what it should be. What another client adds could take it out of force, so all of it counts."""
    return found is None or desired is None or found.get("spec") != desired.get("spec")


def _disarming_warnings(desired: Desired, cluster: Cluster) -> list[str]:
    if not (desired.present and was_enforced(desired, cluster)) or desired.enforce:
        return []
    return [
        f"{desired.name} refused until now and only warns from now on, because enforce is not set; set it where the other"
        " variables of the guard are, so that every run has it."
    ]


def _empty_guard_warnings(desired: Desired, cluster: Cluster, found: Protection) -> list[str]:
    if found.nodes or not desired.present:
        return []
    if (POLICY, desired.name) in cluster.objects:
        return [f"The guard protects nothing as long as that is so. {no_nodes(desired)}"]
    return [f"When the guard is applied, it is refused unless there is such a node by then. {no_nodes(desired)}"]


def _node_warnings(desired: Desired, found: Protection) -> list[str]:
    warnings = [
        f"{name}: no longer a node of the cluster; remove it from the nodes to protect, or keep it there when it comes back."
        for name in found.stale
    ]
    keys = f" {' or '.join(desired.taint_keys)}" if desired.taint_keys else ""
    warnings += [
        f"{name}: has no taint{keys} that keeps pods off, so the scheduler itself may place any pod there."
        for name in found.untainted
    ]
    if found.denied_workloads:
        warnings.append(denials(found, "are refused" if desired.enforce else "would be refused if it were enforced,"))
    if _KUBE_SCHEDULER not in desired.schedulers:
        warnings.append(
            f"schedulers: {_KUBE_SCHEDULER} is not among them, so the cluster's own scheduler cannot place any pod on protected nodes."
        )
    return warnings


def was_enforced(desired: Desired, cluster: Cluster) -> bool:
    """Whether the guard that was found refuses."""
    return placement_policies.denies(cluster.objects.get((BINDING, desired.name)))


# ---- what is reported ------------------------------------------------------------------------------------------------------


def report_lines(desired: Desired, found: Protection, operations: t.Sequence[ObjectChange], *, dry: bool) -> list[str]:
    """The result for people. dry: nothing was written."""
    would = dry and bool(operations)
    if not desired.present:
        return [f"{desired.name}: {'would be removed' if would else 'does not exist'}"]
    does = "would refuse" if would else "refuses"
    only = "would only warn" if would else "only warns"
    report = [f"{desired.name} {does if desired.enforce else only}; protected: {', '.join(found.nodes) or 'no node'}"]
    report += [f"{name}: {'would be protected' if would else 'protected from now on'}" for name in found.added]
    for name in found.removed:
        why = ", because it is no longer a node of the cluster" if name in found.gone else ""
        report.append(f"{name}: {'would no longer be protected' if would else 'no longer protected'}{why}")
    return report + [f"{' '.join(each.key)}: {'would be ' if would else ''}{each.action}" for each in operations]


def format_for_diff(found: t.Mapping[str, t.Any] | None) -> Json:
    """An object in a diff: the fields of the guard, with a line for each line of an expression."""
    if not found:
        return {}
    metadata = {key: found["metadata"].get(key) for key in ("name", "labels")}
    return {"metadata": metadata, "spec": _in_lines(found.get("spec"))}


def _in_lines(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: _in_lines(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_in_lines(entry) for entry in value]
    return value.splitlines() if isinstance(value, str) and "\n" in value else value
