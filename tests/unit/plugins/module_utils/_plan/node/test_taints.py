# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taints of one node, and pods that a taint evicts."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents import json_patch
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import taints as node_taints
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.taints import TAINTS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.node_plans import planned, summarized
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node, pod

TAINT = {"key": "k", "value": "v", "effect": "NoExecute"}


def taint(key: str, effect: str = "NoSchedule", **more: t.Any) -> Json:
    return {"key": key, "effect": effect, **more}


def entry(key: str, effect: str | None = "NoSchedule", value: t.Any = None, state: str = "present") -> Json:
    return {"key": key, "effect": effect, "value": value, "state": state}


def test_taints_of_others_stay_as_they_are() -> None:
    theirs = taint("b", "NoExecute", timeAdded="2026-01-01T00:00:00Z")
    made = planned(
        TAINTS, node(taints=[theirs, taint("a", value="1")], annotations={}), [entry("a", value=2), entry("c")]
    )
    assert summarized(made) == [("taints", "a:NoSchedule", "1", "2"), ("taints", "c:NoSchedule", None, "")]
    assert list(made.patch)[-2:] == [
        {"op": "test", "path": "/spec/taints", "value": [theirs, taint("a", value="1")]},
        {"op": "add", "path": "/spec/taints", "value": [theirs, taint("a", value="2"), taint("c")]},
    ]


def test_the_last_taint_takes_the_list_with_it() -> None:
    made = planned(TAINTS, node(taints=[taint("a")], annotations={}), [entry("a", effect=None, state="absent")])
    assert json_patch.changes_of(made.patch)[-1] == {"op": "remove", "path": "/spec/taints"}
    assert made.desired == {"a:NoSchedule": None, "a:PreferNoSchedule": None, "a:NoExecute": None}


def test_a_taint_twice() -> None:
    with pytest.raises(Refusal, match="a:NoSchedule is set twice"):
        planned(TAINTS, node(), [entry("a", value="1"), entry("a", value="2")])
    assert len(planned(TAINTS, node(), [entry("a"), entry("a"), entry("a", "NoExecute")]).operations) == 2


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "x", "operator": "Exists"}, False),
        ({"key": "k", "operator": "Gt", "value": "1"}, False),
    ],
)
def test_tolerations(toleration: Json, tolerated: bool) -> None:
    going = node_taints.find_evictions([pod(tolerations=[toleration])], [TAINT])
    assert (going == []) is tolerated


def test_evictions_name_the_network_first() -> None:
    found = [
        pod("app", owner="ReplicaSet"),
        pod("bare"),
        pod("coredns", namespace="kube-system", priority=2000000000, owner="ReplicaSet"),
        pod("cni", namespace="kube-system", priority=2000001000, owner="DaemonSet"),
        pod("patient", tolerations=[{"key": "k", "operator": "Exists", "tolerationSeconds": 300}]),
        pod("done", phase="Succeeded"),
        pod("stays", tolerations=[{"operator": "Exists"}]),
    ]
    assert [str(entry) for entry in node_taints.find_evictions(found, [TAINT])] == [
        "kube-system/cni (of a DaemonSet)",
        "kube-system/coredns (of a ReplicaSet)",
        "default/app (of a ReplicaSet)",
        "default/bare (that nothing recreates)",
        "default/patient (that nothing recreates, after 300 s)",
    ]


def test_the_shortest_patience_counts() -> None:
    other = {**TAINT, "key": "o"}
    tolerations = [
        {"key": "k", "operator": "Exists", "tolerationSeconds": 300},
        {"key": "o", "operator": "Exists", "tolerationSeconds": -5},
    ]
    (going,) = node_taints.find_evictions([pod(tolerations=tolerations)], [TAINT, other])
    assert going.after == 0
