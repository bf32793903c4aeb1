# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role C(node_kubelet) decides: whose kubelet is restarted when, what the API has against it, and the result of each node."""

from __future__ import annotations

import dataclasses
import json
import math
import typing as t

from ..common import typed
from ..common.batch import join_first
from ..kubernetes import access, clusters
from ..transaction import rollout
from ..transaction.lease import LEASE_NAMESPACE
from ..transaction.messages import ABORTED
from ..transaction.report import owned_settings
from ..transaction.results import ChangeResult, ComponentResult, EndedPod, LeaseResult, NodesInfo, PodLosses
from ..transaction.rollout import Hosts
from . import configz
from .config import TAINTS
from .kubelet_results import (
    Admission,
    Comparison,
    Expected,
    IncludedBatch,
    KubeletDecision,
    KubeletHost,
    KubeletPlan,
    KubeletSettings,
    LeaseState,
)

SAME_FOR_ALL = (
    "node_kubelet_max_unavailable",
    "node_kubelet_check_api",
    "node_kubelet_api_host",
    "node_kubelet_lease",
    "node_kubelet_resume",
)

REMEDIES = (
    "If credentials are missing: a control plane of the inventory uses its own admin.conf; elsewhere set K8S_AUTH_KUBECONFIG, or"
    " node_kubelet_api_host to a host that has some. To skip this check, set node_kubelet_check_api to false."
)

_RESULT_KEYS = (
    "changed",
    "failed",
    "unreachable",
    "msg",
    "node",
    "cluster",
    "control_plane",
    "problem",
    "files",
    "operations",
    "left_alone",
    "reverts",
    "rehearsal",
    "transaction",
    "unverified",
    "previous_transaction",
    "open_transaction",
)
LEASE = "nodecraft-kubeadm-kubelets"
Json = dict[str, t.Any]

# What a turn takes besides the waits that variables bound: the rehearsal, the restart, a rollback, and the canaries.
_TURN_SECONDS = 330
# After this part of that time a turn renews the Lease; before, none has to.
_RENEWED_AFTER = 0.5
# What is not verified of each host when the API has no data.
_DEVICES = "whether device plugins offer what they did"
_PODS = "whether its restart ended pods"
_USE = "whether it uses what is desired"
# Said by the engine where nothing of the new kubelet was seen in the API.
UNREPORTED = "whether its Node is ready and evicts no pods: "
# Files of the role's tasks.
BATCH, CONTROL_PLANES_FIRST = "batch.yml", "control_planes_first.yml"
_NOT_COMPARED = "nothing is to change, but whether kubelets use what is desired could not be compared"
_OVERTAKEN = (
    "Another run held the Lease since everything was planned, and may have set that: run again to take it back."
)
HALT = "Nothing was rolled back, and no later node was changed."


# ---- before the first write ------------------------------------------------------------------------------------------


def run_refusal(hosts: Hosts[KubeletHost], reachable: t.Collection[str]) -> str:
    """Why the hosts that take part cannot be changed in one run; empty when they can. reachable: the hosts that the play still has."""
    if found := rollout.planning_refusal(hosts, reachable):
        return found
    conflict = clusters.cluster_conflict({name: host.plan.cluster for name, host in hosts.items()})
    misnamed = rollout.node_name_mismatch(hosts, "node_kubelet_node_name")
    return misnamed or rollout.different_settings(hosts, SAME_FOR_ALL) or conflict


def batches(hosts: Hosts[KubeletHost], size: int) -> list[list[str]]:
    """Who is changed at the same time. size: so many nodes that are no control planes at most."""
    turns = [name for name, host in hosts.items() if host.has_turn]
    planes = [name for name in turns if hosts[name].is_control_plane]
    return rollout.build_batches(planes, [name for name in turns if name not in set(planes)], size)


