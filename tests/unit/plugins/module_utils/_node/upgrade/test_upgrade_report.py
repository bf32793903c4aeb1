# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a node as a whole: its parameters, its refusals, and its result."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import control_planes
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_units import KubeletUnit
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction.disk_space import Space
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade import (
    control_plane_upgrade,
    upgrade_report,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config import cluster_configuration
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import versions
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import ClusterIdentity
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import findings
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, FakeNode, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import state
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import (
    CONFIGURATION,
    CURRENT,
    TARGET,
    UpgradeRun,
    put_programs,
)


class Check:
    """A node, and what the check found there."""

    def __init__(self, master: FakeNode, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.master = master
        self.host = master.host
        self.run = UpgradeRun()
        self.run.results["containerd"] = (0, "containerd github.com/containerd/containerd v1.7.24 x\n", "")
        self.run.manifests = {version: {NAME: pod("--v=1")} for version in (f"v{TARGET}", CURRENT)}
        self.programs = programs
        self.stay_at(str(master.manifests), monkeypatch)

    def be_worker(self, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have neither static pods nor processes, and a Node without a label. empty: a directory that does not exist yet."""
        genuine = control_planes.has_api_server
        monkeypatch.setattr(
            control_planes,
            "has_api_server",
            lambda unit, host: genuine(unit, host, http_get=lambda *_request: ({}, "")),
        )
        empty.mkdir()
        self.host = self.host._replace(proc=str(empty))
        self.stay_at(str(empty), monkeypatch)

    def stay_at(self, manifest_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have the kubelet read static pods from there."""
        main = f"kind: KubeletConfiguration\nfailCgroupV1: false\nstaticPodPath: {manifest_dir}\n"
        kubelet = state(main=main, version=(1, 36))
        unit = KubeletUnit(kubelet, kubelet.layout(), 7, "cp1", ClusterIdentity())
        monkeypatch.setattr(upgrade_report, "read_unit", lambda run, host: unit)

    def __call__(self, **given: t.Any) -> dict[str, t.Any]:
        params = {
            "target": TARGET,
            "programs": str(self.programs),
            "cluster_configuration": CONFIGURATION,
            "kube_proxy_configuration": "",
            "patches": None,
            "static_pods": None,
            "purge": False,
            "kubelet": None,
        }
        return upgrade_report.read_all({**params, **given}, run=self.run, host=self.host, clock=self.master.clock)


@pytest.fixture(name="upgrade")
def fixture_upgrade(master: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """A control plane with space, and with etcd's data."""
    monkeypatch.setattr(cluster_configuration, "_ETCD_DATA_DIR", str(master.manifests))
    monkeypatch.setattr(control_plane_upgrade, "space_at", lambda directory: Space(10**12, 4096, None))
    found = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((found[0], "cp1", *found[2:4], "x86_64")))
    return Check(master, put_programs(tmp_path / "programs"), monkeypatch)


# Static pods whose manifests these tests leave out.
NOT_GENERATED = ["etcd", "kube-controller-manager", "kube-scheduler"]


def names(result: dict[str, t.Any]) -> list[str]:
    return [each["name"] for each in result["not_rehearsed"]]


def broken(result: dict[str, t.Any]) -> list[str]:
    return [each["message"] for each in result["findings"] if each["impact"] == "broken"]


def test_a_control_plane(upgrade: Check) -> None:
    result = upgrade()
    assert (result["node"], result["target"], result["is_control_plane"]) == ("cp1", TARGET, True)
    assert result["cluster"] == {"ca_sha256": "", "server": "", "machine_id": ""}
    assert result["versions"] == {"kubelet": "Kubernetes v1.37.2", "kube-apiserver": "v1.37.2"}
    assert [(each["component"], each["what"]) for each in result["rehearsed"]] == [
        (NAME, "generated"),
        ("kubelet", "today"),
    ]
    assert broken(result) == []
    assert any("containerd 1.7.24" in each["message"] for each in result["findings"])
    assert (result["checks"], names(result)) == (["container-runtime", "certificates"], NOT_GENERATED)
    assert schema_errors("upgrade_check", result) == []


def test_target_older_than_api_server_of_node_is_refused(
    upgrade: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / f"{NAME}.yaml").write_text(pod("--v=1").replace("v1.37.2", "v1.37.3"), encoding="utf-8")
    upgrade.stay_at(f"{tmp_path}/newer", monkeypatch)
    with pytest.raises(Refusal, match=r"must be 1\.37\.3, which the API server has, or newer"):
        upgrade()


def test_a_worker_needs_a_kubelet_only(upgrade: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade.be_worker(tmp_path / "none", monkeypatch)
    (upgrade.programs / "kubeadm").unlink()
    result = upgrade(patches="/none")
    assert (result["is_control_plane"], result["versions"]["kube-apiserver"]) == (False, None)
    assert [each["component"] for each in result["rehearsed"]] == ["kubelet"]


def test_control_plane_whose_manifest_has_another_name_is_no_worker(
    upgrade: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "apiserver.yaml").write_text(pod("--v=1"), encoding="utf-8")
    upgrade.stay_at(f"{tmp_path}/other", monkeypatch)
    result = upgrade()
    assert result["is_control_plane"]
    assert [each["component"] for each in result["rehearsed"]] == [NAME, "kubelet"]


def test_control_plane_whose_manifest_is_away_is_no_worker(
    upgrade: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    upgrade.stay_at(f"{tmp_path}/other", monkeypatch)
    with pytest.raises(KubeadmError, match="there is no manifest of kube-apiserver"):
        upgrade()


def test_node_of_unknown_role_is_not_checked(upgrade: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no kubeconfig of a kubelet here."""
    (tmp_path / "none").mkdir()
    upgrade.host = upgrade.host._replace(proc=f"{tmp_path}/none")
    upgrade.stay_at(f"{tmp_path}/none", monkeypatch)
    with pytest.raises(KubeadmError, match="whether cp1 is a control plane is not known"):
        upgrade()


def test_proxy_is_rehearsed_on_control_planes_only(
    upgrade: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_programs(upgrade.programs, "kube-proxy")
    proxy = "kind: KubeProxyConfiguration\n"
    assert [each["component"] for each in upgrade(kube_proxy_configuration=proxy)["rehearsed"]] == [
        NAME,
        "kube-proxy",
        "kubelet",
    ]
    assert names(upgrade(kube_proxy_configuration=None)) == [*NOT_GENERATED, "kube-proxy"]
    upgrade.be_worker(tmp_path / "none", monkeypatch)
    assert [each["component"] for each in upgrade(kube_proxy_configuration=proxy)["rehearsed"]] == ["kubelet"]
    assert upgrade(kube_proxy_configuration=None)["not_rehearsed"] == []


def test_newer_version_than_tested_leaves_checks_to_accept(upgrade: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new kubelet is not started, its gates are validated, and nothing reads its manifests."""
    monkeypatch.setattr(versions, "NEWEST", (1, 36))
    monkeypatch.setitem(
        findings.CHECKS, "kubelet-manifests", findings.CHECKS["kubelet-manifests"]._replace(since=(1, 37))
    )
    monkeypatch.setitem(findings.CHECKS, "user-namespaces", findings.CHECKS["user-namespaces"]._replace(since=(1, 37)))
    result = upgrade()
    assert names(result) == ["kubelet-manifests", *NOT_GENERATED, "kubelet"]
    assert sorted(result["checks"]) == ["certificates", "container-runtime", "kubelet-gates", "user-namespaces"]
    assert upgrade.run.started("kubelet") == []
    assert schema_errors("upgrade_check", result) == []


def test_a_control_plane_without_room(upgrade: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane_upgrade, "space_at", lambda directory: Space(1000, 4096, None))
    (message,) = broken(upgrade())
    assert message.startswith("the file system of /etc/kubernetes has 0 MB free")


def test_the_directory_of_kubeadms_copies_may_be_on_another_disk(
    upgrade: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = str(tmp_path / "tmp")
    free = {copies: 1000}
    monkeypatch.setattr(control_plane_upgrade, "_COPIES", copies)
    monkeypatch.setattr(
        control_plane_upgrade, "space_at", lambda directory: Space(free.get(directory, 10**12), 4096, None)
    )
    assert broken(upgrade()) == []
    (tmp_path / "tmp").mkdir()
    (message,) = broken(upgrade())
    assert message.startswith(f"the file system of {copies} has 0 MB free")


def test_kubeadm_copies_all_of_etcds_data(upgrade: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "etcd"
    (data / "member" / "wal").mkdir(parents=True)
    for name in ("a.wal", "b.wal"):
        with (data / "member" / "wal" / name).open("wb") as stream:
            stream.truncate(64_000_000)
    own = f"{CONFIGURATION}etcd: {{local: {{dataDir: {data}}}}}\n"
    monkeypatch.setattr(control_plane_upgrade, "space_at", lambda directory: Space(200_000_000, 4096, None))
    (message,) = broken(upgrade(cluster_configuration=own))
    assert "200 MB free" in message
    assert "228 MB" in message
    external = f"{CONFIGURATION}etcd: {{external: {{endpoints: [x]}}}}\n"
    assert broken(upgrade(cluster_configuration=external)) == []


def test_what_etcd_removes_while_its_data_is_counted(
    upgrade: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["gone.snap.db"]
    monkeypatch.setattr(os, "walk", lambda directory, onerror: [(directory, [], names)])
    own = f"{CONFIGURATION}etcd: {{local: {{dataDir: {tmp_path}}}}}\n"
    assert broken(upgrade(cluster_configuration=own)) == []


def test_unreadable_etcd_data_is_not_empty(upgrade: Check, tmp_path: Path) -> None:
    data = tmp_path / "none"
    own = f"{CONFIGURATION}etcd: {{local: {{dataDir: {data}}}}}\n"
    (message,) = broken(upgrade(cluster_configuration=own))
    assert (
        f"{data}, which kubeadm-config names as etcd's dataDir, cannot be read: No such file or directory." in message
    )
    data.write_text("", encoding="ascii")
    assert "cannot be read: Not a directory." in broken(upgrade(cluster_configuration=own))[0]


def test_an_api_version_that_the_new_kubeadm_does_not_read(upgrade: Check) -> None:
    assert (
        "kubeadm 1.37 does not read kubeadm.k8s.io/v1beta3"
        in broken(upgrade(cluster_configuration=CONFIGURATION.replace("v1beta4", "v1beta3")))[0]
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"target": "1.38.0"}, "invalid target 1.38.0"),
        ({"programs": "/none"}, "invalid programs /none on cp1"),
        ({"cluster_configuration": "a: ["}, "it is not valid YAML"),
        ({"patches": "/none"}, "invalid patches /none on cp1"),
    ],
)
def test_what_is_refused(upgrade: Check, given: dict[str, str], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        upgrade(**given)
    assert upgrade.run.requests == []
