# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each requirement of the checklists has a proof that is there, or one of two reasons why it can have none yet."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from ansible_collections.nodecraft.kubeadm.tests.contracts.test_commands import names_in, sessions_of, targets_of

CHECKLISTS = ("community_checklist.md", "automation_hub_checklist.md")
WAITING = ("due at 1.0.0", "needs publication")
ROW = re.compile(r"^\| (?P<requirement>.+) \| (?P<state>[^|]+) \|$", re.MULTILINE)
HEADS = ("Requirement", "---")
PROOF = re.compile(r"(?:session `(?P<session>[\w-]+)`|`make (?P<target>[\w-]+)`|`(?P<file>[\w./-]+)`)")


class Known(t.NamedTuple):
    """What a proof may name beside files."""

    sessions: t.AbstractSet[str]
    targets: t.AbstractSet[str]


@pytest.fixture(name="known")
def fixture_known() -> Known:
    """The sessions, of which antsibull-nox brings some, and the targets of make."""
    noxfile = (ROOT / "noxfile.py").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    return Known(
        sessions_of(noxfile) | names_in(noxfile, "FIRST_SESSIONS") | names_in(noxfile, "LATER_SESSIONS"),
        targets_of(makefile),
    )


def rows_of(text: str) -> list[tuple[str, str]]:
    """The requirements of a checklist and their states; a line of the table that has no state has an empty one."""
    found = [(line, "") for line in text.splitlines() if line.startswith("|") and not ROW.fullmatch(line)]
    found += [(match["requirement"], match["state"]) for match in ROW.finditer(text)]
    return [row for row in found if row[0] not in HEADS]


def state_error(state: str, known: Known) -> str:
    """What is wrong with a state; empty when nothing is."""
    if state in WAITING:
        return ""
    kind, separator, proofs = state.partition("proof: ")
    if kind or not separator:
        return f"no state: {state}"
    left = PROOF.sub("", proofs).replace(", ", "")
    if left or not proofs:
        return f"no proof: {left or state}"
    missing = [
        match.group()
        for match in PROOF.finditer(proofs)
        if not (
            match["session"] in known.sessions
            or match["target"] in known.targets
            or (match["file"] and (ROOT / match["file"]).is_file())
        )
    ]
    return f"not there: {', '.join(missing)}" if missing else ""


@pytest.mark.parametrize("name", CHECKLISTS)
def test_each_requirement_is_verified_or_waits(name: str, known: Known) -> None:
    rows = rows_of((ROOT / "docs/development" / name).read_text("utf-8"))
    assert len(rows) > 25
    assert {row[0]: found for row in rows if (found := state_error(row[1], known))} == {}


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ("due at 1.0.0", ""),
        ("needs publication", ""),
        ("proof: `galaxy.yml`, session `importer`, `make test`", ""),
        ("planned", "no state: planned"),
        ("proof: soon", "no proof: soon"),
        ("proof: ", "no proof: proof: "),
        ("proof: `gone.yml`", "not there: `gone.yml`"),
        ("proof: session `none`", "not there: session `none`"),
        ("proof: `make nothing`", "not there: `make nothing`"),
    ],
)
def test_a_breach_is_found(state: str, found: str, known: Known) -> None:
    assert state_error(state, known) == found


def test_rows_are_read() -> None:
    assert rows_of("| Requirement | State |\n| --- | --- |\n| a | b |\n") == [("a", "b")]
    assert rows_of("| a | planned\n| b | c |\n") == [("| a | planned", ""), ("b", "c")]
