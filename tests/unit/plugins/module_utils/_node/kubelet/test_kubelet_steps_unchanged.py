# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet that has nothing to change, and whether it works."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import probes
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import kubelet_units
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_nodes import Node
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import INODE, Web


@pytest.fixture(name="node")
def fixture_node(kubelet_node: Node) -> Node:
    return kubelet_node


def carry_out_nothing(node: Node) -> None:
    steps = node.steps(config={"maxPods": 110})
    with steps.session():
        steps.read()
        assert steps.plan().operations == ()
        steps.verify()


def test_nothing_to_do_is_no_success_over_a_kubelet_that_is_down(node: Node) -> None:
    node.properties.update(ActiveState="activating", SubState="auto-restart", MainPID="0")
    with pytest.raises(KubeadmError, match=r"it is activating \(auto-restart\).*command failed"):
        carry_out_nothing(node)


def test_kubelet_without_healthz_is_not_verified(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: (None, "no answer"))
    node.main.write_text(f"{kubelets.MAIN_TEXT}healthzPort: 0\n", encoding="ascii")
    node.properties.update(ActiveState="active", SubState="running")
    steps = node.steps(config={"maxPods": 110})
    with steps.session():
        steps.read()
        steps.plan()
        warnings = steps.verify()
    limits = ["whether it is healthy: healthzPort is 0", "whether its Node is ready and evicts no pods: no answer"]
    assert steps.report()["unverified"] == limits
    assert [each.partition("kubelet: not verified: ")[2] for each in warnings] == limits


@pytest.mark.parametrize("limit", [110, 50])
def test_configuration_that_is_newer_than_the_process_is_not_verified(
    node: Node, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """With nothing to change (110), and before a change, which would bring it in; with its former time, as of cp -p."""
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: (None, "no answer"))
    node.main.write_text(f"{kubelets.MAIN_TEXT}healthzPort: 0\n", encoding="ascii")
    node.properties.update(ActiveState="active", SubState="running")
    for path in (node.main, node.unit, node.kubeadm, node.extra):
        os.utime(path, (1.0, 1.0))
    node.start_at(time.time() - 60)
    steps = node.steps(dry=True, config={"maxPods": limit})
    with steps.session():
        steps.read()
        if not steps.plan().operations:
            steps.verify()
    message = "the file was changed after the process was started"
    limits = [
        f"whether it has read {path} as it is: {message}" for path in (node.extra, node.unit, node.kubeadm, node.main)
    ]
    assert steps.report()["unverified"][-4:] == limits


@pytest.mark.parametrize("seconds", [-60, 60])
@pytest.mark.parametrize("name", ["kubelet.service.d", "service.d"])
def test_drop_in_that_was_removed_may_still_be_in_use(
    node: Node, monkeypatch: pytest.MonkeyPatch, seconds: int, name: str, tmp_path: Path
) -> None:
    """It may have set variables alone, which no command line shows."""
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: (None, "no answer"))
    monkeypatch.setattr(kubelet_units, "_UNIT_ROOTS", (str(tmp_path), str(tmp_path / "none")))
    (tmp_path / name).mkdir()
    node.main.write_text(f"{kubelets.MAIN_TEXT}healthzPort: 0\n", encoding="ascii")
    node.properties.update(ActiveState="active", SubState="running")
    node.start_at(time.time() + seconds)
    steps = node.steps(dry=True, config={"maxPods": 110})
    with steps.session():
        steps.read()
        steps.plan()
        steps.verify()
    line = f"whether it has read {tmp_path}/{name} as it is: a file was added or removed after the process was started"
    assert (line in steps.report()["unverified"]) is (seconds < 0)


@pytest.mark.parametrize(
    ("inode", "doubt"),
    [(INODE, ""), (1, "another program listens at its health port"), (None, "who listens at its health port")],
)
def test_kubelet_is_healthy_only_by_a_port_of_its_own(
    node: Node, web: Web, monkeypatch: pytest.MonkeyPatch, inode: int | None, doubt: str
) -> None:
    """Whatever it logs, and wherever: what a drop-in sends to a file journalctl does not show."""
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: (None, "no answer"))
    node.serve_health(web.port, inode=inode or INODE)
    if inode is None:
        (node.proc / "net/tcp").unlink()
    node.log = ""
    steps = node.steps(config={"maxPods": 110})
    with steps.session():
        steps.read()
        steps.plan()
        steps.verify()
    found = [each for each in steps.report()["unverified"] if each.startswith("whether it is healthy: ")]
    assert [each[: len(doubt) + 23] for each in found] == ([f"whether it is healthy: {doubt}"] if doubt else [])


UNREADY = {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
SHORT = {"type": "MemoryPressure", "status": "True", "message": "kubelet has insufficient memory available"}


@pytest.mark.parametrize(
    ("condition", "state"),
    [
        (UNREADY, "its Node is not ready (Kubelet stopped posting node status.)"),
        (
            SHORT,
            "its Node reports MemoryPressure (kubelet has insufficient memory available), so it evicts pods and takes fewer new ones",
        ),
    ],
)
@pytest.mark.parametrize("limit", [110, 50])
def test_kubelet_whose_node_does_not_work_does_not_count_as_working(
    node: Node, web: Web, monkeypatch: pytest.MonkeyPatch, *, limit: int, condition: Json, state: str
) -> None:
    """With nothing to change (110), and before a change."""
    conditions = [{"type": "Ready", "status": "True"}, condition][-1 if condition is UNREADY else 0 :]
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: ({"status": {"conditions": conditions}}, ""))
    node.serve_health(web.port)
    node.properties.update(ActiveState="active", SubState="running")
    steps = node.steps(dry=True, config={"maxPods": limit})
    with steps.session():
        steps.read()
        if not steps.plan().operations:
            steps.verify()
    assert steps.report()["unverified"] == [f"whether it works: {state}"]


def test_a_kubelet_that_runs_and_responds_is_left_alone(node: Node, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: (None, "no answer"))
    node.serve_health(web.port)
    node.properties.update(ActiveState="active", SubState="running")
    carry_out_nothing(node)


def test_kubelet_that_starts_no_pod_is_no_success(
    node: Node, web: Web, monkeypatch: pytest.MonkeyPatch, runtime: FakeCri
) -> None:
    """Its Node shows it 45 seconds later."""
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: (None, "no answer"))
    node.serve_health(web.port)
    node.properties.update(ActiveState="active", SubState="running")
    runtime.network_problem = "cni plugin not initialized"
    carry_out_nothing(node)
    runtime.problem = "starting"
    with pytest.raises(
        KubeadmError, match=r"there is nothing to change, but it starts no pod: .*starting.*journalctl -u"
    ):
        carry_out_nothing(node)


# ---- policies --------------------------------------------------------------------------------------------------------
