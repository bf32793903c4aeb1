# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipes that the documentation shows are the files that a scenario plays on real clusters."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

RECIPES = ROOT / "docs" / "recipes"
PAGE = ROOT / "docs" / "recipes.md"
PLAYED = ROOT / "extensions" / "molecule" / "recipes" / "vars" / "recipes.yml"
DISPLAYED_LANGUAGES = re.compile(
    r"^\[(?P<name>\w+)\.yml\]\(recipes/(?P=name)\.yml\):\n\n```yaml\n(?P<text>.*?)```$", re.DOTALL | re.MULTILINE
)


def recipes_in(page: str) -> dict[str, str]:
    """The recipes that a page shows, each below the link to its file."""
    return {match["name"]: match["text"] for match in DISPLAYED_LANGUAGES.finditer(page)}


def without_header(text: str) -> str:
    """A recipe below its lines of copyright and licence."""
    return text.partition("GPL-3.0-or-later\n\n")[2]


def files() -> dict[str, str]:
    return {path.stem: without_header(path.read_text(encoding="utf-8")) for path in sorted(RECIPES.glob("*.yml"))}


def unlike(recipes: dict[str, str], page: str) -> list[str]:
    """The recipes that a page does not show as they are, and what it shows besides."""
    on_page = recipes_in(page)
    return sorted(name for name in {*recipes, *on_page} if recipes.get(name) != on_page.get(name))


def test_the_page_shows_the_files() -> None:
    assert files()
    assert unlike(files(), PAGE.read_text(encoding="utf-8")) == []


def test_each_recipe_is_played() -> None:
    played = yaml.safe_load(PLAYED.read_text(encoding="utf-8"))["recipes"]
    assert sorted(recipe["name"] for recipe in played) == sorted(files())
    assert {path.suffix for path in Path(RECIPES).iterdir()} == {".yml"}


def test_a_breach_is_found() -> None:
    page = "[a.yml](recipes/a.yml):\n\n```yaml\n- one\n```\n\n[b.yml](recipes/b.yml):\n\n```yaml\n- two\n```\n"
    assert unlike({"a": "- one\n", "b": "- two\n"}, page) == []
    assert unlike({"a": "- one\n", "b": "- other\n", "c": ""}, page) == ["b", "c"]
    assert unlike({"a": "- one\n"}, page) == ["b"]
    assert without_header("---\n# x\n# GPL-3.0-or-later\n\n- one\n") == "- one\n"
