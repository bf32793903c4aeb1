# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The last screen of a run: what became of all hosts in all roles that took part, for people and for programs."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ansible import constants
from ansible.utils.display import Display

from ...module_utils._plan.common.typed import Mapped
from ...module_utils._plan.transaction import report
from ...module_utils._plan.transaction.report import Run
from ...module_utils._plan.transaction.rollout import PassSummary

_OF_RUNNER = "ORIGINAL_STDOUT_CALLBACK"  # in the environment: what was asked for, where ansible-runner puts its own
# Callbacks whose output is read by programs, which more lines would break.
_FOR_PROGRAMS = ("json", "jsonl", "junit", "null")


@dataclasses.dataclass(frozen=True)
class RunSummary(PassSummary):
    """Of the step summary. lines: for people. outcome: C(unchanged), C(changed), C(pending) or C(failed). hosts: by name, how many operations were
    made (C(changed)) and were not (C(pending)), and whether it C(failed)."""

    lines: t.Sequence[str] = ()
    outcome: str = ""
    hosts: t.Mapping[str, Mapped] = dataclasses.field(default_factory=dict)
    ansible_stats: Mapped | None = None


def summary(run: Run, reports: Mapped) -> RunSummary:
    """The last screen of a run. reports: what the statistics of the run have, by name."""
    statistics = {**reports, "nodecraft_kubeadm_pending": report.pending(run)}
    return RunSummary(
        lines=report.lines(run),
        **report.as_data(run),
        # AWX keeps the statistics of the whole run only: reports of several roles come together there, and numbers are added.
        ansible_stats={"data": statistics, "per_host": False, "aggregate": True},
    )


def show_lines(lines: t.Sequence[str]) -> None:
    """Print lines whatever the callback prints of results: C(display_ok_hosts=false) and C(minimal) would leave them out."""
    callbacks = (
        constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK"),
        os.environ.get(_OF_RUNNER, ""),
    )
    if lines and not any(str(name).rpartition(".")[2] in _FOR_PROGRAMS for name in callbacks):
        Display().display("\n".join(lines))
