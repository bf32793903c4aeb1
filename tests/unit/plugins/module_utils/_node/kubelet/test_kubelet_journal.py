# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a change of the kubelet, and how one is recognised."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import kubelet_journal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_units import KubeletUnit
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import ClusterIdentity
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets


@pytest.mark.parametrize(("text", "ports"), [("", [10248]), ("healthzPort: 7\n", [7]), ("healthzPort: 0\n", [])])
def test_the_port_of_its_health(text: str, ports: list[int]) -> None:
    instance = kubelet_journal.instance_of(kubelets.state(main=kubelets.MAIN_TEXT + text).layout())
    assert [probe["port"] for probe in instance["probes"]] == ports


def test_the_names_of_static_pods_at_the_api(tmp_path: Path) -> None:
    (tmp_path / "any.yaml").write_text("metadata: {name: kube-scheduler}\n---\na: [\n", encoding="utf-8")
    (tmp_path / "torn.yaml").write_text("a: [", encoding="utf-8")
    (tmp_path / "binary.yaml").write_bytes(b"\xff")
    (tmp_path / "text.yaml").write_text("text", encoding="utf-8")
    (tmp_path / ".old.yaml").write_text("metadata: {name: old}\n", encoding="utf-8")
    one = ["kube-scheduler-w1"]
    for directory, names in ((tmp_path, one), (tmp_path / "any.yaml", one), (tmp_path / "none", [])):
        state = kubelets.state(main=kubelets.MAIN_TEXT.replace("/etc/kubernetes/manifests", str(directory)))
        unit = KubeletUnit(state, state.layout(), 7, "w1", ClusterIdentity())
        assert kubelet_journal._static_pods(unit) == names
        assert bool(unit.manifests()) == bool(names)
