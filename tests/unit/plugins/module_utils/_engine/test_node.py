# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a node, and what they say."""

from __future__ import annotations

import json
import os
import socket
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import (
    LOG_LINES,
    Host,
    Process,
    log_files,
    read_log_tail,
    read_unit_log,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.pod_observation import count_starts
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode

UID = "0123456789abcdef0123456789abcdef"


CONTAINER = "a" * 64


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
    add(tmp_path, 13, f"0::/kubepods.slice/kubepods-pod{UID}.slice/crio-conmon-{CONTAINER}.scope", "/usr/bin/conmon")
    add(tmp_path, 11, "0::/system.slice/sshd.service", "kube-apiserver")
    (tmp_path / "12").mkdir()
    (tmp_path / "self").mkdir()
    (process,) = Host(proc=str(tmp_path)).find_in_pods({UID})
    assert process == Process(UID, 7, CONTAINER, ("/usr/local/bin/kube-apiserver", "--x=ü", ""))
    assert process.runs(["/usr/local/bin/kube-apiserver", None, ""])
    assert not process.runs(["/usr/local/bin/kube-apiserver", "--x=ü"])
    assert not process.runs(["/usr/local/bin/kube-apiserver", "--y", ""])


def test_logs_in_the_order_of_their_starts(tmp_path: Path) -> None:
    for name in (
        "c/10.log",
        "c/9.log",
        "c/0.log",
        "c/10.log.20260101-000000.gz",
        "c/x.log",
        "new/c/0.log",
        "new/c/9.log",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="ascii")
    own, new = str(tmp_path), str(tmp_path / "new")
    assert [os.path.basename(path) for path in log_files([own], "c")] == ["0.log", "9.log", "10.log"]
    assert log_files([own, new], "c")[2:] == [f"{own}/c/9.log", f"{new}/c/9.log", f"{own}/c/10.log"]
    assert count_starts([own, new], "c") == 11
    assert count_starts([own], "none") == 0


def test_the_tail_of_a_log_without_the_runtimes_columns(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    lines = [f"2026-01-01T00:00:00Z stderr F line {number}\n" for number in range(2000)]
    path.write_text("".join(lines) + "odd line\n", encoding="ascii")
    tail = read_log_tail(str(path), 3)
    assert tail == ["line 1998", "line 1999", "odd line"]
    assert len(read_log_tail(str(path))) == LOG_LINES
    assert read_log_tail(str(tmp_path / "none")) == []


def test_responses_to_probes_leave_room_for_the_cause(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    cause = "E1127 06:31:02.000001       1 reflector.go:205] Failed to watch: connection refused"
    probe = 'I1127 06:31:02.100001       1 httplog.go:135] "HTTP" verb="GET" URI="/readyz" latency="1ms" resp=500'
    columns = "2026-11-27T06:31:02.1Z stderr F "
    path.write_text("".join(f"{columns}{line}\n" for line in [cause, *[probe] * 50]), encoding="utf-8")
    assert read_log_tail(str(path)) == [cause]
    path.write_text(f"{columns}{probe}\n" * 50, encoding="utf-8")
    assert read_log_tail(str(path)) == [probe] * LOG_LINES


def test_the_tail_of_a_log_of_docker(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    entry = json.dumps(
        {"log": 'E1125 "no" such flag\n', "stream": "stderr", "time": "2026-01-01T00:00:00Z"}, separators=(",", ":")
    )
    path.write_text(f'{entry}\n{{"log":"cut of', encoding="ascii")
    assert read_log_tail(str(path)) == ['E1125 "no" such flag', '{"log":"cut of']


def test_port_is_that_of_the_process_that_holds_its_listening_socket() -> None:
    """By this machine's own tables."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert Host().listens_on(os.getpid(), port)
            assert not Host().listens_on(os.getpid(), client.getsockname()[1])
            assert not Host().listens_on(os.getppid(), port)
    assert not Host().listens_on(os.getpid(), port)
    with pytest.raises(FileNotFoundError):
        Host().listens_on(2**30, port)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_port_of_all_addresses_of_both_families_is_found() -> None:
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        assert Host().listens_on(os.getpid(), server.getsockname()[1])


def test_when_a_process_started(node: FakeNode) -> None:
    pid = node.kubelet.instances[0].pid
    ticks = os.sysconf("SC_CLK_TCK")
    assert node.host.read_start_time(pid) == pytest.approx(1700000000 + 100 * pid / ticks)
    assert node.host.read_start_time(99999) is None


def test_file_that_is_brought_back_with_its_former_time_was_changed(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("x", encoding="ascii")
    changed = path.stat().st_mtime
    os.utime(path, (changed - 600, changed - 600))
    monkeypatch.setattr(Host, "read_start_time", lambda host, pid: changed - 300)
    assert [*node.host.changed_since_start(1, [str(path)])] == [str(path)]


@pytest.mark.parametrize("link", ["current", "directory/current", "second"])
def test_file_behind_a_link_that_was_turned_was_changed(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, link: str
) -> None:
    """As versions of a configuration are deployed: the file is older than the process."""
    (tmp_path / "v2/sub").mkdir(parents=True)
    path = tmp_path / "v2/sub/policy.yaml"
    path.write_text("x", encoding="ascii")
    (tmp_path / "directory").symlink_to("v2")
    (tmp_path / "second").symlink_to("v2/../current")
    (tmp_path / "current").symlink_to("v2")
    (tmp_path / "v2/current").symlink_to(tmp_path / "v2")
    started = time.time()
    monkeypatch.setattr(Host, "read_start_time", lambda host, pid: started)
    monkeypatch.setattr(f"{Host.__module__}.CLOCK_SECONDS", 0)
    place = str(tmp_path / link / "sub/policy.yaml")
    assert not node.host.changed_since_start(1, [place])
    turned = tmp_path / ("current" if link == "second" else link)
    while turned.lstat().st_ctime <= started:
        turned.unlink()
        turned.symlink_to(tmp_path / "v2")
    assert [*node.host.changed_since_start(1, [place])] == [place]
    (tmp_path / "v2/sub").rename(tmp_path / "v2/other")
    assert node.host.changed_since_start(1, [place]) == {place: None}


@pytest.mark.parametrize(
    ("arguments", "exactly", "of_image"),
    [
        (["manager", "--log=4"], True, True),
        (["/kube-vip", "manager", "--log=4"], False, True),
        (["haproxy", "-W", "manager", "--log=4"], False, True),
        (["/kube-vip", "manager", "--log=5"], False, False),
        (["--log=4"], False, False),
    ],
)
def test_before_the_arguments_of_an_image_stand_its_own(arguments: list[str], exactly: bool, of_image: bool) -> None:
    process = Process("uid", 1, "container", tuple(arguments))
    assert process.runs(["manager", None if of_image else "--log=4"]) is exactly
    assert process.runs(["manager", "--log=4"], of_image=True) is of_image
    assert process.runs([], of_image=True)


STACK = [f"k8s.io/kubernetes/frame{number}" for number in range(30)]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ([], []),
        ([f"I1125 line {number}" for number in range(30)], [f"I1125 line {number}" for number in range(10, 30)]),
        (
            ["I1125 starting", "panic: unrecognized feature gate: A", *STACK],
            ["panic: unrecognized feature gate: A", *STACK[:19]],
        ),
        (["panic: first", *STACK, "panic: last"], ["panic: last"]),
        # One that was started since.
        (["panic: former", *STACK, "E1125 no disk"], [*STACK[11:], "E1125 no disk"]),
    ],
)
def test_the_last_words_of_a_unit(output: list[str], expected: list[str]) -> None:
    commands: list[t.Sequence[str]] = []

    def run(arguments: t.Sequence[str]) -> tuple[int, str, str]:
        commands.append(arguments)
        return 0, "".join(f"{line}\n" for line in output), ""

    assert read_unit_log(run, "kubelet.service") == expected
    assert "_SYSTEMD_UNIT=kubelet.service" in commands[0]
