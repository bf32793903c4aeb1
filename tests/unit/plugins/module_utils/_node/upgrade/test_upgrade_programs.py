# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of a new version: which are taken, and which are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.container_runtime import runtime_at
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.upgrade_programs import NewPrograms
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import ELF, TARGET, UpgradeRun, put_programs

RUNTIME = "unix:///run/containerd/containerd.sock"
OTHER = ELF[:18] + (183).to_bytes(2, "little")

pytestmark = pytest.mark.usefixtures("machine")


@pytest.fixture(name="machine")
def fixture_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of the architecture of the programs."""
    found = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((found[0], "cp1", *found[2:4], "x86_64")))


def test_what_is_reported_to_be_there_is(tmp_path: Path) -> None:
    run = UpgradeRun()
    NewPrograms(str(put_programs(tmp_path)), TARGET, run).check(["kubelet", "kubeadm"])
    assert [os.path.basename(call[0]) for call in run.calls] == ["kubeadm", "kubelet", "kube-apiserver"]


@pytest.mark.parametrize(
    ("names", "content", "version", "words"),
    [
        (("kubeadm",), ELF, "", "must hold kubelet of 1.37.2; found: kubeadm. Unpack or copy it there first."),
        (tuple(f"p{number:02}" for number in range(14)), ELF, "", "found: p00, .*, p11, 2 more. Unpack"),
        ((), OTHER, "", "is a program for aarch64: must be one for x86_64"),
        ((), b"#!/bin/sh", "", "is not a Linux program"),
        ((), ELF, "v1.36.3", "is kubeadm 1.36.3: must be 1.37.2"),
        ((), ELF, "Segmentation fault", "reports no version"),
    ],
)
def test_what_is_refused(tmp_path: Path, names: tuple[str, ...], content: bytes, version: str, words: str) -> None:
    run = UpgradeRun()
    run.versions["kubeadm"] = version or run.versions["kubeadm"]
    programs = NewPrograms(str(put_programs(tmp_path, *names, content=content)), TARGET, run)
    with pytest.raises(Refusal, match=words):
        programs.check(["kubelet"])


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        Refusal, match=r"invalid programs .*/none on cp1: must be a directory with the programs of 1.37.2"
    ):
        NewPrograms(f"{tmp_path}/none", TARGET, UpgradeRun()).check(["kubelet"])


def test_a_directory_that_is_another_one_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_programs(tmp_path / "new")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refusal, match=r"^invalid programs 'new': must be an absolute path on each node"):
        NewPrograms("new", TARGET, UpgradeRun()).check(["kubelet"])


def test_an_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"must hold kubelet and kubeadm of 1.37.2; found: nothing"):
        NewPrograms(str(tmp_path), TARGET, UpgradeRun()).check(["kubelet", "kubeadm"])


def test_a_program_that_may_not_be_started(tmp_path: Path) -> None:
    (put_programs(tmp_path) / "kubelet").chmod(0o644)
    with pytest.raises(Refusal, match="kubelet is not executable: run chmod 755"):
        NewPrograms(str(tmp_path), TARGET, UpgradeRun()).check(["kubelet"])


def test_a_component_out_of_the_directory(tmp_path: Path) -> None:
    run = UpgradeRun()
    programs = NewPrograms(str(put_programs(tmp_path, "kube-apiserver", "etcd")), TARGET, run)
    runtime = runtime_at(RUNTIME, run)
    with programs.component("kube-apiserver", "r/kube-apiserver:v1.37.2", "kube-apiserver", runtime) as program:
        assert program == (f"{tmp_path}/kube-apiserver", None)
    with programs.component("etcd", "r/etcd:3.7.0-0", "etcd", runtime) as program:
        assert program.binary == f"{tmp_path}/etcd"
    with (
        pytest.raises(KubeadmError, match=r"is etcd 3.7.0: must be 3.6.8"),
        programs.component("etcd", f"r/etcd:3.6.8-0@sha256:{'0' * 64}", "etcd", runtime),
    ):
        pass


def test_a_component_out_of_its_image(tmp_path: Path, runtime: FakeCri) -> None:
    run = UpgradeRun()
    programs = NewPrograms(str(tmp_path), TARGET, run)
    found = runtime_at(RUNTIME, run)
    runtime.images = set()
    with (
        pytest.raises(KubeadmError, match=r"there is neither .*/kube-scheduler nor the image r/kube-scheduler:v1.37.2"),
        programs.component("kube-scheduler", "r/kube-scheduler:v1.37.2", "kube-scheduler", found),
    ):
        pass
    runtime.images = None
    run.results["ctr"] = (0, "", "")
    with (
        pytest.raises(KubeadmError, match="it holds no kube-scheduler"),
        programs.component("kube-scheduler", "r/kube-scheduler:v1.37.2", "kube-scheduler", found),
    ):
        pass
