# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The canary of a static pod's change, planned, or why there is none."""

from __future__ import annotations

import os
import typing as t

from ..._engine.canary import NAME, NODE_TAINTS, settings_of
from ..._engine.journal import Address, StaticPodWatch
from ..._plan.common.errors import KubeadmError
from ..._plan.kubernetes.canary_objects import Canary
from ..._plan.static_pod import leader_election
from ..._plan.static_pod.plan import StaticPodPlan
from ..._plan.transaction import planned_observations
from . import cluster_preflight, static_pods
from .component_files import ComponentFiles

_COMPONENTS = (static_pods.ETCD, static_pods.API_SERVER, *leader_election.ELECTED)


class Unplanned(t.NamedTuple):
    """Why a change is made without a canary."""

    why: str

    def unverified(self) -> str:
        """What is not verified without it."""
        return f"whether the cluster makes, schedules and starts pods: {self.why}"


def add_canary(watch: StaticPodWatch, planned: dict[str, t.Any] | Unplanned | None) -> None:
    """Add what is planned, or what is not verified without it."""
    if isinstance(planned, Unplanned):
        watch["unverified"] = [*watch.get("unverified", ()), planned.unverified()]
    elif planned:
        watch["observations"] = [*watch.get("observations", ()), planned]


def plan_canary(
    pod: static_pods.StaticPod, plan: StaticPodPlan, params: t.Mapping[str, t.Any], node: str, kubeconfig: str
) -> dict[str, t.Any] | Unplanned | None:
    """The observation as a journal has it; None for another component.

    params: those of the module, and C(sandbox_image), empty where that is not known. node: the name of the Node. kubeconfig: of the administrator.
    """
    image = params["canary_image"] or params["sandbox_image"]
    if pod.name not in _COMPONENTS:
        return None
    if not params["canary"]:
        return Unplanned("canary is false")
    if not image:
        return Unplanned("no image is known to be on the node; canary_image names one")
    if not os.path.exists(kubeconfig):
        return Unplanned(f"{kubeconfig} does not exist on {os.uname().nodename}")
    try:
        servers = _servers(pod, plan, node)
    except KubeadmError as exc:
        return Unplanned(f"the API server of this node is not known ({exc})")
    former, planned = ComponentFiles(plan.before), ComponentFiles.planned(plan)
    texts = [settings_of(plan.before.pod), settings_of(plan.after.pod)]
    sides = {
        side: {
            "server": servers[number],
            "lease": cluster_preflight.lease_path(pod.name, (former, planned)[number]),
            "has": sorted(texts[number] - texts[1 - number]),
            "lacks": sorted(texts[1 - number] - texts[number]),
        }
        for number, side in enumerate(("before", "after"))
    }
    canary = Canary(params["canary_namespace"], image, node, pod.name, NODE_TAINTS, NAME)
    return planned_observations.of_canary(
        canary,
        sides,
        kubeconfig,
        wait_timeout=params["wait_timeout"],
        must_start=not params["force"],
        is_elected=any(side["lease"] for side in sides.values()),
    )


def _servers(pod: static_pods.StaticPod, plan: StaticPodPlan, node: str) -> tuple[Address, Address]:
    """The API server of this node, before and after the change. Raises KubeadmError."""
    if pod.name == static_pods.API_SERVER:
        return static_pods.server_address(plan.before), static_pods.server_address(plan.after)
    path, _others = static_pods.find_manifest(static_pods.API_SERVER, os.path.dirname(pod.path))
    address = static_pods.server_address(static_pods.parse_static_pod(static_pods.API_SERVER, path, node).manifest)
    return address, address
