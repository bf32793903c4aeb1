# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the role device_plugin in its tests, and what a play of it wrote and removed."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome

ROLE = {"role": "nodecraft.kubeadm.device_plugin"}
D = "example.com/dongle"
OURS: Json = {
    "device_plugin_image": "localhost/nodecraft-device-plugin:1",
    "device_plugin_config": {"resources": [{"name": D, "discover": [{"fake": {"count": 4}}]}]},
    "device_plugin_expected": [{"resources": {D: 4}}],
}
THEIRS: Json = {
    "device_plugin_name": "dongles",
    "device_plugin_namespace": "kube-system",
    "device_plugin_image": "registry.example.com/dongles:2",
    "device_plugin_args": ["--level", 3],
    "device_plugin_env": {"DEBUG": True},
    "device_plugin_files": {"dongles.conf": "a = b\n"},
    "device_plugin_host_paths": [
        {"path": "/opt/dongles"},
        {"path": "/dev", "mount_path": "/host/dev", "read_only": False},
    ],
    "device_plugin_socket_directories": ["/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry"],
    "device_plugin_node_selector": {"dongles": True},
    "device_plugin_pod_spec": {"hostNetwork": True, "securityContext": {"fsGroup": 0}},
    "device_plugin_container": {"securityContext": {"readOnlyRootFilesystem": False}},
}
OWN = "nodecraft-device-plugin"
OWN_KEYWORD = {"app.kubernetes.io__managed-by": "nodecraft.kubeadm"}

Play = t.Callable[..., Outcome]


def objects(call: Json) -> list[Json]:
    """The objects of one call of C(k8s)."""
    found = call["arguments"]["definition"] if call["component"] == "k8s" else []
    return found if isinstance(found, list) else [found]


def written(outcome: Outcome) -> dict[str, Json]:
    """The objects that were requested, by kind."""
    calls = [call for call in outcome.calls if call["arguments"].get("state") != "absent"]
    return {each["kind"]: each for call in calls for each in objects(call)}


def removed(outcome: Outcome) -> list[str]:
    """Kinds and names of what was to be removed, in its order."""
    calls = [call for call in outcome.calls if call["arguments"].get("state") == "absent"]
    return [f"{each['kind']} {each['metadata']['name']}" for call in calls for each in objects(call)]


def named(name: str, **labels: str) -> Json:
    """An object that is there."""
    return {"metadata": {"name": name, "labels": {key.replace("__", "/"): value for key, value in labels.items()}}}


FILES = {
    "ConfigMap": [named(f"{OWN}-config-0123456789", **OWN_KEYWORD)],
    "Secret": [{**named(f"{OWN}-token", **OWN_KEYWORD), "data": {"token": "geheim"}}],
}
