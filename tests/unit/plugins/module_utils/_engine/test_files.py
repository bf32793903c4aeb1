# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the engine: files, processes, logs and probes."""

from __future__ import annotations

import os
import socket
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import probes
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.errors import ForeignEdit
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import (
    read_json,
    remove,
    write_atomically,
    write_json,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import is_at, version_of
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import LOG_LINES, Host, Process, log_tail
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import http_get, read_gates, run_probe
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.static_pod import backups_of, count_starts
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web, kubeconfig

UID = "0123456789abcdef0123456789abcdef"
CONTAINER = "a" * 64


def write(path: Path, content: bytes, **given: t.Any) -> None:
    write_atomically(str(path), content, **{"mode": 0o600, "uid": os.getuid(), "gid": os.getgid(), **given})


# ---- files -----------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_with_mode_and_attributes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.nodecraft", b"kept")
    except OSError:  # a file system without attributes: then there are none to keep
        assert os.listxattr(path) == []
    attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    write(path, b"new", mode=0o640)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o7777 == 0o640
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == attributes
    assert os.listdir(tmp_path) == ["file"]


def test_what_a_killed_run_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".file.nodecraft-kubeadm").write_bytes(b"half")
    write(tmp_path / "file", b"new")
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"untouched")
    (tmp_path / ".file.nodecraft-kubeadm").symlink_to(tmp_path / "other")
    write(tmp_path / "file", b"new")
    assert (tmp_path / "other").read_bytes() == b"untouched"


def test_the_last_look_before_the_rename_can_stop_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen: list[list[str]] = []

    def recheck() -> None:
        seen.append(sorted(os.listdir(tmp_path)))
        raise ForeignEdit("somebody else")

    with pytest.raises(ForeignEdit):
        write(path, b"new", recheck=recheck)
    assert seen == [[".file.nodecraft-kubeadm", "file"]]
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_symbolic_link_is_kept(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("folder/target")
    write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "target").read_bytes() == b"new"


def test_a_file_that_is_gone_may_be_removed_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    remove(str(path))
    remove(str(path))
    assert not path.exists()


def test_a_versions_bytes_mode_and_owner_count(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, b"x", mode=0o640)
    version = version_of(b"x", 0o640, os.getuid(), os.getgid())
    assert is_at(str(path), version)
    assert not is_at(str(path), {**version, "mode": 0o600})
    assert not is_at(str(path), {**version, "uid": os.getuid() + 1})
    assert not is_at(str(path), version_of(b"y", 0o640, os.getuid(), os.getgid()))
    assert not is_at(str(path), None)
    assert is_at(str(tmp_path / "other"), None)


def test_json_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    write_json(str(path), {"b": "ü", "a": None})
    assert path.stat().st_mode & 0o7777 == 0o600
    assert read_json(str(path)) == {"a": None, "b": "ü"}
    assert read_json(str(tmp_path / "none.json")) is None


# ---- processes -------------------------------------------------------------------------------------------------------

CGROUPS = {
    "cgroup v2, systemd": f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID}.slice/cri-containerd-{CONTAINER}.scope",
    "cgroup v2, cgroupfs": f"0::/kubepods/burstable/pod{UID}/{CONTAINER}",
    "cgroup v1, systemd": f"12:cpu:/kubepods.slice/kubepods-pod{UID}.slice/cri-containerd-{CONTAINER}.scope\n1:name=systemd:/x",
    "cgroup v1, cgroupfs": f"5:memory:/kubepods/besteffort/pod{UID}/{CONTAINER}",
    "CRI-O": f"0::/kubepods.slice/kubepods-burstable-pod{UID}.slice/crio-{CONTAINER}.scope",
    "inside a container": f"0::/../kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{UID}.slice/cri-containerd-{CONTAINER}.scope",
}


def add(proc: Path, pid: int, cgroup: str, *arguments: str) -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "cgroup").write_text(cgroup + "\n", encoding="ascii")
    (proc / str(pid) / "cmdline").write_bytes(b"".join(os.fsencode(argument) + b"\0" for argument in arguments))


@pytest.mark.parametrize("cgroup", CGROUPS.values(), ids=CGROUPS)
def test_a_process_is_known_by_its_pods_uid(tmp_path: Path, cgroup: str) -> None:
    add(tmp_path, 7, cgroup, "/usr/local/bin/kube-apiserver", "--x=ü", "")
    add(tmp_path, 8, cgroup.replace(UID, "f" * 32), "kube-apiserver")
    add(tmp_path, 9, cgroup, "/pause")
    add(tmp_path, 10, cgroup)
    add(tmp_path, 11, "0::/system.slice/sshd.service", "kube-apiserver")
    (tmp_path / "12").mkdir()
    (tmp_path / "self").mkdir()
    (process,) = Host(proc=str(tmp_path)).processes({UID})
    assert process == Process(UID, 7, CONTAINER, ("/usr/local/bin/kube-apiserver", "--x=ü", ""))
    assert process.runs(["/usr/local/bin/kube-apiserver", None, ""])
    assert not process.runs(["/usr/local/bin/kube-apiserver", "--x=ü"])
    assert not process.runs(["/usr/local/bin/kube-apiserver", "--y", ""])


