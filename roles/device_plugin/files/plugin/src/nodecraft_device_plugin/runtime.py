# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process: looks for devices, follows the configuration, serves resources and pages, until it is told to stop."""

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
from nodecraft_device_plugin.devices import LeftOut
from nodecraft_device_plugin.discovery import Discovery
from nodecraft_device_plugin.inventory import Probe
from nodecraft_device_plugin.pages import Pages
from nodecraft_device_plugin.resource_server import ResourceServer, Surroundings

# A look that takes longer hangs in the kernel; seconds.
SCAN_TIMEOUT = 3.0
# The file is read that often when inotify does not tell; seconds.
CONFIG_POLL = 5.0
# So many folders of found devices are watched at most, besides those that the configuration names.
_FOLDERS = 64


@dataclass(frozen=True)
class Settings:
    """What the command line says. port: 0 for no pages. address: empty for all. drain: empty the lists before the end."""

    config_file: Path
    port: int = 0
    address: str = ""
    pod_resources_socket: Path = Path(pod_resources.SOCKET)
    node_name: str = ""
    drain: bool = False


@dataclass
class Served:
    """A resource, its tasks, and what slow checks said.

    forget: drop at once what the next look does not find. appeared: there is a device to check, or another way to do it.
    """

    server: ResourceServer
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    probed: dict[str, Probe] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    failure: str = ""
    forget: bool = False
    hanging: asyncio.Task[Discovery] | None = None
    appeared: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def resource(self) -> Resource:
        """The definition that is served."""
        return self.server.resource


