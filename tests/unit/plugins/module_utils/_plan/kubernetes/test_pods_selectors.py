# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Selectors of labels: which objects they select."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import pods

LABELS = {"tier": "web", "size": "7"}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, True),
        ({}, True),
        ({"matchLabels": None, "matchExpressions": None}, True),
        ({"matchLabels": {"tier": "web"}}, True),
        ({"matchLabels": {"tier": "db"}}, False),
        ({"matchLabels": {"tier": "web"}, "matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"tier": "db"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}, False),
    ],
)
def test_which_objects_are_selected(selector: t.Any, selected: bool) -> None:
    assert pods.selector_matches(selector, LABELS) is selected


@pytest.mark.parametrize(
    ("key", "operator", "values", "met"),
    [
        ("tier", "Exists", None, True),
        ("none", "Exists", None, False),
        ("none", "DoesNotExist", None, True),
        ("tier", "DoesNotExist", None, False),
        ("tier", "In", ["db", "web"], True),
        ("none", "In", ["db"], False),
        ("tier", "NotIn", ["web"], False),
        ("none", "NotIn", ["web"], True),
        ("size", "Gt", ["6"], True),
        ("size", "Gt", ["7"], False),
        ("size", "Lt", ["8"], True),
        ("size", "Lt", ["7"], False),
        ("tier", "Gt", ["1"], False),
        ("none", "Lt", ["1"], False),
        ("size", "Gt", [], False),
    ],
)
def test_one_requirement(key: str, operator: str, values: list[str] | None, met: bool) -> None:
    assert pods.matches_requirement({"key": key, "operator": operator, "values": values}, LABELS) is met
