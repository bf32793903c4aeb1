# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles hand to the collection's modules is what these take: the stand-ins of the roles' tests take anything, and no linter reads module_defaults."""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.role_rollout import RoleRollout
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.rollout_steps import ROLES
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

TASKS = sorted([*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("playbooks/**/*.yml")])
OWN = "nodecraft.kubeadm."


def document(path: Path, name: str) -> dict[str, t.Any]:
    """A constant of a file that holds YAML, wherever it stands in there; empty when there is none."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return dict(yaml.safe_load(ast.literal_eval(node.value)))
    return {}


def options_of(module: str) -> set[str]:
    """The options that a module documents, without those of other collections."""
    found = document(ROOT / f"plugins/modules/{module}.py", "DOCUMENTATION")
    options = set(found.get("options", {}))
    for fragment in found.get("extends_documentation_fragment", []):
        if fragment.startswith(OWN):
            name, _dot, part = fragment[len(OWN) :].partition(".")
            path = ROOT / f"plugins/doc_fragments/{name}.py"
            options |= set(document(path, part.upper() or "DOCUMENTATION").get("options", {}))
    return options


def options_in(path: Path) -> list[tuple[str, str]]:
    """Each module of the collection in the tasks and module_defaults of a file, with each option that it gets there."""
    variables = path.parents[1] / "vars/main.yml"
    known = yaml.safe_load(variables.read_text(encoding="utf-8")) if variables.exists() else {}
    return list(handed_over(yaml.safe_load(path.read_text(encoding="utf-8")), known))


def handed_over(thing: t.Any, known: t.Mapping[str, t.Any]) -> t.Iterator[tuple[str, str]]:
    """The same of a loaded file. known: the role's variables, which may hold all options of a module."""
    if isinstance(thing, list):
        for entry in thing:
            yield from handed_over(entry, known)
    elif isinstance(thing, dict):
        for key, value in thing.items():
            if str(key).startswith(OWN):
                yield from ((key[len(OWN) :], option) for option in named_in(value, known))
            yield from handed_over(value, known)


def named_in(value: t.Any, known: t.Mapping[str, t.Any]) -> set[str]:
    """The options in a mapping, or in the variables of the role that an expression puts together."""
    if isinstance(value, dict):
        return set(value)
    names = re.findall(r"\b__\w+", value) if isinstance(value, str) else []
    return {option for name in names if name in known for option in named_in(known[name], known)}


PLANNERS = {role: steps._planner for role, steps in ROLES.items() if issubclass(steps, RoleRollout) and steps._planner}


@pytest.mark.parametrize("role", sorted(PLANNERS))
def test_the_module_that_plans_knows_what_the_first_step_hands_it(role: str) -> None:
    known = yaml.safe_load((ROOT / f"roles/{role}/vars/main.yml").read_text(encoding="utf-8"))
    found = named_in(known[f"__{role}_arguments"], known)
    assert len(found) > 8
    assert found - options_of(PLANNERS[role]) == set()


def test_there_is_something_to_check() -> None:
    found = {pair for path in TASKS for pair in options_in(path)}
    assert {("static_pod", "confirm_url"), ("kubelet", "confirm_url"), ("rollout", "settings")} <= found


@pytest.mark.parametrize("path", TASKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_know_what_they_are_handed(path: Path) -> None:
    assert [pair for pair in options_in(path) if pair[1] not in options_of(pair[0])] == []
