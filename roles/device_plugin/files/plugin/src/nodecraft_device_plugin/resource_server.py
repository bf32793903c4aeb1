# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One resource before the kubelet: its socket, its registration, its answers."""

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
from nodecraft_device_plugin.registration import Backoff, Identity, Seen, Step

KUBELET_SOCKET = "kubelet.sock"
REGISTER_TIMEOUT = 5.0
# The sockets are looked at that often when inotify does not tell; seconds.
POLL = 1.0
# How long calls under way may take to end; seconds.
GRACE = 5.0
# More changes at once than that are only counted in the log.
_LOGGED = 20


@dataclass(frozen=True)
class Surroundings:
    """What all resources of a process share. started: milliseconds, tells processes apart. random: from 0 to 1."""

    folder: Path
    host: Host
    metrics: Metrics
    cdi: cdi.Files
    started: int
    random: t.Callable[[], float]
    clock: t.Callable[[], float] = time.monotonic
    rescan: t.Callable[[], None] = lambda: None


@dataclass
class Endpoint:
    """A socket that is served. streams: how many lists are being watched through it. offered: whether a kubelet was told of it."""

    path: Path
    server: t.Any = None
    streams: int = 0
    offered: bool = False
    stopping: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class ResourceServer:
    """Serves a resource until it is stopped, whatever the kubelet does in the meantime."""

    def __init__(self, resource: Resource, around: Surroundings) -> None:
        self.resource = resource
        self.known: Inventory = {}
        self.listed: tuple[Listed, ...] = ()
        self.reason = "not started"
        self.commands = probes.Commands()
        self._around = around
        self._endpoint: Endpoint | None = None
        self._former: list[Endpoint] = []
        self._number = 0
        self._kubelet: Identity | None = None
        self._registered_with: Identity | None = None
        self._registered_at = 0.0
        self._backoff = Backoff(around.random)
        self._wake = asyncio.Event()
        self._scanned = asyncio.Event()
        self._stopping = False
        self._with_cdi = False
        self._displaced = False
        around.metrics.begin(resource.name)

    @property
    def ready(self) -> bool:
        """Whether the kubelet knows the resource and watches its list."""
        return registration.next_step(self._seen())[0] is Step.REST

    @property
    def shortage(self) -> str:
        """What is missing of the devices that it has to offer; empty when nothing is."""
        offered = sum(device.healthy for device in self.listed)
        wanted = self.resource.at_least
        return f"{offered} healthy devices, and minHealthy is {wanted}" if offered < wanted else ""

    def wake(self) -> None:
        """Look at the sockets at once."""
        self._wake.set()

    def publish(self, known: Inventory) -> None:
        """Take new devices; the kubelet is told when something changes for it."""
        self.known = known
        self._write_cdi()
        listed = inventory.listed(known, self.resource.sharing.replicas)
        if listed != self.listed or not self._scanned.is_set():
            self._log_changes(listed)
            self.listed = listed
            self._around.metrics.list_changed(self.resource.name, listed)
            self._tell()
        self._scanned.set()

    def replace(self, resource: Resource) -> None:
        """Take another definition of the same resource."""
        options = self.options()
        self.resource = resource
        if not resource.container.cdi and self._with_cdi:
            self._remove_cdi()
        if self.options() != options:
            # The kubelet learns of them only when it is registered with.
            self._registered_with = None
            self._wake.set()

    async def run(self) -> None:
        """Keep the resource registered until ``stop`` is called."""
        # The first list has to be a whole one, or devices in use would be gone for a moment.
        await self._scanned.wait()
        self._remove_stale_sockets()
        while not self._stopping:
            self._wake.clear()
            try:
                delay = await self._take_step()
            except Exception as error:  # One resource must not take the others down.
                logs.LOGGER.exception("unexpected", extra={"fields": {"resource": self.resource.name}})
                self.reason, delay = f"unexpected: {error}", self._backoff.delay()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), delay)

    async def stop(self, drain: bool) -> None:
        """End streams, let calls end, and take the socket away. drain: tell the kubelet first that nothing is left."""
        if drain:
            self.publish({})
            self._remove_cdi()
            await asyncio.sleep(0)
        self._stopping = True
        self._wake.set()
        self._tell()
        ending = [*self._former, *([self._endpoint] if self._endpoint else [])]
        await asyncio.gather(*(self._close(endpoint) for endpoint in ending))
        self._endpoint = None
        self._around.metrics.registered.labels(self.resource.name).set(0)

    async def _take_step(self) -> float:
        """Do what is next. Returns the seconds until the next look."""
        seen = self._seen()
        step, self.reason = registration.next_step(seen)
        self._around.metrics.registered.labels(self.resource.name).set(step is Step.REST)
        if seen.kubelet != self._kubelet:
            self._kubelet = seen.kubelet
            self._backoff.reset()
        self._give_way(bool(seen.successor))
        if step is Step.SERVE:
            return await self._serve()
        if step is Step.REGISTER:
            return await self._register(seen)
        if step is Step.REST and seen.now - seen.registered_at > registration.STABLE:
            self._backoff.reset()
        return POLL

    def _give_way(self, displaced: bool) -> None:
        """Leave the resource to a younger process, or take it again when that is gone: the kubelet has forgotten us meanwhile."""
        if displaced:
            self._registered_with = None
        elif self._displaced:
            self._tell()
        self._displaced = displaced

    async def _serve(self) -> float:
        self._number += 1
        path = self._around.folder / registration.socket_name(self.resource.name, self._around.started, self._number)
        endpoint = Endpoint(path)
        try:
            if len(os.fsencode(path)) > registration.PATH_LENGTH:
                raise OSError(
                    f"{path} is longer than the {registration.PATH_LENGTH} bytes that a socket's path may have"
                )
            endpoint.server = wire.server(_Service(self, endpoint), path)
            await endpoint.server.start()
        except OSError as error:
            self.reason = str(error)
            logs.warn("not served", resource=self.resource.name, reason=str(error))
            return self._backoff.delay()
        if self._endpoint:
            self._former.append(self._endpoint)
        self._endpoint, self._registered_with = endpoint, None
        logs.info("serving", resource=self.resource.name, socket=str(path))
        return 0

    async def _register(self, seen: Seen) -> float:
        endpoint = t.cast("Endpoint", self._endpoint)
        name = self.resource.name
        # When a stream ends, the kubelet drops whoever registered last, so the former one has to end before.
        former, self._former = self._former, []
        await asyncio.gather(*(self._close(old) for old in former))
        # The stream may be opened before the answer to the registration is here.
        self._registered_with, self._registered_at = seen.kubelet, self._around.clock()
        endpoint.offered = True
        try:
            service = _Service(self, endpoint)
            await wire.register(self._kubelet_socket, name, endpoint.path.name, service, REGISTER_TIMEOUT)
        except wire.Unavailable as error:
            self._registered_with = None
            endpoint.offered = not isinstance(error, wire.Unreached)
            self.reason = f"the kubelet did not take the registration: {error}"
            self._around.metrics.registrations.labels(name, "failed").inc()
            logs.warn("not registered", resource=name, reason=str(error))
            return self._backoff.delay()
        self._around.metrics.registrations.labels(name, "accepted").inc()
        logs.info("registered", resource=name)
        # The stream may have ended in the meantime; then the next attempt has to wait a moment.
        return POLL if self._registered_with else self._backoff.delay()

    @property
    def _kubelet_socket(self) -> Path:
        return self._around.folder / KUBELET_SOCKET

    def _seen(self) -> Seen:
        endpoint = self._endpoint
        streams = endpoint.streams if endpoint else 0
        return Seen(
            now=self._around.clock(),
            own_socket=endpoint is not None and endpoint.path.exists(),
            kubelet=identity_of(self._kubelet_socket),
            registered_with=self._registered_with,
            registered_at=self._registered_at,
            streams=streams,
            offered=endpoint is not None and endpoint.offered,
            successor=self._successor(),
        )

    def _successor(self) -> str:
        started = self._around.started
        names = registration.others(_names(self._around.folder), self.resource.name, started)
        younger = [name for name in names if registration.is_younger(name, started)]
        return next((name for name in younger if is_served(self._around.folder / name)), "")

    def _remove_stale_sockets(self) -> None:
        """Take away what a killed process left, unless somebody serves it."""
        folder = self._around.folder
        for name in registration.others(_names(folder), self.resource.name, self._around.started):
            if not is_served(folder / name):
                with contextlib.suppress(OSError):
                    (folder / name).unlink()
                    logs.info("removed a socket that nobody serves", socket=str(folder / name))

    async def _close(self, endpoint: Endpoint) -> None:
        endpoint.stopping = True
        endpoint.changed.set()
        await endpoint.server.stop(GRACE)
        with contextlib.suppress(OSError):
            endpoint.path.unlink()

    def _tell(self) -> None:
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
            self._around.cdi.write(self.resource, self.known)
            self._with_cdi = True
        except OSError as error:
            # Device nodes serve as well, so the resource stays usable.
            self._with_cdi = False
            logs.warn(
                "no CDI specification, devices are handed out as nodes", resource=self.resource.name, reason=str(error)
            )

    def _remove_cdi(self) -> None:
        if self._with_cdi:
            self._with_cdi = False
            with contextlib.suppress(OSError):
                self._around.cdi.remove(self.resource.name)

    # What the kubelet asks, see wire.Service

    def options(self) -> tuple[bool, bool]:
        """Whether containers are prepared before each start, and whether there are preferences."""
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
                # The kubelet takes a list for that of the resource, whoever sends it.
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
                # One of an earlier registration may still be open, but the kubelet asks only the last one.
                self._registered_with = None
            self._wake.set()
            logs.info("the list is watched no more", resource=self.resource.name)

    def preferred(self, available: t.Sequence[str], must_include: t.Sequence[str], size: int) -> list[str]:
        """The ids that one container should get."""
        numa = {identifier: known.candidate.numa for identifier, known in self.known.items()}
        return preference.preferred(available, must_include, size, numa, self.resource.preference)

    async def allocate(self, ids: t.Sequence[str]) -> Allocation:
        """What one container gets. Raises Rejected."""
        allocations = self._around.metrics.allocations
        try:
            with self._around.metrics.allocation_seconds.labels(self.resource.name).time():
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
        called = f"{self.resource.name}: preStart command {settings.command[0]}"
        try:
            candidates = [known.candidate for known in found]
            status, output = await self.commands.run(settings.command, candidates, settings.timeout)
        except probes.Survived as error:
            raise Rejected(f"{called} is not started: {error}") from error
        except TimeoutError:
            raise Rejected(f"{called} has not ended after {settings.timeout:g} s") from None
        except OSError as error:
            raise Rejected(f"{called} cannot be started: {error.strerror}") from error
        if status != 0:
            raise Rejected(f"{called} ended with {status}: {output}")

    async def _checked(self, ids: t.Sequence[str]) -> list[Known]:
        """The devices behind ids, looked at once more. Raises Rejected."""
        found = allocation.chosen(self.resource, self.known, ids)
        for known in found:
            try:
                await asyncio.to_thread(_look_again, self._around.host, known)
            except NotUsable as error:
                self._around.rescan()
                raise Rejected(f"{self.resource.name}: device {known.candidate.id}: {error}") from error
            except Unreadable as error:
                logs.info(
                    "a device cannot be looked at before it is handed out", device=known.candidate.id, reason=str(error)
                )
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


def _look_again(host: Host, known: Known) -> None:
    """Whether the nodes of a device are what they were when they were found. Raises NotUsable, Unreadable."""
    for node in known.candidate.nodes:
        found = host.find(node.host_path, "file" if node.is_file else "device")
        if found.number != node.key:
            raise NotUsable(f"{node.host_path} is another device by now")


def identity_of(path: Path) -> Identity | None:
    """Which socket is at a path; None when there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    if not stat.S_ISSOCK(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def is_served(path: Path) -> bool:
    """Whether somebody listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except BlockingIOError:
            # Its queue is full, so somebody has it.
            return True
        except OSError:
            return False
    return True


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
