# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels of a node."""

from __future__ import annotations

import typing as t

from ..common.ownership import Change
from ..documents import json_patch
from ..kubernetes import flags
from ..kubernetes import names as node_names
from .plan import Keys, Kind, Node

# What a kubelet sets again on its own Node whenever it starts: always, and where its command line or a cloud provider gave it a value. It sets
# all other labels of --node-labels only when it registers.
_KUBELET_LABELS = frozenset(
    (
        *(f"kubernetes.io/{name}" for name in ("hostname", "os", "arch")),
        *(f"beta.kubernetes.io/{name}" for name in ("os", "arch", "instance-type")),
        "node.kubernetes.io/instance-type",
        *(f"topology.kubernetes.io/{name}" for name in ("zone", "region")),
        *(f"failure-domain.beta.kubernetes.io/{name}" for name in ("zone", "region")),
    )
)
# What is lost with a label of kubeadm's.
_REMOVED = {
    "node-role.kubernetes.io/control-plane": "kubectl and kubeadm take the node for a worker from now on: kubeadm upgrade does not look at it, and"
    " pods that select control planes are not scheduled there any more",
    "node.kubernetes.io/exclude-from-external-load-balancers": "load balancers of a cloud provider send the traffic of Services to the node"
    " from now on",
}


def set_again(arguments: t.Sequence[str]) -> dict[str, str]:
    """The labels that a kubelet with this command line sets whenever it starts, by their values there."""
    text = flags.join_values(flags.values(flags.parse(arguments), "node-labels"))
    entries = (entry.strip().partition("=") for entry in text.split(","))
    return {key.strip(): value.strip() for key, _equals, value in entries if key.strip() in _KUBELET_LABELS}


def may_be_set_again(desired: Keys) -> bool:
    """Whether some of these labels are of those that kubelets set."""
    return not _KUBELET_LABELS.isdisjoint(desired)


def reset_refusal(node: str, desired: Keys, arguments: t.Sequence[str]) -> str:
    """Why these labels cannot be set on the node of a kubelet with this command line; empty when they can."""
    conflicts = [
        f"{key} is {value!r} by --node-labels of the kubelet"
        for key, value in set_again(arguments).items()
        if key in desired and (desired[key] is None or str(desired[key]) != value)
    ]
    return (
        f"labels: {node}: {', '.join(conflicts)}, which sets it again whenever it starts. Change it there."
        if conflicts
        else ""
    )


def _kubelet_owned(node: Node) -> dict[str, str]:
    """What the kubelet wrote itself: it would write it again at its next start."""
    written: set[str] = set()
    for entry in node["metadata"].get("managedFields") or []:
        if entry.get("manager") == "kubelet":  # it registers its Node, and sets labels again by way of the status
            fields = entry.get("fieldsV1", {}).get("f:metadata", {}).get("f:labels", {})
            written.update(field[2:] for field in fields if field.startswith("f:"))
    return dict.fromkeys(
        sorted(_KUBELET_LABELS & written),
        "the kubelet set it, by its --node-labels or its cloud provider, and sets it again whenever it starts. Change it there",
    )


def _removal_warning(change: Change) -> str:
    consequence = _REMOVED.get(change.key) if change.after is None else None
    return f"labels {change.key} is removed: {consequence}." if consequence else ""


def _parse(option: t.Mapping[str, t.Any], state: str) -> Keys:
    return {
        node_names.check_label(key): None if value is None else node_names.text_value("labels", key, value)
        for key, value in option.items()
    }


def live(node: Node) -> Keys:
    """The labels of a node."""
    return dict(node["metadata"].get("labels") or {})


def _select(node: Node, keys: t.Container[str]) -> Keys:
    return {key: value for key, value in live(node).items() if key in keys}


def _make_edits(node: Node, changes: t.Sequence[Change]) -> list[json_patch.PatchOperation]:
    desired = {change.key: change.after for change in changes}
    return json_patch.edit_members(("metadata", "labels"), node["metadata"].get("labels"), desired)


LABELS = Kind(
    field="labels",
    annotation="nodecraft.kubeadm/owned-labels",
    place=("metadata", "labels"),
    subresource="",
    parse=_parse,
    live=live,
    part=_select,
    edits=_make_edits,
    visible=live,
    foreign=_kubelet_owned,
    warning=_removal_warning,
)
