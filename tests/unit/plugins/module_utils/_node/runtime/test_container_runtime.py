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
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun

IMAGE = "registry.k8s.io/kube-apiserver:v1.34.4"
CONTAINERD = "unix:///run/containerd/containerd.sock"
CRIO = "unix:///var/run/crio/crio.sock"
DOCKER = "unix:///run/cri-dockerd.sock"
MISSING = (127, "", "there is no program X in /usr/bin")
NO_SUCH = (1, "", f'time="x" level=fatal msg="no such image \\"{IMAGE}\\" present"\n')
CTR = ["ctr", "--address=/run/containerd/containerd.sock", "--namespace=k8s.io"]


def at(endpoint: str, run: FakeRun, **results: tuple[int, str, str]) -> Runtime:
    """The runtime at an endpoint, where these programs have results and no other is installed."""
    for program in ("crictl", "ctr", "podman", "docker"):
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
def test_the_kind_and_place_of_a_runtime_are_told_by_its_socket(
    run: FakeRun, endpoint: str, name: str, socket: str
) -> None:
    runtime = runtime_at(endpoint, run)
    assert (runtime.name, runtime.socket) == (name, socket)


@pytest.mark.parametrize(
    ("crictl", "ctr", "found"),
    [
        ((0, "sha256:1\n", ""), MISSING, True),
        (NO_SUCH, MISSING, False),
        (MISSING, (0, f"{IMAGE}\n", ""), True),
        (MISSING, (0, "", ""), False),
        (MISSING, MISSING, None),
        ((1, "", "connection refused"), (1, "", "permission denied"), None),
    ],
)
def test_the_first_program_that_can_tell_is_believed(
    run: FakeRun, crictl: tuple[int, str, str], ctr: tuple[int, str, str], found: bool | None
) -> None:
    assert at(CONTAINERD, run, crictl=crictl, ctr=ctr).has_image(IMAGE) is found
    assert f"--runtime-endpoint={CONTAINERD}" in run.calls[0]
    for call in run.calls[1:]:
        assert call == [*CTR, "--timeout=10s", "images", "list", "--quiet", f"name=={IMAGE}"]


@pytest.mark.parametrize("image", ["api:v1", "library/api", "registry.k8s.io/api", f"{IMAGE}@sha256:{'0' * 64}"])
def test_a_name_that_containerd_writes_otherwise_is_not_called_missing(run: FakeRun, image: str) -> None:
    assert at(CONTAINERD, run, ctr=(0, "", "")).has_image(image) is None
    assert len(run.calls) == 1


@pytest.mark.parametrize("image", [f"registry.k8s.io/api@sha256:{'0' * 64}", "localhost/api:v1", "host:5000/a/b:v1"])
def test_whole_names_are_looked_up(run: FakeRun, image: str) -> None:
    assert at(CONTAINERD, run, ctr=(0, "", "")).has_image(image) is False


@pytest.mark.parametrize(
    ("endpoint", "program", "result", "found"),
    [
        (CRIO, "podman", (0, "", ""), True),
        (CRIO, "podman", (1, "", ""), False),
        (CRIO, "podman", (125, "", "cannot open the storage"), None),
        (DOCKER, "docker", (0, "sha256:1\n", ""), True),
        (DOCKER, "docker", (1, "", f"Error: No such image: {IMAGE}\n"), False),
        (DOCKER, "docker", (1, "", "Cannot connect to the daemon\n"), None),
    ],
)
def test_other_runtimes_are_queried_with_their_own_programs(
    run: FakeRun, endpoint: str, program: str, result: tuple[int, str, str], found: bool | None
) -> None:
    assert at(endpoint, run, **{program: result}).has_image(IMAGE) is found
    assert (run.calls[-1][0], run.calls[-1][-1]) == (program, IMAGE)


def test_containerd_mounts_an_image_at_a_temporary_directory(run: FakeRun) -> None:
    with at(CONTAINERD, run, ctr=(0, "", "")).mount_image(IMAGE) as directory:
        assert os.path.isdir(directory)
        assert run.calls == [[*CTR, "images", "mount", IMAGE, directory]]
    assert run.calls[1:] == [[*CTR, "images", "unmount", "--rm", directory]]
    assert not os.path.exists(directory)


def test_podman_tells_where_an_image_is_shown(run: FakeRun) -> None:
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
