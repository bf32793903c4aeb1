# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taints: parameters."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.modules import node_taint
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play

__all__ = ["fixture_api", "fixture_play"]


def test_taints_of_all_nodes_and_of_one(play: Start, api: FakeApi) -> None:
    result = play(
        node_taint,
        taints=[{"key": "a", "value": True, "effect": "NoSchedule"}],
        per_node={"w1": {"taints": [{"key": "b", "effect": "NoExecute"}]}},
    )
    assert result["changed"]
    assert api.objects["w1"]["spec"]["taints"] == [
        {"key": "a", "value": "true", "effect": "NoSchedule"},
        {"key": "b", "effect": "NoExecute"},
    ]
    play(node_taint, nodes=["w1"], taints=[{"key": "a"}], state="absent")
    assert [taint["key"] for taint in api.objects["w1"]["spec"]["taints"]] == ["b"]


@pytest.mark.parametrize(
    ("taint", "message"),
    [
        ({"effect": "NoSchedule"}, "missing required arguments: key"),
        ({"key": "a", "effect": "Nope"}, "value of effect must be one of: NoSchedule, PreferNoSchedule, NoExecute"),
        ({"key": "a"}, "taints: a needs an effect"),
        (
            {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
            "node.kubernetes.io/not-ready is not set manually",
        ),
    ],
)
def test_taints_that_cannot_be(play: Start, api: FakeApi, taint: dict[str, t.Any], message: str) -> None:
    assert message in play(node_taint, nodes=["w1"], taints=[taint])["msg"]
    assert message in play(node_taint, per_node={"w1": {"taints": [taint]}})["msg"]
    assert api.requests == []
