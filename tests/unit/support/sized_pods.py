# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods with amounts, and the controllers that make them, as the API hands them out, for tests."""

from __future__ import annotations

import copy
import typing as t

Json = dict[str, t.Any]

SIZE: Json = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "400Mi"}}
RESTART = "RestartContainer"


def container(name: str = "app", resources: Json | None = None, **policies: str) -> Json:
    """A container. policies: resizePolicy by resource."""
    found: Json = {"name": name, "resources": copy.deepcopy(SIZE if resources is None else resources)}
    found["resizePolicy"] = [
        {"resourceName": resource, "restartPolicy": policies.get(resource, "NotRequired")}
        for resource in ("cpu", "memory")
    ]
    return found


def sized(name: str = "web-1", *containers: Json, **parts: t.Any) -> Json:
    """A running pod with the resources of its spec. parts: owner (kind, name and uid), labels, node, phase, sidecars, finished
    (init containers), static, deleted."""
    entries = [*containers] or [container()]
    sidecars = [{**entry, "restartPolicy": "Always"} for entry in parts.get("sidecars", ())]
    finished = list(parts.get("finished", ()))
    metadata: Json = {
        "name": name,
        "namespace": parts.get("namespace", "shop"),
        "uid": f"uid-of-{name}",
        "resourceVersion": "7",
        "generation": 1,
        "labels": parts.get("labels", {"app": "web"}),
    }
    if "owner" in parts:
        kind, maker, uid = parts["owner"]
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": kind, "name": maker, "uid": uid, "controller": True}
        ]
    if parts.get("static"):
        metadata["annotations"] = {"kubernetes.io/config.mirror": "x"}
    if parts.get("deleted"):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status: Json = {
        "phase": parts.get("phase", "Running"),
        "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [_running(entry) for entry in entries],
        "initContainerStatuses": [*map(_ended, finished), *map(_running, sidecars)],
    }
    spec: Json = {"nodeName": parts.get("node", "w1"), "containers": entries}
    if finished or sidecars:
        spec["initContainers"] = [*finished, *sidecars]
    return copy.deepcopy({"metadata": metadata, "spec": spec, "status": status})


def _running(entry: Json) -> Json:
    resources = copy.deepcopy(entry["resources"])  # the copy of the whole would keep the two one
    return {"name": entry["name"], "restartCount": 0, "state": {"running": {}}, "resources": resources}


def _ended(entry: Json) -> Json:
    """The status of an init container that is done: it has no resources any more."""
    return {
        "name": entry["name"],
        "restartCount": 0,
        "state": {"terminated": {"exitCode": 0, "reason": "Completed"}},
    }


def controller(kind: str = "Deployment", name: str = "web", *containers: Json, **parts: t.Any) -> Json:
    """A controller with a template. parts: fields of its spec, owner (kind, name and uid), and inits, its init
    containers."""
    metadata: Json = {"name": name, "namespace": "shop", "uid": f"uid-of-{kind}-{name}", "resourceVersion": "3"}
    if "owner" in parts:
        maker, maker_name, uid = parts.pop("owner")
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": maker, "name": maker_name, "uid": uid, "controller": True}
        ]
    template: Json = {"spec": {"containers": list(containers) or [container()]}}
    if "inits" in parts:
        template["spec"]["initContainers"] = list(parts.pop("inits"))
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template, **parts}
    return copy.deepcopy({"metadata": metadata, "spec": spec})
