# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON patches."""

from __future__ import annotations

import copy

import jsonpatch
import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents import json_patch


def test_pointers_are_escaped() -> None:
    assert json_patch.pointer("a/b", "~", "c~/d") == "/a~1b/~0/c~0~1d"


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "add", "path": "/a", "value": {"x": 1}}, {"op": "add", "path": "/a/y~1z~0", "value": 2}],
        [{"op": "replace", "path": "/list/1", "value": 9}, {"op": "remove", "path": "/list/0"}],
        [{"op": "add", "path": "/list/-", "value": 9}, {"op": "add", "path": "/list/0", "value": [8]}],
        [{"op": "test", "path": "/deep/x", "value": {"y": [1]}}, {"op": "remove", "path": "/deep/x/y"}],
        [{"op": "test", "path": "/list/1", "value": 2}, {"op": "replace", "path": "/deep", "value": None}],
    ],
)
def test_operations_are_applied_as_by_others(operations: list[json_patch.PatchOperation]) -> None:
    document = {"list": [1, 2, 3], "deep": {"x": {"y": [1]}}}
    before = copy.deepcopy(document)
    assert json_patch.apply(document, operations) == jsonpatch.apply_patch(document, operations)
    assert document == before


def test_a_test_of_null_holds_for_a_member_that_is_not_there() -> None:
    assert json_patch.apply({"a": 1}, [{"op": "test", "path": "/b", "value": None}]) == {"a": 1}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "test", "path": "/b/c", "value": None},
        {"op": "remove", "path": "/b"},
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "replace", "path": "/list/7", "value": 1},
        {"op": "remove", "path": "/list/x"},
        {"op": "add", "path": "/b/c", "value": 1},
    ],
)
def test_operations_that_do_not_fit(operation: json_patch.PatchOperation) -> None:
    with pytest.raises(ValueError, match=operation["path"]):
        json_patch.apply({"a": 1, "list": []}, [operation])
