# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No file, class or function, with its decorators, is longer than a reader takes in: what grows beyond is divided by its subjects."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

DIRECTORIES = ("plugins", "roles", "tests")
LINES_OF_A_FILE = 600
LINES_OF_A_FUNCTION = 52
LINES_OF_A_CLASS, METHODS_OF_A_CLASS = 250, 20


def is_limited(path: Path) -> bool:
    """Whether a file is one of those that this is about."""
    is_written = path.suffix != ".lock"  # a program writes those
    return is_written and (path.parts[0] in DIRECTORIES or path == Path("noxfile.py"))


def findings(path: Path, text: str) -> list[str]:
    """What is too long in a file."""
    found = []
    if (lines := len(text.splitlines())) > LINES_OF_A_FILE:
        found.append(f"{path}: {lines} lines, more than {LINES_OF_A_FILE}")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                first = min(line.lineno for line in (node, *node.decorator_list))
                lines = node.end_lineno - first + 1
                if lines > LINES_OF_A_FUNCTION:
                    found.append(f"{path}:{first}: {node.name} has {lines} lines, more than {LINES_OF_A_FUNCTION}")
    return found


def test_nothing_is_too_long() -> None:
    files = [path for path in project_files(ROOT) if is_limited(path)]
    assert {path.parts[0] for path in files} == {*DIRECTORIES, "noxfile.py"}
    assert [found for path in files for found in findings(path, (ROOT / path).read_text(encoding="utf-8"))] == []


def large_classes(text: str) -> list[str]:
    """The classes of a file with more lines or methods than a reader takes in; a property is no method."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef) and node.end_lineno is not None:
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef) and not is_property(each)]
            if node.end_lineno - node.lineno >= LINES_OF_A_CLASS or len(methods) > METHODS_OF_A_CLASS:
                found.append(node.name)
    return found


def is_property(function: ast.FunctionDef) -> bool:
    """Whether it is read like a value."""
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def test_no_class_is_too_large() -> None:
    files = [path for path in project_files(ROOT) if path.parts[0] == "plugins" and path.suffix == ".py"]
    texts = [(ROOT / path).read_text(encoding="utf-8") for path in files]
    assert [name for text in texts for name in large_classes(text)] == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("    x = 1\n" * 249, []),
        ("    x = 1\n" * 250, ["A"]),
        ("    def f(self): ...\n" * 20 + "    @property\n    def g(self): ...\n", []),
        ("    def f(self): ...\n" * 21, ["A"]),
    ],
)
def test_a_large_class_is_found(body: str, found: list[str]) -> None:
    assert large_classes(f"class A:\n{body}") == found


@pytest.mark.parametrize(
    ("path", "text", "number"),
    [
        ("a.yml", "a: b\n" * 601, 1),
        ("a.yml", "a: b\n" * 600, 0),
        ("a.py", "def f():\n" + "    x = 1\n" * 52, 1),
        ("a.py", "def f():\n" + "    x = 1\n" * 51, 0),
        ("a.py", "@once(\n    [1, 2]\n)\ndef f():\n" + "    x = 1\n" * 49, 1),
        ("a.py", "@once(\n    [1, 2]\n)\ndef f():\n" + "    x = 1\n" * 48, 0),
        ("a.py", "class A:\n    async def f():\n" + "        x = 1\n" * 52, 1),
    ],
)
def test_a_breach_is_found(path: str, text: str, number: int) -> None:
    assert len(findings(Path(path), text)) == number
