# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages: what a process tells over HTTP of its resources, its devices and the pods that hold them."""

from __future__ import annotations

import asyncio
import json
import typing as t

from nodecraft_device_plugin import explain, http, pod_resources, wire
from nodecraft_device_plugin import metrics as metrics_

if t.TYPE_CHECKING:  # The runtime starts the pages, so it is the one that imports.
    from nodecraft_device_plugin.runtime import Runtime


class Pages:
    """What there is to see of a process, as it is at the moment of each request."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def start(self) -> asyncio.Server | None:
        """Answer on the port that the settings name; None when they name none. Raises OSError without the port."""
        settings = self._runtime.settings
        if not settings.port:
            return None
        routes: dict[str, http.Route] = {
            "/livez": self._livez,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
            "/devices": self._devices,
            "/pod-resources": self._pod_resources,
            "/pod-resources/metrics": self._pod_resources_metrics,
        }
        return await http.start(settings.address, settings.port, routes)

    async def _livez(self, _request: http.Request) -> http.Reply:
        return http.text(200, "ok")

    async def _readyz(self, _request: http.Request) -> http.Reply:
        states = {
            name: entry.server.shortage if entry.server.ready else entry.server.reason or "about to look"
            for name, entry in self._runtime.served.items()
        }
        lines = [f"[-] {name}: {reason}" if reason else f"[+] {name}" for name, reason in states.items()]
        if self._runtime.refused:
            lines.append(f"the configuration file is refused, the last good one is in use: {self._runtime.refused}")
        return http.text(503 if any(states.values()) else 200, "\n".join(lines) or "ok")

    async def _metrics(self, _request: http.Request) -> http.Reply:
        return http.Reply(200, self._runtime.metrics.text(), metrics_.CONTENT_TYPE)

    async def _devices(self, _request: http.Request) -> http.Reply:
        report = {
            name: {
                **explain.described(entry.server.known, entry.left_out, entry.failure, entry.resource.sharing.replicas),
                "not_ready": "" if entry.server.ready else entry.server.reason,
                "shortage": entry.server.shortage,
            }
            for name, entry in self._runtime.served.items()
        }
        return http.Reply(200, json.dumps(report).encode(), "application/json")

    async def _pod_resources(self, request: http.Request) -> http.Reply:
        return await self._view(request, pod_resources.as_json, "application/json")

    async def _pod_resources_metrics(self, request: http.Request) -> http.Reply:
        return await self._view(request, pod_resources.as_metrics, metrics_.CONTENT_TYPE)

    async def _view(
        self, request: http.Request, render: t.Callable[[pod_resources.View, str], bytes], content_type: str
    ) -> http.Reply:
        refusal = pod_resources.refusal(self._runtime.config.pod_resources, request.headers)
        if refusal:
            return refusal
        inventories = {name: entry.server.known for name, entry in self._runtime.served.items()}
        socket = self._runtime.settings.pod_resources_socket
        namespace, pod = request.query.get("namespace", ""), request.query.get("pod", "")
        if bool(namespace) != bool(pod):
            return http.text(400, "one pod is asked for with both, namespace and pod")
        try:
            if namespace and pod:
                view = await pod_resources.read_pod(socket, namespace, pod, inventories)
            else:
                view = await pod_resources.read(socket, inventories)
        except wire.NotFound as error:
            return http.text(404, f"the kubelet has no pod {namespace}/{pod}: {error}")
        except wire.Unavailable as error:
            return http.text(503, f"the kubelet's pod resources at {socket} cannot be asked: {error}")
        return http.Reply(200, render(view, self._runtime.settings.node_name), content_type)
