# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What callers hand to a playbook of the lab with -e wins over every variable of a task, so no task has one of that name."""

from __future__ import annotations

import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

LAB = ROOT / "lab"


def names_in(node: t.Any) -> t.Iterator[str]:
    """The variables that tasks set for themselves, at any depth of a playbook or a file of tasks."""
    if isinstance(node, list):
        for entry in node:
            yield from names_in(entry)
    elif isinstance(node, dict):
        yield from node.get("vars") or ()
        for value in node.values():
            yield from names_in(value)


def variables() -> set[str]:
    """All that callers may set, and what the lab derives from it."""
    return set(yaml.safe_load((LAB / "vars" / "main.yml").read_text(encoding="utf-8")))


def files() -> list[Path]:
    return [*LAB.glob("*.yml"), *(LAB / "tasks").glob("*.yml")]


def test_no_task_has_a_variable_of_the_callers() -> None:
    found = [
        (path.name, name) for path in files() for name in names_in(yaml.safe_load(path.read_text(encoding="utf-8")))
    ]
    assert found, "the tasks have no variables, or are not found"
    assert not [(name, file) for file, name in found if name in variables()]


def test_a_name_of_the_callers_would_be_found() -> None:
    tasks = [{"block": [{"name": "Build", "ansible.builtin.include_tasks": "x.yml", "vars": {"lab_program": "etcd"}}]}]
    assert set(names_in(tasks)) & variables() == {"lab_program"}
