# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a container gets for the ids that the kubelet chose. Pure: the same ids always give the same answer."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from nodecraft_device_plugin import cdi
from nodecraft_device_plugin.config import Mount, Resource, fill
from nodecraft_device_plugin.devices import Node, physical_of
from nodecraft_device_plugin.inventory import Inventory, Known


class Rejected(Exception):
    """The request cannot be served; the text is what the user finds in the pod's events."""


@dataclass(frozen=True)
class DeviceNode:
    """A device node for a container."""

    host_path: str
    container_path: str
    permissions: str


@dataclass(frozen=True)
class Allocation:
    """All that one container gets."""

    env: dict[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    nodes: tuple[DeviceNode, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)
    cdi: tuple[str, ...] = ()


def chosen(resource: Resource, known: Inventory, ids: t.Sequence[str]) -> list[Known]:
    """The physical devices behind ids, each once, in the order of ids. Raises Rejected."""
    limit = resource.sharing.max_per_container
    if limit and len(ids) > limit:
        raise Rejected(f"{resource.name}: {len(ids)} asked for, at most {limit} for a container (maxPerContainer)")
    physical = sorted({physical_of(identifier) for identifier in ids})
    if resource.sharing.distinct and len(physical) < len(ids):
        raise Rejected(f"{resource.name}: {', '.join(sorted(ids))} are one device twice, which distinct forbids")
    for identifier in physical:
        if identifier not in known:
            raise Rejected(f"{resource.name}: there is no device {identifier}")
        if not known[identifier].health.healthy:
            raise Rejected(f"{resource.name}: device {identifier} is unhealthy: {known[identifier].health.reason}")
    return [known[identifier] for identifier in physical]


def allocate(resource: Resource, found: t.Sequence[Known], count: int, with_cdi: bool) -> Allocation:
    """The answer for one container. count: how many ids it asked for. with_cdi: the CDI specification is in place."""
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
    """The device nodes by their paths in the container. Raises Rejected when two want the same path."""
    nodes: dict[str, Node] = {}
    for index, known in enumerate(found):
        for node in known.candidate.nodes:
            path = fill(node.container_path, {"id": known.candidate.id, "index": str(index)})
            other = nodes.setdefault(path, node)
            if other.key != node.key:
                raise Rejected(
                    f"{path} in the container would be {other.host_path} and {node.host_path}: containerPath needs {{index}} or {{id}}"
                )
    return nodes
