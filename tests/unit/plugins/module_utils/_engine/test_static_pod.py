# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is proven of a static pod that is healthy: its feature gates, and that it locks nobody out."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import COMMITTED, RESTORED, WAITING
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import admission
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.static_pod import backups_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import OLD, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import kubeconfig


def text_of(node: FakeNode) -> str:
    return node.manifest.read_text(encoding="utf-8")


# ---- gates -----------------------------------------------------------------------------------------------------------


def test_gates_are_read_from_the_running_process(node: FakeNode) -> None:
    node.kubeconfig.write_text(kubeconfig(), encoding="ascii")
    node.web.gates = {"A": True, "B": False, "Other": True}
    result = node.change(watch={"feature_gates": {"A": True, "B": False}})
    assert result["outcome"] == COMMITTED
    assert result["proof"]["feature_gates"] == {"A": True, "B": False}
    assert result["proof"]["feature_gates_note"] is None


@pytest.mark.parametrize("reported", [{"A": False}, {"Other": True}])
def test_gates_that_differ_in_the_running_process_are_restored(node: FakeNode, reported: dict[str, bool]) -> None:
    node.kubeconfig.write_text(kubeconfig(), encoding="ascii")
    node.web.gates = reported
    result = node.change(watch={"feature_gates": {"A": True}})
    assert result["outcome"] == RESTORED
    assert "reports other values than asked for: A" in result["reason"]
    assert text_of(node) == OLD


@pytest.mark.parametrize(
    ("config", "note"),
    [
        (None, "holds no client certificate"),
        (kubeconfig(**{"client-certificate": "/a.crt"}), "holds no client certificate"),
        (kubeconfig(**{"client-certificate": "/a.crt", "client-key": "/a.key"}), "cannot be read"),
        (kubeconfig(**{"client-certificate-data": "AAAA", "client-key-data": "AAAA"}), "cannot be read"),
        (kubeconfig(**{"client-certificate-data": "A", "client-key-data": "A"}), "cannot be read"),
    ],
)
def test_gates_that_cannot_be_read_are_noted_and_no_failure(node: FakeNode, config: str | None, note: str) -> None:
    if config is not None:
        node.kubeconfig.write_text(config, encoding="ascii")
    result = node.change(watch={"feature_gates": {"A": True}})
    assert result["outcome"] == COMMITTED
    assert result["proof"]["feature_gates"] is None
    assert note in result["proof"]["feature_gates_note"]


def test_metrics_that_are_forbidden_are_noted(node: FakeNode) -> None:
    node.kubeconfig.write_text(kubeconfig(), encoding="ascii")
    node.web.gates = None
    result = node.change(watch={"feature_gates": {"A": True}})
    assert result["outcome"] == COMMITTED
    assert result["proof"]["feature_gates_note"] == "/metrics answers 403"


def test_a_component_without_an_http_probe_has_no_metrics_to_read(node: FakeNode) -> None:
    result = node.change(watch={"feature_gates": {"A": True}, "metrics": None})
    assert result["outcome"] == COMMITTED
    assert result["proof"]["feature_gates"] is None
    assert result["proof"]["feature_gates_note"]


# ---- who is let in ---------------------------------------------------------------------------------------------------


def prepare_with_client(node: FakeNode, before: int, after: int) -> None:
    """A change of an API server that answers its administrator so before the change, and so after it."""
    node.kubeconfig.write_text(kubeconfig(), encoding="ascii")
    node.web.admission = before
    node.prepare(watch={"client": node.web.metrics(str(node.kubeconfig))})
    node.once(WAITING, lambda: setattr(node.web, "admission", after))


@pytest.mark.parametrize("status", [401, 403])
def test_an_api_server_that_locks_its_administrator_out_is_restored(node: FakeNode, status: int) -> None:
    """Its probes ask nobody who they are, so all of them pass."""
    prepare_with_client(node, 200, status)
    result = node.run()
    assert (result["outcome"], text_of(node)) == (RESTORED, OLD)
    assert f"answers {status} to the client of {node.kubeconfig}, which it admitted before" in result["reason"]


@pytest.mark.parametrize(("before", "after"), [(401, 401), (403, 401), (500, 401), (200, 200), (200, 503)])
def test_who_was_not_let_in_before_and_a_server_in_trouble_prove_no_lock_out(
    node: FakeNode, before: int, after: int
) -> None:
    prepare_with_client(node, before, after)
    assert node.run()["outcome"] == COMMITTED


def test_an_api_server_that_does_not_know_yet_who_may_do_what_is_waited_for(node: FakeNode) -> None:
    prepare_with_client(node, 200, 403)
    node.at(6 + 3 + 5, lambda: setattr(node.web, "admission", 200))
    assert node.run()["outcome"] == COMMITTED


@pytest.mark.parametrize("config", [None, kubeconfig(**{"client-certificate-data": "A", "client-key-data": "A"})])
def test_without_a_usable_kubeconfig_nobody_is_asked_for(node: FakeNode, config: str | None) -> None:
    if config is not None:
        node.kubeconfig.write_text(config, encoding="ascii")
    node.web.admission = 401
    assert node.change(watch={"client": node.web.metrics(str(node.kubeconfig))})["outcome"] == COMMITTED
    assert admission(None) is None


# ---- copies of its manifest ------------------------------------------------------------------------------------------


def test_backups_of_a_manifest_are_those_that_the_kubelet_reads(tmp_path: Path) -> None:
    for name in ("a.yaml", "a.yaml.bak", "a.yaml~", ".a.yaml.swp", "b.yaml"):
        (tmp_path / name).touch()
    assert backups_of(str(tmp_path / "a.yaml")) == [str(tmp_path / "a.yaml.bak"), str(tmp_path / "a.yaml~")]
