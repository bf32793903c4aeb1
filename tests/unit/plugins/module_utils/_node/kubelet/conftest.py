# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet in a directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import (
    engine_service,
    state,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import generator as kubelet_generator
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_nodes import Node


@pytest.fixture(name="kubelet_node")
def fixture_kubelet_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sources: None) -> Node:
    monkeypatch.setattr(state, "STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(engine_service, "_UNIT_FILE", str(tmp_path / "unit.service"))
    monkeypatch.setattr(kubelet_layout, "CONFIG_DIR", str(tmp_path / "kubelet.conf.d"))
    monkeypatch.setattr(kubelet_layout, "DROP_IN", str(tmp_path / "kubelet.service.d" / "20-nodecraft-kubeadm.conf"))
    monkeypatch.setattr(kubelet_generator, "GENERATOR", str(tmp_path / "generators" / "nodecraft-kubeadm-kubelet"))
    monkeypatch.setattr(kubelet_generator, "DERIVED", str(tmp_path / "run" / "zzzz-derived.conf"))
    monkeypatch.setattr("os.fchown", lambda descriptor, uid, gid: None)
    return Node(tmp_path)
