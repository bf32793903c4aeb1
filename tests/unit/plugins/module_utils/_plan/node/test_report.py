# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each node, and who reads the end of a run, is told of tasks that were for many nodes."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import report

Json = dict[str, t.Any]

LABEL = {"field": "labels", "key": "a", "before": None, "after": "b"}
NOTHING: Json = {"changed": False, "failed": False, "msg": "", "operations": []}
CHANGED: Json = {**NOTHING, "changed": True, "operations": [LABEL]}


def told(**results: Json) -> list[str]:
    """The lines of w1 alone."""
    kinds = {"taints": {"nodes": {"w1": NOTHING}}, "resources": {"nodes": {"w1": NOTHING}}, "labels": {}}
    return report.lines([report.outcome("w1", {**kinds, **results})])


def test_each_node_gets_what_is_its_own() -> None:
    results = {"taints": {"nodes": {"w1": NOTHING, "w2": CHANGED}}, "labels": {"nodes": {"w1": CHANGED}}}
    assert report.outcome("w1", results) == {"node": "w1", "taints": NOTHING, "labels": CHANGED}
    assert report.outcome("w2", results) == {"node": "w2", "taints": CHANGED, "labels": None}


def test_a_task_that_failed_as_a_whole_failed_for_each_node() -> None:
    failed = {"changed": False, "failed": True, "operations": []}
    refused = {"failed": True, "msg": "refused"}
    assert report.outcome("w1", {"labels": refused})["labels"] == {**failed, "msg": "refused"}
    assert report.outcome("w1", {"labels": {"unreachable": True}})["labels"] == {**failed, "msg": "no answer"}
    # It failed for another node, and says of this one how it ended.
    assert report.outcome("w1", {"labels": {"failed": True, "nodes": {"w1": CHANGED}}})["labels"] == CHANGED


def test_changes_are_told_with_their_values() -> None:
    assert told(labels={"nodes": {"w1": CHANGED}}) == ["w1: labels a: unset -> b"]
    emptied = {**CHANGED, "operations": [{**LABEL, "before": "b", "after": ""}]}
    assert told(labels={"nodes": {"w1": emptied}}) == ["w1: labels a: b -> (empty)"]
    planned = {**CHANGED, "changed": False, "msg": "not tried"}
    assert told(labels={"nodes": {"w1": planned}}) == ["w1: not tried", "w1: labels a: unset -> b, not done"]


def test_without_changes_it_says_whether_all_tasks_ran() -> None:
    assert told(labels={"nodes": {"w1": NOTHING}}) == ["w1 taints, resources, labels: nothing to change"]
    assert told() == ["w1 taints, resources, labels: not completed"]


def test_the_same_failure_of_all_nodes_is_told_once() -> None:
    reports = [report.outcome(node, {"labels": {"failed": True, "msg": "the API is away"}}) for node in ("w1", "w2")]
    assert report.lines(reports) == ["the API is away"]
