# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that is looked up by error messages quotes messages that there are."""

from __future__ import annotations

import re

from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

PAGE = "docs/what_to_do_when.md"
ROW = re.compile(r"^\| `(?P<quote>[^`]+)` \|", re.MULTILINE)
DIRECTORIES = ("playbooks", "plugins", "roles")
# A message is written in pieces, one to a line.
BETWEEN_PIECES = re.compile(r'"\s*\n\s*f?"')


def sources() -> str:
    """What messages are written in, with each message as one."""
    paths = [path for path in project_files(ROOT) if path.parts[0] in DIRECTORIES and path.suffix in (".py", ".yml")]
    return "\n".join(BETWEEN_PIECES.sub("", (ROOT / path).read_text(encoding="utf-8")) for path in paths)


def unknown(page: str, text: str) -> list[str]:
    """The quotes in the first column of a page's tables that no source holds."""
    return [quote for quote in ROW.findall(page) if quote not in text]


def test_the_messages_are_those_of_the_collection() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert len(ROW.findall(page)) > 15
    assert unknown(page, sources()) == []


def test_a_breach_is_found() -> None:
    page = "| `it is so` | a |\n| `it was so` | b |\n| other | c |\n"
    assert unknown(page, BETWEEN_PIECES.sub("", 'f"then it "\n        f"is so"')) == ["it was so"]
