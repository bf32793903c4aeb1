# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process: scans for devices, reloads the configuration, and serves resources and pages until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import typing as t
from dataclasses import dataclass, field, replace
from pathlib import Path

from nodecraft_device_plugin import (
    config,
    config_parser,
    discovery,
    inotify,
    inventory,
    logs,
    pod_resources,
    probes,
)
from nodecraft_device_plugin.config import Config, Resource
from nodecraft_device_plugin.config_parser import ConfigError
from nodecraft_device_plugin.devices import Skipped
from nodecraft_device_plugin.discovery import Discovery
from nodecraft_device_plugin.inventory import Probe
from nodecraft_device_plugin.pages import Pages
from nodecraft_device_plugin.resource_server import Context, ResourceServer

# A scan that takes longer hangs in the kernel; seconds.
SCAN_TIMEOUT = 3.0
# The interval at which the file is read without an inotify event; seconds.
CONFIG_POLL = 5.0
# The limit of watched directories of found devices, in addition to those that the configuration names.
_DIRECTORIES = 64


@dataclass(frozen=True)
class Settings:
    """The settings of the command line. port: 0 for no pages. address: empty for all. drain: empty the lists before the end."""

    config_file: Path
    port: int = 0
    address: str = ""
    pod_resources_socket: Path = Path(pod_resources.SOCKET)
    node_name: str = ""
    drain: bool = False


@dataclass
class Served:
    """A resource, its tasks, and the results of slow checks.

    forget: remove at once what the next scan does not find. appeared: there is a new device to check, or a new check.
    """

    server: ResourceServer
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    probed: dict[str, Probe] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    failure: str = ""
    forget: bool = False
    hanging: asyncio.Task[Discovery] | None = None
    appeared: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def resource(self) -> Resource:
        """The served definition."""
        return self.server.resource


