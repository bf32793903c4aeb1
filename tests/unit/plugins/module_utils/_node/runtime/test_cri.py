# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container runtime by the kubelet's own interface."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime import cri
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support import fake_cri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import PINNED, FakeCri

IMAGE = "registry.k8s.io/kube-apiserver:v1.37.2"


@pytest.fixture
def runtime() -> t.Iterator[FakeCri]:
    with fake_cri.served_runtime() as runtime:
        yield runtime


def test_ready_runtime_has_no_problem(runtime: FakeCri) -> None:
    assert cri.read_status(runtime.path) == ("", "", "registry.k8s.io/pause:3.10")
    assert runtime.calls == ["RuntimeService/Status"]


def test_status_of_containerd_is_read(runtime: FakeCri, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "respond", lambda method, request: fake_cri.CONTAINERD_STATUS)
    assert cri.read_status(runtime.path) == ("", "", "")


def test_conditions_that_are_not_met_are_quoted(runtime: FakeCri) -> None:
    runtime.problem, runtime.network_problem = "shim is gone", "cni plugin not initialized"
    runtime.sandbox_image = None
    assert cri.read_status(runtime.path) == ("NotReady: shim is gone", "NotReady: cni plugin not initialized", "")


def test_image_is_found_by_its_whole_name(runtime: FakeCri) -> None:
    runtime.images = {IMAGE}
    assert cri.has_image(runtime.path, IMAGE)
    assert not cri.has_image(runtime.path, "registry.k8s.io/etcd:3.7.0-0")
    assert not cri.has_image(runtime.path, "x" * 300)


@pytest.mark.parametrize("padding", [0, 300_000])
def test_pinned_image_is_found_in_a_list_of_any_length(runtime: FakeCri, padding: int) -> None:
    runtime.padding = padding
    assert cri.pinned_images(runtime.path) == [PINNED]
    runtime.pinned = False
    assert cri.pinned_images(runtime.path) == []


def test_runtime_without_cri_declines_the_call(runtime: FakeCri) -> None:
    runtime.declines = True
    with pytest.raises(KubeadmError, match=r"declines RuntimeService/Status of CRI runtime\.v1"):
        cri.read_status(runtime.path)


def test_runtime_that_hangs_is_given_up(runtime: FakeCri, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cri, "TIMEOUT", 0.2)
    runtime.silent = True
    with pytest.raises(KubeadmError, match=r"does not answer: no answer within 0\.2 s"):
        cri.read_status(runtime.path)


def test_runtime_without_socket_is_named_with_its_place(runtime: FakeCri) -> None:
    runtime.stop()
    with pytest.raises(KubeadmError) as caught:
        cri.read_status(runtime.path)
    assert str(caught.value) == f"the container runtime at {runtime.path} does not answer: No such file or directory"
