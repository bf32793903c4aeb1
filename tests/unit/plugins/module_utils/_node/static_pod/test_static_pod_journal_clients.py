# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clients on a node that an API server has to serve."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import static_pod_journal, static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pod_journal import (
    ApiClients,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import leader_election
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import MIRROR, NAME, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import steps


@pytest.fixture(name="admins")
def fixture_admins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Where kubeconfigs of administrators may be."""
    paths = tmp_path / "admin.conf", tmp_path / "super-admin.conf"
    monkeypatch.setattr(static_pod_journal, "ADMIN", tuple(map(str, paths)))
    return paths


def test_the_clients_that_are_there(tmp_path: Path, admins: tuple[Path, Path]) -> None:
    kubelet = tmp_path / "kubelet.conf"
    clients = ApiClients.of_node(str(kubelet), "cp1")
    assert clients.credentials() == []
    of_admin, of_kubelet = clients.unverified()
    assert of_admin.startswith(f"whether it answers its administrator: {admins[0]} does not exist on ")
    assert of_kubelet.startswith(f"whether it answers its kubelet: {kubelet} does not exist on ")
    kubelet.touch()
    admins[1].touch()
    clients = ApiClients.of_node(str(kubelet), "cp1")
    assert clients.unverified() == []
    assert clients.credentials() == [
        {"kubeconfig": str(admins[1]), "path": "/api/v1/namespaces/kube-system"},
        {"kubeconfig": str(kubelet), "path": "/api/v1/nodes/cp1"},
    ]
    admins[0].touch()
    assert ApiClients.of_node(str(kubelet), "cp1").admin == str(admins[0])


def test_an_api_server_without_a_probe_responds_where_it_reports() -> None:
    assert static_pods.advertised_address(samples.manifest()) == {"scheme": "https", "host": "10.0.0.11", "port": 6443}


def test_an_address_in_a_variable_is_no_name_of_a_host() -> None:
    text = samples.with_command("--advertise-address=$(HOST_IP)", "--secure-port=$(PORT)").replace(
        "    image: ",
        "    env: [{name: HOST_IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}, {name: PORT, value: '443'}]\n    image: ",
        1,
    )
    assert static_pods.advertised_address(samples.manifest(text)) == {
        "scheme": "https",
        "host": "127.0.0.1",
        "port": 443,
    }


@pytest.mark.usefixtures("admins")
def test_they_stand_in_the_journal_of_an_api_server(master: FakeNode, run: FakeRun) -> None:
    master.kubelet_conf.touch()
    all_steps = steps(master, run, args={"v": "4"}, min_ready_seconds=7)
    with all_steps.session():
        all_steps.read()
        all_steps.plan()
        all_steps.apply()
    journal = master.opened()
    watch = journal["watch"]
    assert watch["credentials"] == [{"kubeconfig": str(master.kubelet_conf), "path": "/api/v1/nodes/cp1"}]
    assert watch["mirror"] == {"kubeconfig": str(master.kubelet_conf), "path": MIRROR}
    assert watch["before"]["server"] == watch["after"]["server"]
    assert (watch["pod_prefix"], watch["program"]) == (f"kube-system_{NAME}-", NAME)
    assert "admin.conf does not exist" in watch["unverified"][0]
    assert journal["min_ready_seconds"] == 7


def test_a_component_that_has_to_lead_is_watched_until_it_does(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_election, "seconds_until_leading", lambda _: 20)
    all_steps = steps(master, run, args={"v": "4"}, min_ready_seconds=7)
    with all_steps.session():
        all_steps.read()
        all_steps.plan()
        all_steps.apply()
    assert master.opened()["min_ready_seconds"] == 27
