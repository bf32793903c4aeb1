# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cast is where the type checker accepts what it cannot see: there are few, and each has its reason."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

MOST = 10


class Cast(t.NamedTuple):
    """A cast in a file. reason: the comment in its line or in the one above; empty without one."""

    place: str
    reason: str


def casts(path: Path, text: str) -> list[Cast]:
    """The casts in a file."""
    lines = ["", *text.splitlines()]
    return [
        Cast(f"{path}:{node.lineno}", _comment(lines[node.lineno]) or _comment(lines[node.lineno - 1], whole=True))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "cast"
    ]


def _comment(line: str, *, whole: bool = False) -> str:
    """The comment of a line. whole: only of one that has nothing else."""
    before, _mark, comment = line.partition("# ")
    return "" if whole and before.strip() else comment.strip()


def test_casts_are_few_and_each_has_its_reason() -> None:
    files = [path for path in project_files(ROOT) if path.parts[0] == "plugins" and path.suffix == ".py"]
    assert len(files) > 200
    found = [cast for path in files for cast in casts(path, (ROOT / path).read_text(encoding="utf-8"))]
    assert len(found) <= MOST
    assert [cast.place for cast in found if not cast.reason] == []


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("x = t.cast(int, y)\n", [""]),
        ("x = cast(int, y)  # it is counted\n", ["it is counted"]),
        ("# It is counted.\nx = typing.cast(int, y)\n", ["It is counted."]),
        ("z = 1  # one\nx = t.cast(int, y)\n", [""]),
        ("# too far\n\nx = t.cast(int, y)\n", [""]),
        ("x = broadcast(y)\n", []),
    ],
)
def test_a_cast_is_found_with_its_reason(text: str, reasons: list[str]) -> None:
    assert [cast.reason for cast in casts(Path("a.py"), text)] == reasons
