# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps pods from being resized: quotas, the room of nodes, and memory in use."""

from __future__ import annotations

import typing as t
from fractions import Fraction

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod import resize, resize_checks, resize_undo
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod.resize_state import INFEASIBLE, REFUSED
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import Json, container, sized

MEBI = 2**20


def make_resize(name: str, desired: dict[str, str], pod: Json | None = None) -> resize_checks.Resize:
    before = pod or sized(name)
    operations = resize.plan(before, {"app": desired}, allow_restart=False).operations
    return before, resize_undo.apply_changes(before, operations)


def resizes_of(desired: dict[str, str], *names: str) -> dict[str, resize_checks.Resize]:
    return {name: make_resize(name, desired) for name in names}


def quota(hard: Json | None, used: Json | None = None, **spec: t.Any) -> Json:
    status = {} if hard is None else {"hard": hard, "used": used or {}}
    return {"metadata": {"name": "q"}, "spec": spec, "status": status}


# ---- quotas ----------------------------------------------------------------------------------------------------------


def test_quota_refuses_the_pod_that_is_too_much_for_it() -> None:
    # Each of them by itself would fit, so no dry run finds it (seen with 1.37).
    problems, unknown = resize_checks.quota_problems(
        [quota({"requests.cpu": "1600m"}, {"requests.cpu": "1"})], resizes_of({"requests.cpu": "1"}, "a", "b")
    )
    assert problems == {
        "b": "the ResourceQuota q has no room for it: requests.cpu would be 2 of 1600m, with 1500m in use before it, the other pods of"
        " this task included"
    }
    assert unknown == []


@pytest.mark.parametrize(
    ("hard", "desired", "refused"),
    [
        ({"cpu": "1100m"}, {"requests.cpu": "800m"}, True),
        ({"requests.memory": "500Mi"}, {"requests.memory": "351Mi"}, True),
        ({"requests.memory": "1Gi"}, {"requests.memory": "351Mi"}, False),
        ({"limits.memory": "1Gi"}, {"limits.memory": "1Gi"}, True),
        ({"limits.cpu": "3"}, {"limits.cpu": "2"}, False),
        ({"pods": "2"}, {"limits.cpu": "2"}, False),
        # A quota that is exceeded already keeps no pod from getting less.
        ({"requests.cpu": "100m"}, {"requests.cpu": "400m"}, False),
    ],
)
def test_quota_counts_each_resource(hard: Json, desired: dict[str, str], refused: bool) -> None:
    used = {"cpu": "1", "requests.cpu": "1", "requests.memory": "400Mi", "limits.memory": "800Mi", "limits.cpu": "2"}
    problems, _unknown = resize_checks.quota_problems([quota(hard, used)], {"a": make_resize("a", desired)})
    assert bool(problems) is refused


def test_quota_counts_what_a_pod_has_beside_its_request() -> None:
    """A resize that the kubelet has not done yet: the pod counts with the larger amounts that it still has."""
    before = sized("a")
    before["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100m"
    problems, _unknown = resize_checks.quota_problems(
        [quota({"requests.cpu": "1"}, {"requests.cpu": "1"})], {"a": make_resize("a", {"requests.cpu": "400m"}, before)}
    )
    assert problems == {}


@pytest.mark.parametrize(
    ("spec", "refused", "is_known"),
    [
        ({"scopes": ["NotBestEffort"]}, True, True),
        ({"scopes": ["BestEffort"]}, False, True),
        ({"scopes": ["NotTerminating"]}, True, True),
        ({"scopes": ["Terminating", "CrossNamespacePodAffinity"]}, False, True),
        ({"scopes": ["CrossNamespacePodAffinity"]}, False, False),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
                }
            },
            True,
            True,
        ),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "NotIn", "values": ["high"]}]
                }
            },
            False,
            True,
        ),
    ],
)
def test_quota_counts_pods_of_its_scopes(spec: Json, refused: bool, is_known: bool) -> None:
    before = sized("a")
    before["spec"]["priorityClassName"] = "high"
    problems, unknown = resize_checks.quota_problems(
        [quota({"requests.cpu": "1"}, {"requests.cpu": "1"}, **spec)],
        {"a": make_resize("a", {"requests.cpu": "1"}, before)},
    )
    assert (bool(problems), not unknown) == (refused, is_known)


