# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rollout over a control plane asks of the Lease, as options of the module C(rollout_lease), and what the results mean for it."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t

from ..transaction.planned_observations import canary_seconds
from ..transaction.results import LeaseResult
from ..transaction.rollout import DONE, FAILED, LOST, UNFINISHED, Hosts, describe_meanwhile
from . import rollout, rollout_leaders
from .static_pod_results import LeaseState, PlannedChange, StaticPodHost, StaticPodSettings

Json = dict[str, t.Any]

# The line of a report about a mark on the Lease, and what the next run needs then on its command line.
RESUME = "-e control_plane_resume=true"
RESUMPTION = f"The same settings are refused from now on: when that is repaired, run with {RESUME}, too"
_DIGEST_CHARACTERS = 16
# What a turn takes besides the waits that variables bound: once, and for each static pod the rehearsal, the restart and the restart of the
# kubelet. A rollback waits this long at least.
_TURN_SECONDS = 60
_CHANGE_SECONDS = 180
_ROLLBACK_SECONDS = 300
# Of what is observed besides a canary, and of the one before the change.
_OBSERVATION_SECONDS = 90
# What it takes to verify a new kubeadm-config on all control planes at once, and to write it.
_PERSIST_SECONDS = 300


@dataclasses.dataclass(frozen=True)
class Admission:
    """What the result of the request for the Lease means. refusal: why nothing may be changed; empty when the rollout goes on.

    warning: for the report. is_held: whether the run holds the Lease. is_alone: whether it goes on without one, because no API server responds
    and there is one node. is_stale: whether another run may have changed something since everything was planned.
    """

    refusal: str = ""
    warning: str = ""
    is_held: bool = False
    is_alone: bool = False
    is_stale: bool = False


def turn_seconds(host: StaticPodHost) -> int:
    """The longest that the turn of a host takes. Before each change another run there may be waited for; the change may be waited
    for, rolled back with a restart of the kubelet, and watched twice."""
    settings, pods = host.settings, rollout.pods_in_order(host)
    each = (
        settings.lock_timeout
        + settings.wait_timeout
        + max(settings.wait_timeout, _ROLLBACK_SECONDS)
        + 2 * settings.min_ready_seconds
        + (settings.confirm_timeout if settings.confirm else 0)
        + _CHANGE_SECONDS
        + 2 * _OBSERVATION_SECONDS
    )
    # What works is observed behind the change, and again behind its rollback.
    canaries = sum(2 * canary_seconds(pod, settings.wait_timeout) for pod in pods)
    return _TURN_SECONDS + len(pods) * each + canaries


def desired_digest(host: StaticPodHost) -> str:
    """What is desired of a host, without how: a longer timeout makes no other desired state."""
    text = f"{host.settings.desired} {host.settings.purge}"
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]


def acquire_request(hosts: Hosts[StaticPodHost], settings: StaticPodSettings, holder: str, plan_age: int) -> Json:
    """The request before the first turn, or before kubeadm-config is written where no host has one. settings: of the host that sends it.

    plan_age: seconds since everything was planned.
    """
    changing = rollout.turn_order(hosts)
    return {
        "state": "held",
        "holder": holder,
        "duration": turn_seconds(hosts[changing[0]]) if changing else _PERSIST_SECONDS,
        "intents": list(dict.fromkeys(desired_digest(hosts[host]) for host in changing)),
        "open_transactions": rollout.open_transactions(hosts),
        "plan_age": plan_age,
        "wait_timeout": settings.lock_timeout,
        "takeover": settings.control_plane_lease_takeover,
        "resume": settings.control_plane_resume,
        "cluster": rollout.expected_cluster(hosts),
    }


def check_admission(
    hosts: Hosts[StaticPodHost], result: LeaseResult, holder: str, skipped: t.Sequence[str], *, dry: bool
) -> Admission:
    """Check the result of the request before the first turn.

    hosts: those that take part. skipped: control planes of the inventory that do not. dry: whether the Lease was only read.
    """
    if result.problem:
        return _admit_without_lease(hosts, result, skipped)
    former = result.taken_over_from
    return Admission(
        warning=f"the Lease {'would be' if dry else 'is'} taken over from {former}." if former else "",
        is_held=result.holder == holder and not dry,
        is_stale=result.stale and not dry,
    )


def _admit_without_lease(hosts: Hosts[StaticPodHost], result: LeaseResult, skipped: t.Sequence[str]) -> Admission:
    """What it means that the Lease could not be acquired."""
    if result.api_reachable is False and _may_be_alone(hosts, skipped):
        meanwhile = f" (make sure that nothing changes {', '.join(skipped)} meanwhile)" if skipped else ""
        return Admission(
            warning=f"continuing without the Lease, because this play has one node and no API server answers{meanwhile}: {result.problem}",
            is_alone=True,
        )
    remedy = (
        ""
        if result.api_reachable
        else " To continue although nothing excludes other runs, set control_plane_lease: false."
    )
    return Admission(refusal=f"{result.problem}{remedy}")


