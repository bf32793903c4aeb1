# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Devices appear, vanish and change, and scans fail.

After each fault: the right list within 10 s, no false Healthy, no other id, no other resource affected.
"""

from __future__ import annotations

import contextlib
import threading
import typing as t
from pathlib import Path

import grpc
import pytest
from nodecraft_device_plugin.host import Host, Unreadable
from nodecraft_device_plugin.inventory import Listed
from nodecraft_device_plugin.metrics import Metrics
from running_plugin import CONFIG, FAKE, NAME, STARTED, cluster, lstat, plug, run, unplug

FAKES = ["fake-0", "fake-1"]


def test_d6_unplugged_and_back_at_another_node(tmp_path: Path, root: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            unplug(root, "usb-B")
            await kubelet.until_healthy(NAME, ["usb-A"])
            assert kubelet.ids(NAME) == ["usb-A", "usb-B"]
            plug(root, "usb-B", 7)
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            given = await kubelet.allocate(NAME, ["usb-B"])
            (node,) = given.devices
            assert (node.host_path, node.container_path) == ("/dev/ttyUSB7", "/dev/serial/by-id/usb-B")

    run(test())


def test_d7_a_device_flaps(tmp_path: Path) -> None:
    text = CONFIG.replace(
        "count: 2}", "count: 2}\n    health: {file: {path: '/state/{id}', healthy: up}, failures: 10}"
    )
    state = tmp_path / "root/state"
    state.mkdir(parents=True)
    for name in FAKES:
        (state / name).write_text("up", encoding="utf-8")

    async def test() -> None:
        async with cluster(tmp_path, text) as (kubelet, plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            before = kubelet.plugins[FAKE].updates
            known = plugin.runtime.served[FAKE].server
            # One bad result is not a change yet.
            (state / "fake-1").write_text("down", encoding="utf-8")
            await plugin.until(lambda: known.known["fake-1"].health.bad > 0)
            (state / "fake-1").write_text("up", encoding="utf-8")
            await plugin.until(lambda: known.known["fake-1"].health.bad == 0)
            assert kubelet.plugins[FAKE].updates == before
            (state / "fake-1").write_text("down", encoding="utf-8")
            await kubelet.until_healthy(FAKE, ["fake-0"])
            assert kubelet.ids(FAKE) == FAKES
            (state / "fake-1").write_text("up", encoding="utf-8")
            await kubelet.until_healthy(FAKE, FAKES)

    run(test())


def test_d11_devices_come_after_the_plugin(tmp_path: Path) -> None:
    """After a reboot: a device is advertised when it appears, not before."""

    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, _plugin):
            await kubelet.until(lambda: NAME in kubelet.plugins and kubelet.plugins[NAME].open)
            assert kubelet.ids(NAME) == []
            plug(tmp_path / "root", "usb-A", 0)
            await kubelet.until_healthy(NAME, ["usb-A"])

    run(test())


def test_d11_the_first_list_is_complete(tmp_path: Path, root: Path) -> None:
    """A kubelet that admits running pods again must not see an empty list first."""

    async def test() -> None:
        seen: list[list[str]] = []
        async with cluster(tmp_path) as (kubelet, _plugin):
            await kubelet.until(lambda: NAME in kubelet.plugins and kubelet.plugins[NAME].open)
            seen.append(kubelet.healthy(NAME))
        assert seen == [["usb-A", "usb-B"]]

    run(test())


def test_d12_a_thousand_devices(tmp_path: Path) -> None:
    text = CONFIG.replace("/dev/serial/by-id/*", "/dev/ttyUSB*")
    for number in range(1000):
        plug(tmp_path / "root", f"usb-{number}", number)
    ids = [f"ttyUSB{number}" for number in range(1000)]

    async def test() -> None:
        async with cluster(tmp_path, text) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, ids, STARTED)
            unplug(tmp_path / "root", "usb-500")
            await kubelet.until_healthy(NAME, [name for name in ids if name != "ttyUSB500"])

    run(test())


@pytest.mark.parametrize("swapped", ["regular file", "dangling link"])
def test_d13_a_node_is_no_longer_a_device(tmp_path: Path, root: Path, swapped: str) -> None:
    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            (root / "dev/ttyUSB1").unlink()
            if swapped == "regular file":
                (root / "dev/ttyUSB1").write_text("oops", encoding="utf-8")
            await kubelet.until_healthy(NAME, ["usb-A"])
            reason = plugin.runtime.served[NAME].server.known["usb-B"].health.reason
            assert ("is a regular file" if swapped == "regular file" else "which does not exist") in reason
            with pytest.raises(grpc.aio.AioRpcError, match="device usb-B is unhealthy"):
                await kubelet.allocate(NAME, ["usb-B"])
            (root / "dev/ttyUSB1").unlink(missing_ok=True)
            (root / "dev/.new").write_text("char 188:1", encoding="utf-8")
            (root / "dev/.new").rename(root / "dev/ttyUSB1")
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            assert kubelet.ids(NAME) == ["usb-A", "usb-B"]

    run(test())


def test_a_node_that_changes_before_the_next_scan_is_not_allocated(tmp_path: Path, root: Path) -> None:
    text = CONFIG.replace("interval: 0.5, debounce: 0.02", "interval: 60, debounce: 30")

    async def test() -> None:
        async with cluster(tmp_path, text) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            (root / "dev/ttyUSB1").write_text("char 1:3", encoding="utf-8")
            with pytest.raises(grpc.aio.AioRpcError, match="is now another device"):
                await kubelet.allocate(NAME, ["usb-B"])

    run(test())


class ForbiddenHost(Host):
    """A host whose /dev can be made unreadable, also for root."""

    error: OSError | None = None

    def names(self, directory: str) -> list[str]:
        if self.error and directory.startswith("/dev"):
            raise Unreadable(f"{directory}: {self.error.strerror}")
        return super().names(directory)


def test_d14_dev_cannot_be_read(tmp_path: Path, root: Path) -> None:
    host = ForbiddenHost(str(root), lstat)

    async def test() -> None:
        async with cluster(tmp_path, host=host) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            updates = kubelet.plugins[NAME].updates
            host.error = PermissionError(13, "Permission denied")
            await plugin.until(lambda: "Permission denied" in plugin.runtime.served[NAME].failure)
            assert kubelet.plugins[NAME].updates == updates
            assert (plugin.value("scan_failures_total", resource=NAME) or 0) >= 1
            plug(root, "usb-C", 2)
            host.error = None
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B", "usb-C"])

    run(test())


def test_d14_dev_cannot_be_read_from_the_start(tmp_path: Path, root: Path) -> None:
    host = ForbiddenHost(str(root), lstat)
    host.error = PermissionError(13, "Permission denied")

    async def test() -> None:
        async with cluster(tmp_path, host=host) as (kubelet, _plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            await kubelet.until(lambda: NAME in kubelet.plugins and kubelet.plugins[NAME].open)
            assert kubelet.healthy(NAME) == []
            host.error = None
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])

    run(test())


class RaisingHost(Host):
    """A host on which the scan for one resource raises an unexpected error."""

    broken = False

    def glob(self, pattern: str) -> list[str]:
        if self.broken:
            raise RuntimeError("a bug")
        return super().glob(pattern)


def test_d16_a_scan_raises_while_the_stream_is_open(tmp_path: Path, root: Path) -> None:
    host = RaisingHost(str(root), lstat)

    async def test() -> None:
        async with cluster(tmp_path, host=host) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            stream = kubelet.plugins[NAME]
            host.broken = True
            await plugin.until(lambda: "a bug" in plugin.runtime.served[NAME].failure)
            plugin.write_config(CONFIG.replace("count: 2", "count: 3"))
            await kubelet.until_healthy(FAKE, [*FAKES, "fake-2"])
            assert kubelet.healthy(NAME) == ["usb-A", "usb-B"]
            unplug(root, "usb-A")
            host.broken = False
            await kubelet.until_healthy(NAME, ["usb-B"])
            assert kubelet.plugins[NAME] is stream

    run(test())


class RaisingMetrics(Metrics):
    """Metrics of which those of one resource raise an error."""

    broken = True

    def list_changed(self, resource: str, listed: t.Sequence[Listed]) -> None:
        if self.broken and resource == NAME:
            raise RuntimeError("a bug")
        super().list_changed(resource, listed)


def test_d16_the_update_of_a_resource_raises(tmp_path: Path, root: Path) -> None:
    metrics = RaisingMetrics()

    async def test() -> None:
        async with cluster(tmp_path, metrics=metrics) as (kubelet, plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            assert plugin.runtime.served[NAME].failure == "unexpected: a bug"
            assert (plugin.value("scan_failures_total", resource=NAME) or 0) >= 1
            metrics.broken = False
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])

    run(test())


def test_a_hanging_scan_does_not_delay_other_resources(tmp_path: Path, root: Path) -> None:
    release = threading.Event()

    class HangingHost(Host):
        hanging = False

        def glob(self, pattern: str) -> list[str]:
            if self.hanging:
                release.wait(30)
            return super().glob(pattern)

    host = HangingHost(str(root), lstat)

    async def test() -> None:
        async with cluster(tmp_path, host=host) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            host.hanging = True
            with contextlib.suppress(FileNotFoundError):
                plug(root, "usb-C", 2)
            await plugin.until(lambda: "did not end" in plugin.runtime.served[NAME].failure)
            plugin.write_config(CONFIG.replace("count: 2", "count: 3"))
            await kubelet.until_healthy(FAKE, [*FAKES, "fake-2"], timeout=5)
            assert kubelet.healthy(NAME) == ["usb-A", "usb-B"]
            host.hanging = False
            release.set()
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B", "usb-C"])

    try:
        run(test())
    finally:
        release.set()


def test_a_node_stays_with_its_owner_while_that_cannot_be_scanned(tmp_path: Path, root: Path) -> None:
    class HalfBlind(ForbiddenHost):
        def names(self, directory: str) -> list[str]:
            return super().names(directory) if directory == "/dev/serial/by-id" else Host.names(self, directory)

    host = HalfBlind(str(root), lstat)
    text = f"{CONFIG}  - {{name: example.com/tty, discover: [{{path: {{glob: /dev/ttyUSB*}}}}]}}\n"

    async def test() -> None:
        async with cluster(tmp_path, text, host=host) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            host.error = PermissionError(13, "Permission denied")
            await plugin.until(lambda: bool(plugin.runtime.served[NAME].failure))
            plug(root, "usb-C", 2)
            await kubelet.until_healthy("example.com/tty", ["ttyUSB2"])
            assert kubelet.ids("example.com/tty") == ["ttyUSB2"]
            assert kubelet.healthy(NAME) == ["usb-A", "usb-B"]

    run(test())
