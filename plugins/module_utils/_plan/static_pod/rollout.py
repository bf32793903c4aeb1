# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role C(control_plane) decides: which nodes are changed in which order, which of them may begin, and what became of each."""

from __future__ import annotations

import typing as t

from ..common import typed
from ..kubernetes import clusters, control_plane_nodes
from ..transaction import messages, rollout
from ..transaction.report import owned_settings
from ..transaction.results import ChangeResult, ComponentResult
from ..transaction.rollout import Hosts
from . import rollout_leaders
from .static_pod_results import PodState, StaticPodHost

Pods = t.Mapping[str, PodState]  # what is known of static pods, by name
Reports = t.Mapping[str, t.Mapping[str, ComponentResult]]  # by host and static pod

# One host queries the API for all, so these variables must be the same on all hosts.
SAME_FOR_ALL = (
    "control_plane_lease",
    "control_plane_lease_takeover",
    "control_plane_resume",
    "control_plane_api_host",
    "control_plane_persist",
    "control_plane_persist_env",
    "control_plane_persist_feature_gates",
)

_ETCD = "etcd"
_WITH_LEADER = ("kube-scheduler", "kube-controller-manager", _ETCD)  # the node that leads a later one is changed later
_REQUIRED = control_plane_nodes.COMPONENTS
_UPGRADE = "WARNING: a kubeadm upgrade writes the manifests again and so reverts this; run this again after one."
_OFF = (None, False, "disabled")
# A plan has whether a node is ready; when it is older than this, in seconds, the node is observed again.
_FRESH_SECONDS = 30
_RESULT_KEYS = (
    "changed",
    "failed",
    "unreachable",
    "msg",
    "node",
    "manifest",
    "operations",
    "left_alone",
    "snapshot",
    "lost",
    "reverts",
    "rehearsal",
    "transaction",
    "unverified",
    "previous_transaction",
    "open_transaction",
)


# ---- before the first write ------------------------------------------------------------------------------------------


def run_refusal(hosts: Hosts[StaticPodHost], host: str, reachable: t.Collection[str], batch: t.Collection[str]) -> str:
    """Why the hosts that take part cannot be changed in one run; empty when they can.

    host: the one that reports it. reachable: the hosts that the play still has. batch: those of them that C(serial) lets in now.
    """
    found = (
        rollout.planning_refusal(hosts, reachable)
        or rollout.node_name_mismatch(hosts, "control_plane_node_name")
        or clusters.cluster_conflict({name: each.plan.cluster for name, each in hosts.items()})
        or rollout.different_settings(hosts, SAME_FOR_ALL)
    )
    if found:
        return f"Nothing was changed on {host}. {found}"
    excluded = sorted(set(reachable).difference(batch))
    if not excluded or not turn_order(hosts):
        return ""
    return (
        f"Nothing was changed on {host}, because serial excludes {', '.join(excluded)}: whether their API servers and etcds are ready would not"
        " be checked. Remove serial from the play; the role changes one node after the other."
    )


def kubelet_refusal(hosts: Hosts[StaticPodHost], repaired: t.Collection[str]) -> str:
    """Why nothing is changed while a kubelet does not work: it would not start what is changed, and the next node would be one less. Empty when
    all work. repaired: the hosts whose kubelets this run has changed since everything was planned."""
    problems = [host.plan.kubelet_problem for name, host in hosts.items() if name not in repaired]
    problems_text = "; ".join(filter(None, problems))
    return messages.kubelet_needed_message(problems_text) if problems_text else ""


def pods_in_order(host: StaticPodHost) -> list[str]:
    """The static pods of a host to change, in this order. A change that an earlier run left open counts: this run ends it.

    etcd is first, because the others use it. These are in the order of the plan when something is switched on, else in the other one.
    """
    plans = host.plan.static_pods
    changing = [name for name, plan in plans.items() if plan.has_work]
    others = [name for name in changing if name != _ETCD]
    after = [each.after for name in others for each in plans[name].operations or ()]
    switches_on = any(value not in _OFF for value in after)
    return [name for name in changing if name == _ETCD] + (others if switches_on else others[::-1])


def is_repair(host: StaticPodHost) -> bool:
    """Whether the plan of a host changes what is down there."""
    return any(name in pods_in_order(host) for name in _unready(host.planned_pods))


def _turn_rank(host: StaticPodHost) -> int:
    """A repair is first: until then no other node may be changed. Who leads is last, so that the leadership moves once, to one that is changed already;
    where other nodes lead other components, etcd's is behind the controller manager's, and that one behind the scheduler's."""
    if is_repair(host):
        return 0
    changing, plans = pods_in_order(host), host.plan.static_pods
    led = (rank for rank, name in enumerate(_WITH_LEADER, 2) if name in changing and plans[name].leads)
    return max(led, default=1)


