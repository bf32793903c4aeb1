# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter as a template uses it."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.cluster_conflict import FilterModule


def test_it_takes_what_modules_return() -> None:
    conflict = FilterModule().filters()["cluster_conflict"]
    a, b = ({"ca_sha256": name, "server": f"https://{name}", "machine_id": name} for name in "ab")
    assert conflict({"x": a, "y": a}) == ""
    assert "belong to 2 clusters: x (https://a, authority a); y (https://b, authority b)." in conflict({"x": a, "y": b})
