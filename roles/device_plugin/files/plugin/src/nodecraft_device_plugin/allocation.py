# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a container gets for the ids that the kubelet selected. Pure: the same ids always give the same response."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from nodecraft_device_plugin import cdi
from nodecraft_device_plugin.config import Mount, Resource, fill
from nodecraft_device_plugin.devices import Node, physical_of
from nodecraft_device_plugin.inventory import Inventory, Known


class Rejected(Exception):
    """The request cannot be served; the message appears in the events of the pod."""


@dataclass(frozen=True)
class DeviceNode:
    """A device node for a container."""

    host_path: str
    container_path: str
    permissions: str


@dataclass(frozen=True)
class Allocation:
    """Everything that one container gets."""

    env: dict[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    nodes: tuple[DeviceNode, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)
    cdi: tuple[str, ...] = ()


def selected(resource: Resource, known: Inventory, ids: t.Sequence[str]) -> list[Known]:
    """The physical devices behind ids, each once, in the order of ids. Raises Rejected."""
    limit = resource.sharing.max_per_container
    if limit and len(ids) > limit:
        raise Rejected(
            f"{resource.name}: {len(ids)} devices requested, at most {limit} per container are allowed (maxPerContainer)"
        )
    physical = sorted({physical_of(identifier) for identifier in ids})
    if resource.sharing.distinct and len(physical) < len(ids):
        raise Rejected(
            f"{resource.name}: {', '.join(sorted(ids))} include one device twice, which sharing.distinct forbids"
        )
    for identifier in physical:
        if identifier not in known:
            raise Rejected(f"{resource.name}: device {identifier} does not exist")
        if not known[identifier].health.healthy:
            raise Rejected(f"{resource.name}: device {identifier} is unhealthy: {known[identifier].health.reason}")
    return [known[identifier] for identifier in physical]


def allocate(resource: Resource, found: t.Sequence[Known], count: int, with_cdi: bool) -> Allocation:
    """The response for one container. count: the number of requested ids. with_cdi: the CDI specification is written."""
    edits = resource.container
    nodes = _nodes(found)
    values = {
        "ids": ",".join(known.candidate.id for known in found),
        "paths": ",".join(nodes),
        "count": str(count),
    }
    devices = (
        ()
        if with_cdi
        else tuple(DeviceNode(n.host_path, p, edits.permissions) for p, n in nodes.items() if not n.is_file)
    )
    files = tuple(
        Mount(node.host_path, path, "w" not in edits.permissions) for path, node in nodes.items() if node.is_file
    )
    return Allocation(
        env={name: fill(value, values) for name, value in edits.env},
        mounts=(*edits.mounts, *files),
        nodes=devices,
        annotations={name: fill(value, values) for name, value in edits.annotations},
        cdi=tuple(cdi.qualified(resource.name, known.candidate.id) for known in found) if with_cdi else (),
    )


def _nodes(found: t.Sequence[Known]) -> dict[str, Node]:
    """The device nodes by their paths in the container. Raises Rejected when two devices use the same path."""
    nodes: dict[str, Node] = {}
    for index, known in enumerate(found):
        for node in known.candidate.nodes:
            path = fill(node.container_path, {"id": known.candidate.id, "index": str(index)})
            other = nodes.setdefault(path, node)
            if other.key != node.key:
                raise Rejected(
                    f"{path} in the container would be both {other.host_path} and {node.host_path}: containerPath must contain {{index}} or {{id}}"
                )
    return nodes
