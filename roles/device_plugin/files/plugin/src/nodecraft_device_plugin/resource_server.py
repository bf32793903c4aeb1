# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves one resource to the kubelet: its socket, its registration, its responses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from nodecraft_device_plugin import allocation, cdi, devices, inventory, logs, preference, probes, registration, wire
from nodecraft_device_plugin.allocation import Allocation, Rejected
from nodecraft_device_plugin.config import Resource
from nodecraft_device_plugin.host import Host, NotUsable, Unreadable
from nodecraft_device_plugin.inventory import Inventory, Known, Listed
from nodecraft_device_plugin.metrics import Metrics
from nodecraft_device_plugin.registration import Backoff, Identity, Observation, Step

KUBELET_SOCKET = "kubelet.sock"
REGISTER_TIMEOUT = 5.0
# The interval at which sockets are checked without an inotify event; seconds.
POLL = 1.0
# How long calls in progress may take at the end; seconds.
GRACE = 5.0
# Of more changes at once, only their number is logged.
_LOGGED = 20


@dataclass(frozen=True)
class Context:
    """What all resources of a process share. started: milliseconds, identifies the process. random: from 0 to 1."""

    directory: Path
    host: Host
    metrics: Metrics
    cdi: cdi.Files
    started: int
    random: t.Callable[[], float]
    clock: t.Callable[[], float] = time.monotonic
    rescan: t.Callable[[], None] = lambda: None


