# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API of a lab by bare requests: what any other way to the same end is measured against."""

from __future__ import annotations

import json
import typing as t
from concurrent.futures import ThreadPoolExecutor

import kubernetes
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import plan as node_plan

IN_FLIGHT = 8

Json = dict[str, t.Any]


class Cluster:
    """Requests over persistent connections, so many at a time."""

    def __init__(self, lab: Lab) -> None:
        configuration = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(str(lab.directory / "kubeconfig"), client_configuration=configuration)
        configuration.connection_pool_maxsize = IN_FLIGHT
        self._url = configuration.host
        self._pool = kubernetes.client.ApiClient(configuration).rest_client.pool_manager

    def request(self, verb: str, path: str, body: t.Any = None, *, group: str = "api/v1") -> Json:
        """One request. path: within the group of the API."""
        kind = "application/json-patch+json" if verb == "PATCH" else "application/json"
        content = None if body is None else json.dumps(body)
        response = self._pool.request(verb, f"{self._url}/{group}/{path}", body=content, headers={"Content-Type": kind})
        if response.status >= 300:
            raise SystemExit(f"{verb} {path}: {response.status} {response.data[:500]!r}")
        return t.cast(Json, json.loads(response.data))

    def send(self, requests: t.Sequence[tuple[str, str, t.Any]]) -> None:
        """Many requests: verb, path and body of each."""
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            list(pool.map(lambda request: self.request(*request), requests))

    def nodes(self, selector: str) -> list[Json]:
        """The nodes with a label."""
        return t.cast("list[Json]", self.request("GET", f"nodes?labelSelector={selector}")["items"])

    def ready_since(self, node: str) -> str | None:
        """When the kubelet of a ready node last renewed its Lease; None when the node is not ready.

        A kubelet that starts renews its lease at once; the time of the condition changes only every five minutes.
        """
        if not node_plan.is_ready(self.request("GET", f"nodes/{node}")):
            return None
        path = f"namespaces/kube-node-lease/leases/{node}"
        return str(self.request("GET", path, group="apis/coordination.k8s.io/v1")["spec"]["renewTime"])
