# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pod holds which device according to the kubelet, joined with the health of the devices."""

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
# The API server's proxy consumes the header Authorization, so a token needs another header.
TOKEN_HEADER = "x-device-plugin-token"  # noqa: S105
_LISTER = "/v1.PodResourcesLister"


@dataclass(frozen=True)
class Holding:
    """A device that a container holds. health: Healthy, Unhealthy, Vanished, or empty for devices of other plugins."""

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
    """Query the kubelet for all pods. Raises wire.Unavailable."""
    listed = await wire.call(
        socket, f"{_LISTER}/List", API.ListPodResourcesRequest(), API.ListPodResourcesResponse, TIMEOUT
    )
    return join(listed, await _read_allocatable(socket), inventories)


async def read_pod(socket: Path, namespace: str, pod: str, inventories: t.Mapping[str, Inventory]) -> View:
    """Query the kubelet for one pod; free is empty then. Raises wire.Unavailable, and wire.NotFound for an unknown pod."""
    request = API.GetPodResourcesRequest(pod_name=pod, pod_namespace=namespace)
    response = await wire.call(socket, f"{_LISTER}/Get", request, API.GetPodResourcesResponse, TIMEOUT)
    holdings = tuple(_holdings(response.pod_resources, inventories))
    return View(holdings, _allocatable(await _read_allocatable(socket)), {})


async def _read_allocatable(socket: Path) -> t.Any:
    request = API.AllocatableResourcesRequest()
    return await wire.call(
        socket, f"{_LISTER}/GetAllocatableResources", request, API.AllocatableResourcesResponse, TIMEOUT
    )


def join(listed: t.Any, allocatable_devices: t.Any, inventories: t.Mapping[str, Inventory]) -> View:
    """A view from the kubelet's responses. inventories: of this plugin's resources. Pure."""
    holdings = tuple(holding for pod in listed.pod_resources for holding in _holdings(pod, inventories))
    allocatable = _allocatable(allocatable_devices)
    allocated = {(holding.resource, holding.device_id) for holding in holdings}
    free = {
        resource: tuple(identifier for identifier in ids if (resource, identifier) not in allocated)
        for resource, ids in allocatable.items()
    }
    return View(holdings, allocatable, free)


def _allocatable(response: t.Any) -> dict[str, tuple[str, ...]]:
    """The ids of each resource, in order."""
    ids: dict[str, set[str]] = {}
    for devices in response.devices:
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
    """The view in the text format of Prometheus."""
    advertised = {(resource, identifier) for resource, ids in view.allocatable.items() for identifier in ids}
    registry = CollectorRegistry()
    labels = ("node", "namespace", "pod", "container", "resource", "device_id", "physical", "numa", "health")
    allocated = Gauge(
        "device_plugin_allocated_device", "1 for each device that a container holds.", labels, registry=registry
    )
    for holding in view.holdings:
        # The kubelet advertises what the device's plugin reported as healthy.
        health = holding.health or ("Healthy" if (holding.resource, holding.device_id) in advertised else "Unknown")
        values = {**asdict(holding), "health": health, "numa": ",".join(map(str, holding.numa))}
        allocated.labels(node=node, **values).set(1)
    for name, text, counted in (
        ("allocatable", "Devices that the kubelet can allocate.", view.allocatable),
        ("free", "Devices that no container holds.", view.free),
    ):
        gauge = Gauge(f"device_plugin_{name}_devices", text, ("node", "resource"), registry=registry)
        for resource, ids in counted.items():
            gauge.labels(node, resource).set(len(ids))
    body: bytes = generate_latest(registry)
    return body


def refusal(settings: PodResources, headers: t.Mapping[str, str]) -> http.Reply | None:
    """The refusal of a request; None when it is allowed."""
    if settings.access == "off":
        return http.text(404, "podResources.access is off in the configuration")
    if settings.access == "open":
        return None
    try:
        expected = Path(settings.token_file).read_text(encoding="utf-8").strip()
    except OSError as error:
        return http.text(503, f"cannot read the token file: {error.strerror}")
    given = headers.get(TOKEN_HEADER) or _bearer(headers.get("authorization", ""))
    if not given:
        return http.text(401, f"a token is required in the header {TOKEN_HEADER} or as bearer token")
    if expected and hmac.compare_digest(given.encode(), expected.encode()):
        return None
    return http.text(403, "invalid token: must be that of podResources.tokenFile")


def _bearer(authorization: str) -> str:
    """The bearer token of a header Authorization; empty when it has none."""
    scheme, _space, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