@dataclass
class Endpoint:
    """A served socket. streams: the number of open ListAndWatch streams. announced: whether it was sent to a kubelet."""

    path: Path
    server: t.Any = None
    streams: int = 0
    announced: bool = False
    stopping: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class ResourceServer:
    """Serves a resource until it is stopped, across restarts of the kubelet."""

    def __init__(self, resource: Resource, context: Context) -> None:
        self.resource = resource
        self.known: Inventory = {}
        self.listed: tuple[Listed, ...] = ()
        self.reason = "not started"
        self.commands = probes.Commands()
        self._context = context
        self._endpoint: Endpoint | None = None
        self._former: list[Endpoint] = []
        self._number = 0
        self._kubelet: Identity | None = None
        self._registered_with: Identity | None = None
        self._registered_at = 0.0
        self._backoff = Backoff(context.random)
        self._next_attempt = 0.0
        self._wake = asyncio.Event()
        self._scanned = asyncio.Event()
        self._stopping = False
        self._with_cdi = False
        self._displaced = False
        context.metrics.begin(resource.name)

    @property
    def ready(self) -> bool:
        """Whether the resource is registered and the kubelet watches its list."""
        return registration.next_step(self._observe())[0] is Step.READY

    @property
    def shortage(self) -> str:
        """How many healthy devices minHealthy requires in addition; empty when there are enough."""
        healthy = sum(device.healthy for device in self.listed)
        required = self.resource.min_healthy
        return f"{healthy} healthy devices, and minHealthy is {required}" if healthy < required else ""

    def wake(self) -> None:
        """Check the sockets at once."""
        self._wake.set()

    def publish(self, known: Inventory) -> None:
        """Set the devices; the kubelet gets a new list when it differs."""
        self.known = known
        self._write_cdi()
        listed = inventory.listed(known, self.resource.sharing.replicas)
        if listed != self.listed or not self._scanned.is_set():
            self._log_changes(listed)
            self.listed = listed
            self._context.metrics.list_changed(self.resource.name, listed)
            self._notify()
        self._scanned.set()

    def replace(self, resource: Resource) -> None:
        """Set another definition of the same resource."""
        options = self.options()
        self.resource = resource
        if not resource.container.cdi and self._with_cdi:
            self._remove_cdi()
        if self.options() != options:
            # The kubelet reads the options only at registration.
            self._registered_with = None
            self._wake.set()

    async def run(self) -> None:
        """Keep the resource registered until ``stop`` is called."""
        # The first list must be complete, or devices in use would be missing for a moment.
        await self._scanned.wait()
        self._remove_stale_sockets()
        while not self._stopping:
            self._wake.clear()
            try:
                delay = await self._take_step()
            except Exception as error:  # One resource must not affect the others.
                logs.LOGGER.exception("unexpected", extra={"fields": {"resource": self.resource.name}})
                self.reason, delay = f"unexpected: {error}", self._pause()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), delay)

    async def stop(self, drain: bool) -> None:
        """End the streams, finish open calls, and remove the socket. drain: send an empty list first."""
        if drain:
            self.publish({})
            self._remove_cdi()
            await asyncio.sleep(0)
        self._stopping = True
        self._wake.set()
        self._notify()
        ending = [*self._former, *([self._endpoint] if self._endpoint else [])]
        await asyncio.gather(*(self._close(endpoint) for endpoint in ending))
        self._endpoint = None
        self._context.metrics.registered.labels(self.resource.name).set(0)

    async def _take_step(self) -> float:
        """Take the next step. Returns the seconds until the next check."""
        observed = self._observe()
        step, reason = registration.next_step(observed)
        self._context.metrics.registered.labels(self.resource.name).set(step is Step.READY)
        if observed.kubelet != self._kubelet:
            self._kubelet = observed.kubelet
            self._backoff.reset()
            self._next_attempt = 0.0
        self._yield_to_newer(bool(observed.successor))
        if step in (Step.SERVE, Step.REGISTER) and observed.now < self._next_attempt:
            return self._next_attempt - observed.now
        self.reason = reason
        if step is Step.SERVE:
            return await self._serve()
        if step is Step.REGISTER:
            return await self._register(observed)
        if step is Step.READY and observed.now - observed.registered_at > registration.STABLE:
            self._backoff.reset()
        return POLL

    def _pause(self) -> float:
        """Seconds until the next attempt. Only another kubelet shortens them: each attempt changes the watched directory itself."""
        delay = self._backoff.delay()
        self._next_attempt = self._context.clock() + delay
        return delay

    def _yield_to_newer(self, displaced: bool) -> None:
        """Leave the resource to a newer process, or register again after that process ended."""
        if displaced:
            self._registered_with = None
        elif self._displaced:
            self._notify()
        self._displaced = displaced

    async def _serve(self) -> float:
        self._number += 1
        path = self._context.directory / registration.socket_name(
            self.resource.name, self._context.started, self._number
        )
        endpoint = Endpoint(path)
        try:
            if len(os.fsencode(path)) > registration.PATH_LENGTH:
                raise OSError(f"invalid socket path {path}: must be at most {registration.PATH_LENGTH} bytes")
            endpoint.server = wire.server(_Service(self, endpoint), path)
            await endpoint.server.start()
        except OSError as error:
            self.reason = str(error)
            logs.warn("cannot serve", resource=self.resource.name, reason=str(error))
            return self._pause()
        if self._endpoint:
            self._former.append(self._endpoint)
        self._endpoint, self._registered_with = endpoint, None
        logs.info("serving", resource=self.resource.name, socket=str(path))
        return 0

    async def _register(self, observed: Observation) -> float:
        endpoint = t.cast("Endpoint", self._endpoint)
        name = self.resource.name
        # When a stream ends, the kubelet drops the last registration, so the former stream must end first.
        former, self._former = self._former, []
        await asyncio.gather(*(self._close(old) for old in former))
        # The kubelet may open the stream before it responds to the registration.
        self._registered_with, self._registered_at = observed.kubelet, self._context.clock()
        endpoint.announced = True
        try:
            service = _Service(self, endpoint)
            await wire.register(self._kubelet_socket, name, endpoint.path.name, service, REGISTER_TIMEOUT)
        except wire.Unavailable as error:
            self._registered_with = None
            endpoint.announced = not isinstance(error, wire.Unreached)
            self.reason = f"registration failed: {error}"
            self._context.metrics.registrations.labels(name, "failed").inc()
            logs.warn("registration failed", resource=name, reason=str(error))
            return self._pause()
        self._context.metrics.registrations.labels(name, "accepted").inc()
        logs.info("registered", resource=name)
        # The end of its stream, even before this, wakes: the next attempt has to wait then, too.
        self._pause()
        return POLL

    @property
    def _kubelet_socket(self) -> Path:
        return self._context.directory / KUBELET_SOCKET

    def _observe(self) -> Observation:
        endpoint = self._endpoint
        streams = endpoint.streams if endpoint else 0
        return Observation(
            now=self._context.clock(),
            own_socket=endpoint is not None and endpoint.path.exists(),
            kubelet=identity_of(self._kubelet_socket),
            registered_with=self._registered_with,
            registered_at=self._registered_at,
            streams=streams,
            announced=endpoint is not None and endpoint.announced,
            successor=self._successor(),
        )

    def _successor(self) -> str:
        started = self._context.started
        names = registration.others(_names(self._context.directory), self.resource.name, started)
        newer = [name for name in names if registration.is_newer(name, started)]
        return next((name for name in newer if is_served(self._context.directory / name)), "")

    def _remove_stale_sockets(self) -> None:
        """Remove the sockets of killed processes. Sockets that are served stay."""
        directory = self._context.directory
        for name in registration.others(_names(directory), self.resource.name, self._context.started):
            if not is_served(directory / name):
                with contextlib.suppress(OSError):
                    (directory / name).unlink()
                    logs.info("removed a stale socket", socket=str(directory / name))

    async def _close(self, endpoint: Endpoint) -> None:
        endpoint.stopping = True
        endpoint.changed.set()
        await endpoint.server.stop(GRACE)
        with contextlib.suppress(OSError):
            endpoint.path.unlink()

    def _notify(self) -> None:
        for endpoint in (*self._former, *([self._endpoint] if self._endpoint else [])):
            endpoint.stopping = endpoint.stopping or self._stopping
            endpoint.changed.set()

    def _log_changes(self, listed: t.Sequence[Listed]) -> None:
        name = self.resource.name
        before = {device.id: device.healthy for device in self.listed}
        after = {device.id: device.healthy for device in listed}
        removed = sorted(before.keys() - after.keys())
        changed = [identifier for identifier, healthy in after.items() if before.get(identifier) != healthy]
        if len(removed) + len(changed) > _LOGGED:
            logs.info("many devices changed", resource=name, removed=len(removed), changed=len(changed))
            return
        for identifier in removed:
            logs.info("device removed", resource=name, device=identifier)
        for identifier in changed:
            health = self.known[devices.physical_of(identifier)].health
            state = "healthy" if health.healthy else "unhealthy"
            logs.info(f"device {state}", resource=name, device=identifier, reason=health.reason)

    def _write_cdi(self) -> None:
        if not self.resource.container.cdi:
            return
        try:
            self._context.cdi.write(self.resource, self.known)
            self._with_cdi = True
        except OSError as error:
            # Device nodes work without CDI, so the resource stays usable.
            self._with_cdi = False
            logs.warn(
                "cannot write the CDI specification, devices are allocated as device nodes",
                resource=self.resource.name,
                reason=str(error),
            )

    def _remove_cdi(self) -> None:
        if self._with_cdi:
            self._with_cdi = False
            with contextlib.suppress(OSError):
                self._context.cdi.remove(self.resource.name)

    # The calls of the kubelet, see wire.Service

    def options(self) -> tuple[bool, bool]:
        """pre_start_required and get_preferred_allocation_available."""
        return self.resource.pre_start is not None, True

    async def listings(self, endpoint: Endpoint) -> t.AsyncGenerator[t.Sequence[Listed], None]:
        """The devices, now and after each change."""
        endpoint.streams += 1
        self._wake.set()
        logs.info("the kubelet watches the list", resource=self.resource.name)
        sent: tuple[Listed, ...] | None = None
        try:
            while True:
                endpoint.changed.clear()
                # The kubelet accepts a list from every stream, so a displaced process must not send one.
                if self.listed != sent and not self._displaced:
                    sent = self.listed
                    yield sent
                elif endpoint.stopping:
                    return
                else:
                    await endpoint.changed.wait()
        finally:
            endpoint.streams -= 1
            if endpoint is self._endpoint:
                # The stream of an earlier registration may still be open, but the kubelet calls only the last endpoint.
                self._registered_with = None
            self._wake.set()
            logs.info("the kubelet no longer watches the list", resource=self.resource.name)

    def preferred(self, available: t.Sequence[str], must_include: t.Sequence[str], size: int) -> list[str]:
        """The ids that one container should get."""
        numa = {identifier: known.candidate.numa for identifier, known in self.known.items()}
        return preference.preferred(available, must_include, size, numa, self.resource.preference)

    async def allocate(self, ids: t.Sequence[str]) -> Allocation:
        """What one container gets. Raises Rejected."""
        allocations = self._context.metrics.allocations
        try:
            with self._context.metrics.allocation_seconds.labels(self.resource.name).time():
                found = await self._checked(ids)
                result = allocation.allocate(self.resource, found, len(ids), self._with_cdi)
        except Rejected as error:
            allocations.labels(self.resource.name, "rejected").inc()
            logs.warn("allocation rejected", resource=self.resource.name, devices=list(ids), reason=str(error))
            raise
        allocations.labels(self.resource.name, "accepted").inc()
        return result

    async def pre_start(self, ids: t.Sequence[str]) -> None:
        """Prepare devices for a container. Raises Rejected."""
        found = await self._checked(ids)
        settings = self.resource.pre_start
        if settings is None or not settings.command:
            return
        command = f"{self.resource.name}: preStart command {settings.command[0]}"
        try:
            candidates = [known.candidate for known in found]
            status, output = await self.commands.run(settings.command, candidates, settings.timeout)
        except probes.StillRunning as error:
            raise Rejected(f"{command} is not started: {error}") from error
        except TimeoutError:
            raise Rejected(f"{command} did not end within {settings.timeout:g} s") from None
        except OSError as error:
            raise Rejected(f"{command} cannot be started: {error.strerror}") from error
        if status != 0:
            raise Rejected(f"{command} ended with status {status}: {output}")

    async def _checked(self, ids: t.Sequence[str]) -> list[Known]:
        """The devices of the ids, checked once more. Raises Rejected."""
        found = allocation.selected(self.resource, self.known, ids)
        for known in found:
            try:
                await asyncio.to_thread(_verify_nodes, self._context.host, known)
            except NotUsable as error:
                self._context.rescan()
                raise Rejected(f"{self.resource.name}: device {known.candidate.id}: {error}") from error
            except Unreadable as error:
                logs.warn("cannot check a device before its allocation", device=known.candidate.id, reason=str(error))
        return found


class _Service:
    """A resource on one of its sockets."""

    def __init__(self, server: ResourceServer, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._server = server
        self.options = server.options
        self.preferred = server.preferred
        self.allocate = server.allocate
        self.pre_start = server.pre_start

    def listings(self) -> t.AsyncGenerator[t.Sequence[Listed], None]:
        """The devices, now and after each change."""
        return self._server.listings(self._endpoint)


def _verify_nodes(host: Host, known: Known) -> None:
    """Check that the nodes of a device are still those of the last scan. Raises NotUsable, Unreadable."""
    for node in known.candidate.nodes:
        found = host.find(node.host_path, "file" if node.is_file else "device")
        if found.number != node.key:
            raise NotUsable(f"{node.host_path} is now another device")


def identity_of(path: Path) -> Identity | None:
    """The identity of the socket at a path; None when there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    if not stat.S_ISSOCK(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def is_served(path: Path) -> bool:
    """Whether a process listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except BlockingIOError:
            # Its queue is full, so a process listens.
            return True
        except OSError:
            return False
    return True


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