def file_of_turns(hosts: Hosts[KubeletHost]) -> str:
    """The file of tasks that hosts with a turn include. Files are included in the order of the play, and control planes are changed before others."""
    are_planes = [host.is_control_plane for host in hosts.values() if host.has_turn]
    return BATCH if are_planes == sorted(are_planes, reverse=True) else CONTROL_PLANES_FIRST


def settings_refusal(settings: KubeletSettings) -> str:
    """Why a run with these settings is refused; empty when it is not."""
    number = settings.node_kubelet_max_unavailable
    if number >= 1:
        return ""
    return f"Nothing was changed. Invalid node_kubelet_max_unavailable {number}: must be at least 1."


def not_compared(unchanged_hosts: t.Iterable[str], why: str) -> dict[str, str]:
    """Why kubelets do not count as using what is desired that could not be compared, by host. The first one has the reason for all."""
    return {name: f"{_NOT_COMPARED}{'' if number else f': {why}'}" for number, name in enumerate(unchanged_hosts)}


def with_batch_of(admission: Admission, decision: KubeletDecision, host: str) -> Admission:
    """With the batch of a host, the one before it, and the file that it includes; none of them where it has no turn."""
    batches = decision.batches
    number = next((number for number, batch in enumerate(batches) if host in batch), None)
    if number is None:
        return admission
    # Where control planes come first, there is one file for all hosts, and in it one for each batch.
    members = batches[number] if decision.file == BATCH else ()
    return dataclasses.replace(
        admission,
        files=(IncludedBatch(decision.file, members),),
        batches=[batches[number]],
        before=batches[number - 1] if number else [],
    )


def cluster(hosts: Hosts[KubeletHost]) -> Json:
    """By what the API is verified to be that of these nodes, as the modules that use it take it."""
    return clusters.expected_identity({host.plan.node: host.plan.cluster for host in hosts.values()})


def rights(
    hosts: Hosts[KubeletHost], turns: t.Sequence[str], settings: KubeletSettings, *, canaries: t.Sequence[str]
) -> list[access.Right]:
    """What the account must be allowed before kubelets are restarted: to read what they use afterwards, and the Lease. settings: of the host
    that sends the requests. canaries: the hosts on whose nodes pods are started."""
    nodes = [host.plan.node for host in hosts.values()]
    reads_pods = bool(_hosts_keeping_pods(hosts, turns))
    of_lease = access.of_lease(LEASE, LEASE_NAMESPACE) if settings.node_kubelet_lease else []
    spaces = {hosts[name].settings.canary_namespace for name in canaries if hosts[name].settings.canary}
    of_canary = [right for space in sorted(spaces) for right in access.of_canary(space)]
    return [*access.of_kubelets(nodes, reads_pods=reads_pods), *of_lease, *of_canary]


def info_request(hosts: Hosts[KubeletHost], turns: t.Sequence[str]) -> Json:
    """What is read through the API before kubelets are restarted, as options of C(node_resource_info): which nodes there are, which pods those
    whose kubelets are restarted would reject, and what all kubelets use now."""
    plans = [hosts[name].plan for name in turns]
    # Of one that is down nothing can be read, and its change may be what repairs it.
    read: Json = {plan.node: {} for plan in plans if not plan.problem}
    return {
        "requested": False,
        "readmission": True,
        # Where pods may be lost they are not read: an account that may not list them would get nothing else either.
        "restarted_nodes": [hosts[name].plan.node for name in _hosts_keeping_pods(hosts, turns)],
        "limits": {plan.node: plan.limits for plan in plans},
        "kubelets": {**read, **by_node(hosts, idle_settings(hosts))},
    }


@dataclasses.dataclass(frozen=True)
class RestartRefusals:
    """Why kubelets must not be restarted, by the API. by_host: the reason for each host that has one. message: about all of them, for people."""

    by_host: dict[str, str]
    message: str


