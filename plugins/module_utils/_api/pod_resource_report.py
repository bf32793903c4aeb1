# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(pod_resource_info) reads."""

from __future__ import annotations

import base64
import dataclasses
import typing as t
from http import HTTPStatus

from .._plan.common.errors import KubeadmError
from .._plan.device import allocations as pod_resources
from .._plan.device.allocations import Untold, View
from .._plan.kubernetes import pods
from .._plan.node import extended_resources as node_resources
from .client import ApiError, Client, Connect, Json, Params
from .objects import read_pods, read_requested_nodes
from .parallel import for_each

# The API server keeps Authorization for itself.
TOKEN_HEADER = "X-Device-Plugin-Token"  # noqa: S105
TOKEN_KEY = "token"  # noqa: S105  # in a Secret

# What the API server says of itself or of the account, not of one pod; 0 is its silence.
_OF_ALL = (0, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)
_TOLD = 5  # so many nodes are told of with their reason in the warning


@dataclasses.dataclass(frozen=True)
class _Asking:
    """How plugins are asked. place: port and path, as the API server's proxy wants them."""

    client: Client
    place: str
    headers: t.Mapping[str, str]

    def view(self, pod: Json) -> View:
        """What the plugin in a pod tells. Raises Untold for what concerns this pod alone, and ApiError for the rest."""
        name = pods.full_name(pod)
        path = f"namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}:{self.place}"
        try:
            response = self.client.get_proxied(path, self.headers)
        except ApiError as exc:
            if exc.status in _OF_ALL:
                raise
            raise Untold(pod_resources.unreached(name, str(exc))) from exc
        if response.status != HTTPStatus.OK:
            raise Untold(pod_resources.refusal(name, response.status, response.text or response.problem))
        return pod_resources.read_view(name, response.body)


def read_all(params: Params, *, connect: Connect, warn: t.Callable[[str], None]) -> dict[str, t.Any]:
    """Tell of the nodes that are named or selected, or of all, which pod holds which device, and what is free."""
    names = params["nodes"]
    client, nodes = read_requested_nodes(params, names, connect=connect, warn=warn)
    plugins = _plugins(client, params)
    views, reasons = _ask_all(client, params, nodes, plugins)
    # After the views: a pod that came in between is known then.
    concerned = [name for name, node in nodes.items() if name in views or node_resources.capacity(node)]
    on_node = read_pods(client, concerned) if concerned else {}
    held = {name: pod_resources.allocations(name, view, on_node[name]) for name, view in views.items()}
    found = {
        name: {
            "responded": name in views,
            "msg": ". ".join([*reasons.get(name, []), ""]).strip(),
            "resources": pod_resources.resources(node, views.get(name), held.get(name, []), on_node.get(name, [])),
        }
        for name, node in nodes.items()
    }
    # Where nothing is offered, nothing is missed.
    expected = {*plugins, *(names or []), *(name for name, entry in found.items() if entry["resources"])}
    _warn_of([name for name in nodes if name not in views and name in expected], found, warn)
    return {"nodes": found, "allocations": [entry.shown() for name in nodes for entry in held.get(name, [])]}


def _warn_of(names: list[str], found: t.Mapping[str, Json], warn: t.Callable[[str], None]) -> None:
    """Warn once of the nodes that could not be asked. A thousand of them have mostly one reason."""
    if names:
        more = f" The others are {', '.join(names[_TOLD:])}." if names[_TOLD:] else ""
        told = " ".join(f"{name}: {found[name]['msg']}" for name in names[:_TOLD])
        warn(f"{len(names)} of {len(found)} nodes do not report which pod holds which device. {told}{more}")


def _plugins(client: Client, params: Params) -> dict[str, list[Json]]:
    """The pods of plugins, by node."""
    namespace, selector = params["namespace"], params["pod_selector"]
    found: dict[str, list[Json]] = {}
    for pod in client.list(f"namespaces/{namespace}/pods", labelSelector=selector):
        if pod["spec"].get("nodeName"):
            found.setdefault(pod["spec"]["nodeName"], []).append(pod)
    if not found:
        raise KubeadmError(
            f"no pod with the labels {selector} runs in the namespace {namespace} of {client.url}, so there is nothing to query. Set"
            " namespace and pod_selector to those of the device plugin's DaemonSet, or deploy it."
        )
    return found


def _headers(client: Client, params: Params) -> dict[str, str]:
    token, secret = params["plugin_token"], params["plugin_token_secret"]
    if secret:
        path = f"namespaces/{params['namespace']}/secrets/{secret}"
        try:
            token = base64.b64decode(client.get(path)["data"][TOKEN_KEY], validate=True).decode()
        except (KeyError, TypeError, ValueError) as exc:
            raise KubeadmError(
                f"plugin_token_secret: the Secret {secret} in the namespace {params['namespace']} has no text under the key"
                f" {TOKEN_KEY}. Write the token there that the plugin has in podResources.tokenFile."
            ) from exc
    return {TOKEN_HEADER: token.strip()} if token else {}


def _ask_all(
    client: Client,
    params: Params,
    nodes: t.Mapping[str, Json],
    plugins: t.Mapping[str, t.Sequence[Json]],
) -> tuple[dict[str, View], dict[str, list[str]]]:
    """Ask all plugins of all nodes. Returns the views, by node, and why plugins told nothing. Raises what concerns all."""
    views: dict[str, list[View]] = {}
    sought = f"the labels {params['pod_selector']} in the namespace {params['namespace']}"
    whys = {name: pod_resources.why_not_asked(node, plugins.get(name, []), sought) for name, node in nodes.items()}
    reasons = {name: [why] for name, why in whys.items() if why}
    asked = [
        (name, pod)
        for name in nodes
        if name not in reasons
        for pod in plugins[name]
        if pod_resources.blocker(pod) is None
    ]
    asking = _Asking(client, f"{params['port']}/proxy/{params['path'].lstrip('/')}", _headers(client, params))

    def ask(entry: tuple[str, Json]) -> bool:
        node, pod = entry
        try:
            view = asking.view(pod)
            views.setdefault(node, []).append(view)
        except Untold as exc:
            reasons.setdefault(node, []).append(str(exc))
        return True

    for_each(asked, ask, workers=params["concurrency"], stop_at_failure=True)
    return {node: pod_resources.merged(told) for node, told in views.items()}, reasons
