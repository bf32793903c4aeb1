# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter, by its name."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.static_pod_requests import FilterModule


def test_it_hands_over() -> None:
    requests = FilterModule().filters()["static_pod_requests"]
    asked = {"state": "present", "feature_gates": {"A": True}, "admission_plugins": {}, "components": {}}
    assert requests({"static_pods": "kube-scheduler", **asked}) == {"kube-scheduler": {"feature_gates": {"A": True}}}
