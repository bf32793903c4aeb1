# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container runtimes, by whichever program the node has."""

from __future__ import annotations

import os

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.container_runtime import (
    Runtime,
    runtime_at,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import PINNED, FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun

IMAGE = "registry.k8s.io/kube-apiserver:v1.34.4"
CONTAINERD = "unix:///run/containerd/containerd.sock"
CRIO = "unix:///var/run/crio/crio.sock"
DOCKER = "unix:///run/cri-dockerd.sock"
MISSING = (127, "", "there is no program X in /usr/bin")
CTR = ["ctr", "--address=/run/containerd/containerd.sock", "--namespace=k8s.io"]


def at(endpoint: str, run: FakeRun, **results: tuple[int, str, str]) -> Runtime:
    """The runtime at an endpoint, where these programs have results and no other is installed."""
    for program in ("ctr", "podman", "docker"):
        run.results[program] = results.get(program, MISSING)
    return runtime_at(endpoint, run)


@pytest.mark.parametrize(
    ("endpoint", "name", "socket"),
    [
        (CONTAINERD, "containerd", "/run/containerd/containerd.sock"),
        ("/run/elsewhere/own.sock", "containerd", "/run/elsewhere/own.sock"),
        ("unix:///run/docker/containerd/containerd.sock", "containerd", "/run/docker/containerd/containerd.sock"),
        (CRIO, "CRI-O", "/var/run/crio/crio.sock"),
        (DOCKER, "Docker", "/run/cri-dockerd.sock"),
    ],
)
def test_the_kind_and_place_of_a_runtime_are_recognized_by_its_socket(
    run: FakeRun, endpoint: str, name: str, socket: str
) -> None:
    runtime = runtime_at(endpoint, run)
    assert (runtime.name, runtime.socket) == (name, socket)


@pytest.mark.parametrize("endpoint", [CONTAINERD, CRIO, DOCKER])
def test_image_is_searched_by_the_interface_of_the_kubelet(run: FakeRun, runtime: FakeCri, endpoint: str) -> None:
    runtime.images = {IMAGE}
    assert runtime_at(endpoint, run).has_image(IMAGE) is True
    runtime.images = set()
    assert runtime_at(endpoint, run).has_image(IMAGE) is False
    assert run.calls == []


def test_runtime_that_does_not_respond_is_not_ready_and_knows_no_image(run: FakeRun, runtime: FakeCri) -> None:
    found = runtime_at(CONTAINERD, run)
    runtime.stop()
    assert found.has_image(IMAGE) is None
    assert found.find_sandbox_image("") == ("", None)
    assert found.unverified_image(IMAGE) == (
        f"whether the image {IMAGE} is in containerd: it does not answer at /run/containerd/containerd.sock"
    )
    assert "does not answer: No such file or directory" in found.read_status().not_ready


@pytest.mark.parametrize(
    ("reported", "images", "pinned", "found"),
    [
        ("registry.k8s.io/pause:3.10", {"registry.k8s.io/pause:3.10"}, False, True),
        ("registry.k8s.io/pause:3.10", set(), True, False),
        ("", set(), True, True),  # by whatever name that has
        ("", set(), False, None),
    ],
)
def test_sandbox_image_is_the_reported_one_or_a_pinned_one(
    run: FakeRun, runtime: FakeCri, reported: str, images: set[str], pinned: bool, found: bool | None
) -> None:
    runtime.images, runtime.pinned = images, pinned
    name, present = runtime_at(CONTAINERD, run).find_sandbox_image(reported)
    assert present is found
    assert name == (reported or (PINNED if found else ""))


def test_containerd_mounts_an_image_at_a_temporary_directory(run: FakeRun) -> None:
    with at(CONTAINERD, run, ctr=(0, "", "")).mount_image(IMAGE) as directory:
        assert os.path.isdir(directory)
        assert run.calls == [[*CTR, "images", "mount", IMAGE, directory]]
    assert run.calls[1:] == [[*CTR, "images", "unmount", "--rm", directory]]
    assert not os.path.exists(directory)


def test_podman_reports_where_an_image_is_shown(run: FakeRun) -> None:
    with at(CRIO, run, podman=(0, "/var/lib/containers/storage/overlay/1/merged\n", "")).mount_image(
        IMAGE
    ) as directory:
        assert directory == "/var/lib/containers/storage/overlay/1/merged"
        assert run.calls == [["podman", "image", "mount", IMAGE]]
    assert run.calls[1:] == [["podman", "image", "unmount", IMAGE]]


@pytest.mark.parametrize(
    ("endpoint", "why"),
    [
        (CONTAINERD, "containerd at /run/containerd/containerd.sock: there is no program X"),
        (CRIO, "CRI-O at /var/run/crio/crio.sock: there is no program X"),
        (DOCKER, "Docker shows no image as a directory"),
    ],
)
def test_an_image_that_cannot_be_shown_is_refused_with_the_reason(run: FakeRun, endpoint: str, why: str) -> None:
    with pytest.raises(KubeadmError, match=why), at(endpoint, run).mount_image(IMAGE):
        pass


@pytest.mark.parametrize(
    ("endpoint", "command"),
    [
        (CONTAINERD, [*CTR, "images", "import", "/tmp/a.tar"]),  # noqa: S108  # nothing is read
        (CRIO, ["podman", "load", "--quiet", "--input=/tmp/a.tar"]),
        (DOCKER, ["docker", "load", "--quiet", "--input=/tmp/a.tar"]),
    ],
)
def test_an_archive_is_loaded_by_what_the_runtime_has(run: FakeRun, endpoint: str, command: list[str]) -> None:
    assert at(endpoint, run, **{command[0]: (0, "loaded\n", "")}).load_archive("/tmp/a.tar") == "loaded"  # noqa: S108  # as above
    assert run.calls == [command]
    with pytest.raises(KubeadmError, match="there is no program X"):
        at(endpoint, run).load_archive("/tmp/a.tar")  # noqa: S108  # as above