def turn_order(hosts: Hosts[StaticPodHost]) -> list[str]:
    """The hosts to change, in this order."""
    changing = [name for name, host in hosts.items() if pods_in_order(host)]
    return sorted(changing, key=lambda name: _turn_rank(hosts[name]))


def turn_rounds(hosts: t.Iterable[str], turns: t.Sequence[str]) -> list[list[str]]:
    """The turns in rounds, in each of which they are in the order of the play. hosts: in that order. turns: as C(turn_order) has them."""
    places = {name: place for place, name in enumerate(hosts)}
    rounds: list[list[str]] = []
    for name in turns:
        if rounds and places[rounds[-1][-1]] < places[name]:
            rounds[-1].append(name)
        else:
            rounds.append([name])
    return rounds


def impaired_hosts(hosts: Hosts[StaticPodHost]) -> list[str]:
    """The hosts that do not use the API while others can: what they have to query is to be repaired."""
    return [name for name, host in hosts.items() if is_repair(host)]


def expected_cluster(hosts: Hosts[StaticPodHost]) -> dict[str, t.Any]:
    """By what the API is verified to be that of these nodes, as the modules that use it take it."""
    plans = [host.plan for host in hosts.values()]
    return clusters.expected_identity({plan.node: plan.cluster for plan in plans if plan.cluster})


def unknown_readiness(pods: t.Collection[str], unreadable: t.Sequence[str]) -> str:
    """Why it is not known whether the API server and the etcd of a host are ready; empty when it is. pods: names. unreadable: files in its
    directory of static pods that cannot be read: the kubelet starts nothing of such a file either, and stops what it started of it."""
    absent = [name for name in _REQUIRED if name not in pods]
    return f"{', '.join(unreadable)} cannot be read, and may be {' or '.join(absent)}" if unreadable and absent else ""


def _planned_readiness(host: StaticPodHost) -> Pods | str:
    """The static pods of a host by its plan, or why they are not known."""
    pods = host.planned_pods
    return unknown_readiness(pods, host.plan.unreadable_files) or pods


def open_transactions(hosts: Hosts[StaticPodHost]) -> list[str]:
    """The changes that were open when everything was planned, as text."""
    return [
        f"{pod_name} on {name} ({pod.open_transaction.phase or 'its journal cannot be read'})"
        for name, host in hosts.items()
        for pod_name, pod in host.planned_pods.items()
        if pod.open_transaction
    ]


# ---- a turn ----------------------------------------------------------------------------------------------------------


def is_ready(hosts: Hosts[StaticPodHost], plan_age: float) -> bool:
    """Whether the first turn may begin by what was planned, so that no node has to be observed again.

    plan_age: seconds since everything was planned.
    """
    return plan_age <= _FRESH_SECONDS and not _blocked_by(
        {name: _planned_readiness(host) for name, host in hosts.items()}
    )


def awaited_pods(host: StaticPodHost, pods: t.Iterable[PodState]) -> list[str]:
    """What a turn waits for on a host. pods: of this host, as just read.

    What is to be repaired does not get ready by itself. Others may only need a moment, such as after their own turn.
    """
    repaired = pods_in_order(host) if is_repair(host) and host.state != rollout.DONE else ()
    return [name for name in _unready(_by_name(pods)) if name not in repaired]


def turn_refusal(hosts: Hosts[StaticPodHost], host: str, reachable: t.Collection[str], planned: t.Sequence[str]) -> str:
    """Why the turn of a host must not begin; empty when it may, as far as other turns go.

    hosts: those that take part. reachable: the hosts that the play still has. planned: all turns, in their order.
    """
    stopped = stopped_by(hosts, reachable)
    if stopped:
        return f"Not changed, because {', '.join(stopped)} failed or was lost."
    unfinished = [other for other in planned[: planned.index(host)] if hosts[other].state != rollout.DONE]
    if unfinished:
        return (
            f"{', '.join(unfinished)} is not changed yet, so this play does not keep its hosts in sync: its strategy must be linear. Nothing"
            f" was changed on {host}."
        )
    return ""


def readiness_refusal(hosts: Hosts[StaticPodHost], host: str) -> str:
    """Why a host must not be changed while others are not ready; empty when it may. Where no node was observed, the plans count.

    What is down on the host itself and is to be changed may be down: that is what a repair is, and it takes nothing away.
    """
    found = _observed_pods(hosts, host)
    if any(name in pods_in_order(hosts[host]) for name in _unready(found[host])):
        return ""
    problems = [text for texts in _blocked_by(found).values() for text in texts]
    if not problems:
        return ""
    return (
        f"Not changed, because not all API servers and etcds are ready, and this change would stop its own: {'; '.join(problems)}."
        " Repair that first; a run that changes what is down may continue."
    )