class Runtime:
    """Everything that runs. Made and used on one event loop."""

    def __init__(self, settings: Settings, around: Surroundings) -> None:
        self.settings = settings
        self.metrics = around.metrics
        self.served: dict[str, Served] = {}
        self.refused = ""
        self.stopped = asyncio.Event()
        self._scan_wanted = asyncio.Event()
        self._config_changed = asyncio.Event()
        self._around = replace(around, rescan=self._scan_wanted.set)
        self.config = Config()
        self._text = ""
        self._devices_watch = inotify.Watcher(self._scan_wanted.set)
        self._kubelet_watch = inotify.Watcher(self._wake_servers)
        self._config_watch = inotify.Watcher(self._config_changed.set, inotify.ENTRIES | inotify.CLOSE_WRITE)

    async def run(self) -> None:
        """Run until ``stopped`` is set. Raises ConfigError or OSError when it cannot even start."""
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
        """Look at the configuration file at once."""
        self._config_changed.set()

    @property
    def hangs(self) -> bool:
        """Whether a look at the host has not come back."""
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
        """Take the file's configuration when it has changed and is valid; else keep the one in use."""
        try:
            text = await asyncio.to_thread(self.settings.config_file.read_text, encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self._refuse(f"{self.settings.config_file} cannot be read: {error}")
            return
        if text == self._text:
            self._accept()
            return
        try:
            wanted = config_parser.parse(text)
        except ConfigError as error:
            self._refuse(str(error))
            return
        gone = self._use(wanted, text)
        self.metrics.config_reloads.labels("accepted").inc()
        logs.info("configuration changed", resources=sorted(self.served))
        # They are gone for good, so the kubelet is told before the stream ends.
        await asyncio.gather(*(self._end(entry, drain=True) for entry in gone))

    def _refuse(self, reason: str) -> None:
        if reason != self.refused:
            self.metrics.config_reloads.labels("refused").inc()
            logs.warn("configuration refused, the last good one stays in use", reason=reason)
        self.refused = reason
        self.metrics.config_accepted.set(0)

    def _accept(self) -> None:
        self.refused = ""
        self.metrics.config_accepted.set(1)

    def _use(self, wanted: Config, text: str) -> list[Served]:
        """Switch to a configuration. Returns the resources that are no more."""
        self.config, self._text = wanted, text
        self._accept()
        self.metrics.config_time.set(time.time())
        before, self.served = self.served, {}
        for resource in wanted.resources:
            entry = before.pop(resource.name, None) or self._begin(resource)
            if entry.resource != resource:
                entry.forget = entry.resource.sources != resource.sources
                entry.server.replace(resource)
                entry.appeared.set()
            self.served[resource.name] = entry
        self._scan_wanted.set()
        return list(before.values())

    def _begin(self, resource: Resource) -> Served:
        entry = Served(ResourceServer(resource, self._around))
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
            self._kubelet_watch.watch([self._around.folder])
            await asyncio.sleep(CONFIG_POLL)

    def _wake_servers(self) -> None:
        for entry in self.served.values():
            entry.server.wake()

    # Devices

    async def _scan_loop(self) -> None:
        while True:
            self._scan_wanted.clear()
            try:
                with self.metrics.scan_seconds.time():
                    await self._scan()
            except Exception:  # What is advertised stays, and the next look may go better.
                logs.LOGGER.exception("unexpected")
            await _until(self._scan_wanted, self.config.scan.recheck if self._pending() else self.config.scan.interval)
            if self._scan_wanted.is_set():
                # Devices come with several events.
                await asyncio.sleep(self.config.scan.debounce)

    def _pending(self) -> bool:
        return any(known.health.pending for entry in self.served.values() for known in entry.server.known.values())

    async def _scan(self) -> None:
        """Look for the devices of all resources once, at the same time."""
        entries = dict(self.served)
        self._devices_watch.watch(self._folders())
        looks = {name: self._look(entry) for name, entry in entries.items()}
        found = dict(zip(looks, await asyncio.gather(*looks.values()), strict=True))
        known = {name: entry.server.known for name, entry in entries.items()}
        for name, look in inventory.claim(found, known).items():
            if self.served.get(name) is entries[name]:
                self._try_update(entries[name], look)

    def _folders(self) -> set[Path]:
        named = {folder for entry in self.served.values() for folder in discovery.watched(entry.resource.sources)}
        found = {
            os.path.dirname(node.host_path)
            for entry in self.served.values()
            for known in entry.server.known.values()
            for node in known.candidate.nodes
        }
        return {Path(self._around.host.below(folder)) for folder in (*named, *sorted(found)[:_FOLDERS])}

    async def _look(self, entry: Served) -> Discovery:
        """Look for the devices of one resource; one that hangs holds up nobody else."""
        timeout = 0.0 if entry.hanging else SCAN_TIMEOUT
        task = entry.hanging or asyncio.create_task(
            asyncio.to_thread(discovery.discover, self._around.host, entry.resource)
        )
        entry.hanging = task
        await asyncio.wait([task], timeout=timeout)
        if not task.done():
            return Discovery(failure=f"looking for devices has not ended after {SCAN_TIMEOUT:g} s")
        entry.hanging = None
        try:
            return task.result()
        except Exception as error:  # What was known stays, with the reason.
            logs.LOGGER.exception("unexpected", extra={"fields": {"resource": entry.resource.name}})
            return Discovery(failure=f"unexpected: {error}")

    def _try_update(self, entry: Served, look: Discovery) -> None:
        try:
            self._update(entry, look)
        except Exception as error:  # One resource must not keep the others from their devices.
            name = entry.resource.name
            logs.LOGGER.exception("unexpected", extra={"fields": {"resource": name}})
            self.metrics.scan_failures.labels(name).inc()
            entry.failure = f"unexpected: {error}"

    def _update(self, entry: Served, look: Discovery) -> None:
        name = entry.resource.name
        forget_after = 0.0 if entry.forget and not look.failure else self.config.scan.forget_after
        now = self._around.clock()
        rules = entry.resource.health
        known, left_out = inventory.update(entry.server.known, look, entry.probed, rules, now, forget_after)
        there = inventory.present(known)
        entry.probed = {
            identifier: probe._replace(fresh=False) for identifier, probe in entry.probed.items() if identifier in there
        }
        if there.keys() - inventory.present(entry.server.known).keys():
            entry.appeared.set()
        entry.forget = entry.forget and bool(look.failure)
        self._tell_of_left_out(entry, left_out)
        if look.failure:
            self.metrics.scan_failures.labels(name).inc()
            if look.failure != entry.failure:
                logs.warn("not all could be looked at; what was known stays", resource=name, reason=look.failure)
        entry.failure = look.failure
        entry.server.publish(known)

    def _tell_of_left_out(self, entry: Served, left_out: tuple[LeftOut, ...]) -> None:
        name = entry.resource.name
        self.metrics.left_out.labels(name).set(len(left_out))
        for item in left_out:
            if item not in entry.left_out:
                logs.info("candidate left out", resource=name, candidate=item.what, reason=item.reason)
        entry.left_out = left_out

    async def _probe_loop(self, entry: Served) -> None:
        """Run the slow checks of a resource, oftener while its health is about to change."""
        while True:
            entry.appeared.clear()
            rules = entry.resource.health
            pause = 0.0
            if rules.probes and inventory.present(entry.server.known):
                await self._probe(entry, rules)
                # Devices that come and go are no reason to ask all of them without a rest.
                pause = min(rules.interval, self.config.scan.recheck)
                await asyncio.sleep(pause)
            if not rules.probes or not inventory.undecided(entry.server.known, entry.probed, rules):
                await _until(entry.appeared, rules.interval - pause)

    async def _probe(self, entry: Served, rules: config.HealthRules) -> None:
        candidates = [device.candidate for device in inventory.present(entry.server.known).values()]
        try:
            said = await probes.probe_all(candidates, rules, entry.server.commands)
            # What is said of a device that went in the meantime is not about one that comes back.
            there = inventory.present(entry.server.known)
            entry.probed = {identifier: Probe(outcome) for identifier, outcome in said.items() if identifier in there}
            self._scan_wanted.set()
        except Exception:  # The next round may go better.
            logs.LOGGER.exception("unexpected", extra={"fields": {"resource": entry.resource.name}})


async def _until(event: asyncio.Event, timeout: float) -> None:
    """Wait for an event, at most so many seconds."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), timeout)


async def _cancel(tasks: t.Iterable[asyncio.Task[t.Any]]) -> None:
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
