# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What the module C(device_plugin_info) reads of the objects of a plugin's deployment, and of what shares their namespace.

Of all but the DaemonSet only the metadata is asked for, so that the data of Secrets does not leave the API server.
"""

from __future__ import annotations

import typing as t

from .._plan.device import deployment, desired
from .._plan.pod import templates as pod_templates
from .client import Client, Json
from .parallel import for_each

# What keeps a namespace, by kind.
_OTHERS = {
    "ConfigMap": "namespaces/{}/configmaps",
    "PersistentVolumeClaim": "namespaces/{}/persistentvolumeclaims",
    "Pod": "namespaces/{}/pods",
    "Secret": "namespaces/{}/secrets",
    "Service": "namespaces/{}/services",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
}
_OF_ALL_NAMESPACES = "kube-root-ca.crt"  # a ConfigMap that every namespace has


def read_objects(
    client: Client, namespace: str, name: str, subsets: t.Collection[str], *, workers: int
) -> dict[str, list[Json]]:
    """C(objects) and C(others) as the subsets name them; else they are empty. Others are read of a namespace that goes with the plugin."""
    objects = _objects(client, namespace, name) if {*subsets} & {"objects", "others"} else []
    goes = any(each["kind"] == deployment.NAMESPACE and deployment.is_owned(each) for each in objects)
    return {
        "objects": objects if "objects" in subsets else [],
        "others": _others(client, namespace, workers=workers) if goes and "others" in subsets else [],
    }


def _objects(client: Client, namespace: str, name: str) -> list[Json]:
    """The namespace, and in it the DaemonSet and the objects with the files of a plugin, as far as they are there."""
    found = [
        (deployment.NAMESPACE, client.find(f"namespaces/{namespace}", metadata_only=True)),
        (deployment.DAEMON_SET, client.find(pod_templates.path_of(namespace, deployment.DAEMON_SET, name))),
        *(
            (deployment.CONFIG_MAP, each)
            for each in client.list(f"namespaces/{namespace}/configmaps", metadata_only=True)
            if desired.is_config_map(each["metadata"]["name"], name)
        ),
        (
            deployment.SECRET,
            client.find(f"namespaces/{namespace}/secrets/{desired.token_secret(name)}", metadata_only=True),
        ),
    ]
    return [_described(kind, each) for kind, each in found if each is not None]


def _others(client: Client, namespace: str, *, workers: int) -> list[Json]:
    """What keeps a namespace that exists: objects of the usual kinds, but for what every namespace has."""
    found: dict[str, list[Json]] = {}

    def read(kind: str) -> bool:
        found[kind] = client.list(_OTHERS[kind].format(namespace), metadata_only=True)
        return True

    for_each(list(_OTHERS), read, workers=workers, stop_at_failure=True)
    every = [_described(kind, each) for kind in _OTHERS for each in found[kind]]
    return [each for each in every if each["name"] != _OF_ALL_NAMESPACES]


def _described(kind: str, found: t.Mapping[str, t.Any]) -> Json:
    template = found.get("spec", {}).get("template", {}).get("spec", {})
    volumes = template.get("volumes") or []
    return {
        "kind": kind,
        "name": found["metadata"]["name"],
        "labels": found["metadata"].get("labels") or {},
        "config_maps": [each["configMap"]["name"] for each in volumes if "configMap" in each],
    }
