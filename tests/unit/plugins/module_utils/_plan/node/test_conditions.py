# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node offers to pods, before and after a change."""

from __future__ import annotations

import json
import typing as t
from fractions import Fraction

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.conditions import (
    may_reject_pods,
    read_conditions,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node

D = "example.com/dongle"
FOUND = node(labels={"a": "1"}, taints=[{"key": "t", "value": "v", "effect": "NoExecute"}], capacity={D: "4"})


def test_as_it_is() -> None:
    found = read_conditions(FOUND)
    assert (found.name, found.labels["a"], found.allocatable) == ("w1", "1", {D: Fraction(4)})
    assert found.taints == [{"key": "t", "value": "v", "effect": "NoExecute"}]


def test_with_a_kubelet_that_leaves_less() -> None:
    limits = {
        "max_pods": 3,
        "pods_per_core": 0,
        "reserved": {"cpu": ["500m"], "memory": [], "ephemeral-storage": ["10%"]},
        "unsafe_sysctls": ["net.core.somaxconn"],
        "withdrawn_sysctls": ["net.*"],
    }
    found = read_conditions(FOUND, limits=limits)
    assert [found.forbids(name) for name in ("net.x", "net.core.somaxconn", "kernel.shm_x")] == [True, False, False]
    assert found.allocatable == {
        D: 4,
        "cpu": Fraction(3, 2),
        "memory": 4030544 * 1024,
        "pods": 3,
    }


@pytest.mark.parametrize(("version", "reallocates"), [("v1.37.2", True), ("v1.38.0", False), ("", True)])
def test_with_managers_of_pods_as_a_whole(version: str, *, reallocates: bool) -> None:
    limits = {"max_pods": 3, "pods_per_core": 0, "reserved": {}, "unsafe_sysctls": [], "withdrawn_sysctls": []}
    found = {**FOUND, "status": {**FOUND["status"], "nodeInfo": {"kubeletVersion": version}}}
    assert read_conditions(found, limits={**limits, "pod_level_managers": True}).reallocates is reallocates
    assert not read_conditions(found, limits=limits).reallocates


def test_with_everything_changed() -> None:
    found = read_conditions(
        FOUND,
        [
            Change("labels", "a", "1", None),
            Change("labels", "b", None, "2"),
            Change("taints", "t:NoExecute", "v", None),
            Change("taints", "u:NoSchedule", None, ""),
            Change("resources", D, "4", "1"),
            Change("owned", "a", "1", None),
        ],
    )
    assert found.labels == {"kubernetes.io/hostname": "w1", "b": "2"}
    assert found.taints == [{"key": "u", "effect": "NoSchedule"}]
    assert found.allocatable == {D: 1}


def test_what_the_device_manager_gives_out() -> None:
    """A number that we patched is none of it, even where a kubelet that was set up again has put it to 0 since."""
    node_parts: Json = {
        "capacity": {D: "0", "example.com/card": "2", "example.com/unit": "1"},
        "kubelet_managed": [D, "example.com/card"],
    }
    key = "nodecraft.kubeadm/owned-extended-resources"
    record = json.dumps({D: {"set": "4", "original": None}})
    assert read_conditions(node(**node_parts)).devices == {D, "example.com/card"}
    assert read_conditions(node(**node_parts, annotations={key: record})).devices == {"example.com/card"}
    assert read_conditions(node(**node_parts, annotations={key: "broken"})).devices == set()


@pytest.mark.parametrize(
    ("field", "before", "after", "may"),
    [
        ("labels", "1", None, True),
        ("labels", None, "1", True),
        ("resources", "4", "2", True),
        ("resources", "10", "9", True),
        ("resources", "2500m", "2", True),
        ("resources", "2", "4", False),
        ("resources", None, "4", True),
        ("resources", "4", None, False),
        ("taints", None, "", False),
        ("owned", "1", None, False),
    ],
)
def test_what_could_exclude_pods(field: str, before: t.Any, after: t.Any, may: bool) -> None:
    assert may_reject_pods([Change(field, "k", before, after)]) is may
