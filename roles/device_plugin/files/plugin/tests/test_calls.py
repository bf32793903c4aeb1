# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calls of the kubelet over its socket, and changes meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import grpc
import pytest
from kubelet_stub import Kubelet
from nodecraft_device_plugin import inventory, registration
from nodecraft_device_plugin.inventory import Health
from running_plugin import SCAN, STARTED, RunningPlugin, cluster, plug, run, unplug

NAME = "example.com/gpu"


def config(rest: str, discover: str = "fake: {count: 4, numaNodes: [0, 1]}") -> str:
    return f"{SCAN}\nresources:\n  - name: {NAME}\n    discover: [{{{discover}}}]\n    {rest}\n"


FAKES = [f"fake-{number}" for number in range(4)]


def test_options_topology_and_preference(tmp_path: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path, config("preStart: {}")) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, FAKES)
            registered = kubelet.plugins[NAME]
            assert (registered.options.pre_start_required, registered.options.get_preferred_allocation_available) == (
                True,
                True,
            )
            assert [node.ID for node in registered.devices["fake-1"].topology.nodes] == [1]
            assert await kubelet.preferred(NAME, FAKES, ["fake-1"], 2) == ["fake-1", "fake-3"]

    run(test())


def test_a_container_gets_devices_mounts_environment_and_annotations(tmp_path: Path) -> None:
    edits = "container: {env: {IDS: '{ids}'}, annotations: {a: b}, mounts: [{hostPath: /opt, containerPath: /x}]}"
    plug(tmp_path / "root", "usb-A", 0)

    async def test() -> None:
        async with cluster(tmp_path, config(edits, "path: {glob: /dev/serial/by-id/*}")) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A"])
            first = await kubelet.allocate(NAME, ["usb-A"])
            assert dict(first.envs) == {"IDS": "usb-A"}
            assert dict(first.annotations) == {"a": "b"}
            assert [(mount.host_path, mount.container_path, mount.read_only) for mount in first.mounts] == [
                ("/opt", "/x", True)
            ]
            assert [(node.host_path, node.permissions) for node in first.devices] == [("/dev/ttyUSB0", "rw")]
            assert await kubelet.allocate(NAME, ["usb-A"]) == first
            assert plugin.value("allocations_total", resource=NAME, result="accepted") == 2

    run(test())


def test_a_rejected_allocation_has_a_reason(tmp_path: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path, config("sharing: {replicas: 2, maxPerContainer: 1}")) as (kubelet, plugin):
            await kubelet.until(lambda: len(kubelet.healthy(NAME)) == 8)
            with pytest.raises(grpc.aio.AioRpcError, match="at most 1 per container") as caught:
                await kubelet.allocate(NAME, ["fake-0::0", "fake-1::0"])
            assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
            with pytest.raises(grpc.aio.AioRpcError, match="device gone does not exist"):
                await kubelet.allocate(NAME, ["gone"])
            assert plugin.value("allocations_total", resource=NAME, result="rejected") == 2

    run(test())


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("[sh, -c, 'echo $DEVICE_IDS > {home}/seen']", ""),
        ("[sh, -c, 'echo no power; exit 3']", "preStart command sh ended with status 3: no power"),
        ("[{home}/none]", "cannot be started: No such file or directory"),
    ],
)
def test_a_command_before_a_container_starts(tmp_path: Path, command: str, problem: str) -> None:
    text = config(f"preStart: {{command: {command.replace('{home}', str(tmp_path))}}}")

    async def test() -> None:
        async with cluster(tmp_path, text) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, FAKES)
            if problem:
                with pytest.raises(grpc.aio.AioRpcError, match=problem):
                    await kubelet.pre_start(NAME, ["fake-1"])
                return
            await kubelet.pre_start(NAME, ["fake-1"])
            assert (tmp_path / "seen").read_text(encoding="utf-8") == "fake-1\n"

    run(test())


def test_a_command_that_does_not_end_is_killed(tmp_path: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path, config("preStart: {command: [sleep, '60'], timeout: 0.2}")) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, FAKES)
            with pytest.raises(grpc.aio.AioRpcError, match=r"did not end within 0\.2 s"):
                await kubelet.pre_start(NAME, ["fake-1"])

    run(test())


