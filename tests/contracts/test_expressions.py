# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML of roles and playbooks orders tasks and holds objects: what is decided is Python, which has unit tests."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import jinja2
import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from jinja2 import nodes

FILTERS, CHARACTERS, VARIABLES = 2, 160, 30
ROLES = sorted(path.parent.parent.name for path in ROOT.glob("roles/*/tasks/main.yml"))
FILES = sorted(path for directory in ("roles", "playbooks") for path in (ROOT / directory).rglob("*.yml"))
# Keywords whose values are expressions without braces.
CONDITIONS = {"when", "that", "until", "break_when", "changed_when", "failed_when"}
JINJA = jinja2.Environment(autoescape=True)


def expressions(value: t.Any, key: str = "") -> t.Iterator[str]:
    """The expressions in a loaded file. key: of which the value is."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from expressions(each, str(name))
    elif isinstance(value, list):
        for each in value:
            yield from expressions(each, key)
    elif isinstance(value, str):
        if key in CONDITIONS and "{{" not in value:
            yield value
        else:
            yield from templates(value)


def templates(text: str) -> t.Iterator[str]:
    """What stands in braces."""
    found = ""
    for _line, kind, token in JINJA.lex(text):
        if kind == "variable_begin":
            found = ""
        elif kind == "variable_end":
            yield found.strip()
        else:
            found += token


def filters(expression: str) -> int:
    """How many filters stand in an expression."""
    tree = JINJA.parse(f"{{{{ {expression} }}}}")
    return sum(1 for _each in tree.find_all(nodes.Filter))


def yaml_errors(text: str) -> list[str]:
    """What a file of YAML decides by itself."""
    found = ["has a statement of Jinja"] if "{%" in text else []
    for each in expressions(yaml.safe_load(text)):
        expression = " ".join(each.split())
        if filters(expression) > FILTERS:
            found.append(f"has {filters(expression)} filters in {expression}")
        if len(expression) > CHARACTERS:
            found.append(f"has {len(expression)} characters in {expression}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_yaml_decides_little(path: Path) -> None:
    assert yaml_errors(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: '{% if b %}c{% endif %}'", "has a statement of Jinja"),
        ("a: ['{{ b | c | d | e }}']", "has 3 filters in b | c | d | e"),
        ("when: b | c | d | e", "has 3 filters in b | c | d | e"),
        ("a: {that: ['b', 'c | d(e | f) | g']}", "has 3 filters in c | d(e | f) | g"),
        (f"a: b {{{{ {'c' * 161} }}}}", f"has 161 characters in {'c' * 161}"),
    ],
)
def test_what_decides_too_much_is_found(text: str, error: str) -> None:
    assert yaml_errors(text) == [error]


def test_what_decides_little_is_not() -> None:
    assert list(templates("a {{ {'b': {'c': 1}} }} {{ d }}")) == ["{'b': {'c': 1}}", "d"]
    assert yaml_errors(f"when: b | c | d\nname: e | f | g | h\na: '{{{{ {'c' * 160} }}}} {{{{ d | e | f }}}}'") == []


def role_text(role: str) -> str:
    """The YAML and the templates of a role, without its documentation."""
    paths = [path for path in (ROOT / "roles" / role).rglob("*") if path.suffix in (".yml", ".j2")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if path.parent.name != "meta")


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_few_variables_of_its_own(role: str) -> None:
    assert len(set(re.findall(rf"\b__{role}_\w+", role_text(role)))) <= VARIABLES


@pytest.mark.parametrize("role", ROLES)
def test_other_hosts_are_read_in_one_place_at_most(role: str) -> None:
    assert len(re.findall(r"\bhostvars\b", role_text(role))) <= 1