def test_quota_without_a_status_is_unknown() -> None:
    problems, unknown = resize_checks.quota_problems([quota(None)], resizes_of({"requests.cpu": "1"}, "a"))
    assert (problems, unknown) == ({}, ["q has no status yet"])


# ---- the room of a node ----------------------------------------------------------------------------------------------


def node(cpu: str, memory: str = "8Gi") -> Json:
    return {"metadata": {"name": "w1"}, "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": "110"}}}


def test_node_refuses_the_pod_that_is_too_much_for_it() -> None:
    resizes = resizes_of({"requests.cpu": "1"}, "a", "b")
    on_node = [*(before for before, _after in resizes.values()), sized("other"), sized("ended", phase="Failed")]
    assert resize_checks.allocatable_problems(node("2500m"), on_node, resizes) == {}
    assert resize_checks.allocatable_problems(node("2"), on_node, resizes) == {
        "b": (
            REFUSED,
            "its node w1 has no room for it: it would request 1 of cpu, and others request 1500m of the 2 that it has for pods",
        )
    }


def test_more_than_a_node_has_is_infeasible() -> None:
    resizes = resizes_of({"requests.memory": "9Gi", "limits.memory": "9Gi"}, "a")
    outcome, problem = resize_checks.allocatable_problems(node("2"), [], resizes)["a"]
    assert (outcome, "9216Mi of memory" in problem) == (INFEASIBLE, True)


def test_pod_that_gets_less_needs_no_room() -> None:
    resizes = {"a": make_resize("a", {"requests.cpu": "400m"})}
    assert resize_checks.allocatable_problems(node("100m"), [sized("a")], resizes) == {}


def test_node_counts_what_its_kubelet_allocated() -> None:
    """A resize of another pod that is deferred takes no room of the kubelet's."""
    deferred = sized("other")
    deferred["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "9"
    deferred["status"]["containerStatuses"][0]["allocatedResources"] = {"cpu": "500m", "memory": "200Mi"}
    assert resize_checks.allocatable_problems(node("2"), [deferred], resizes_of({"requests.cpu": "1"}, "a")) == {}


# ---- memory in use ---------------------------------------------------------------------------------------------------


def test_lowered_memory_is_of_containers_that_run_on() -> None:
    operations = [
        Change("limits.memory", "less", "64Mi", "32Mi"),
        Change("limits.memory", "more", "32Mi", "64Mi"),
        Change("limits.memory", "new", None, "64Mi"),
        Change("limits.memory", "restarts", "64Mi", "32Mi"),
        Change("requests.memory", "request", "64Mi", "32Mi"),
    ]
    assert resize_checks.lowered_memory(operations, ["restarts"]) == {"less": "32Mi", "new": "64Mi"}


@pytest.mark.parametrize(("used", "refused"), [(32 * MEBI - 1, False), (32 * MEBI, True), (40 * MEBI, True)])
def test_limit_has_to_be_above_what_is_used(used: int, refused: bool) -> None:
    problem = resize_checks.usage_problem({"app": "32Mi", "new": "1Mi"}, {"app": Fraction(used)}, "as seen")
    assert bool(problem) is refused
    assert ("Mi of memory (as seen), and its limit would be 32Mi" in problem) is refused


def test_usage_is_read_from_both_sources() -> None:
    summary = {
        "pods": [
            {"podRef": {"uid": "u"}, "containers": [{"name": "app", "memory": {"usageBytes": 5}}, {"name": "new"}]},
            {"podRef": {"uid": "v"}},
        ]
    }
    assert resize_checks.parse_summary(summary) == {"u": {"app": Fraction(5)}, "v": {}}
    items = [{"metadata": {"name": "p"}, "containers": [{"name": "app", "usage": {"memory": "5Ki"}}]}]
    assert resize_checks.parse_metrics(items) == {"p": {"app": Fraction(5120)}}


def test_limits_of_a_pod_are_summed_with_its_sidecars() -> None:
    pod = sized("a", sidecars=[container("side")])
    pod["spec"]["overhead"] = {"cpu": "100m"}
    small, large = make_resize("a", {"limits.cpu": "2"}, pod)
    assert resize_checks.requests_more(small, large)
    assert not resize_checks.requests_more(large, small)
    problems, _unknown = resize_checks.quota_problems(
        [quota({"limits.cpu": "3"}, {"limits.cpu": "2100m"})], {"a": (small, large)}
    )
    assert "limits.cpu would be 3100m of 3" in problems["a"]
