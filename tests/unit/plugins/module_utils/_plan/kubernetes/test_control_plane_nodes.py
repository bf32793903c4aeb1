# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes a node a control plane."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.control_plane_nodes import (
    Absence,
    check_absence,
    component_of_pod,
    role_label,
)


def pod(name: str = "p", labels: dict[str, str] | None = None, **container: t.Any) -> dict[str, t.Any]:
    """A manifest with one container."""
    return {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [{"name": "c", **container}]}}


@pytest.mark.parametrize(
    ("manifest", "component"),
    [
        (pod(command=["kube-apiserver", "--v=1"]), "kube-apiserver"),
        (pod(command=["/usr/local/bin/etcd"]), "etcd"),
        (pod(image="registry.k8s.io/etcd:3.6.5-0@sha256:00"), "etcd"),
        (pod(image="registry.example.com:5000/kube-apiserver"), "kube-apiserver"),
        (pod("kube-apiserver", command=["/bin/sh", "-c", "exec x"]), "kube-apiserver"),
        (pod(labels={"component": "etcd"}), "etcd"),
        (pod(name="etcd"), "etcd"),
        # What Kubespray and others put on workers.
        (pod("nginx-proxy", image="docker.example.com/library/nginx:1.25", labels={"k8s-app": "kube-nginx"}), None),
        (pod("kube-vip", image="ghcr.example.com/kube-vip/kube-vip:v0.8", args=["manager"]), None),
        (pod("kube-scheduler", command=["kube-scheduler"]), None),
        (pod("etcd-backup", command=["etcdctl"]), None),
        ({"metadata": {}, "spec": {"containers": [{"command": None}]}}, None),
        ({"spec": {}}, None),
        ("text", None),
        (None, None),
    ],
)
def test_the_component_of_a_manifest(manifest: t.Any, component: str | None) -> None:
    assert component_of_pod(manifest) == component


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        ({"node-role.kubernetes.io/control-plane": ""}, "node-role.kubernetes.io/control-plane"),
        ({"node-role.kubernetes.io/master": "true"}, "node-role.kubernetes.io/master"),
        ({"node-role.kubernetes.io/worker": ""}, None),
        (None, None),
    ],
)
def test_the_label_of_a_node(labels: dict[str, str] | None, label: str | None) -> None:
    assert role_label({"metadata": {"labels": labels}}) == label


def test_a_node_that_is_not_known_has_no_label() -> None:
    assert role_label(None) is None


SET: dict[str, t.Any] = {"control_plane_components": {"etcd": {}}, "control_plane_feature_gates": {}}


@pytest.mark.parametrize(
    ("found", "grouped", "settings", "warns", "refuses"),
    [
        ([], [], SET, False, False),
        (["cp1"], ["cp1"], SET, True, False),
        (["cp1"], [], {"control_plane_feature_gates": {}}, True, False),
        (["cp1"], [], SET, False, True),
    ],
)
def test_a_run_without_control_planes(
    found: list[str], grouped: list[str], settings: dict[str, t.Any], warns: bool, refuses: bool
) -> None:
    result = check_absence(found, grouped, settings)
    assert (bool(result.warning), bool(result.refusal)) == (warns, refuses)


def test_what_is_reported_of_it() -> None:
    result = check_absence(["cp1", "cp2"], [], SET)
    assert result == Absence(
        refusal="control_plane_components would have no effect: the cluster has the control planes cp1, cp2, but no host of this run is one,"
        " and the inventory names none. Put them into the group kube_control_plane, name their group in kube_control_plane_group, or"
        " remove the settings."
    )
