# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What keeps a run from writing kubeadm-config: another that renders it, control planes that are not in the run, several versions."""

from __future__ import annotations

import typing as t

from ..common.errors import Refusal
from . import plan
from .cluster_configuration import CONFIG_MAP_SOURCE, ClusterConfiguration
from .settings import Json

_CLUSTER_API = "cluster.x-k8s.io/"
_MINIKUBE = "minikube.k8s.io/"
_KUBESPRAY_CERTIFICATES = "/etc/kubernetes/ssl"


def find_managers(nodes: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    """The other programs that manage these Nodes, by their annotations and labels."""
    found = {}
    for node in nodes:
        metadata = node.get("metadata") or {}
        for marks in (metadata.get("annotations") or {}, metadata.get("labels") or {}):
            for mark in marks:
                if mark.startswith(_CLUSTER_API):
                    found["Cluster API"] = mark
                if mark.startswith(_MINIKUBE):
                    found["minikube"] = mark
    return [f"{name} (the Nodes have {mark})" for name, mark in found.items()]


def write_refusal(observed: Json, versions: t.Mapping[str, str]) -> str:
    """Why kubeadm-config must not be written; empty when it may be.

    observed: what a control plane read of the API: C(problem), why it could not; C(text), None where there is no such ConfigMap; C(managers);
    C(control_planes), the names of their Nodes; C(immutable), the names of ConfigMaps that cannot be changed. versions: by Node, that of the API
    server of each host of the run.
    """
    if observed.get("problem"):
        return f"{CONFIG_MAP_SOURCE} could not be read: {observed['problem']}"
    if not observed.get("text"):
        return (
            f"there is no {CONFIG_MAP_SOURCE}, so kubeadm can neither upgrade this cluster nor let a node join. kubeadm init phase upload-config kubeadm"
            " --config FILE writes it."
        )
    try:
        configuration = plan.parse_configuration(observed["text"])
    except Refusal as exc:
        return str(exc)
    return (
        _immutable_reason(observed)
        or _managed_reason(observed, configuration)
        or _incomplete_reason(observed, versions)
        or _mixed_versions_reason(configuration, versions)
    )


def _immutable_reason(observed: Json) -> str:
    names = " and ".join(f"kube-system/{name}" for name in observed["immutable"])
    if not names:
        return ""
    return (
        f"ConfigMap {names} is immutable, so the API refuses every change of it, also one by kubeadm upgrade. Delete it, and create it again with the"
        " same data and without immutable."
    )


def _managed_reason(observed: Json, configuration: ClusterConfiguration) -> str:
    found = [*observed["managers"]]
    if configuration.certificates_dir == _KUBESPRAY_CERTIFICATES:
        found.append(f"Kubespray (certificatesDir is {_KUBESPRAY_CERTIFICATES})")
    if not found:
        return ""
    return (
        f"{' and '.join(found)} renders {CONFIG_MAP_SOURCE} of this cluster, so what this collection writes there would be lost or conflict with it. Set"
        " the values there."
    )


def _incomplete_reason(observed: Json, versions: t.Mapping[str, str]) -> str:
    absent = [name for name in observed["control_planes"] if name not in versions]
    if not absent:
        return ""
    return (
        f"{', '.join(absent)} is a control plane and no host of this run, and every control plane generates its manifests from {CONFIG_MAP_SOURCE}. Run"
        " it on all of them, without --limit; a Node that is gone for good has to be deleted."
    )


def _mixed_versions_reason(configuration: ClusterConfiguration, versions: t.Mapping[str, str]) -> str:
    found = {**versions, "kubeadm-config": configuration.version}
    if len({version.lstrip("v") for version in found.values()}) == 1:
        return ""
    listed = ", ".join(f"{name} {version or 'unknown'}" for name, version in found.items())
    return f"the cluster is in the middle of an upgrade ({listed}). Finish it first."