def hosts_not_ready(hosts: Hosts[StaticPodHost], host: str) -> list[str]:
    """The hosts because of which C(readiness_refusal) refuses."""
    return list(_blocked_by(_observed_pods(hosts, host)))


def _observed_pods(hosts: Hosts[StaticPodHost], host: str) -> dict[str, Pods | str]:
    """What is known of the static pods of each host before the turn of one; a text with the reason for one that could not be read."""
    observations = hosts[host].observations
    if not observations:
        return {name: _planned_readiness(each) for name, each in hosts.items()}
    found: dict[str, Pods | str] = dict.fromkeys(hosts, "no answer")
    for each in observations:
        found[each.host] = each.msg or "no answer" if each.static_pods is None else _by_name(each.static_pods)
    return found


def _blocked_by(observed: t.Mapping[str, Pods | str]) -> dict[str, list[str]]:
    """What is not ready, or is not known, as texts by host."""
    found = {}
    for host, pods in observed.items():
        if isinstance(pods, str):
            found[host] = [f"{host} could not be checked ({pods.rstrip('.')})"]
        elif unready := _unready(pods):
            found[host] = [f"{name} on {host} {pods[name].problem}" for name in unready]
    return found


def _by_name(pods: t.Iterable[PodState]) -> Pods:
    return {pod.name: pod for pod in pods}


def _unready(pods: Pods | str) -> list[str]:
    """The API server and etcd, where they are not ready; nothing where that is not known."""
    if isinstance(pods, str):
        return []
    return [name for name, pod in pods.items() if name in _REQUIRED and not pod.ready]


# ---- after a turn ----------------------------------------------------------------------------------------------------


def stopped_by(hosts: Hosts[StaticPodHost], reachable: t.Collection[str]) -> list[str]:
    """The hosts that failed or were lost, so that no other one is changed. reachable: the hosts that the play still has."""
    return [name for name, host in hosts.items() if host.has_stopped or name not in reachable]


# ---- the end ---------------------------------------------------------------------------------------------------------


def choose_reporter(hosts: Hosts[StaticPodHost]) -> str:
    """The host that reports for all and releases the Lease: the first one that was not lost; empty without one."""
    return next((name for name, host in hosts.items() if not host.is_gone), "")


def build_reports(hosts: Hosts[StaticPodHost], *, dry: bool) -> dict[str, dict[str, ComponentResult]]:
    """What became of each host that was planned, by host and static pod. dry: whether nothing was to be changed.

    A static pod whose turn did not come has failed, and names who stopped the rollout.
    """
    own = {name: rollout_leaders.with_leaders(_host_report(host)) for name, host in hosts.items()}
    found = rollout_leaders.with_reverts(hosts, own)
    for name, why in ({} if dry else _not_started(hosts)).items():
        for pod in pods_in_order(hosts[name]):
            found[name][pod] = found[name][pod].with_values(**{**rollout.not_started_result(()), "msg": why})
    return {name: report for name, report in found.items() if report}


def unverified(hosts: Hosts[StaticPodHost], skipped: t.Sequence[str]) -> list[str]:
    """What could not be verified before API servers and etcds were stopped, of the control planes that the run leaves out.

    skipped: those of the inventory that take no part. The API may not show them as control planes, and then only the inventory names them.
    """
    absent = ", ".join(_skipped_nodes(hosts, skipped))
    return [f"whether API server and etcd of {absent} are ready: this run leaves them out"] if absent else []


def skipped_lines(hosts: Hosts[StaticPodHost], skipped: t.Sequence[str]) -> list[str]:
    """The lines about these control planes, whatever the run changes."""
    absent = ", ".join(_skipped_nodes(hosts, skipped))
    return [f"this run leaves out {absent}: nothing is planned there"] if absent else []


def known_control_planes(hosts: Hosts[StaticPodHost]) -> t.Sequence[str]:
    """The control planes of the cluster by its API, as one of the hosts read them; empty where none could."""
    configs = [host.plan.kubeadm_config for host in hosts.values()]
    return next((config.control_planes for config in configs if config and config.control_planes), ())


def alone_refusal(hosts: Hosts[StaticPodHost]) -> str:
    """Why short restarts of a cluster with one control plane, as the inventory has it, are refused; empty where it has one, or that is not known."""
    known = known_control_planes(hosts)
    if len(known) < 2:
        return ""
    return (
        f"control_plane_short_restarts sets another leader election where the cluster has one control plane, as the inventory has it, but it has"
        f" {', '.join(known)}. Put all of them into the group {control_plane_nodes.GROUP}, or name their group in {control_plane_nodes.GROUP_VARIABLE}."
    )


