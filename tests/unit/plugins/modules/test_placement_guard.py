# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards: parameters, and what is returned."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.modules import placement_guard
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_guards import FakeGuards
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import NODES, PARAMS, D
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_play

__all__ = ["fixture_play"]

PARAMETERS: dict[str, t.Any] = {"resources": [D]}
KEYS = {
    "api",
    "changed",
    "enforced",
    "nodes",
    "added",
    "removed",
    "stale",
    "untainted",
    "unverified",
    "summary",
    "diff",
    "rehearsal",
}


@pytest.fixture(name="api")
def fixture_api() -> t.Iterator[FakeGuards]:
    """A server with nodes, two of which are reserved for dongles."""
    server = FakeGuards(*NODES)
    server.syncs_before_pods = True
    yield server
    server.close()


def test_a_guard_is_made_and_removed(play: Start, api: FakeGuards) -> None:
    for changed in (True, False):
        result = play(placement_guard, **PARAMETERS, enforce=True)
        assert set(result) == KEYS
        assert (result["changed"], result["enforced"], result["nodes"]) == (changed, True, ["w1", "w2"])
    for changed in (True, False):
        assert play(placement_guard, state="absent")["changed"] == changed
    assert api.guards == {}


def test_check_mode(play: Start, api: FakeGuards) -> None:
    result = play(placement_guard, **PARAMETERS, enforce=True, _ansible_check_mode=True, _ansible_diff=True)
    assert set(result) == KEYS
    assert (result["changed"], result["rehearsal"]["verdict"], len(result["diff"])) == (True, "accepted", 2)
    assert (result["nodes"], api.guards) == (["w1", "w2"], {})


def test_a_failure_has_the_same_keys(play: Start, api: FakeGuards) -> None:
    api.syncs = False
    result = play(placement_guard, **PARAMETERS)
    assert set(result) == KEYS | {"failed", "msg"}
    assert "its trial failed" in result["msg"]
    assert (result["changed"], api.guards) == (False, {})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"on_node_name": "delete"}, "value of on_node_name must be one of: refuse, affinity"),
        ({"state": "enforced"}, "value of state must be one of: present, absent"),
        ({"wait_timeout": 0}, "invalid wait_timeout 0: must be at least 1"),
        ({"resources": ["dongle"]}, "no pod could request 'dongle'"),
        ({"resources": []}, "none of nodes, resources and taint_keys is given"),
        ({"node": ["w1"]}, "Unsupported parameters"),
    ],
)
def test_parameters_that_cannot_be(play: Start, api: FakeGuards, parameters: dict[str, t.Any], message: str) -> None:
    result = play(placement_guard, **{**PARAMETERS, **parameters})
    assert message in result["msg"]
    assert api.requests == []


def test_a_time_that_makes_no_sense_has_the_same_keys(play: Start) -> None:
    assert set(play(placement_guard, **PARAMETERS, wait_timeout=0)) == KEYS | {"failed", "msg"}


def test_the_steps_are_tested_with_what_they_get() -> None:
    options = yaml.safe_load(placement_guard.DOCUMENTATION)["options"]
    defaults = {name: option.get("default") for name, option in options.items()}
    assert {**defaults, **PARAMETERS, "concurrency": 8} == PARAMS
