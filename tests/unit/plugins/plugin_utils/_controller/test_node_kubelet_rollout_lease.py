# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How runs that restart kubelets keep each other out: the steps of the role in their order."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, Call, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import lease_result, nodes_result
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_runs import (
    DIFFERENT,
    DONE,
    IDLE,
    advertising,
    lease_calls,
    run,
)


def test_a_run_that_restarts_kubelets_holds_its_own_lease() -> None:
    found = run("cp1", "w1")
    assert lease_calls(found) == [("held", "cp1"), ("released", "cp1")]
    assert "warnings" not in found.result("end", "cp1")
    acquired, released = (call.arguments for call in found.play.calls("rollout_lease"))
    assert acquired["name"] == released["name"] == "nodecraft-kubeadm-kubelets"
    assert acquired["holder"] == released["holder"]
    # One turn and a half, with the waits of the defaults.
    assert acquired["duration"] == 1.5 * (600 + 2 * (300 + 10) + 120 + 330)
    assert (acquired["takeover"], acquired["wait_timeout"], acquired["open_transactions"]) == (False, 600, [])


@pytest.mark.parametrize("variables", [{"node_kubelet_lease": "no"}, {"node_kubelet_check_api": False}])
def test_a_run_without_the_lease_or_the_api_holds_none(variables: Json) -> None:
    found = run("cp1", "w1", variables=variables)
    assert (found.failures, found.changed, lease_calls(found)) == ({}, ["cp1", "w1"], [])


@pytest.mark.parametrize(
    ("result", "message"),
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
def test_without_the_lease_nothing_is_changed(result: Json, message: str) -> None:
    found = run("cp1", "w1", results={"rollout_lease": result})
    assert found.changed == []
    assert found.failures["cp1 admit"].startswith("Nothing was changed: ")
    assert message in found.failures["cp1 admit"]


def test_behind_another_run_the_api_is_requested_again_and_the_user_informed() -> None:
    stale = {
        "rollout_lease": lambda call: {
            **lease_result(call),
            "stale": call.arguments["state"] == "held",
            "taken_over_from": "them",
        }
    }
    found = run("cp1", "w1", plans={"w1": IDLE}, results=stale)
    assert found.changed == ["cp1"]
    assert [call.module for call in found.play.all_calls if call.module != "access_info"][:3] == [
        "node_resource_info",
        "rollout_lease",
        "node_resource_info",
    ]
    warnings = " ".join(found.result("admit", "cp1")["warnings"])
    assert "taken over from them" in warnings
    assert "Nodes on which there was nothing to change are not checked again" in warnings


def test_first_pass_behind_another_run_is_refused_and_releases_the_lease() -> None:
    found = run("cp1", "w1", variables={"__play_pass": "additions"}, results={"rollout_lease": stale})
    assert "another run may have changed something" in found.failures["cp1 admit"]
    assert found.changed == []
    assert found.play.calls("rollout_lease")[-1].arguments["state"] == "released"


def stale(call: Call) -> Json:
    """A Lease that another run held since everything was planned."""
    return {**lease_result(call), "stale": call.arguments["state"] == "held"}


def test_what_another_run_set_meanwhile_is_reported_in_the_turn() -> None:
    """The module plans again in the turn. Without another run, or where it has changed nothing, nothing is reported."""
    setting = {"field": "config", "key": "maxPods"}
    plans = {name: {"operations": [{**setting, "before": 110, "after": 77}]} for name in ("cp1", "w1", "w2")}
    changes = {
        "cp1": {**DONE, "operations": [{**setting, "before": 200, "after": 77}]},
        "w1": {**DONE, "changed": False, "operations": []},
        "w2": {**DONE, **plans["w2"]},
    }
    found = run("cp1", "w1", "w2", plans=plans, changes=changes, results={"rollout_lease": stale})
    assert found.changed == ["cp1", "w1", "w2"]
    assert found.result("verify", "cp1")["warnings"] == [
        "cp1 kubelet: meanwhile another run: ~ maxPods: 110 -> 200; this run: ~ maxPods: 200 -> 77"
    ]
    assert found.result("verify", "w1")["warnings"] == [
        "w1 kubelet: meanwhile another run: ~ maxPods: 110 -> 77, as this run was to"
    ]
    assert "warnings" not in found.result("verify", "w2")
    (line,) = found.result("admit", "cp1")["report_lines"]
    assert line.startswith("WARNING: another run held the Lease of the kubelets since everything was planned.")
    assert line in found.lines
    undisturbed = run("cp1", "w1", "w2", plans=plans, changes=changes)
    assert [undisturbed.result("verify", host).get("warnings") for host in ("cp1", "w1")] == [None, None]


def test_an_idle_kubelet_that_another_run_changed_meanwhile_ends_the_run() -> None:
    """It has no turn, in which it would be planned again."""
    kubelets: list[Json] = [{}, DIFFERENT]
    results = {
        "rollout_lease": stale,
        "node_resource_info": lambda call: nodes_result(
            call, **(kubelets.pop(0) if len(kubelets) > 1 else kubelets[0])
        ),
    }
    settings = {"w1": {"node_kubelet_config": {"maxPods": 50}}}
    found = run("cp1", "w1", plans={"w1": IDLE}, each=settings, results=results)
    assert found.changed == []
    why = found.failures["cp1 admit"]
    assert "config maxPods is 110, not 50" in why
    assert why.endswith(
        "Another run held the Lease since everything was planned, and may have set that: run again to take it back."
    )


def test_what_the_api_reports_behind_another_run_counts() -> None:
    results = {
        "rollout_lease": lambda call: {**lease_result(call), "stale": call.arguments["state"] == "held"},
        "node_resource_info": advertising("cp1", 4, "silent"),
    }
    found = run("cp1", results=results)
    assert found.changed == []
    assert lease_calls(found) == [("held", "cp1"), ("released", "cp1")]


@pytest.mark.parametrize("result", [{"failed": True, "msg": "silent."}, GONE])
def test_a_lease_that_cannot_be_released_is_reported(result: Json) -> None:
    results = {"rollout_lease": lambda call: lease_result(call) if call.arguments["state"] == "held" else result}
    found = run("cp1", results=results)
    assert found.changed == ["cp1"]
    (warning,) = found.result("end", "cp1")["warnings"]
    assert warning.startswith("the Lease nodecraft-kubeadm-kubelets is still held by ")


def test_a_lease_is_released_where_the_host_that_acquired_it_is_lost() -> None:
    found = run("cp1", "cp2", "cp3", plans={"cp2": IDLE, "cp3": IDLE}, changes={"cp1": GONE})
    assert lease_calls(found) == [("held", "cp1"), ("released", "cp2")]
    assert "cp1 kubelet + --v=5 (connection lost, end not seen)" in found.lines
