# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Lease: parameters, and the result on every path."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible.module_utils import basic
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import rollout_lease as requests_of
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.static_pod_results import (
    StaticPodSettings,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.lease import LEASE_NAME
from ansible_collections.nodecraft.kubeadm.plugins.modules import rollout_lease
from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_hosts import (
    SETTINGS,
    after_turn,
    host,
    results,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play

__all__ = ["fixture_api", "fixture_play"]

KEYS = {
    "api",
    "changed",
    "api_reachable",
    "holder",
    "taken_over_from",
    "stale",
    "missing_proofs",
    "waited_seconds",
    "busy",
    "operations",
    "rehearsal",
}


def test_taken_and_let_go(play: Start, api: FakeApi) -> None:
    result = play(rollout_lease, holder="us", duration=5)
    assert set(result) == KEYS
    assert (result["changed"], result["holder"]) == (True, "us")
    assert api.leases[LEASE_NAME]["spec"]["leaseDurationSeconds"] == 5
    for changed in (True, False):
        gone = play(rollout_lease, holder="us", state="released")
        assert set(gone) == KEYS
        assert (gone["changed"], gone["holder"]) == (changed, None)


def test_check_mode(play: Start, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    # Where the controller's code is loaded too, ansible-core shows warnings instead of returning them.
    monkeypatch.setattr(basic.AnsibleModule, "warn", lambda _module, text: warned.append(text))
    result = play(rollout_lease, holder="us", _ansible_check_mode=True)
    assert (result["changed"], result["rehearsal"]["verdict"], api.leases) == (True, "accepted", {})
    play(rollout_lease, holder="them")
    play(rollout_lease, holder="us", _ansible_check_mode=True)
    assert "the run them is in progress" in str(warned)


def test_a_failure_has_the_same_keys(play: Start) -> None:
    play(rollout_lease, holder="us", state="halted", node="cp1", reason="no.", intents=["w"])
    result = play(rollout_lease, holder="us", intents=["w"])
    assert set(result) - {"warnings"} == KEYS | {"failed", "msg"}  # warnings of earlier tests are still there
    assert "the same desired state failed on cp1" in result["msg"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "missing required arguments: holder"),
        ({"holder": "us", "state": "halted", "node": "cp1"}, "reason"),
    ],
)
def test_parameters_that_cannot_be(play: Start, parameters: dict[str, t.Any], message: str) -> None:
    assert message in play(rollout_lease, **parameters)["msg"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"holder": " "}, "invalid holder ' ': must be a name"),
        ({"holder": "us", "duration": 0}, "invalid duration 0: must be at least 1"),
        (
            {"holder": "us", "state": "halted", "node": "cp1", "reason": "x", "intents": ["a", "b"]},
            "invalid intents: must be the one digest",
        ),
    ],
)
def test_what_makes_no_sense_has_the_same_keys(play: Start, parameters: dict[str, t.Any], message: str) -> None:
    result = play(rollout_lease, **parameters)
    assert set(result) - {"warnings"} == KEYS | {"failed", "msg"}
    assert (result["api_reachable"], message in result["msg"]) == (None, True)


def test_the_requests_of_a_rollout_are_options_of_the_module() -> None:
    hosts = {"cp1": results(after_turn(host("cp1"), {"failed": True}))}
    released = requests_of.release_request(hosts, "me")
    assert released
    requests = [
        requests_of.acquire_request(hosts, typed.parse(StaticPodSettings, SETTINGS), "me", 7),
        requests_of.renew_request(hosts, "cp1", "me", 7),
        released,
    ]
    options = {"cluster", *yaml.safe_load(rollout_lease.DOCUMENTATION)["options"]}
    assert [set(request) - options for request in requests] == [set(), set(), set()]
