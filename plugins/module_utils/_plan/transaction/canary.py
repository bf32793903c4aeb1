# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The objects of a canary: a pod that every cluster admits, which keeps to PodSecurity C(restricted) and asks for next to nothing."""

from __future__ import annotations

import dataclasses
import typing as t

Json = dict[str, t.Any]

NAMESPACE = "nodecraft-kubeadm"
# Whose objects a look finds again: its own ones, and those of former looks at the same component of the same node.
LABEL, COMPONENT_LABEL = "nodecraft.kubeadm/canary", "nodecraft.kubeadm/canary-of"
_ACCOUNT = "canary"
_OWNER = {"app.kubernetes.io/managed-by": "nodecraft.kubeadm"}
_EXPLANATION = {
    "nodecraft.kubeadm/description": "Made by nodecraft.kubeadm before and after a change, to see that the cluster works; it may be deleted."
}
_UID = 65534
_AMOUNTS = {"cpu": "10m", "memory": "16Mi"}


@dataclasses.dataclass(frozen=True)
class Canary:
    """What a run asks for. image: that every node has, such as that of the pods' sandboxes. node: whose kubelet starts the pod. component: for which
    it is made. tolerations, name: as they stand in the objects, which are made later."""

    namespace: str
    image: str
    node: str
    component: str
    tolerations: t.Any
    name: str

    def labels(self) -> dict[str, str]:
        """On each object but those that stay."""
        return {**_OWNER, LABEL: self.name, COMPONENT_LABEL: self.component_of_node()}

    def component_of_node(self) -> str:
        """The value of COMPONENT_LABEL, of which Kubernetes takes 63 characters."""
        return f"{self.component}.{self.node}"[:63].rstrip(".-_")

    def pod(self) -> Json:
        """The pod, as C(metadata) and C(spec)."""
        container = {
            "name": "canary",
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "resources": {"requests": _AMOUNTS, "limits": _AMOUNTS},
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [self.node]}]}]
        spec = {
            "serviceAccountName": _ACCOUNT,
            "terminationGracePeriodSeconds": 1,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _UID,
                "runAsGroup": _UID,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            },
            "tolerations": self.tolerations,
            "containers": [container],
        }
        return {"metadata": {"labels": self.labels(), "annotations": _EXPLANATION}, "spec": spec}

    def objects(self) -> list[Json]:
        """What is made, in this order: C(path) and C(body) of each request. The first two stay: an APIService that is away keeps a Namespace from
        being deleted for ever."""
        core, apps = f"/api/v1/namespaces/{self.namespace}", f"/apis/apps/v1/namespaces/{self.namespace}"
        labels = {"matchLabels": {LABEL: self.name}}
        service = {"selector": {LABEL: self.name}, "ports": [{"port": 80, "protocol": "TCP"}]}
        return [
            {"path": "/api/v1/namespaces", "body": _stays("Namespace", self.namespace)},
            {"path": f"{core}/serviceaccounts", "body": _stays("ServiceAccount", _ACCOUNT)},
            {
                "path": f"{apps}/deployments",
                "body": self._made(
                    "apps/v1", "Deployment", {"replicas": 1, "selector": labels, "template": self.pod()}
                ),
            },
            {"path": f"{core}/services", "body": self._made("v1", "Service", service)},
        ]

    def _made(self, version: str, kind: str, spec: Json) -> Json:
        metadata = {"name": self.name, "labels": self.labels(), "annotations": _EXPLANATION}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _stays(kind: str, name: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "labels": _OWNER, "annotations": _EXPLANATION},
    }
