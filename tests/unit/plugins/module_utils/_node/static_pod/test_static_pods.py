# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests in their directory, and what stands in the way of a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import write_json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import owned_record
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, NODE, OLD, FakeNode


@pytest.fixture(name="directory")
def fixture_directory(tmp_path: Path) -> Path:
    (tmp_path / "kube-apiserver.yaml").write_text(OLD, encoding="utf-8")
    (tmp_path / "kube-scheduler.yaml").write_text(samples.SCHEDULER, encoding="utf-8")
    (tmp_path / ".kube-apiserver.yaml.swp").write_text(OLD, encoding="utf-8")
    (tmp_path / "directory").mkdir()
    return tmp_path


def test_a_manifest_is_found_by_its_usual_name(directory: Path) -> None:
    path, others = static_pods.find_manifest(NAME, str(directory))
    assert path == str(directory / "kube-apiserver.yaml")
    assert others == [str(directory / "kube-scheduler.yaml")]


def test_a_manifest_under_another_name_is_found_by_its_pod(directory: Path) -> None:
    (directory / "kube-apiserver.yaml").rename(directory / "api.json")
    assert static_pods.find_manifest(NAME, str(directory))[0] == str(directory / "api.json")


def test_a_missing_manifest_is_named_with_what_is_there(directory: Path) -> None:
    with pytest.raises(KubeadmError, match=r"no manifest of etcd in .*kube-apiserver\.yaml, kube-scheduler\.yaml"):
        static_pods.find_manifest("etcd", str(directory))


def test_a_missing_directory_is_no_control_plane(tmp_path: Path) -> None:
    with pytest.raises(KubeadmError, match="Is this host a control plane"):
        static_pods.find_manifest(NAME, str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("name", "text", "stray"),
    [
        ("kube-apiserver.yaml.bak", OLD, True),
        ("kube-apiserver.yaml.1234.2026-11-20@10:00:00~", "broken: [", True),
        ("kube-apiserver.yaml.orig", "", True),
        ("old-apiserver.yaml", OLD, True),
        ("zz.yaml", f"{OLD}---\nkind: Service\n", True),
        ("zz.yaml", f"{OLD}---\nbroken: [", True),
        ("zz.yaml", f"kind: Service\n---\n{OLD}", False),
        (".kube-apiserver.yaml.bak", OLD, False),
        ("etcd.yaml", OLD.replace(f"name: {NAME}", "name: etcd"), False),
        ("other.yaml", OLD.replace("namespace: kube-system", "namespace: other"), False),
        ("notes.txt", "no pod at all", False),
    ],
)
def test_files_that_shadow_the_manifest_are_refused_by_name(
    master: FakeNode, name: str, text: str, stray: bool
) -> None:
    (master.manifests / name).write_text(text, encoding="utf-8")
    try:
        static_pods.read_static_pod(NAME, str(master.manifests), NODE)
    except Refusal as exc:
        refusal = str(exc)
    else:
        refusal = ""
    (master.manifests / name).unlink()
    master.watcher.events()
    assert (str(master.manifests / name) in refusal) is stray


def test_a_link_to_nothing_is_named(master: FakeNode) -> None:
    master.manifest.rename(master.manifests / ".aside")
    master.manifest.symlink_to("nowhere")
    with pytest.raises(KubeadmError, match="link to a file that does not exist"):
        static_pods.read_static_pod(NAME, str(master.manifests), NODE)
    (master.manifests / ".aside").rename(master.manifest)
    master.watcher.events()


def test_a_manifest_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kube-apiserver.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(Refusal, match="not UTF-8"):
        static_pods.read_static_pod(NAME, str(tmp_path), NODE)


def test_what_is_read_of_a_static_pod(master: FakeNode) -> None:
    master.manifest.chmod(0o640)
    pod = static_pods.read_static_pod(NAME, str(master.manifests), NODE)
    assert pod.version.mode == 0o640
    assert pod.version.content == OLD.encode()
    assert pod.log_prefix == "kube-system_kube-apiserver-cp1_"
    assert (pod.record, pod.container) == ({}, NAME)
    process = static_pods.running_process(pod, master.host)
    assert process is not None
    assert process.pid == master.kubelet.instances[0].pid
    master.kubelet.kill(master.kubelet.instances[0])
    assert static_pods.running_process(pod, master.host) is None


def test_the_record_is_read_or_refused_when_it_is_damaged(master: FakeNode) -> None:
    record = {"format": 1, "owned": {"args": {"v": {"set": ["1"], "original": None}}}}
    write_json(owned_record.record_path(NAME), record)
    pod = static_pods.read_static_pod(NAME, str(master.manifests), NODE)
    assert pod.record["args"]["v"].set == ["1"]
    Path(owned_record.record_path(NAME)).write_text("{", encoding="ascii")
    with pytest.raises(KubeadmError, match="is damaged"):
        static_pods.read_static_pod(NAME, str(master.manifests), NODE)


def test_policy_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "a").chmod(0o640)
    below_a_file, missing = str(tmp_path / "a" / "b"), str(tmp_path / "none")
    assert static_pods.read_files([str(tmp_path / "a"), missing, below_a_file]) == {
        str(tmp_path / "a"): FileVersion(b"x", 0o640),
        missing: None,
        below_a_file: None,
    }
    with pytest.raises(Refusal, match="is a directory"):
        static_pods.read_files([str(tmp_path)])


# ---- owners of files -------------------------------------------------------------------------------------------------


def test_owners_are_searched_on_the_node() -> None:
    files = samples.desired(
        files=[
            samples.file("/a", owner="root", group="0"),
            samples.file("/b", owner="12345", group="root"),
            samples.file("/c"),
        ]
    ).files
    assert static_pods.read_accounts(files) == ({"root": 0, "12345": 12345}, {"0": 0, "root": 0})


@pytest.mark.parametrize("kind", ["owner", "group"])
def test_an_owner_that_the_node_does_not_know_is_refused(kind: str) -> None:
    files = samples.desired(files=[samples.file("/a", **{kind: "no-such-account"})]).files
    with pytest.raises(Refusal, match=rf"files: invalid {kind} 'no-such-account' of /a: must be a name that .* knows"):
        static_pods.read_accounts(files)
