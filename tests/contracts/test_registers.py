# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tasks of a role register is what its rollout reads: a name that differs would read as a task that did not run."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

FILES = sorted(ROOT.glob("roles/*/tasks/*.yml"))
OWN = "nodecraft.kubeadm."
ROLLOUT = f"{OWN}rollout"
# The methods of a host of a rollout that read a register, by its short name.
READERS = ("result", "of_pass", "_registered")
SOURCES = [*ROOT.glob("plugins/module_utils/_plan/**/*.py"), *ROOT.glob("plugins/plugin_utils/_controller/*.py")]


def names_read(source: str) -> set[str]:
    """The registers that a file reads."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and node.args]
    names = [node.args[0] for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr in READERS]
    return {name.value for name in names if isinstance(name, ast.Constant) and isinstance(name.value, str)}


READ = {name for path in SOURCES for name in names_read(path.read_text(encoding="utf-8"))}


def tasks(entries: t.Sequence[t.Any]) -> t.Iterator[dict[str, t.Any]]:
    """The tasks of a file, those in blocks too."""
    for entry in entries:
        for part in ("block", "rescue", "always"):
            yield from tasks(entry.get(part, []))
        yield entry


def tasks_of(path: Path) -> t.Iterator[dict[str, t.Any]]:
    """The tasks of a file of a role."""
    return tasks(yaml.safe_load(path.read_text(encoding="utf-8")))


def short_name(role: str, task: dict[str, t.Any]) -> str:
    """What a task registers, without the prefix of its role; empty for one that does not."""
    return str(task.get("register", "")).removeprefix(f"__{role}_")


def register_errors(role: str, task: dict[str, t.Any]) -> list[str]:
    """What is wrong with what a task with a module of the collection registers."""
    if "register" not in task or not any(key.startswith(OWN) for key in task):
        return []
    name = short_name(role, task)
    step = task.get(ROLLOUT, {}).get("step", name)
    found = [] if name == {"plan": "begin"}.get(step, step) else [f"{step} is registered as {name}"]
    return found if name in READ else [*found, f"{name} is not read"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_registered_is_read(path: Path) -> None:
    role = path.parents[1].name
    found = [register_errors(role, task) for task in tasks_of(path)]
    assert [error for each in found for error in each] == []


def test_what_is_read_is_registered() -> None:
    registered = {short_name(path.parents[1].name, task) for path in FILES for task in tasks_of(path)}
    assert READ - registered == set()


def test_names_are_those_that_calls_use() -> None:
    calls = ['self.result("plan", Plan)', 'host.of_pass("turn", Turn).result(name)', 'result("a")', 'each.get("b")']
    assert names_read("\n".join(calls)) == {"plan", "turn"}


def test_another_name_is_found() -> None:
    step = {ROLLOUT: {"step": "decide"}, "register": "__r_decision"}
    assert register_errors("r", step) == ["decide is registered as decision", "decision is not read"]
    assert register_errors("r", {**step, "register": "__r_decide"}) == []
    assert register_errors("r", {ROLLOUT: {"step": "plan"}, "register": "__r_begin"}) == []
    assert register_errors("r", {f"{OWN}kubelet": {}, "register": "__r_chnage"}) == ["chnage is not read"]


# ---- nowhere else by a string ----------------------------------------------------------------------------------------

BORDER = "rollout_pass.py"
GETTERS = {"registered", "host_variables", "raw_get"}


def reads_by_string(text: str) -> list[int]:
    """The lines in which a key of what a task registered is read by its name."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.Subscript, ast.Attribute)) or not isinstance(node.value, ast.Call):
            continue
        is_key = isinstance(node, ast.Subscript) or node.attr == "get"
        if is_key and ast.unparse(node.value.func).rpartition(".")[2] in GETTERS:
            found.append(node.lineno)
    return found


def test_results_are_parsed_where_registers_are_read() -> None:
    """Elsewhere a misspelt key would read as a task that did not return it; a field that is not there the type checker finds."""
    files = [path for path in sorted(ROOT.glob("plugins/plugin_utils/_controller/*.py")) if path.name != BORDER]
    assert len(files) > 15
    found = {path.name: reads_by_string(path.read_text(encoding="utf-8")) for path in files}
    # Variables of the inventory, which are no results.
    assert {name: lines for name, lines in found.items() if lines} == {"playbook_steps.py": found["playbook_steps.py"]}
    assert len(found["playbook_steps.py"]) == 1


def test_reading_by_a_string_is_found() -> None:
    assert reads_by_string('a = registered(play, "b")["c"]\nd = play.host_variables(h).get("e")\n') == [1, 2]
    assert reads_by_string('a = registered_as(play, "b", C).c\n') == []
