# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions and conditions of an upgrade."""

from __future__ import annotations

import contextlib
import re

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import prerequisites
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    BROKEN,
    CONFIG_MAP,
    WARNS,
    Finding,
    NotChecked,
)


def impacts(found: list[Finding]) -> list[str]:
    return [finding.impact for finding in found]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.37.2", (1, 37, 2)),
        ("Kubernetes v1.37.2", (1, 37, 2)),
        ("etcd Version: 3.7.0\nGit SHA: x", (3, 7, 0)),
        ("3.6.8-0", (3, 6, 8)),
        ("1.37", None),
        ("latest", None),
    ],
)
def test_versions_as_programs_and_images_report_them(text: str, version: prerequisites.Version | None) -> None:
    assert prerequisites.parse_version(text) == version


@pytest.mark.parametrize(
    ("target", "objection"),
    [
        ("1.37.2", ""),
        ("v1.37.0", ""),
        ("1.36.9", ""),
        ("1.36.3", ""),
        ("1.37", "invalid target '1.37': must be a whole version, such as 1.37.2."),
        ("Kubernetes v1.37.2", "must be a whole version"),
        ("1.37.2 or so", "invalid target '1.37.2 or so': must be a whole version"),
        ("1.36.2", "invalid target 1.36.2: must be 1.36.3, which the cluster has, or newer."),
        ("1.38.0", "invalid target 1.38.0: must be of 1.36 or 1.37, because the cluster has 1.36.3"),
        ("2.0.0", "must be of 1.36 or 1.37"),
    ],
)
def test_targets(target: str, objection: str) -> None:
    with pytest.raises(Refusal, match=re.escape(objection)) if objection else contextlib.nullcontext():
        assert prerequisites.target_of(target, "v1.36.3") == prerequisites.exact_version(target)


def test_a_cluster_without_a_version() -> None:
    with pytest.raises(Refusal, match="kubernetesVersion 'stable'"):
        prerequisites.target_of("1.37.2", "stable")


@pytest.mark.parametrize(
    ("current", "message"),
    [
        ("v1.36.3", ""),
        ("v1.37.2", ""),
        ("latest", ""),
        (
            "v1.37.3",
            "invalid target 1.37.2: must be 1.37.3, which the API server has, or newer. kubeadm does not downgrade.",
        ),
        ("v1.35.6", "invalid target 1.37.2: must be of 1.35 or 1.36, because the API server has 1.35.6 and"),
    ],
)
def test_step_of_api_server(current: str, message: str) -> None:
    with pytest.raises(Refusal, match=re.escape(message)) if message else contextlib.nullcontext():
        prerequisites.refuse_api_server_step(current, "1.37.2")


def test_kubelet_newer_than_target_is_reported() -> None:
    assert prerequisites.kubelet_skew("Kubernetes v1.37.4", "1.37.2") == []
    (finding,) = prerequisites.kubelet_skew("Kubernetes v1.37.2", "1.36.5")
    assert (finding.component, finding.impact) == ("kubelet", WARNS)
    assert "kubelet 1.37.2 is of a newer minor version than 1.36.5" in finding.message


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("Kubernetes v1.37.2", ""),
        ("Kubernetes v1.37.1", "/new/kubelet is kubelet 1.37.1: must be 1.37.2, as the target is."),
        ("", "/new/kubelet reports no version (no answer): it must be kubelet 1.37.2."),
        ("bad  option\n", "/new/kubelet reports no version (bad option)"),
        ("Kubernetes v1.37.2-rc.1", "/new/kubelet is kubelet 1.37.2-rc.1: must be 1.37.2, as the target is."),
        ("Kubernetes v1.37.2+a1b2", ""),
    ],
)
def test_programs_of_another_version(output: str, error: str) -> None:
    found = prerequisites.program_error("kubelet", "/new/kubelet", output, "1.37.2")
    assert error in found
    assert bool(error) == bool(found)


def test_a_target_before_its_release_takes_these_programs_only() -> None:
    assert prerequisites.program_error("kubelet", "/k", "Kubernetes v1.37.0-rc.1", "v1.37.0-rc.1") == ""
    assert "must be v1.37.0-rc.1" in prerequisites.program_error("kubelet", "/k", "Kubernetes v1.37.0", "v1.37.0-rc.1")


