# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit tests, and the plays of the roles, which are the slow ones among them."""

from __future__ import annotations

import os

import nox

from .tools import install, run_pytest

# Each of their tasks is a process for each host, so they take minutes, twenty times as long as all other unit tests.
PLAYS = "tests/unit/roles"
# The fault tests on labs are the controller's, too.
NEED_ANSIBLE = (
    "bench",
    "demo",
    "lab",
    "sessions",
    "plugins/action",
    "plugins/modules",
    "plugins/module_utils/_module",
    "plugins/plugin_utils",
    "faults/test_lab_plugin.py",
    "faults/test_lab_records.py",
)


def run_unit_tests(session: nox.Session, core: str | None, *, profile: str) -> None:
    """Run all but the plays of the roles. core: the release of ansible-core; without one, what needs it is skipped.

    profile: how hard the property-based tests search.
    """
    session.env["HYPOTHESIS_PROFILE"] = os.environ.get("HYPOTHESIS_PROFILE", profile)
    install_unit_tools(session, core)
    skipped = [] if core else [f"--ignore=tests/unit/{name}" for name in NEED_ANSIBLE]
    run_pytest(session, "--numprocesses=auto", "tests/unit", f"--ignore={PLAYS}", *skipped)


def run_core_tests(session: nox.Session, core: str) -> None:
    """Run the tests of what imports ansible-core. core: its release."""
    install_unit_tools(session, core)
    run_pytest(session, "--numprocesses=auto", *(f"tests/unit/{name}" for name in NEED_ANSIBLE))


def run_plays(session: nox.Session, core: str | None, *arguments: str) -> None:
    """Run the tests that play roles with modules that change nothing."""
    install_unit_tools(session, core)
    run_pytest(session, "--numprocesses=auto", PLAYS, *arguments)


def install_unit_tools(session: nox.Session, core: str | None) -> None:
    """What unit tests need, with a release of ansible-core where one is named; the tests of sessions, which need both, import nox."""
    tools = ["pytest", "pytest-xdist", "hypothesis", "PyYAML", "jsonpatch"]
    install(session, *tools, *([f"ansible-core=={core}", "nox"] if core else []))
