# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The instances of a component on the other control planes, by their mirror pods."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import other_instances

API_SERVER, SCHEDULER = "kube-apiserver", "kube-scheduler"


def mirror_pod(
    component: str, node: str, *, ready: bool = True, host: str | None = "10.0.0.12", **metadata: t.Any
) -> dict[str, t.Any]:
    get = {"port": 6443, "path": "/readyz", "scheme": "HTTPS", **({"host": host} if host else {})}
    liveness = {**get, "path": "/livez"}
    container = {"name": component, "livenessProbe": {"httpGet": liveness}, "readinessProbe": {"httpGet": get}}
    return {
        "metadata": {
            "name": f"{component}-{node}",
            "labels": {"component": component, "tier": "control-plane"},
            "annotations": {"kubernetes.io/config.mirror": "1"},
            **metadata,
        },
        "spec": {"nodeName": node, "hostNetwork": True, "containers": [container]},
        "status": {"podIP": "10.0.0.99", "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def test_the_others_have_their_readiness_probe() -> None:
    pods = [mirror_pod(API_SERVER, node) for node in ("cp1", "cp3", "cp2")]
    first, second = other_instances.find_others(API_SERVER, "cp1", pods)
    assert (first.node, first.problem, second.node) == ("cp2", "", "cp3")
    assert first.probe is not None
    assert (first.probe["host"], first.probe["path"]) == ("10.0.0.12", "/readyz")


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", None), ("localhost", None), (None, "10.0.0.99")])
def test_only_a_probe_that_another_node_can_make_counts(host: str | None, expected: str | None) -> None:
    (other,) = other_instances.find_others(API_SERVER, "cp1", [mirror_pod(API_SERVER, "cp2", host=host)])
    assert (other.probe["host"] if other.probe else None) == expected


def test_a_control_plane_that_lost_the_component_is_known_by_its_others() -> None:
    (other,) = other_instances.find_others(SCHEDULER, "cp1", [mirror_pod("etcd", "cp2"), mirror_pod(SCHEDULER, "cp1")])
    assert other == ("cp2", "it has none", None)


def test_a_component_without_a_remote_probe_goes_by_its_kubelet() -> None:
    pods = [
        mirror_pod(SCHEDULER, node, ready=ready, host="127.0.0.1") for node, ready in (("cp2", False), ("cp3", True))
    ]
    assert [other.problem for other in other_instances.find_others(SCHEDULER, "cp1", pods)] == ["it is not ready", ""]


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {}},
        {"labels": {"tier": "control-plane"}},
        {"labels": {"component": "web", "tier": "control-plane"}},
    ],
)
def test_a_cluster_of_one_control_plane_has_no_other(metadata: dict[str, t.Any]) -> None:
    pods = [mirror_pod(API_SERVER, "cp1"), mirror_pod(API_SERVER, "w1", **metadata)]
    assert other_instances.find_others(API_SERVER, "cp1", pods) == []
