# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much a run plays: its tasks that begin and its modules that run, of the host that has the most. A user waits for each of them."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.bench.rollout import ALL_CHANGES, PLAY, SITE, groups_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

HOSTS = 5
OBSERVATIONS = 3  # control planes that are observed before a turn


def play(stage: Stage, name: str, host: Json) -> Outcome:
    """A role, or the playbook site, on three control planes and two other nodes. host: variables of each."""
    groups: t.Mapping[str, Json] = groups_of(HOSTS, host)
    if name == "site":
        return stage.playbook(name, groups, variables={**SITE, "node_kubelet_max_unavailable": 10})
    if name == "control_plane":
        groups = {"kube_control_plane": groups["kube_control_plane"]}
    return stage.play(groups, roles=[f"nodecraft.kubeadm.{name}"], vars=PLAY)


@pytest.mark.slice
@pytest.mark.parametrize(
    ("name", "unchanged", "changed"),
    [
        ("control_plane", 10, 20),
        # A turn starts a pod twice, hands the node what it observed, and has a task for that.
        ("node_kubelet", 11, 26),
        ("node_resources", 12, 12),
        # What is planned once, for all roles, is changed then; every role queries the API again before its own changes.
        ("site", 22, 70),
    ],
)
def test_a_run_plays_few_tasks(stage: Stage, name: str, unchanged: int, changed: int) -> None:
    found = [play(stage, name, host) for host in ({}, ALL_CHANGES)]
    assert [outcome.status for outcome in found] == [0, 0], "\n".join(outcome.output for outcome in found)
    assert max(found[0].tasks.values()) == unchanged
    # On a slow machine the plan gets too old before the first turn, which then observes all control planes again.
    assert max(found[1].tasks.values()) in (changed, changed + OBSERVATIONS)