def test_cdi_names_instead_of_nodes(tmp_path: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path, config("container: {cdi: true}")) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, FAKES)
            given = await kubelet.allocate(NAME, ["fake-0"])
            assert [device.name for device in given.cdi_devices] == [f"{NAME}=fake-0"]
            path = tmp_path / "cdi/nodecraft-example.com-gpu.json"
            assert len(json.loads(path.read_text(encoding="utf-8"))["devices"]) == 4
            plugin.write_config("resources: []")
            await plugin.until(lambda: not path.exists())
            # A restarted container needs it, also after the plugin has ended.

    run(test())


def test_without_a_cdi_directory_devices_are_nodes(tmp_path: Path) -> None:
    (tmp_path / "cdi").write_text("no directory", encoding="utf-8")
    plug(tmp_path / "root", "usb-A", 0)

    async def test() -> None:
        text = config("container: {cdi: true}", "path: {glob: /dev/serial/by-id/*}")
        async with cluster(tmp_path, text) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, ["usb-A"])
            given = await kubelet.allocate(NAME, ["usb-A"])
            assert ([device.host_path for device in given.devices], list(given.cdi_devices)) == (["/dev/ttyUSB0"], [])

    run(test())


def test_the_specification_outlives_the_process(tmp_path: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path, config("container: {cdi: true}")) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, FAKES)
        assert (tmp_path / "cdi/nodecraft-example.com-gpu.json").exists()

    run(test())


def test_resources_follow_the_configuration(tmp_path: Path) -> None:
    other = f"{SCAN}\nresources: [{{name: example.com/other, discover: [{{fake: {{count: 1}}}}]}}]"

    async def test() -> None:
        async with cluster(tmp_path, config("preference: packed")) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, FAKES)
            plugin.write_config(other)
            await kubelet.until_healthy("example.com/other", ["fake-0"])
            # The kubelet gets an empty list before the stream ends.
            await kubelet.until(lambda: not kubelet.plugins[NAME].open)
            assert kubelet.ids(NAME) == []
            assert plugin.value("devices", resource=NAME, health="Healthy") is None
            assert [
                path.name.startswith(registration.socket_stem(NAME))
                for path in (tmp_path / "kubelet").glob("nodecraft-*")
            ] == [False]

    run(test())


def test_devices_that_the_configuration_no_longer_names_are_forgotten_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path, config("preference: packed")) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, FAKES)
            plugin.write_config(config("preference: packed", "fake: {count: 1}"))
            await kubelet.until_healthy(NAME, ["fake-0"])
            assert kubelet.ids(NAME) == ["fake-0"]

    run(test())


def test_changed_options_cause_a_new_registration(tmp_path: Path) -> None:
    async def test() -> None:
        async with cluster(tmp_path, config("preference: packed")) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, FAKES)
            first = kubelet.plugins[NAME]
            plugin.write_config(config("preStart: {}"))
            await kubelet.until(lambda: kubelet.plugins[NAME] is not first)
            assert kubelet.plugins[NAME].options.pre_start_required
            await kubelet.until_healthy(NAME, FAKES)

    run(test())


def test_a_configuration_behind_links_as_kubernetes_mounts_it(tmp_path: Path) -> None:
    mounted = tmp_path / "config"
    for number, count in enumerate((1, 2)):
        (mounted / f"..{number}").mkdir(parents=True)
        (mounted / f"..{number}/config.yaml").write_text(
            config("preference: packed", f"fake: {{count: {count}}}"), encoding="utf-8"
        )

    async def test() -> None:
        plugin = RunningPlugin(tmp_path)
        plugin.config_file.unlink()
        (mounted / "..data").symlink_to("..0")
        plugin.config_file.symlink_to("..data/config.yaml")
        kubelet = Kubelet(tmp_path / "kubelet")
        await kubelet.start()
        async with plugin:
            await kubelet.until_healthy(NAME, ["fake-0"])
            (mounted / "..new").symlink_to("..1")
            (mounted / "..new").rename(mounted / "..data")
            await kubelet.until_healthy(NAME, ["fake-0", "fake-1"], timeout=3)
        await kubelet.stop()

    run(test())


