# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter, by its name."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.api_host import FilterModule


def test_who_asks() -> None:
    elect = FilterModule().filters()["api_host"]
    assert elect(["cp1", "cp2"], "", hostvars={}, reachable=["cp2"]) == {"host": "cp2", "become": True}
