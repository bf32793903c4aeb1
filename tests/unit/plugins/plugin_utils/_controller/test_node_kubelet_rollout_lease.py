# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How runs that restart kubelets keep each other out: the steps of the role in their course."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import held
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_courses import IDLE, leases, offering, run


def test_a_run_that_restarts_kubelets_holds_its_own_lease() -> None:
    found = run("cp1", "w1")
    assert leases(found) == [("held", "cp1"), ("released", "cp1")]
    assert "warnings" not in found.result("pass", "cp1")
    taken, released = (call.arguments for call in found.play.calls("rollout_lease"))
    assert taken["name"] == released["name"] == "nodecraft-kubeadm-kubelets"
    assert taken["holder"] == released["holder"]
    # One turn and a half, with the waits of the defaults.
    assert taken["duration"] == 1.5 * (600 + 2 * (300 + 10) + 120 + 180)
    assert (taken["takeover"], taken["wait_timeout"], taken["open_transactions"]) == (False, 600, [])


@pytest.mark.parametrize("variables", [{"node_kubelet_lease": "no"}, {"node_kubelet_check_api": False}])
def test_a_run_without_the_lease_or_the_api_holds_none(variables: Json) -> None:
    found = run("cp1", "w1", variables=variables)
    assert (found.failures, found.changed, leases(found)) == ({}, ["cp1", "w1"], [])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            {"failed": True, "api_reachable": True, "msg": "a rollout of the same desired state failed on cp1."},
            "failed on cp1.",
        ),
        (
            {"failed": True, "api_reachable": False, "msg": "silent."},
            "silent. To continue although nothing excludes other runs",
        ),
        (GONE, "gone. To continue although nothing excludes other runs"),
    ],
)
def test_without_the_lease_nothing_is_changed(answer: Json, told: str) -> None:
    found = run("cp1", "w1", answers={"rollout_lease": answer})
    assert found.changed == []
    assert found.failures["cp1 admit"].startswith("Nothing was changed: ")
    assert told in found.failures["cp1 admit"]


def test_behind_another_run_the_api_is_asked_again_and_the_user_told() -> None:
    stale = {
        "rollout_lease": lambda call: {
            **held(call),
            "stale": call.arguments["state"] == "held",
            "taken_over_from": "them",
        }
    }
    found = run("cp1", "w1", plans={"w1": IDLE}, answers=stale)
    assert found.changed == ["cp1"]
    assert [call.module for call in found.play.asked if call.module != "access_info"][:3] == [
        "node_resource_info",
        "rollout_lease",
        "node_resource_info",
    ]
    warnings = " ".join(found.result("admit", "cp1")["warnings"])
    assert "taken over from them" in warnings
    assert "Nodes on which there was nothing to change are not checked again" in warnings


def test_what_the_api_says_behind_another_run_counts() -> None:
    answers = {
        "rollout_lease": lambda call: {**held(call), "stale": call.arguments["state"] == "held"},
        "node_resource_info": offering("cp1", 4, "silent"),
    }
    found = run("cp1", answers=answers)
    assert found.changed == []
    assert leases(found) == [("held", "cp1"), ("released", "cp1")]


@pytest.mark.parametrize("answer", [{"failed": True, "msg": "silent."}, GONE])
def test_a_lease_that_cannot_be_released_is_told(answer: Json) -> None:
    answers = {"rollout_lease": lambda call: held(call) if call.arguments["state"] == "held" else answer}
    found = run("cp1", answers=answers)
    assert found.changed == ["cp1"]
    (warning,) = found.result("pass", "cp1")["warnings"]
    assert warning.startswith("the Lease nodecraft-kubeadm-kubelets is still held by ")


def test_a_lease_is_released_where_the_host_that_acquired_it_is_lost() -> None:
    found = run("cp1", "cp2", "cp3", plans={"cp2": IDLE, "cp3": IDLE}, changes={"cp1": GONE})
    assert leases(found) == [("held", "cp1"), ("released", "cp2")]
    assert "cp1 kubelet: lost" in found.lines
