# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(upgrade_info) reads."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .._plan.common.errors import KubeadmError
from .._plan.kubeadm_config.cluster_configuration import CONFIG_MAP_SOURCE, KIND, ClusterConfiguration
from .._plan.node import plan as node_plan
from .._plan.node.extended_resources import RESOURCES
from .._plan.upgrade import addons, cluster, findings, prerequisites
from .._plan.upgrade.findings import Finding, UpgradeFindings
from .client import Client, Connect, Json, Params
from .objects import server_version

_CONFIG_MAPS = "namespaces/kube-system/configmaps"
CONFIG_MAP = f"{_CONFIG_MAPS}/kubeadm-config"
_WEBHOOKS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
# The add-ons of kubeadm by the name of their ConfigMap: the path of their workload, and the label by which kubeadm knows it.
_ADD_ONS = {
    findings.KUBE_PROXY: ("/apis/apps/v1/namespaces/kube-system/daemonsets", "k8s-app=kube-proxy"),
    "coredns": ("/apis/apps/v1/namespaces/kube-system/deployments", "k8s-app=kube-dns"),
}
_SERVICE_LABEL = "kubernetes.io/service-name"


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The input of the checks of a cluster. target: the version to upgrade to."""

    client: Client
    nodes: t.Sequence[Json]
    target: str

    @functools.cached_property
    def proxy(self) -> str:
        """The configuration of kube-proxy; empty where kubeadm's ConfigMap of it does not exist."""
        return _read_config_map(self.client, findings.KUBE_PROXY, addons.PROXY_KEY)


def read_all(params: Params, *, connect: Connect) -> Json:
    """Read kubeadm's configuration, and check the cluster for an upgrade.

    Raises KubeadmError where kubeadm did not create the cluster, Refusal for a target to which kubeadm does not upgrade it.
    """
    client = connect()
    text = str(read_kubeadm_config(client)["data"][KIND])
    target, server = params["target"], server_version(client)
    if target:
        prerequisites.target_of(target, ClusterConfiguration.parse(text).version)
        prerequisites.refuse_api_server_step(server, target)
    nodes = client.list("nodes")
    gathered = UpgradeFindings()
    context = Cluster(client, nodes, target)
    for name, check in _CHECKS.items() if target else ():
        gathered.check(name, check(context))
    return {
        "cluster_configuration": text,
        "kube_proxy_configuration": context.proxy if findings.KUBE_PROXY in gathered.checks else None,
        "server_version": server,
        "kubelets": {node_plan.node_name(node): node_plan.kubelet_version(node) or "" for node in nodes},
        **{key: value for key, value in gathered.report().items() if key != "rehearsed"},
    }


def read_kubeadm_config(client: Client) -> Json:
    """kubeadm's ConfigMap, which has a text with its ClusterConfiguration. Raises KubeadmError where there is none."""
    config_map = client.find(CONFIG_MAP)
    if config_map is None or not (config_map.get("data") or {}).get(KIND):
        what = "does not exist" if config_map is None else f"has no key {KIND}"
        raise KubeadmError(
            f"{CONFIG_MAP_SOURCE} of {client.url} {what}, so kubeadm cannot upgrade this cluster. kubeadm init phase upload-config kubeadm"
            " --config FILE writes it."
        )
    return config_map


def _read_config_map(client: Client, name: str, key: str) -> str:
    """The value of a key in the ConfigMap of an add-on; empty without the add-on. Raises KubeadmError where it runs without that."""
    config_map = client.find(f"{_CONFIG_MAPS}/{name}")
    if config_map is None:
        path, label = _ADD_ONS[name]
        running = [each["metadata"]["name"] for each in client.list(path, labelSelector=label)]
        if running:
            raise findings.NotChecked(
                f"there is no ConfigMap kube-system/{name} at {client.url}, and {running[0]} runs (label {label}), so what an upgrade does to it is"
                " not known. Create it again"
            )
        return ""
    if key not in (config_map.get("data") or {}):
        raise findings.NotChecked(f"ConfigMap kube-system/{name} of {client.url} has no key {key}")
    return str(config_map["data"][key])


def _deprecated_api_findings(context: Cluster) -> t.Iterator[Finding]:
    yield from cluster.deprecated_apis(context.client.get_proxied("/metrics", {}).text, context.target)


def _webhook_findings(context: Cluster) -> t.Iterator[Finding]:
    client = context.client
    configurations = [
        each for kind in _WEBHOOKS for each in client.list(f"/apis/admissionregistration.k8s.io/v1/{kind}")
    ]
    namespaces = {name: client.get(f"namespaces/{name}") for name in cluster.NAMESPACES} if configurations else {}
    labels = {name: each["metadata"].get("labels") or {} for name, each in namespaces.items()}
    fail_closed = cluster.fail_closed_webhooks(configurations, labels)
    services = dict.fromkeys(webhook.service for webhook in fail_closed)
    yield from cluster.unserved_webhooks(fail_closed, [each for each in services if _has_ready_endpoint(client, each)])


def _has_ready_endpoint(client: Client, service: cluster.Service) -> bool:
    namespace, name = service
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    slices = client.list(path, labelSelector=f"{_SERVICE_LABEL}={name}")
    endpoints = [endpoint for each in slices for endpoint in each.get("endpoints") or []]
    return any((endpoint.get("conditions") or {}).get("ready") is not False for endpoint in endpoints)


def _device_class_findings(context: Cluster) -> t.Iterator[Finding]:
    resources = {node_plan.node_name(node): list(node_plan.read_record(RESOURCES, node)) for node in context.nodes}
    if any(resources.values()) and context.client.find("/apis/resource.k8s.io/v1") is not None:
        yield from cluster.device_classes(context.client.list("/apis/resource.k8s.io/v1/deviceclasses"), resources)


def _kube_proxy_findings(context: Cluster) -> t.Iterator[Finding]:
    if context.proxy:
        yield from addons.proxy_findings(context.proxy)


def _coredns_findings(context: Cluster) -> t.Iterator[Finding]:
    yield from addons.corefile_findings(_read_config_map(context.client, "coredns", "Corefile"))


_CHECKS: dict[str, t.Callable[[Cluster], t.Iterator[Finding]]] = {
    "deprecated-apis": _deprecated_api_findings,
    "webhooks": _webhook_findings,
    "device-classes": _device_class_findings,
    findings.KUBE_PROXY: _kube_proxy_findings,
    "coredns": _coredns_findings,
}
