# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run of all checks came to."""

from __future__ import annotations

import atexit
import json
import shutil
import sys
import typing as t
import xml.etree.ElementTree as ET
from pathlib import Path

from .places import RESULTS, ROOT

if t.TYPE_CHECKING:
    import nox


def run_counted(session: nox.Session, names: t.Sequence[str], without: t.Sequence[str]) -> None:
    """Run sessions and count what passed and failed. without: what did not run for want of a Python."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    report = RESULTS / "nox-report.json"
    session.run(
        sys.executable,
        "-m",
        "nox",
        f"--noxfile={ROOT / 'noxfile.py'}",
        "--non-interactive",
        f"--report={report}",
        "--sessions",
        *names,
        success_codes=range(256),
        external=True,
    )
    sessions = json.loads(report.read_text(encoding="utf-8"))["sessions"]
    counted = [session for session in sessions if session["result"] != "skipped"]
    total = Count(0, 0)
    for entry in counted:
        total += count_of(entry, RESULTS)
    for what in without:
        session.warn(f"Not run: {what}, no Python for it is here")
    # nox has a last word of its own; the count comes after it.
    atexit.register(print, f"{total.passed} passed, {total.failed} failed", flush=True)
    if total.failed:
        session.error("not everything passed")


class Count(t.NamedTuple):
    """How many checks passed and failed."""

    passed: int
    failed: int

    def __add__(self, other: t.Any) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed)


def own_count(session_name: str, directory: Path) -> Count:
    """The checks that a session counted itself in a directory: tests of pytest, scenarios of Molecule."""
    junit = directory / f"{session_name}.xml"
    if junit.exists():
        suite = next(ET.parse(junit).iter("testsuite"))
        total, failures, errors, skipped = (
            int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")
        )
        return Count(total - failures - errors - skipped, failures + errors)
    outcome = directory / f"{session_name}.json"
    if outcome.exists():
        passed = list(json.loads(outcome.read_text(encoding="utf-8")).values())
        return Count(passed.count(True), passed.count(False))
    return Count(0, 0)


def count_of(session: t.Mapping[str, t.Any], directory: Path) -> Count:
    """The checks of one session; a session that counts nothing itself is one check."""
    # The first signature is what the session itself is called, with its Python and parameters.
    own = own_count(session["signatures"][0], directory)
    succeeded = session["result"] == "success"
    if succeeded:
        return own if sum(own) else Count(1, 0)
    # A session that broke outside its own tests must not look better than they do.
    return own if own.failed else own + Count(0, 1)
