# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What it means for an etcd cluster when one of its members stops for a moment."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True)
class Member:
    """One member of an etcd cluster.

    votes: it is no learner. healthy: it was started and answers well. is_this: it is the one that will be stopped.
    """

    name: str
    votes: bool
    healthy: bool
    is_this: bool


@dataclasses.dataclass(frozen=True)
class QuorumVerdict:
    """Whether a member may be stopped. refusal: why not. warning: what comes of it. Both None: nothing does."""

    refusal: str | None = None
    warning: str | None = None


def judge(members: t.Sequence[Member]) -> QuorumVerdict:
    """Whether the cluster keeps a majority of healthy voting members while this one is stopped.

    A majority that is not there cannot be taken away, so the repair of a cluster without one is allowed.
    """
    voters = [member for member in members if member.votes]
    if not any(member.is_this for member in voters):
        return QuorumVerdict()
    needed = len(voters) // 2 + 1
    healthy = [member for member in voters if member.healthy]
    others = [member for member in healthy if not member.is_this]
    if len(voters) == 1:
        return QuorumVerdict(
            warning="etcd has one member: from its stop until it is ready again the API server does not answer either"
        )
    if len(others) >= needed:
        return QuorumVerdict()
    # A member that answers well reads with a majority behind it, whatever is seen of the others from here.
    if len(healthy) < needed and not any(member.is_this for member in healthy):
        return QuorumVerdict(
            warning=f"etcd has no majority ({_count(voters)}), so stopping this member loses nothing."
            " A member becomes healthy only with a majority: set rollback: false for those that come back before it"
        )
    return QuorumVerdict(
        refusal=f"etcd would lose its majority while this member is stopped: it needs {needed} healthy voting members,"
        f" and without this one there are {len(others)} ({_count(voters)}). {_way_out(voters)}"
    )


def _count(voters: t.Sequence[Member]) -> str:
    states = (f"{member.name} {'healthy' if member.healthy else 'not healthy'}" for member in voters)
    return f"{len(voters)} voting members: {', '.join(states)}"


def _way_out(voters: t.Sequence[Member]) -> str:
    if len(voters) == 2:
        return "With two members, neither can be stopped: add a third control plane first, or remove one."
    return "Bring the members that are not healthy back first."
