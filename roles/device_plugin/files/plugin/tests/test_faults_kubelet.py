# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet restarts, hangs or drops the plugin.

After each fault: the right list within 10 s, no false Healthy, no other id, no other resource affected.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import typing as t
from pathlib import Path

from kubelet_stub import Kubelet
from running_plugin import CONFIG, FAKE, NAME, STARTED, RunningPlugin, cluster, run, unplug

TESTS = Path(__file__).parent
FAKES = ["fake-0", "fake-1"]


def test_d1_kubelet_restarts_twenty_times(tmp_path: Path, root: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, plugin):
            for dummy in range(20):
                await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
                await kubelet.until_healthy(FAKE, FAKES)
                assert plugin.ready == {NAME: True, FAKE: True}
                await kubelet.stop()
                await plugin.until(lambda: plugin.ready == {NAME: False, FAKE: False})
                kubelet.plugins = {}
                await kubelet.start()
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            assert len(list((tmp_path / "kubelet").glob("nodecraft-*"))) == 2

    run(test())


def test_d2_kubelet_socket_is_missing_at_the_start(tmp_path: Path, root: Path) -> None:
    async def test() -> None:
        async with RunningPlugin(tmp_path) as plugin:
            await plugin.until(lambda: plugin.reason(NAME) == "kubelet.sock does not exist")
            assert plugin.ready == {NAME: False, FAKE: False}
            kubelet = Kubelet(tmp_path / "kubelet")
            await kubelet.start()
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"], timeout=2)
            await kubelet.stop()

    run(test())


def test_d3_own_socket_is_deleted(tmp_path: Path, root: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            await kubelet.until_healthy(FAKE, FAKES)
            first = kubelet.plugins[NAME]
            untouched = kubelet.plugins[FAKE]
            (tmp_path / "kubelet" / first.endpoint).unlink()
            await kubelet.until(lambda: kubelet.plugins[NAME] is not first)
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            await plugin.until(lambda: plugin.ready[NAME])
            assert kubelet.plugins[FAKE] is untouched

    run(test())


async def lists_of(process: asyncio.subprocess.Process) -> t.AsyncIterator[dict[str, list[str]]]:
    assert process.stdout
    async for line in process.stdout:
        yield json.loads(line)


async def until_listed(
    lists: t.AsyncIterator[dict[str, list[str]]], resource: str, ids: t.Sequence[str], timeout: float = 10.0
) -> None:
    async with asyncio.timeout(timeout):
        async for current in lists:
            if current.get(resource) == list(ids):
                return


def test_d5_the_kubelet_hangs(tmp_path: Path, root: Path) -> None:
    (tmp_path / "kubelet").mkdir()

    async def test() -> None:
        kubelet = await asyncio.create_subprocess_exec(
            *(sys.executable, str(TESTS / "kubelet_stub.py"), str(tmp_path / "kubelet")),
            env={**os.environ, "PYTHONPATH": str(TESTS.parent / "src")},
            stdout=asyncio.subprocess.PIPE,
        )
        lists = lists_of(kubelet)
        async with RunningPlugin(tmp_path) as plugin:
            await until_listed(lists, NAME, ["usb-A", "usb-B"], STARTED)
            kubelet.send_signal(signal.SIGSTOP)
            unplug(root, "usb-B")
            server = plugin.runtime.served[NAME].server
            await plugin.until(lambda: [device.healthy for device in server.listed] == [True, False])
            kubelet.send_signal(signal.SIGCONT)
            await until_listed(lists, NAME, ["usb-A"])
        kubelet.kill()
        await kubelet.wait()

    run(test())


def test_d15_a_resource_name_of_63_characters(tmp_path: Path, root: Path) -> None:
    name = f"example.com/{'d' * 63}"

    async def test() -> None:
        async with cluster(tmp_path, CONFIG.replace(NAME, name)) as (kubelet, _plugin):
            await kubelet.until_healthy(name, ["usb-A", "usb-B"])
            path = f"/var/lib/kubelet/device-plugins/{kubelet.plugins[name].endpoint}"
            assert len(path) < 108

    run(test())


def test_d17_only_the_stream_is_dropped(tmp_path: Path, root: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            await kubelet.until_healthy(FAKE, FAKES)
            first, untouched = kubelet.plugins[NAME], kubelet.plugins[FAKE]
            await kubelet.cut_stream(NAME)
            await kubelet.until(lambda: kubelet.plugins[NAME] is not first)
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            await plugin.until(lambda: plugin.ready[NAME])
            assert kubelet.plugins[FAKE] is untouched

    run(test())


def test_a_socket_is_registered_once(tmp_path: Path, root: Path) -> None:
    """Also when kubelet.sock seems to be another one, the kubelet knows the socket."""

    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, plugin):
            await plugin.until(lambda: plugin.ready == {NAME: True, FAKE: True})
            (tmp_path / "kubelet" / "kubelet.sock").chmod(0o700)
            await plugin.until(lambda: plugin.ready == {NAME: False, FAKE: False})
            await plugin.until(lambda: plugin.ready == {NAME: True, FAKE: True})
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            assert len(kubelet.registrations) == len(set(kubelet.registrations)) == 4

    run(test())


def test_a_refused_registration_is_retried(tmp_path: Path, root: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            kubelet.refuse = "no room"
            await kubelet.cut_stream(NAME)
            await plugin.until(lambda: "no room" in plugin.reason(NAME))
            assert not plugin.ready[NAME]
            await asyncio.sleep(1)
            # Its own sockets, new for each attempt, cut no pause short: of 0.1 s at least, each twice the one before.
            assert 2 <= (plugin.value("registrations_total", resource=NAME, result="failed") or 0) <= 6
            assert "no room" in plugin.reason(NAME)
            kubelet.refuse = ""
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])

    run(test())