def _may_be_alone(hosts: Hosts[StaticPodHost], skipped: t.Sequence[str]) -> bool:
    """Whether no other node can be changed meanwhile, or the one node is there to be repaired, which cannot wait for an API."""
    if len(hosts) != 1:
        return False
    return not skipped or all(rollout.is_repair(host) for host in hosts.values())


def planned_changes(hosts: Hosts[StaticPodHost]) -> tuple[PlannedChange, ...]:
    """What is planned, as it is kept while everything is planned again."""
    return tuple(
        PlannedChange(host, pod, change)
        for host, each in hosts.items()
        for pod, plan in each.plan.static_pods.items()
        for change in plan.operations or ()
    )


def changes_meanwhile(outdated: t.Sequence[PlannedChange], hosts: Hosts[StaticPodHost]) -> list[str]:
    """What another run has changed while this one waited for the Lease, as lines. outdated: what was planned before. hosts: with the plans of now."""
    current = planned_changes(hosts)
    pods = dict.fromkeys((each.host, each.pod) for each in (*outdated, *current))
    found = []
    for pod in (pod for host in hosts for pod in pods if pod[0] == host):
        former, now = ([each.change for each in plan if (each.host, each.pod) == pod] for plan in (outdated, current))
        found += describe_meanwhile(" ".join(pod), former, now)
    return found


def turn_refusal(lease: LeaseState, *, is_needed: bool) -> str:
    """Why a host must not be changed without the Lease; empty when it may."""
    if not is_needed or lease.held or lease.alone:
        return ""
    return "Not changed, because this run does not hold the Lease of the control plane."


def renew_request(hosts: Hosts[StaticPodHost], host: str | None, holder: str, plan_age: int, *, turns: int = 1) -> Json:
    """The request before the turn of a host; None: before kubeadm-config is written. plan_age: seconds since everything was planned. turns: how often as
    much is done as in this turn."""
    return {
        "state": "held",
        "holder": holder,
        "duration": _PERSIST_SECONDS if host is None else turn_seconds(hosts[host]) * turns,
        "plan_age": plan_age,
        "wait_timeout": 0,
        "cluster": rollout.expected_cluster(hosts),
    }


def renewal_refusal(result: LeaseResult) -> str:
    """Why the result of a renewal keeps a host from its change; empty when it does not."""
    if result.problem:
        return f"Not changed, because the Lease of this run could not be renewed: {result.problem}"
    if result.stale:
        return (
            "Not changed, because the Lease of this run had expired, and another run held it since everything was planned. Run"
            " again."
        )
    return ""


def release_request(hosts: Hosts[StaticPodHost], holder: str) -> Json | None:
    """The last request; None while a host is still changed, whose end is not known. A failed rollout leaves a mark."""
    if any(host.state == UNFINISHED for host in hosts.values()):
        return None
    halted = _halted_host(hosts)
    request = {
        "holder": holder,
        "completed": _is_completed(hosts),
        "proofs": rollout_leaders.proofs(hosts),
        "cluster": rollout.expected_cluster(hosts),
    }
    if not halted:
        return {**request, "state": "released"}
    return {
        **request,
        "state": "halted",
        "node": halted,
        "reason": _halted_reason(hosts[halted]),
        "intents": [desired_digest(hosts[halted])],
    }


def resume_hint(hosts: Hosts[StaticPodHost]) -> str:
    """What the next run needs after a release that left a mark; empty without one."""
    return RESUMPTION if _halted_host(hosts) else ""


def release_warning(holder: str, result: LeaseResult) -> str:
    """The warning when the Lease could not be released; empty when it was."""
    return f"the Lease is still held by {holder} until it expires: {result.problem}" if result.problem else ""


def _is_completed(hosts: Hosts[StaticPodHost]) -> bool:
    changing = rollout.turn_order(hosts)
    return bool(changing) and all(hosts[host].state == DONE for host in changing)


def _halted_host(hosts: Hosts[StaticPodHost]) -> str:
    """The node that failed, unless it was only busy. What the change of a lost one came to is not known, so that one comes first."""
    lost = [name for name, host in hosts.items() if host.state == LOST]
    failed = [name for name, host in hosts.items() if host.state == FAILED and not host.is_busy]
    return next(iter([*lost, *failed]), "")


def _halted_reason(host: StaticPodHost) -> str:
    if host.state == LOST:
        return "it was lost in the middle of its change."
    return (host.changes[-1].msg if host.changes else "") or "its change failed."
