# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""gRPC: the kubelet's messages on one side, the plugin's values on the other."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

import grpc

from nodecraft_device_plugin import protocol
from nodecraft_device_plugin.allocation import Allocation, Rejected
from nodecraft_device_plugin.inventory import Listed

API = protocol.device_plugin
VERSION = "v1beta1"
# Go's gRPC servers refuse the default authority, which grpc derives from the socket's path.
_CHANNEL = [("grpc.default_authority", "localhost"), ("grpc.use_local_subchannel_pool", 1)]
# A kubelet that does not respond to a ping has lost the stream.
_SERVER = [("grpc.keepalive_time_ms", 60_000), ("grpc.keepalive_timeout_ms", 20_000)]


class Unavailable(Exception):
    """The call failed; the message is that of the kubelet or of gRPC."""


class Unreached(Unavailable):
    """The call did not reach the kubelet."""


class NotFound(Unavailable):
    """The kubelet does not have this pod."""


class Service(t.Protocol):
    """The calls of the kubelet for a resource."""

    def options(self) -> tuple[bool, bool]:
        """pre_start_required and get_preferred_allocation_available."""

    def listings(self) -> t.AsyncGenerator[t.Sequence[Listed], None]:
        """The devices, now and after each change, until the service stops."""

    def preferred(self, available: t.Sequence[str], must_include: t.Sequence[str], size: int) -> list[str]:
        """The ids that one container should get."""

    async def allocate(self, ids: t.Sequence[str]) -> Allocation:
        """What one container gets. Raises Rejected."""

    async def pre_start(self, ids: t.Sequence[str]) -> None:
        """Prepare devices for a container. Raises Rejected."""


def server(service: Service, path: Path) -> grpc.aio.Server:
    """A server for a resource on a socket, not started yet. Raises OSError when the socket cannot be created."""
    made = grpc.aio.server(options=_SERVER)
    made.add_generic_rpc_handlers((_handlers(service),))
    try:
        made.add_insecure_port(f"unix:{path}")
    except RuntimeError as error:
        raise OSError(f"cannot create the socket {path}: {error}") from error
    return made


def _handlers(service: Service) -> t.Any:
    async def options(_request: t.Any, _context: t.Any) -> t.Any:
        return _options(service)

    async def list_and_watch(_request: t.Any, context: t.Any) -> None:
        async with contextlib.aclosing(service.listings()) as listings:
            async for listed in listings:
                await context.write(API.ListAndWatchResponse(devices=[_device(device) for device in listed]))

    async def preferred(request: t.Any, _context: t.Any) -> t.Any:
        chosen = [
            service.preferred(one.available_deviceIDs, one.must_include_deviceIDs, one.allocation_size)
            for one in request.container_requests
        ]
        responses = [API.ContainerPreferredAllocationResponse(deviceIDs=ids) for ids in chosen]
        return API.PreferredAllocationResponse(container_responses=responses)

    async def allocate(request: t.Any, context: t.Any) -> t.Any:
        try:
            responses = [_allocated(await service.allocate(one.devices_ids)) for one in request.container_requests]
        except Rejected as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        return API.AllocateResponse(container_responses=responses)

    async def pre_start(request: t.Any, context: t.Any) -> t.Any:
        try:
            await service.pre_start(request.devices_ids)
        except Rejected as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        return API.PreStartContainerResponse()

    return grpc.method_handlers_generic_handler(
        f"{VERSION}.DevicePlugin",
        {
            "GetDevicePluginOptions": _unary(options, API.Empty),
            "ListAndWatch": grpc.unary_stream_rpc_method_handler(list_and_watch, API.Empty.FromString, _bytes),
            "GetPreferredAllocation": _unary(preferred, API.PreferredAllocationRequest),
            "Allocate": _unary(allocate, API.AllocateRequest),
            "PreStartContainer": _unary(pre_start, API.PreStartContainerRequest),
        },
    )


def _unary(behaviour: t.Callable[..., t.Any], request: t.Any) -> t.Any:
    return grpc.unary_unary_rpc_method_handler(behaviour, request.FromString, _bytes)


def _bytes(message: t.Any) -> bytes:
    serialized: bytes = message.SerializeToString()
    return serialized


def _options(service: Service) -> t.Any:
    pre_start, preference = service.options()
    return API.DevicePluginOptions(pre_start_required=pre_start, get_preferred_allocation_available=preference)


def _device(device: Listed) -> t.Any:
    message = API.Device(ID=device.id, health="Healthy" if device.healthy else "Unhealthy")
    if device.numa is not None:
        message.topology.nodes.add(ID=device.numa)
    return message


def _allocated(allocation: Allocation) -> t.Any:
    return API.ContainerAllocateResponse(
        envs=allocation.env,
        mounts=[
            API.Mount(container_path=m.container_path, host_path=m.host_path, read_only=m.read_only)
            for m in allocation.mounts
        ],
        devices=[
            API.DeviceSpec(container_path=n.container_path, host_path=n.host_path, permissions=n.permissions)
            for n in allocation.nodes
        ],
        annotations=allocation.annotations,
        cdi_devices=[API.CDIDevice(name=name) for name in allocation.cdi],
    )


async def register(kubelet: Path, resource: str, endpoint: str, service: Service, timeout: float) -> None:
    """Register a resource with the kubelet. endpoint: the name of the socket. timeout: seconds. Raises Unavailable, or its Unreached."""
    request = API.RegisterRequest(version=VERSION, endpoint=endpoint, resource_name=resource, options=_options(service))
    await call(kubelet, f"/{VERSION}.Registration/Register", request, API.Empty, timeout)


async def call(socket: Path, method: str, request: t.Any, response: t.Any, timeout: float) -> t.Any:
    """One call on a socket. response: the class of the response. timeout: seconds. Raises Unavailable, or its Unreached or NotFound."""
    async with grpc.aio.insecure_channel(f"unix:{socket}", options=_CHANNEL) as channel:
        send = channel.unary_unary(method, request_serializer=_bytes, response_deserializer=response.FromString)
        try:
            return await send(request, timeout=timeout)
        except grpc.aio.AioRpcError as error:
            raise _kind_of(error)(f"{error.code().name}: {error.details()}") from error


def _kind_of(error: grpc.aio.AioRpcError) -> type[Unavailable]:
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return Unreached
    return NotFound if _is_missing(error) else Unavailable


def _is_missing(error: grpc.aio.AioRpcError) -> bool:
    """Whether a pod does not exist. Some kubelets report that only in the message."""
    unknown = error.code() is grpc.StatusCode.UNKNOWN
    return error.code() is grpc.StatusCode.NOT_FOUND or (unknown and str(error.details()).endswith(" not found"))
