# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plugins queried through the API server, for all nodes in one task."""

from __future__ import annotations

import base64
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import ApiError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.pod_resource_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, FakeApi, HttpError, client_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node, pod

Serve = t.Callable[..., FakeApi]
D = "example.com/dongle"
LABELS = {"app": "plugin"}
TOKEN = {"plugin_token": "secret\n"}
IN_SECRET = {"plugin_token_secret": "s"}


def plugin(on: str, name: str = "", **parts: t.Any) -> Json:
    return pod(name or f"plugin-{on}", namespace="devices", node=on, labels=LABELS, **parts)


def view(*holders: str, devices: t.Sequence[str] = ("a", "b")) -> Json:
    """A response of a plugin: each of these pods has one of the devices."""
    holdings = [
        {
            "namespace": "default",
            "pod": name,
            "container": "c",
            "resource": D,
            "device_id": device,
            "physical": device,
            "numa": [],
            "health": "Healthy",
        }
        for name, device in zip(holders, devices)
    ]
    return {"node": "", "holdings": holdings, "allocatable": {D: list(devices)}, "free": {}}


def dongles(name: str) -> Json:
    return node(name, capacity={D: "2"}, kubelet_managed=[D])


@pytest.fixture(name="api")
def fixture_api(serve: Serve) -> FakeApi:
    """Two nodes, each with a plugin that responds; a pod on the first has a device."""
    api = serve(dongles("w1"), dongles("w2"))
    api.pods = [plugin("w1"), plugin("w2"), pod("reader", requests={D: "1"})]
    api.proxied = {"plugin-w1": view("reader"), "plugin-w2": view()}
    return api


class Read:
    """What was read, and the warnings."""

    def __init__(self, api: FakeApi, **params: t.Any) -> None:
        options = {
            "nodes": None,
            "label_selector": None,
            "namespace": "devices",
            "pod_selector": "app=plugin",
            "port": 9808,
            "path": "/pod-resources",
            "plugin_token": None,
            "plugin_token_secret": None,
            "concurrency": 4,
            **params,
        }
        self.clock = Clock()
        self.warnings: list[str] = []
        found = read_all(options, connect=lambda: client_of(api.url, self.clock), warn=self.warnings.append)
        self.nodes: Json = found["nodes"]
        self.allocations: list[Json] = found["allocations"]


def test_all_nodes(api: FakeApi) -> None:
    found = Read(api)
    assert [(entry["node"], entry["pod"], entry["device_id"]) for entry in found.allocations] == [("w1", "reader", "a")]
    assert found.allocations[0]["since"] == "2026-01-01T00:00:01Z"
    assert {name: entry["resources"][D]["free"] for name, entry in found.nodes.items()} == {
        "w1": ["b"],
        "w2": ["a", "b"],
    }
    assert all(entry["responded"] and entry["msg"] == "" for entry in found.nodes.values())
    assert found.warnings == []
    queried = [path for path in api.paths("GET") if "/proxy/" in path]
    assert sorted(queried) == [
        f"/api/v1/namespaces/devices/pods/plugin-{name}:9808/proxy/pod-resources" for name in ("w1", "w2")
    ]


def test_a_version_that_is_not_tested(api: FakeApi) -> None:
    api.version = "v1.38.0"
    (warning,) = Read(api).warnings
    assert "API server v1.38.0 (newer than tested)" in warning


def test_what_is_documented_is_returned(api: FakeApi) -> None:
    found = Read(api)
    result = {"allocations": found.allocations, "nodes": found.nodes}
    assert schema_errors("pod_resource_info", result, added_later={"api"}) == []


def test_many_nodes_take_one_request_each_three_lists_and_the_version(serve: Serve) -> None:
    names = [f"n{number:02}" for number in range(20)]
    api = serve(*map(dongles, names))
    api.pods = [plugin(name) for name in names]
    api.proxied = {f"plugin-{name}": view() for name in names}
    found = Read(api)
    assert all(entry["responded"] for entry in found.nodes.values())
    assert len(api.requests) == 24


def test_one_node(api: FakeApi) -> None:
    found = Read(api, nodes=["w2"])
    assert (list(found.nodes), found.allocations) == (["w2"], [])
    assert [path for path in api.paths("GET") if "plugin-w1" in path] == []