def check_restarts(hosts: Hosts[KubeletHost], turns: t.Sequence[str], info: NodesInfo) -> RestartRefusals:
    """Check the pods of the nodes whose kubelets are restarted. turns: the hosts that have a turn."""
    keeping = _hosts_keeping_pods(hosts, turns)
    if not keeping:
        return RestartRefusals({}, "")
    if info.nodes is None:
        nodes = ", ".join(hosts[name].plan.node for name in keeping)
        message = f"the API does not show which pods of {nodes} the restarted kubelets would reject: {info.reason}. {REMEDIES}"
        return RestartRefusals(dict.fromkeys(keeping, message), message)
    by_host = {}
    for name in keeping:
        node = hosts[name].plan.node
        pods = [str(each) for each in info.of(node).readmission]
        if pods:
            by_host[name] = (
                f"the restarted kubelet of {node} would reject pods that run there: {'; '.join(pods)}. Give the node what they need (the"
                " playbook node_resources restores labels and resources), or move them away (kubectl drain); or set node_kubelet_force"
                " to true to lose them."
            )
    return RestartRefusals(by_host, " ".join(by_host.values()))


def _hosts_keeping_pods(hosts: Hosts[KubeletHost], turns: t.Sequence[str]) -> list[str]:
    """The hosts that have a turn and must not lose pods by it."""
    return [name for name in turns if not hosts[name].settings.force]


def unverified_nodes(info: NodesInfo | None, why: str) -> list[str]:
    """What could not be verified before kubelets are restarted. info: of the API; None when it was not queried. why: nothing is known."""
    if info is not None and info.nodes is not None:
        return []
    return [
        f"whether nodes are missing in this run, and whether restarted kubelets would reject pods: {why.rstrip('.')}"
    ]


def plugin_allocatable(info: NodesInfo, node: str) -> dict[str, int] | None:
    """What device plugins offer on a node, as numbers by resource; None when the API does not show it."""
    if node not in (info.nodes or {}):
        return None
    resources = info.of(node).extended_resources
    numbers = {name: int(each.allocatable or 0) for name, each in resources.items() if each.device_plugin}
    return {name: number for name, number in numbers.items() if number > 0}


# ---- what kubelets use that have nothing to change -------------------------------------------------------------------


def idle_settings(hosts: Hosts[KubeletHost]) -> dict[str, Expected]:
    """What is desired of the kubelets that have nothing to change, by host; nothing where the API must not be queried. A run that ended between a
    change and its comparison leaves such a kubelet."""
    unchanged = {name: host.settings for name, host in hosts.items() if not host.has_turn}
    desired = {name: desired_settings(each) for name, each in unchanged.items() if each.node_kubelet_check_api}
    return {name: each for name, each in desired.items() if is_compared(each)}


def by_node(hosts: Hosts[KubeletHost], values: t.Mapping[str, t.Any]) -> Json:
    """The same values by the names of the nodes. values: by host."""
    return {hosts[name].plan.node: value for name, value in values.items()}


def idle_mismatches(hosts: Hosts[KubeletHost], info: NodesInfo) -> dict[str, str]:
    """Which kubelets with nothing to change do not use what is desired, or cannot be compared, with the reason, by host. info: one that does not
    have nodes is no reason."""
    if info.nodes is None:
        return {}
    found = {name: mismatch(hosts[name].plan.node, info) for name in idle_settings(hosts)}
    return {
        name: f"The kubelet of {hosts[name].plan.node} has nothing to change and is healthy, but {why}"
        for name, why in found.items()
        if why
    }


def unverified_idle(hosts: Hosts[KubeletHost], info: NodesInfo) -> list[str]:
    """What could not be verified of kubelets with nothing to change, in a run that changes others."""
    nodes = ", ".join(by_node(hosts, idle_settings(hosts))) if info.nodes is None else ""
    return [f"whether the kubelets of {nodes} use what is desired: {info.reason}"] if nodes else []


