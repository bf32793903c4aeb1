# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users have to install beside the collection is as loose as Ansible's community and Automation Hub require, and each has its reason."""

from __future__ import annotations

import re
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from ansible_collections.nodecraft.kubeadm.tests.sessions.start import TOOLS

# Part of the community package, and certified.
COLLECTIONS = {"kubernetes.core"}
AT_LEAST = re.compile(r">=[1-9]\d*\.\d+\.\d+")
PACKAGE = re.compile(r"(?P<name>[\w.-]+)(?P<rest>.*)")
NAME = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==", re.MULTILINE)
PAGE = ROOT / "docs/development/dependencies.md"


def lines_of(text: str) -> list[str]:
    """The entries of a file with requirements."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def parse(requirement: str) -> re.Match[str]:
    """A requirement's name and the rest."""
    return t.cast("re.Match[str]", PACKAGE.fullmatch(requirement))


def too_tight(requirement: str) -> bool:
    """Whether a Python package is pinned, capped, or Ansible itself."""
    match = parse(requirement)
    return match["name"] in ("ansible", "ansible-core") or not re.fullmatch(r"(?:>=[\d.]+)?", match["rest"])


def locked_versions(text: str) -> dict[str, int]:
    """The requirements of a lock, each with the number of its hashes."""
    entries = [line.split("--hash=") for line in lines_of(text.replace("\\\n", ""))]
    return {requirement.strip(): len(hashes) for requirement, *hashes in entries}


def explained(page: str) -> set[str]:
    """The dependencies that the page gives a reason for."""
    return {name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)}


def test_collections_have_a_lower_bound_and_no_other() -> None:
    found = yaml.safe_load((ROOT / "galaxy.yml").read_text("utf-8"))["dependencies"]
    assert set(found) == COLLECTIONS
    assert [name for name, bound in found.items() if not AT_LEAST.fullmatch(bound)] == []


def test_python_packages_are_neither_pinned_nor_ansible_itself() -> None:
    found = lines_of((ROOT / "meta/ee-requirements.txt").read_text("utf-8"))
    assert found
    assert [line for line in found if too_tight(line)] == []


@pytest.mark.parametrize(("lock", "names"), [("constraints.lock", None), ("nox.lock", TOOLS)])
def test_a_lock_has_the_hashes_of_the_pinned_versions(lock: str, names: tuple[str, ...] | None) -> None:
    pins = lines_of((ROOT / "tests/constraints.txt").read_text("utf-8"))
    expected = {pin for pin in pins if names is None or parse(pin)["name"] in names}
    locked = locked_versions((ROOT / "tests" / lock).read_text("utf-8"))
    assert expected - locked.keys() == set(), "run build/nox/bin/nox --session locks"
    assert [line for line, hashes in locked.items() if not hashes] == []


def test_a_lock_has_no_other_version_of_what_is_pinned() -> None:
    pins = lines_of((ROOT / "tests/constraints.txt").read_text("utf-8"))
    locked = locked_versions((ROOT / "tests/constraints.lock").read_text("utf-8"))
    assert locked.keys() - set(pins) == set()


def test_each_dependency_has_its_reason() -> None:
    pinned = set(NAME.findall((ROOT / "tests/constraints.txt").read_text("utf-8")))
    used = {parse(line)["name"] for line in lines_of((ROOT / "meta/ee-requirements.txt").read_text("utf-8"))}
    assert pinned
    assert (pinned | used | COLLECTIONS) - explained(PAGE.read_text("utf-8")) == set()


@pytest.mark.parametrize(
    ("requirement", "tight"),
    [("a", False), ("a>=1.2", False), ("a==1.2", True), ("a<2", True), ("a>=1,<2", True), ("ansible-core>=2.18", True)],
)
def test_a_breach_is_found(requirement: str, tight: bool) -> None:
    assert too_tight(requirement) is tight


def test_a_reason_is_found() -> None:
    assert explained("| Name | Why |\n| --- | --- |\n| `a`, `b` | `c` |\n") == {"a", "b"}
