# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter, by its name."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.node_report import FilterModule


def test_lines_of_nodes() -> None:
    nothing = {"changed": False, "failed": False, "msg": "", "operations": []}
    assert FilterModule().filters()["node_report"]([{"node": "w1", "labels": nothing}]) == ["w1: nothing to change"]
