# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which processes and logs are a static pod's, wherever its kubelet keeps them and whatever its node was called."""

from __future__ import annotations

import os
import shutil
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ABORTED,
    ALARM,
    COMMITTED,
    WAITING,
    PodIdentity,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.pod_observation import find_processes
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, OLD, FakeNode

UID, OTHER = "a" * 32, "b" * 32
CONTAINER = "c" * 64
API_UID = "6a2b0b6a-6f0e-4b9a-9d3f-7a7b7c7d7e7f"
POD: PodIdentity = {
    "log_prefix": "kube-system_etcd-cp1_",
    "pod_prefix": "kube-system_etcd-",
    "container": "etcd",
    "program": "etcd",
}


class Place:
    """A node with one process of etcd, in a pod of which nothing else is known yet."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.add(1, "/init.scope", "/sbin/init")
        self.host = Host(str(root / "proc"), str(root / "pods"), (), str(root / "links"), str(root / "kubelet"))

    def add(self, pid: int, cgroup: str, *arguments: str, network: str = "net:[1]") -> None:
        directory = self.root / "proc" / str(pid)
        (directory / "ns").mkdir(parents=True)
        (directory / "ns" / "net").symlink_to(network)
        (directory / "cgroup").write_text(f"0::{cgroup}\n", encoding="ascii")
        (directory / "cmdline").write_bytes(b"".join(os.fsencode(argument) + b"\0" for argument in arguments))

    def in_pod(self, pid: int, uid: str = UID, program: str = "/usr/local/bin/etcd", **given: str) -> None:
        self.add(pid, f"/kubepods/burstable/pod{uid}/{CONTAINER}", program, **given)

    def logs(self, directory: str, name: str = f"kube-system_etcd-cp1_{UID}", container: str = "etcd") -> Path:
        path = self.root / directory / name / container
        path.mkdir(parents=True)
        (path / "0.log").touch()
        return path

    def found(self, host: Host | None = None, pod: PodIdentity | None = None) -> tuple[list[int], list[int]]:
        """The PIDs of the pod's processes, and of those that could not be matched."""
        found = find_processes(host or self.host, pod or POD)
        return [each.pid for each in found.processes], [each.pid for each in found.unmatched]


@pytest.fixture(name="place")
def fixture_place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_by_the_default_directory_of_logs(place: Place) -> None:
    path = place.logs("pods")
    place.in_pod(7)
    place.in_pod(8, program="/pause")
    assert place.found() == ([7], [])
    assert find_processes(place.host, POD).logs == {UID: [str(path.parent)]}


def test_by_the_configured_directory_of_logs(place: Place) -> None:
    place.in_pod(7)
    old, new = place.logs("pods"), place.logs("elsewhere")
    host = place.host._replace(more_pod_logs=[str(place.root / "elsewhere")])
    assert place.found(host) == ([7], [])
    assert find_processes(host, POD).logs == {UID: [str(old.parent), str(new.parent)]}


def test_by_the_former_directory_of_logs(place: Place) -> None:
    """A container writes on where the kubelet was configured to when it was started."""
    place.in_pod(7)
    path = place.logs("former")
    (place.root / "links").mkdir()
    (place.root / "links" / f"etcd-cp1_kube-system_etcd-{CONTAINER}.log").symlink_to(path / "0.log")
    (place.root / "links" / "no-link.log").touch()
    assert place.found() == ([7], [])
    assert find_processes(place.host, POD).logs == {UID: [str(path.parent)]}


def test_by_the_kubelets_own_directory(place: Place) -> None:
    place.in_pod(7)
    place.in_pod(8, OTHER, "scheduler")
    for path in (f"{UID}/containers/etcd", f"{OTHER}/containers/scheduler", "x/containers/etcd", "0" * 32):
        (place.root / "kubelet" / "pods" / path).mkdir(parents=True)
    assert place.found() == ([7], [])
    assert find_processes(place.host, POD).logs == {UID: []}


def test_by_a_directory_of_logs_with_another_name_of_the_node(place: Place) -> None:
    """The host was called otherwise when its kubelet was started."""
    place.logs("pods", f"kube-system_etcd-old.example_{UID}")
    place.in_pod(7)
    assert place.found() == ([7], [])


