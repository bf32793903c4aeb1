# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How runs that restart kubelets keep each other out."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

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


@pytest.mark.parametrize(
    ("stub", "variables"),
    [("nothing", {}), ("changes", {"node_kubelet_lease": False}), ("changes", {"node_kubelet_check_api": False})],
)
def test_a_run_without_restarts_or_without_the_api_holds_none(play: Play, stub: str, variables: Json) -> None:
    outcome = play(stub, stub, **variables)
    assert outcome.status == 0, outcome.output
    assert leases(outcome) == []


@pytest.mark.parametrize(
    ("lease", "told"),
    [
        ("refused", "a roll-out of the same wish failed on cp1."),
        (
            "silent",
            "did not answer for 60 s. To go on although nothing keeps other runs out, set node_kubelet_lease to false.",
        ),
        ("gone", "gone. To go on although nothing keeps other runs out"),
    ],
)
def test_without_the_lease_nothing_is_changed(play: Play, lease: str, told: str) -> None:
    outcome = play("changes", "changes", stub_lease={"held": lease})
    assert outcome.status != 0
    assert told in outcome.output
    assert outcome.hosts("change", "kubelet") == []


def test_behind_another_run_the_api_is_asked_again_and_the_user_told(play: Play) -> None:
    outcome = play("changes", "nothing", stub_lease={"held": "stale"})
    assert outcome.status == 0, outcome.output
    assert outcome.hosts("change", "kubelet") == ["cp1"]
    steps = [call["step"] for call in outcome.calls if call["step"] != "plan"]
    assert steps[: steps.index("change")] == ["ask", "held", "ask"]
    assert "Nodes on which there was nothing to change are not looked at again: run again" in " ".join(
        outcome.output.split()
    )


def test_what_the_api_says_behind_another_run_counts(play: Play) -> None:
    # It is silent when it is asked again.
    outcome = play("changes", "nothing", stub_lease={"held": "stale"}, stub_api={"devices": {"cp1": [4, "silent"]}})
    assert outcome.status != 0
    assert outcome.hosts("change", "kubelet") == []
    assert [step for step, _asks in leases(outcome)] == ["held", "released"]


def test_the_lease_is_released_after_a_failure(play: Play) -> None:
    outcome = play("restored", "changes")
    assert outcome.status != 0
    assert [step for step, _asks in leases(outcome)] == ["held", "released"]


def test_a_lease_that_cannot_be_released_is_told(play: Play) -> None:
    outcome = play("changes", "nothing", stub_lease={"released": "silent"})
    assert outcome.status == 0, outcome.output
    assert "the Lease nodecraft-kubeadm-kubelets is still held by" in " ".join(outcome.output.split())


def test_a_lease_is_released_where_the_host_that_acquired_it_is_lost(stage: Stage) -> None:
    hosts = {
        host: {"stub": {"kubelet": how}} for host, how in (("cp1", "lost"), ("cp2", "nothing"), ("cp3", "nothing"))
    }
    outcome = stage.play({"kube_control_plane": hosts}, roles=[ROLE])
    assert outcome.status != 0
    assert leases(outcome) == [("held", "cp1"), ("released", "cp2")]
