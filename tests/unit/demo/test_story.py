# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo prints of the record of a run."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.demo.story import ending, node_operations
from ansible_collections.nodecraft.kubeadm.lab.runs import Run


def test_operations_of_nodes_that_changed_each_once() -> None:
    label = {"field": "labels", "key": "example.com/rack", "after": "r7"}
    taint = {"field": "taints", "key": "example.com/x:NoSchedule", "after": None}
    nodes = {"w1": {"changed": True, "operations": [label, taint]}, "w2": {"changed": False, "operations": [label]}}
    items = [{"nodes": nodes}, {"nodes": nodes}, {"skipped": True}]
    loop = {"action": "nodecraft.kubeadm.node_label", "changed": False, "results": items}
    run = Run(2, 1.0, {"plays": [{"tasks": [{"hosts": {"localhost": loop}}]}], "stats": {}})
    assert node_operations(run) == [
        "w1: labels example.com/rack r7",
        "w1: taints example.com/x:NoSchedule",
    ]


def test_an_ending_is_short() -> None:
    transaction = {"outcome": "rolled_back", "seconds": 61.2, "outage_seconds": 3.44}
    assert ending(transaction) == "rolled back after 61 s, outage 3.4 s"