def read_error(info: NodesInfo) -> str:
    """Why no kubelet could be compared. info: has no nodes."""
    return f"{info.reason}. {REMEDIES}"


def unreadable_warnings(hosts: Hosts[KubeletHost], turns: t.Sequence[str], info: NodesInfo) -> list[str]:
    """Warnings about kubelets that are to change and cannot be read now, so that nothing may be able to compare them afterwards."""
    kubelets = {node: info.of(node).kubelet for node in (hosts[name].plan.node for name in turns)}
    return [
        f"what the kubelet of {node} uses cannot be read before its change, and must be readable after it: {kubelet.problem}."
        for node, kubelet in kubelets.items()
        if kubelet and kubelet.problem
    ]


# ---- the Lease -------------------------------------------------------------------------------------------------------


def turn_seconds(settings: KubeletSettings) -> int:
    """The longest that one turn takes, in seconds: another change on the node may be waited for, then the new kubelet, then the former one
    when it is rolled back, and at last the devices."""
    restart = settings.wait_timeout + settings.min_ready_seconds
    return settings.lock_timeout + 2 * restart + settings.allocatable_timeout + _TURN_SECONDS


def lease_request(holder: str, cluster: t.Any, settings: KubeletSettings, *, plan_age: int) -> Json:
    """How the Lease is taken or renewed, as options of C(rollout_lease). It lasts for a turn that begins just before it must be renewed.
    plan_age: seconds since everything was planned."""
    duration = math.ceil((1 + _RENEWED_AFTER) * turn_seconds(settings))
    return {
        "name": LEASE,
        "state": "held",
        "holder": holder,
        "duration": duration,
        "plan_age": plan_age,
        "cluster": cluster,
    }


def open_transactions(hosts: Hosts[KubeletHost]) -> list[str]:
    """The changes that nodes have open, in words: while there is one, a Lease that ran out is not taken over."""
    return [
        f"kubelet on {name} ({host.plan.open_transaction.phase or 'its journal cannot be read'})"
        for name, host in hosts.items()
        if host.plan.open_transaction
    ]


def lease_refusal(result: LeaseResult) -> str:
    """Why kubelets must not be restarted; empty when this run holds the Lease."""
    if not result.has_failed:
        return ""
    remedy = (
        ""
        if result.api_reachable
        else " To continue although nothing excludes other runs, set node_kubelet_lease to false."
    )
    return f"{result.reason}.{remedy}"


def renewal_refusal(result: LeaseResult) -> str:
    """Why a turn must not begin, by the result of a renewal; empty when this run held the Lease all the time."""
    if found := lease_refusal(result):
        return found
    if result.stale:
        return "another run held the Lease of the kubelets since everything was planned, and may have changed some. Run again."
    return ""


def lease_warnings(result: LeaseResult) -> list[str]:
    """Warnings about a Lease that was acquired.

    Behind another run each node whose turn comes plans again by itself; one that has no turn does not.
    """
    former = result.taken_over_from
    found = [f"the Lease {LEASE} is taken over from {former}."] if former else []
    if result.stale:
        found.append(
            "another run held the Lease of the kubelets since everything was planned. Nodes on which there was nothing to change are not"
            " checked again: run again to check that they still have the desired state."
        )
    return found


def merge_admissions(rechecked: Admission, with_lease: Admission, without_lease: Admission) -> Admission:
    """The admission after another run, with the Lease. rechecked: of now. with_lease, without_lease: of before, when the Lease was acquired and
    right before that."""
    return dataclasses.replace(
        rechecked,
        msg=f"{rechecked.msg} {_OVERTAKEN}" if rechecked.mismatches else rechecked.msg,
        lease=with_lease.lease,
        warnings=[*rechecked.warnings, *with_lease.warnings[len(without_lease.warnings) :]],
        report_lines=[*rechecked.report_lines, *with_lease.report_lines[len(without_lease.report_lines) :]],
    )


