# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of nodes."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.node_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, FakeApi, HttpError, client_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node, pod

Serve = t.Callable[..., FakeApi]
D = "example.com/dongle"


def read_result(api: FakeApi, *, warn: t.Callable[[str], t.Any] = pytest.fail, **params: t.Any) -> Json:
    options = {
        "nodes": None,
        "label_selector": None,
        "requested": True,
        "readmission": False,
        "restarted_nodes": None,
        "limits": None,
        "running": False,
        "running_before": None,
        "kubelets": None,
        "concurrency": 8,
    }
    options.update(params)
    return read_all(options, connect=lambda: client_of(api.url, Clock()), warn=warn)


def read(api: FakeApi, **params: t.Any) -> Json:
    result = read_result(api, **params)
    assert "failed" not in result
    return t.cast(Json, result["nodes"])


def test_what_became_of_the_pods_of_a_restarted_kubelet(serve: Serve) -> None:
    api = serve(node("w1"), node("w2"))
    remaining, lost = pod("stays"), pod("lost")
    for each in (remaining, lost):
        each["metadata"]["uid"] = each["metadata"]["name"]
    api.pods = [remaining, lost]
    before = read(api, requested=False, running=True)["w1"]["running"]
    assert before == {name: {"pod": f"default/{name}", "containers": {"c": ""}} for name in ("stays", "lost")}
    lost["status"].update(phase="Failed", reason="UnexpectedAdmissionError", message="no devices")
    found = read(api, nodes=["w1"], requested=False, running_before={"w1": before})["w1"]
    assert found["losses"] == {
        "watched": 2,
        "lost": [{"pod": "default/lost", "reason": "UnexpectedAdmissionError: no devices"}],
        "restarted": [],
        "deleted": [],
        "unknown": [],
    }


def test_all_nodes(serve: Serve) -> None:
    record = json.dumps({D: {"set": "4", "original": None}})
    annotations = {"nodecraft.kubeadm/owned-extended-resources": record}
    taint = {"key": "k", "effect": "NoSchedule"}
    api = serve(node("w1", capacity={D: "4"}, annotations=annotations, taints=[taint]), node("w2", ready=False))
    api.pods = [pod(requests={D: "3"}), pod("done", requests={D: "1"}, phase="Succeeded")]
    found = read(api)
    assert found["w1"] == {
        "ready": True,
        "labels": {"kubernetes.io/hostname": "w1"},
        "taints": [taint],
        "extended_resources": {D: {"capacity": "4", "allocatable": "4", "requested": "3", "device_plugin": False}},
        "owned": {"labels": [], "taints": [], "resources": [D]},
        "readmission": None,
        "running": None,
        "losses": None,
        "kubelet": None,
    }
    assert (found["w2"]["ready"], found["w2"]["extended_resources"]) == (False, {})
    assert len(api.requests) == 3


def test_pods_that_would_not_come_back(serve: Serve) -> None:
    api = serve(node("w1"))
    api.pods = [pod(nodeSelector={"x": "1"}), pod("fits")]
    assert read(api, nodes=["w1"], readmission=True)["w1"]["readmission"] == [
        {"pod": "default/p", "reason": "selects nodes with x=1"}
    ]


def test_only_some_are_restarted(serve: Serve) -> None:
    api = serve(node("w1"), node("w2"))
    api.pods = [pod(nodeSelector={"x": "1"}), pod("other", node="w2", nodeSelector={"x": "1"})]
    found = read(api, requested=False, readmission=True, restarted_nodes=["w2"])
    assert (found["w1"]["readmission"], len(found["w2"]["readmission"])) == (None, 1)
    assert read(api, requested=False, restarted_nodes=["w2"])["w2"]["readmission"] is None
    with pytest.raises(KubeadmError, match="there is no node w9"):
        read(api, readmission=True, restarted_nodes=["w1", "w9"])


def test_nodes_alone(serve: Serve) -> None:
    """A client that may not list pods sends no request for them."""
    api = serve(node("w1", capacity={D: "4"}, kubelet_managed=[D]))
    found = read(api, requested=False)["w1"]["extended_resources"]
    assert found == {D: {"capacity": "4", "allocatable": "4", "requested": None, "device_plugin": True}}
    assert [request for request in api.requests if "pods" in str(request)] == []
    api.pods = [pod(nodeSelector={"x": "1"})]
    both = read(api, requested=False, readmission=True)["w1"]
    assert (both["extended_resources"][D]["requested"], len(both["readmission"])) == (None, 1)


