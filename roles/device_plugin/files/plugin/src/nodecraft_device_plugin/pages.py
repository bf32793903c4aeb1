# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages: the resources, their devices, and the pods that hold them, over HTTP."""

from __future__ import annotations

import asyncio
import json
import typing as t

from nodecraft_device_plugin import explain, http, pod_resources, wire
from nodecraft_device_plugin import metrics as metrics_

if t.TYPE_CHECKING:  # The runtime imports this module.
    from nodecraft_device_plugin.runtime import Runtime


class Pages:
    """The pages of a process. Each response shows the state at the time of the request."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def start(self) -> asyncio.Server | None:
        """Serve on the configured port; None without a port. Raises OSError when the port is not available."""
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
            name: entry.server.shortage if entry.server.ready else entry.server.reason or "waiting for the next check"
            for name, entry in self._runtime.served.items()
        }
        lines = [f"[-] {name}: {reason}" if reason else f"[+] {name}" for name, reason in states.items()]
        if self._runtime.refused:
            lines.append(f"the configuration file is refused, the last valid one is in use: {self._runtime.refused}")
        return http.text(503 if any(states.values()) else 200, "\n".join(lines) or "ok")

    async def _metrics(self, _request: http.Request) -> http.Reply:
        return http.Reply(200, self._runtime.metrics.text(), metrics_.CONTENT_TYPE)

    async def _devices(self, _request: http.Request) -> http.Reply:
        report = {
            name: {
                **explain.described(entry.server.known, entry.skipped, entry.failure, entry.resource.sharing.replicas),
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
            return http.text(400, "invalid query: namespace and pod must be set together")
        try:
            if namespace and pod:
                view = await pod_resources.read_pod(socket, namespace, pod, inventories)
            else:
                view = await pod_resources.read(socket, inventories)
        except wire.NotFound as error:
            return http.text(404, f"the kubelet has no pod {namespace}/{pod}: {error}")
        except wire.Unavailable as error:
            return http.text(503, f"cannot query the kubelet's pod resources at {socket}: {error}")
        return http.Reply(200, render(view, self._runtime.settings.node_name), content_type)
