# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which file of a turn each host includes, with which batch."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import rollout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_results import (
    Admission,
    IncludedBatch,
    KubeletDecision,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.rollouts import Json, host, results

IDLE: Json = {"operations": []}
PLANE: Json = {"control_plane": ["etcd runs"]}


@pytest.mark.parametrize(
    ("hosts", "file"),
    [
        ({"c1": PLANE, "c2": PLANE, "w1": {}}, "batch.yml"),
        ({"w1": {}, "w2": {}}, "batch.yml"),
        ({"w1": {}, "c1": PLANE}, "control_planes_first.yml"),
        ({"w1": IDLE, "c1": PLANE}, "batch.yml"),  # it has no turn
    ],
)
def test_control_planes_behind_others_in_the_play_have_a_file_of_their_own(hosts: dict[str, Json], file: str) -> None:
    assert rollout.file_of_turns({name: results(host(name, plan=plan)) for name, plan in hosts.items()}) == file


def test_each_host_knows_its_batch_and_the_one_before() -> None:
    decision = KubeletDecision(batches=[["c1"], ["w1", "w2"]], file="batch.yml")
    first, second, none = (rollout.with_batch_of(Admission(), decision, name) for name in ("c1", "w2", "w3"))
    assert (first.files, first.batches, first.before) == ((IncludedBatch("batch.yml", ["c1"]),), [["c1"]], [])
    assert (second.files, second.before) == ((IncludedBatch("batch.yml", ["w1", "w2"]),), ["c1"])
    assert none == Admission()
    # One file for all of them, in which each includes its batch.
    several = KubeletDecision(batches=decision.batches, file="control_planes_first.yml")
    assert {rollout.with_batch_of(Admission(), several, name).files for name in ("c1", "w1", "w2")} == {
        (IncludedBatch("control_planes_first.yml", ()),)
    }


def test_one_host_reports_why_kubelets_could_not_be_compared() -> None:
    first, second = rollout.not_compared(["w1", "w2"], "no answer").values()
    assert first == f"{second}: no answer"