@pytest.mark.parametrize(("drain", "left"), [(True, []), (False, FAKES)])
def test_the_list_is_emptied_at_the_end_only_with_drain(tmp_path: Path, drain: bool, left: list[str]) -> None:
    async def test() -> None:
        async with cluster(tmp_path, config("preference: packed"), drain=drain) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, FAKES)
            plugin.runtime.stopped.set()
            assert plugin.task
            await plugin.task
            await kubelet.until(lambda: not kubelet.plugins[NAME].open)
            assert kubelet.ids(NAME) == left

    run(test())


@pytest.mark.parametrize(("status", "healthy"), [(0, True), (1, False), (2, False)])
def test_a_command_determines_the_health(tmp_path: Path, status: int, healthy: bool) -> None:
    """Nothing is advertised before the first result; a status other than 0 and 1 is unknown."""
    text = config(f"health: {{exec: {{command: [sh, -c, 'exit {status}']}}}}", "fake: {count: 1}")

    async def test() -> None:
        async with cluster(tmp_path, text) as (kubelet, plugin):
            await plugin.until(lambda: bool(plugin.runtime.served[NAME].probed) if plugin.runtime.served else False)
            await kubelet.until(lambda: NAME in kubelet.plugins and kubelet.plugins[NAME].open)
            await kubelet.until_healthy(NAME, ["fake-0"] if healthy else [])
            assert kubelet.ids(NAME) == ["fake-0"]
            server = plugin.runtime.served[NAME].server
            await plugin.until(lambda: server.known["fake-0"].health.reason != inventory.UNCHECKED)
            assert server.known["fake-0"].health == Health(
                healthy, "" if healthy else f"sh ended with status {status}: "
            )

    run(test())


def test_the_health_of_a_command_recovers(tmp_path: Path) -> None:
    (tmp_path / "ok").touch()
    command = f"[sh, -c, 'test -e {tmp_path}/ok']"
    text = config(f"health: {{interval: 1, failures: 2, exec: {{command: {command}}}}}", "fake: {count: 1}")

    async def test() -> None:
        async with cluster(tmp_path, text) as (kubelet, _plugin):
            await kubelet.until_healthy(NAME, ["fake-0"])
            (tmp_path / "ok").unlink()
            await kubelet.until_healthy(NAME, [])
            (tmp_path / "ok").touch()
            await kubelet.until_healthy(NAME, ["fake-0"])

    run(test())


def test_a_returned_device_is_checked_at_once(tmp_path: Path) -> None:
    root = tmp_path / "root"
    plug(root, "usb-A", 0)
    text = config("health: {interval: 600, exec: {command: ['true']}}", "path: {glob: /dev/serial/by-id/*}")

    async def test() -> None:
        async with cluster(tmp_path, text) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A"], STARTED)
            unplug(root, "usb-A")
            await kubelet.until_healthy(NAME, [], STARTED)
            assert plugin.runtime.served[NAME].server.known["usb-A"].health.reason == inventory.GONE
            plug(root, "usb-A", 0)
            await kubelet.until_healthy(NAME, ["usb-A"], STARTED)
            plug(root, "usb-B", 1)
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B"], STARTED)

    run(test())


def test_deciding_results_come_early(tmp_path: Path) -> None:
    """The other device causes the first bad result; the rest come long before the interval is over."""
    root = tmp_path / "root"
    plug(root, "usb-A", 0)
    (tmp_path / "ok").touch()
    rules = f"health: {{interval: 600, exec: {{command: [test, -e, {tmp_path}/ok]}}}}"

    async def test() -> None:
        async with cluster(tmp_path, config(rules, "path: {glob: /dev/serial/by-id/*}")) as (kubelet, plugin):
            await kubelet.until_healthy(NAME, ["usb-A"])
            await plugin.until(lambda: not plugin.runtime.served[NAME].probed["usb-A"].fresh)
            (tmp_path / "ok").unlink()
            plug(root, "usb-B", 1)
            await kubelet.until_healthy(NAME, [], STARTED)
            (tmp_path / "ok").touch()
            plug(root, "usb-C", 2)
            await kubelet.until_healthy(NAME, ["usb-A", "usb-B", "usb-C"], STARTED)

    run(test())
