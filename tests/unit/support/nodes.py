# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes and pods as the API hands them out, for tests."""

from __future__ import annotations

import copy
import typing as t

Json = dict[str, t.Any]


def node(name: str = "w1", **parts: t.Any) -> Json:
    """A node. parts: labels, annotations, taints, capacity, allocatable, kubelet_managed (names), ready, runtime, kubelet (its version)."""
    managed: Json = {"f:capacity": {f"f:{name}": {} for name in parts.get("kubelet_managed", ())}}
    found: Json = {
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **parts.get("labels", {})},
            "managedFields": [
                {"manager": "kubectl", "fieldsV1": {"f:status": {"f:capacity": {"f:example.com/dongle": {}}}}},
                {"manager": "kubelet", "fieldsV1": {"f:status": managed}},
            ],
        },
        "spec": {},
        "status": {"capacity": {"cpu": "2", "memory": "4030544Ki", **parts.get("capacity", {})}},
    }
    if "annotations" in parts:
        found["metadata"]["annotations"] = dict(parts["annotations"])
    if "taints" in parts:
        found["spec"]["taints"] = copy.deepcopy(parts["taints"])
    if parts.get("ready", True):
        found["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    if "runtime" in parts:
        found["status"]["nodeInfo"] = {"containerRuntimeVersion": parts["runtime"]}
    if "kubelet" in parts:
        found["status"].setdefault("nodeInfo", {})["kubeletVersion"] = parts["kubelet"]
    found["status"]["allocatable"] = {**found["status"]["capacity"], **parts.get("allocatable", {})}
    return found


def pod(name: str = "p", *, requests: Json | None = None, **parts: t.Any) -> Json:
    """A running pod. parts: fields of its spec, and phase, priority, owner, created, started, static, node, labels, state (of its container)."""
    metadata: Json = {"name": name, "namespace": parts.pop("namespace", "default")}
    metadata["creationTimestamp"] = parts.pop("created", "2026-01-01T00:00:00Z")
    if parts.pop("static", False):
        metadata["annotations"] = {"kubernetes.io/config.mirror": "x"}
    if "labels" in parts:
        metadata["labels"] = parts.pop("labels")
    owner = parts.pop("owner", None)
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "x", "controller": True}]
    spec: Json = {"containers": [{"name": "c", "resources": {"requests": requests or {}}}]}
    spec["nodeName"] = parts.pop("node", "w1")
    status = {"phase": parts.pop("phase", "Running"), "startTime": parts.pop("started", "2026-01-01T00:00:01Z")}
    status["containerStatuses"] = [{"name": "c", "state": parts.pop("state", {"running": {}})}]
    return {"metadata": metadata, "spec": {**spec, **parts}, "status": status}