def test_many_nodes_are_two_lists_and_the_version(serve: Serve) -> None:
    api = serve(*(node(f"n{number}") for number in range(20)))
    api.pods = [pod(node="n3", nodeSelector={"x": "1"}), pod(node="elsewhere")]
    found = read(api, readmission=True)
    assert [name for name, entry in found.items() if entry["readmission"]] == ["n3"]
    assert len(api.requests) == 3


def test_versions_that_are_not_tested(serve: Serve) -> None:
    api = serve(node("w1", kubelet="v1.31.9"), node("w2", kubelet="v1.37.2"), node("w3", kubelet="v1.31.9"))
    warnings: list[str] = []
    read(api, warn=warnings.append)
    assert [warning.partition(". ")[0] for warning in warnings] == [f"{api.url}: kubelet v1.31.9 (older than tested)"]


def test_configuration_of_kubelets_is_compared(serve: Serve) -> None:
    api = serve(node("w1"), node("w2"), node("w3"))
    api.kubelets = {"w1": {"kubeletconfig": {"maxPods": 110}}, "w2": {"kubeletconfig": {"maxPods": 50}}}
    found = read(api, nodes=["w3"], kubelets={"w1": {"config": {"maxPods": 50}}, "w2": None})
    assert sorted(found) == ["w1", "w2", "w3"]
    assert found["w1"]["kubelet"] == {
        "config": {"maxPods": 110},
        "differences": [{"field": "config", "key": "maxPods", "expected": 50, "found": 110}],
        "problem": None,
    }
    assert found["w2"]["kubelet"] == {"config": {"maxPods": 50}, "differences": [], "problem": None}
    assert found["w3"]["kubelet"] is None


def test_kubelets_and_all_nodes_are_read_for_restarts(serve: Serve) -> None:
    api = serve(node("w1"), node("w2"))
    api.kubelets = {"w1": {"kubeletconfig": {}}}
    found = read(api, requested=False, readmission=True, restarted_nodes=["w2"], kubelets={"w1": None})
    assert sorted(found) == ["w1", "w2"]
    assert [found[name]["kubelet"] is None for name in ("w1", "w2")] == [False, True]


TLS = "error trying to reach service: remote error: tls: internal error"


@pytest.mark.parametrize(
    ("kubelet", "message", "requests"),
    [
        ({}, "its kubelet answers 200 at /configz", 1),
        (HttpError(403, "no"), "refused GET nodes/w1/proxy/configz: 403, no", 2),
        (
            HttpError(503, TLS),
            f"the API server does not reach this kubelet: {{url}} refused GET nodes/w1/proxy/configz: 503, {TLS}. So kubectl logs",
            31,
        ),
    ],
)
def test_kubelet_that_is_not_read_fails_and_leaves_the_others(
    serve: Serve, kubelet: Json | HttpError, message: str, requests: int
) -> None:
    api = serve(node("w1"), node("w2"))
    api.kubelets = {"w1": kubelet, "w2": {"kubeletconfig": {"maxPods": 5}}}
    result = read_result(api, requested=False, kubelets={"w1": {}, "w2": {"config": {"maxPods": 5}}})
    assert result["failed"] is True
    assert result["msg"].startswith("w1: ")
    found = {name: each["kubelet"] for name, each in result["nodes"].items()}
    assert (found["w1"]["config"], found["w1"]["differences"]) == (None, [])
    assert message.format(url=api.url) in found["w1"]["problem"]
    assert found["w2"] == {"config": {"maxPods": 5}, "differences": [], "problem": None}
    assert len([request for request in api.requests if "w1/proxy" in request]) == requests


def test_kubelet_that_is_reached_after_a_while_is_read(serve: Serve) -> None:
    """Its serving certificate may have to be approved first."""
    api = serve(node("w1"))
    api.kubelets = {"w1": [HttpError(503, TLS), HttpError(504, "timeout"), {"kubeletconfig": {}}]}
    assert read(api, requested=False, kubelets={"w1": {}})["w1"]["kubelet"]["problem"] is None


def test_a_node_that_is_not_there(serve: Serve) -> None:
    with pytest.raises(KubeadmError, match="there is no node missing in the cluster of http"):
        read(serve(node("w1")), nodes=["w1", "missing"])


def test_a_selector_without_a_match_is_no_error(serve: Serve) -> None:
    assert read(serve(node("w1")), label_selector="a=b") == {}
