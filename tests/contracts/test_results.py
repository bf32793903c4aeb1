# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of each module is compared with what is documented of it, by its unit tests."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from ansible_collections.nodecraft.kubeadm.tests.unit.support import documents

UNITS = ROOT / "tests/unit/plugins"
INTERNAL = {"rollout"}  # which returns to the next step of a role what that step needs
EXAMPLE: dict[str, t.Any] = {
    "nodes": {
        "description": "The nodes, by name.",
        "returned": "success",
        "type": "dict",
        "contains": {"ready": {"description": "Whether it is.", "type": "bool"}},
    },
    "node": {"description": "Its name; V(null) without one.", "returned": "always", "type": "str"},
    "late": {"description": "How late.", "returned": "when it is", "type": "int"},
}


def compared() -> set[str]:
    """The modules that a test compares by itself, or runs with C(play), which does."""
    found: set[str] = set()
    for path in UNITS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'schema_errors\(\s*"(\w+)"', text))
        if "support.module_api import" in text:
            found |= set(re.findall(r"\bplay\((\w+)", text))
    return found


def test_the_result_of_each_module_is_compared() -> None:
    modules = {path.stem for path in (ROOT / "plugins/modules").glob("*.py")}
    assert modules >= INTERNAL
    assert modules - compared() == INTERNAL


@pytest.mark.parametrize(
    ("result", "errors"),
    [
        ({"nodes": {"w1": {"ready": True}}, "node": "w1", "changed": True, "msg": ""}, []),
        ({"nodes": {}, "node": None, "late": 3}, []),
        ({"failed": True, "node": "w1"}, []),
        ({"nodes": {}, "node": "w1", "x": 1}, ["a: x is not documented"]),
        ({"nodes": {}}, ["a: node is missing"]),
        ({"node": "w1"}, ["a: nodes is missing"]),
        ({"nodes": {}, "node": 1}, ["a: node is 1, not of type str"]),
        ({"nodes": {}, "node": "w1", "late": None}, ["a: late is null, of which nothing is said"]),
        ({"nodes": {"w1": {"ready": True, "x": 1}}, "node": "w1"}, ["a: nodes: x is not documented"]),
        ({"nodes": {"w1": {}}, "node": "w1"}, ["a: nodes: ready is missing"]),
    ],
)
def test_a_breach_is_found(monkeypatch: pytest.MonkeyPatch, result: dict[str, t.Any], errors: list[str]) -> None:
    monkeypatch.setattr(documents, "return_documentation", lambda _module: EXAMPLE)
    assert documents.schema_errors("a", result) == errors
