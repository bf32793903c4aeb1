# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running kubelet reports, compared with the desired state. Its spellings were seen on kubelets of 1.32 and 1.36."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.configz import (
    ConfigDifference,
    differences,
    is_same,
    reverted_values,
)


@pytest.mark.parametrize(
    ("desired", "found"),
    [
        ("240m", "4h0m0s"),
        ("0.1s", "100ms"),
        ("0", "0s"),
        ("-1s", "-1000ms"),
        ("1024Mi", "1Gi"),
        (0.90, 0.9),
        (77, 77),
        (["a", "b"], ["a", "b"]),
        ([{"limits": {"memory": "1024Mi"}}], [{"limits": {"memory": "1Gi"}}]),
        ([{"a": 1}], [{"a": 1, "b": ""}]),
        (False, None),
        (0, None),
        ("0s", None),
        ([], None),
    ],
)
def test_the_same_in_other_words(desired: t.Any, found: t.Any) -> None:
    assert is_same(desired, found)


@pytest.mark.parametrize(
    ("desired", "found"),
    [
        ("240m", "4h0m1s"),
        ("1s", "-1s"),
        ("1Gi", "1G"),
        (0, 10),
        (True, None),
        (False, True),
        (True, 1),
        (1, True),
        ("static", "none"),
        ("1s", None),
        (["a", "b"], ["b", "a"]),
        (["a"], ["a", "b"]),
        ([{"a": 1}], [{"a": 1, "b": "x"}]),
        ([{"a": 1}], [{}]),
    ],
)
def test_something_else(desired: t.Any, found: t.Any) -> None:
    assert not is_same(desired, found)


def test_where_a_kubelet_differs() -> None:
    desired = {
        "feature_gates": {"A": "yes", "B": False, "C": True, "Left": None, "Unsaid": False},
        "config": {
            "maxPods": 77,
            "evictionHard": {"memory.available": "5%", "nodefs.available": None},
            "registryBurst": 0,
        },
    }
    running = {
        "featureGates": {"A": True, "B": True, "C": True, "Left": True},
        "maxPods": 77,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
        "registryBurst": 10,
    }
    assert differences(desired, running) == [
        ConfigDifference("feature_gates", "B", False, True),
        ConfigDifference("feature_gates", "Unsaid", False, None),
        ConfigDifference("config", "evictionHard/memory.available", "5%", "100Mi"),
        ConfigDifference("config", "registryBurst", 0, 10),
    ]


def test_nothing_queried() -> None:
    assert differences({}, {"maxPods": 1}) == []
    assert differences({"feature_gates": None, "config": None}, {}) == []


@pytest.mark.parametrize("desired", ["maxPods", ["config"], {"maxPods": 1}, {"config": 5}])
def test_what_is_no_desired_state(desired: t.Any) -> None:
    with pytest.raises(Refusal, match="must be a mapping with feature_gates and config"):
        differences(desired, {})


def test_what_went_back_is_compared_but_for_defaults_and_flags() -> None:
    """kubeadm writes zeros where a kubelet is to take its default: nodeStatusUpdateFrequency 0s is shown as 10s."""
    comparable = [
        Change("feature_gates", "On", False, True),
        Change("feature_gates", "Off", True, False),
        Change("config", "maxPods", 8, 7),
        Change("config", "nodeStatusUpdateFrequency", "8s", "10s"),
        Change("config", "cpuManagerPolicy", None, "static"),
        Change("config", "evictionHard/memory.available", "5%", "6%"),
        Change("config", "evictionHard/a~1b", None, "7%"),
        Change("config", "clusterDNS", ["10.0.0.1"], ["10.0.0.2"]),
    ]
    others = [
        Change("args", "v", ["4"], ["5"]),
        Change("register_with_taints", "a", None, "NoSchedule"),
        Change("feature_gates", "Gone", True, None),
        Change("config", "syncFrequency", "8s", "0s"),
        Change("config", "logging/flushFrequency", 8, 0),
        Change("config", "podsPerCore", 3, None),
        Change("config", "serializeImagePulls", False, "true"),
    ]
    values, rest = reverted_values([*comparable, *others])
    assert values == {
        "feature_gates": {"On": True, "Off": False},
        "config": {
            "maxPods": 7,
            "nodeStatusUpdateFrequency": "10s",
            "cpuManagerPolicy": "static",
            "evictionHard": {"memory.available": "6%", "a/b": "7%"},
            "clusterDNS": ["10.0.0.2"],
        },
    }
    assert rest == ["Gone", "syncFrequency", "logging/flushFrequency", "podsPerCore", "serializeImagePulls"]
