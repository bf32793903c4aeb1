# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When kubeadm-config is verified and written, and what is reported of it: the role and the playbook site as they are, run by Ansible."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage, vaulted

API_SERVER = "kube-apiserver"
TEXT = "apiServer: {}\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.37.2\n"
ROLE = {"role": "nodecraft.kubeadm.control_plane"}
SETTINGS: Json = {"control_plane_persist": True}


def facts() -> Json:
    """What each node reports: an argument of ours, and kubeadm-config without it."""
    entry = {"value": ["5"], "original": None, "ours": True, "named": True, "files": {"/etc/policy.yaml": "a"}}
    config = {
        "problem": None,
        "text": TEXT,
        "record": None,
        "control_planes": ["cp1", "cp2"],
        "managers": [],
        "immutable": [],
    }
    return {
        "known": {**config, "version": "v1.37.2"},
        "pods": {API_SERVER: {"settings": {"args": {"v": entry}}, "others": ["resources requests.cpu"]}},
    }


def play(stage: Stage, *options: str, stub: str = "nothing", **variables: t.Any) -> Outcome:
    """The role on cp1 and cp2."""
    hosts = {name: {"stub": {API_SERVER: stub}, "stub_facts": facts(), **variables} for name in ("cp1", "cp2")}
    return stage.play({"kube_control_plane": hosts}, *options, roles=[ROLE])


def steps(outcome: Outcome) -> list[tuple[str, str]]:
    """The calls in their order, as far as it writes or verifies."""
    components = ("kubeadm_config", "kubeadm_config_check", "lease", API_SERVER)
    return [
        (call["component"], call["host"])
        for call in outcome.calls
        if call["component"] in components and call["step"] != "plan"
    ]


@pytest.mark.slice
def test_it_is_verified_on_all_nodes_after_the_last_turn_and_written_under_the_lease(stage: Stage) -> None:
    outcome = play(stage, stub="changes", **SETTINGS)
    assert outcome.status == 0, outcome.output
    found = steps(outcome)
    assert found[0][0] == "lease"
    turns = [number for number, (name, _host) in enumerate(found) if name == API_SERVER]
    proofs = [number for number, (name, _host) in enumerate(found) if name == "kubeadm_config_check"]
    (written,) = (number for number, (name, _host) in enumerate(found) if name == "kubeadm_config")
    assert max(turns) < min(proofs) <= max(proofs) < written
    assert found[written - 1] == ("lease", "cp2")
    assert found[-1] == ("lease", "cp1")
    assert len(proofs) == len(turns) == 2
    (report,) = outcome.reports
    assert "kube-apiserver args v: unset -> 5" in report
    assert "join_files --limit HOST" in report
    assert "/etc/policy.yaml" in report


def test_what_comes_from_a_vault_is_skipped(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("a password", encoding="utf-8")
    secret = vaulted("5", "a password")
    for components in ({"args": {"v": "{{ level }}"}}, {"args": {"v": ["4", secret]}}):
        settings = {**SETTINGS, "control_plane_components": {API_SERVER: components}, "level": secret}
        outcome = play(stage, f"--vault-password-file={tmp_path / 'password'}", **settings)
        assert outcome.status == 0, outcome.output
        assert steps(outcome) == []
        assert "args v is not kept in kubeadm-config: its value comes from a vault" in outcome.reports[0]


def test_check_mode_shows_it_and_proves_nothing(stage: Stage) -> None:
    outcome = play(stage, "--check", "--diff", **SETTINGS)
    assert outcome.status == 0, outcome.output
    assert steps(outcome) == []
    assert "kube-apiserver args v: unset -> 5" in outcome.reports[0]
    assert "+ - name: v" in outcome.reports[0]


def test_a_proof_that_fails_keeps_it_from_being_written_and_the_changes_stay(stage: Stage) -> None:
    outcome = play(stage, stub="changes", stub_proof={"failed": True, "msg": "other flags would change"}, **SETTINGS)
    assert outcome.status != 0
    assert [name for name, _host in steps(outcome) if name == "kubeadm_config"] == []
    (report,) = outcome.reports
    assert "\ncp1, cp2 kube-apiserver + --v=5 (committed; " in report
    assert report.splitlines()[-2:] == [
        "cp2: other flags would change",
        "Failed: cp2 failed. To continue when that is repaired, run again with --limit cp2",
    ]
    assert steps(outcome)[-1][0] == "lease"


def test_only_the_last_pass_of_a_run_writes(stage: Stage) -> None:
    hosts = {
        name: {"stub": {API_SERVER: ["both", "on", "on", "off", "off"]}, "stub_facts": facts(), **SETTINGS}
        for name in ("cp1", "cp2")
    }
    outcome = stage.playbook("site", {"kube_control_plane": hosts}, variables={"control_plane_components": {}})
    assert outcome.status == 0, outcome.output
    assert [call["component"] for call in outcome.calls].count("kubeadm_config") == 1
