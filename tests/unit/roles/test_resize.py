# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook that resizes pods: what it hands over, what it refuses, and what it reports."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

SETTINGS: Json = {
    "pod_resize_namespace": "shop",
    "pod_resize_owner": {"kind": "Deployment", "name": "web"},
    "pod_resize_containers": [{"name": "app", "resources": {"limits": {"cpu": 2}}}],
}

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the playbook with variables."""

    def play(variables: Json, *options: str) -> Outcome:
        return stage.playbook(
            "resize", {"controllers": {"localhost": {"ansible_become": True}}}, *options, variables=variables
        )

    return play


@pytest.mark.slice
def test_what_is_requested_reaches_the_module(play: Play, stage: Stage) -> None:
    stage.environment["K8S_AUTH_KUBECONFIG"] = "/here"
    outcome = play({**SETTINGS, "pod_resize_template": "keep"}, "--become")
    assert outcome.status == 0, outcome.output
    (call,) = outcome.calls
    assert call["arguments"] == {
        "namespace": "shop",
        "owner": {"kind": "Deployment", "name": "web"},
        "containers": SETTINGS["pod_resize_containers"],
        "template": "keep",
        "wait": True,
    }
    assert (call["host"], call["becomes"]) == ("localhost", False)
    (report,) = outcome.reports
    assert "resized: web-1, web-2" in report
    assert "Deployment/web: its template differs from its pods" in report


def test_a_control_plane_queries_where_the_controller_has_no_credentials(stage: Stage) -> None:
    groups: Json = {"kube_control_plane": {"cp1": {"stub_kubelet_info": "gone"}, "cp2": {}}}
    outcome = stage.playbook("resize", groups, variables=SETTINGS)
    assert outcome.status == 0, outcome.output
    assert [(call["machine"], call["becomes"]) for call in outcome.calls] == [("cp2", True)]


def test_a_failure_is_reported(play: Play) -> None:
    failed = {"failed": True, "outcome": "infeasible", "msg": "shop/web-2: no room"}
    result = {"failed": True, "msg": "1 of 2 pods failed.", "pods": {"web-2": failed}, "templates": {}}
    outcome = play({**SETTINGS, "stub_pods": result})
    assert outcome.status != 0
    (report,) = outcome.reports
    assert "infeasible: web-2" in report
    assert "shop/web-2: no room" in report
