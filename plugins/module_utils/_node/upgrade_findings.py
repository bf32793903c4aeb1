# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.
"""What the check of an upgrade finds on a node, gathered over its parts."""

from __future__ import annotations

import dataclasses
import typing as t

from .._engine.files import Json
from .._plan.common.errors import Refusal
from .._plan.common.ownership import Values
from .._plan.common.verdict import REFUSED, SKIPPED, Verdict
from .._plan.upgrade import refusals
from .._plan.upgrade.findings import Finding
from .._plan.upgrade.refusals import Setting

MOST_REFUSALS = 12  # of one component that are told; each costs a start of it


@dataclasses.dataclass
class UpgradeFindings:
    """Findings, what was rehearsed, and what was not."""

    findings: list[Finding] = dataclasses.field(default_factory=list)
    rehearsed: list[Json] = dataclasses.field(default_factory=list)
    not_rehearsed: list[Json] = dataclasses.field(default_factory=list)

    def add(self, other: UpgradeFindings, findings: t.Iterable[Finding]) -> None:
        """Take in what was and was not rehearsed of another part, with these findings."""
        self.findings += findings
        self.rehearsed += other.rehearsed
        self.not_rehearsed += other.not_rehearsed

    def skip(self, component: str, reason: str) -> None:
        """Note what was not rehearsed, once for each reason."""
        entry = {"component": component, "reason": reason}
        if entry not in self.not_rehearsed:
            self.not_rehearsed.append(entry)

    def note(self, component: str, what: str, verdict: Verdict) -> None:
        """Note a rehearsal. what: C(generated), C(today) or C(desired)."""
        if verdict.verdict == SKIPPED:
            self.skip(component, verdict.message)
            return
        self.rehearsed.append(
            {
                "component": component,
                "what": what,
                "verdict": verdict.verdict,
                "message": verdict.message,
                "seconds": verdict.seconds,
            }
        )

    def report(self) -> Json:
        """The result of the module, as far as it is about this."""
        return {
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            "rehearsed": self.rehearsed,
            "not_rehearsed": self.not_rehearsed,
        }


class Trial(t.Protocol):
    """A component with settings, which can be rehearsed."""

    def rehearse(self) -> Verdict:
        """Start it in the sandbox."""

    def values(self) -> Values:
        """What it is started with."""

    def without(self, blame: t.Sequence[Setting]) -> Trial:
        """The same without settings. Raises Refusal where it cannot be had."""


def hear(trial: Trial) -> tuple[Verdict, list[tuple[Setting | None, str]]]:
    """Rehearse a component and, since it names the first thing only that it refuses, again without what it named.

    Returns the first verdict, and each refused setting with the component's words; None where these do not tell which it is.
    """
    first = verdict = trial.rehearse()
    heard: list[tuple[Setting | None, str]] = []
    for number in range(1, MOST_REFUSALS + 1):
        if verdict.verdict != REFUSED:
            break
        named = refusals.blamed(verdict.message, trial.values())
        blame = [setting for setting in named if setting not in dict(heard)]
        if named and not blame:  # it was taken out in vain
            break
        heard += [(setting, verdict.message) for setting in blame] or [(None, verdict.message)]
        if not blame or number == MOST_REFUSALS:
            break
        try:
            trial = trial.without(blame)
        except Refusal:
            break
        verdict = trial.rehearse()
    return first, heard
