# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the playbook C(rollback) reverts, and what it does not revert at once."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..common import typed
from ..common.ownership import Change
from ..common.typed import ModuleResult
from .report import describe_operation
from .rollout import StepResult

KUBELET = "kubelet"
STATIC_PODS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
KNOWN = ("rollback_components", "rollback_nodes", "rollback_ignored_variables")


@dataclasses.dataclass(frozen=True)
class Undo:
    """What C(state=previous) would revert of a component. blocked_by: why it would not. transaction, ended: of the change that it reverts."""

    operations: tuple[Change, ...] = typed.tuple_of(Change)
    blocked_by: str = ""
    transaction: str = ""
    ended: str = ""


@dataclasses.dataclass(frozen=True)
class PodUndo:
    """The same of a static pod."""

    name: str = ""
    undo: Undo | None = typed.field_of(Undo)


@dataclasses.dataclass(frozen=True)
class PodUndos(ModuleResult):
    """The result of C(static_pod_info), as far as it counts here; empty when it did not run."""

    static_pods: tuple[PodUndo, ...] = typed.tuple_of(PodUndo)
    unreadable_files: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class KubeletUndo(ModuleResult):
    """The result of C(kubelet_info), as far as it counts here; empty when it did not run."""

    undo: Undo | None = typed.field_of(Undo)


@dataclasses.dataclass(frozen=True)
class RollbackStart(StepResult):
    """Of the step begin: what is reverted, and where it is read."""

    static_pods: t.Sequence[str] = ()
    kubelet: bool = False
    nodes: t.Sequence[str] = ()
    pod_hosts: t.Sequence[str] = ()
    kubelet_hosts: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class RollbackRequest:
    """Whose last change is reverted. components: by name, empty when none is named. nodes: hosts of the play."""

    components: list[str]
    nodes: list[str]

    @property
    def static_pods(self) -> list[str]:
        """The static pods among the components, in the order in which they are changed."""
        return [name for name in STATIC_PODS if name in self.components]

    def reads_static_pods(self, host: str, planes: t.Collection[str]) -> bool:
        """Whether the static pods of a host are read. A kubelet that is down reports nothing of them, so only those that are named are."""
        return host in self.nodes and host in planes and bool(self.static_pods or not self.components)

    def reads_kubelet(self, host: str) -> bool:
        """Whether the kubelet of a host is read."""
        return host in self.nodes and (KUBELET in self.components or not self.components)


def parse_names(value: t.Any) -> list[str]:
    """Names as a variable has them: a list, or text with commas, as variables of the command line are."""
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return list(value or [])


@dataclasses.dataclass(frozen=True)
class _HostUndo:
    host: str
    component: str
    undo: Undo
    text: str


def undos_by_component(pods: PodUndos, kubelet: KubeletUndo) -> dict[str, Undo]:
    """The rollbacks of a host by component."""
    found = {**{pod.name: pod.undo for pod in pods.static_pods}, KUBELET: kubelet.undo}
    return {component: undo for component, undo in found.items() if undo}


def unknown_variables(names: t.Iterable[str], ignored: t.Collection[str]) -> str:
    """Why variables are refused; empty when all are known. With rollback_node in place of rollback_nodes all nodes would be reverted."""
    found = sorted(name for name in names if name.startswith("rollback_") and name not in (*KNOWN, *ignored))
    if not found:
        return ""
    return (
        f"This playbook does not know {', '.join(found)}; it knows rollback_components and rollback_nodes. Correct it, or list it in"
        " rollback_ignored_variables when it belongs to something else."
    )


def rollback_refusal(
    request: RollbackRequest,
    undos: t.Mapping[str, t.Mapping[str, Undo]],
    hosts: t.Collection[str],
    unread: t.Mapping[str, t.Sequence[str]],
) -> str:
    """Why this cannot be reverted at once; empty when it can.

    undos: host -> component -> its rollback. hosts: of the play. unread: host -> files that may be manifests and cannot be read.
    """
    unknown_nodes = [node for node in request.nodes if node not in hosts]
    if unknown_nodes:
        return f"rollback_nodes names {', '.join(unknown_nodes)}, which is not a host of this run."
    found = _requested_undos(request, undos)
    if not request.components:
        there = "; ".join(undo.text for undo in found) or "none"
        files = ", ".join(f"{path} on {host}" for host, paths in unread.items() for path in paths)
        unknown = f" Whether there is one of {files} is not known: it cannot be read." if files else ""
        return f"Set rollback_components to those whose last change is to be reverted. There is {there}.{unknown}"
    invalid = [name for name in request.components if name not in (*STATIC_PODS, KUBELET)]
    if invalid:
        return f"invalid rollback_components {', '.join(invalid)}: must be of {', '.join(STATIC_PODS)} and {KUBELET}."
    blocked = [each.text for each in found if each.undo.blocked_by]
    if blocked:
        return " ".join(blocked)
    different = [undo.text for component in request.components for undo in _differing_undos(component, found)]
    if different:
        return (
            f"Different last changes are not reverted at once: {'; '.join(different)}. Revert one node after the other, with rollback_nodes or"
            " --limit."
        )
    return ""


def _differing_undos(component: str, undos: t.Sequence[_HostUndo]) -> list[_HostUndo]:
    """The rollbacks of a component, if they are not all the same."""
    own = [undo for undo in undos if undo.component == component]
    return (
        own
        if len({json.dumps([change.to_result() for change in each.undo.operations], sort_keys=True) for each in own})
        > 1
        else []
    )


def _requested_undos(request: RollbackRequest, undos: t.Mapping[str, t.Mapping[str, Undo]]) -> list[_HostUndo]:
    return [
        _host_undo(host, component, undo)
        for host in request.nodes
        for component, undo in undos.get(host, {}).items()
        if component in request.components or not request.components
    ]


def _host_undo(host: str, component: str, undo: Undo) -> _HostUndo:
    changes = [describe_operation(each) for each in undo.operations]
    last = f" (transaction {undo.transaction}, ended {undo.ended})" if undo.transaction else ""
    return _HostUndo(host, component, undo, f"{host} {component}: {undo.blocked_by or ', '.join(changes)}{last}")
