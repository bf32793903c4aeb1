# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet that does not work: what is read of it, and what is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_down import (
    read_any_kubelet,
    read_running_kubelet,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import state
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_nodes import Node
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

PANIC = "I1 starting\npanic: unrecognized feature gate: OldGate\ngoroutine 1 [running]:\n"
DOWN = "kubelet on w1 is activating (auto-restart)"


@pytest.fixture(name="node")
def fixture_node(tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node with static pods whose kubelet's health endpoint is a web server."""
    monkeypatch.setattr(state, "STATE_DIR", str(tmp_path / "state"))
    node = Node(tmp_path)
    node.main.write_text(f"staticPodPath: /m\nhealthzPort: {web.port}\n", encoding="utf-8")
    seen = node.proc / "7/root" / str(node.main).lstrip("/")
    seen.parent.mkdir(parents=True)
    seen.write_bytes(node.main.read_bytes())
    return node


def test_a_kubelet_that_works_is_read_as_it_runs(node: Node) -> None:
    found = read_any_kubelet(node.run, node.host, ready_timeout=0)
    assert (found.manifest_dir, found.node_name, found.problem) == ("/m", "w1", "")
    assert not [call for call in node.calls if call.startswith("journalctl")]


def test_a_kubelet_that_panics_is_read_from_its_files_and_quoted(node: Node) -> None:
    running = read_any_kubelet(node.run, node.host, ready_timeout=0)
    node.crash(PANIC)
    found = read_any_kubelet(node.run, node.host, ready_timeout=0)
    assert found.problem.startswith(DOWN)
    assert found.problem.endswith("; it logged last: panic: unrecognized feature gate: OldGate")
    assert (found.manifest_dir, found.node_name, found.healthz) == ("/m", "w1", running.healthz)
    assert (found.program, found.runtime, found.paths) == (running.program, running.runtime, running.paths)


def test_a_kubelet_that_is_not_healthy_is_quoted_too(node: Node, web: Web) -> None:
    web.health_status = 500
    found = read_any_kubelet(node.run, node.host, ready_timeout=0)
    assert "kubelet on w1 runs, not ready yet" in found.problem
    assert '/healthz answers 500); it logged last: E1 "command failed" err="bogus"' in found.problem


def test_a_change_of_a_static_pod_names_what_repairs_the_kubelet(node: Node) -> None:
    assert read_running_kubelet(node.run, node.host, ready_timeout=0).node_name == "w1"
    node.crash(PANIC)
    with pytest.raises(KubeadmError) as refusal:
        read_running_kubelet(node.run, node.host, ready_timeout=0)
    message = str(refusal.value)
    assert message.startswith(DOWN)
    assert "panic: unrecognized feature gate: OldGate. Nothing was changed" in message
    assert "the role node_kubelet repairs it" in message


def test_a_host_without_a_kubelet_is_reported_so(node: Node) -> None:
    node.crash("")
    node.properties["LoadState"] = "not-found"
    with pytest.raises(KubeadmError, match="runs no kubelet that could be queried"):
        read_running_kubelet(node.run, node.host, ready_timeout=0)
    with pytest.raises(KubeadmError, match=r"has no kubelet\.service"):
        read_any_kubelet(node.run, node.host, ready_timeout=0)
