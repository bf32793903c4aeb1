# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of the module kubelet_info for a kubelet in a directory."""

from __future__ import annotations

import os
import time

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import (
    kubelet_report,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_nodes import Node
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import kubeconfig


@pytest.fixture(name="node")
def fixture_node(kubelet_node: Node) -> Node:
    return kubelet_node


def test_the_cluster_of_the_running_kubelet_is_reported(node: Node) -> None:
    process = node.root / "proc/7/cmdline"
    process.write_text(process.read_text(encoding="utf-8").replace("kubelet.conf", "other.conf"), encoding="utf-8")
    node.write(f"proc/7/root/{node.root}/other.conf", kubeconfig("https://x:6443"))
    node.write("proc/7/root/etc/machine-id", "m\n")
    expected = {"ca_sha256": "", "server": "https://x:6443", "machine_id": "m"}
    assert kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)["cluster"] == expected
    steps = node.steps()
    assert steps.report()["cluster"] == dict.fromkeys(expected, "")
    with steps.session():
        steps.read()
    assert steps.report()["cluster"] == expected


def test_why_it_counts_as_a_control_plane_is_reported(node: Node) -> None:
    assert kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)["control_plane"] == []
    node.write("proc/20/cmdline", "kube-apiserver\0")
    node.write("proc/20/cgroup", "0::/init.scope\n")
    for pid in (1, 20):
        node.write(f"proc/{pid}/ns/none", "").with_name("net").symlink_to("net:[1]")
    expected = ["kube-apiserver runs in the host's network as process 20"]
    assert kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)["control_plane"] == expected
    steps = node.steps()
    assert steps.report()["control_plane"] == []
    with steps.session():
        steps.read()
    assert steps.report()["control_plane"] == expected


def test_the_report_names_what_sets_what(node: Node) -> None:
    found = kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)
    assert schema_errors("kubelet_info", found) == []
    assert found["in_sync"]
    assert found["blocked_by"] is None
    assert found["process"]["pid"] == 7
    assert found["feature_gates"] == {"Theirs": True}
    assert found["sources"]["config"]["maxPods"] == [f"{node.main}:7"]
    assert found["sources"]["feature_gates"]["Theirs"] == [f"{node.main}:6"]
    assert found["arguments"][-1] == {"argument": "--hostname-override=W1", "source": f"{node.extra}:1"}
    assert found["files"] == [str(node.unit), str(node.kubeadm), str(node.main)]
    assert found["open_transaction"] is None


def test_kubelet_that_has_not_read_a_file_of_ours_is_not_in_sync(node: Node) -> None:
    directory = node.root / "kubelet.conf.d"
    node.extra.write_text(f"KUBELET_EXTRA_ARGS=--hostname-override=W1 --config-dir={directory}\n", encoding="ascii")
    process = node.root / "proc/7/cmdline"
    process.write_text(f"{process.read_text(encoding='ascii')}--config-dir={directory}\0", encoding="ascii")
    fragment = node.write(f"kubelet.conf.d/{kubelet_layout.FRAGMENT}", f"{kubelets.MAIN_TEXT}maxPods: 50\n")
    for path in (node.unit, node.kubeadm, node.main, node.extra, fragment, directory):
        os.utime(path, (1.0, 1.0))  # as cp -p would leave them, and what our change leaves in the directory
    started = time.time() - 60
    node.start_at(started)
    assert not kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)["in_sync"]
    node.start_at(started + 120)
    assert kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)["in_sync"]


def test_the_report_reports_a_state_file_that_does_not_match(node: Node) -> None:
    root_dir = node.give_root()
    (root_dir / "cpu_manager_state").write_text('{"policyName":"static"}', encoding="ascii")
    found = kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)["resource_managers"]
    assert found["cpuManagerPolicy"] == {
        "policy": "none",
        "state_file": str(root_dir / "cpu_manager_state"),
        "state_policy": "static",
        "mismatch": "cpu_manager_state names the policy static, but cpuManagerPolicy is none",
    }
    assert found["memoryManagerPolicy"]["state_policy"] is None
    assert found["topologyManagerPolicy"] == {
        "policy": "none",
        **dict.fromkeys(("state_file", "state_policy", "mismatch")),
    }


def test_fragment_without_record_blocks_a_change(node: Node) -> None:
    """As of a node that was made from an image."""
    name = f"{kubelet_layout.CONFIG_DIR}/{kubelet_layout.FRAGMENT}"
    node.write(os.path.relpath(name, node.root), "kind: KubeletConfiguration\n")
    found = kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)
    assert "the node has no record that this module wrote it" in (found["blocked_by"] or "")


def test_the_report_reports_why_a_unit_would_be_refused(node: Node) -> None:
    used = f"--kubeconfig={node.kubeconfig} --hostname-override=w1"
    late = node.write("zzzzz.conf", f"[Service]\nExecStart=\nExecStart=/usr/bin/kubelet {used}\n")
    node.properties.update(MainPID="0", DropInPaths=str(late))
    found = kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)
    assert f"{late}:3 sets ExecStart in a drop-in that is read after" in found["blocked_by"]
    assert (found["process"], found["in_sync"]) == (None, False)