def header(machine: int, order: int = 1) -> bytes:
    return b"\x7fELF\x02" + bytes([order]) + bytes(12) + machine.to_bytes(2, "big" if order == 2 else "little")


@pytest.mark.parametrize(
    ("content", "machine"),
    [
        (header(62), "x86_64"),
        (header(183), "aarch64"),
        (header(22, 2), "s390x"),
        (header(9), "machine 9"),
        (b"#!/bin/sh\n" + bytes(20), None),
        (b"\x7fELF", None),
    ],
)
def test_the_architecture_of_a_program(content: bytes, machine: str | None) -> None:
    assert prerequisites.machine_of(content) == machine


def test_programs_of_another_architecture() -> None:
    assert prerequisites.machine_error("/new/kubelet", header(62), "x86_64") == ""
    assert "is a program for aarch64: must be one for x86_64" in prerequisites.machine_error(
        "/k", header(183), "x86_64"
    )
    assert "is not a Linux program" in prerequisites.machine_error("/k", b"", "x86_64")


def test_a_kubelet_that_is_too_old_for_the_new_api_server() -> None:
    assert prerequisites.kubelet_skew("Kubernetes v1.34.4", "1.37.2") == []
    assert prerequisites.kubelet_skew("no answer", "1.37.2") == []
    (finding,) = prerequisites.kubelet_skew("Kubernetes v1.33.1", "1.37.2")
    assert (finding.component, finding.impact) == ("kubelet", BROKEN)


def test_control_planes_of_several_versions() -> None:
    assert prerequisites.mixed_versions({"cp1": "v1.36.3", "cp2": "v1.36.4", "cp3": "?"}) == []
    (finding,) = prerequisites.mixed_versions({"cp1": "v1.36.3", "cp2": "v1.37.2"})
    assert finding.impact == WARNS
    assert "cp1 v1.36.3, cp2 v1.37.2" in finding.message


@pytest.mark.parametrize(
    ("before", "after", "impact"),
    [
        ("3.6.8-0", "3.7.0-0", []),
        ("3.6.8-0", "3.6.8-0", []),
        ("3.5.16-0", "3.6.5-0", [WARNS]),
        ("3.5.24-0", "3.6.5-0", []),
        ("3.5.20-0", "3.6.5-0", []),
        ("3.6.8-0", "4.6.0-0", [BROKEN]),
        ("3.5.24-0", "3.7.0-0", [BROKEN]),
        ("3.7.0-0", "3.6.8-0", [WARNS]),
        ("custom", "3.6.8-0", [BROKEN]),
        ("3.6.8-0", "custom", [BROKEN]),
    ],
)
def test_steps_of_etcd(before: str, after: str, impact: list[str]) -> None:
    assert impacts(prerequisites.etcd_step(before, after)) == impact


def test_an_etcd_that_kubeadm_would_make_older_is_left_alone() -> None:
    (finding,) = prerequisites.etcd_step("3.7.0-0", "3.6.8-0")
    assert "kubeadm leaves etcd and its manifest as they are" in finding.message


def test_a_tag_of_etcd_that_is_no_version() -> None:
    (finding,) = prerequisites.etcd_step("3.6.8-0", "mine")
    assert "has the tag 'mine', which is not a version" in finding.message
    assert finding.set_by == CONFIG_MAP
    (finding,) = prerequisites.etcd_step("mine", "3.6.8-0")
    assert (finding.set_by, "'mine'" in finding.message) == ("", True)


def test_a_kubelet_newer_than_tested_is_not_started() -> None:
    assert prerequisites.may_rehearse_kubelet("1.37.2")
    assert not prerequisites.may_rehearse_kubelet("1.38.0")


