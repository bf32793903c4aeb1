# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How hard the property-based tests search, and which tests the installed packages allow.

The default is quick and the same in every run. ``HYPOTHESIS_PROFILE=long`` searches for minutes, at random; ``brief`` is
for further Pythons, where only a difference between Pythons could show.
"""

from __future__ import annotations

import os
import typing as t

from ansible_collections.nodecraft.kubeadm.tests.sessions import unit_parts
from hypothesis import HealthCheck, Phase, settings

if t.TYPE_CHECKING:
    import pytest

MISSING = unit_parts.missing_parts()
collect_ignore = [path for paths in MISSING.values() for path in paths]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not tested."""
    for need, paths in MISSING.items():
        terminalreporter.write_line(f"Not tested, for want of {need}: {' '.join(paths)}")


# The machines that run this are shared: how long one example takes says nothing.
settings.register_profile(
    "quick",
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=40,  # the same in every run, so more of them find nothing new; ``long`` searches
    print_blob=True,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("brief", settings.get_profile("quick"), max_examples=10)
settings.register_profile("long", settings.get_profile("quick"), derandomize=False, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
