# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that arguments name, and volumes, as a component sees them."""

from __future__ import annotations

import dataclasses
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import component_files
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples


def check(desired: dict[str, t.Any]) -> None:
    files = {entry["path"]: None for entry in desired.get("files", [])}
    state = static_pod.State(samples.manifest(), {}, files)
    component_files.refuse_unreachable_files(static_pod.plan(samples.desired(**desired), state))


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


@pytest.mark.parametrize(("desired", "message"), UNREACHABLE.values(), ids=UNREACHABLE)
def test_a_file_that_the_component_cannot_open_is_refused(desired: dict[str, t.Any], message: str) -> None:
    with pytest.raises(Refusal) as refusal:
        check(desired)
    assert message in str(refusal.value)


def test_single_file_that_was_mounted_before_is_a_warning() -> None:
    alone = {"path_type": "FileOrCreate", "read_only": False}
    requested = {
        "args": {"audit-log-path": "/var/log/audit.log"},
        "volumes": [samples.volume("audit-log", "/var/log/audit.log", **alone)],
    }
    before = static_pod.State(
        static_pod.plan(samples.desired(**requested), static_pod.State(samples.manifest(), {}, {})).after, {}, {}
    )
    done = static_pod.plan(samples.desired(args={"v": 4}), before)
    component_files.refuse_unreachable_files(done)
    (warning,) = component_files.warnings_of_single_files(done)
    assert warning.startswith("--audit-log-path=/var/log/audit.log is mounted as a single file")
    moved = static_pod.plan(
        samples.desired(
            args={"audit-log-path": "/var/log/audit/audit.log"},
            volumes=[samples.volume("audit-dir", "/var/log/audit", path_type="DirectoryOrCreate", read_only=False)],
        ),
        before,
    )
    component_files.refuse_unreachable_files(moved)
    assert component_files.warnings_of_single_files(moved) == []
    back = static_pod.plan(samples.desired(state="absent"), static_pod.State(moved.after, moved.record, {}))
    component_files.refuse_unreachable_files(back)
    assert component_files.warnings_of_single_files(back) == [warning]


def test_a_file_goes_back_together_with_the_volume_that_showed_it(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    theirs, ours = FileVersion(b"theirs", 0o600), FileVersion(b"ours", 0o600)
    desired = {"volumes": [samples.volume("a", str(tmp_path))], "files": [samples.file(str(policy), "ours")]}
    done = static_pod.plan(samples.desired(**desired), static_pod.State(samples.manifest(), {}, {str(policy): theirs}))
    after = static_pod.State(done.after, done.record, {str(policy): ours})
    back = static_pod.plan(samples.desired(state="absent"), after)
    assert back.files[0].after == theirs
    component_files.refuse_unreachable_files(back)


def test_a_volume_that_an_argument_needs_cannot_be_taken_away() -> None:
    with pytest.raises(Refusal, match=r"--client-ca-file=/etc/kubernetes/pki/ca.crt .* no volume"):
        check({"volumes": [{**samples.volume("k8s-certs", "/"), "state": "absent"}]})


def test_files_that_were_named_before_are_not_questioned() -> None:
    check({"args": {"v": 4}})  # client-ca-file of the sample is on no disk here


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


def test_a_volume_in_a_read_only_one_needs_its_place_there(tmp_path: Path) -> None:
    with pytest.raises(
        Refusal, match=rf"volumes: /outer/controls lies inside of /outer, .* no {tmp_path}/outer/controls on"
    ):
        check(nested(tmp_path))
    (tmp_path / "outer/controls").mkdir()
    check(nested(tmp_path))


def test_the_place_of_a_volume_is_made_where_the_runtime_may_write(tmp_path: Path) -> None:
    check(nested(tmp_path, read_only=False))


def test_the_place_of_a_volume_may_come_with_the_change(tmp_path: Path) -> None:
    file = samples.file(str(tmp_path / "outer/controls/policy.yaml"), "x")
    check({**nested(tmp_path), "files": [file]})


# ---- files that were removed since the start -------------------------------------------------------------------------


def removed(monkeypatch: pytest.MonkeyPatch, plan: static_pod.StaticPodPlan, age: float = 60) -> list[str]:
    """What a component would not find again that was started this many seconds ago."""
    started = time.time() - age
    monkeypatch.setattr(Host, "read_start_time", lambda host, pid: started)
    return component_files.removed_files("kube-apiserver", plan, 7, Host())


def test_removed_file_of_ours_is_found_without_an_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "plugin.yaml")
    given = {"volumes": [samples.volume("a", str(tmp_path))], "files": [samples.file(path, "x")]}
    base = samples.state(samples.with_command("--v=2"), files={path: None})
    done = samples.following(samples.planned(base, **given), base)
    gone = dataclasses.replace(done, files={path: None})
    (finding,) = removed(monkeypatch, samples.planned(gone, args={"v": 4}))
    assert finding.startswith(f"files: {path} on ")
    assert removed(monkeypatch, samples.planned(gone, args={"v": 4}, files=given["files"])) == []
    removal = {"files": [samples.file(path, None, state="absent")]}
    assert removed(monkeypatch, samples.planned(gone, args={"v": 4}, **removal)) == []


