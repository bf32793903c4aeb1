# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step sees of a play."""

from __future__ import annotations

import os
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.play_view import PlayView
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import FakePlay, Json, Task


def view_of(play: FakePlay, host: str = "w1", role: str = "node_kubelet", **of_task: t.Any) -> PlayView:
    """What a step of a role sees on a host. of_task: keywords of its task."""
    return PlayView(play._action(Task({}, play.play, **of_task)), play.variables(role, host))


def test_hosts_in_the_order_of_the_play() -> None:
    play = FakePlay({"w1": {}, "w2": {}, "w3": {}})
    play.play_hosts, play.batch = ["w1", "w3"], ["w3"]
    found = view_of(play)
    assert (found.all_play_hosts, found.play_hosts, found.lost_hosts()) == (["w1", "w2", "w3"], ["w1", "w3"], ["w2"])
    assert (found.batch_hosts, found.excluded_by_serial()) == (["w3"], ["w1"])


@pytest.mark.parametrize(
    ("order", "hosts"),
    [(None, ["w1", "w2", "w3"]), ("inventory", ["w1", "w2", "w3"]), ("reverse_inventory", ["w3", "w2", "w1"])],
)
def test_the_keyword_order_counts_in_the_batch(order: str | None, hosts: list[str]) -> None:
    play = FakePlay({"w1": {}, "w2": {}, "w3": {}}, order=order)
    play.batch = ["w3", "w2"]
    assert view_of(play).all_play_hosts == hosts


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("linear", ""),
        ("ansible.builtin.linear", ""),
        ("free", "free"),
        ("ansible.builtin.free", "ansible.builtin.free"),
        ("host_pinned", "host_pinned"),
        ("debug", ""),
    ],
)
def test_a_strategy_that_does_not_keep_its_hosts_in_sync(strategy: str, expected: str) -> None:
    assert view_of(FakePlay({"w1": {}}, strategy=strategy)).unordered_strategy() == expected


@pytest.mark.parametrize(
    ("groups", "variables", "planes"),
    [
        ({}, {}, []),
        ({"kube_control_plane": ["cp1", "cp2"]}, {}, ["cp1", "cp2"]),
        ({"masters": ["m1"], "kube_control_plane": ["cp1"]}, {"kube_control_plane_group": "masters"}, ["cp1", "m1"]),
        ({"masters": ["m1"]}, {"kube_control_plane_group": "nowhere"}, []),
    ],
)
def test_the_control_planes_of_the_inventory(groups: Json, variables: Json, planes: list[str]) -> None:
    found = view_of(FakePlay({"w1": variables}, groups))
    assert found.control_planes() == planes
    assert found.group_hosts("nowhere") == []


def test_variables() -> None:
    found = view_of(FakePlay({"w1": {"mine": {"a": 1}}}))
    assert (found.variable("mine"), found.variable("other"), found.variable("other", 5)) == ({"a": 1}, None, 5)
    assert {"mine", "node_kubelet_state", "inventory_hostname"} <= set(found.variable_names())
    assert "node_kubelet_state" in found.argument_specs()["main"]["options"]
    assert os.path.isdir(os.path.join(found.role_path(), "meta"))


@pytest.mark.parametrize(
    ("name", "value", "has"),
    [("K8S_AUTH_KUBECONFIG", "/c", True), ("K8S_AUTH_HOST", "h", True), ("K8S_AUTH_HOST", "", False)],
)
def test_credentials_of_the_controller(monkeypatch: pytest.MonkeyPatch, name: str, value: str, has: bool) -> None:
    for each in ("K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, value)
    found = view_of(FakePlay({"w1": {}, "cp1": {"ansible_become": False}}))
    assert found.has_api_credentials() is has
    assert found.api_hosts(["cp1"], "", reachable=["cp1"]) == [("localhost" if has else "cp1", False)]
