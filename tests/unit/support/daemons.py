# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A DaemonSet's pods as the API hands them out, for tests."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, pod

NOW = 1_800_000_000.0
LONG_AGO = "2026-01-01T00:00:00Z"


def daemon_set(**parts: t.Any) -> Json:
    """The DaemonSet x/p. parts: generation, observed, min_ready_seconds, template (the specification of its pods)."""
    generation = parts.get("generation", 1)
    return {
        "metadata": {"name": "p", "namespace": "x", "uid": "u", "generation": generation},
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/instance": "p"}},
            "minReadySeconds": parts.get("min_ready_seconds", 10),
            "template": {"spec": {"tolerations": [{"operator": "Exists"}], **parts.get("template", {})}},
        },
        "status": {"observedGeneration": parts.get("observed", generation)},
    }


def revision(number: int, digest: str, uid: str = "u") -> Json:
    """A ControllerRevision."""
    labels = {"controller-revision-hash": digest}
    return {"revision": number, "metadata": {"labels": labels, "ownerReferences": [{"uid": uid, "controller": True}]}}


def plugin_pod(name: str = "p-1", node: str = "w1", **parts: t.Any) -> Json:
    """A pod of it. parts: ready, since, revision, own (the plugin of this collection), owner, waiting, terminated, last, ending, scheduled, phase, message."""
    made = pod(name, node=node, namespace="x", phase=parts.get("phase", "Running"))
    made["metadata"]["ownerReferences"] = [{"uid": parts.get("owner", "u"), "controller": True}]
    label = "nodecraft-device-plugin" if parts.get("own") else "p"
    made["metadata"]["labels"] = {
        "app.kubernetes.io/name": label,
        "controller-revision-hash": parts.get("revision", "new"),
    }
    if parts.get("ending"):
        made["metadata"]["deletionTimestamp"] = LONG_AGO
    ready = "True" if parts.get("ready", True) else "False"
    made["status"]["conditions"] = [
        {"type": "Ready", "status": ready, "lastTransitionTime": parts.get("since", LONG_AGO)}
    ]
    if not parts.get("scheduled", True):
        made["status"]["conditions"].append({"type": "PodScheduled", "status": "False", "message": "too few CPUs"})
    state: Json = {key: parts[key] for key in ("waiting", "terminated") if key in parts}
    container: Json = {"name": "c", "image": "localhost/i:1", "state": state or {"running": {}}}
    if "last" in parts:
        container["lastState"] = {"terminated": parts["last"]}
    made["status"]["containerStatuses"] = [container]
    made["status"].update({key: parts[key] for key in ("reason", "message") if key in parts})
    return made
