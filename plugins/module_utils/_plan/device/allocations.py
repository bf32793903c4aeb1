# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which pod holds which device of a node, and which are free: what device plugins report of the kubelet, joined with the API.

The kubelet's PodResources knows neither since when a pod runs nor whether a device is well: the API knows the first, and the
plugin that offers the device the second.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.errors import KubeadmError
from ..kubernetes import pods
from ..kubernetes.pods import Pod
from ..node import extended_resources as node_resources
from ..node.plan import Node

Ids = t.Mapping[str, t.Sequence[str]]  # of devices, by resource

# The health of devices; the last is of this collection, for devices of which nothing is known.
HEALTHY, UNHEALTHY, VANISHED, UNKNOWN = "Healthy", "Unhealthy", "Vanished", "Unknown"


class PodResourcesError(KubeadmError):
    """A plugin returned no view; the message is the reason and what to do, without the last full stop."""


@dataclasses.dataclass(frozen=True)
class Holding:
    """A device that a container holds, as a plugin reports it. health: empty for devices of other plugins.

    device_id: as the kubelet calls it. physical: the device behind it, which several ids may share.
    """

    namespace: str
    pod: str
    container: str
    resource: str
    device_id: str
    physical: str
    numa: tuple[int, ...]
    health: str


@dataclasses.dataclass(frozen=True)
class View:
    """What the plugins of a node report of its kubelet's PodResources. allocatable: what its kubelet can hand out, which are the healthy devices."""

    holdings: tuple[Holding, ...]
    allocatable: Ids


@dataclasses.dataclass(frozen=True)
class Allocation(Holding):
    """A device that a container of a node holds. phase, since: of its pod; None when the API has no such pod on the node.

    since: when the kubelet took the pod on, as the API writes times. problems: what is wrong with it.
    """

    node: str
    phase: str | None
    since: str | None
    problems: tuple[str, ...]

    def to_result(self) -> dict[str, t.Any]:
        """As the result of the module has it."""
        return {**dataclasses.asdict(self), "numa": list(self.numa), "problems": list(self.problems)}


_TEXTS = [field.name for field in dataclasses.fields(Holding) if field.name != "numa"]


def parse_view(pod: str, response: t.Any) -> View:
    """Parse the response of a plugin. pod: its full name. Raises PodResourcesError for what is no view."""
    try:
        holdings = [
            Holding(**{name: str(entry[name]) for name in _TEXTS}, numa=tuple(map(int, entry["numa"])))
            for entry in response["holdings"]
        ]
        return View(tuple(holdings), {name: list(map(str, ids)) for name, ids in response["allocatable"].items()})
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise PodResourcesError(
            f"{pod} answered with something other than a view of pod resources. Check that path is that of its view"
        ) from exc


def merge_views(views: t.Iterable[View]) -> View:
    """One view of a node on which several plugins run. Each knows the health of its own devices only."""
    holdings: dict[tuple[str, ...], Holding] = {}
    allocatable: dict[str, t.Sequence[str]] = {}
    for view in views:
        allocatable.update(view.allocatable)
        for found in view.holdings:
            key = (found.namespace, found.pod, found.container, found.resource, found.device_id)
            if key not in holdings or found.health:
                holdings[key] = found
    return View(tuple(holdings[key] for key in sorted(holdings)), allocatable)


def list_allocations(node: str, view: View, on_node: t.Iterable[Pod]) -> list[Allocation]:
    """Who holds what on a node since when. on_node: its pods, read after the view."""
    known = {pods.full_name(pod): pod for pod in on_node}
    return [
        _allocation(node, holding, view, known.get(f"{holding.namespace}/{holding.pod}")) for holding in view.holdings
    ]


def _allocation(node: str, holding: Holding, view: View, pod: Pod | None) -> Allocation:
    offered = holding.device_id in view.allocatable.get(holding.resource, ())
    status = pod.get("status", {}) if pod else {}
    problems = [_device_problem(holding.health, offered), _pod_problem(pod)]
    # What the kubelet offers is what its plugin called healthy.
    health = holding.health or (HEALTHY if offered else UNKNOWN)
    return Allocation(
        node=node,
        **{**vars(holding), "health": health},
        phase=status.get("phase"),
        since=status.get("startTime"),
        problems=tuple(filter(None, problems)),
    )


