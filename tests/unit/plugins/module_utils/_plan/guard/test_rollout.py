# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of a guard."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import rollout

NOTHING = {"changed": False, "enforced": False, "nodes": [], "added": [], "removed": [], "stale": [], "untainted": []}


def test_what_became_of_it() -> None:
    result = {"changed": True, "enforced": True, "nodes": ["w1"], "summary": ["protected: w1"], "msg": "x"}
    assert rollout.report(result) == {**NOTHING, "changed": True, "enforced": True, "nodes": ["w1"]}
    assert rollout.lines(result) == ["protected: w1"]


def test_a_failure_speaks_for_itself() -> None:
    assert rollout.lines({"summary": [], "msg": "no credentials"}) == ["no credentials"]


def test_a_guard_that_was_not_asked_for() -> None:
    assert rollout.report({}) == NOTHING
    assert rollout.lines({}) == ["nothing was done"]
