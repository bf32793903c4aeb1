# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration files whose API version ends."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import config_files
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import WARNS


def test_what_stands_in_a_file() -> None:
    inner = {"kind": "PodSecurityConfiguration", "apiVersion": "pod-security.admission.config.k8s.io/v1beta1"}
    data = {
        "kind": "AdmissionConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1",
        "plugins": [{"name": "PodSecurity", "configuration": inner}, {"name": "X", "path": "/x"}, None],
    }
    assert config_files.documents(data) == [
        ("AdmissionConfiguration", "apiserver.config.k8s.io/v1"),
        ("PodSecurityConfiguration", "pod-security.admission.config.k8s.io/v1beta1"),
    ]
    assert config_files.documents(["text"]) == []


@pytest.mark.parametrize(
    ("kind", "version", "target", "ends"),
    [
        ("AuthenticationConfiguration", "apiserver.config.k8s.io/v1beta1", "1.37.2", True),
        ("AuthenticationConfiguration", "apiserver.config.k8s.io/v1beta1", "1.33.2", False),
        ("AuthenticationConfiguration", "apiserver.config.k8s.io/v1", "1.37.2", False),
        ("Config", "v1", "1.37.2", False),
    ],
)
def test_what_ends(kind: str, version: str, target: str, ends: bool) -> None:
    found = config_files.ending("kube-apiserver", "authentication-config", "/a.yaml", [(kind, version)], target)
    assert [(each.fate, each.key, each.file) for each in found] == [(WARNS, "authentication-config", "/a.yaml")] * ends
