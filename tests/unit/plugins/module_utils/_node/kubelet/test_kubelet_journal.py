# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a change of the kubelet, and how one is recognised."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import kubelet_journal
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets


@pytest.mark.parametrize(("text", "ports"), [("", [10248]), ("healthzPort: 7\n", [7]), ("healthzPort: 0\n", [])])
def test_the_port_of_its_health(text: str, ports: list[int]) -> None:
    instance = kubelet_journal.instance(kubelets.state(main=kubelets.MAIN_TEXT + text).layout())
    assert [probe["port"] for probe in instance["probes"]] == ports
