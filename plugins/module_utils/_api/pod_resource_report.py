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
from .._plan.device.allocations import PodResourcesError, View
from .._plan.kubernetes import pods
from .._plan.node import extended_resources as node_resources
from .client import ApiError, Client, Connect, Json, Params
from .objects import read_pods, read_requested_nodes
from .parallel import for_each

# The API server does not pass on the header Authorization.
TOKEN_HEADER = "X-Device-Plugin-Token"  # noqa: S105
TOKEN_KEY = "token"  # noqa: S105  # in a Secret

# Statuses of the API server or of the account, for every pod; 0: it did not respond.
_FATAL_STATUSES = (0, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)
_MAX_NAMED = 5  # up to this many nodes are in the warning with their reason


@dataclasses.dataclass(frozen=True)
class _PluginClient:
    """Sends requests to plugins. endpoint: port and path, as the API server's proxy takes them."""

    client: Client
    endpoint: str
    headers: t.Mapping[str, str]

    def read_view(self, pod: Json) -> View:
        """Read what the plugin in a pod reports of the kubelet's PodResources. Raises PodResourcesError for what concerns this pod alone, else
        ApiError."""
        name = pods.full_name(pod)
        path = f"namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}:{self.endpoint}"
        try:
            response = self.client.get_proxied(path, self.headers)
        except ApiError as exc:
            if exc.status in _FATAL_STATUSES:
                raise
            raise PodResourcesError(pod_resources.connection_error(name, str(exc))) from exc
        if response.status != HTTPStatus.OK:
            text = response.text or response.problem
            raise PodResourcesError(pod_resources.response_error(name, response.status, text))
        return pod_resources.parse_view(name, response.body)


def read_all(params: Params, *, connect: Connect, warn: t.Callable[[str], None]) -> dict[str, t.Any]:
    """Report of the nodes that are named or selected, or of all, which pod has which device, and which are free."""
    names = params["nodes"]
    client, nodes = read_requested_nodes(params, names, connect=connect, warn=warn)
    plugins = _list_plugins(client, params)
    views, reasons = _query_plugins(client, params, nodes, plugins)
    # After the views, so that pods that started in between are known.
    concerned = [name for name, node in nodes.items() if name in views or node_resources.capacity(node)]
    on_node = read_pods(client, concerned) if concerned else {}
    allocated = {name: pod_resources.list_allocations(name, view, on_node[name]) for name, view in views.items()}
    results = {
        name: {
            "responded": name in views,
            "msg": ". ".join([*reasons.get(name, []), ""]).strip(),
            "resources": pod_resources.summarize_resources(
                node, views.get(name), allocated.get(name, []), on_node.get(name, [])
            ),
        }
        for name, node in nodes.items()
    }
    # A node without resources needs no report.
    expected = {*plugins, *(names or []), *(name for name, entry in results.items() if entry["resources"])}
    _warn_unreported([name for name in nodes if name not in views and name in expected], results, warn)
    return {"nodes": results, "allocations": [entry.to_result() for name in nodes for entry in allocated.get(name, [])]}


def _warn_unreported(names: list[str], results: t.Mapping[str, Json], warn: t.Callable[[str], None]) -> None:
    """Warn once of the nodes without a report. A thousand of them mostly have one reason."""
    if names:
        more = f" The others are {', '.join(names[_MAX_NAMED:])}." if names[_MAX_NAMED:] else ""
        details = " ".join(f"{name}: {results[name]['msg']}" for name in names[:_MAX_NAMED])
        warn(f"{len(names)} of {len(results)} nodes do not report which pod holds which device. {details}{more}")


def _list_plugins(client: Client, params: Params) -> dict[str, list[Json]]:
    """The pods of device plugins, by node."""
    namespace, selector = params["namespace"], params["pod_selector"]
    by_node: dict[str, list[Json]] = {}
    for pod in client.list(f"namespaces/{namespace}/pods", labelSelector=selector):
        if pod["spec"].get("nodeName"):
            by_node.setdefault(pod["spec"]["nodeName"], []).append(pod)
    if not by_node:
        raise KubeadmError(
            f"no pod with the labels {selector} runs in the namespace {namespace} of {client.url}, so there is nothing to query. Set"
            " namespace and pod_selector to those of the device plugin's DaemonSet, or deploy it."
        )
    return by_node


def _token_header(client: Client, params: Params) -> dict[str, str]:
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


def _query_plugins(
    client: Client,
    params: Params,
    nodes: t.Mapping[str, Json],
    plugins: t.Mapping[str, t.Sequence[Json]],
) -> tuple[dict[str, View], dict[str, list[str]]]:
    """Query all plugins of all nodes. Returns the views, by node, and why plugins reported nothing. Raises what concerns all of them."""
    views: dict[str, list[View]] = {}
    selection = f"the labels {params['pod_selector']} in the namespace {params['namespace']}"
    blockers = {
        name: pod_resources.node_blocker(node, plugins.get(name, []), selection) for name, node in nodes.items()
    }
    reasons = {name: [blocker] for name, blocker in blockers.items() if blocker}
    queries = [
        (name, pod)
        for name in nodes
        if name not in reasons
        for pod in plugins[name]
        if pod_resources.pod_blocker(pod) is None
    ]
    endpoint = f"{params['port']}/proxy/{params['path'].lstrip('/')}"
    plugin_client = _PluginClient(client, endpoint, _token_header(client, params))

    def query(entry: tuple[str, Json]) -> bool:
        node, pod = entry
        try:
            view = plugin_client.read_view(pod)
            views.setdefault(node, []).append(view)
        except PodResourcesError as exc:
            reasons.setdefault(node, []).append(str(exc))
        return True

    for_each(queries, query, workers=params["concurrency"], stop_at_failure=True)
    return {node: pod_resources.merge_views(of_node) for node, of_node in views.items()}, reasons
