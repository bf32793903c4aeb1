# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong on nodes. After each fault: the right list within 10 s, no false Healthy, no other id, nobody else hit."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import threading
import typing as t
from pathlib import Path

import grpc
import pytest
from kubelet_stub import Kubelet
from nodecraft_device_plugin import registration
from nodecraft_device_plugin.host import Host, Unreadable
from nodecraft_device_plugin.inventory import Listed
from nodecraft_device_plugin.metrics import Metrics
from plugin_at_work import CONFIG, FAKE, NAME, SCAN, STARTED, AtWork, cluster, lstat, plug, run, unplug

TESTS = Path(__file__).parent
FAKES = ["fake-0", "fake-1"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host with two dongles."""
    plug(tmp_path / "root", "usb-A", 0)
    plug(tmp_path / "root", "usb-B", 1)
    return tmp_path / "root"


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
        async with AtWork(tmp_path) as plugin:
            await plugin.until(lambda: plugin.reason(NAME) == "kubelet.sock is not there")
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


async def start_program(home: Path, folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "nodecraft_device_plugin", "--config", str(home / "config.yaml")),
        *("--device-plugins", str(folder), "--root", str(home / "root"), "--port", "0", *arguments),
        env={**os.environ, "PYTHONPATH": str(TESTS.parent / "src")},
    )


def test_d4_a_killed_process_leaves_its_socket(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        f"{SCAN}\nresources: [{{name: {FAKE}, discover: [{{fake: {{count: 2}}}}]}}]", encoding="utf-8"
    )
    folder = tmp_path / "kubelet"
    folder.mkdir()

    async def test() -> None:
        kubelet = Kubelet(folder)
        await kubelet.start()
        first = await start_program(tmp_path, folder)
        await kubelet.until_healthy(FAKE, FAKES, STARTED)
        stale = kubelet.plugins[FAKE].endpoint
        first.kill()
        await first.wait()
        await kubelet.until_healthy(FAKE, [])
        assert (folder / stale).exists()
        second = await start_program(tmp_path, folder)
        await kubelet.until_healthy(FAKE, FAKES, STARTED)
        assert not (folder / stale).exists()
        second.terminate()
        assert await second.wait() == 0
        assert list(folder.glob("nodecraft-*")) == []
        await kubelet.stop()

    run(test())


def test_a_socket_that_somebody_serves_is_left_alone(tmp_path: Path, root: Path) -> None:
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
            async with AtWork(tmp_path):
                await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
                assert other.exists()
            await kubelet.stop()

        run(with_other())


async def lists_of(process: asyncio.subprocess.Process) -> t.AsyncIterator[dict[str, list[str]]]:
    assert process.stdout
    async for line in process.stdout:
        yield json.loads(line)


async def until_said(
    lists: t.AsyncIterator[dict[str, list[str]]], resource: str, ids: t.Sequence[str], timeout: float = 10.0
) -> None:
    async with asyncio.timeout(timeout):
        async for said in lists:
            if said.get(resource) == list(ids):
                return


def test_d5_the_kubelet_stands_still(tmp_path: Path, root: Path) -> None:
    (tmp_path / "kubelet").mkdir()

    async def test() -> None:
        kubelet = await asyncio.create_subprocess_exec(
            *(sys.executable, str(TESTS / "kubelet_stub.py"), str(tmp_path / "kubelet")),
            env={**os.environ, "PYTHONPATH": str(TESTS.parent / "src")},
            stdout=asyncio.subprocess.PIPE,
        )
        lists = lists_of(kubelet)
        async with AtWork(tmp_path) as plugin:
            await until_said(lists, NAME, ["usb-A", "usb-B"], STARTED)
            kubelet.send_signal(signal.SIGSTOP)
            unplug(root, "usb-B")
            server = plugin.runtime.served[NAME].server
            await plugin.until(lambda: [device.healthy for device in server.listed] == [True, False])
            kubelet.send_signal(signal.SIGCONT)
            await until_said(lists, NAME, ["usb-A"])
        kubelet.kill()
        await kubelet.wait()

    run(test())


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
            # Once down and up again is no change yet.
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


def test_d8_a_broken_configuration_is_refused(tmp_path: Path, root: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            first = kubelet.plugins[FAKE]
            plugin.write_config(CONFIG.replace("count: 2", "count: many"))
            await plugin.until(lambda: bool(plugin.runtime.refused))
            assert "line 10: resources[1].discover[0].fake.count: is 'many'" in plugin.runtime.refused
            assert plugin.value("config_accepted") == 0
            assert plugin.value("config_reloads_total", result="refused") == 1
            assert kubelet.healthy(FAKE) == FAKES
            plugin.write_config(CONFIG.replace("count: 2", "count: 3"))
            await kubelet.until_healthy(FAKE, [*FAKES, "fake-2"])
            assert plugin.value("config_accepted") == 1
            assert kubelet.plugins[FAKE] is first

    run(test())


def test_d9_the_end_comes_during_an_allocation(tmp_path: Path, root: Path) -> None:
    """The one that is under way is answered."""
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
            answer = asyncio.create_task(kubelet.allocate(NAME, ["usb-A"]))
            await asyncio.to_thread(waited.wait, 5)
            plugin.runtime.stopped.set()
            await kubelet.until_healthy(FAKE, [])
            release.set()
            assert (await answer).devices[0].host_path == "/dev/ttyUSB0"
            assert plugin.task
            await plugin.task
            assert list((tmp_path / "kubelet").glob("nodecraft-*")) == []

    run(test())


def test_d10_two_plugins_on_one_resource(tmp_path: Path, root: Path) -> None:
    """The younger one has it; the older one does not fight, and takes over when the younger is gone."""

    async def test() -> None:
        async with cluster(tmp_path, started=1000) as (kubelet, old):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            await old.until(lambda: old.ready[NAME])
            young = AtWork(tmp_path, started=2000)
            async with young:
                await young.until(lambda: young.ready == {NAME: True, FAKE: True})
                await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
                await old.until(lambda: "younger process" in old.reason(NAME))
                assert not old.ready[NAME]
                assert [name for name, _endpoint in kubelet.registrations].count(NAME) == 2
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            await old.until(lambda: old.ready == {NAME: True, FAKE: True})

    run(test())


def test_d10_the_older_of_two_says_no_more_and_its_end_costs_the_younger_one_registration(
    tmp_path: Path, root: Path
) -> None:
    async def test() -> None:
        async with cluster(tmp_path, started=1000) as (kubelet, old):
            await old.until(lambda: old.ready == {NAME: True, FAKE: True})
            async with AtWork(tmp_path, started=2000) as young:
                await young.until(lambda: young.ready == {NAME: True, FAKE: True})
                await old.until(lambda: "younger process" in old.reason(NAME))
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


def test_d11_devices_come_after_the_plugin(tmp_path: Path) -> None:
    """After a reboot: nothing is offered that is not there yet, and what comes is offered."""

    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, _plugin):
            await kubelet.until(lambda: NAME in kubelet.plugins and kubelet.plugins[NAME].open)
            assert kubelet.ids(NAME) == []
            plug(tmp_path / "root", "usb-A", 0)
            await kubelet.until_healthy(NAME, ["usb-A"])

    run(test())


def test_d11_the_first_list_is_a_whole_one(tmp_path: Path, root: Path) -> None:
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
def test_d13_a_node_is_no_device_any_more(tmp_path: Path, root: Path, swapped: str) -> None:
    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            (root / "dev/ttyUSB1").unlink()
            if swapped == "regular file":
                (root / "dev/ttyUSB1").write_text("oops", encoding="utf-8")
            await kubelet.until_healthy(NAME, ["usb-A"])
            reason = plugin.runtime.served[NAME].server.known["usb-B"].health.reason
            assert ("is a regular file" if swapped == "regular file" else "which is not there") in reason
            with pytest.raises(grpc.aio.AioRpcError, match="device usb-B is unhealthy"):
                await kubelet.allocate(NAME, ["usb-B"])
            (root / "dev/ttyUSB1").unlink(missing_ok=True)
            (root / "dev/.new").write_text("char 188:1", encoding="utf-8")
            (root / "dev/.new").rename(root / "dev/ttyUSB1")
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            assert kubelet.ids(NAME) == ["usb-A", "usb-B"]

    run(test())


def test_a_node_that_changes_before_the_next_look_is_not_handed_out(tmp_path: Path, root: Path) -> None:
    text = CONFIG.replace("interval: 0.5, debounce: 0.02", "interval: 60, debounce: 30")

    async def test() -> None:
        async with cluster(tmp_path, text) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            (root / "dev/ttyUSB1").write_text("char 1:3", encoding="utf-8")
            with pytest.raises(grpc.aio.AioRpcError, match="is another device by now"):
                await kubelet.allocate(NAME, ["usb-B"])

    run(test())


class ForbiddenHost(Host):
    """A host whose /dev can be made unreadable, also for root."""

    error: OSError | None = None

    def names(self, folder: str) -> list[str]:
        if self.error and folder.startswith("/dev"):
            raise Unreadable(f"{folder}: {self.error.strerror}")
        return super().names(folder)


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


def test_d15_a_resource_name_of_63_characters(tmp_path: Path, root: Path) -> None:
    name = f"example.com/{'d' * 63}"

    async def test() -> None:
        async with cluster(tmp_path, CONFIG.replace(NAME, name)) as (kubelet, _plugin):
            await kubelet.until_healthy(name, ["usb-A", "usb-B"])
            path = f"/var/lib/kubelet/device-plugins/{kubelet.plugins[name].endpoint}"
            assert len(path) < 108

    run(test())


class RaisingHost(Host):
    """A host of which one resource cannot be looked for without an error nobody thought of."""

    broken = False

    def glob(self, pattern: str) -> list[str]:
        if self.broken:
            raise RuntimeError("a bug")
        return super().glob(pattern)


def test_d16_a_look_raises_while_the_stream_is_open(tmp_path: Path, root: Path) -> None:
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
    """Metrics of which those of one resource cannot be written."""

    broken = True

    def list_changed(self, resource: str, listed: t.Sequence[Listed]) -> None:
        if self.broken and resource == NAME:
            raise RuntimeError("a bug")
        super().list_changed(resource, listed)


def test_d16_what_was_found_for_a_resource_raises(tmp_path: Path, root: Path) -> None:
    metrics = RaisingMetrics()

    async def test() -> None:
        async with cluster(tmp_path, metrics=metrics) as (kubelet, plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            assert plugin.runtime.served[NAME].failure == "unexpected: a bug"
            assert (plugin.value("scan_failures_total", resource=NAME) or 0) >= 1
            metrics.broken = False
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])

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


def test_a_kubelet_that_refuses_is_asked_again(tmp_path: Path, root: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])
            kubelet.refuse = "no room"
            await kubelet.cut_stream(NAME)
            await plugin.until(lambda: "no room" in plugin.reason(NAME))
            assert not plugin.ready[NAME]
            kubelet.refuse = ""
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"])

    run(test())


def test_a_hanging_look_holds_up_nobody_else(tmp_path: Path, root: Path) -> None:
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
            await plugin.until(lambda: "has not ended" in plugin.runtime.served[NAME].failure)
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


def test_nobody_else_offers_a_node_while_its_owner_cannot_be_looked_at(tmp_path: Path, root: Path) -> None:
    class HalfBlind(ForbiddenHost):
        def names(self, folder: str) -> list[str]:
            return super().names(folder) if folder == "/dev/serial/by-id" else Host.names(self, folder)

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


def test_the_end_comes_while_a_look_hangs(tmp_path: Path) -> None:
    """And what tells other programs to read their configuration is no end."""
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
