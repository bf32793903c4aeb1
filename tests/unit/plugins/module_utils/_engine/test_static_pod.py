# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is verified of a static pod that is healthy."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import COMMITTED, ROLLED_BACK
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.static_pod import backups_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NEW, OLD, Behaviour, FakeNode
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
    assert result["proof"]["unverified"] == []


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
def test_gates_that_cannot_be_read_are_not_verified_and_no_failure(
    node: FakeNode, config: str | None, note: str
) -> None:
    if config is not None:
        node.kubeconfig.write_text(config, encoding="ascii")
    result = node.change(watch={"feature_gates": {"A": True}})
    assert result["outcome"] == COMMITTED
    assert result["proof"]["feature_gates"] is None
    (limit,) = result["proof"]["unverified"]
    assert limit.startswith("whether feature gates A are as desired: ")
    assert note in limit


def test_metrics_that_are_forbidden_are_not_verified(node: FakeNode) -> None:
    node.kubeconfig.write_text(kubeconfig(), encoding="ascii")
    node.web.gates = None
    result = node.change(watch={"feature_gates": {"A": True}})
    assert result["outcome"] == COMMITTED
    limit = f"whether feature gates A are as desired: /metrics answers 403 to the client of {node.kubeconfig}"
    assert result["proof"]["unverified"] == [limit]


def test_a_component_without_an_http_probe_has_no_metrics_to_read(node: FakeNode) -> None:
    result = node.change(watch={"feature_gates": {"A": True}, "metrics": None})
    assert result["outcome"] == COMMITTED
    assert result["proof"]["feature_gates"] is None
    assert "has no HTTP probe" in result["proof"]["unverified"][0]


# ---- what is not verified --------------------------------------------------------------------------------------------


def test_what_the_journal_reports_cannot_be_verified_is_in_the_proof(node: FakeNode) -> None:
    assert node.change(watch={"unverified": ["whether it answers its administrator"]})["proof"]["unverified"] == [
        "whether it answers its administrator"
    ]


def test_former_instance_after_a_rollback_has_nothing_unverified(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    result = node.change(watch={"unverified": ["its gates"]})
    assert (result["outcome"], result["proof"]["unverified"]) == (ROLLED_BACK, [])


def test_static_pod_without_a_probe_is_only_known_to_run(node: FakeNode) -> None:
    sides = {side: {**node.instance(text), "probes": []} for side, text in (("before", OLD), ("after", NEW))}
    result = node.change(watch=sides)
    assert result["outcome"] == COMMITTED
    assert result["proof"]["unverified"] == [
        "whether it works: its manifest has no probe, so only its process was watched"
    ]


@pytest.mark.parametrize("is_readable", [False, True])
def test_probes_that_only_the_kubelet_runs_need_its_report(node: FakeNode, is_readable: bool) -> None:
    inside = [{"kind": "exec"}]
    sides = {side: {**node.instance(text), "probes": inside} for side, text in (("before", OLD), ("after", NEW))}

    def report(_kubeconfig: str, _path: str) -> tuple[t.Any, str]:
        if not is_readable or not node.kubelet.instances:
            return None, "forbidden"
        container = node.host.find_in_pods({node.kubelet.instances[0].uid})[0].container_id
        statuses = [{"ready": True, "containerID": f"containerd://{container}"}]
        return {"metadata": {}, "status": {"containerStatuses": statuses}}, ""

    node.http_get = report
    result = node.change(watch=sides)
    assert result["outcome"] == COMMITTED
    limit = "whether its probes pass: exec probe: what the kubelet reports is not known (forbidden)"
    assert result["proof"]["unverified"] == ([] if is_readable else [limit])


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