def meanwhile(name: str, host: KubeletHost) -> list[str]:
    """What another run has changed on a host while this one waited for the Lease, in words: its change was planned again in its turn."""
    planned, change = host.plan.operations, host.change
    if planned is None or change is None or change.operations is None:
        return []
    return rollout.describe_meanwhile(f"{name} kubelet", planned, change.operations)


def lease_renewed_at(lease: LeaseState, before: Hosts[KubeletHost]) -> float:
    """When the Lease was renewed last, in seconds since 1970. lease: as it was taken. before: the hosts of the batch before."""
    renewed: list[LeaseState | None] = [host.turn.lease for host in before.values() if host.turn]
    return max(each.at for each in [lease, *renewed] if each)


def must_renew(since: float, settings: KubeletSettings, now: float) -> bool:
    """Whether the Lease might not last for one more turn. since, now: seconds since 1970; when it was renewed last."""
    return now - since >= _RENEWED_AFTER * turn_seconds(settings)


# ---- after a change --------------------------------------------------------------------------------------------------


def was_changed(change: ChangeResult | None, *, check_mode: bool) -> bool:
    """Whether a kubelet was restarted for good."""
    return change is not None and change.changed and has_ended(change, check_mode=check_mode)


def has_ended(change: ChangeResult | None, *, check_mode: bool) -> bool:
    """Whether a turn came to a good end. One that ends the transaction of an earlier run, or finds another run's change, changes nothing itself."""
    return change is not None and not change.has_failed and not check_mode


def desired_settings(settings: KubeletSettings) -> Expected:
    """What /configz is compared with: the values of the variables of a host. Flags and taints are not compared."""
    return {"feature_gates": dict(settings.feature_gates), "config": dict(settings.config)}


def expected(plan: KubeletPlan, settings: KubeletSettings) -> Expected:
    """What /configz is compared with after a change. When the change reverts another one, the gates and fields of the plan count.

    settings: of the host.
    """
    if settings.state != "previous":
        return desired_settings(settings)
    return configz.reverted_values(plan.operations or ())[0]


def is_compared(expectation: Expected) -> bool:
    """Whether there is anything that /configz can be compared with."""
    return any(value is not None for values in expectation.values() for value in values.values())


def kubelet_mismatch(node: str, info: NodesInfo, *, changed: bool) -> str:
    """Why /configz does not match after the turn of a kubelet; empty when nothing. info: of this node."""
    why = mismatch(node, info)
    return f"The kubelet of {node} {'was changed and ' if changed else ''}is healthy, but {why} {HALT}" if why else ""


def mismatch(node: str, info: NodesInfo) -> str:
    """Why a kubelet does not count as using what is desired, as sentences; empty when it does."""
    kubelet = info.of(node).kubelet
    if kubelet is None:
        return f"the API does not show what it uses: {info.reason}. {REMEDIES}"
    if kubelet.problem:
        return f"what it uses cannot be compared with what is desired: {kubelet.problem.rstrip('.')}."
    differences = [
        f"{each.field} {each.key} is {'unset' if each.found is None else json.dumps(each.found)}, not {json.dumps(each.expected)}"
        for each in kubelet.differences
    ]
    if not differences:
        return ""
    return (
        f"/configz shows that it does not use what is desired: {'; '.join(differences)}. Set a value that the kubelet accepts, or remove the"
        " setting."
    )


def pod_losses_error(node: str, info: NodesInfo) -> str:
    """The error for a node whose kubelet ended pods with its restart; empty when it did not."""
    begin = f"The kubelet of {node} was changed and is healthy, but"
    losses = info.of(node).losses
    if losses is None:
        return f"{begin} the API does not show what became of the pods that ran there: {info.reason}. {HALT} {REMEDIES}"
    ended = describe_ended_pods(losses)
    return (
        f"{begin} {ended}. {HALT} Another restart would end the next ones: change what is desired of this node, or run with -e"
        " node_kubelet_resume=true where that is meant."
        if ended
        else ""
    )


