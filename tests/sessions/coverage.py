# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines of the collection its unit tests reach."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from .places import RESULTS, ROOT

if t.TYPE_CHECKING:
    import nox

REPORT = RESULTS / "coverage.json"
LEAST = 10  # how many files are named
# A file with fewer lines says little by its share.
SMALLEST = 20


def measure(session: nox.Session) -> list[str]:
    """Have the tests of a session measure it; returns the options of pytest."""
    # By the interpreter's own events, which cost next to nothing; a trace function doubles the time.
    session.env.update(COVERAGE_CORE="sysmon", COVERAGE_FILE=str(RESULTS / "coverage.data"))
    REPORT.unlink(missing_ok=True)
    return [f"--cov={ROOT / 'plugins'}", f"--cov-report=json:{REPORT}"]


def report_lines(report: Path) -> list[str]:
    """The whole and the files that are reached least, for a person."""
    if not report.exists():  # such as with --install-only
        return ["Coverage was not measured."]
    measured = json.loads(report.read_text(encoding="utf-8"))
    files = {name: file["summary"] for name, file in measured["files"].items()}
    sizable = [name for name, summary in files.items() if summary["num_statements"] >= SMALLEST]
    least = sorted(sizable, key=lambda name: files[name]["percent_covered"])[:LEAST]
    totals = measured["totals"]
    return [
        f"Coverage by unit tests: {totals['percent_covered']:.1f} % of {totals['num_statements']} lines of plugins/. Least:",
        *(f"{files[name]['percent_covered']:5.1f} % of {files[name]['num_statements']:3d}  {name}" for name in least),
    ]
