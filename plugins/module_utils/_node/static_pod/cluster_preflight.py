# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the rest of a cluster must have before a component is changed: another instance that serves, whatever the inventory holds, and Leases that are
renewed often enough: those of the nodes, and that of a leader. The members of etcd are in its own preflight."""

from __future__ import annotations

import os
import typing as t
from urllib.parse import quote

from ..._engine import probes
from ..._engine.kubelet_node import LEASES
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.documents import configuration
from ..._plan.kubernetes import heartbeats
from ..._plan.static_pod import leader_election, other_instances
from ..._plan.static_pod import plan as static_pod
from ..._plan.static_pod.other_instances import OtherInstance
from . import static_pods
from .component_files import ComponentFiles, PreflightContext, is_healthy, retry_until_ready

_SCHEDULER, _DEFAULT_PROFILE = "kube-scheduler", "default-scheduler"
_PODS_OF_PROFILE = (
    "/api/v1/pods?limit=1&fieldSelector=status.phase!%3DSucceeded%2Cstatus.phase!%3DFailed%2Cspec.schedulerName%3D"
)


def check_cluster(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """Warnings. Raises Refusal. The node's fact C(leads) is whether its instance leads."""
    lease = lease_path(pod.name, ComponentFiles(plan.before))
    if lease:
        held, _why = probes.api_get(node.kubeconfig, lease)
        node.facts["leads"] = leader_election.is_holder(held, (os.uname().nodename, node.kubelet.node_name))
    return [
        *_refuse_last(pod, node),
        *_refuse_short_grace(pod.name, plan, node),
        *_refuse_lost_profiles(pod.name, plan, node),
    ]


def _refuse_last(pod: static_pods.StaticPod, node: PreflightContext) -> list[str]:
    """Refuse to stop the last instance that serves, unless it is forced; warn about others that do not.

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
    found = other_instances.find_others(name, node.kubelet.node_name, listed.get("items") or [])
    return {other.node: _problem(other) for other in found}, ""


def _problem(other: OtherInstance) -> str:
    """By its probe, which shows what is so now: that a node is lost its Node shows 40 s later."""
    if other.probe is None:
        return other.problem
    ok, message = probes.run_probe({**other.probe})
    return "" if ok else message


def _refuse_short_grace(name: str, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """Refuse a grace period in which a kubelet of the cluster does not renew its Lease twice, unless it is forced."""
    former, grace = (ComponentFiles(manifest).flag(heartbeats.GRACE_FLAG) for manifest in (plan.before, plan.after))
    if name != leader_election.CONTROLLER_MANAGER or grace is None or grace == former:
        return []
    leases, failure = probes.api_get(node.kubeconfig, LEASES)
    if leases is None:
        node.unverified.append(
            f"whether two renewals of each node's Lease fit into --{heartbeats.GRACE_FLAG}: {failure}"
        )
        return []
    problem = heartbeats.grace_problem(grace, leases["items"])
    if problem and not node.force:
        raise Refusal(f"refused before anything was written: {problem} force: true changes it anyway.")
    return [f"forced: {problem}"] if problem else []


def _refuse_lost_profiles(name: str, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """Refuse a scheduler without a profile that pods name, unless it is forced: those that are made after them would stay Pending.

    One request to the API for each profile that goes.
    """
    if name != _SCHEDULER:
        return []
    before, after = _read_profiles(ComponentFiles(plan.before)), _read_profiles(ComponentFiles.planned(plan))
    if not before or not after:  # the rehearsal refuses what cannot be read
        return []
    found = []
    for profile in sorted(before - after):
        pods, failure = probes.api_get(node.kubeconfig, _PODS_OF_PROFILE + quote(profile))
        named = [
            f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in (pods or {}).get("items") or []
        ]
        if pods is None:
            node.unverified.append(f"whether pods name the scheduler's profile {profile}, which goes: {failure}")
        elif named:
            found.append(f"invalid profiles: must have {profile}, which pods name, such as {named[0]}.")
    if found and not node.force:
        raise Refusal(
            f"refused before anything was written: {' '.join(found)} Pods that are made after them would stay Pending, unless another scheduler has"
            " that name; force: true changes it anyway."
        )
    return [f"forced: {each}" for each in found]


def _read_profiles(files: ComponentFiles) -> set[str]:
    """The names by which pods choose a scheduler; empty where its file cannot be read."""
    path = files.flag("config")
    if not path:
        return {_DEFAULT_PROFILE}
    try:
        profiles = configuration.read(
            files.read(path), "KubeSchedulerConfiguration", lambda data: data.get("profiles") or [{}]
        )
    except KubeadmError:
        return set()
    return {str(each.get("schedulerName") or _DEFAULT_PROFILE) for each in profiles}


def lease_path(name: str, files: ComponentFiles) -> str:
    """Where at the API the Lease of a component's leader is; empty where none is elected. files: of the component."""
    election: t.Mapping[str, t.Any] = {}
    path = files.flag("config")
    if path and name in leader_election.ELECTED:
        try:
            election = configuration.read(
                files.read(path), "KubeSchedulerConfiguration", lambda data: data.get("leaderElection") or {}
            )
        except KubeadmError:
            election = {}
    return leader_election.lease_path(name, files.flag, election)


def refuse_slow_renewal(name: str, running: ComponentFiles, plan: static_pod.StaticPodPlan) -> None:
    """Refuse a rate limit on requests with which a leader could not renew its Lease. Raises Refusal."""
    if name not in leader_election.ELECTED:
        return
    former, found = map(_read_renewal, (running, ComponentFiles.planned(plan)))
    if found is not None and found != former:
        leader_election.refuse_slow_renewal(found)


def _read_renewal(files: ComponentFiles) -> leader_election.Renewal | None:
    """None for a file that cannot be read, which the rehearsal refuses."""
    path = files.flag("config")
    try:
        return (
            leader_election.renewal_of_file(files.read(path), files.flag)
            if path
            else leader_election.renewal_of_flags(files.flag)
        )
    except KubeadmError:
        return None