def _device_problem(health: str, offered: bool) -> str | None:
    if health == VANISHED:
        return "the device is not there any more"
    if health == UNHEALTHY:
        return "the device is unhealthy; the page /devices of its plugin says why"
    if offered:
        return None
    return (
        "the kubelet does not advertise the device now: it is unhealthy or gone, or its device plugin is not registered"
    )


def _pod_problem(pod: Pod | None) -> str | None:
    if pod is None:
        return "the API has no such pod on this node; the kubelet has not released the device"
    if pods.is_active(pod):
        return None
    return f"the pod has ended ({pod['status']['phase']}); its device goes to the next pod that requests it"


def summarize_resources(
    node: Node, view: View | None, holding: t.Iterable[Allocation], on_node: t.Iterable[Pod]
) -> dict[str, t.Any]:
    """What device plugins offer on a node, by resource. view: None when no plugin of the node returned one.

    capacity, allocatable, requested: numbers as text, by the API. devices: the ids that the kubelet can hand out; free: those
    of them that no pod holds. Both are None without a view.
    """
    advertised = node_resources.describe_resources(node, on_node)
    busy: dict[str, set[str]] = {}
    for entry in holding:
        if entry.phase not in pods.ENDED:
            busy.setdefault(entry.resource, set()).add(entry.device_id)
    names = {name for name, entry in advertised.items() if entry["device_plugin"]}
    if view:
        names.update(view.allocatable, (entry.resource for entry in view.holdings))
    found = {}
    for name in sorted(names):
        numbers = advertised.get(name, {})
        ids = sorted(view.allocatable.get(name, ())) if view else None
        found[name] = {
            **{key: numbers.get(key) for key in ("capacity", "allocatable", "requested")},
            "devices": ids,
            "free": None if ids is None else [one for one in ids if one not in busy.get(name, ())],
        }
    return found


def node_blocker(node: Node, pods_of_plugin: t.Sequence[Pod], selector: str) -> str | None:
    """Why no plugin of a node can be queried; None when one can. pods_of_plugin: on the node. selector: of these pods, for the message."""
    name = node["metadata"]["name"]
    if any(
        condition["type"] == "Ready" and condition["status"] == "Unknown"
        for condition in node.get("status", {}).get("conditions") or []
    ):
        return f"the kubelet of {name} does not report any more. Check that the node is up: systemctl status kubelet"
    if not pods_of_plugin:
        return (
            f"no pod with {selector} is on {name}. Let the DaemonSet of the device plugin select the node and tolerate its"
            " taints"
        )
    if any(pod_blocker(pod) is None for pod in pods_of_plugin):
        return None
    reasons = "; ".join(f"{pods.full_name(pod)} {pod_blocker(pod)}" for pod in pods_of_plugin)
    return f"{reasons}. See kubectl describe pod --namespace {pods_of_plugin[0]['metadata']['namespace']} {pods_of_plugin[0]['metadata']['name']}"


def pod_blocker(pod: Pod) -> str | None:
    """Why a pod cannot be queried; None when it can. One that is not ready can: it is so while it is not registered."""
    status = pod.get("status", {})
    if pods.is_ending(pod):
        return "is about to end"
    for container in status.get("containerStatuses") or []:
        waiting = container.get("state", {}).get("waiting")
        if waiting:
            return f"waits: {waiting.get('reason') or 'no reason is given'}"
    return None if status.get("phase") == "Running" else f"is {status.get('phase') or 'not taken on yet'}"


_ACCESS_ADVICE = "Set plugin_token or plugin_token_secret to what the plugin has in podResources.tokenFile"
# The advice on a response of a plugin, by its status.
_ADVICE = {
    401: _ACCESS_ADVICE,
    403: _ACCESS_ADVICE,
    404: "Set podResources.access in the plugin's configuration to token, and check that path is that of its view",
    503: "Check that the directory of the kubelet's pod resources is mounted into the plugin, and that the kubelet runs",
}
_MESSAGE_LENGTH = 300  # characters of another program's message


def connection_error(pod: str, message: str) -> str:
    """The error for a plugin that the API server did not reach. message: the API server's."""
    return (
        f"{pod} was not reached: {message.rstrip('.')}. Check that the plugin listens at this port, and that the API server reaches"
        " the pod network"
    )


def response_error(pod: str, status: int | None, message: str) -> str:
    """The error for a response other than a view. pod: its full name."""
    advice = _ADVICE.get(status or 0, "See the log of the pod")
    return f"{pod} answered {status}, {message[:_MESSAGE_LENGTH].rstrip('.')}. {advice}"
