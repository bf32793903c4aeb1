# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes, metrics, and which pod holds which device."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import typing as t
from pathlib import Path

import grpc
import pytest
from nodecraft_device_plugin import protocol
from plugin_at_work import FAKE, SCAN, AtWork, cluster, run

API = protocol.pod_resources
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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def get(port: int, target: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"{method} {target} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    answer = (await reader.read()).decode()
    writer.close()
    head, _empty, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


@contextlib.asynccontextmanager
async def pod_resources_of(home: Path, *pods: t.Any) -> t.AsyncIterator[Path]:
    """The kubelet's service that says which pod holds what."""
    path = home / "pod-resources.sock"

    async def list_(_request: t.Any, _context: t.Any) -> t.Any:
        return API.ListPodResourcesResponse(pod_resources=pods)

    async def allocatable(_request: t.Any, _context: t.Any) -> t.Any:
        devices = [API.ContainerDevices(resource_name=FAKE, device_ids=[name]) for name in FAKES]
        return API.AllocatableResourcesResponse(devices=devices)

    async def get_(request: t.Any, context: t.Any) -> t.Any:
        for pod in pods:
            if (pod.namespace, pod.name) == (request.pod_namespace, request.pod_name):
                return API.GetPodResourcesResponse(pod_resources=pod)
        return await context.abort(grpc.StatusCode.NOT_FOUND, "pod not found")

    methods = {
        "List": (list_, API.ListPodResourcesRequest),
        "GetAllocatableResources": (allocatable, API.AllocatableResourcesRequest),
        "Get": (get_, API.GetPodResourcesRequest),
    }
    server = grpc.aio.server()
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            method, request.FromString, lambda message: message.SerializeToString()
        )
        for name, (method, request) in methods.items()
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1.PodResourcesLister", handlers),))
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    try:
        yield path
    finally:
        await server.stop(None)


def pod(name: str, device: str, resource: str = FAKE) -> t.Any:
    devices = API.ContainerDevices(resource_name=resource, device_ids=[device])
    devices.topology.nodes.add(ID=1)
    return API.PodResources(
        name=name, namespace="team", containers=[API.ContainerResources(name="main", devices=[devices])]
    )


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
            assert "the last good one is in use: line 1: resources: has to be a list" in body

    run(test())


def test_not_ready_without_a_kubelet(tmp_path: Path) -> None:
    port = free_port()

    async def test() -> None:
        async with AtWork(tmp_path, config("{}"), port=port, address="127.0.0.1") as plugin:
            await plugin.until(lambda: plugin.reason(FAKE) == "kubelet.sock is not there")
            assert await get(port, "/readyz") == (503, f"[-] {FAKE}: kubelet.sock is not there\n")

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
                f'device_plugin_candidates_left_out{{resource="{FAKE}"}} 0.0',
                "device_plugin_config_accepted 1.0",
            ):
                assert line in body.splitlines()
            assert "device_plugin_scan_seconds_count" in body
            assert "allocated_device" not in body

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
            assert report["devices"][1]["reason"] == "/state/fake-1 is 'on fire', in which 'up' is not found"

    run(test())


def test_what_is_no_page(tmp_path: Path) -> None:
    port = free_port()

    async def test() -> None:
        async with AtWork(tmp_path, config("{}"), port=port, address="127.0.0.1"):
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
                "there is: /devices, /livez, /metrics, /pod-resources, /pod-resources/metrics, /readyz\n",
            )
            assert (await get(port, "/livez", method="POST"))[0] == 405

    run(test())


def test_who_holds_what(tmp_path: Path) -> None:
    port = free_port()
    holders = [pod("a", "fake-0"), pod("b", "gone-7"), pod("c", "gpu-1::3", "example.org/gpu")]

    async def test() -> None:
        async with pod_resources_of(tmp_path, *holders) as socket:
            settings = {"port": port, "address": "127.0.0.1", "pod_resources_socket": socket, "node_name": "worker-1"}
            async with cluster(tmp_path, config("{access: open}"), **settings) as (kubelet, _plugin):
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
                assert [(held["physical"], held["health"]) for held in view["holdings"][1:]] == [
                    ("gone-7", "Vanished"),
                    ("gpu-1", ""),
                ]
                assert (view["allocatable"], view["free"]) == ({FAKE: FAKES}, {FAKE: ["fake-1"]})

                status, body = await get(port, "/pod-resources?namespace=team&pod=a")
                assert [held["pod"] for held in json.loads(body)["holdings"]] == ["a"]
                status, body = await get(port, "/pod-resources?namespace=team&pod=none")
                assert (status, "pod not found" in body) == (503, True)

                status, body = await get(port, "/pod-resources/metrics")
                assert (
                    'device_plugin_allocated_device{container="main",device_id="fake-0",health="Healthy",namespace="team",'
                    f'node="worker-1",numa="1",physical="fake-0",pod="a",resource="{FAKE}"}} 1.0'
                ) in body.splitlines()
                assert f'device_plugin_free_devices{{node="worker-1",resource="{FAKE}"}} 1.0' in body.splitlines()

    run(test())


@pytest.mark.parametrize(
    ("access", "headers", "status"),
    [
        ("{}", {}, 404),
        ("{access: off}", {}, 404),
        ("{access: token, tokenFile: %s/token}", {}, 403),
        ("{access: token, tokenFile: %s/token}", {"Authorization": "Bearer wrong"}, 403),
        ("{access: token, tokenFile: %s/token}", {"Authorization": "Bearer secret"}, 200),
        ("{access: token, tokenFile: %s/token}", {"X_Device_Plugin_Token": "secret"}, 200),
        ("{access: token, tokenFile: %s/none}", {"Authorization": "Bearer secret"}, 503),
        ("{access: token, tokenFile: %s/empty}", {"Authorization": "Bearer "}, 403),
    ],
)
def test_the_view_is_not_for_everybody(tmp_path: Path, access: str, headers: dict[str, str], status: int) -> None:
    port = free_port()
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    (tmp_path / "empty").touch()

    async def test() -> None:
        async with pod_resources_of(tmp_path) as socket:
            text = config(access.replace("%s", str(tmp_path)))
            settings = {"port": port, "address": "127.0.0.1", "pod_resources_socket": socket}
            async with cluster(tmp_path, text, **settings) as (kubelet, _plugin):
                await kubelet.until_healthy(FAKE, FAKES)
                for page in ("/pod-resources", "/pod-resources/metrics"):
                    assert (await get(port, page, **headers))[0] == status

    run(test())


def test_a_kubelet_that_cannot_be_asked_is_named(tmp_path: Path) -> None:
    port = free_port()

    async def test() -> None:
        settings = {"port": port, "address": "127.0.0.1", "pod_resources_socket": tmp_path / "none.sock"}
        async with cluster(tmp_path, config("{access: open}"), **settings) as (kubelet, _plugin):
            await kubelet.until_healthy(FAKE, FAKES)
            status, body = await get(port, "/pod-resources")
            assert status == 503
            assert "none.sock cannot be asked: UNAVAILABLE" in body

    run(test())
