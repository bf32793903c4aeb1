# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the unit tests by what they need, for sessions, and for a pytest that is started without one. Standard library only."""

from __future__ import annotations

import importlib.util
import sys

# Each of their tasks is a process for each host, so they take minutes, twenty times as long as all other unit tests.
PLAYS = "roles"
# The fault tests on labs are the controller's, too.
NEED_ANSIBLE = (
    "bench",
    "demo",
    "lab",
    "sessions",
    "plugins/action",
    "plugins/lookup",
    "plugins/modules",
    "plugins/module_utils/_module",
    "plugins/plugin_utils",
    "faults/test_lab_plugin.py",
    "faults/test_lab_records.py",
)
NEED_NOX = ("sessions",)
CONTROLLER_PYTHON = (3, 11)


def missing_parts() -> dict[str, tuple[str, ...]]:
    """What this Python lacks, and the paths below tests/unit that need it."""
    missing: dict[str, tuple[str, ...]] = {}
    if importlib.util.find_spec("ansible") is None or sys.version_info < CONTROLLER_PYTHON:
        missing[f"ansible-core on Python {'.'.join(map(str, CONTROLLER_PYTHON))} or newer"] = (*NEED_ANSIBLE, PLAYS)
    if importlib.util.find_spec("nox") is None:
        missing["nox"] = NEED_NOX
    return missing
