# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Phases and outcomes stand twice: in the engine, which is packed alone, and for all else in ``_plan``. The two agree, and no other file has
such a word."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

ENGINES = Path("plugins/module_utils/_engine/journal.py")
OWN = Path("plugins/module_utils/_plan/transaction/messages.py")
FIRST = ("PREPARED", "COMMITTED")  # of the phases, and of the outcomes
# What others call so, too: a container and a host of a rollout wait, and etcd has alarms.
OF_OTHERS = {
    "waiting": ("_plan/", "_engine/pod_observation.py", "_engine/canary.py"),
    "alarm": ("_engine/etcd_member.py",),
}


def constants(path: Path) -> dict[str, dict[str, str]]:
    """The single strings at the top of a file, by their names; those of one line together, by the first name of it."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            names, values = (each.elts if isinstance(each, ast.Tuple) else [each] for each in (target, value))
            texts = [each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if len(names) == len(texts):
                line = dict(zip(map(ast.unparse, names), texts, strict=True))
                found[next(iter(line))] = line
    return found


def flat(lines: dict[str, dict[str, str]]) -> dict[str, str]:
    """All names with their values."""
    return {name: text for line in lines.values() for name, text in line.items()}


def words() -> set[str]:
    """The engine's phases and outcomes."""
    return {text for first in FIRST for text in constants(ENGINES)[first].values()}


def literals(path: str, text: str, forbidden: set[str]) -> list[str]:
    """Where a file has one of these words as a string of its own."""
    return [
        f"{path}:{node.lineno}: {node.value}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value in forbidden
        and not any(place in path for place in OF_OTHERS.get(node.value, ()))
    ]


def test_the_two_agree() -> None:
    own, engines = flat(constants(OWN)), flat(constants(ENGINES))
    assert "CONFIRMING" in own
    assert own == {name: engines.get(name) for name in own}


def test_no_other_file_has_such_a_word() -> None:
    forbidden = words()
    assert {"prepared", "confirming", "committed", "alarm"} < forbidden
    files = [path for path in project_files(ROOT) if path.parts[0] == "plugins" and path.suffix == ".py"]
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in files if path not in (ENGINES, OWN)}
    assert len(texts) == len(files) - 2
    assert [found for path, text in texts.items() for found in literals(str(path), text, forbidden)] == []


@pytest.mark.parametrize(
    ("path", "text", "number"),
    [
        ("_plan/a.py", "if outcome == 'committed': pass", 1),
        ("_plan/a.py", "ENDINGS = {'rolled_back': 'it was rolled back', 'alarm': ''}", 2),
        ("_plan/a.py", "'it was committed'\nwaiting = 'waiting'", 0),
        ("_node/a.py", "phase = 'waiting'", 1),
        ("_engine/etcd_member.py", "entry.get('alarm')", 0),
    ],
)
def test_a_breach_is_found(path: str, text: str, number: int) -> None:
    assert len(literals(path, text, words())) == number
