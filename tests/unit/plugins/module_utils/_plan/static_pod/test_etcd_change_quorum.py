# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which member of etcd may be stopped."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.etcd_change import (
    Member,
    QuorumVerdict,
    check_quorum,
)


def members(text: str) -> list[Member]:
    """One letter for each member, the first is this: h(ealthy), d(own), l(earner), L: a learner that is down."""
    return [
        Member(f"cp{number}", votes=letter not in "lL", healthy=letter in "hl", is_this=number == 1)
        for number, letter in enumerate(text, 1)
    ]


@pytest.mark.parametrize("cluster", ["hhh", "hhhl", "hhhhd", "dhh", "lhh", "lhd", "Lh", "hhhL", ""])
def test_what_leaves_a_majority_may_be_stopped(cluster: str) -> None:
    assert check_quorum(members(cluster)) == QuorumVerdict()


@pytest.mark.parametrize("cluster", ["hhd", "hdh", "hhl", "hh", "hhhdd", "hhdl", "hhhd"])
def test_what_would_take_the_majority_away_is_refused(cluster: str) -> None:
    verdict = check_quorum(members(cluster))
    assert "lose its majority" in str(verdict.refusal)
    assert verdict.warning is None


def test_a_refusal_counts_the_members_and_names_the_way_out() -> None:
    refusal = str(check_quorum(members("hhdl")).refusal)
    assert "needs 2 healthy voting members, and without this one there are 1" in refusal
    assert "3 voting members: cp1 healthy, cp2 healthy, cp3 not healthy" in refusal
    assert "back first" in refusal
    assert "add a third control plane" in str(check_quorum(members("hh")).refusal)


@pytest.mark.parametrize("cluster", ["h", "d", "hl"])
def test_of_one_member_the_outage_is_reported(cluster: str) -> None:
    verdict = check_quorum(members(cluster))
    assert verdict.refusal is None
    assert "one member" in str(verdict.warning)


@pytest.mark.parametrize("cluster", ["hdd", "hddd"])
def test_a_member_that_is_healthy_has_a_majority_behind_it_whatever_is_seen_of_the_others(cluster: str) -> None:
    assert "would lose its majority" in str(check_quorum(members(cluster)).refusal)


@pytest.mark.parametrize("cluster", ["ddh", "ddd", "dh"])
def test_a_majority_that_is_lost_already_cannot_be_taken_away(cluster: str) -> None:
    verdict = check_quorum(members(cluster))
    assert verdict.refusal is None
    assert "rollback: false" in str(verdict.warning)


def test_a_member_that_the_cluster_does_not_know_may_be_stopped() -> None:
    assert check_quorum([Member("cp2", votes=True, healthy=True, is_this=False)]) == QuorumVerdict()
