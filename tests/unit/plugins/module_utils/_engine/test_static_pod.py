# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is verified of a static pod that is healthy."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import COMMITTED, ROLLED_BACK
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.static_pod import backups_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NEW, OLD, FakeNode
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
    assert result["outcome"] == ROLLED_BACK
    assert "reports other values than desired: A" in result["reason"]
    assert text_of(node) == OLD


@pytest.mark.parametrize(
    ("config", "note"),
    [
        (None, "admin.conf: No such file or directory"),
        ("a: [", "invalid YAML in line 1"),
        (kubeconfig(user={"token": "a"}), "holds no client certificate"),
        (
            kubeconfig(user={"client-certificate": "/a.crt", "client-key": "/a.key"}),
            "/a.crt: No such file or directory",
        ),
        (kubeconfig(user={"client-certificate-data": "AAAA", "client-key-data": "AAAA"}), "not a readable PEM file"),
        (kubeconfig(user={"client-certificate-data": "A", "client-key-data": "A"}), "must be in base64"),
    ],
)
def test_gates_that_cannot_be_read_are_noted_and_no_failure(node: FakeNode, config: str | None, note: str) -> None:
    if config is not None:
        node.kubeconfig.write_text(config, encoding="ascii")
    result = node.change(watch={"feature_gates": {"A": True}})
    assert result["outcome"] == COMMITTED
    assert result["proof"]["feature_gates"] is None
    assert note in result["proof"]["feature_gates_note"]
    assert f"{node.kubeconfig} " in result["proof"]["feature_gates_note"]
    assert result["notes"] == [f"its feature gates were not verified: {result['proof']['feature_gates_note']}"]


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


# ---- copies of its manifest ------------------------------------------------------------------------------------------


def test_backups_of_a_manifest_are_those_that_the_kubelet_reads(tmp_path: Path) -> None:
    for name in ("a.yaml", "a.yaml.bak", "a.yaml~", ".a.yaml.swp", "b.yaml"):
        (tmp_path / name).touch()
    assert backups_of(str(tmp_path / "a.yaml")) == [str(tmp_path / "a.yaml.bak"), str(tmp_path / "a.yaml~")]


# ---- a program that only the image names -----------------------------------------------------------------------------


@pytest.mark.parametrize(("of_image", "outcome"), [(True, COMMITTED), (False, ROLLED_BACK)])
def test_a_program_that_its_image_names_is_known_by_its_arguments(node: FakeNode, of_image: bool, outcome: str) -> None:
    sides = {
        side: {**node.instance(text), "arguments": node.instance(text)["arguments"][1:], "of_image": of_image}
        for side, text in (("before", OLD), ("after", NEW))
    }
    assert node.change(watch=sides)["outcome"] == outcome
