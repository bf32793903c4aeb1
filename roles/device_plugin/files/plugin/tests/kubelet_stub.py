# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet as device plugins see it: registration, streams, calls, and the pod resources service.

Also a program, to be stopped and continued.

Like the real one it empties its directory when it starts, connects to each plugin that registers, accepts a list as that of the resource
from every sender, and never connects to a plugin again by itself. It leaves the stream of a former plugin open when another
registers; when any of them ends, it drops the one that registered last, with all devices. As from Kubernetes 1.37 on, it accepts each socket once.
"""

from __future__ import annotations

import asyncio
import json
import sys
import typing as t
from pathlib import Path

import grpc
from nodecraft_device_plugin import protocol

API = protocol.device_plugin
PODS = protocol.pod_resources
Devices = dict[str, str]


class Plugin:
    """A plugin that has registered."""

    def __init__(self, directory: Path, request: t.Any) -> None:
        self.resource = str(request.resource_name)
        self.endpoint = str(request.endpoint)
        self.options = request.options
        self.channel = grpc.aio.insecure_channel(
            f"unix:{directory / self.endpoint}", options=[("grpc.use_local_subchannel_pool", 1)]
        )
        self.devices: dict[str, t.Any] = {}
        self.updates = 0
        self.open = False
        self.watch: asyncio.Task[None] | None = None

    async def call(self, method: str, request: t.Any, response: t.Any) -> t.Any:
        send = self.channel.unary_unary(
            f"/v1beta1.DevicePlugin/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString,
        )
        return await send(request, timeout=10)

    async def close(self) -> None:
        if self.watch and self.watch is not asyncio.current_task():
            self.watch.cancel()
            await asyncio.gather(self.watch, return_exceptions=True)
        await self.channel.close()


def holder(name: str, device: str, resource: str, namespace: str = "team", numa: int = 1) -> t.Any:
    """A pod with one container that holds one device."""
    devices = PODS.ContainerDevices(resource_name=resource, device_ids=[device])
    devices.topology.nodes.add(ID=numa)
    container = PODS.ContainerResources(name="main", devices=[devices])
    return PODS.PodResources(name=name, namespace=namespace, containers=[container])


class Kubelet:
    """Serves kubelet.sock in a directory, and pod-resources.sock beside the directory. pods: those that hold devices.

    no_pod: the response to a request for another pod.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.pod_resources = directory.parent / "pod-resources.sock"
        self.pods: list[t.Any] = []
        self.plugins: dict[str, Plugin] = {}
        self.watched: list[Plugin] = []
        self.registrations: list[tuple[str, str]] = []
        self.refuse = ""
        self.no_pod = (grpc.StatusCode.NOT_FOUND, "pod not found")
        self._server: t.Any = None
        self._changed = asyncio.Event()

    async def start(self) -> None:
        for path in self.directory.iterdir():
            if path.name != "kubelet_internal_checkpoint":
                path.unlink()
        self._server = grpc.aio.server()
        handler = grpc.unary_unary_rpc_method_handler(
            self._register, API.RegisterRequest.FromString, API.Empty.SerializeToString
        )
        handlers = grpc.method_handlers_generic_handler("v1beta1.Registration", {"Register": handler})
        self._server.add_generic_rpc_handlers((handlers, self._lister()))
        for path in (self.directory / "kubelet.sock", self.pod_resources):
            self._server.add_insecure_port(f"unix:{path}")
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(None)
        for plugin in self.watched:
            await plugin.close()
            plugin.open = False
        self.watched = []
        self._notify()

    async def restart(self) -> None:
        await self.stop()
        self.plugins = {}
        await self.start()

    async def cut_stream(self, resource: str) -> None:
        """Drop only the stream; the socket and everything else stay."""
        await self.plugins[resource].close()
        self._notify()

    def healthy(self, resource: str) -> list[str]:
        """The ids that are allocatable."""
        plugin = self.plugins.get(resource)
        if plugin is None or not plugin.open:
            return []
        return sorted(identifier for identifier, device in plugin.devices.items() if device.health == "Healthy")

    def ids(self, resource: str) -> list[str]:
        """All ids of the last list."""
        plugin = self.plugins.get(resource)
        return sorted(plugin.devices) if plugin else []

    async def until(self, met: t.Callable[[], bool], timeout: float = 10.0) -> None:
        """Wait until a condition holds; checked after each change."""
        async with asyncio.timeout(timeout):
            while not met():
                self._changed.clear()
                await self._changed.wait()

    async def until_healthy(self, resource: str, ids: t.Sequence[str], timeout: float = 10.0) -> None:
        await self.until(lambda: self.healthy(resource) == sorted(ids), timeout)

    async def allocate(self, resource: str, ids: t.Sequence[str]) -> t.Any:
        request = API.AllocateRequest(container_requests=[API.ContainerAllocateRequest(devices_ids=ids)])
        response = await self.plugins[resource].call("Allocate", request, API.AllocateResponse)
        return response.container_responses[0]

    async def preferred(self, resource: str, available: t.Sequence[str], must: t.Sequence[str], size: int) -> list[str]:
        one = API.ContainerPreferredAllocationRequest(
            available_deviceIDs=available, must_include_deviceIDs=must, allocation_size=size
        )
        request = API.PreferredAllocationRequest(container_requests=[one])
        response = await self.plugins[resource].call("GetPreferredAllocation", request, API.PreferredAllocationResponse)
        return list(response.container_responses[0].deviceIDs)

    async def pre_start(self, resource: str, ids: t.Sequence[str]) -> None:
        request = API.PreStartContainerRequest(devices_ids=ids)
        await self.plugins[resource].call("PreStartContainer", request, API.PreStartContainerResponse)

    def _lister(self) -> t.Any:
        methods = {
            "List": (self._list, PODS.ListPodResourcesRequest),
            "GetAllocatableResources": (self._allocatable, PODS.AllocatableResourcesRequest),
            "Get": (self._get, PODS.GetPodResourcesRequest),
        }
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                method, request.FromString, lambda message: message.SerializeToString()
            )
            for name, (method, request) in methods.items()
        }
        return grpc.method_handlers_generic_handler("v1.PodResourcesLister", handlers)

    async def _list(self, _request: t.Any, _context: t.Any) -> t.Any:
        return PODS.ListPodResourcesResponse(pod_resources=self.pods)

    async def _allocatable(self, _request: t.Any, _context: t.Any) -> t.Any:
        devices = [
            PODS.ContainerDevices(resource_name=resource, device_ids=[identifier])
            for resource in self.plugins
            for identifier in self.healthy(resource)
        ]
        return PODS.AllocatableResourcesResponse(devices=devices)

    async def _get(self, request: t.Any, context: t.Any) -> t.Any:
        for pod in self.pods:
            if (pod.namespace, pod.name) == (request.pod_namespace, request.pod_name):
                return PODS.GetPodResourcesResponse(pod_resources=pod)
        return await context.abort(*self.no_pod)

    async def _register(self, request: t.Any, context: t.Any) -> t.Any:
        self.registrations.append((request.resource_name, request.endpoint))
        self._notify()
        if self.refuse:
            await context.abort(grpc.StatusCode.UNKNOWN, self.refuse)
        if self.registrations.count(self.registrations[-1]) > 1:
            await context.abort(grpc.StatusCode.UNKNOWN, f"device plugin already connected: {request.endpoint}")
        plugin = Plugin(self.directory, request)
        await plugin.call("GetDevicePluginOptions", API.Empty(), API.DevicePluginOptions)
        self.plugins[plugin.resource] = plugin
        self.watched.append(plugin)
        plugin.watch = asyncio.create_task(self._watch(plugin))
        return API.Empty()

    async def _watch(self, plugin: Plugin) -> None:
        stream = plugin.channel.unary_stream(
            "/v1beta1.DevicePlugin/ListAndWatch",
            request_serializer=API.Empty.SerializeToString,
            response_deserializer=API.ListAndWatchResponse.FromString,
        )(API.Empty())
        try:
            async for response in stream:
                last = self.plugins[plugin.resource]
                last.devices = {device.ID: device for device in response.devices}
                last.open = last.open or last is plugin
                last.updates += 1
                self._notify()
        except grpc.aio.AioRpcError:
            pass
        finally:
            last = self.plugins.get(plugin.resource, plugin)
            last.open = False
            self._notify()
        if last is not plugin:
            await last.close()

    def _notify(self) -> None:
        self._changed.set()


async def main(directory: Path) -> None:
    """Serve, and print the allocatable ids of all resources after each change."""
    kubelet = Kubelet(directory)
    await kubelet.start()
    printed: dict[str, list[str]] = {}

    def changed() -> bool:
        return printed != {resource: kubelet.healthy(resource) for resource in kubelet.plugins}

    while True:
        await kubelet.until(changed, timeout=600)
        printed = {resource: kubelet.healthy(resource) for resource in kubelet.plugins}
        sys.stdout.write(json.dumps(printed) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
