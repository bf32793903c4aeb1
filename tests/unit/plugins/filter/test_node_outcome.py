# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter, by its name."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.node_outcome import FilterModule


def test_one_node_of_many() -> None:
    outcome = FilterModule().filters()["node_outcome"]
    assert outcome("w1", {"labels": {"nodes": {"w1": {"changed": True}}}}) == {
        "node": "w1",
        "labels": {"changed": True},
    }
