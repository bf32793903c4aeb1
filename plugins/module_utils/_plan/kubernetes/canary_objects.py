# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The objects of a canary: a pod that every cluster admits, which keeps to PodSecurity C(restricted) and asks for next to nothing."""

from __future__ import annotations

import dataclasses
import hashlib
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
_LONGEST_LABEL = 63
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
        """The value of COMPONENT_LABEL; of a long name the end gives way to a digest."""
        whole = f"{self.component}.{self.node}"
        digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
        return whole if len(whole) <= _LONGEST_LABEL else f"{whole[: _LONGEST_LABEL - 9].rstrip('.-_')}.{digest}"

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

    def workload(self) -> list[Json]:
        """A Deployment of one pod and a Service for it, in the order in which they are made: C(path) and C(body) of each request, and whether the object
        C(stays)."""
        labels = {"matchLabels": {LABEL: self.name}}
        deployment = {"replicas": 1, "selector": labels, "template": self.pod()}
        service = {"selector": {LABEL: self.name}, "ports": [{"port": 80, "protocol": "TCP"}]}
        return [
            *self._places(),
            self._made("apps/v1", "Deployment", deployment),
            self._made("v1", "Service", service),
        ]

    def bare_pod(self) -> list[Json]:
        """A pod that no scheduler gives its node, in the same form."""
        spec = {**self.pod()["spec"], "nodeName": self.node}
        del spec["affinity"]
        return [*self._places(), self._made("v1", "Pod", spec)]

    def collection(self, kind: str) -> str:
        """The path of all objects of a kind."""
        return f"{'/apis/apps/v1' if kind == 'deployments' else '/api/v1'}/namespaces/{self.namespace}/{kind}"

    def _places(self) -> list[Json]:
        """These stay: an APIService that is away keeps a Namespace from being deleted for ever."""
        return [
            _stays("/api/v1/namespaces", "Namespace", self.namespace),
            _stays(self.collection("serviceaccounts"), "ServiceAccount", _ACCOUNT),
        ]

    def _made(self, version: str, kind: str, spec: Json) -> Json:
        metadata = {"name": self.name, "labels": self.labels(), "annotations": _EXPLANATION}
        body = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
        return {"path": self.collection(f"{kind.lower()}s"), "body": body, "stays": False}


def _stays(path: str, kind: str, name: str) -> Json:
    metadata = {"name": name, "labels": _OWNER, "annotations": _EXPLANATION}
    return {"path": path, "body": {"apiVersion": "v1", "kind": kind, "metadata": metadata}, "stays": True}
