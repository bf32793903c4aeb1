# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before a component is stopped, those of the other control planes are probed, whatever the inventory holds. etcd's members are asked in etcd."""

from __future__ import annotations

import os

from ..._engine import probes
from ..._plan.common.errors import Refusal
from ..._plan.static_pod import other_instances
from ..._plan.static_pod.other_instances import OtherInstance
from . import static_pods
from .component_files import PreflightContext, is_healthy, retry_until_ready


def check(pod: static_pods.StaticPod, node: PreflightContext) -> list[str]:
    """Warnings about others that do not serve. Raises Refusal for the last instance that does, unless it is forced.

    One request to the API, and one to each other control plane.
    """
    if pod.name == static_pods.ETCD or not is_healthy(pod, node):  # what is down has nothing to lose
        return []
    others, failure = retry_until_ready(
        lambda: _probe_others(pod.name, node), lambda result: not any(result[0].values()), node
    )
    if failure:
        node.unverified.append(f"whether another {pod.name} serves while this one restarts: {failure}")
    down = {other: problem for other, problem in others.items() if problem}
    if not down:
        return []
    if len(down) < len(others):
        return [other_instances.others_warning(pod.name, down)]
    problem = other_instances.last_one_problem(pod.name, down)
    if node.force:
        return [f"forced: {problem}"]
    raise Refusal(
        f"refused before anything was written on {os.uname().nodename}: {problem} Repair one of them, or delete the Node of a control plane that is gone;"
        " force: true changes it anyway."
    )


def _probe_others(name: str, node: PreflightContext) -> tuple[dict[str, str], str]:
    """Why the instance of each other control plane does not serve, empty where it does; or why the API does not show them."""
    listed, failure = probes.api_get(node.kubeconfig, other_instances.PODS)
    if listed is None:
        return {}, failure
    found = other_instances.find(name, node.kubelet.node_name, listed.get("items") or [])
    return {other.node: _problem(other) for other in found}, ""


def _problem(other: OtherInstance) -> str:
    """By its probe, which shows what is so now: that a node is lost its Node shows 40 s later."""
    if other.probe is None:
        return other.problem
    ok, message = probes.run_probe({**other.probe})
    return "" if ok else message
