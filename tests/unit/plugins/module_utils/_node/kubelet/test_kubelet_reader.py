# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet of a node: found by its unit, read with its own command line and configuration."""

from __future__ import annotations

import os

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_reader import (
    KubeletDown,
    read_kubelet,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import ClusterIdentity
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun, add_kubelet
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import kubeconfig


def test_kubeadms_kubelet(node: FakeNode, run: FakeRun) -> None:
    add_kubelet(node)
    kubelet = read_kubelet(run, proc=str(node.proc))
    assert (kubelet.program, kubelet.manifest_dir) == ("/usr/bin/kubelet", str(node.manifests))
    assert (kubelet.node_name, kubelet.problem) == ("cp1", "")


def test_flags_win_over_the_configuration(node: FakeNode, run: FakeRun) -> None:
    add_kubelet(
        node,
        "kubelet",
        "--pod-manifest-path",
        "/other/",
        "--hostname_override= CP2 ",
        "--config",
        "/var/lib/kubelet/config.yaml",
    )
    kubelet = read_kubelet(run, proc=str(node.proc))
    assert (kubelet.manifest_dir, kubelet.node_name) == ("/other", "cp2")


def test_the_cluster_that_it_belongs_to(node: FakeNode, run: FakeRun) -> None:
    add_kubelet(node)
    path = node.proc / "50/root/etc/kubernetes/kubelet.conf"
    path.parent.mkdir(parents=True)
    path.write_text(kubeconfig("https://x:6443"), encoding="utf-8")
    assert read_kubelet(run, proc=str(node.proc)).cluster == ClusterIdentity(server="https://x:6443")


def test_without_flags_the_hosts_name_counts(node: FakeNode, run: FakeRun) -> None:
    add_kubelet(node, "kubelet", "--pod-manifest-path=/m")
    assert read_kubelet(run, proc=str(node.proc)).node_name == os.uname().nodename.lower()


@pytest.mark.parametrize(
    ("flags", "config", "address"),
    [
        ([], "", ("127.0.0.1", 10248)),
        ([], "healthzPort: 1\nhealthzBindAddress: 10.0.0.11\n", ("10.0.0.11", 1)),
        (["--healthz-port=2", "--healthz-bind-address=127.0.0.2"], "healthzPort: 1\n", ("127.0.0.2", 2)),
        ([], "healthzPort: 0\n", None),
        (["--healthz-port=0"], "", None),
    ],
)
def test_where_the_kubelet_reports_its_health(
    node: FakeNode, run: FakeRun, flags: list[str], config: str, address: tuple[str, int] | None
) -> None:
    add_kubelet(node, "kubelet", "--config=/var/lib/kubelet/config.yaml", *flags, config=f"staticPodPath: /m\n{config}")
    probe = read_kubelet(run, proc=str(node.proc)).healthz
    assert (probe and (probe["host"], probe["port"], probe["path"])) == (address and (*address, "/healthz"))


@pytest.mark.parametrize(
    ("flags", "config", "places"),
    [
        ([], "", {}),
        (
            ["--kubeconfig=/k.conf"],
            "podLogsDir: /data/logs\n",
            {"more_pod_logs": ["/data/logs"], "kubelet_conf": "/k.conf"},
        ),
        (["--root-dir", "/data/kubelet"], "", {"kubelet_root": "/data/kubelet"}),
    ],
)
def test_where_the_kubelet_keeps_its_pods_their_logs_and_its_credential(
    node: FakeNode, run: FakeRun, flags: list[str], config: str, places: dict[str, object]
) -> None:
    add_kubelet(node, "kubelet", "--config=/var/lib/kubelet/config.yaml", *flags, config=f"staticPodPath: /m\n{config}")
    assert read_kubelet(run, proc=str(node.proc)).paths == places


@pytest.mark.parametrize(
    ("flags", "config", "runtime"),
    [
        ([], "", "unix:///run/containerd/containerd.sock"),
        ([], "containerRuntimeEndpoint: unix:///a\n", "unix:///a"),
        (["--container-runtime-endpoint=unix:///b"], "containerRuntimeEndpoint: unix:///a\n", "unix:///b"),
    ],
)
def test_the_kubelets_container_runtime(
    node: FakeNode, run: FakeRun, flags: list[str], config: str, runtime: str
) -> None:
    add_kubelet(node, "kubelet", "--config=/var/lib/kubelet/config.yaml", *flags, config=f"staticPodPath: /m\n{config}")
    assert read_kubelet(run, proc=str(node.proc)).runtime == runtime


def test_the_directory_of_fragments_counts_as_for_the_kubelet(node: FakeNode, run: FakeRun) -> None:
    """Among them our own: a port that it sets must not have every later change of a static pod refused."""
    add_kubelet(
        node,
        "kubelet",
        "--config=/var/lib/kubelet/config.yaml",
        "--config-dir=/etc/kubernetes/kubelet.conf.d",
        config="staticPodPath: /m\nhealthzPort: 1\nhealthzBindAddress: 10.0.0.11\n",
    )
    directory = node.proc / "50/root/etc/kubernetes/kubelet.conf.d"
    for name, text in (
        ("a/10.conf", "containerRuntimeEndpoint: unix:///a\nhealthzPort: 2\nstaticPodPath: /a\n"),
        ("zz-nodecraft-kubeadm.conf", '{"healthzPort": 3, "healthzBindAddress": null}\n'),
        ("zzz.yaml", "healthzPort: 4\n"),
        # Names on the way count one by one, so this one comes after a/10.conf.
        ("a-b.conf", "staticPodPath: /other\n"),
    ):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")
    kubelet = read_kubelet(run, proc=str(node.proc))
    assert kubelet.healthz is not None
    assert (kubelet.healthz["host"], kubelet.healthz["port"]) == ("127.0.0.1", 3)
    assert (kubelet.runtime, kubelet.manifest_dir) == ("unix:///a", "/other")


def test_a_directory_of_fragments_that_is_a_link_is_not_read(node: FakeNode, run: FakeRun) -> None:
    add_kubelet(
        node, "kubelet", "--config=/var/lib/kubelet/config.yaml", "--config-dir=/c", config="staticPodPath: /m\n"
    )
    real = node.proc / "50/root/real"
    real.mkdir()
    (real / "1.conf").write_text("staticPodPath: /other\n", encoding="utf-8")
    (node.proc / "50/root/c").symlink_to(real)
    assert read_kubelet(run, proc=str(node.proc)).manifest_dir == "/m"


def test_fragments_that_cannot_be_listed_do_not_count_as_none(node: FakeNode, run: FakeRun) -> None:
    add_kubelet(node, "kubelet", "--config=/c.yaml", "--config-dir=/c")
    (node.proc / "50/root/c.yaml").write_text("kind: KubeletConfiguration\n", encoding="utf-8")
    (node.proc / "50/root/c").write_text("", encoding="utf-8")
    with pytest.raises(KubeadmError, match=r"fragments in \S+/c on \S+ cannot be listed: Not a directory"):
        read_kubelet(run, proc=str(node.proc))


def test_a_worker_is_no_control_plane(node: FakeNode, run: FakeRun) -> None:
    add_kubelet(node, config="kind: KubeletConfiguration\n")
    with pytest.raises(KubeadmError, match=r"is not a kubeadm control plane.*staticPodPath"):
        read_kubelet(run, proc=str(node.proc))


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ((0, "ActiveState=inactive\nMainPID=0\n", ""), "kubelet.service is inactive"),
        ((0, "ActiveState=activating\nMainPID=7\n", ""), "kubelet.service is activating"),
        ((0, "ActiveState=active\nMainPID=0\n", ""), "kubelet.service is active"),
        ((0, "", ""), "kubelet.service is unknown"),
        ((1, "", "System has not been booted with systemd\n"), "System has not been booted with systemd"),
    ],
)
def test_a_host_without_a_running_kubelet_is_refused(
    node: FakeNode, run: FakeRun, result: tuple[int, str, str], found: str
) -> None:
    run.results["systemctl show"] = result
    with pytest.raises(KubeadmError) as refusal:
        read_kubelet(run, proc=str(node.proc))
    assert found in str(refusal.value)


def test_a_kubelet_that_ended_while_it_was_read_is_down(node: FakeNode, run: FakeRun) -> None:
    """One that panics at its start is active for a moment."""
    with pytest.raises(KubeletDown, match=r"kubelet\.service ended"):
        read_kubelet(run, proc=str(node.proc))


def test_a_configuration_that_cannot_be_read_is_named(node: FakeNode, run: FakeRun) -> None:
    add_kubelet(node, config="a: [")
    with pytest.raises(KubeadmError, match=r"/var/lib/kubelet/config\.yaml"):
        read_kubelet(run, proc=str(node.proc))
    (node.proc / "50/root/var/lib/kubelet/config.yaml").unlink()
    with pytest.raises(KubeadmError, match=r"/var/lib/kubelet/config\.yaml"):
        read_kubelet(run, proc=str(node.proc))
