# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host applies the guard, with whose rights and which options, and what is reported."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

ROLE = {"role": "nodecraft.kubeadm.placement_guard"}
D = "example.com/dongle"
GUARD: Json = {"placement_guard_resources": [D]}
FAILS: Json = {
    "failed": True,
    "changed": True,
    "msg": "The guard is written, and does not work as desired.",
    "summary": [],
}

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role on w1 and w2. stub: the result of the module."""

    def play(variables: Json, *options: str, stub: Json | None = None, **keywords: t.Any) -> Outcome:
        host = {"stub_guard": stub} if stub else {}
        groups: Json = {"kube_node": {"w1": host, "w2": host}, "controllers": {"localhost": {"ansible_become": True}}}
        return stage.play(groups, *options, **{"hosts": "kube_node", "vars": variables, "roles": [ROLE], **keywords})

    return play


def test_one_host_requests_all_as_the_user_that_runs_ansible(play: Play) -> None:
    outcome = play(GUARD, become=True)
    assert outcome.status == 0, outcome.output
    (call,) = outcome.calls
    assert (call["host"], call["step"], call["becomes"]) == ("w1", "change", False)
    assert call["arguments"] == {
        "state": "present",
        "name": "nodecraft-placement-guard",
        "nodes": [],
        "resources": [D],
        "enforce": False,
        "on_node_name": "refuse",
        "require_request": False,
        "schedulers": ["system:kube-scheduler"],
        "exempt_namespaces": [],
        "exempt_daemon_sets": [],
        "exceptions": [],
        "allow_refusals": False,
        "trial_namespace": "default",
        "wait_timeout": 30,
        "cluster": {"ca_sha256": "a", "machine_ids": {"w1": ""}},
    }
    assert outcome.reports == ["guard refuses; protected: w1"]
    assert "changed=1" in outcome.output
    assert max(outcome.tasks.values()) <= 12


def test_a_control_plane_queries_with_its_own_admin_conf(stage: Stage) -> None:
    groups: Json = {
        "kube_control_plane": {"cp1": {"stub_kubelet_info": "gone"}, "cp2": {"stub_cluster": "b"}},
        "kube_node": {"w1": {"ansible_become": True}},
    }
    play = {"hosts": "kube_node", "vars": GUARD, "roles": [ROLE]}
    outcome = stage.play(groups, **play)
    assert outcome.status == 0, outcome.output
    (call,) = outcome.calls
    assert (call["machine"], call["becomes"]) == ("cp2", True)
    assert call["arguments"]["cluster"] == {"ca_sha256": "b", "machine_ids": {"cp2": ""}}


def test_what_is_requested_reaches_the_module(play: Play) -> None:
    settings = {
        "state": "absent",
        "name": "other",
        "nodes": ["w1"],
        "taint_keys": ["k"],
        "enforce": True,
        "on_node_name": "affinity",
        "require_request": True,
        "schedulers": ["a"],
        "exempt_namespaces": ["b"],
        "exempt_daemon_sets": ["b/c"],
        "exceptions": ["object.metadata.namespace == 'd'"],
        "allow_refusals": True,
        "trial_namespace": "e",
        "wait_timeout": 7,
    }
    outcome = play({f"placement_guard_{name}": value for name, value in settings.items()})
    assert outcome.status == 0, outcome.output
    arguments = outcome.calls[0]["arguments"]
    assert arguments.pop("cluster")["ca_sha256"] == "a"
    assert arguments == {**settings, "resources": []}


def test_a_failure_ends_the_play_and_is_what_is_reported(play: Play) -> None:
    went_on = [{"ansible.builtin.debug": {"msg": "went on"}}]
    outcome = play(GUARD, stub=FAILS, post_tasks=went_on)
    assert outcome.status != 0
    assert "went on" not in outcome.output
    assert FAILS["msg"] in outcome.reports[0]


@pytest.mark.slice
def test_the_playbook_queries_once(stage: Stage) -> None:
    outcome = stage.playbook("placement_guard", {"kube_control_plane": {"cp1": GUARD}, "kube_node": {"w1": GUARD}})
    assert outcome.status == 0, outcome.output
    assert [(call["host"], call["step"]) for call in outcome.calls] == [("cp1", "change")]
