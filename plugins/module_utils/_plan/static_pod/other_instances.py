# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether another control plane runs a component while this one's is stopped; a cluster of one control plane has no other.

With the API servers of two control planes down, a change on the third left the cluster without any for 45 s (seen with 1.37.2).
"""

from __future__ import annotations

import typing as t

from ..common.batch import join_first
from ..kubernetes import pods
from ..kubernetes.pods import Pod
from .pod_fields import Probe, probes_of_container

# kubeadm labels them, and a control plane that has lost one of its components is known by the others.
PODS = "/api/v1/namespaces/kube-system/pods?labelSelector=tier%3Dcontrol-plane"
_COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
_LOCAL = ("127.0.0.1", "::1", "localhost")


class OtherInstance(t.NamedTuple):
    """A component on another control plane. problem: why its kubelet does not report it as ready, empty when it does. probe: its own one that
    other nodes can make, too; None for a component that listens on its node only."""

    node: str
    problem: str
    probe: Probe | None = None


def find_others(name: str, node: str, control_plane_pods: t.Iterable[Pod]) -> list[OtherInstance]:
    """The instances of a component beside this node's, one for each other control plane. control_plane_pods: of PODS."""
    found: dict[str, dict[str, Pod]] = {}
    for pod in control_plane_pods:
        component = (pod["metadata"].get("labels") or {}).get("component")
        if component in _COMPONENTS and pods.is_static(pod) and pod["spec"].get("nodeName") != node:
            found.setdefault(pod["spec"]["nodeName"], {})[component] = pod
    return [_instance(other, found[other].get(name)) for other in sorted(found)]


def _instance(node: str, pod: Pod | None) -> OtherInstance:
    if pod is None:
        return OtherInstance(node, "it has none")
    return OtherInstance(node, "" if pods.is_ready(pod) else "it is not ready", _remote_probe(pod))


def _remote_probe(pod: Pod) -> Probe | None:
    """The kubelet asks the pod's address where the manifest names no host."""
    container, address = pod["spec"]["containers"][0], pod["status"].get("podIP")
    for probe in reversed(probes_of_container(pod["spec"], container, pod["metadata"]["name"])):  # readiness first
        host = address if "network" in probe else probe.get("host")
        if probe["kind"] in ("http", "tcp") and host and host not in _LOCAL:
            probe["host"] = host
            return probe
    return None


def last_one_problem(name: str, down: t.Mapping[str, str]) -> str:
    """Why this instance must not be stopped: it is the last one. down: every other control plane, and why its instance does not serve."""
    return f"no other {name} of the cluster would serve while this one is stopped: {_describe(down)}."


def others_warning(name: str, down: t.Mapping[str, str]) -> str:
    """About those that do not serve, beside some that do."""
    return f"{name} does not serve on every other control plane: {_describe(down)}"


def _describe(down: t.Mapping[str, str]) -> str:
    return join_first([f"{node} ({problem})" for node, problem in down.items()])
