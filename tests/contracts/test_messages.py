# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages that are looked up by messages quote messages that there are, and all of those about what could not be verified."""

from __future__ import annotations

import ast
import re
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import rollout
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

PAGE = "docs/what_to_do_when.md"
UNVERIFIED_PAGE = "docs/reliability.md"
UNVERIFIED = "whether "
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


def unverified(text: str) -> t.Iterator[str]:
    """How each message of a source about what could not be verified begins, up to its first placeholder."""
    for node in ast.walk(ast.parse(text)):
        first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.startswith(UNVERIFIED):
            yield first.value


def without_row(page: str, messages: t.Iterable[str]) -> list[str]:
    """The messages that no row of a page quotes; the first word alone means nothing."""
    quotes = tuple(quote for quote in ROW.findall(page) if quote.startswith(UNVERIFIED))
    return sorted({each for each in messages if each != UNVERIFIED and not each.startswith(quotes)})


def test_what_could_not_be_verified_has_a_row() -> None:
    page = (ROOT / UNVERIFIED_PAGE).read_text(encoding="utf-8")
    paths = [path for path in project_files(ROOT) if path.parts[0] == "plugins" and path.suffix == ".py"]
    # The check of an upgrade has a page of its own for what it did not see.
    own = [path for path in paths if "upgrade" not in str(path)]
    messages = [each for path in own for each in unverified((ROOT / path).read_text(encoding="utf-8"))]
    assert len(messages) > 30
    assert without_row(page, messages) == []
    assert unknown(page, sources()) == []


def test_node_that_is_not_reported_is_reported_by_the_engine_as_its_reader_knows_it() -> None:
    """The rollout reads this of a transaction. The engine is packed with nothing else, so it has a copy of the message."""
    engine = (ROOT / "plugins/module_utils/_engine/kubelet_node.py").read_text(encoding="utf-8")
    assert rollout.UNREPORTED in set(unverified(engine))


def test_message_without_a_row_is_found() -> None:
    text = 'a = "whether x"\nb = f"whether it {a} is"\nc = "verified"\n'
    assert set(unverified(text)) == {"whether x", "whether it "}
    assert without_row("| `whether x` | a |\n", unverified(text)) == ["whether it "]


def test_a_breach_is_found() -> None:
    page = "| `it is so` | a |\n| `it was so` | b |\n| other | c |\n"
    assert unknown(page, BETWEEN_PIECES.sub("", 'f"then it "\n        f"is so"')) == ["it was so"]
