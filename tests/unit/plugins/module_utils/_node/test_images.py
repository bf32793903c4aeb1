# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images, by whichever program the node has."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node import images
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun

IMAGE = "registry.k8s.io/kube-apiserver:v1.34.4"
RUNTIME = "unix:///run/containerd/containerd.sock"
MISSING = (127, "", "env: 'crictl': No such file or directory\n")
NO_SUCH = (1, "", f'time="x" level=fatal msg="no such image \\"{IMAGE}\\" present"\n')


@pytest.mark.parametrize(
    ("crictl", "ctr", "found"),
    [
        ((0, "sha256:1\n", ""), None, True),
        (NO_SUCH, None, False),
        (MISSING, (0, f"{IMAGE}\n", ""), True),
        (MISSING, (0, "", ""), False),
        (MISSING, (127, "", "env: 'ctr': No such file or directory\n"), None),
        ((1, "", "connection refused"), (1, "", "permission denied"), None),
    ],
)
def test_the_first_program_that_can_tell_is_believed(
    run: FakeRun, crictl: tuple[int, str, str], ctr: tuple[int, str, str] | None, found: bool | None
) -> None:
    run.answers["env crictl"] = crictl
    if ctr is not None:
        run.answers["env ctr"] = ctr
    assert images.is_present(IMAGE, RUNTIME, run) is found
    assert f"--runtime-endpoint={RUNTIME}" in run.calls[0]
    if ctr is not None:
        assert "--address=/run/containerd/containerd.sock" in run.calls[1]
        assert run.calls[1][-1] == f"name=={IMAGE}"


@pytest.mark.parametrize("image", ["api:v1", "library/api", "registry.k8s.io/api", f"{IMAGE}@sha256:{'0' * 64}"])
def test_a_name_that_containerd_writes_otherwise_is_not_called_missing(run: FakeRun, image: str) -> None:
    run.answers["env crictl"] = MISSING
    assert images.is_present(image, RUNTIME, run) is None
    assert len(run.calls) == 1


@pytest.mark.parametrize("image", [f"registry.k8s.io/api@sha256:{'0' * 64}", "localhost/api:v1", "host:5000/a/b:v1"])
def test_whole_names_are_looked_up(run: FakeRun, image: str) -> None:
    run.answers.update({"env crictl": MISSING, "env ctr": (0, "", "")})
    assert images.is_present(image, RUNTIME, run) is False