def test_pods_are_known_by_their_log_folders(tmp_path: Path) -> None:
    for name in (
        f"kube-system_a-n1_{UID}",
        "kube-system_a-n1_123-456",
        f"kube-system_a-n12_{UID}",
        f"x_kube-system_a-n1_{UID}",
    ):
        (tmp_path / name).mkdir()
    host = Host(pod_logs=str(tmp_path))
    assert host.pod_folders("kube-system_a-n1_") == {UID: str(tmp_path / f"kube-system_a-n1_{UID}")}
    assert Host(pod_logs=str(tmp_path / "none")).pod_folders("x") == {}


def test_logs_in_the_order_of_their_starts(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    for name in ("10.log", "9.log", "0.log", "10.log.20260101-000000.gz", "x.log"):
        (folder / name).write_text("", encoding="ascii")
    host = Host()
    assert [os.path.basename(path) for path in host.log_files(str(tmp_path), "c")] == ["0.log", "9.log", "10.log"]
    assert count_starts(host, str(tmp_path), "c") == 11
    assert count_starts(host, str(tmp_path), "none") == 0


def test_the_tail_of_a_log_without_the_runtimes_columns(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    lines = [f"2026-01-01T00:00:00Z stderr F line {number}\n" for number in range(2000)]
    path.write_text("".join(lines) + "odd line\n", encoding="ascii")
    tail = log_tail(str(path), 3)
    assert tail == ["line 1998", "line 1999", "odd line"]
    assert len(log_tail(str(path))) == LOG_LINES
    assert log_tail(str(tmp_path / "none")) == []


def test_when_a_process_started(node: FakeNode) -> None:
    pid = node.kubelet.instances[0].pid
    ticks = os.sysconf("SC_CLK_TCK")
    assert node.host.started(pid) == pytest.approx(1700000000 + 100 * pid / ticks)
    assert node.host.started(99999) is None


# ---- probes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "passes"), [(200, True), (302, True), (399, True), (400, False), (500, False)])
def test_http_probes_take_200_to_399(web: Web, status: int, passes: bool) -> None:
    web.status = status
    ok, text = run_probe(web.probe("/readyz"))
    assert ok == passes
    assert text == f"http://127.0.0.1:{web.port}/readyz answers {status}"
    assert web.requests == ["/readyz"]


def test_a_server_that_hangs_up_does_not_pass(web: Web) -> None:
    web.up = False
    assert not run_probe(web.probe())[0]


def test_a_probe_sends_the_headers_of_the_manifest(web: Web) -> None:
    assert run_probe({**web.probe(), "headers": {"Authorization": "Bearer x"}})[0]
    assert web.headers[-1]["Authorization"] == "Bearer x"


def test_nobody_listening_does_not_pass() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ok, text = run_probe({"kind": "tcp", "host": "127.0.0.1", "port": port})
    assert not ok
    assert f"127.0.0.1:{port}: " in text
    assert not run_probe({"kind": "http", "scheme": "http", "host": "127.0.0.1", "port": port, "path": "/"})[0]


def test_tcp_probes_only_connect(web: Web) -> None:
    assert run_probe({"kind": "tcp", "host": "127.0.0.1", "port": web.port})[0]
    assert web.requests == []


@pytest.fixture(name="secure")
def fixture_secure() -> t.Iterator[Web]:
    web = Web(tls=True)
    yield web
    web.close()


def test_probes_over_tls_need_no_trust_and_metrics_the_client_certificate(secure: Web, tmp_path: Path) -> None:
    assert run_probe(secure.probe()) == (True, f"https://127.0.0.1:{secure.port}/livez answers 200")
    config = tmp_path / "admin.conf"
    config.write_text(kubeconfig(), encoding="ascii")
    secure.gates = {"A": True, "B": False}
    assert read_gates(secure.metrics(str(config))) == ({"A": True, "B": False}, "")
    status, body = http_get(secure.metrics(str(config)), "/metrics", context=probes._unverified())
    assert (status, body) == (403, b"Forbidden")


def test_the_gates_of_etcd_have_a_name_of_their_own(tmp_path: Path, web: Web) -> None:
    config = tmp_path / "admin.conf"
    config.write_text(kubeconfig(), encoding="ascii")
    web.gates, web.gate_metric = {"CompactHashCheck": True}, "etcd_server_feature_enabled"
    assert read_gates(web.metrics(str(config))) == ({"CompactHashCheck": True}, "")
    web.gate_metric = "other_feature_enabled"
    assert read_gates(web.metrics(str(config))) == ({}, "")


def test_metrics_that_nobody_serves_are_no_gates(tmp_path: Path, web: Web) -> None:
    config = tmp_path / "admin.conf"
    config.write_text(kubeconfig(), encoding="ascii")
    web.up = False
    gates, why = read_gates(web.metrics(str(config)))
    assert gates is None
    assert "cannot be read" in why


def test_backups_of_a_manifest_are_those_that_the_kubelet_reads(tmp_path: Path) -> None:
    for name in ("a.yaml", "a.yaml.bak", "a.yaml~", ".a.yaml.swp", "b.yaml"):
        (tmp_path / name).touch()
    assert backups_of(str(tmp_path / "a.yaml")) == [str(tmp_path / "a.yaml.bak"), str(tmp_path / "a.yaml~")]