@pytest.mark.parametrize(("path_type", "found"), [("File", True), ("FileOrCreate", False), (None, False)])
def test_removed_host_path_is_found_where_its_type_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path_type: str | None, found: bool
) -> None:
    path = tmp_path / "settings"
    path.write_text("x", encoding="ascii")
    base = samples.state(samples.with_command("--v=2"))
    volume = samples.volume("a", str(path), path_type=path_type)
    done = samples.following(samples.planned(base, volumes=[volume]), base)
    path.unlink()
    findings = removed(monkeypatch, samples.planned(done, args={"v": 4}))
    assert [finding.startswith(f"volumes: {path} on ") for finding in findings] == [True] * found


@pytest.mark.parametrize(("age", "found"), [(60, True), (-60, False)])
def test_file_behind_a_removed_directory_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, found: bool
) -> None:
    command = samples.with_command(f"--audit-policy-file={tmp_path}/gone/at/all/policy.yaml")
    base = samples.state(command.replace("/etc/kubernetes/pki", str(tmp_path)))
    assert bool(removed(monkeypatch, samples.planned(base, args={"v": 4}), age)) == found


PASSED_OVER = {
    "cloud": ("kube-apiserver", ["--cloud-config=/p/x"]),
    "signer that is off": (
        "kube-controller-manager",
        ["--controllers=*,-csrsigning", "--cluster-signing-key-file=/p/x", "--cluster-signing-cert-file=/p/y"],
    ),
    "scheduler with a configuration file": ("kube-scheduler", ["--config=/p/config", "--kubeconfig=/p/x"]),
    "etcd with a configuration file": ("etcd", ["--config-file=/p/config", "--cert-file=/p/x"]),
    "earlier value": ("kube-apiserver", ["--client-ca-file=/p/x", "--client-ca-file=/p/config"]),
}


@pytest.mark.parametrize(("name", "arguments"), PASSED_OVER.values(), ids=PASSED_OVER)
def test_file_that_a_component_starts_without_is_not_needed(name: str, arguments: list[str]) -> None:
    text = samples.with_command(*arguments).replace("/etc/kubernetes/pki", "/p").replace("kube-apiserver", name)
    assert component_files.ComponentFiles(samples.manifest(text, name)).required_files().keys() <= {"/p/config"}


def test_every_file_of_a_list_is_needed() -> None:
    keys = ["/etc/kubernetes/pki/sa.pub", "/etc/kubernetes/pki/former.pub"]
    manifest = samples.manifest(samples.with_command(*(f"--service-account-key-file={key}" for key in keys)))
    assert list(component_files.ComponentFiles(manifest).required_files()) == keys
