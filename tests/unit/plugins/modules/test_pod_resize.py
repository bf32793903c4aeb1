# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resizes of pods: parameters, and what is returned."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.modules import pod_resize
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_pods import FakePods
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_play
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import sized

__all__ = ["fixture_play"]

CONTAINERS = [{"name": "app", "resources": {"limits": {"cpu": "2"}}}]
PARAMETERS: dict[str, t.Any] = {"namespace": "shop", "names": ["web-1"], "containers": CONTAINERS}


@pytest.fixture(name="api")
def fixture_api() -> t.Iterator[FakePods]:
    """A server with one pod."""
    server = FakePods(sized())
    yield server
    server.close()


def test_a_pod_is_resized(play: Start, api: FakePods) -> None:
    result = play(pod_resize, **PARAMETERS)
    assert (result["changed"], result["pods"]["web-1"]["outcome"]) == (True, "accepted")
    assert api.resources("web-1")["limits"]["cpu"] == "2"
    assert set(result) == {"api", "changed", "pods", "templates", "unverified", "diff", "rehearsal"}
    assert not play(pod_resize, **PARAMETERS)["changed"]


def test_check_mode(play: Start, api: FakePods) -> None:
    result = play(pod_resize, **PARAMETERS, _ansible_check_mode=True, _ansible_diff=True)
    assert (result["changed"], result["rehearsal"]["verdict"], len(result["diff"])) == (True, "accepted", 1)
    assert api.resources("web-1")["limits"]["cpu"] == "1"


def test_a_failure_has_the_same_keys(play: Start) -> None:
    result = play(pod_resize, **{**PARAMETERS, "names": ["web-1", "missing"]})
    assert result["failed"]
    # By default all pods are resized or none.
    assert (result["changed"], result["pods"]["web-1"]["outcome"]) == (False, "not_tried")
    assert set(result) == {"api", "changed", "failed", "msg", "pods", "templates", "unverified", "diff", "rehearsal"}


@pytest.mark.parametrize("cpu", [0.5, "0.5", "500m"])
def test_amounts_may_be_numbers(play: Start, cpu: t.Any) -> None:
    containers = [{"name": "app", "resources": {"requests": {"cpu": cpu}}}]
    assert not play(pod_resize, **{**PARAMETERS, "containers": containers})["changed"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"names": None}, "one of the following is required: names, label_selector, owner"),
        ({"label_selector": "app=web"}, "parameters are mutually exclusive: names|label_selector|owner"),
        ({"containers": None}, "state is present but all of the following are missing: containers"),
        ({"namespace": None}, "missing required arguments: namespace"),
        ({"names": None, "owner": {"kind": "Job", "name": "x"}}, "value of kind must be one of"),
        ({"containers": [{"resources": {}}]}, "missing required arguments: name found in containers"),
        ({"containers": [{"name": "app", "resources": {"limit": {"cpu": 1}}}]}, "Unsupported parameters"),
        ({"containers": [{"name": "app", "resources": {"limits": {"gpu": 1}}}]}, "only cpu and memory resources"),
        ({"template": "roll"}, "value of template must be one of: keep, update, report"),
    ],
)
def test_parameters_that_cannot_be(play: Start, api: FakePods, parameters: dict[str, t.Any], message: str) -> None:
    given = {key: value for key, value in {**PARAMETERS, **parameters}.items() if value is not None}
    assert message in play(pod_resize, **given)["msg"]
    assert api.requests == []


def test_max_unavailable_may_be_a_number(play: Start) -> None:
    assert play(pod_resize, **PARAMETERS, allow_restart=True, max_unavailable=2)["changed"]