@pytest.mark.parametrize(
    ("has_v2", "fails", "target", "impact"),
    [
        (True, None, "1.37.2", []),
        (False, None, "1.37.2", [BROKEN]),
        (False, False, "1.37.2", [WARNS]),
        (False, None, "1.35.0", [BROKEN]),
        (False, None, "1.34.2", [WARNS]),
    ],
)
def test_cgroups(has_v2: bool, fails: bool | None, target: str, impact: list[str]) -> None:
    assert impacts(prerequisites.cgroup_findings(target, has_v2=has_v2, fails=fails)) == impact


CONTAINERD = "containerd github.com/containerd/containerd v1.7.24 88bf19b"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("1.37.2", "the fallback is announced to end with 1.38. Upgrade containerd to 2.0 or newer before that."),
        ("1.38.0", "whose beta still has it: read the release notes of 1.38.0, or upgrade containerd to 2.0 or newer"),
    ],
)
def test_old_containerd_is_a_warning(target: str, words: str) -> None:
    """Whether the kubelet of 1.38 has its fallback is known once it is released."""
    (finding,) = prerequisites.runtime_findings(target, "containerd", CONTAINERD)
    assert finding.impact == WARNS
    assert words in finding.message


def test_new_containerd_is_no_finding() -> None:
    assert prerequisites.runtime_findings("1.38.0", "containerd", CONTAINERD.replace("v1.7.24", "v2.1.3")) == []


@pytest.mark.parametrize(
    ("name", "printed", "words"),
    [
        ("containerd", "there is no program containerd", "(there is no program containerd)"),
        ("CRI-O", "", "whether CRI-O reports its cgroup driver to the kubelet is not known (no version)"),
    ],
)
def test_unknown_runtime_is_not_checked_from_1_38(name: str, printed: str, words: str) -> None:
    with pytest.raises(NotChecked, match=re.escape(words)):
        prerequisites.runtime_findings("1.38.0", name, printed)
    (finding,) = prerequisites.runtime_findings("1.37.2", name, printed)
    assert finding.impact == WARNS
    assert words in finding.message


@pytest.mark.parametrize(
    ("kubelet", "manifests", "is_checked"),
    [((1, 37), ["/m/etcd.yaml"], False), ((1, 37), [], True), ((1, 38), ["/m/etcd.yaml"], True)],
)
def test_manifests_for_a_stricter_kubelet_are_not_checked(
    kubelet: tuple[int, int], manifests: list[str], is_checked: bool
) -> None:
    if is_checked:
        assert prerequisites.manifest_findings("1.38.0", kubelet, manifests) == []
        return
    with pytest.raises(NotChecked, match=r"by more rules than 1\.37 .* none has read /m/etcd\.yaml"):
        prerequisites.manifest_findings("1.38.0", kubelet, manifests)


def test_without_a_target_no_condition_is_judged() -> None:
    assert prerequisites.kubelet_skew("Kubernetes v1.20.0", "latest") == []
    assert not prerequisites.may_rehearse_kubelet("latest")
    assert prerequisites.cgroup_findings("latest", has_v2=False, fails=None) == []
    assert prerequisites.runtime_findings("latest", "containerd", CONTAINERD) == []


def test_room_for_copies() -> None:
    assert prerequisites.space_findings("/etc/kubernetes", 400_000_000, 300_000_000) == []
    assert len(prerequisites.space_findings("/etc/kubernetes", 399_999_999, 300_000_000)) == 1
    (finding,) = prerequisites.space_findings("/etc/kubernetes", 50_000_000, 300_000_000)
    assert finding.impact == BROKEN
    assert "has 50 MB free" in finding.message
    assert "400 MB" in finding.message


@pytest.mark.parametrize(
    ("free_files", "read_only", "words"),
    [
        (None, False, ""),
        (130, False, ""),
        (
            129,
            False,
            "has inodes for 129 more files, and kubeadm copies etcd's data and the manifests there, 130 files",
        ),
        (None, True, "is mounted read-only"),
    ],
)
def test_copies_need_inodes_and_a_writable_mount(free_files: int | None, read_only: bool, words: str) -> None:
    """Both seen as space enough by free bytes alone."""
    found = prerequisites.space_findings("/etc", 10**12, 1, free_files=free_files, files=30, read_only=read_only)
    assert [words in each.message for each in found] == ([True] if words else [])