def describe_ended_pods(losses: PodLosses | None) -> str:
    """Which pods the restart of a kubelet ended, as part of a sentence; empty for none."""
    ended: list[EndedPod] = [*losses.lost, *losses.restarted] if losses else []
    return (
        f"its restart ended {len(ended)} of {losses.watched} pods: {join_first(map(str, ended))}"
        if losses and ended
        else ""
    )


# ---- the end ---------------------------------------------------------------------------------------------------------


def host_report(host: KubeletHost) -> ComponentResult | None:
    """What became of one host, of its own results alone; None when it was not even planned.

    What was changed goes on top of what was planned: of a change whose node is lost, nothing else is known.
    """
    own_report = host.end.report
    if own_report is not None:  # it has come to the end already
        return typed.parse(ComponentResult, own_report) if own_report else None
    if host.start.excluded:
        text = f"skipped, because it cannot be reached: {host.start.excluded}"
        skipped = {"changed": False, "failed": False, "unreachable": True, "msg": text, "operations": []}
        return typed.parse(ComponentResult, skipped)
    if not host.start.at_work or host.plan.operations is None:
        return None
    known = {**host.plan.raw, **(host.change.raw if host.change else {})}
    found = typed.parse(ComponentResult, {key: value for key, value in known.items() if key in _RESULT_KEYS})
    verified = host.verification
    pods = verified.pods if verified else None
    if pods and (pods.lost or pods.restarted or not _unreported(host, found)):
        found = found.with_values(pods=typed.as_mapping(pods))
    if host.doubt:
        found = found.with_values(failed=True, msg=host.doubt.msg)
    more_unverified = _unverified_after_change(host, found, pods or PodLosses())
    return found.with_values(unverified=[*found.unverified, *more_unverified]) if more_unverified else found


def _unverified_after_change(host: KubeletHost, known: ComponentResult, pods: PodLosses) -> list[str]:
    """What was not verified of a kubelet. known: of the plan, and of the turn. pods: what became of those that ran before."""
    is_changed = was_changed(host.change, check_mode=False)
    unverified = [*_unverified_after_crash(host, known), *_unverified_by_settings(host, is_changed=is_changed)]
    if why := _unreported(host, known):
        seen = (*([_DEVICES] if host.settings.allocatable_timeout > 0 else ()), _PODS)
        unverified += [f"{what}: the API only shows what was so before it: {why}" for what in seen]
    if is_changed and host.turn and host.turn.unwatched_reason:
        unverified.append(f"{_PODS}: {host.turn.unwatched_reason}")
    unverified += [host.turn.unobserved] if host.turn and host.turn.unobserved and is_changed else []
    unverified += host.verification.unobserved if host.verification else ()
    if pods.deleted:
        unverified.append(
            f"{_PODS}: {join_first(pods.deleted)} {'does' if len(pods.deleted) == 1 else 'do'} not exist any more"
        )
    if pods.unknown:
        unverified.append(f"{_PODS}: containers of {join_first(pods.unknown)} ended, and nothing shows how")
    return unverified


def left_alone(reports: t.Mapping[str, ComponentResult]) -> t.Iterator[tuple[str, str, str]]:
    """What is owned and no variable names, as C(report.left_alone) takes it. reports: by host."""
    for host, found in reports.items():
        for field, key in owned_settings(found):
            yield host, f"{field} {key}", f"node_kubelet_{field}: {'[]' if field == TAINTS else '{}'}"


def _unreported(host: KubeletHost, known: ComponentResult) -> str:
    """Why the API shows nothing of a restarted kubelet; empty where it does, or was not queried. known: of the plan, and of the turn."""
    if not (was_changed(host.change, check_mode=False) and host.settings.node_kubelet_check_api):
        return ""
    found = (each[len(UNREPORTED) :] for each in known.unverified if each.startswith(UNREPORTED))
    return next(found, "")


