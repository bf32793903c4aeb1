# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.
"""What the module C(upgrade_info) reads."""

from __future__ import annotations

import dataclasses
import typing as t

from .._plan.common.errors import KubeadmError
from .._plan.kubeadm_config.cluster_configuration import CONFIG_MAP_SOURCE, KIND, ClusterConfiguration
from .._plan.node import plan as node_plan
from .._plan.node.extended_resources import RESOURCES
from .._plan.upgrade import cluster, steps
from .._plan.upgrade.findings import WARNS, Finding
from .client import Client, Connect, Json, Params
from .cluster_versions import server_version

_NAMESPACE = "namespaces/kube-system"
CONFIG_MAP = f"{_NAMESPACE}/configmaps/kubeadm-config"
_WEBHOOKS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
_SERVICE_LABEL = "kubernetes.io/service-name"


def read_all(params: Params, *, connect: Connect) -> Json:
    """Read kubeadm's configuration and what else concerns an upgrade.

    Raises KubeadmError where the cluster is none of kubeadm's, Refusal for a target to which kubeadm does not upgrade it.
    """
    client = connect()
    text = str(kubeadm_config(client)["data"][KIND])
    target = params["target"]
    if target:
        steps.target_of(target, ClusterConfiguration.parse(text).version)
    nodes = client.list("nodes")
    found = [finding for name in _CHECKS if target for finding in _found(name, client, nodes, target)]
    return {
        "cluster_configuration": text,
        "server_version": server_version(client),
        "kubelets": {node_plan.node_name(node): node_plan.kubelet_version(node) or "" for node in nodes},
        "findings": [dataclasses.asdict(finding) for finding in found],
    }


def _found(name: str, client: Client, nodes: t.Sequence[Json], target: str) -> list[Finding]:
    try:
        return _CHECKS[name](client, nodes, target)
    except KubeadmError as exc:  # the rest can be told all the same
        return [Finding(cluster.CLUSTER, WARNS, f"{name} could not be read, so nothing is known about them: {exc}")]


def kubeadm_config(client: Client) -> Json:
    """kubeadm's ConfigMap, which has a text with its ClusterConfiguration. Raises KubeadmError where there is none."""
    config_map = client.find(CONFIG_MAP)
    if config_map is None or not (config_map.get("data") or {}).get(KIND):
        what = "does not exist" if config_map is None else f"has no key {KIND}"
        raise KubeadmError(
            f"{CONFIG_MAP_SOURCE} of {client.url} {what}, so kubeadm cannot upgrade this cluster. kubeadm init phase upload-config kubeadm"
            " --config FILE writes it."
        )
    return config_map


def _requested(client: Client, _nodes: t.Sequence[Json], target: str) -> list[Finding]:
    return cluster.deprecated_apis(client.get_behind("/metrics", {}).text, target)


def _webhooks(client: Client, _nodes: t.Sequence[Json], _target: str) -> list[Finding]:
    configurations = [
        each for kind in _WEBHOOKS for each in client.list(f"/apis/admissionregistration.k8s.io/v1/{kind}")
    ]
    namespace = client.get(_NAMESPACE) if configurations else {"metadata": {}}
    closing = cluster.closing_webhooks(configurations, namespace["metadata"].get("labels") or {})
    services = dict.fromkeys(webhook.service for webhook in closing)
    return cluster.silent_webhooks(closing, [service for service in services if _is_ready(client, service)])


def _is_ready(client: Client, service: cluster.Service) -> bool:
    namespace, name = service
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    slices = client.list(path, labelSelector=f"{_SERVICE_LABEL}={name}")
    endpoints = [endpoint for each in slices for endpoint in each.get("endpoints") or []]
    return any((endpoint.get("conditions") or {}).get("ready") is not False for endpoint in endpoints)


def _device_classes(client: Client, nodes: t.Sequence[Json], _target: str) -> list[Finding]:
    ours = {node_plan.node_name(node): list(node_plan.read_record(RESOURCES, node)) for node in nodes}
    if not any(ours.values()) or client.find("/apis/resource.k8s.io/v1") is None:
        return []
    return cluster.device_classes(client.list("/apis/resource.k8s.io/v1/deviceclasses"), ours)


_CHECKS: dict[str, t.Callable[[Client, t.Sequence[Json], str], list[Finding]]] = {
    "the requests for deprecated APIs": _requested,
    "the admission webhooks": _webhooks,
    "the DeviceClasses": _device_classes,
}
