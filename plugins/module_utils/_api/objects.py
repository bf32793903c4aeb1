# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads nodes and their pods with as few requests as possible, and warns of versions that are not tested."""

from __future__ import annotations

import typing as t
from http import HTTPStatus

from .._plan.common.errors import KubeadmError
from .._plan.kubernetes import names as node_names
from .._plan.kubernetes import versions
from .._plan.node import plan as node_plan
from .client import ApiError, Client, Connect, Json, Params
from .parallel import for_each


def server_version(client: Client) -> str:
    """The version of the API server."""
    return str(client.without_retries().get("/version").get("gitVersion"))


def version_warnings(client: Client, nodes: t.Iterable[Json] = ()) -> list[str]:
    """Warn of an API server, and of kubelets of nodes that were read, whose versions are not tested. Costs one request."""
    try:
        server = server_version(client)
    except KubeadmError as exc:  # no reason to end a module
        server = str(exc).rstrip(".")
    kubelets = filter(None, map(node_plan.kubelet_version, nodes))
    return versions.warnings(client.url, {"API server": [server], "kubelet": kubelets})


FEW = 8  # up to this many objects are read one by one, instead of with all others in a list

_KUBELET_TIMEOUT = 30.0  # seconds that the API server has to reach a kubelet
_PAUSE = 1.0
_MAX_EXCERPT = 200  # characters of a response that is no configuration
# Statuses of an error: of the API server or the account, for every node; and of a kubelet that the API server does not reach.
_OF_ALL_NODES = (0, HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS)
_UNREACHED = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)


def check_selection(names: t.Sequence[str] | None, selector: str | None) -> None:
    """Refuse names and a selector that no node could have, before a request is sent."""
    node_names.check_selector(selector)
    for name in names or []:
        node_names.check_node("nodes", name)


def read_requested_nodes(
    params: Params,
    names: t.Sequence[str] | None,
    *,
    needed: t.Sequence[str] = (),
    connect: Connect,
    warn: t.Callable[[str], None],
) -> tuple[Client, dict[str, Json]]:
    """Connect, read the nodes that are named or selected, all of them when none is, and warn of versions that are not tested.

    needed: nodes that must be among them. Raises KubeadmError for a node that does not exist.
    """
    selector, workers = params["label_selector"], params["concurrency"]
    check_selection(names, selector)
    client = connect()
    all_nodes = names is None and selector is None
    found = _by_name(client.list("nodes")) if all_nodes else read_nodes(client, names or [], selector, workers=workers)
    unknown = [name for name in [*(names or []), *needed] if name not in found]
    if unknown:
        raise KubeadmError(
            f"there is no node {', '.join(unknown)} in the cluster of {client.url}. A kubelet registers its node when it is"
            " started: run systemctl restart kubelet there, or exclude the host."
        )
    for warning in version_warnings(client, found.values()):
        warn(warning)
    return client, found


def read_nodes(client: Client, names: t.Collection[str], selector: str | None, *, workers: int) -> dict[str, Json]:
    """The nodes of these names, and those that a label selector matches. A node that does not exist is skipped."""
    found = _by_name(client.list("nodes", labelSelector=selector)) if selector else {}
    missing = [name for name in names if name not in found]
    if len(missing) <= FEW:
        return {**found, **read_each(client, {name: f"nodes/{name}" for name in missing}, workers=workers)}
    listed = _by_name(client.list("nodes"))
    return {**found, **{name: listed[name] for name in missing if name in listed}}


def read_kubelets(client: Client, names: t.Sequence[str], *, workers: int) -> dict[str, Json | str]:
    """The configuration with which the kubelets of nodes run, or why it cannot be read, through the API server. Needs C(get) on C(nodes/proxy)."""
    found: dict[str, Json | str] = {}

    def read(name: str) -> bool:
        found[name] = _read_kubelet(client, name)
        return True

    for_each(names, read, workers=workers, stop_at_failure=True)
    return found


def _read_kubelet(client: Client, name: str) -> Json | str:
    """Read one of them. A kubelet that was just started may still wait for its serving certificate."""
    deadline = client.clock() + _KUBELET_TIMEOUT
    while True:
        try:
            response = client.get_proxied(f"nodes/{name}/proxy/configz", {})
        except ApiError as exc:
            if exc.status in _OF_ALL_NODES:
                raise
            if exc.status not in _UNREACHED:
                return str(exc)
            if client.clock() >= deadline:
                return _unreached_message(str(exc))
        else:
            config = (response.body or {}).get("kubeletconfig")
            return (
                config
                if isinstance(config, dict)
                else f"its kubelet answers {response.status} at /configz: {response.text[:_MAX_EXCERPT]}"
            )
        client.sleep(_PAUSE)


def _unreached_message(problem: str) -> str:
    return (
        f"the API server does not reach this kubelet: {problem}. So kubectl logs, exec and top do not work on the node either. Check the address"
        " and the port of the kubelet, and whether its serving certificate was issued (kubectl get certificatesigningrequests)"
    )


def read_each(client: Client, paths: t.Mapping[str, str], *, workers: int) -> dict[str, Json]:
    """Read objects by name -> path. One that does not exist is skipped."""
    found: dict[str, Json | None] = {}

    def read(name: str) -> bool:
        found[name] = client.find(paths[name])
        return True

    for_each(list(paths), read, workers=workers, stop_at_failure=True)
    return {name: each for name in paths for each in [found[name]] if each is not None}


def _by_name(nodes: t.Iterable[Json]) -> dict[str, Json]:
    return {node_plan.node_name(node): node for node in nodes}


def read_pods(client: Client, nodes: t.Collection[str]) -> dict[str, list[Json]]:
    """The pods of nodes, by node."""
    if len(nodes) <= FEW:
        return {name: client.list("pods", fieldSelector=f"spec.nodeName={name}") for name in nodes}
    pods: dict[str, list[Json]] = {name: [] for name in nodes}
    for pod in client.list("pods"):
        node = pod["spec"].get("nodeName")
        if node in pods:
            pods[node].append(pod)
    return pods