@pytest.mark.parametrize(
    "name",
    ["kube-system_etcd-events-cp1", "other_etcd-cp1", "kube-system_my-etcd-cp1", "kube-system_etcd"],
)
def test_the_process_of_another_static_pod_is_neither(place: Place, name: str) -> None:
    """Its container has the same name, and it uses the node's network as well."""
    place.logs("pods", f"{name}_{UID}")
    (place.root / "kubelet" / "pods" / UID / "containers" / "etcd").mkdir(parents=True)
    place.in_pod(7)
    assert place.found() == ([], [])


@pytest.mark.parametrize("cgroup", [f"/kubepods/pod{UID}/{CONTAINER}", "/system.slice/etcd.service", f"/{CONTAINER}"])
def test_a_process_in_the_nodes_network_that_cannot_be_matched(place: Place, cgroup: str) -> None:
    place.add(7, cgroup, "/usr/local/bin/etcd", "--data-dir=/x")
    assert place.found() == ([], [7])
    place.logs("pods", f"kube-system_etcd-cp1_{OTHER}")
    assert place.found() == ([], [7])
    place.in_pod(8, OTHER)
    assert place.found() == ([8], []), "what runs is known"


def test_whose_process_it_cannot_be(place: Place) -> None:
    """A hosted control plane has a network of its own; a pod that was created at the API is no static pod."""
    place.in_pod(7, network="net:[2]")
    place.in_pod(8, API_UID)
    place.in_pod(9, API_UID.replace("-", "_"))
    place.in_pod(10, program="/usr/local/bin/etcd-backup")
    (place.root / "proc" / "11").mkdir()
    assert place.found() == ([], [])


def test_a_network_that_cannot_be_read_is_not_known_to_be_its_own(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> t.NoReturn:
        raise PermissionError(path)

    place.in_pod(7)
    monkeypatch.setattr(os, "readlink", refuse)
    assert place.found() == ([], [7])


def test_a_journal_of_a_former_version_names_less(place: Place) -> None:
    former: PodIdentity = {"log_prefix": "kube-system_etcd-cp1_", "container": "etcd"}
    place.in_pod(7)
    assert place.found(pod=former) == ([], [])
    place.logs("pods", f"kube-system_etcd-old_{UID}")
    assert place.found(pod=former) == ([], [])
    place.logs("pods")
    assert place.found(pod=former) == ([7], [])


# ---- in a transaction ------------------------------------------------------------------------------------------------

WATCH = {"pod_prefix": f"kube-system_{NAME}-", "program": NAME}


def hide_pods(node: FakeNode) -> None:
    """Nothing tells any more which pods are the component's."""
    for directory in node.pod_logs.iterdir():
        shutil.rmtree(directory)


def test_nothing_is_written_where_the_former_process_cannot_be_matched(node: FakeNode) -> None:
    hide_pods(node)
    result = node.change(watch=WATCH)
    assert (result["outcome"], node.manifest.read_text(encoding="utf-8")) == (ABORTED, OLD)
    pid = node.kubelet.instances[0].pid
    assert f"{NAME} has an unknown state: {NAME} runs in the node's network (PID {pid})" in result["reason"]


def test_what_cannot_be_matched_later_is_not_reported_to_be_down(node: FakeNode) -> None:
    node.prepare(watch=WATCH)
    node.once(WAITING, lambda: node.clock.watchers.append(lambda: hide_pods(node)))
    result = node.run()
    assert (result["outcome"], node.manifest.read_text(encoding="utf-8")) == (ALARM, OLD)
    assert "could not be matched to the static pod" in result["reason"]
    assert any("has an unknown state" in message for message in node.messages)


def test_a_transaction_goes_on_wherever_the_kubelet_writes_logs(node: FakeNode) -> None:
    node.prepare(watch={**WATCH, "places": {"more_pod_logs": [str(node.pod_logs)]}})
    engine = node.new_engine()
    engine.host = node.host._replace(pod_logs="/nonexistent")
    assert engine.run() == 0
    assert node.result()["outcome"] == COMMITTED
