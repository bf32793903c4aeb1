# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX does to a run that Ansible alone does not: values of a survey are texts, and a job slice has a part of the inventory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.sessions.awx import survey_vars
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import ROOT, Json, Outcome, Stage

API, KUBELET, NODES = "kube-apiserver", "kubelet", "node_taint"
SETTINGS: Json = {"control_plane_components": {}}


def inventory() -> Json:
    """Two control planes and two workers, by group."""

    def host(name: str) -> Json:
        return {"stub": {API: "on", KUBELET: "on"}, "node_resources_node_name": name, **SETTINGS}

    names = {"kube_control_plane": ("cp1", "cp2"), "kube_node": ("w1", "w2")}
    return {group: {name: host(name) for name in hosts} for group, hosts in names.items()}


def sliced(groups: Json, number: int, count: int) -> Json:
    """A slice as AWX cuts it: every so many hosts, by their names. The others are not in the inventory at all."""
    names = sorted(name for hosts in groups.values() for name in hosts)[number - 1 :: count]
    return {group: {name: of for name, of in hosts.items() if name in names} for group, hosts in groups.items()}


def changes(outcome: Outcome) -> list[Json]:
    return [call for call in outcome.calls if call["step"] == "change"]


def test_a_slice_without_a_control_plane_is_refused(stage: Stage) -> None:
    parts = [sliced(inventory(), number, 4) for number in range(1, 5)]
    without = next(part for part in parts if not part["kube_control_plane"])
    outcome = stage.playbook("site", without)
    assert outcome.status != 0
    assert "The inventory has no host in kube_control_plane." in " ".join(outcome.output.split())
    assert outcome.calls == []


def test_a_slice_with_control_planes_changes_only_under_the_lease_of_the_cluster(stage: Stage) -> None:
    """The collection does not know the other slices, so each takes the Lease, and they come one after the other."""
    outcome = stage.playbook("site", sliced(inventory(), 1, 2))
    assert outcome.status == 0, outcome.output
    lease = [call["step"] for call in outcome.calls if call["component"] == "lease"]
    assert lease, sorted({call["component"] for call in outcome.calls})
    assert outcome.hosts("change", API) == ["cp1"]


def as_options(variables: Json) -> str:
    """An option with extra variables, as AWX hands them over: in YAML, with their types."""
    return f"--extra-vars={yaml.safe_dump(variables, default_flow_style=True, width=10_000).strip()}"


@pytest.mark.parametrize("playbook", ["site", "feature_gates"])
def test_responses_of_a_survey_are_taken(stage: Stage, playbook: str) -> None:
    groups = inventory()
    for hosts in groups.values():
        for host in hosts.values():
            host.update(control_plane_feature_gates={"A": True}, node_kubelet_feature_gates={"A": True})
    outcome = stage.playbook(playbook, groups, as_options(survey_vars(f"{playbook}.yml", control_plane_resume="true")))
    assert outcome.status == 0, outcome.output
    assert outcome.hosts("change", API) == ["cp1", "cp2"]


def test_the_controller_queries_as_its_user_where_the_inventory_reports_that_all_hosts_become_root(
    stage: Stage,
) -> None:
    """The user of an execution environment may not become root, and the inventory of awx/project sets that for all hosts."""
    stage.environment["K8S_AUTH_KUBECONFIG"] = "/here"
    all_of_them = {"ansible_become": True, "node_resources_labels": {"example.com/a": "b"}}
    groups = {
        group: {name: {**of, **all_of_them, "node_kubelet_feature_gates": {"A": True}} for name, of in hosts.items()}
        for group, hosts in inventory().items()
    }
    outcome = stage.playbook("site", {**groups, "controllers": {"localhost": all_of_them}})
    assert outcome.status == 0, outcome.output
    calls = {(call["component"], call["becomes"]) for call in outcome.calls if call["machine"] == "localhost"}
    assert {component for component, _becomes in calls} >= {"api", "lease", "node_label"}
    assert {becomes for _component, becomes in calls} == {False}


def test_a_response_of_a_wrong_type_is_refused(stage: Stage) -> None:
    outcome = stage.playbook("site", inventory(), as_options(survey_vars("site.yml", control_plane_resume="maybe")))
    assert outcome.status != 0
    assert "maybe" in outcome.output
    assert changes(outcome) == []


def test_an_artifact_that_was_unpacked_in_the_wrong_place_is_reported_by_the_playbook_that_is_not_found(
    tmp_path: Path,
) -> None:
    """In C(collections) itself, instead of C(collections/ansible_collections/nodecraft/kubeadm)."""
    collections = tmp_path / "collections"
    collections.mkdir()
    for name in ("meta", "playbooks", "plugins", "roles"):
        (collections / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "awx/project/site.yml", tmp_path)
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections)}
    command = [sys.executable, "-m", "ansible", "playbook", "--inventory=cp1,", "site.yml"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    output = done.stdout + done.stderr
    assert "nodecraft.kubeadm.site" in output
    assert "Could not find or access" in " ".join(output.split())
