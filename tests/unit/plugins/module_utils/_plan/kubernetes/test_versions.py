# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which versions are warned of, and how."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import versions

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("v1.37.2", (1, 37)),
        ("1.37.2-gke.1", (1, 37)),
        ("v1.37.2+k3s1", (1, 37)),
        ("v1.37", (1, 37)),
        ("Kubernetes v1.37.2\n", (1, 37)),
        ("v1.4.0", (1, 4)),
        ("latest", None),
        ("37", None),
        ("", None),
        ("refused: v1.37.2", None),
        ("2026.11.23-v1.37.2", None),
    ],
)
def test_a_minor_version(text: str, minor: tuple[int, int] | None) -> None:
    assert versions.parse(text) == minor


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("registry.k8s.io/kube-apiserver:v1.37.2", "v1.37.2"),
        (f"registry.k8s.io/kube-apiserver:v1.37.2@{DIGEST}", "v1.37.2"),
        ("localhost:5000/kube-apiserver:v1.37.2", "v1.37.2"),
        ("localhost:5000/kube-apiserver", "image: localhost:5000/kube-apiserver"),
        (f"example.com/kube-apiserver@{DIGEST}", f"image: example.com/kube-apiserver@{DIGEST}"),
        ("1.37.example.com/kube-apiserver", "image: 1.37.example.com/kube-apiserver"),
        (None, "image: not found"),
    ],
)
def test_what_an_image_reports(image: str | None, expected: str) -> None:
    assert versions.component_versions({"kube-apiserver": image}) == {"kube-apiserver": [expected]}


def test_only_components_of_kubernetes_are_held_against_its_versions() -> None:
    images = {"etcd": "registry.k8s.io/etcd:3.7.0-0", "kube-vip": "x/kube-vip:v0.8.0", "kube-scheduler": "x/s:v1.32.0"}
    assert versions.component_versions(images) == {"kube-scheduler": ["v1.32.0"]}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("v0.38.0", "older"),
        ("v1.4.0", "older"),
        ("v1.31.14", "older"),
        ("v1.32.0", None),
        ("v1.37.9", None),
        ("v1.38.0-alpha.1", "newer"),
        ("v1.100.0", "newer"),
        ("v2.0.0", "newer"),
    ],
)
def test_the_ends_of_the_range(version: str, expected: str | None) -> None:
    found = versions.warnings("cp1", {"kubelet": [version]})
    advice = "This collection is tested with Kubernetes 1.32 to 1.37. Rehearsals still apply; try changes on a test cluster first."
    assert found == ([f"cp1: kubelet {version} ({expected} than tested). {advice}"] if expected else [])


def test_all_is_reported_in_one_warning_and_each_version_once() -> None:
    (warning,) = versions.warnings(
        "cluster", {"API server": ["v1.36.0"], "kubelet": ["v1.100.0", "v1.9.0", "latest", "v1.33.1", "v1.9.0"]}
    )
    assert warning.partition(". This collection")[0] == (
        "cluster: kubelet of unknown version (latest), kubelet v1.9.0 (older than tested), kubelet v1.100.0 (newer than tested)"
    )


def test_nothing_found_is_nothing_to_report() -> None:
    assert versions.warnings("cp1", {"kubelet": []}) == versions.warnings("cp1", {}) == []
