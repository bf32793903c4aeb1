# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a node was joined, by the files of its kubelet."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_reader import joined_at

DEFAULTS = ("var/lib/kubelet/pki", "etc/kubernetes/kubelet.conf")


def write(path: Path, when: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (when, when))


@pytest.mark.parametrize(
    ("arguments", "directory", "kubeconfig"),
    [((), *DEFAULTS), (("--cert-dir=/other", "--kubeconfig=/etc/k.conf"), "other", "etc/k.conf")],
)
def test_the_oldest_certificate_reports_and_a_rotation_does_not(
    tmp_path: Path, arguments: tuple[str, ...], directory: str, kubeconfig: str
) -> None:
    given = ["kubelet", *arguments]
    assert joined_at(given, str(tmp_path)) == 0.0
    write(tmp_path / directory / "kubelet-client-2026-01-01-00-00-00.pem", 1000.0)
    assert joined_at(given, str(tmp_path)) == 0.0, "without a kubeconfig it is none of kubeadm's"
    write(tmp_path / kubeconfig, 1001.0)
    write(tmp_path / directory / "kubelet-client-2026-11-01-00-00-00.pem", 9000.0)
    write(tmp_path / directory / "kubelet-client-current.pem", 10.0)
    write(tmp_path / directory / "kubelet.crt", 10.0)
    assert joined_at(given, str(tmp_path)) == 1000.0


def test_who_removes_old_certificates_joins_nothing(tmp_path: Path) -> None:
    write(tmp_path / DEFAULTS[0] / "kubelet-client-2026-11-01-00-00-00.pem", 9000.0)
    write(tmp_path / DEFAULTS[1], 1001.0)
    assert joined_at(["kubelet"], str(tmp_path)) == 1001.0
