# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two heartbeats of a kubelet fit into the time after which its node counts as lost."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import heartbeats

DEFAULTS: dict[str, t.Any] = {}


@pytest.mark.parametrize(
    ("config", "seconds"),
    [
        (DEFAULTS, 10),
        ({"nodeLeaseDurationSeconds": 600}, 150),
        ({"nodeLeaseDurationSeconds": 0}, 10),  # no number but the default
        # Where the frequency of updates is set, the kubelet reports as often; without, every five minutes.
        ({"nodeLeaseDurationSeconds": 600, "nodeStatusUpdateFrequency": "20s"}, 20),
        ({"nodeLeaseDurationSeconds": 600, "nodeStatusUpdateFrequency": "10m"}, 150),
        ({"nodeLeaseDurationSeconds": 600, "nodeStatusUpdateFrequency": "5s", "nodeStatusReportFrequency": "1m"}, 60),
        ({"nodeLeaseDurationSeconds": 600, "nodeStatusReportFrequency": "1s"}, 10),
    ],
)
def test_the_more_frequent_heartbeat_counts(config: dict[str, t.Any], seconds: int) -> None:
    assert heartbeats.heartbeat_interval(config.get) == seconds


@pytest.mark.parametrize(
    ("lease", "grace", "is_refused"),
    [
        (100, None, False),
        (101, None, True),
        (600, "5m", False),
        (600, "299s", True),
        (600, "", True),
        (80, "39s", True),
    ],
)
def test_two_renewals_fit_into_the_grace_period(lease: int, grace: str | None, is_refused: bool) -> None:
    problem = heartbeats.kubelet_problem(DEFAULTS.get, {"nodeLeaseDurationSeconds": lease}.get, grace)
    assert bool(problem) == is_refused


def test_a_kubelet_whose_heartbeats_stay_as_they_are_may_be_changed() -> None:
    rare = {"nodeLeaseDurationSeconds": 600}
    assert heartbeats.kubelet_problem(rare.get, {**rare, "maxPods": 50}.get, None) == ""
    assert heartbeats.kubelet_problem(rare.get, DEFAULTS.get, None) == ""
    assert heartbeats.kubelet_problem(DEFAULTS.get, {"nodeLeaseDurationSeconds": "soon"}.get, None) == ""


def lease(node: str, seconds: int | None) -> dict[str, t.Any]:
    return {"metadata": {"name": node}, "spec": {} if seconds is None else {"leaseDurationSeconds": seconds}}


def test_a_grace_period_is_held_against_the_longest_lease() -> None:
    leases = [lease("w1", 40), lease("w2", 120), lease("w3", None)]
    assert "must be at least 60s, two renewals of the Lease of w2" in heartbeats.grace_problem("59s", leases)
    assert heartbeats.grace_problem("1m", leases) == ""
    assert heartbeats.grace_problem("soon", leases) == ""  # the rehearsal's to refuse
    assert heartbeats.grace_problem("2s", []) == ""
