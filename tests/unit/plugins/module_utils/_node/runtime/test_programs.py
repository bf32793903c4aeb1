# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of a component: of the process that runs, else out of its image."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime import programs
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.container_runtime import runtime_at
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun

IMAGE = f"registry.k8s.io/{NAME}:v1.37.2"


def used(master: FakeNode, run: FakeRun, endpoint: str = "unix:///run/crio/crio.sock") -> programs.Program:
    """The program, while it may be used."""
    pod = static_pods.read_static_pod(NAME, str(master.manifests), "cp1")
    with programs.program_of(pod, runtime_at(endpoint, run), master.host) as program:
        assert os.path.exists(program.binary)
    return program


def image(run: FakeRun, root: Path) -> None:
    """The component's image, as podman shows it: its program is a link that has a meaning in the image only."""
    (root / "usr/local/bin").mkdir(parents=True)
    (root / "opt").mkdir()
    (root / "opt/api").write_text("a program", encoding="ascii")
    (root / "usr/local/bin" / NAME).symlink_to("/opt/api")
    run.results["podman image mount"] = (0, f"{root}\n", "")
    run.results["podman image unmount"] = (0, "", "")


def stop(master: FakeNode) -> None:
    master.kubelet.kill(master.kubelet.instances[0])


def test_the_running_process_is_used_without_querying_the_runtime(master: FakeNode, run: FakeRun) -> None:
    root = master.show_root(master.kubelet.instances[0].pid)
    program = used(master, run)
    assert program.binary.startswith(f"/proc/{os.getpid()}/fd/")
    assert program.root == str(root)
    assert run.calls == []


def test_a_root_file_system_that_the_node_does_not_show_is_not_known(master: FakeNode, run: FakeRun) -> None:
    assert used(master, run).root is None


def test_another_tree_of_the_same_file_system_is_not_taken(master: FakeNode, run: FakeRun) -> None:
    master.show_root(master.kubelet.instances[0].pid)
    table = master.proc / "self/mountinfo"
    table.write_text(table.read_text(encoding="ascii").replace("0:44 /", "0:44 /other"), encoding="ascii")
    assert used(master, run).root is None


def test_a_component_that_is_down_is_taken_out_of_its_image(master: FakeNode, run: FakeRun, tmp_path: Path) -> None:
    stop(master)
    image(run, tmp_path / "image")
    assert used(master, run) == (f"{tmp_path}/image/opt/api", f"{tmp_path}/image")
    assert run.calls == [["podman", "image", "mount", IMAGE], ["podman", "image", "unmount", IMAGE]]


@pytest.mark.parametrize(
    ("endpoint", "why"),
    [
        ("unix:///run/containerd/containerd.sock", r"containerd at /run/containerd/containerd.sock: no ctr"),
        ("unix:///run/crio/crio.sock", r"CRI-O at /run/crio/crio.sock: no podman"),
        ("unix:///run/cri-dockerd.sock", r"Docker shows no image as a directory"),
    ],
)
def test_an_image_that_cannot_be_opened_is_refused_with_the_way_out(
    master: FakeNode, run: FakeRun, endpoint: str, why: str
) -> None:
    stop(master)
    run.results.update({"ctr": (127, "", "no ctr"), "podman": (127, "", "no podman")})
    with pytest.raises(
        KubeadmError, match=rf"does not run on .* extracted from the image {IMAGE} .*{why}.*rehearse: false"
    ):
        used(master, run, endpoint)


def test_an_image_without_the_program_is_named_and_closed(master: FakeNode, run: FakeRun, tmp_path: Path) -> None:
    stop(master)
    image(run, tmp_path / "image")
    (tmp_path / "image/opt/api").unlink()
    with pytest.raises(KubeadmError, match=r"it holds no kube-apiserver in .*rehearse: false"):
        used(master, run)
    assert run.calls[-1] == ["podman", "image", "unmount", IMAGE]
