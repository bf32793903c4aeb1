# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pod holds which device, as the kubelet says, joined with what we know of the devices."""

from __future__ import annotations

import hmac
import json
import typing as t
from dataclasses import asdict, dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from nodecraft_device_plugin import http, protocol, wire
from nodecraft_device_plugin.config import PodResources
from nodecraft_device_plugin.devices import physical_of
from nodecraft_device_plugin.inventory import Inventory

API = protocol.pod_resources
SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
TIMEOUT = 5.0
# The API server keeps Authorization for itself, so through its proxy a token has to come by another name.
TOKEN_HEADER = "x-device-plugin-token"  # noqa: S105
_LISTER = "/v1.PodResourcesLister"


@dataclass(frozen=True)
class Holding:
    """A device that a container holds. health: Healthy, Unhealthy, Vanished, or empty for devices of others."""

    namespace: str
    pod: str
    container: str
    resource: str
    device_id: str
    physical: str
    numa: tuple[int, ...]
    health: str


@dataclass(frozen=True)
class View:
    """A node at one moment. allocatable, free: device ids by resource."""

    holdings: tuple[Holding, ...]
    allocatable: dict[str, tuple[str, ...]]
    free: dict[str, tuple[str, ...]]


async def read(socket: Path, inventories: t.Mapping[str, Inventory]) -> View:
    """Ask the kubelet for everything. Raises wire.Unavailable."""
    listed = await wire.call(
        socket, f"{_LISTER}/List", API.ListPodResourcesRequest(), API.ListPodResourcesResponse, TIMEOUT
    )
    return join(listed, await _offered(socket), inventories)


async def read_pod(socket: Path, namespace: str, pod: str, inventories: t.Mapping[str, Inventory]) -> View:
    """Ask the kubelet for one pod, where it can be asked so; what is free it does not say. Raises wire.Unavailable, NotFound for a pod that it has not."""
    request = API.GetPodResourcesRequest(pod_name=pod, pod_namespace=namespace)
    answer = await wire.call(socket, f"{_LISTER}/Get", request, API.GetPodResourcesResponse, TIMEOUT)
    holdings = tuple(_holdings(answer.pod_resources, inventories))
    return View(holdings, _allocatable(await _offered(socket)), {})


async def _offered(socket: Path) -> t.Any:
    request = API.AllocatableResourcesRequest()
    return await wire.call(
        socket, f"{_LISTER}/GetAllocatableResources", request, API.AllocatableResourcesResponse, TIMEOUT
    )


def join(listed: t.Any, offered: t.Any, inventories: t.Mapping[str, Inventory]) -> View:
    """A view from the kubelet's answers. inventories: of our own resources. Pure."""
    holdings = tuple(holding for pod in listed.pod_resources for holding in _holdings(pod, inventories))
    allocatable = _allocatable(offered)
    held = {(holding.resource, holding.device_id) for holding in holdings}
    free = {
        resource: tuple(identifier for identifier in ids if (resource, identifier) not in held)
        for resource, ids in allocatable.items()
    }
    return View(holdings, allocatable, free)


def _allocatable(offered: t.Any) -> dict[str, tuple[str, ...]]:
    """The ids of each resource, in order."""
    ids: dict[str, set[str]] = {}
    for devices in offered.devices:
        ids.setdefault(devices.resource_name, set()).update(devices.device_ids)
    return {resource: tuple(sorted(ids[resource])) for resource in sorted(ids)}


def _holdings(pod: t.Any, inventories: t.Mapping[str, Inventory]) -> t.Iterator[Holding]:
    for container in pod.containers:
        for devices in container.devices:
            numa = tuple(node.ID for node in devices.topology.nodes)
            for identifier in sorted(devices.device_ids):
                yield Holding(
                    pod.namespace,
                    pod.name,
                    container.name,
                    devices.resource_name,
                    identifier,
                    physical_of(identifier),
                    numa,
                    _health(inventories.get(devices.resource_name), physical_of(identifier)),
                )


def _health(inventory: Inventory | None, physical: str) -> str:
    if inventory is None:
        return ""
    known = inventory.get(physical)
    if known is None or known.missing_since is not None:
        return "Vanished"
    return "Healthy" if known.health.healthy else "Unhealthy"


def as_json(view: View, node: str) -> bytes:
    """The view as JSON."""
    return json.dumps({"node": node, **asdict(view)}).encode()


def as_metrics(view: View, node: str) -> bytes:
    """The view as Prometheus reads it."""
    offered = {(resource, identifier) for resource, ids in view.allocatable.items() for identifier in ids}
    registry = CollectorRegistry()
    labels = ("node", "namespace", "pod", "container", "resource", "device_id", "physical", "numa", "health")
    held = Gauge(
        "device_plugin_allocated_device", "1 for each device that a container holds.", labels, registry=registry
    )
    for holding in view.holdings:
        # What the kubelet offers is what its plugin called healthy.
        health = holding.health or ("Healthy" if (holding.resource, holding.device_id) in offered else "Unknown")
        values = {**asdict(holding), "health": health, "numa": ",".join(map(str, holding.numa))}
        held.labels(node=node, **values).set(1)
    for name, text, counted in (
        ("allocatable", "Devices that the kubelet can hand out.", view.allocatable),
        ("free", "Devices that no container holds.", view.free),
    ):
        gauge = Gauge(f"device_plugin_{name}_devices", text, ("node", "resource"), registry=registry)
        for resource, ids in counted.items():
            gauge.labels(node, resource).set(len(ids))
    body: bytes = generate_latest(registry)
    return body


def refusal(settings: PodResources, headers: t.Mapping[str, str]) -> http.Reply | None:
    """Why somebody gets no view; None for those who do."""
    if settings.access == "off":
        return http.text(404, "podResources.access is off in the configuration")
    if settings.access == "open":
        return None
    try:
        wanted = Path(settings.token_file).read_text(encoding="utf-8").strip()
    except OSError as error:
        return http.text(503, f"the token cannot be read: {error.strerror}")
    given = headers.get(TOKEN_HEADER) or _bearer(headers.get("authorization", ""))
    if not given:
        return http.text(401, f"a token is needed in the header {TOKEN_HEADER} or as bearer")
    if wanted and hmac.compare_digest(given.encode(), wanted.encode()):
        return None
    return http.text(403, "the token is another one")


def _bearer(authorization: str) -> str:
    """The token in a header Authorization; empty when it gives none as bearer."""
    scheme, _space, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
