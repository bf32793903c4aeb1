# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When etcd takes part in the role, what it is given, and in which order its members are changed."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node import state
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import ROOT, Outcome, Stage

API_SERVER = "kube-apiserver"
ETCD = {"args": {"snapshot-count": 5000}}


def play(stage: Stage, *stubs: dict[str, str], record: Path | None = None, **variables: t.Any) -> Outcome:
    """The role on cp1, cp2 ... record: where this collection's record of etcd is said to be."""
    hosts = {f"cp{number}": {"stub": stub} for number, stub in enumerate(stubs, start=1)}
    options = [] if record is None else ["-e", f"__control_plane_etcd_trace={record}"]
    return stage.play(
        {"kube_control_plane": hosts}, *options, roles=[{"role": "nodecraft.kubeadm.control_plane"}], vars=variables
    )


def done(outcome: Outcome, step: str) -> list[tuple[str, str]]:
    return [(call["host"], call["component"]) for call in outcome.calls if call["step"] == step]


def test_etcd_is_left_alone_where_nobody_asks_for_it(stage: Stage) -> None:
    outcome = play(stage, {API_SERVER: "changes", "etcd": "changes"})
    assert outcome.status == 0, outcome.output
    assert done(outcome, "change") == [("cp1", API_SERVER)]
    assert "etcd" not in {component for dummy, component in done(outcome, "plan")}


def test_a_node_that_cannot_be_reached_ends_the_run_before_the_others_are_planned(stage: Stage) -> None:
    away = {"ansible_connection": "ansible.builtin.ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    stub = {"stub": {API_SERVER: "changes"}}
    outcome = stage.play(
        {"kube_control_plane": {"cp1": stub, "cp2": {**stub, **away}}},
        roles=[{"role": "nodecraft.kubeadm.control_plane"}],
    )
    assert outcome.status != 0
    assert outcome.calls == []
    assert "keep its hosts in step" not in outcome.output


def test_the_record_of_etcd_is_looked_for_where_the_modules_keep_it() -> None:
    text = (ROOT / "roles/control_plane/vars/main.yml").read_text(encoding="utf-8")
    assert f"""__control_plane_etcd_trace: "{state.state_folder("etcd")}{{{{ '/owned.json'""" in text


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


def test_what_was_set_of_etcd_can_be_taken_back(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "owned.json").touch()
    outcome = play(stage, {"etcd": "changes"}, record=tmp_path / "owned.json")
    assert outcome.status == 0, outcome.output
    assert done(outcome, "change") == [("cp1", "etcd")]
    (call,) = [call for call in outcome.calls if call["step"] == "change"]
    assert (call["arguments"]["args"], call["arguments"]["purge"]) == ({}, True)


def test_a_list_without_etcd_leaves_it_out(stage: Stage, tmp_path: Path) -> None:
    outcome = play(
        stage,
        {"etcd": "changes", API_SERVER: "changes"},
        record=tmp_path,
        control_plane_components={"etcd": ETCD},
        control_plane_static_pods=[API_SERVER],
    )
    assert outcome.status == 0, outcome.output
    assert done(outcome, "change") == [("cp1", API_SERVER)]


@pytest.mark.parametrize("was_changed", [True, False])
def test_the_last_change_of_etcd_is_taken_back_where_there_is_one(
    stage: Stage, tmp_path: Path, was_changed: bool
) -> None:
    folder = tmp_path if was_changed else tmp_path / "none"
    outcome = play(stage, {"etcd": "changes"}, record=folder, control_plane_state="previous")
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
