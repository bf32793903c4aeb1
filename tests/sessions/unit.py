# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit tests, and the plays of the roles, which are the slow ones among them."""

from __future__ import annotations

import os
import typing as t

from .places import RESULTS, ROOT
from .tools import install, run_pytest
from .unit_parts import NEED_ANSIBLE, PLAYS

if t.TYPE_CHECKING:
    import nox

LEAST = 10  # how many files are named


def run_unit_tests(session: nox.Session, core: str | None, *, profile: str, covered: bool = False) -> None:
    """Run all but the plays of the roles. core: the release of ansible-core; without one, what needs it is skipped.

    profile: how hard the property-based tests search. covered: whether they measure which lines they reach.
    """
    session.env["HYPOTHESIS_PROFILE"] = os.environ.get("HYPOTHESIS_PROFILE", profile)
    install_unit_tools(session, core)
    if core is None:
        # As on a node that sets none. ansible-core refuses to start in a locale without UTF-8.
        session.env["LC_ALL"] = "POSIX"
    arguments = ["--numprocesses=auto", "tests/unit", f"--ignore=tests/unit/{PLAYS}"]
    if not covered:
        run_pytest(session, *arguments, foreign=True)
        return
    install(session, "coverage", "pytest-cov")
    # By the interpreter's own events, which cost next to nothing; a trace function doubles the time.
    session.env.update(COVERAGE_CORE="sysmon", COVERAGE_FILE=str(RESULTS / "coverage.data"))
    session.env["COVERAGE_RCFILE"] = str(ROOT / "tests" / "coverage.ini")
    run_pytest(session, *arguments, f"--cov={ROOT / 'plugins'}", "--cov-report=", foreign=True)
    if report := session.run("coverage", "report", "--sort=cover", silent=True):  # none with --install-only
        *files, total = str(report).splitlines()
        session.log("\n".join(["The files that unit tests reach least:", *files[: LEAST + 2], total]))


def run_core_tests(session: nox.Session, core: str) -> None:
    """Run the tests of what imports ansible-core. core: its release."""
    install_unit_tools(session, core)
    run_pytest(session, "--numprocesses=auto", *(f"tests/unit/{name}" for name in NEED_ANSIBLE), foreign=True)


def run_plays(session: nox.Session, core: str | None, *arguments: str) -> None:
    """Run the tests that play roles with modules that change nothing."""
    install_unit_tools(session, core)
    run_pytest(session, "--numprocesses=auto", f"tests/unit/{PLAYS}", *arguments, foreign=True)


def install_unit_tools(session: nox.Session, core: str | None) -> None:
    """What unit tests need, with a release of ansible-core where one is named; the tests of sessions, which need both, import nox."""
    tools = ["pytest", "pytest-xdist", "hypothesis", "PyYAML", "jsonpatch"]
    install(session, *tools, *([f"ansible-core=={core}", "nox"] if core else []))
