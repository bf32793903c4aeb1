# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.
"""What the API of a cluster tells about an upgrade that no node tells."""

from __future__ import annotations

import re
import typing as t

from . import steps
from .findings import BREAKS, COLLECTION, WARNS, Finding

CLUSTER = "cluster"
_REQUESTED = re.compile(r"^apiserver_requested_deprecated_apis\{([^}]*)\} 1(?:\.0)?$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_RELEASE = re.compile(r"(\d+)\.(\d+)")
# What kubeadm makes during an upgrade: its health check is a Job, and static pods have mirror pods.
_MADE = frozenset(("*", "pods", "jobs"))

Json = t.Mapping[str, t.Any]
Service = tuple[str, str]


def deprecated_apis(metrics: str, target: str) -> list[Finding]:
    """APIs that clients still ask for and that the target does not serve. metrics: of the API server, as Prometheus reads them."""
    wanted = steps.exact(target)
    found = []
    for text in _REQUESTED.findall(metrics):
        labels = dict(_LABEL.findall(text))
        release = _RELEASE.fullmatch(labels.get("removed_release", ""))
        if wanted is None or release is None or (int(release[1]), int(release[2])) > wanted[:2]:
            continue
        name = "/".join(filter(None, (labels.get("group"), labels.get("version"), labels.get("resource"))))
        message = (
            f"clients asked for {name} since the API server was started, and {release[0]} serves it no more. The audit log tells which (annotation"
            " k8s.io/deprecated); move them to another version first."
        )
        found.append(Finding(CLUSTER, BREAKS, message, "api", name))
    return found


def closing_webhooks(configurations: t.Iterable[Json]) -> list[tuple[str, Service]]:
    """The webhooks that have a say about what kubeadm makes and refuse it when they do not answer, each with its Service."""
    return [
        (str(webhook["name"]), (service["namespace"], service["name"]))
        for configuration in configurations
        for webhook in configuration.get("webhooks") or []
        for service in [(webhook.get("clientConfig") or {}).get("service")]
        if service and webhook.get("failurePolicy", "Fail") == "Fail" and _is_asked(webhook)
    ]


def _is_asked(webhook: Json) -> bool:
    resources = {resource for rule in webhook.get("rules") or [] for resource in rule.get("resources") or []}
    return bool(resources & _MADE)


def silent_webhooks(webhooks: t.Iterable[tuple[str, Service]], ready: t.Container[Service]) -> list[Finding]:
    """Those of them behind whose Service nothing is ready."""
    return [
        Finding(
            CLUSTER,
            BREAKS,
            f"the webhook fails closed and nothing is ready behind its Service {'/'.join(service)}, so kubeadm cannot make the Job of its health check."
            " Repair what serves it, or remove the webhook for the upgrade.",
            "webhook",
            name,
        )
        for name, service in webhooks
        if service not in ready
    ]


def device_classes(classes: t.Iterable[Json], ours: t.Mapping[str, t.Collection[str]]) -> list[Finding]:
    """DeviceClasses that offer a resource which this collection sets on nodes. ours: node -> the names of its resources."""
    found = []
    for each in classes:
        name = str((each.get("spec") or {}).get("extendedResourceName") or "")
        nodes = sorted(node for node, resources in ours.items() if name in resources)
        if nodes:
            message = (
                f"the DeviceClass {each['metadata']['name']} offers it too. Where a node has a number of it, that counts and the class does not."
                f" Offer one name one way: {', '.join(nodes)}."
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


def unchecked(kubelets: t.Mapping[str, str], checked: t.Collection[str], target: str) -> list[Finding]:
    """Nodes that the API knows and the run did not check. kubelets: their versions, by node."""
    missing = sorted(set(kubelets).difference(checked))
    found = [
        Finding(CLUSTER, finding.fate, f"{node}: {finding.message}", "kubelet", node)
        for node in missing
        for finding in steps.kubelet_skew(kubelets[node], target)
    ]
    if missing:
        found.append(
            Finding(CLUSTER, WARNS, f"the cluster has nodes that this run did not check: {', '.join(missing)}")
        )
    return found
