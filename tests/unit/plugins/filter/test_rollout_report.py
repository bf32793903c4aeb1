# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter, by its name."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.rollout_report import FilterModule


def test_each_kind_of_report_has_its_lines() -> None:
    lines = FilterModule().filters()["rollout_report"]
    assert lines({"w1": {"operations": []}}, "kubelets") == ["w1: nothing to change"]
    assert lines({"cp1": {"etcd": {"operations": []}}}, "static_pods", lost=["cp1"]) == ["cp1: nothing to change"]
