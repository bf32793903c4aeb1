# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No file and no function, with its decorators, is longer than a reader takes in: what grows beyond is divided by its subjects."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

DIRECTORIES = ("plugins", "roles", "tests")
LINES_OF_A_FILE = 600
LINES_OF_A_FUNCTION = 52


def held(path: Path) -> bool:
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
    files = [path for path in project_files(ROOT) if held(path)]
    assert {path.parts[0] for path in files} == {*DIRECTORIES, "noxfile.py"}
    assert [found for path in files for found in findings(path, (ROOT / path).read_text(encoding="utf-8"))] == []


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
