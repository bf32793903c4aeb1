# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an engine observes of a component besides its health: what the component is for. What worked before the change has to work after it."""

from __future__ import annotations

import typing as t

from ..kubernetes import flags
from ..kubernetes.canary_objects import COMPONENT_LABEL, LABEL, Canary

_KUBELET_PORT = 10250
_API_SERVER, _CONTROLLER_MANAGER, _SCHEDULER, _ETCD = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "etcd",
)
# While the API server is there a new leader acts within seconds; after its own change, and that of etcd, all its clients come back first.
_CANARY_SECONDS = 60
_OF_API = (_API_SERVER, _ETCD)
_Field = t.Callable[[str], t.Any]
_Json = t.Mapping[str, t.Any]


def of_kubelet(before: _Field, after: _Field, node: _Json) -> list[dict[str, t.Any]]:
    """That each address of its Node shows a certificate at the kubelet's port, which knows the tokens of pods, unless the change closes it, which is named in
    its plan; and that the servers which it gives to pods for names know the API.

    before, after: read a field of the configuration by its name; None where it is not set. node: its name and the kubeconfig to read it with. Returns what a
    journal holds as observations.
    """
    server = {"node": node, "before": _server(before), "after": _server(after)}
    names = {"kind": "dns", "before": _name_servers(before), "after": _name_servers(after)}
    kinds = () if flags.gate_value(str(after("enableServer"))) is False else ("port", "metrics")
    return [*({"kind": kind, **server} for kind in kinds), names]


def _server(field: _Field) -> dict[str, t.Any]:
    return {"port": int(field("port") or _KUBELET_PORT), "certificate": field("tlsCertFile") or ""}


def _name_servers(field: _Field) -> dict[str, t.Any]:
    servers = field("clusterDNS") or []
    domain = field("clusterDomain") or "cluster.local"
    return {
        "servers": servers.split(",") if isinstance(servers, str) else list(servers),
        "name": f"kubernetes.default.svc.{domain}",
    }


def of_api_server(before: _Json, after: _Json, kubeconfig: str) -> list[dict[str, t.Any]]:
    """That it accepts a token that a pod of its node has, and those that others issue, serves every stable version of the API and those of other servers, and
    answers at the address that it has in the Service kubernetes. before, after: its own address as C(server), and that one as C(advertised). kubeconfig: of
    its administrator."""
    return [
        {"kind": kind, "before": before, "after": after, "kubeconfig": kubeconfig}
        for kind in ("tokens", "versions", "peers", "aggregated", "admission")
    ]


# What is done with a canary, in this order: the step of the engine, its name in messages, its seconds, where it waits for no controller, and the
# component that does it, where one is elected for that.
_LEAD = ("lead", "the renewal of the leader's Lease", None, "")
_WORKLOAD = (
    ("create", "the creation of a Deployment and a Service", 60, ""),
    ("find", "a pod for the Deployment", None, _CONTROLLER_MANAGER),
    ("schedule", "the pod's place on a node", None, _SCHEDULER),
    ("start", "the start of the pod", None, ""),
    ("log", "the pod's log", 30, ""),
    ("token", "a token of its ServiceAccount", 30, ""),
    ("endpoint", "an EndpointSlice with its address", None, _CONTROLLER_MANAGER),
    ("delete", "the end of the pod without its Deployment", None, _CONTROLLER_MANAGER),
)
_POD = (
    ("create", "the creation of a pod", 30, ""),
    ("find", "the pod at the API", 30, ""),
    ("start", "the start of the pod", None, ""),
    ("log", "the pod's log", 30, ""),
    ("delete", "the end of the pod", None, ""),
)


def canary_seconds(component: str, wait_timeout: int) -> int:
    """Until when what worked before counts as slow behind a change of a component. wait_timeout: seconds that a change may take."""
    return wait_timeout if component in _OF_API else min(wait_timeout, _CANARY_SECONDS)


def of_canary(
    canary: Canary, sides: _Json, kubeconfig: str, *, wait_timeout: int, must_start: bool, is_elected: bool
) -> dict[str, t.Any]:
    """That a Deployment gets its pod, and all that has to work for that and behind it.

    sides: for C(before) and C(after) the server to use, the Lease of the component's leader (empty without one), and how another node's component is
    known to be set in this way: what its manifest has and lacks. wait_timeout: seconds that a change may take. must_start: whether nothing is
    changed where the kubelet starts no pod. is_elected: whether there is a Lease on either side.
    """
    return {
        **_canary(
            canary, canary.workload(), ("deployments", "services"), [*([_LEAD] if is_elected else []), *_WORKLOAD]
        ),
        **sides,
        "kubeconfig": kubeconfig,
        "seconds": canary_seconds(canary.component, wait_timeout),
        "must_start": must_start,
    }


def of_pod(canary: Canary) -> dict[str, t.Any]:
    """That a node starts a pod, and that its log can be read through the API."""
    return {**_canary(canary, canary.bare_pod(), ("pods",), _POD), "before": {}, "after": {}, "must_start": False}


def _canary(
    canary: Canary,
    objects: list[dict[str, t.Any]],
    kinds: t.Sequence[str],
    steps: t.Sequence[tuple[str, str, int | None, str]],
) -> dict[str, t.Any]:
    return {
        "kind": "canary",
        "component": canary.component,
        "node": canary.node,
        "namespace": canary.namespace,
        "label": LABEL,
        "sweep": f"{COMPONENT_LABEL}={canary.component_of_node()}",
        "collections": [canary.collection(kind) for kind in kinds],
        "objects": objects,
        "answers_for_api": canary.component in _OF_API,
        "steps": [
            {"step": step, "name": name, "seconds": seconds, "is_own": who == canary.component}
            for step, name, seconds, who in steps
        ],
    }
