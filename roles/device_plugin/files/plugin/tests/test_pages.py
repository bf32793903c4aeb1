# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes, metrics, and which pod holds which device."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import grpc
import pytest
from kubelet_stub import holder
from running_plugin import FAKE, SCAN, RunningPlugin, cluster, free_port, get, run

FAKES = ["fake-0", "fake-1"]


def config(access: str) -> str:
    return f"""
{SCAN}
podResources: {access}
resources:
  - name: {FAKE}
    discover: [{{fake: {{count: 2}}}}]
    sharing: {{replicas: 1}}
"""


def test_ready_only_while_registered(tmp_path: Path) -> None:
    port = free_port()

    async def test() -> None:
        async with cluster(tmp_path, config("{}"), port=port, address="127.0.0.1") as (kubelet, plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            await plugin.until(lambda: plugin.ready[FAKE])
            assert await get(port, "/readyz") == (200, f"[+] {FAKE}\n")
            await kubelet.stop()
            await plugin.until(lambda: not plugin.ready[FAKE])
            status, body = await get(port, "/readyz")
            assert status == 503
            assert f"[-] {FAKE}: " in body
            assert await get(port, "/livez") == (200, "ok\n")
            await kubelet.start()
            await kubelet.until_healthy(FAKE, FAKES)
            await plugin.until(lambda: plugin.ready[FAKE])
            plugin.write_config("resources: nonsense")
            await plugin.until(lambda: bool(plugin.runtime.refused))
            status, body = await get(port, "/readyz")
            assert status == 200
            assert "the last valid one is in use: line 1: resources: invalid value: must be a list" in body

    run(test())


def test_not_ready_with_fewer_healthy_devices_than_min_healthy(tmp_path: Path) -> None:
    port = free_port()

    def config_with(number: int) -> str:
        return config("{}").replace("    sharing:", f"    minHealthy: {number}\n    sharing:")

    async def test() -> None:
        async with cluster(tmp_path, config_with(3), port=port, address="127.0.0.1") as (kubelet, plugin):
            # The devices that exist are advertised nevertheless.
            await kubelet.until_healthy(FAKE, FAKES)
            await plugin.until(lambda: plugin.ready[FAKE])
            assert await get(port, "/readyz") == (503, f"[-] {FAKE}: 2 healthy devices, and minHealthy is 3\n")
            report = json.loads((await get(port, "/devices"))[1])[FAKE]
            assert (report["not_ready"], report["shortage"]) == ("", "2 healthy devices, and minHealthy is 3")
            plugin.write_config(config_with(2))
            await plugin.until(lambda: not plugin.runtime.served[FAKE].server.shortage)
            assert await get(port, "/readyz") == (200, f"[+] {FAKE}\n")

    run(test())


def test_not_ready_without_a_kubelet(tmp_path: Path) -> None:
    port = free_port()

    async def test() -> None:
        async with RunningPlugin(tmp_path, config("{}"), port=port, address="127.0.0.1") as plugin:
            await plugin.until(lambda: plugin.reason(FAKE) == "kubelet.sock does not exist")
            assert await get(port, "/readyz") == (503, f"[-] {FAKE}: kubelet.sock does not exist\n")

    run(test())


def test_metrics(tmp_path: Path) -> None:
    port = free_port()

    async def test() -> None:
        async with cluster(tmp_path, config("{}"), port=port, address="127.0.0.1") as (kubelet, plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            await plugin.until(lambda: plugin.value("registered", resource=FAKE) == 1)
            status, body = await get(port, "/metrics")
            assert status == 200
            for line in (
                f'device_plugin_devices{{health="Healthy",resource="{FAKE}"}} 2.0',
                f'device_plugin_registered{{resource="{FAKE}"}} 1.0',
                f'device_plugin_registrations_total{{resource="{FAKE}",result="accepted"}} 1.0',
                f'device_plugin_candidates_skipped{{resource="{FAKE}"}} 0.0',
                "device_plugin_config_accepted 1.0",
                # Series of events that did not happen yet are 0, so that the first event is an increase.
                f'device_plugin_registrations_total{{resource="{FAKE}",result="failed"}} 0.0',
                f'device_plugin_allocations_total{{resource="{FAKE}",result="rejected"}} 0.0',
                f'device_plugin_allocation_seconds_count{{resource="{FAKE}"}} 0.0',
                f'device_plugin_scan_failures_total{{resource="{FAKE}"}} 0.0',
                'device_plugin_config_reloads_total{result="refused"} 0.0',
            ):
                assert line in body.splitlines()
            assert "device_plugin_scan_seconds_count" in body
            assert "process_start_time_seconds" in body
            assert "_created" not in body
            assert "allocated_device" not in body

            plugin.write_config("resources: []")
            await plugin.until(lambda: not plugin.runtime.served and FAKE not in plugin.metrics.text().decode())

    run(test())


def test_devices_and_why_they_are_unhealthy(tmp_path: Path) -> None:
    port = free_port()
    state = tmp_path / "root/state"
    state.mkdir(parents=True)
    for name, text in zip(FAKES, ("up", "on fire"), strict=True):
        (state / name).write_text(text, encoding="utf-8")
    checked = config("{}") + "    health: {file: {path: '/state/{id}', healthy: up}}\n"

    async def test() -> None:
        async with cluster(tmp_path, checked, port=port, address="127.0.0.1") as (kubelet, plugin):
            await kubelet.until_healthy(FAKE, ["fake-0"])
            await plugin.until(lambda: plugin.ready[FAKE])
            status, body = await get(port, "/devices")
            report = json.loads(body)[FAKE]
            assert (status, report["advertised"], report["not_ready"]) == (200, 2, "")
            assert [(device["id"], device["healthy"]) for device in report["devices"]] == [
                ("fake-0", True),
                ("fake-1", False),
            ]
            assert report["devices"][1]["reason"] == "/state/fake-1 is 'on fire', which does not match 'up'"

    run(test())


def test_invalid_requests(tmp_path: Path) -> None:
    port = free_port()

    async def test() -> None:
        async with RunningPlugin(tmp_path, config("{}"), port=port, address="127.0.0.1"):
            await asyncio.sleep(0)
            async with asyncio.timeout(5):
                while True:
                    try:
                        status, body = await get(port, "/nothing")
                        break
                    except ConnectionRefusedError:
                        await asyncio.sleep(0.01)
            assert (status, body) == (
                404,
                "invalid path: must be one of /devices, /livez, /metrics, /pod-resources, /pod-resources/metrics, /readyz\n",
            )
            assert (await get(port, "/livez", method="POST"))[0] == 405

    run(test())


def test_who_holds_what(tmp_path: Path) -> None:
    port = free_port()
    holders = [holder("a", "fake-0", FAKE), holder("b", "gone-7", FAKE), holder("c", "gpu-1::3", "example.org/gpu")]

    async def test() -> None:
        settings = {"port": port, "address": "127.0.0.1", "node_name": "worker-1"}
        async with cluster(tmp_path, config("{access: open}"), **settings) as (kubelet, _plugin):
            kubelet.pods = holders
            await kubelet.until_healthy(FAKE, FAKES)
            status, body = await get(port, "/pod-resources")
            assert status == 200
            view = json.loads(body)
            assert view["node"] == "worker-1"
            assert view["holdings"][0] == {
                "namespace": "team",
                "pod": "a",
                "container": "main",
                "resource": FAKE,
                "device_id": "fake-0",
                "physical": "fake-0",
                "numa": [1],
                "health": "Healthy",
            }
            assert [(holding["physical"], holding["health"]) for holding in view["holdings"][1:]] == [
                ("gone-7", "Vanished"),
                ("gpu-1", ""),
            ]
            assert (view["allocatable"], view["free"]) == ({FAKE: FAKES}, {FAKE: ["fake-1"]})

            status, body = await get(port, "/pod-resources?namespace=team&pod=a")
            assert [holding["pod"] for holding in json.loads(body)["holdings"]] == ["a"]
            for half in ("pod=a", "namespace=team"):
                assert (await get(port, f"/pod-resources?{half}"))[0] == 400
            status, body = await get(port, "/pod-resources?namespace=team&pod=none")
            assert (status, body) == (404, "the kubelet has no pod team/none: NOT_FOUND: pod not found\n")

            status, body = await get(port, "/pod-resources/metrics")
            assert (
                'device_plugin_allocated_device{container="main",device_id="fake-0",health="Healthy",namespace="team",'
                f'node="worker-1",numa="1",physical="fake-0",pod="a",resource="{FAKE}"}} 1.0'
            ) in body.splitlines()
            assert f'device_plugin_free_devices{{node="worker-1",resource="{FAKE}"}} 1.0' in body.splitlines()
            # For devices of other plugins, only the kubelet's list shows the health.
            assert 'health="Unknown",namespace="team",node="worker-1",numa="1",physical="gpu-1"' in body

            status, body = await get(port, "/pod-resources/metrics?namespace=team&pod=a")
            assert (body.count("\ndevice_plugin_allocated_device{"), 'health="Healthy"' in body) == (1, True)
            assert f'device_plugin_allocatable_devices{{node="worker-1",resource="{FAKE}"}} 2.0' in body.splitlines()
            assert "device_plugin_free_devices{" not in body

    run(test())


@pytest.mark.parametrize(
    ("access", "headers", "status"),
    [
        ("{}", {}, 404),
        ("{access: off}", {}, 404),
        ("{access: token, tokenFile: %s/token}", {}, 401),
        ("{access: token, tokenFile: %s/token}", {"Authorization": "Bearer wrong"}, 403),
        ("{access: token, tokenFile: %s/token}", {"Authorization": "Bearer secret"}, 200),
        ("{access: token, tokenFile: %s/token}", {"X_Device_Plugin_Token": "secret"}, 200),
        ("{access: token, tokenFile: %s/none}", {"Authorization": "Bearer secret"}, 503),
        ("{access: token, tokenFile: %s/empty}", {"Authorization": "Bearer x"}, 403),
        # A token in another header is ignored.
        ("{access: token, tokenFile: %s/token}", {"Authorization": "secret"}, 401),
        ("{access: token, tokenFile: %s/token}", {"Authorization": "Basic secret"}, 401),
        ("{access: token, tokenFile: %s/token}", {"Authorization": "Bearer "}, 401),
        ("{access: token, tokenFile: %s/token}", {"Authorization": "bearer secret"}, 200),
    ],
)
def test_access_to_the_view(tmp_path: Path, access: str, headers: dict[str, str], status: int) -> None:
    port = free_port()
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    (tmp_path / "empty").touch()

    async def test() -> None:
        text = config(access.replace("%s", str(tmp_path)))
        async with cluster(tmp_path, text, port=port, address="127.0.0.1") as (kubelet, _plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            for page in ("/pod-resources", "/pod-resources/metrics"):
                assert (await get(port, page, **headers))[0] == status

    run(test())


@pytest.mark.parametrize(
    ("message", "status"),
    [("pod none in namespace team not found", 404), ("PodResources API Get method disabled", 503)],
)
def test_a_missing_pod_that_a_kubelet_reports_in_its_message(tmp_path: Path, message: str, status: int) -> None:
    port = free_port()

    async def test() -> None:
        async with cluster(tmp_path, config("{access: open}"), port=port, address="127.0.0.1") as (kubelet, _plugin):
            kubelet.no_pod = (grpc.StatusCode.UNKNOWN, message)
            await kubelet.until_healthy(FAKE, FAKES)
            assert (await get(port, "/pod-resources?namespace=team&pod=none"))[0] == status

    run(test())


def test_an_unreachable_kubelet_is_named(tmp_path: Path) -> None:
    port = free_port()

    async def test() -> None:
        settings = {"port": port, "address": "127.0.0.1", "pod_resources_socket": tmp_path / "none.sock"}
        async with cluster(tmp_path, config("{access: open}"), **settings) as (kubelet, _plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            status, body = await get(port, "/pod-resources")
            assert status == 503
            assert "none.sock: UNAVAILABLE" in body

    run(test())
