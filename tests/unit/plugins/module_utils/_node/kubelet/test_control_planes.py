# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a node counts as a control plane, read from a node in a directory."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import control_planes
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_units import KubeletUnit
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import ClusterIdentity
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets

ETCD = "metadata: {name: etcd}\nspec: {containers: [{name: etcd, command: [etcd]}]}\n"
PROXY = "metadata: {name: nginx-proxy}\nspec: {containers: [{name: nginx-proxy, image: nginx}]}\n"
LABELLED = {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}


class Node:
    """A worker's files and processes, and its Node at the API."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.manifests = root / "manifests"
        self.database = root / "etcd" / "member" / "snap" / "db"
        self.node_object: dict[str, t.Any] | None = {"metadata": {"labels": {}}}
        self.requests: list[tuple[str, str]] = []
        self.manifests.mkdir()
        self.add_process(1, "/sbin/init")
        self.add_process(7, "/usr/bin/kubelet")

    def add_process(self, pid: int, program: str, *, network: int = 1) -> None:
        directory = self.root / "proc" / str(pid)
        (directory / "ns").mkdir(parents=True)
        (directory / "cgroup").write_text("0::/init.scope\n", encoding="ascii")
        (directory / "cmdline").write_text(f"{program}\0--x\0", encoding="ascii")
        (directory / "ns" / "net").symlink_to(f"net:[{network}]")

    def lock(self, inode: int) -> None:
        lines = f"1: POSIX  ADVISORY  READ  5 08:01:99 0 EOF\n2: FLOCK  ADVISORY  WRITE 21 fe:0a:{inode} 0 EOF\n"
        (self.root / "proc" / "locks").write_text(lines, encoding="ascii")

    def reasons(self) -> list[str]:
        unit, host = self.unit()
        return control_planes.reasons(unit, host, etcd_data=str(self.root / "etcd"), http_get=self.http_get)

    def has_api_server(self) -> bool:
        return control_planes.has_api_server(*self.unit(), http_get=self.http_get)

    def unit(self) -> tuple[KubeletUnit, Host]:
        main = kubelets.MAIN_TEXT.replace("/etc/kubernetes/manifests", str(self.manifests))
        state = kubelets.state(main=main)
        return KubeletUnit(state, state.layout(), 7, "w1", ClusterIdentity()), Host(proc=str(self.root / "proc"))

    def http_get(self, kubeconfig: str, path: str) -> tuple[dict[str, t.Any] | None, str]:
        self.requests.append((kubeconfig, path))
        return self.node_object, "" if self.node_object else "no answer"


@pytest.fixture(name="node")
def fixture_node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_a_worker_is_none(node: Node) -> None:
    (node.manifests / "nginx-proxy.yaml").write_text(PROXY, encoding="utf-8")
    (node.manifests / "torn.yaml").write_text("a: [", encoding="utf-8")
    (node.manifests / "binary.yaml").write_bytes(b"\xff")
    assert node.reasons() == []
    assert node.requests == [("/etc/kubernetes/kubelet.conf", "/api/v1/nodes/w1")]


def test_a_directory_of_manifests_may_be_missing(node: Node) -> None:
    node.manifests.rmdir()
    assert node.reasons() == []


def test_manifest_in_place_of_directory_reports(node: Node) -> None:
    node.manifests.rmdir()
    node.manifests.write_text(ETCD, encoding="utf-8")
    assert node.reasons() == [f"{node.manifests} is a manifest of etcd"]


def test_unlistable_manifests_are_not_none(node: Node) -> None:
    node.manifests.rmdir()
    node.manifests.symlink_to(node.manifests)
    with pytest.raises(KubeadmError, match=f"cannot be listed .*{node.manifests}"):
        node.reasons()


@pytest.mark.parametrize("behind", ["", "---\nkind: Service\n"])
def test_a_manifest_reports(node: Node, behind: str) -> None:
    (node.manifests / "any.yaml").write_text(f"{ETCD}{behind}", encoding="utf-8")
    (node.manifests / ".old.yaml").write_text(ETCD, encoding="utf-8")
    assert node.reasons() == [f"{node.manifests}/any.yaml is a manifest of etcd"]
    # The Node need not be read any more.
    assert node.requests == []


def test_a_process_in_the_hosts_network_reports(node: Node) -> None:
    node.add_process(30, "/usr/local/bin/etcd")
    node.add_process(20, "kube-apiserver")
    assert node.reasons() == [
        "kube-apiserver runs in the host's network as process 20",
        "etcd runs in the host's network as process 30",
    ]


def test_a_hosted_control_plane_is_none(node: Node) -> None:
    node.add_process(20, "kube-apiserver", network=2)
    assert node.reasons() == []


def test_a_data_directory_in_use_reports(node: Node) -> None:
    node.add_process(21, "etcd", network=2)
    node.database.parent.mkdir(parents=True)
    node.database.touch()
    assert node.reasons() == []
    inode = node.database.stat().st_ino
    node.lock(inode + 1)
    assert node.reasons() == []
    node.lock(inode)
    assert node.reasons() == [f"{node.root}/etcd is the data directory of an etcd that runs"]


def test_the_label_of_its_node_reports(node: Node) -> None:
    node.node_object = LABELLED
    assert node.reasons() == ["its Node has the label node-role.kubernetes.io/control-plane"]


def test_an_api_that_does_not_respond_reports_nothing(node: Node) -> None:
    node.node_object = None
    assert node.reasons() == []


@pytest.mark.parametrize("name", ["kube-apiserver.yaml", "apiserver.yaml"])
def test_manifest_of_any_name_reports_an_api_server(node: Node, name: str) -> None:
    (node.manifests / name).write_text(ETCD.replace("etcd", "kube-apiserver"), encoding="utf-8")
    assert node.has_api_server()


def test_api_server_without_a_manifest_is_recognized_by_its_process_or_its_label(node: Node) -> None:
    (node.manifests / "etcd.yaml").write_text(ETCD, encoding="utf-8")
    assert not node.has_api_server()
    node.node_object = LABELLED
    assert node.has_api_server()
    node.node_object = None
    with pytest.raises(KubeadmError, match=r"whether w1 is a control plane is not known: .*: no answer. Repair"):
        node.has_api_server()
    node.add_process(8, "/usr/bin/kube-apiserver")
    assert node.has_api_server()


# ---- flags of manifests ------------------------------------------------------------------------------------------------


def test_flag_is_read_from_the_manifest_of_its_program(node: Node) -> None:
    (node.manifests / "a.yaml").write_text(ETCD, encoding="utf-8")
    (node.manifests / "b.yaml").write_text(
        "spec: {containers: [{command: [kcm, --x=1, --y, '2'], args: [--x=3]}]}", encoding="utf-8"
    )
    paths = node.unit()[0].manifests()
    assert [control_planes.read_flag(paths, "kcm", name) for name in ("x", "y", "z")] == ["3", "2", None]
    assert control_planes.read_flag(paths, "other", "x") is None


@pytest.mark.parametrize("text", ["{", "[]", "spec: {containers: []}", "spec: {containers: [{command: null}]}"])
def test_manifest_that_is_no_pod_has_no_flag(node: Node, text: str) -> None:
    (node.manifests / "a.yaml").write_text(text, encoding="utf-8")
    assert control_planes.read_flag(node.unit()[0].manifests(), "kcm", "x") is None