def _unverified_after_crash(host: KubeletHost, known: ComponentResult) -> list[str]:
    """What was not verified behind a restart whose run ended before: what was there before it is not known any more, but for the devices that the node has
    from that run. known: of the plan, and of the turn, which takes up what is open."""
    earlier = known.previous_transaction
    if earlier is None or earlier.outcome in ("", ABORTED):
        return []
    why = f"the run that made transaction {earlier.id} ended before it looked"
    change = None if host.has_turn else host.unverified_change
    is_seen = {_DEVICES: bool(change and change.observed_before.canary), _PODS: bool(change and change.problem)}
    return [f"{what}: {why}" for what in (_DEVICES, _PODS) if not is_seen[what]]


def _unverified_by_settings(host: KubeletHost, *, is_changed: bool) -> list[str]:
    """What the variables of the role leave out after a kubelet was restarted, or of one that has nothing to change."""
    settings = host.settings
    if settings.node_kubelet_check_api:
        is_skipped = is_changed and settings.allocatable_timeout <= 0
        devices = [f"{_DEVICES}: node_kubelet_allocatable_timeout is 0"] if is_skipped else []
        is_revert = is_changed and settings.state == "previous"
        keys = ", ".join(configz.reverted_values(host.plan.operations or ())[1]) if is_revert else ""
        back = f"{_USE}: {keys} went back to a default or a flag, with which /configz is not compared"
        return [*([back] if keys else ()), *devices]
    why = "node_kubelet_check_api is false"
    note = f"{_USE}: {why}, so /configz was not compared"
    is_due = is_compared(expected(host.plan, settings)) and (is_changed or not host.plan.operations)
    return [*([note] if is_due else ()), *([f"{_DEVICES}: {why}", f"{_PODS}: {why}"] if is_changed else ())]


def _with_unverified_devices(
    found: ComponentResult, host: KubeletHost, admission: Admission, name: str
) -> ComponentResult:
    """The same report, with what could not be verified because it was not known before the change."""
    is_changed = was_changed(host.change, check_mode=False)
    is_checked = is_changed and host.settings.allocatable_timeout > 0
    if not is_checked or name not in admission.allocatable or admission.allocatable[name] is not None:
        return found
    note = f"{_DEVICES}: the API did not show that before the change"
    return found.with_values(unverified=[*found.unverified, note])


def final_report(
    name: str, host: KubeletHost, coordinator: KubeletHost | None, stopped: t.Sequence[str], *, has_turn: bool
) -> ComponentResult | None:
    """What host_report() returns, with what others decided. coordinator: the host that did. stopped: the hosts that stopped the rollout.
    has_turn: whether this host was to be changed in this pass."""
    admission = (coordinator.admission if coordinator else None) or Admission()
    comparison = (coordinator.comparison if coordinator else None) or Comparison()
    found = host_report(host)
    known = _with_unverified_devices(found, host, admission, name) if found else ComponentResult()
    if name in comparison.mismatches:
        begin = "Nothing was changed. " if comparison.refusal else ""
        # A refusal has failed the step itself.
        return known.with_values(failed=True, step_failed=bool(begin), msg=f"{begin}{comparison.mismatches[name]}")
    if name in admission.restart_refusals:
        return known.with_values(failed=True, msg=f"Nothing was changed, because {admission.restart_refusals[name]}")
    others = [each for each in stopped if each != name]
    if has_turn and others and not host.has_started:
        return known.with_values(**rollout.not_started_result(others))
    if host.state == rollout.REFUSED:
        return known.with_values(**{**rollout.not_started_result(()), "msg": host.turn.msg})
    if host.state == rollout.LOST:
        known = known.with_values(failed=True)
    if has_turn and host.has_started:
        return known.with_values(started=True)
    return known if found else None
