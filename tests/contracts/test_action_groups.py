# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module is in the action group of its side, and its documentation names it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts import imports
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

SIDES = {"node": "_node", "api": "_api"}
ATTRIBUTES = ("action_group", "check_mode", "diff_mode", "idempotent")


def is_documentation(source: str) -> bool:
    """Whether a module is that of an action plugin which does all by itself."""
    return bool(source) and "def main" not in source and "DOCUMENTATION" in source


def side_of(source: str) -> str | None:
    """The action group that a module belongs to, by what it imports."""
    tree = ast.parse(source)
    for group, directory in SIDES.items():
        place = f"{imports.UTILS}.{directory}"
        if any(imports.is_below(entry.name, place) for entry in imports.imports_of(tree, "plugins.modules.module")):
            return group
    return None


def misplaced(modules: dict[str, str], groups: dict[str, list[str]]) -> list[str]:
    """Where sources and groups disagree; ``modules`` maps names to sources."""
    listed = [(name, group) for group, names in groups.items() for name in names]
    found = [f"{group} lists {name}, which does not exist" for name, group in listed if name not in modules]
    for name, source in modules.items():
        side, named = side_of(source), [group for member, group in listed if member == name]
        if named != ([] if is_documentation(source) else [side]):
            found.append(f"{name} belongs to {side}, but is listed in {named}")
    return found


def undocumented(name: str, doc: dict[str, t.Any], group: str | None) -> list[str]:
    """What a module's documentation lacks. group: None for one that is in none."""
    attributes = doc.get("attributes", {})
    expected = [key for key in ATTRIBUTES if group or key != "action_group"]
    found = [f"{name}: attribute {key} is missing" for key in expected if key not in attributes]
    if group is None:
        return found
    membership = f"nodecraft.kubeadm.{group}"
    if membership not in attributes.get("action_group", {}).get("membership", []):
        found.append(f"{name}: attribute action_group does not name {membership}")
    return found


def sources() -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "plugins/modules").glob("*.py"))}


def action_groups() -> dict[str, list[str]]:
    groups = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["action_groups"]
    # An entry that is a mapping names which groups of other collections a group belongs to.
    return {group: [name for name in names if isinstance(name, str)] for group, names in groups.items()}


@pytest.fixture(scope="module")
def documentation() -> dict[str, dict[str, t.Any]]:
    """The output of ansible-doc for each module, by its short name."""
    names = [f"nodecraft.kubeadm.{name}" for name in sources()]
    result = subprocess.run(
        ["ansible-doc", "--type=module", "--json", *names],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "build/collections")},
        check=True,
        capture_output=True,
        text=True,
    )
    return {name.rpartition(".")[2]: entry["doc"] for name, entry in json.loads(result.stdout).items()}


def test_modules_are_in_the_group_of_their_side() -> None:
    assert misplaced(sources(), action_groups()) == []


def test_modules_document_their_group_and_modes(documentation: dict[str, dict[str, t.Any]]) -> None:
    groups = {name: group for group, names in action_groups().items() for name in names}
    assert sorted(documentation) == sorted(sources())
    assert [
        finding for name, doc in documentation.items() for finding in undocumented(name, doc, groups.get(name))
    ] == []


def test_every_module_has_its_tests() -> None:
    tests = {path.name for path in Path(ROOT / "tests/unit").rglob("test_*.py")}
    assert [name for name in sources() if f"test_{name}.py" not in tests] == []


def test_a_breach_is_found() -> None:
    node = "from ..module_utils._node import x"
    assert misplaced({"a": node}, {"node": []}) == ["a belongs to node, but is listed in []"]
    assert misplaced({"a": node}, {"node": ["a"], "api": ["a"]}) == [
        "a belongs to node, but is listed in ['node', 'api']"
    ]
    assert misplaced({"a": "from ..module_utils._api import x"}, {"node": ["a"]}) == [
        "a belongs to api, but is listed in ['node']"
    ]
    assert misplaced({}, {"node": ["gone"]}) == ["node lists gone, which does not exist"]
    assert misplaced({"a": "import json"}, {"node": ["a"]}) == ["a belongs to None, but is listed in ['node']"]
    assert "a: attribute check_mode is missing" in undocumented("a", {"attributes": {}}, "node")
    assert "a: attribute action_group does not name nodecraft.kubeadm.node" in undocumented(
        "a", {"attributes": {"action_group": {"membership": ["nodecraft.kubeadm.api"]}}}, "node"
    )