class Runtime:
    """The tasks of the process. Created and used on one event loop."""

    def __init__(self, settings: Settings, context: Context) -> None:
        self.settings = settings
        self.metrics = context.metrics
        self.served: dict[str, Served] = {}
        self.refused = ""
        self.stopped = asyncio.Event()
        self._scan_requested = asyncio.Event()
        self._config_changed = asyncio.Event()
        self._context = replace(context, rescan=self._scan_requested.set)
        self.config = Config()
        self._text = ""
        self._devices_watch = inotify.Watcher(self._scan_requested.set)
        self._kubelet_watch = inotify.Watcher(self._wake_servers)
        self._config_watch = inotify.Watcher(self._config_changed.set, inotify.ENTRIES | inotify.CLOSE_WRITE)

    async def run(self) -> None:
        """Run until ``stopped`` is set. Raises ConfigError or OSError when it cannot start."""
        text = self.settings.config_file.read_text(encoding="utf-8")
        self._use(config_parser.parse(text), text)
        pages = await Pages(self).start()
        loops = [asyncio.create_task(loop()) for loop in (self._scan_loop, self._config_loop, self._watch_loop)]
        try:
            await self.stopped.wait()
        finally:
            logs.info("stopping", drain=self.settings.drain)
            await _cancel(loops)
            await asyncio.gather(*(self._end(entry, self.settings.drain) for entry in self.served.values()))
            if pages:
                pages.close()
            for watcher in (self._devices_watch, self._kubelet_watch, self._config_watch):
                watcher.close()

    def reload(self) -> None:
        """Read the configuration file at once."""
        self._config_changed.set()

    @property
    def hangs(self) -> bool:
        """Whether a scan of the host hangs."""
        return any(entry.hanging for entry in self.served.values())

    # Configuration

    async def _config_loop(self) -> None:
        while True:
            self._config_watch.watch([self.settings.config_file.parent])
            await _until(self._config_changed, CONFIG_POLL)
            self._config_changed.clear()
            try:
                await self._reload()
            except Exception as error:  # The configuration in use stays in use.
                self._refuse(f"unexpected: {error}")
                logs.LOGGER.exception("unexpected")

    async def _reload(self) -> None:
        """Use the file's configuration when it has changed and is valid; otherwise keep the one in use."""
        try:
            text = await asyncio.to_thread(self.settings.config_file.read_text, encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self._refuse(f"cannot read {self.settings.config_file}: {error}")
            return
        if text == self._text:
            self._accept()
            return
        try:
            desired = config_parser.parse(text)
        except ConfigError as error:
            self._refuse(str(error))
            return
        removed = self._use(desired, text)
        self.metrics.config_reloads.labels("accepted").inc()
        logs.info("configuration changed", resources=sorted(self.served))
        # The kubelet gets an empty list before the stream of a removed resource ends.
        await asyncio.gather(*(self._end(entry, drain=True) for entry in removed))

    def _refuse(self, reason: str) -> None:
        if reason != self.refused:
            self.metrics.config_reloads.labels("refused").inc()
            logs.warn("configuration refused, the last valid one stays in use", reason=reason)
        self.refused = reason
        self.metrics.config_accepted.set(0)

    def _accept(self) -> None:
        self.refused = ""
        self.metrics.config_accepted.set(1)

    def _use(self, desired: Config, text: str) -> list[Served]:
        """Switch to a configuration. Returns the removed resources."""
        self.config, self._text = desired, text
        self._accept()
        self.metrics.config_time.set(time.time())
        before, self.served = self.served, {}
        for resource in desired.resources:
            entry = before.pop(resource.name, None) or self._begin(resource)
            if entry.resource != resource:
                entry.forget = entry.resource.sources != resource.sources
                entry.server.replace(resource)
                entry.appeared.set()
            self.served[resource.name] = entry
        self._scan_requested.set()
        return list(before.values())

    def _begin(self, resource: Resource) -> Served:
        entry = Served(ResourceServer(resource, self._context))
        entry.tasks = [asyncio.create_task(entry.server.run()), asyncio.create_task(self._probe_loop(entry))]
        return entry

    async def _end(self, entry: Served, drain: bool) -> None:
        await entry.server.stop(drain)
        await _cancel(entry.tasks)
        if entry.resource.name not in self.served:
            self.metrics.forget(entry.resource.name)

    # Sockets

    async def _watch_loop(self) -> None:
        while True:
            self._kubelet_watch.watch([self._context.directory])
            await asyncio.sleep(CONFIG_POLL)

    def _wake_servers(self) -> None:
        for entry in self.served.values():
            entry.server.wake()

    # Devices

    async def _scan_loop(self) -> None:
        while True:
            self._scan_requested.clear()
            try:
                with self.metrics.scan_seconds.time():
                    await self._scan()
            except Exception:  # The advertised devices stay, and the next scan may succeed.
                logs.LOGGER.exception("unexpected")
            await _until(
                self._scan_requested, self.config.scan.recheck if self._pending() else self.config.scan.interval
            )
            if self._scan_requested.is_set():
                # A new device causes several events.
                await asyncio.sleep(self.config.scan.debounce)

    def _pending(self) -> bool:
        return any(known.health.pending for entry in self.served.values() for known in entry.server.known.values())

    async def _scan(self) -> None:
        """Scan for the devices of all resources once, concurrently."""
        entries = dict(self.served)
        self._devices_watch.watch(self._directories())
        scans = {name: self._discover(entry) for name, entry in entries.items()}
        found = dict(zip(scans, await asyncio.gather(*scans.values()), strict=True))
        known = {name: entry.server.known for name, entry in entries.items()}
        for name, found_now in inventory.claim(found, known).items():
            if self.served.get(name) is entries[name]:
                self._try_update(entries[name], found_now)

    def _directories(self) -> set[Path]:
        named = {directory for entry in self.served.values() for directory in discovery.watched(entry.resource.sources)}
        found = {
            os.path.dirname(node.host_path)
            for entry in self.served.values()
            for known in entry.server.known.values()
            for node in known.candidate.nodes
        }
        return {Path(self._context.host.below(directory)) for directory in (*named, *sorted(found)[:_DIRECTORIES])}

    async def _discover(self, entry: Served) -> Discovery:
        """Scan for the devices of one resource. A hanging scan does not delay the others."""
        timeout = 0.0 if entry.hanging else SCAN_TIMEOUT
        task = entry.hanging or asyncio.create_task(
            asyncio.to_thread(discovery.discover, self._context.host, entry.resource)
        )
        entry.hanging = task
        await asyncio.wait([task], timeout=timeout)
        if not task.done():
            return Discovery(failure=f"the scan did not end within {SCAN_TIMEOUT:g} s")
        entry.hanging = None
        try:
            return task.result()
        except Exception as error:  # The last known state stays, with the reason.
            logs.LOGGER.exception("unexpected", extra={"fields": {"resource": entry.resource.name}})
            return Discovery(failure=f"unexpected: {error}")

    def _try_update(self, entry: Served, scan: Discovery) -> None:
        try:
            self._update(entry, scan)
        except Exception as error:  # One resource must not affect the others.
            name = entry.resource.name
            logs.LOGGER.exception("unexpected", extra={"fields": {"resource": name}})
            self.metrics.scan_failures.labels(name).inc()
            entry.failure = f"unexpected: {error}"

    def _update(self, entry: Served, scan: Discovery) -> None:
        name = entry.resource.name
        forget_after = 0.0 if entry.forget and not scan.failure else self.config.scan.forget_after
        now = self._context.clock()
        rules = entry.resource.health
        known, skipped = inventory.update(entry.server.known, scan, entry.probed, rules, now, forget_after)
        present = inventory.present(known)
        entry.probed = {
            identifier: probe._replace(fresh=False)
            for identifier, probe in entry.probed.items()
            if identifier in present
        }
        if present.keys() - inventory.present(entry.server.known).keys():
            entry.appeared.set()
        entry.forget = entry.forget and bool(scan.failure)
        self._record_skipped(entry, skipped)
        if scan.failure:
            self.metrics.scan_failures.labels(name).inc()
            if scan.failure != entry.failure:
                logs.warn("incomplete scan, the last known devices stay", resource=name, reason=scan.failure)
        entry.failure = scan.failure
        entry.server.publish(known)

    def _record_skipped(self, entry: Served, skipped: tuple[Skipped, ...]) -> None:
        name = entry.resource.name
        self.metrics.skipped.labels(name).set(len(skipped))
        for item in skipped:
            if item not in entry.skipped:
                logs.info("candidate skipped", resource=name, candidate=item.what, reason=item.reason)
        entry.skipped = skipped

    async def _probe_loop(self, entry: Served) -> None:
        """Run the slow checks of a resource, more often while its health is about to change."""
        while True:
            entry.appeared.clear()
            rules = entry.resource.health
            pause = 0.0
            if rules.probes and inventory.present(entry.server.known):
                await self._probe(entry, rules)
                # Devices that appear and vanish must not cause checks without a pause.
                pause = min(rules.interval, self.config.scan.recheck)
                await asyncio.sleep(pause)
            if not rules.probes or not inventory.undecided(entry.server.known, entry.probed, rules):
                await _until(entry.appeared, rules.interval - pause)

    async def _probe(self, entry: Served, rules: config.HealthRules) -> None:
        candidates = [device.candidate for device in inventory.present(entry.server.known).values()]
        try:
            results = await probes.probe_all(candidates, rules, entry.server.commands)
            # A result for a device that vanished in the meantime does not apply to one that returns.
            present = inventory.present(entry.server.known)
            entry.probed = {
                identifier: Probe(outcome) for identifier, outcome in results.items() if identifier in present
            }
            self._scan_requested.set()
        except Exception:  # The next checks may succeed.
            logs.LOGGER.exception("unexpected", extra={"fields": {"resource": entry.resource.name}})


async def _until(event: asyncio.Event, timeout: float) -> None:
    """Wait for an event. timeout: seconds."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), timeout)


async def _cancel(tasks: t.Iterable[asyncio.Task[t.Any]]) -> None:
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
