# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role's defaults and argument specification agree, and a variable's name shows who uses it; no tool of Ansible's checks that."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

ROLES = sorted(path.parent.parent.name for path in ROOT.glob("roles/*/tasks/main.yml"))


def load(path: Path) -> dict[str, t.Any]:
    loaded = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    return dict(loaded or {})


def disagreements(role: str, defaults: dict[str, t.Any], options: dict[str, dict[str, t.Any]]) -> list[str]:
    """Where the two files of a role disagree."""
    found = [
        f"{name} does not begin with the role's name"
        for name in sorted({*defaults, *options})
        if not name.startswith(f"{role}_")
    ]
    found += [f"{name} has a default and is not specified" for name in sorted(set(defaults) - set(options))]
    for name, option in sorted(options.items()):
        in_spec, in_defaults = "default" in option, name in defaults
        if option.get("required") and (in_spec or in_defaults):
            found.append(f"{name} is required and has a default")
        elif in_spec != in_defaults:
            found.append(f"{name} has a default in one of the two files only")
        elif in_spec and option["default"] != defaults[name]:
            found.append(f"{name} is {defaults[name]!r} by default, not {option['default']!r} as specified")
        if option.get("type") == "list" and "elements" not in option:
            found.append(f"{name} is a list of unspecified elements")
        if not option.get("description"):
            found.append(f"{name} is not described")
    return found


# A role's own variables bear its name. What roles and plays share is of the play.
PRIVATE = re.compile(r"(?<!\w)__[a-z]\w*")
SHARED = "__play_"


def misnamed(text: str, role: str | None) -> list[str]:
    """The private variables that a file of a role, or of the playbooks, must not use."""
    allowed = (SHARED, f"__{role}_") if role else (SHARED,)
    return sorted({name for name in PRIVATE.findall(text) if not name.startswith(allowed)})


def test_there_is_something_to_check() -> None:
    assert ROLES


@pytest.mark.parametrize("role", ROLES)
def test_defaults_and_specification_agree(role: str) -> None:
    directory = ROOT / "roles" / role
    specifications = load(directory / "meta/argument_specs.yml")["argument_specs"]
    # An option that several entry points have is described for each; that of the main one comes last.
    options = {name: option for entry in reversed(specifications.values()) for name, option in entry["options"].items()}
    assert disagreements(role, load(directory / "defaults/main.yml"), options) == []


@pytest.mark.parametrize(
    ("defaults", "option", "message"),
    [
        ({"r_a": 1}, {}, "has a default in one of the two files only"),
        ({}, {"default": 1}, "has a default in one of the two files only"),
        ({"r_a": 1}, {"default": 2}, "is 1 by default, not 2 as specified"),
        ({"r_a": 1}, {"default": 1, "required": True}, "is required and has a default"),
        ({}, {"type": "list"}, "is a list of unspecified elements"),
        ({}, {"description": ""}, "is not described"),
    ],
)
def test_a_breach_is_found(defaults: dict[str, t.Any], option: dict[str, t.Any], message: str) -> None:
    assert f"r_a {message}" in disagreements("r", defaults, {"r_a": {"description": "A.", **option}})


def test_a_stray_or_misnamed_variable_is_found() -> None:
    assert disagreements("r", {"r_b": 1, "c": 1}, {}) == [
        "c does not begin with the role's name",
        "c has a default and is not specified",
        "r_b has a default and is not specified",
    ]


@pytest.mark.parametrize("directory", [*(f"roles/{role}" for role in ROLES), "playbooks"])
def test_private_variables_name_their_owner(directory: str) -> None:
    role = directory.partition("/")[2] or None
    files = [path for path in (ROOT / directory).rglob("*") if path.suffix in (".yml", ".j2")]
    found = {str(path.relative_to(ROOT)): misnamed(path.read_text(encoding="utf-8"), role) for path in files}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_variable_of_another_place_is_found() -> None:
    text = "a: '{{ __play_a + __r_b + __s_c }}'\n__rest: hostvars.__x"
    assert misnamed(text, "r") == ["__rest", "__s_c", "__x"]
    assert misnamed(text, None) == ["__r_b", "__rest", "__s_c", "__x"]
