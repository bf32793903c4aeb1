# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rollout over a control plane makes of leaders: only the controller manager or scheduler that leads shows whether its settings work.

A change of another one is committed without that proof. What a later turn of the run shows counts for all nodes that the run has changed.
"""

from __future__ import annotations

import typing as t

from ..common.batch import join_first
from ..transaction import messages
from ..transaction.results import ChangeResult, ComponentResult
from ..transaction.rollout import Hosts
from .leader_election import ELECTED
from .static_pod_results import StaticPodHost

Results = t.Mapping[str, ComponentResult]  # of the static pods of a host, by name


def _committed(host: StaticPodHost) -> t.Iterator[ChangeResult]:
    """The changes of elected components on a host that stand."""
    for change in host.changes:
        if change.item.name in ELECTED and change.transaction and change.transaction.outcome == messages.COMMITTED:
            yield change


def _proven(hosts: Hosts[StaticPodHost]) -> set[str]:
    """The components of which a changed instance has led behind a change of this run."""
    return {
        change.item.name
        for host in hosts.values()
        for change in _committed(host)
        if change.transaction and change.transaction.leader and change.transaction.leader.is_changed
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


def unproven_lines(hosts: Hosts[StaticPodHost]) -> list[str]:
    """A line for each component that was changed, and of which no changed instance has led."""
    proven, found = _proven(hosts), dict[tuple[str, str], list[str]]()
    for name, host in hosts.items():
        for change in _committed(host):
            leader = change.transaction.leader if change.transaction else None
            if leader and change.item.name not in proven:
                found.setdefault((change.item.name, leader.node), []).append(name)
    return [f"WARNING: {join_first(on)} {pod}: not proven yet: {leader} leads" for (pod, leader), on in found.items()]
