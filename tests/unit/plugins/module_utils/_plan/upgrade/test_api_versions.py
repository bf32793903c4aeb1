# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""API versions that end: of kubeadm's configuration, and of the configuration files of components."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.cluster_configuration import (
    ClusterConfiguration,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import api_versions
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import BROKEN, WARNS

TEXT = "apiServer: {}\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"


@pytest.mark.parametrize(
    ("version", "target", "breaks"),
    [
        ("v1beta3", (1, 37, 2), True),
        ("v1beta3", (1, 36, 4), False),
        ("v1beta2", (1, 27, 0), True),
        ("v1beta4", (1, 37, 2), False),
    ],
)
def test_a_version_that_the_target_does_not_read_breaks(version: str, target: tuple[int, ...], breaks: bool) -> None:
    found = api_versions.api_version_findings(ClusterConfiguration.parse(TEXT.replace("v1beta4", version)), target)
    assert [(each.impact, each.line) for each in found] == ([(BROKEN, 2)] if breaks else [])
    assert all("kubeadm config migrate" in each.message for each in found)


def test_each_configuration_in_a_file_is_held_against_the_target() -> None:
    inner = {"kind": "PodSecurityConfiguration", "apiVersion": "pod-security.admission.config.k8s.io/v1beta1"}
    data = {
        "kind": "AdmissionConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1beta1",
        "plugins": [{"name": "PodSecurity", "configuration": inner}, {"name": "X", "path": "/x"}, None],
    }
    found = api_versions.find_ending("kube-apiserver", "admission", "/a.yaml", json.dumps(data).encode(), "1.37.2")
    assert [each.message.split()[0] for each in found] == ["AdmissionConfiguration", "PodSecurityConfiguration"]
    assert api_versions.find_ending("kube-apiserver", "admission", "/a.yaml", b"[text]", "1.37.2") == []
    assert api_versions.plugin_files("/b/a.yaml", json.dumps(data).encode()) == ["/x"]
    data["plugins"] = [{"name": "X", "path": "x"}]
    assert api_versions.plugin_files("/b/a.yaml", json.dumps(data).encode()) == ["/b/x"]
    assert api_versions.plugin_files("/b/a.yaml", b"[text]") == []


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
    content = json.dumps({"kind": kind, "apiVersion": version}).encode()
    found = api_versions.find_ending("kube-apiserver", "authentication-config", "/a.yaml", content, target)
    assert [(each.impact, each.key, each.file) for each in found] == [
        (WARNS, "authentication-config", "/a.yaml")
    ] * ends
