# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How runs that restart kubelets keep each other out."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Outcome, Stage

ROLE = {"role": "nodecraft.kubeadm.node_kubelet"}

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role on cp1 and w1. plane, worker: what they do."""

    def play(plane: str, worker: str, **variables: t.Any) -> Outcome:
        groups = {
            "kube_control_plane": {"cp1": {"stub": {"kubelet": plane}}},
            "kube_node": {"w1": {"stub": {"kubelet": worker}}},
        }
        return stage.play(groups, roles=[ROLE], vars=variables)

    return play


def leases(outcome: Outcome) -> list[tuple[str, str]]:
    """What was done about the Lease, and where it was asked for."""
    return [(call["step"], call["asks"]) for call in outcome.calls if call["component"] == "lease"]


@pytest.mark.slice
def test_a_run_that_restarts_kubelets_holds_its_own_lease(play: Play) -> None:
    outcome = play("changes", "changes")
    assert outcome.status == 0, outcome.output
    assert leases(outcome) == [("held", "cp1"), ("released", "cp1")]
    held, released = [call["arguments"] for call in outcome.calls if call["component"] == "lease"]
    assert held["name"] == "nodecraft-kubeadm-kubelets"
    assert held["holder"] == released["holder"]
    # One turn and a half, with the waits of the defaults.
    assert held["duration"] == 1.5 * (600 + 2 * (300 + 10) + 120 + 180)


def test_a_lease_is_released_where_the_host_that_acquired_it_is_lost(stage: Stage) -> None:
    hosts = {
        host: {"stub": {"kubelet": how}} for host, how in (("cp1", "lost"), ("cp2", "nothing"), ("cp3", "changes"))
    }
    outcome = stage.play({"kube_control_plane": hosts}, roles=[ROLE])
    assert outcome.status != 0
    assert outcome.hosts("change", "kubelet") == ["cp1"]
    (report,) = outcome.reports
    assert "cp1 kubelet: lost" in report
    assert "cp3 kubelet: not begun" in report
    assert outcome.statistics["node_kubelet_report"]["cp1"]["failed"] is True
    assert leases(outcome) == [("held", "cp1"), ("released", "cp2")]
