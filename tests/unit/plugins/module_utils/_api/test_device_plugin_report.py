# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of a device plugin, and how long it is waited for."""

from __future__ import annotations

import typing as t
from urllib.parse import parse_qs, urlsplit

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.device_plugin_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support.daemons import NOW, daemon_set, plugin_pod, revision
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import (
    NODE_LEASES,
    Clock,
    FakeApi,
    HttpError,
    client_of,
    node_lease,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node, pod

D = "example.com/dongle"
SETS, REVISIONS = "/apis/apps/v1/namespaces/x/daemonsets/p", "/apis/apps/v1/namespaces/x/controllerrevisions"
PODS, EVENTS = "/api/v1/namespaces/x/pods", "/api/v1/namespaces/x/events"
DEVICES = "/api/v1/namespaces/x/pods/p-1:9808/proxy/devices"
FOUR = {"resources": {D: 4}, "nodes": None, "label_selector": None}


class PluginCluster:
    """A cluster with one node and a plugin that works there, and the module."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.clock = Clock()
        self.warnings: list[str] = []
        api.now = NOW
        api.responses = {SETS: daemon_set(), REVISIONS: [revision(1, "old"), revision(2, "new")], PODS: [plugin_pod()]}

    def read(self, **params: t.Any) -> Json:
        options = {
            "name": "p",
            "namespace": "x",
            "gather_subset": ["nodes"],
            "node_selector": {},
            "tolerations": [{"operator": "Exists"}],
            "expected": [FOUR],
            "cdi": False,
            "wait": False,
            "concurrency": 4,
            "wait_timeout": 30,
            **params,
        }
        return read_all(options, connect=lambda: client_of(self.api.url, self.clock), warn=self.warnings.append)


@pytest.fixture(name="cluster")
def fixture_cluster(serve: t.Callable[..., FakeApi]) -> PluginCluster:
    return PluginCluster(serve(node("w1", capacity={D: "4"})))


def test_a_plugin_that_works(cluster: PluginCluster) -> None:
    assert cluster.read(wait=True) == {
        "selected": ["w1"],
        "nodes": {
            "w1": {"pod": "x/p-1", "expected": {D: "4"}, "capacity": {D: "4"}, "allocatable": {D: "4"}, "problem": ""}
        },
        "problems": [],
        "ended_pods": [],
        "unverified": [],
        "summary": [f"w1: {D} 4"],
        "waited_seconds": 0.0,
        "objects": [],
        "others": [],
    }
    assert cluster.clock.pauses == []
    assert all(
        "labelSelector=app.kubernetes.io%2Finstance%3Dp" in path for path in cluster.api.paths("GET") if PODS in path
    )


def test_pods_ended_by_a_starting_kubelet_are_reported(cluster: PluginCluster) -> None:
    def failed(name: str, reason: str, on: str = "w1") -> Json:
        found = pod(name, phase="Failed", node=on)
        found["status"].update(reason=reason, message="no healthy devices present")
        return found

    gone = "UnexpectedAdmissionError"
    cluster.api.responses["/api/v1/pods"] = [failed("a", gone), failed("b", "Evicted"), failed("c", gone, on="w9")]
    found = cluster.read()
    assert found["ended_pods"] == [f"w1: default/a ended with {gone}: no healthy devices present"]
    assert found["ended_pods"][0] in found["summary"]


def test_pods_that_may_not_be_listed_are_not_verified(cluster: PluginCluster) -> None:
    cluster.api.responses["/api/v1/pods"] = HttpError(403, "pods is forbidden")
    (limit,) = cluster.read()["unverified"]
    assert limit.startswith("whether pods ended because their devices were missing: ")


def test_without_the_nodes_their_part_is_empty(cluster: PluginCluster) -> None:
    cluster.api.responses = {
        "/api/v1/namespaces/x": {"metadata": {"name": "x"}},
        SETS: HttpError(404, "none"),
        "/api/v1/namespaces/x/configmaps": [],
    }
    assert cluster.read(gather_subset=["objects", "others"]) == {
        "selected": [],
        "nodes": {},
        "problems": [],
        "ended_pods": [],
        "unverified": [],
        "summary": [],
        "waited_seconds": 0.0,
        "objects": [{"kind": "Namespace", "name": "x", "labels": {}, "config_maps": []}],
        "others": [],
    }
    assert not [path for path in cluster.api.paths("GET") if "nodes" in path]


def test_it_is_waited_for(cluster: PluginCluster) -> None:
    cluster.api.responses[PODS] = []

    def come() -> None:
        if cluster.clock.now >= 6:
            cluster.api.responses[PODS] = [plugin_pod()]

    cluster.clock.on_sleep = come
    found = cluster.read(wait=True)
    assert (found["problems"], found["waited_seconds"]) == ([], 6.0)


def test_wait_ends_with_the_problem(cluster: PluginCluster) -> None:
    cluster.api.responses[PODS] = []
    event: Json = {"involvedObject": {"kind": "DaemonSet", "name": "p"}, "reason": "FailedCreate"}
    cluster.api.responses[EVENTS] = [
        {**event, "message": "now", "lastTimestamp": "2027-01-02T00:00:00Z"},
        {**event, "message": "before", "lastTimestamp": "2027-01-01T00:00:00Z"},
    ]
    found = cluster.read(wait=True)
    assert found["problems"] == ["w1: there is no pod of the DaemonSet x/p: FailedCreate: now"]
    assert (found["waited_seconds"], found["summary"]) == (30.0, found["problems"])


def test_a_rollout_that_goes_on_is_waited_for(cluster: PluginCluster) -> None:
    names = [f"w{number}" for number in range(1, 5)]
    cluster.api.objects = {name: node(name, capacity={D: "4"}) for name in names}
    cluster.api.responses[PODS] = []

    def go_on() -> None:
        done = names[: int(cluster.clock.now // 20)]
        cluster.api.responses[PODS] = [plugin_pod(f"p-{name}", name) for name in done]

    cluster.clock.on_sleep = go_on
    found = cluster.read(wait=True)
    assert (found["problems"], found["waited_seconds"]) == ([], 80.0)


def test_devices_of_unknown_health_are_not_verified(cluster: PluginCluster) -> None:
    cluster.api.responses[PODS] = [plugin_pod(own=True)]
    devices = [
        {"id": "a", "healthy": True, "reason": "/dev/a cannot be opened without privileges: Operation not permitted"},
        {"id": "b", "healthy": True, "reason": ""},
    ]
    cluster.api.responses[DEVICES] = {D: {"devices": devices, "failure": "/sys/x: Input/output error", "not_ready": ""}}
    found = cluster.read()
    assert found["problems"] == []
    assert found["unverified"] == [
        f"whether devices of {D} that p-1 advertises are healthy: a: /dev/a cannot be opened without privileges: Operation not permitted",
        f"whether all devices of {D} were found by p-1: /sys/x: Input/output error",
    ]
    warnings = [f"not verified: {limit}" for limit in found["unverified"]]
    assert (found["summary"][1:], cluster.warnings[-2:]) == (warnings, warnings)


def test_own_plugin_reports_the_problem(cluster: PluginCluster) -> None:
    cluster.api.responses[PODS] = [plugin_pod(own=True)]
    cluster.api.objects["w1"]["status"]["allocatable"][D] = "3"
    sick = {"id": "a", "healthy": False, "reason": "gone"}
    cluster.api.responses[DEVICES] = {D: {"devices": [sick], "left_out": []}}
    assert cluster.read()["problems"] == [f"w1: {D}: expected 4, found 3: 1 of 4 devices are unhealthy (a: gone)"]


def test_own_plugin_reports_a_stopped_kubelet_before_the_api(cluster: PluginCluster) -> None:
    cluster.api.responses[PODS] = [plugin_pod(own=True)]
    lost = {D: {"not_ready": "kubelet.sock does not exist", "devices": []}}
    cluster.api.responses[DEVICES] = lost
    message = f"w1: the pod x/p-1 is not ready: not registered, it says: {D}: kubelet.sock does not exist"
    assert cluster.read()["problems"] == [message]

    def come_back() -> None:
        if cluster.clock.now >= 6:
            cluster.api.responses[DEVICES] = {D: {"not_ready": "", "devices": []}}

    cluster.clock.on_sleep = come_back
    found = cluster.read(wait=True)
    assert (found["problems"], found["waited_seconds"]) == ([], 6.0)


def test_kubelet_of_another_plugin_that_stopped_is_a_problem(cluster: PluginCluster) -> None:
    cluster.api.responses[NODE_LEASES] = [node_lease("w1", NOW - 13)]
    found = cluster.read(expected=[])
    why = "its kubelet has stopped or does not reach the API server: it has not renewed the Lease of its node for 12 s"
    assert (found["problems"], found["unverified"]) == ([f"w1: {why}"], [])


@pytest.mark.parametrize("ahead", [-60, 60])
def test_kubelet_with_a_wrong_clock_renews_its_lease(cluster: PluginCluster, ahead: float) -> None:
    cluster.api.responses[NODE_LEASES] = [node_lease("w1", NOW + ahead)]

    def renew() -> None:
        if cluster.clock.now >= 8:
            cluster.api.responses[NODE_LEASES] = [node_lease("w1", NOW + ahead + 10)]

    cluster.clock.on_sleep = renew
    found = cluster.read()
    assert (found["problems"], found["unverified"], found["waited_seconds"]) == ([], [], 8.0)


def test_stopped_kubelet_is_reported_beside_another_problem(cluster: PluginCluster) -> None:
    cluster.api.objects["w2"] = node("w2", capacity={D: "3"})
    cluster.api.responses[PODS] = [plugin_pod(), plugin_pod("p-2", "w2")]
    cluster.api.responses[NODE_LEASES] = [node_lease("w1", NOW - 30)]
    assert [each.partition(":")[0] for each in cluster.read()["problems"]] == ["w1", "w2"]


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (HttpError(403, "leases is forbidden"), "leases is forbidden"),
        ([], "kube-node-lease has no Lease that they renewed"),
    ],
)
def test_kubelets_without_a_readable_lease_are_not_verified(cluster: PluginCluster, response: t.Any, why: str) -> None:
    cluster.api.objects["w2"] = node("w2", capacity={D: "4"})
    cluster.api.responses[PODS] = [plugin_pod(), plugin_pod("p-2", "w2")]
    cluster.api.responses[NODE_LEASES] = response
    found = cluster.read()
    (limit,) = found["unverified"]
    assert limit.startswith("whether the kubelet still runs on w1, w2: ")
    assert why in limit
    assert (found["problems"], cluster.warnings) == ([], [f"not verified: {limit}"])


def test_kubelet_with_a_reporting_plugin_needs_no_lease(cluster: PluginCluster) -> None:
    cluster.api.responses[PODS] = [plugin_pod(own=True)]
    cluster.api.responses[DEVICES] = {D: {"not_ready": "", "devices": []}}
    cluster.api.responses[NODE_LEASES] = HttpError(403, "forbidden")
    assert cluster.read()["unverified"] == []


def test_unready_pod_is_a_problem(cluster: PluginCluster) -> None:
    cluster.api.responses[PODS] = [plugin_pod(own=True, ready=False)]
    assert cluster.read()["problems"] == ["w1: the pod x/p-1 is not ready: it is being started"]


@pytest.mark.parametrize("response", [HttpError(503, "no route"), {"x": "y"}])
def test_silent_plugin_beside_a_problem_is_not_verified(cluster: PluginCluster, response: t.Any) -> None:
    cluster.api.objects["w2"] = node("w2", capacity={D: "3"})
    cluster.api.responses[PODS] = [plugin_pod(own=True), plugin_pod("p-2", "w2", own=True)]
    cluster.api.responses[DEVICES] = cluster.api.responses[DEVICES.replace("p-1", "p-2")] = response
    found = cluster.read()
    assert [each.partition(":")[0] for each in found["problems"]] == ["w2"]
    limit = "whether the plugin itself finds its devices healthy: p-1 could not be asked"
    assert (found["unverified"], cluster.warnings) == ([limit], [f"not verified: {limit}"])


def test_plugins_out_of_reach_are_not_all_waited_for(cluster: PluginCluster) -> None:
    names = [f"w{number}" for number in range(1, 9)]
    cluster.api.objects = {name: node(name, capacity={D: "4"}) for name in names}
    cluster.api.responses[PODS] = [plugin_pod(f"p-{name}", name, own=True) for name in names]
    for name in names:
        cluster.api.responses[f"/api/v1/namespaces/x/pods/p-{name}:9808/proxy/devices"] = HttpError(503, "no route")
    found = cluster.read(concurrency=1)
    assert found["problems"] == []
    why = "p-w1; p-w2; p-w3; and 5 more could not be asked"
    warning = f"not verified: whether the plugin itself finds its devices healthy: {why}"
    assert (cluster.warnings[-1], found["summary"][-1]) == (warning, warning)
    assert len([path for path in cluster.api.paths("GET") if "proxy" in path]) == 1


@pytest.mark.parametrize("refusal", [HttpError(403, "forbidden"), HttpError(503, "no endpoints")])
def test_plugin_that_does_not_respond_is_queried_once(cluster: PluginCluster, refusal: HttpError) -> None:
    cluster.api.responses[PODS] = [plugin_pod(own=True)]
    cluster.api.objects["w1"]["status"]["allocatable"][D] = "3"
    cluster.api.responses[DEVICES] = refusal
    cluster.api.responses[EVENTS] = refusal
    assert cluster.read()["problems"] == [f"w1: {D}: expected 4, found 3: 1 of 4 devices are unhealthy"]
    assert cluster.clock.pauses == []


def test_foreign_plugin_is_not_queried(cluster: PluginCluster) -> None:
    cluster.api.objects["w1"]["status"]["allocatable"][D] = "3"
    cluster.read()
    assert not [path for path in cluster.api.paths("GET") if "proxy" in path]


def test_no_daemon_set_yet(cluster: PluginCluster) -> None:
    del cluster.api.responses[SETS]
    found = cluster.read()
    assert (found["selected"], found["problems"]) == (["w1"], ["w1: there is no DaemonSet x/p"])


def test_a_daemon_set_that_its_controller_has_not_seen(cluster: PluginCluster) -> None:
    cluster.api.responses[SETS] = daemon_set(generation=2, observed=1)
    assert "of an earlier revision" in cluster.read()["problems"][0]


def test_revisions_of_others_do_not_count(cluster: PluginCluster) -> None:
    cluster.api.responses[REVISIONS] = [revision(1, "new"), revision(9, "theirs", uid="other")]
    assert cluster.read()["problems"] == []


def test_pods_of_others_do_not_count(cluster: PluginCluster) -> None:
    cluster.api.responses[PODS] = [plugin_pod(owner="other")]
    (problem,) = cluster.read()["problems"]
    assert problem == "w1: there is no pod of the DaemonSet x/p: its controller has created none yet"


def test_a_daemon_set_that_selects_by_expressions(cluster: PluginCluster) -> None:
    expressions = [
        {"key": "app", "operator": "In", "values": ["a", "b"]},
        {"key": "tier", "operator": "NotIn", "values": ["c"]},
        {"key": "plugin", "operator": "Exists"},
        {"key": "old", "operator": "DoesNotExist"},
    ]
    for labels, first in (({}, []), ({"matchLabels": {"x": "y"}}, ["x=y"])):
        found = daemon_set()
        found["spec"]["selector"] = {**labels, "matchExpressions": expressions}
        cluster.api.responses[SETS] = found
        assert cluster.read()["problems"] == []
        (path,) = {path for path in cluster.api.paths("GET")[-5:] if path.startswith(PODS)}
        selectors = parse_qs(urlsplit(path).query)["labelSelector"]
        assert selectors == [",".join([*first, "app in (a,b)", "tier notin (c)", "plugin", "!old"])]


def test_selectors(cluster: PluginCluster) -> None:
    cluster.api.objects["w1"]["metadata"]["labels"]["gpu"] = "true"
    entry = {**FOUR, "label_selector": "gpu=true"}
    assert cluster.read(node_selector={"gpu": True}, expected=[entry])["selected"] == ["w1"]
    with pytest.raises(Refusal, match="node_selector gpu=false"):
        cluster.read(node_selector={"gpu": False})
    with pytest.raises(Refusal, match="label_selector gpu=no matches no node"):
        cluster.read(expected=[{**FOUR, "label_selector": "gpu=no"}])


def test_cdi_is_checked_on_the_nodes_that_get_the_plugin(cluster: PluginCluster) -> None:
    old, new = ({"containerRuntimeVersion": f"containerd://{version}"} for version in ("1.6.20", "1.7.1"))
    cluster.api.objects["w1"]["status"]["nodeInfo"] = old
    assert cluster.read()["selected"] == ["w1"]
    with pytest.raises(Refusal, match=r"without their devices, .*: w1 \(containerd://1.6.20\)"):
        cluster.read(cdi=True)
    cluster.api.objects["w1"]["status"]["nodeInfo"] = new
    cluster.api.objects["w2"] = node("w2", labels={"other": "rack"}, runtime="containerd://1.6.20")
    assert cluster.read(cdi=True, node_selector={"kubernetes.io/hostname": "w1"})["problems"] == []
    assert ["w1 (containerd://1.7.1)" in warning for warning in cluster.warnings] == [True]


def test_a_version_that_is_not_tested(cluster: PluginCluster) -> None:
    cluster.read()
    assert cluster.warnings == []
    cluster.api.objects["w1"] = node("w1", capacity={D: "4"}, kubelet="v1.38.0")
    cluster.read()
    assert ["kubelet v1.38.0 (newer than tested)" in warning for warning in cluster.warnings] == [True]


def test_what_is_no_name_of_a_node(cluster: PluginCluster) -> None:
    with pytest.raises(Refusal, match="must be the name of a node"):
        cluster.read(expected=[{**FOUR, "nodes": ["W 1"]}])


def test_an_account_that_may_not_read(cluster: PluginCluster) -> None:
    cluster.api.responses[SETS] = HttpError(403, "daemonsets is forbidden")
    with pytest.raises(KubeadmError, match="daemonsets is forbidden"):
        cluster.read()
