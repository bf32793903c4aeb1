# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which processes and files a snapshot of a node compares, on a /proc and in places of a test's own."""

from __future__ import annotations

import importlib.util
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab.runs import KUBELET_SNAPSHOT

SPEC = importlib.util.spec_from_file_location("kubelet_snapshot", KUBELET_SNAPSHOT)
assert SPEC is not None
assert SPEC.loader is not None
kubelet_snapshot = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(kubelet_snapshot)

UID = "5d1c6f9e-8b0a-4f7e-9a53-0c1d2e3f4a5b"
STATIC = "0123456789abcdef0123456789abcdef"
PROXY, PAUSE = "a" * 64, "b" * 64
OF_PROXY = f"0::/kubepods/besteffort/pod{UID}/{PROXY}\n"
OF_PAUSE = f"0::/kubepods/besteffort/pod{UID}/{PAUSE}\n"


def process(proc: Path, pid: int, started: int, command: str, cgroup: str) -> None:
    directory = proc / str(pid)
    directory.mkdir(parents=True)
    (directory / "cgroup").write_text(cgroup, encoding="utf-8")
    # A name may hold anything.
    fields = ["S", "1", *["0"] * 17, str(started), "0"]
    (directory / "stat").write_text(f"{pid} (a) b) {' '.join(fields)}\n", encoding="utf-8")
    (directory / "cmdline").write_bytes(b"\0".join([*command.encode().split(), b""]))


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    process(tmp_path, 1, 1, "/sbin/init", "0::/init.scope\n")
    process(tmp_path, 50, 100, "/usr/bin/kubelet --config=x", "0::/system.slice/kubelet.service\n")
    process(tmp_path, 70, 500, "/pause", OF_PAUSE)
    process(tmp_path, 90, 510, "/usr/local/bin/kube-proxy --config=y", OF_PROXY)
    (tmp_path / "self").mkdir()
    return tmp_path


def in_pods(proc: Path) -> t.Any:
    return kubelet_snapshot.take_snapshot(proc)["in_pods"]


def test_the_first_process_of_each_container(proc: Path) -> None:
    assert in_pods(proc) == [
        {"pod": UID, "container": PROXY, "pid": 90, "started": 510, "command": "/usr/local/bin/kube-proxy"},
        {"pod": UID, "container": PAUSE, "pid": 70, "started": 500, "command": "/pause"},
    ]
    assert kubelet_snapshot.take_snapshot(proc)["kubelets"] == [
        {"pid": 50, "arguments": ["/usr/bin/kubelet", "--config=x"]}
    ]


@pytest.mark.parametrize("pid", [80, 95])
def test_what_a_container_starts_for_a_moment_changes_nothing(proc: Path, pid: int) -> None:
    before = in_pods(proc)
    # Numbers start over at the highest one, so a child may have a lower one than its parent.
    process(proc, pid, 900, "iptables-save -t nat", OF_PROXY)
    assert in_pods(proc) == before


@pytest.mark.parametrize(("pid", "started"), [(90, 800), (91, 800)])
def test_a_container_whose_first_process_is_another_one_differs(proc: Path, pid: int, started: int) -> None:
    before = in_pods(proc)
    for path in (proc / "90").iterdir():
        path.unlink()
    (proc / "90").rmdir()
    process(proc, pid, started, "/usr/local/bin/kube-proxy --config=y", OF_PROXY)
    assert in_pods(proc) != before


def test_another_container_of_the_same_pod_differs(proc: Path) -> None:
    before = in_pods(proc)
    process(proc, 99, 900, "/pause", f"0::/kubepods/besteffort/pod{UID}/{'c' * 64}\n")
    assert [entry for entry in in_pods(proc) if entry not in before] == [
        {"pod": UID, "container": "c" * 64, "pid": 99, "started": 900, "command": "/pause"}
    ]


def test_a_process_that_ended_meanwhile_is_not_there(proc: Path) -> None:
    (proc / "70" / "stat").unlink()
    (proc / "50" / "cmdline").unlink()
    assert [entry["pid"] for entry in in_pods(proc)] == [90]


@pytest.mark.parametrize(
    ("cgroup", "place"),
    [
        (f"12:pids:/libpod_parent/x/kubepods/burstable/pod{STATIC}/{PAUSE}\n1:name=systemd:/other\n", (STATIC, PAUSE)),
        (f"1:name=systemd:/init.scope\n0::/kubepods/pod{UID}/{PAUSE}\n", (UID, PAUSE)),
        (
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
            f"{UID.replace('-', '_')}.slice/cri-containerd-{PAUSE}.scope\n",
            (UID, PAUSE),
        ),
        ("0::/system.slice/containerd.service\n", None),
        ("", None),
    ],
)
def test_pod_and_container_stand_in_the_control_group(cgroup: str, place: tuple[str, str] | None) -> None:
    assert kubelet_snapshot.place_in_pod(cgroup) == place


def test_all_files_below_a_place_but_manifests_are_observed(
    proc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    etc, single = tmp_path / "etc", tmp_path / "instance-config.yaml"
    monkeypatch.setattr(kubelet_snapshot, "MANIFESTS", etc / "manifests")
    for path in (etc / "pki" / "etcd" / "ca.crt", etc / "admin.conf", etc / "manifests" / "etcd.yaml", single):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a\n", encoding="utf-8")
    places = [str(etc), str(single), str(tmp_path / "missing")]
    before = kubelet_snapshot.take_snapshot(proc, places)
    assert list(before["files"]) == [str(etc / "admin.conf"), str(etc / "pki" / "etcd" / "ca.crt"), str(single)]
    assert before["directories"] == [str(path) for path in (etc, etc / "manifests", etc / "pki", etc / "pki" / "etcd")]
    (etc / "pki" / "etcd" / "ca.crt").write_text("a\nb\n", encoding="utf-8")
    assert kubelet_snapshot.take_snapshot(proc, places) != before


def test_what_a_node_has_of_kubernetes_and_its_runtime_is_observed() -> None:
    assert {"/etc/containerd", "/etc/kubernetes", "/var/lib/kubelet/instance-config.yaml"} <= set(
        kubelet_snapshot.PLACES
    )


def test_another_container_runtime_differs(proc: Path) -> None:
    process(proc, 40, 80, "/usr/bin/containerd", "0::/system.slice/containerd.service\n")
    process(proc, 41, 90, "/usr/bin/containerd-shim-runc-v2", "0::/system.slice/containerd.service\n")
    assert kubelet_snapshot.take_snapshot(proc)["runtimes"] == [40]
