# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests in their directory, and what stands in the way of a change."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import write_json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import owned_record
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
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
    path, others = static_pods.find(NAME, str(directory))
    assert path == str(directory / "kube-apiserver.yaml")
    assert others == [str(directory / "kube-scheduler.yaml")]


def test_a_manifest_under_another_name_is_found_by_its_pod(directory: Path) -> None:
    (directory / "kube-apiserver.yaml").rename(directory / "api.json")
    assert static_pods.find(NAME, str(directory))[0] == str(directory / "api.json")


def test_a_missing_manifest_is_named_with_what_is_there(directory: Path) -> None:
    with pytest.raises(KubeadmError, match=r"no manifest of etcd in .*kube-apiserver\.yaml, kube-scheduler\.yaml"):
        static_pods.find("etcd", str(directory))


def test_a_missing_directory_is_no_control_plane(tmp_path: Path) -> None:
    with pytest.raises(KubeadmError, match="is not a kubeadm control plane"):
        static_pods.find(NAME, str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("name", "text", "stray"),
    [
        ("kube-apiserver.yaml.bak", OLD, True),
        ("kube-apiserver.yaml.1234.2026-11-20@10:00:00~", "broken: [", True),
        ("kube-apiserver.yaml.orig", "", True),
        ("old-apiserver.yaml", OLD, True),
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


# ---- files that arguments name ---------------------------------------------------------------------------------------


def check(desired: dict[str, t.Any]) -> None:
    files = {entry["path"]: None for entry in desired.get("files", [])}
    state = static_pod.State(samples.manifest(), {}, files)
    static_pods.refuse_unreachable_files(static_pod.plan(samples.desired(**desired), state))


def test_a_file_that_the_component_can_open_passes(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("x", encoding="ascii")
    volume = samples.volume("audit", str(tmp_path), mount_path="/audit")
    check({"args": {"audit-policy-file": "/audit/policy.yaml"}, "volumes": [volume]})
    staged = samples.file(str(tmp_path / "new.yaml"), "x")
    check({"args": {"audit-policy-file": "/audit/new.yaml"}, "volumes": [volume], "files": [staged]})
    writable = samples.volume("logs", str(tmp_path), mount_path="/logs", read_only=False)
    check({"args": {"audit-log-path": "/logs/audit.log"}, "volumes": [writable]})
    check({"args": {"audit-log-path": "-", "authorization-always-allow-paths": "/healthz", "etcd-prefix": "/registry"}})


UNREACHABLE = {
    "not mounted": (
        {"args": {"audit-policy-file": "/audit/policy.yaml"}},
        "no volume of the static pod is mounted over",
    ),
    "not there": (
        {"args": {"audit-policy-file": "/m/nowhere"}, "volumes": [samples.volume("a", "/etc", mount_path="/m")]},
        "/etc/nowhere does not exist on the node",
    ),
    "not there, inside a directory that would be made": (
        {
            "args": {"audit-policy-file": "/m/x"},
            "volumes": [samples.volume("a", "/nowhere/at/all", mount_path="/m", path_type="DirectoryOrCreate")],
        },
        "/nowhere/at/all/x does not exist on the node",
    ),
    "written to a read-only volume": (
        {"args": {"audit-log-path": "/m/log"}, "volumes": [samples.volume("a", "/etc", mount_path="/m")]},
        "set read_only: false",
    ),
    "written to a file that is mounted alone": (
        {
            "args": {"audit-log-path": "/var/log/audit.log"},
            "volumes": [
                samples.volume("a", "/x", mount_path="/var/log/audit.log", path_type="FileOrCreate", read_only=False)
            ],
        },
        "is mounted as a single file, which cannot be renamed",
    ),
    "a directory that is not there": ({"volumes": [samples.volume("a", "/nowhere/at/all")]}, "/nowhere/at/all on"),
    "a directory as a file": ({"volumes": [samples.volume("a", "/etc", path_type="File")]}, "is not a file"),
    "a file as a socket": ({"volumes": [samples.volume("a", "/etc/passwd", path_type="Socket")]}, "is not a socket"),
    "a name that only begins like the mount": (
        {"args": {"audit-policy-file": "/etc/ssl/certs-other/x"}},
        "no volume of the static pod is mounted over",
    ),
    "a file of ours that is not mounted": (
        {"files": [samples.file("/srv/policy.yaml", "x")]},
        "lies below no host path",
    ),
}


@pytest.mark.parametrize(("desired", "complaint"), UNREACHABLE.values(), ids=UNREACHABLE)
def test_a_file_that_the_component_cannot_open_is_refused(desired: dict[str, t.Any], complaint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        check(desired)
    assert complaint in str(refusal.value)


def test_single_file_that_was_mounted_before_is_a_warning() -> None:
    alone = {"path_type": "FileOrCreate", "read_only": False}
    asked = {
        "args": {"audit-log-path": "/var/log/audit.log"},
        "volumes": [samples.volume("audit-log", "/var/log/audit.log", **alone)],
    }
    before = static_pod.State(
        static_pod.plan(samples.desired(**asked), static_pod.State(samples.manifest(), {}, {})).after, {}, {}
    )
    done = static_pod.plan(samples.desired(args={"v": 4}), before)
    static_pods.refuse_unreachable_files(done)
    (warning,) = static_pods.warnings_of_single_files(done)
    assert warning.startswith("--audit-log-path=/var/log/audit.log is mounted as a single file")
    moved = static_pod.plan(
        samples.desired(
            args={"audit-log-path": "/var/log/audit/audit.log"},
            volumes=[samples.volume("audit-dir", "/var/log/audit", path_type="DirectoryOrCreate", read_only=False)],
        ),
        before,
    )
    static_pods.refuse_unreachable_files(moved)
    assert static_pods.warnings_of_single_files(moved) == []
    back = static_pod.plan(samples.desired(state="absent"), static_pod.State(moved.after, moved.record, {}))
    static_pods.refuse_unreachable_files(back)
    assert static_pods.warnings_of_single_files(back) == [warning]


def test_a_file_goes_back_together_with_the_volume_that_showed_it(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    theirs, ours = FileVersion(b"theirs", 0o600), FileVersion(b"ours", 0o600)
    desired = {"volumes": [samples.volume("a", str(tmp_path))], "files": [samples.file(str(policy), "ours")]}
    done = static_pod.plan(samples.desired(**desired), static_pod.State(samples.manifest(), {}, {str(policy): theirs}))
    after = static_pod.State(done.after, done.record, {str(policy): ours})
    back = static_pod.plan(samples.desired(state="absent"), after)
    assert back.files[0].after == theirs
    static_pods.refuse_unreachable_files(back)


def test_a_volume_that_an_argument_needs_cannot_be_taken_away() -> None:
    with pytest.raises(Refusal, match=r"--client-ca-file=/etc/kubernetes/pki/ca.crt .* no volume"):
        check({"volumes": [{**samples.volume("k8s-certs", "/"), "state": "absent"}]})


def test_files_that_were_named_before_are_not_questioned() -> None:
    check({"args": {"v": 4}})  # client-ca-file of the sample is on no disk here


# ---- owners of files -------------------------------------------------------------------------------------------------


def test_owners_are_looked_up_on_the_node() -> None:
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


# ---- volumes inside of volumes ---------------------------------------------------------------------------------------


def nested(tmp_path: Path, **outer: t.Any) -> dict[str, t.Any]:
    """A task with a volume in another one."""
    inner = tmp_path / "inner"
    (tmp_path / "outer").mkdir(exist_ok=True)
    inner.mkdir(exist_ok=True)
    return {
        "volumes": [
            samples.volume("inner", str(inner), mount_path="/outer/controls"),
            samples.volume("outer", str(tmp_path / "outer"), mount_path="/outer", **outer),
        ]
    }


def refuse_unreachable_files(desired: dict[str, t.Any]) -> None:
    files = {entry["path"]: None for entry in desired.get("files", [])}
    static_pods.refuse_unreachable_files(
        static_pod.plan(samples.desired(**desired), static_pod.State(samples.manifest(), {}, files))
    )


def test_a_volume_in_a_read_only_one_needs_its_place_there(tmp_path: Path) -> None:
    with pytest.raises(
        Refusal, match=rf"volumes: /outer/controls lies inside of /outer, .* no {tmp_path}/outer/controls on"
    ):
        refuse_unreachable_files(nested(tmp_path))
    (tmp_path / "outer/controls").mkdir()
    refuse_unreachable_files(nested(tmp_path))


def test_the_place_of_a_volume_is_made_where_the_runtime_may_write(tmp_path: Path) -> None:
    refuse_unreachable_files(nested(tmp_path, read_only=False))


def test_the_place_of_a_volume_may_come_with_the_change(tmp_path: Path) -> None:
    file = samples.file(str(tmp_path / "outer/controls/policy.yaml"), "x")
    refuse_unreachable_files({**nested(tmp_path), "files": [file]})
