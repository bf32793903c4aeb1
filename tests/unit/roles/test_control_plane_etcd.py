# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When etcd takes part in the role, what it is given, and in which order its members are changed."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Outcome, Stage

API_SERVER = "kube-apiserver"
ETCD = {"args": {"snapshot-count": 5000}}


def play(stage: Stage, *stubs: dict[str, str], was_changed: bool = False, **variables: t.Any) -> Outcome:
    """The role on cp1, cp2 ... was_changed: whether this collection has changed etcd before."""
    changed = {"stub_changed": ["etcd"] if was_changed else []}
    hosts = {f"cp{number}": {"stub": stub, **changed} for number, stub in enumerate(stubs, start=1)}
    return stage.play(
        {"kube_control_plane": hosts}, roles=[{"role": "nodecraft.kubeadm.control_plane"}], vars=variables
    )


def done(outcome: Outcome, step: str) -> list[tuple[str, str]]:
    return [(call["host"], call["component"]) for call in outcome.calls if call["step"] == step]


def test_etcd_is_left_alone_where_nobody_asks_for_it(stage: Stage) -> None:
    outcome = play(stage, {API_SERVER: "changes", "etcd": "changes"})
    assert outcome.status == 0, outcome.output
    assert done(outcome, "change") == [("cp1", API_SERVER)]
    assert "etcd" not in {component for dummy, component in done(outcome, "plan")}


def test_a_node_that_cannot_be_reached_ends_the_run_before_anything_is_changed(stage: Stage) -> None:
    away = {"ansible_connection": "ansible.builtin.ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    stub = {"stub": {API_SERVER: "changes"}}
    outcome = stage.play(
        {"kube_control_plane": {"cp1": stub, "cp2": {**stub, **away}}},
        roles=[{"role": "nodecraft.kubeadm.control_plane"}],
    )
    assert outcome.status != 0
    assert done(outcome, "change") == []
    assert "keep its hosts in step" not in outcome.output


@pytest.mark.slice
@pytest.mark.parametrize("gates", ["on", "off"])
def test_members_are_changed_one_after_the_other_and_before_their_api_servers(stage: Stage, gates: str) -> None:
    stub = {API_SERVER: gates, "kube-scheduler": gates, "etcd": "changes"}
    outcome = play(
        stage,
        stub,
        {"etcd": "changes"},
        {"etcd": "nothing"},
        control_plane_components={"etcd": ETCD},
        control_plane_feature_gates={"A": True},
    )
    assert outcome.status == 0, outcome.output
    first, *others, last = done(outcome, "change")
    assert (first, last) == (("cp1", "etcd"), ("cp2", "etcd"))
    order = [("cp1", API_SERVER), ("cp1", "kube-scheduler")]
    assert others == (order if gates == "on" else order[::-1])


def test_gates_of_kubernetes_are_not_given_to_etcd(stage: Stage) -> None:
    own = {**ETCD, "feature_gates": {"B": True}}
    outcome = play(
        stage, {"etcd": "changes"}, control_plane_components={"etcd": own}, control_plane_feature_gates={"A": True}
    )
    assert outcome.status == 0, outcome.output
    given = {call["component"]: call["arguments"] for call in outcome.calls if call["step"] == "plan"}
    assert given["etcd"]["feature_gates"] == {"B": True}
    assert given["etcd"]["args"] == {"snapshot-count": 5000}
    assert given[API_SERVER]["feature_gates"] == {"A": True}


def test_what_was_set_of_etcd_can_be_taken_back(stage: Stage) -> None:
    outcome = play(stage, {"etcd": "changes"}, was_changed=True)
    assert outcome.status == 0, outcome.output
    assert done(outcome, "change") == [("cp1", "etcd")]
    (call,) = [call for call in outcome.calls if call["step"] == "change"]
    assert (call["arguments"].get("args"), call["arguments"]["purge"]) == (None, True)


def test_a_list_without_etcd_leaves_it_out(stage: Stage) -> None:
    outcome = play(
        stage,
        {"etcd": "changes", API_SERVER: "changes"},
        was_changed=True,
        control_plane_components={"etcd": ETCD},
        control_plane_static_pods=[API_SERVER],
    )
    assert outcome.status == 0, outcome.output
    assert done(outcome, "change") == [("cp1", API_SERVER)]


@pytest.mark.parametrize("was_changed", [True, False])
def test_the_last_change_of_etcd_is_taken_back_where_there_is_one(stage: Stage, was_changed: bool) -> None:
    outcome = play(stage, {"etcd": "changes"}, was_changed=was_changed, control_plane_state="previous")
    assert outcome.status == 0, outcome.output
    assert done(outcome, "change") == ([("cp1", "etcd")] if was_changed else [])


def test_the_first_member_that_fails_ends_the_rollout(stage: Stage) -> None:
    outcome = play(
        stage,
        {"etcd": "restored", API_SERVER: "changes"},
        {"etcd": "changes"},
        control_plane_components={"etcd": ETCD},
    )
    assert outcome.status != 0
    assert done(outcome, "change") == [("cp1", "etcd")]


def test_the_path_of_a_snapshot_is_told(stage: Stage) -> None:
    outcome = play(stage, {"etcd": "forced"}, control_plane_components={"etcd": ETCD}, control_plane_force=True)
    assert outcome.status == 0, outcome.output
    (report,) = outcome.reports
    assert "; snapshot /var/lib/nodecraft-kubeadm/etcd/snapshots/1.db" in report
