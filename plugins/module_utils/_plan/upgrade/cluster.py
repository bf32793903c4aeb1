# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is checked of an upgrade by the API of a cluster, and not on a node."""

from __future__ import annotations

import re
import typing as t

from ..kubeadm_config.cluster_configuration import CONFIG_MAP_SOURCE
from ..kubeadm_config.settings import COMPONENTS
from ..kubernetes.pods import Labels, selector_matches
from . import prerequisites
from .findings import BROKEN, COLLECTION, CONFIG_MAP, WARNS, Finding, NotChecked

CLUSTER = "cluster"
_REQUESTED_NAME = "apiserver_requested_deprecated_apis"
_REQUESTED = re.compile(rf"^{_REQUESTED_NAME}\{{([^}}]*)\}} 1(?:\.0)?$", re.MULTILINE)
_DISABLED = re.compile(r"^disabled_metrics_total (?!0(?:\.0)?$)", re.MULTILINE)
_RELEASE_LABEL = "removed_release"
_METRIC = re.compile(r"^apiserver_", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_RELEASE = re.compile(r"(\d+)\.(\d+)")
_ANY = "*"
_CLUSTER_SCOPED = ""
NAMESPACES = ("kube-system", "kube-public")
_RBAC = "rbac.authorization.k8s.io"
# What an upgrade has written, by namespace and API group, each with its operations: kubeadm's health check is a Job, static pods have mirror pods.
# All else kubeadm 1.37 creates first and updates where it exists; a webhook for CREATE that does not answer refuses it before that is known.
# A kubelet deletes the mirror pod of a static pod that changed before it makes the new one, for which kubeadm waits.
# And it waits until the kubelet has reported the new one as running, and until the pod of the Job has a node.
_CREATED, _UPDATED, _REPLACED, _BOTH = ("CREATE",), ("UPDATE",), ("CREATE", "DELETE"), ("CREATE", "UPDATE")
_WRITTEN: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {
    "kube-system": {
        "": {
            "configmaps": _BOTH,
            "pods": _REPLACED,
            "pods/binding": _CREATED,
            "pods/status": _UPDATED,
            "serviceaccounts": _BOTH,
            "services": _BOTH,
        },
        "apps": {"daemonsets": _BOTH, "deployments": _BOTH},
        "batch": {"jobs": _CREATED},
        _RBAC: {"roles": _BOTH, "rolebindings": _BOTH},
    },
    "kube-public": {_RBAC: {"roles": _BOTH, "rolebindings": _BOTH}},
    _CLUSTER_SCOPED: {_RBAC: {"clusterroles": _BOTH, "clusterrolebindings": _BOTH}},
}
# The labels of these, as kubeadm 1.37 sets them; others have none that people select by.
_OF_DNS = {"k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}
_LABELS: dict[str, tuple[dict[str, str], ...]] = {
    "configmaps": ({}, {"app": "kube-proxy"}),
    "pods": ({}, *({"component": name, "tier": "control-plane"} for name in COMPONENTS)),
    "services": (_OF_DNS,),
    "daemonsets": ({"k8s-app": "kube-proxy"},),
    "deployments": ({"k8s-app": "kube-dns"},),
}

Json = t.Mapping[str, t.Any]
Service = tuple[str, str]


def deprecated_apis(metrics: str, target: str) -> t.Iterator[Finding]:
    """APIs that clients still request and that the target does not serve.

    metrics: of the API server, as Prometheus reads them. Raises NotChecked, behind what is found, where they are not complete: they are none of an
    API server, which leaves out what no client requested and what its flags switch off alike.
    """
    if not _METRIC.search(metrics):
        raise NotChecked("what the API server returns as its metrics has no metric of an API server")
    if _REQUESTED_NAME not in metrics and _DISABLED.search(metrics):
        raise NotChecked(
            f"the API server has metrics switched off (--disabled-metrics, or disabledMetrics), and shows no {_REQUESTED_NAME}. Remove that, or"
            " see its audit log for the annotation k8s.io/deprecated"
        )
    target_version, unread = prerequisites.exact_version(target) or (), []
    for text in _REQUESTED.findall(metrics):
        labels = dict(_LABEL.findall(text))
        release = _RELEASE.fullmatch(labels.get(_RELEASE_LABEL, "-"))
        name = "/".join(filter(None, (labels.get("group"), labels.get("version"), labels.get("resource"))))
        if release is None and labels.get(_RELEASE_LABEL) != "":  # empty: no release is known to end it
            unread.append(f"{name}: {labels.get(_RELEASE_LABEL)}")
        if release is None or (int(release[1]), int(release[2])) > target_version[:2]:
            continue
        message = (
            f"clients asked for {name} since the API server was started, and {release[0]} no longer serves it. The audit log shows which (annotation"
            " k8s.io/deprecated); move them to another version first."
        )
        yield Finding(CLUSTER, BROKEN, message, "api", name)
    if unread:
        raise NotChecked(
            f"the metric {_REQUESTED_NAME} has no release as its label {_RELEASE_LABEL}, as with --allow-metric-labels ({'; '.join(unread)})"
        )


class FailClosedWebhook(t.NamedTuple):
    """A webhook that matches what an upgrade writes, and that refuses it when it does not respond.

    written: the resources. is_conditional: whether conditions in CEL, which are not evaluated here, may leave these out.
    """

    name: str
    service: Service
    written: tuple[str, ...]
    is_conditional: bool


def fail_closed_webhooks(configurations: t.Iterable[Json], labels: t.Mapping[str, Labels]) -> list[FailClosedWebhook]:
    """The webhooks with a Service that close. labels: of the C(NAMESPACES), by name."""
    return [
        FailClosedWebhook(
            str(webhook["name"]), (service["namespace"], service["name"]), written, bool(webhook.get("matchConditions"))
        )
        for configuration in configurations
        for webhook in configuration.get("webhooks") or []
        for service in [(webhook.get("clientConfig") or {}).get("service")]
        for written in [_matched_resources(webhook, labels)]
        if service and written and webhook.get("failurePolicy", "Fail") == "Fail"
    ]


def _matched_resources(webhook: Json, labels: t.Mapping[str, Labels]) -> tuple[str, ...]:
    """The resources that an upgrade writes and a webhook matches."""
    found = (
        resource
        for namespace, groups in _WRITTEN.items()
        # A selector of namespaces leaves out nothing that has none.
        if namespace == _CLUSTER_SCOPED or selector_matches(webhook.get("namespaceSelector"), labels.get(namespace, {}))
        for group, resources in groups.items()
        for resource, operations in resources.items()
        if any(
            selector_matches(webhook.get("objectSelector"), each)
            for each in _LABELS.get(resource.partition("/")[0], ({},))
        )
        and any(_rule_matches(rule, namespace, group, resource, operations) for rule in webhook.get("rules") or [])
    )
    return tuple(dict.fromkeys(found))


def _rule_matches(rule: Json, namespace: str, group: str, resource: str, operations: t.Sequence[str]) -> bool:
    return (
        rule.get("scope", _ANY) in (_ANY, "Cluster" if namespace == _CLUSTER_SCOPED else "Namespaced")
        and not {_ANY, group}.isdisjoint(rule.get("apiGroups") or [])
        and any(_names_resource(each, resource) for each in rule.get("resources") or [])
        and not {_ANY, *operations}.isdisjoint(rule.get("operations") or [])
    )


def _names_resource(named: str, resource: str) -> bool:
    """Whether a name in a rule means a resource or subresource, as an API server matches them: C(*) means no subresource, C(pods/*) pods, too."""
    parts = zip(named.partition("/")[::2], resource.partition("/")[::2])
    return all(part in (_ANY, own) for part, own in parts)


def unserved_webhooks(webhooks: t.Iterable[FailClosedWebhook], ready: t.Container[Service]) -> list[Finding]:
    """Those of them behind whose Service nothing is ready."""
    return [
        Finding(
            CLUSTER,
            WARNS if webhook.is_conditional else BROKEN,
            f"the webhook fails closed and nothing is ready behind its Service {'/'.join(webhook.service)}, so what the upgrade writes is"
            f" refused ({', '.join(webhook.written)}{'; unless its matchConditions skip that' if webhook.is_conditional else ''})."
            " Repair what serves it, or remove the webhook for the upgrade.",
            "webhook",
            webhook.name,
        )
        for webhook in webhooks
        if webhook.service not in ready
    ]


def device_classes(classes: t.Iterable[Json], owned_resources: t.Mapping[str, t.Collection[str]]) -> list[Finding]:
    """DeviceClasses that offer a resource which this collection sets on nodes. owned_resources: node -> the names of its resources."""
    found = []
    for each in classes:
        name = str((each.get("spec") or {}).get("extendedResourceName") or "")
        nodes = sorted(node for node, resources in owned_resources.items() if name in resources)
        if nodes:
            message = (
                f"the DeviceClass {each['metadata']['name']} provides it too. Where a node has a number of it, that counts and the class does not."
                f" Provide one name in one way: {', '.join(nodes)}."
            )
            found.append(
                Finding(
                    CLUSTER,
                    WARNS,
                    message,
                    "extended_resources",
                    name,
                    COLLECTION,
                    variable="node_resources_extended_resources",
                )
            )
    return found


def not_checked(kubelets: t.Mapping[str, str], checked: t.Collection[str]) -> list[str]:
    """Nodes that the API knows and the run did not check. kubelets: their versions, by node."""
    return sorted(set(kubelets).difference(checked))


def unchecked_kubelets(kubelets: t.Mapping[str, str], missing: t.Sequence[str], target: str) -> list[Finding]:
    """What breaks of the nodes that are skipped, by all that is known of them. kubelets: as above."""
    return [
        Finding(CLUSTER, finding.impact, f"{node}: {finding.message}", "kubelet", node)
        for node in missing
        for finding in prerequisites.kubelet_skew(kubelets[node], target)
    ]


def changed_meanwhile(before: str, after: str | None) -> t.Iterator[Finding]:
    """A ClusterConfiguration that was written while nodes were checked with its content from before.

    before, after: its text; None where it was not read again, for which NotChecked is raised.
    """
    if after is None:
        raise NotChecked(f"{CONFIG_MAP_SOURCE} was not read again after the nodes were checked")
    if before != after:
        message = (
            "it was written while this run checked the nodes, so the findings are about its former content. Find out what writes it, such as an upgrade"
            " that has begun, and check again."
        )
        yield Finding(CLUSTER, BROKEN, message, set_by=CONFIG_MAP, file=CONFIG_MAP_SOURCE)
