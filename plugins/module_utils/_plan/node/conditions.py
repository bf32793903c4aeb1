# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node offers to the pods on it, as it is and with changes: of its labels, taints and resources, and of its kubelet."""

from __future__ import annotations

import typing as t

from ..common.errors import KubeadmError
from ..common.ownership import Change
from ..kubelet import limits as kubelet_limits
from ..kubelet.limits import Limits
from ..kubernetes import quantities, versions
from . import extended_resources as node_resources
from . import labels as node_labels
from . import plan as node_plan
from . import taints as node_taints
from .extended_resources import RESOURCES
from .labels import LABELS
from .plan import Keys, Kind, Node
from .readmission import Conditions
from .taints import TAINTS


def read_conditions(node: Node, changes: t.Collection[Change] = (), limits: Limits | None = None) -> Conditions:
    """What a node offers to pods, with changes if any.

    limits: what its kubelet will leave to pods. Only then are CPUs, memory and the number of pods counted: what runs now fits.
    """
    taints = _with_changes(TAINTS, node_taints.live(node), changes)
    resources = _with_changes(RESOURCES, node_resources.allocatable(node), changes)
    return Conditions(
        name=node_plan.node_name(node),
        labels=_with_changes(LABELS, node_labels.live(node), changes),
        taints=[node_taints.taint_of(key, value) for key, value in taints.items()],
        allocatable={
            **{name: quantities.parse(amount) for name, amount in resources.items()},
            **(kubelet_limits.allocatable(limits, node["status"]["capacity"]) if limits else {}),
        },
        forbids=lambda sysctl: limits is not None and kubelet_limits.is_withdrawn(sysctl, limits),
        devices=_plugin_devices(node),
        reallocates=limits is not None and bool(limits.get("pod_level_managers")) and _reallocates(node),
    )


def _reallocates(node: Node) -> bool:
    """Whether its kubelet makes the allocations of pods as a whole again at its start (kubernetes 141041, mended with 1.38)."""
    version = versions.parse(node_plan.kubelet_version(node))
    return version is None or version < (1, 38)


def _plugin_devices(node: Node) -> frozenset[str]:
    """The extended resources of a node that its kubelet's device manager gives out."""
    try:
        # A kubelet keeps no account of who holds what we patched, even where it was the last to write the number.
        patched = frozenset(node_plan.read_record(RESOURCES, node))
    except KubeadmError:  # of any of them it could be ours
        return frozenset()
    return frozenset(RESOURCES.foreign(node)) - patched


def _with_changes(kind: Kind, now: Keys, changes: t.Collection[Change]) -> Keys:
    changed = {change.key: change.after for change in changes if change.field == kind.field}
    return {key: value for key, value in {**now, **changed}.items() if value is not None}


def may_reject_pods(changes: t.Iterable[Change]) -> bool:
    """Whether pods that fit could cease to fit. A resource that gets larger or goes takes nothing from the kubelet's pods; one
    that comes back may be less than pods have held all the time."""
    return any(
        change.field == LABELS.field or (change.field == RESOURCES.field and _shrinks(change)) for change in changes
    )


def _shrinks(change: Change) -> bool:
    if change.after is None:
        return False
    return change.before is None or quantities.parse(change.after) < quantities.parse(change.before)
