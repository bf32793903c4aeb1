# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Extended resources that a node advertises.

They are patched into the node's capacity. The kubelet keeps what it does not know there and copies it to what pods can
be given, within its next update of the status (ten seconds by default).
"""

from __future__ import annotations

import json
import typing as t

from ..common.ownership import Change
from ..documents import json_patch
from ..kubernetes import names as node_names
from ..kubernetes import pods, quantities
from ..kubernetes.pods import Pod
from .plan import Keys, Kind, Node

PLUGIN_OWNED = "a device plugin advertises it, so the kubelet would overwrite any other number; change it where the plugin is set up"


def _parse(option: t.Mapping[str, t.Any], state: str) -> Keys:
    return {
        node_names.check_resource(name): None if value is None else quantities.parse_count(name, value)
        for name, value in option.items()
    }


def capacity(node: Node) -> Keys:
    """The extended resources that a node advertises."""
    return _amounts(node, "capacity")


def allocatable(node: Node) -> Keys:
    """The extended resources that pods can be given on a node."""
    return _amounts(node, "allocatable")


def _amounts(node: Node, field: str) -> Keys:
    amounts = node.get("status", {}).get(field) or {}
    return {
        name: quantities.canonical(amount) for name, amount in amounts.items() if node_names.is_extended_resource(name)
    }


def _select(node: Node, keys: t.Container[str]) -> Keys:
    amounts = node.get("status", {}).get("capacity") or {}
    return {name: amount for name, amount in amounts.items() if name in keys}


def _make_edits(node: Node, changes: t.Sequence[Change]) -> list[json_patch.PatchOperation]:
    amounts = {change.key: change.after for change in changes}
    return json_patch.edit_members(("status", "capacity"), node.get("status", {}).get("capacity"), amounts)


def _plugin_owned(node: Node) -> dict[str, str]:
    """What the kubelet itself wrote into the capacity: it would write it again at every update."""
    names: set[str] = set()
    for entry in node["metadata"].get("managedFields") or []:
        if entry.get("manager") == "kubelet":
            fields = entry.get("fieldsV1", {}).get("f:status", {}).get("f:capacity", {})
            names.update(field[2:] for field in fields if field.startswith("f:"))
    return {
        name: _removal_hint(node["metadata"]["name"], name) if amount == "0" else PLUGIN_OWNED
        for name, amount in capacity(node).items()
        if name in names
    }


def _removal_hint(node: str, name: str) -> str:
    """A Node does not show whether the plugin is gone: a kubelet keeps the name for ever, as it keeps that of one without devices."""
    removal = [{"op": "remove", "path": json_patch.pointer("status", "capacity", name)}]
    return (
        "the kubelet has 0 of it from a device plugin, and would overwrite any other number while the plugin is registered. When it is gone "
        f"for good, remove the name (kubectl patch node {node} --subresource=status --type=json --patch='{json.dumps(removal)}') and run again"
    )


RESOURCES = Kind(
    field="resources",
    annotation="nodecraft.kubeadm/owned-extended-resources",
    place=("status", "capacity"),
    subresource="status",
    parse=_parse,
    live=capacity,
    part=_select,
    edits=_make_edits,
    foreign=_plugin_owned,
    visible=allocatable,
    needs_kubelet=True,
)


def describe_resources(node: Node, on_node: t.Iterable[Pod] | None) -> dict[str, dict[str, t.Any]]:
    """The extended resources of a node for the user. on_node: its pods; None when they were not read.

    capacity, allocatable, requested: numbers as text, or None. device_plugin: whether the kubelet has it from one.
    """
    capacities, available = capacity(node), allocatable(node)
    requested, plugins = pods.total_requests(on_node or ()), RESOURCES.foreign(node)
    return {
        name: {
            "capacity": capacities.get(name),
            "allocatable": available.get(name),
            "requested": None if on_node is None else str(requested.get(name, 0)),
            "device_plugin": name in plugins,
        }
        for name in sorted({*capacities, *available})
    }
