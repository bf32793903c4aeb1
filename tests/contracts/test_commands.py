# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CONTRIBUTING names exactly the make targets that exist, the README none besides, and make knows only sessions that exist."""

from __future__ import annotations

import ast
import re

from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT


def targets_of(makefile: str) -> set[str]:
    """The targets that the Makefile declares."""
    return {name for line in re.findall(r"^\.PHONY:(.*)$", makefile, re.MULTILINE) for name in line.split()}


def targets_named_in(text: str) -> set[str]:
    """The targets of make in a text."""
    return set(re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)(?=[ `\n])", text))


def sessions_of(noxfile: str) -> set[str]:
    """The functions of the noxfile that are sessions."""
    return {
        node.name
        for node in ast.parse(noxfile).body
        if isinstance(node, ast.FunctionDef) and any("nox.session" in ast.unparse(item) for item in node.decorator_list)
    }


def test_every_target_is_reported_and_no_other() -> None:
    targets = targets_of((ROOT / "Makefile").read_text(encoding="utf-8"))
    assert targets
    assert targets_named_in((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")) == targets
    assert targets_named_in((ROOT / "README.md").read_text(encoding="utf-8")) <= targets


def test_every_target_is_a_session() -> None:
    targets = targets_of((ROOT / "Makefile").read_text(encoding="utf-8"))
    sessions = sessions_of((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    assert {name.replace("-", "_").removeprefix("test_") for name in targets} <= {
        name.removeprefix("test_") for name in sessions
    }


def names_in(noxfile: str, constant: str) -> set[str]:
    """The sessions that a constant of the noxfile lists by name, also in groups; it may take in other constants."""
    (value,) = (
        node.value
        for node in ast.parse(noxfile).body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [constant]
    )
    assert isinstance(value, ast.Tuple)
    return {
        entry.value for entry in ast.walk(value) if isinstance(entry, ast.Constant) and isinstance(entry.value, str)
    }


def test_fault_tests_run_in_the_test_and_as_a_whole() -> None:
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert "faults" in names_in(noxfile, "LATER_SESSIONS")
    assert names_in(noxfile, "FAULT_SESSIONS") == {"faults_files", "faults_lab"}
    assert names_in(noxfile, "FAULT_SESSIONS") <= sessions_of(noxfile)


def test_a_breach_is_found() -> None:
    assert targets_of(".PHONY: demo test\n.PHONY: lab-up\n") == {"demo", "test", "lab-up"}
    assert targets_named_in("`make demo`, `make lab-up LAB=x`\nmake test\n and make `sure`") == {
        "demo",
        "lab-up",
        "test",
    }
    assert sessions_of("@nox.session\ndef a(s): ...\n@nox.session(python='3.13')\ndef b(s): ...\ndef c(s): ...") == {
        "a",
        "b",
    }
