# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plugin's process is killed or stopped, gets an invalid configuration, or runs twice.

After each fault: the right list within 10 s, no false Healthy, no other id, no other resource affected.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import typing as t
from pathlib import Path

from kubelet_stub import Kubelet
from nodecraft_device_plugin import registration
from nodecraft_device_plugin.host import Host
from running_plugin import CONFIG, FAKE, NAME, SCAN, STARTED, RunningPlugin, cluster, lstat, run, unplug

TESTS = Path(__file__).parent
FAKES = ["fake-0", "fake-1"]


async def start_program(home: Path, directory: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "nodecraft_device_plugin", "--config", str(home / "config.yaml")),
        *("--device-plugins", str(directory), "--root", str(home / "root"), "--port", "0", *arguments),
        env={**os.environ, "PYTHONPATH": str(TESTS.parent / "src")},
    )


def test_d4_a_killed_process_leaves_its_socket(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        f"{SCAN}\nresources: [{{name: {FAKE}, discover: [{{fake: {{count: 2}}}}]}}]", encoding="utf-8"
    )
    directory = tmp_path / "kubelet"
    directory.mkdir()

    async def test() -> None:
        kubelet = Kubelet(directory)
        await kubelet.start()
        first = await start_program(tmp_path, directory)
        await kubelet.until_healthy(FAKE, FAKES, STARTED)
        stale = kubelet.plugins[FAKE].endpoint
        first.kill()
        await first.wait()
        await kubelet.until_healthy(FAKE, [])
        assert (directory / stale).exists()
        second = await start_program(tmp_path, directory)
        await kubelet.until_healthy(FAKE, FAKES, STARTED)
        assert not (directory / stale).exists()
        second.terminate()
        assert await second.wait() == 0
        assert list(directory.glob("nodecraft-*")) == []
        await kubelet.stop()

    run(test())


def test_a_served_socket_is_kept(tmp_path: Path, root: Path) -> None:
    other = tmp_path / "kubelet" / registration.socket_name(NAME, 1, 1)

    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            assert other.exists()

    (tmp_path / "kubelet").mkdir()
    with socket.socket(socket.AF_UNIX) as served:

        async def with_other() -> None:
            kubelet = Kubelet(tmp_path / "kubelet")
            await kubelet.start()
            served.bind(str(other))
            served.listen()
            async with RunningPlugin(tmp_path):
                await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
                assert other.exists()
            await kubelet.stop()

        run(with_other())


def test_d8_an_invalid_configuration_is_refused(tmp_path: Path, root: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            first = kubelet.plugins[FAKE]
            plugin.write_config(CONFIG.replace("count: 2", "count: many"))
            await plugin.until(lambda: bool(plugin.runtime.refused))
            assert "line 10: resources[1].discover[0].fake.count: invalid value 'many'" in plugin.runtime.refused
            assert plugin.value("config_accepted") == 0
            assert plugin.value("config_reloads_total", result="refused") == 1
            assert kubelet.healthy(FAKE) == FAKES
            plugin.write_config(CONFIG.replace("count: 2", "count: 3"))
            await kubelet.until_healthy(FAKE, [*FAKES, "fake-2"])
            assert plugin.value("config_accepted") == 1
            assert kubelet.plugins[FAKE] is first

    run(test())


def test_d9_the_process_ends_during_an_allocation(tmp_path: Path, root: Path) -> None:
    """A call in progress is answered."""
    hold = asyncio.Event()

    class SlowHost(Host):
        def find(self, path: str, expected: str = "device") -> t.Any:
            if hold.is_set() and path == "/dev/ttyUSB0":
                waited.set()
                release.wait(5)
            return super().find(path, expected)

    waited, release = threading.Event(), threading.Event()

    async def test() -> None:
        async with cluster(tmp_path, host=SlowHost(str(root), lstat)) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            hold.set()
            allocation = asyncio.create_task(kubelet.allocate(NAME, ["usb-A"]))
            await asyncio.to_thread(waited.wait, 5)
            plugin.runtime.stopped.set()
            await kubelet.until_healthy(FAKE, [])
            release.set()
            assert (await allocation).devices[0].host_path == "/dev/ttyUSB0"
            assert plugin.task
            await plugin.task
            assert list((tmp_path / "kubelet").glob("nodecraft-*")) == []

    run(test())


def test_d10_two_plugins_on_one_resource(tmp_path: Path, root: Path) -> None:
    """The newer process serves the resource; the older one waits, and registers again when the newer one ended."""

    async def test() -> None:
        async with cluster(tmp_path, started=1000) as (kubelet, old):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            await old.until(lambda: old.ready[NAME])
            young = RunningPlugin(tmp_path, started=2000)
            async with young:
                await young.until(lambda: young.ready == {NAME: True, FAKE: True})
                await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
                await old.until(lambda: "newer process" in old.reason(NAME))
                assert not old.ready[NAME]
                assert [name for name, _endpoint in kubelet.registrations].count(NAME) == 2
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            await old.until(lambda: old.ready == {NAME: True, FAKE: True})

    run(test())


def test_d10_the_older_process_sends_no_list_and_its_end_costs_the_newer_one_registration(
    tmp_path: Path, root: Path
) -> None:
    async def test() -> None:
        async with cluster(tmp_path, started=1000) as (kubelet, old):
            await old.until(lambda: old.ready == {NAME: True, FAKE: True})
            async with RunningPlugin(tmp_path, started=2000) as young:
                await young.until(lambda: young.ready == {NAME: True, FAKE: True})
                await old.until(lambda: "newer process" in old.reason(NAME))
                # The newer one is ready when it has registered; its first list may follow later.
                await kubelet.until(lambda: kubelet.plugins[NAME].updates > 0)
                updates = kubelet.plugins[NAME].updates
                unplug(root, "usb-A")
                await kubelet.until_healthy(NAME, ["usb-B"])
                await old.until(lambda: sum(device.healthy for device in old.runtime.served[NAME].server.listed) == 1)
                assert kubelet.plugins[NAME].updates == updates + 1
                registrations = len(kubelet.registrations)
                old.runtime.stopped.set()
                await kubelet.until(lambda: len(kubelet.registrations) > registrations)
                await kubelet.until_healthy(NAME, ["usb-B"])
                await young.until(lambda: young.ready == {NAME: True, FAKE: True})

    run(test())


def test_the_process_ends_while_a_scan_hangs(tmp_path: Path) -> None:
    """And SIGHUP does not end it."""
    (tmp_path / "root").mkdir()
    os.mkfifo(tmp_path / "root/state")
    (tmp_path / "config.yaml").write_text(
        f"resources: [{{name: {FAKE}, discover: [{{fake: {{count: 1}}}}], "
        "health: {file: {path: /state, healthy: up}}}]",
        encoding="utf-8",
    )
    (tmp_path / "kubelet").mkdir()

    async def test() -> None:
        kubelet = Kubelet(tmp_path / "kubelet")
        await kubelet.start()
        program = await start_program(tmp_path, tmp_path / "kubelet")
        await kubelet.until(lambda: FAKE in kubelet.plugins and kubelet.plugins[FAKE].open, STARTED)
        assert kubelet.ids(FAKE) == []
        program.send_signal(signal.SIGHUP)
        await kubelet.restart()
        await kubelet.until(lambda: FAKE in kubelet.plugins and kubelet.plugins[FAKE].open)
        program.terminate()
        assert await asyncio.wait_for(program.wait(), 10) == 0
        assert list((tmp_path / "kubelet").glob("nodecraft-*")) == []
        await kubelet.stop()

    run(test())
