# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a node has room for a static pod that requests more."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import admission

NODE = {"status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}}}


def pod(priority: int = 0, phase: str = "Running", **requests: str) -> Json:
    """A pod with one container and these requests."""
    container = {"name": "a", "resources": {"requests": requests}}
    return {
        "metadata": {"name": "x", "namespace": "y"},
        "spec": {"priority": priority, "containers": [container]},
        "status": {"phase": phase},
    }


def mirror(cpu: str) -> Json:
    return {**pod(cpu=cpu), "metadata": {"name": "m", "annotations": {"kubernetes.io/config.mirror": "1"}}}


def test_only_what_grows_is_compared() -> None:
    assert admission.more_requested(pod(cpu="250m", memory="1Gi"), pod(cpu="0.25", memory="2Gi")) == {
        "memory": 2 * 1024**3
    }
    assert admission.more_requested(pod(), pod(cpu="1")) == {"cpu": 1}
    assert admission.more_requested(pod(cpu="2"), pod(cpu="1")) == {}


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ([], ""),
        ([pod(cpu="2")], ""),
        ([pod(2_000_000_000, cpu="600m")], "it requests 1.5 of cpu, and 1.4 are left beside the node's critical pods"),
        ([mirror(cpu="600m")], "it requests 1.5 of cpu, and 1.4 are left beside the node's critical pods"),
        ([pod(2_000_000_000, "Succeeded", cpu="600m")], ""),
        ([mirror(cpu="3")], "it requests 1.5 of cpu, and 0 are left beside the node's critical pods"),
    ],
)
def test_critical_pods_keep_their_room(others: list[Json], problem: str) -> None:
    assert admission.problem(admission.more_requested(pod(), pod(cpu="1.5")), NODE, others) == problem


def test_resource_that_no_node_has_is_not_compared() -> None:
    assert admission.problem(admission.more_requested(pod(), pod(gpu="1")), NODE, []) == ""


def test_other_pods_end_where_the_rest_is_too_small() -> None:
    more = admission.more_requested(pod(), pod(cpu="1.5", memory="1Gi"))
    assert admission.displaces(more, NODE, [pod(cpu="400m")]) == []
    assert admission.displaces(more, NODE, [pod(cpu="600m", memory="3Gi")]) == ["cpu"]
