# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rollout over a control plane makes of leaders: only the controller manager or scheduler that leads shows whether its settings work.

A change of another one is committed without that proof. What a later turn of the run shows counts for all nodes that the run has changed: a loss is
one on each of them, whichever leads next.
"""

from __future__ import annotations

import typing as t

from ..common.batch import join_first
from ..transaction import messages
from ..transaction.previous_change import PREVIOUS
from ..transaction.results import ChangeResult, ComponentResult, MissingProof
from ..transaction.rollout import Hosts
from .leader_election import ELECTED
from .static_pod_results import ChangeReverted, StaticPodHost, TracedChange

Results = t.Mapping[str, ComponentResult]  # of the static pods of a host, by name

_UNOBSERVED = "whether the cluster works again: nothing is observed behind a revert"


def _committed(host: StaticPodHost) -> t.Iterator[ChangeResult]:
    """The changes of elected components on a host that stand."""
    for change in host.changes:
        if change.item.name in ELECTED and change.transaction and change.transaction.outcome == messages.COMMITTED:
            yield change


def _with_proof(hosts: Hosts[StaticPodHost]) -> set[str]:
    """The components of which a changed instance has led behind a change of this run, and all worked."""
    return {
        change.item.name
        for host in hosts.values()
        for change in _committed(host)
        if change.transaction and change.transaction.leader and change.transaction.leader.is_proof
    }


def with_leaders(results: Results) -> dict[str, ComponentResult]:
    """The results of a host without what is unverified because another node led: the report says that once, of all nodes."""
    found = dict(results)
    for name, result in results.items():
        leader = result.transaction.leader if result.transaction else None
        if leader and not leader.is_changed and result.unverified:
            kept = [text for text in result.unverified if not text.startswith(leader.unverified)]
            found[name] = result.with_values(unverified=kept)
    return found


def _missing_proofs(hosts: Hosts[StaticPodHost]) -> dict[str, tuple[str, list[str]]]:
    """The components that the run has changed and of which no changed instance has led: the leader, and the hosts."""
    with_proof, found = _with_proof(hosts), dict[str, tuple[str, list[str]]]()
    reverted = {(each.change.host, each.change.pod) for host in hosts.values() for each in host.reverted}
    for name, host in hosts.items():
        for change in _committed(host):
            pod, leader = change.item.name, change.transaction.leader if change.transaction else None
            if leader and pod not in with_proof and (name, pod) not in reverted:
                _leader, on = found.get(pod, ("", []))
                found[pod] = (leader.node, [*on, name])
    return found


def proofs(hosts: Hosts[StaticPodHost]) -> dict[str, t.Any]:
    """What this run has or has not proven, as C(lease.LeaseRequest) takes it."""
    missing_proofs = {
        pod: {"nodes": [hosts[name].plan.node for name in on], "leader": leader}
        for pod, (leader, on) in _missing_proofs(hosts).items()
    }
    return {**dict.fromkeys(sorted(_with_proof(hosts))), **missing_proofs}


def missing_proof_lines(hosts: Hosts[StaticPodHost], kept: t.Mapping[str, MissingProof]) -> list[str]:
    """A line for each component of which a change is not proven. kept: what the Lease has of that, with that of earlier runs."""
    own = _missing_proofs(hosts)
    return [
        *(f"WARNING: {join_first(on)} {pod}: not proven yet: {leader} leads" for pod, (leader, on) in own.items()),
        *(
            f"WARNING: {join_first(each.nodes)} {pod}: a change of an earlier run is not proven yet: {each.leader} led at {each.at}"
            for pod, each in kept.items()
            if pod not in own
        ),
    ]


# ---- a loss ------------------------------------------------------------------------------------------------------------


def lost_component(host: StaticPodHost) -> str:
    """The elected component whose change on a host was rolled back because what worked before did not; empty without one."""
    last = host.changes[-1] if host.changes else None
    is_lost = last is not None and last.transaction is not None and bool(last.transaction.lost)
    return last.item.name if last and is_lost and last.item.name in ELECTED else ""


def trace_changes(hosts: Hosts[StaticPodHost], host: str, turns: t.Sequence[str]) -> list[TracedChange]:
    """What this run has changed of the same component on other hosts, newest first. host: that has lost it. turns: all, in their order."""
    pod = lost_component(hosts[host])
    return [
        TracedChange(name, pod, change.transaction.id)
        for name in reversed(turns)
        for change in _committed(hosts[name])
        if name != host and change.item.name == pod and change.transaction
    ]


def loss_reason(hosts: Hosts[StaticPodHost], host: str) -> str:
    """Why these are reverted, as part of a sentence. host: as above."""
    transaction = hosts[host].changes[-1].transaction
    return f"{host} lost {transaction.lost}" if transaction else ""


def revert_options(options: t.Mapping[str, t.Any], traced: TracedChange) -> dict[str, t.Any]:
    """How the module C(static_pod) reverts a change: without a canary, which would only wait for what is lost. options: of the role's changes."""
    return {**options, "name": traced.pod, "state": PREVIOUS, "purge": False, "canary": False}


def other_change_refusal(found: ComponentResult, traced: TracedChange) -> str:
    """Why a change must not be reverted: it is not the last one of its static pod. found: what a revert would do."""
    if found.has_failed:
        return found.reason
    if found.reverts == traced.transaction:
        return ""
    return f"its last change is not {traced.transaction} of this run but {found.reverts or 'reverted already'}"


def with_reverts(
    hosts: Hosts[StaticPodHost], reports: t.Mapping[str, Results]
) -> dict[str, dict[str, ComponentResult]]:
    """Reports by host, with what was reverted on it because of another one."""
    found = {name: dict(results) for name, results in reports.items()}
    for host in hosts.values():
        for each in host.reverted:
            results, pod = found.get(each.change.host, {}), each.change.pod
            if pod in results:
                results[pod] = results[pod].with_values(**_revert_values(each, host.traced.why))
    return found


def _revert_values(reverted: ChangeReverted, why: str) -> dict[str, t.Any]:
    """What a revert makes of the result of a change. One that did not succeed leaves the change."""
    pod, result = reverted.change.pod, reverted.result
    if reverted.failed or reverted.unreachable or result is None:
        msg = f"{pod} is not reverted, although {why}: {reverted.reason.rstrip('.')}. The node needs manual repair."
        return {"failed": True, "msg": msg}
    return {
        "changed": False,
        "failed": True,
        "reverted": True,
        "msg": f"{pod} is reverted, because {why}.",
        "transaction": result.raw.get("transaction"),
        "reverts": result.reverts,
        "unverified": [_UNOBSERVED],
    }