def _skipped_nodes(hosts: Hosts[StaticPodHost], skipped: t.Sequence[str]) -> list[str]:
    nodes = [host.plan.node for host in hosts.values()]
    return list(dict.fromkeys([*(name for name in known_control_planes(hosts) if name not in nodes), *skipped]))


def assumed_ready(hosts: Hosts[StaticPodHost]) -> list[tuple[str, str, str]]:
    """What is not known of the API servers and etcds that count as ready for the turns of this run: host, static pod, and what it is."""
    found = {
        (host, name, what): None
        for turn in turn_order(hosts)
        for host, pods in _observed_pods(hosts, turn).items()
        for name, pod in ({} if isinstance(pods, str) else pods).items()
        for what in pod.unverified
        if name in _REQUIRED and pod.ready
    }
    return list(found)


def unplanned_problems(hosts: Hosts[StaticPodHost]) -> list[str]:
    """What is wrong with API servers and etcds that the run does not plan, as lines."""
    found = []
    for name, host in hosts.items():
        others = host.plan.others
        if others is None:
            continue
        if control_plane_nodes.API_SERVER not in host.planned_pods and not host.plan.unreadable_files:
            found.append(f"{name}: there is no manifest of {control_plane_nodes.API_SERVER}, so it does not run there")
        found += [f"{name} {pod}: it is not ready" for pod in _REQUIRED if pod in others and not others[pod].ready]
    return found


def lost_hosts(hosts: Hosts[StaticPodHost]) -> list[str]:
    """The hosts whose change was started and has no end that was seen."""
    return [name for name, host in hosts.items() if host.state in (rollout.LOST, rollout.UNFINISHED)]


def _host_report(host: StaticPodHost) -> dict[str, ComponentResult]:
    """What was changed goes on top of what was planned: of a change whose node is lost, nothing else is known."""
    made = {change.item.name: _change_values(change) for change in host.changes}
    # A plan has what would change.
    known = {name: {**plan.raw, "changed": False, **made.get(name, {})} for name, plan in host.plan.static_pods.items()}
    return {
        name: typed.parse(ComponentResult, {key: value for key, value in each.items() if key in _RESULT_KEYS})
        for name, each in known.items()
    }


def _change_values(change: ChangeResult) -> t.Mapping[str, t.Any]:
    """A lost connection is a failure, too."""
    return {**change.raw, "failed": True} if change.unreachable else change.raw


def _not_started(hosts: Hosts[StaticPodHost]) -> dict[str, str]:
    """The hosts that had something to change and were not started, each with the reason."""
    waiting = [name for name in turn_order(hosts) if hosts[name].state in (rollout.WAITING, rollout.REFUSED)]
    return {name: _not_started_reason(hosts, name) for name in waiting}


def _not_started_reason(hosts: Hosts[StaticPodHost], host: str) -> str:
    """Why a host was not started: the message of its own turn, or who stopped the rollout."""
    own = hosts[host].turn
    if own and own.failed:
        return str(own.msg)
    stopped: dict[str, None] = {}
    for name, each in hosts.items():
        if each.state == rollout.REFUSED:
            stopped.update(dict.fromkeys(each.turn.stopped_by or [name]))
        elif each.has_stopped or each.is_gone or each.state == rollout.UNFINISHED:
            stopped[name] = None
    return rollout.not_changed_message(list(stopped) or [name for name, each in hosts.items() if each.causes])


def undone_by_upgrade(reports_by_host: Reports) -> list[str]:
    """The line about a change that kubeadm does not know, where kubeadm-config is not."""
    made = (result for pods in reports_by_host.values() for result in pods.values() if result.operations)
    is_undone = any(
        each.transaction and each.transaction.outcome == messages.COMMITTED and not each.reverts for each in made
    )
    return [_UPGRADE] if is_undone else []


def variable_of(field: str) -> str:
    """The variable that sets all of a field of a static pod."""
    return f"control_plane_{field}" if field in ("feature_gates", "admission_plugins") else "control_plane_components"


def left_alone_settings(reports_by_host: Reports) -> t.Iterator[tuple[str, str, str]]:
    """What is owned and no variable names, as C(report.left_alone) takes it."""
    for host, pods in reports_by_host.items():
        for name, found in pods.items():
            for field, key in owned_settings(found):
                variable, empty = variable_of(field), "[]" if field in ("volumes", "files") else "{}"
                inner = empty if variable.endswith(field) else f"{{{name}: {{{field}: {empty}}}}}"
                yield host, f"{name} {field} {key}", f"{variable}: {inner}"
