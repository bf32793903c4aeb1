# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bench makes of the device plugin's own figures."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.bench import device_plugin
from ansible_collections.nodecraft.kubeadm.bench.device_plugin import ROWS


def test_figures_stand_beside_what_is_promised() -> None:
    results = {name: {"value": 41.337, "limit": None, "kept": True} for name in ROWS}
    results["rss_mib"] |= {"limit": 60.0}
    results["cpu_at_rest_percent"] |= {"limit": 1.0, "kept": False}
    part = device_plugin.part({"devices": 1000, "results": results})
    assert part.table[0] == "| device plugin, 1000 devices | measured | at most |"
    assert "| memory (MiB RSS) | 41.3 | 60 |" in part.table
    assert "| at rest (% of a core) | 41.3 | 1, **not kept** |" in part.table
    assert len(part.table) == len(ROWS) + 2