def test_pods_are_read_after_the_plugins(api: FakeApi) -> None:
    Read(api)
    lists = [
        number
        for number, path in enumerate(api.paths("GET"))
        if "/pods?fieldSelector" in path or "spec.nodeName" in path
    ]
    queried = [number for number, path in enumerate(api.paths("GET")) if "/proxy/" in path]
    assert max(queried) < min(lists)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ((403, "a token is needed"), "answered 403, a token is needed. Set plugin_token or plugin_token_secret to"),
        ((404, "podResources.access is off"), "answered 404, podResources.access is off. Set podResources.access"),
        ((503, "none.sock cannot be asked"), "answered 503, none.sock cannot be asked. Check that the directory"),
        ((200, "<html>"), "answered with something other than a view of pod resources. Check that path"),
        ({"other": 1}, "answered with something other than a view of pod resources. Check that path"),
        (
            HttpError(503, "error trying to reach service: refused"),
            "503, error trying to reach service: refused. Check that the",
        ),
        (HttpError(404, 'pods "plugin-w2" not found'), "was not reached: http"),
    ],
)
def test_node_without_a_report_is_named_with_the_reason(api: FakeApi, response: t.Any, message: str) -> None:
    api.proxied["plugin-w2"] = response
    found = Read(api)
    assert found.nodes["w1"]["responded"]
    w2 = found.nodes["w2"]
    assert not w2["responded"]
    assert w2["msg"].startswith("devices/plugin-w2 ")
    assert message in w2["msg"]
    assert w2["msg"].endswith(".")
    assert w2["resources"] == {
        D: {"capacity": "2", "allocatable": "2", "requested": "0", "devices": None, "free": None}
    }
    assert found.warnings == [f"1 of 2 nodes do not report which pod holds which device. w2: {w2['msg']}"]
    # One pod is not waited for as an API server is.
    assert found.clock.pauses == []


def test_a_node_without_a_plugin_is_named(api: FakeApi) -> None:
    del api.pods[1]
    found = Read(api)
    assert found.nodes["w2"]["msg"].startswith("no pod with the labels app=plugin in the namespace devices is on w2.")
    assert len(found.warnings) == 1


def test_a_node_that_offers_nothing_gives_no_warning_unless_it_is_named(serve: Serve) -> None:
    api = serve(dongles("w1"), node("cp1"))
    api.pods = [plugin("w1")]
    api.proxied = {"plugin-w1": view()}
    found = Read(api)
    assert (found.nodes["cp1"]["responded"], found.nodes["cp1"]["resources"], found.warnings) == (False, {}, [])
    assert "is on cp1" in found.nodes["cp1"]["msg"]
    assert len(Read(api, nodes=["cp1"]).warnings) == 1


def test_many_silent_nodes_are_one_warning(serve: Serve) -> None:
    names = [f"n{number}" for number in range(8)]
    api = serve(*map(dongles, names))
    api.pods = [plugin(name, phase="Pending") for name in names]
    (warning,) = Read(api).warnings
    assert warning.startswith("8 of 8 nodes do not report")
    assert "n4: devices/plugin-n4 is Pending." in warning
    assert warning.endswith("The others are n5, n6, n7.")


def test_several_plugins_on_one_node(api: FakeApi) -> None:
    api.pods.append(plugin("w1", "foreign"))
    api.proxied["foreign"] = (404, "no such page")
    found = Read(api)
    assert found.nodes["w1"]["responded"]
    assert "devices/foreign answered 404, no such page" in found.nodes["w1"]["msg"]
    assert (len(found.allocations), found.warnings) == (1, [])


def test_the_token_goes_to_plugins_only(api: FakeApi) -> None:
    Read(api, **TOKEN)
    sent = [headers.get("X-Device-Plugin-Token") for headers in api.headers]
    assert [token for token, path in zip(sent, api.paths("GET")) if "/proxy/" in path] == ["secret", "secret"]
    assert [token for token, path in zip(sent, api.paths("GET")) if "/proxy/" not in path and token] == []


def test_a_token_in_a_secret(api: FakeApi) -> None:
    api.secrets["s"] = {"data": {"token": base64.b64encode(b"secret").decode()}}
    Read(api, **IN_SECRET)
    assert "secret" in [headers.get("X-Device-Plugin-Token") for headers in api.headers]


@pytest.mark.parametrize("data", [None, {}, {"token": "%"}, {"token": "/w=="}])
def test_a_secret_without_a_token(api: FakeApi, data: t.Any) -> None:
    api.secrets["s"] = {"data": data}
    with pytest.raises(KubeadmError, match="the Secret s in the namespace devices has no text under the key token"):
        Read(api, **IN_SECRET)


def test_a_right_that_lacks_ends_the_task(api: FakeApi) -> None:
    api.proxied["plugin-w1"] = HttpError(403, 'cannot get resource "pods/proxy"')
    with pytest.raises(ApiError, match=r'cannot get resource "pods/proxy"\. Grant the account this right'):
        Read(api, concurrency=1)
    assert [path for path in api.paths("GET") if "plugin-w2" in path] == []


def test_a_namespace_without_plugins_is_an_error(api: FakeApi) -> None:
    with pytest.raises(KubeadmError, match="no pod with the labels app=plugin runs in the namespace other of http"):
        Read(api, namespace="other")
    api.pods[0]["spec"].pop("nodeName")
    api.pods[1]["metadata"]["labels"] = {}
    with pytest.raises(KubeadmError, match="no pod with the labels"):
        Read(api)


def test_a_node_that_is_not_there(api: FakeApi) -> None:
    with pytest.raises(KubeadmError, match="there is no node missing in the cluster of http"):
        Read(api, nodes=["missing"])
