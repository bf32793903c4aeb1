# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module knows check mode. Whether one is in it, the runner alone reads; it passes each step what that step may do, and none stores it
for another one."""

from __future__ import annotations

import ast

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

RUNNER = "plugins/module_utils/_module/runner.py"
CLASSES = ("plugins/module_utils/_module/api_module.py", "plugins/module_utils/_module/node_module.py")
DIRECTORIES = ("plugins/modules/", "plugins/module_utils/")
OF_STEPS = (DIRECTORIES[0], *(f"{DIRECTORIES[1]}{place}/" for place in ("_api", "_module", "_node")))
NAMES = ("dry", "dry_run", "check_mode")  # of what the runner hands on, and of what follows from it


def reads_check_mode(text: str) -> bool:
    """Whether code reads the check mode of an object."""
    return any(isinstance(node, ast.Attribute) and node.attr == "check_mode" for node in ast.walk(ast.parse(text)))


def is_flag(value: ast.expr | None) -> bool:
    """Whether a value is check mode itself, or made of nothing but it and the like."""
    if isinstance(value, ast.UnaryOp):
        return is_flag(value.operand)
    if isinstance(value, ast.BoolOp):
        return any(map(is_flag, value.values))
    return isinstance(value, ast.Name) and value.id in NAMES


def stored_flags(text: str) -> list[int]:
    """The lines in which check mode is stored: in an attribute, or by an object that is made with it."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr.lstrip("_").removeprefix("is_") in NAMES[:2]:
            found.append(node.lineno)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and is_flag(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [target.lineno for target in targets if isinstance(target, ast.Attribute)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2].lstrip("_")[:1].isupper():
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            found += [value.lineno for value in given if is_flag(value)]
    return sorted(set(found))


def without_check_mode(text: str) -> list[int]:
    """The lines in which a class that is an AnsibleModule begins as one that has no check mode."""
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    calls = [
        node
        for found in classes
        if "AnsibleModule" in map(ast.unparse, found.bases)
        for node in ast.walk(found)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__"
    ]
    return [call.lineno for call in calls if "supports_check_mode=True" not in ast.unparse(call)]


def test_each_module_has_it() -> None:
    """All modules of nodes are of one class, and all that use the API of another."""
    files = [path for path in project_files(ROOT) if path.parts[0] == "plugins" and path.suffix == ".py"]
    texts = {str(path): (ROOT / path).read_text(encoding="utf-8") for path in files}
    assert [path for path, text in texts.items() if "(AnsibleModule)" in text] == list(CLASSES)
    assert [path for path, text in texts.items() if "AnsibleModule(" in text] == []
    assert {path: lines for path in CLASSES if (lines := without_check_mode(texts[path]))} == {}


def test_a_module_without_it_is_found() -> None:
    text = "class A({0}):\n    def __init__(self):\n        super().__init__({1})\n"
    assert without_check_mode(text.format("AnsibleModule", "argument_spec={}")) == [3]
    assert without_check_mode(text.format("AnsibleModule", "argument_spec={}, supports_check_mode=True")) == []
    assert without_check_mode(text.format("B", "argument_spec={}")) == []


def test_the_runner_alone_reads_it() -> None:
    files = [str(path) for path in project_files(ROOT) if str(path).startswith(DIRECTORIES) and path.suffix == ".py"]
    assert [path for path in files if reads_check_mode((ROOT / path).read_text(encoding="utf-8"))] == [RUNNER]


@pytest.mark.parametrize(
    ("text", "reads"), [("run(module.check_mode)", True), ("check_mode = 1", False), ("'module.check_mode'", False)]
)
def test_reading_it_is_found(text: str, reads: bool) -> None:
    assert reads_check_mode(text) is reads


def test_no_step_keeps_it() -> None:
    files = [str(path) for path in project_files(ROOT) if str(path).startswith(OF_STEPS) and path.suffix == ".py"]
    assert {place for place in OF_STEPS if any(path.startswith(place) for path in files)} == set(OF_STEPS)
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in files}
    assert {path: lines for path, text in texts.items() if (lines := stored_flags(text))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "self._dry = value",
        "self.writes = not dry",
        "self._waits: bool = wait and not dry_run",
        "return self._is_dry",
        "return _Steps(params, notes=not dry)",
        "return steps.Steps(params, dry)",
    ],
)
def test_keeping_it_is_found(line: str) -> None:
    assert stored_flags(f"pass\n{line}\n") == [2]


@pytest.mark.parametrize(
    "line", ["self._found = protect(cluster, dry=dry)", "self.read(dry=not dry)", "waits = not dry", "self.dryness = 1"]
)
def test_handing_it_on_is_no_breach(line: str) -> None:
    assert stored_flags(line) == []
