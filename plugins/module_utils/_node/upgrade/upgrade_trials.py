# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rehearsing a program of the new version until it has named all that it refuses."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._plan.common.errors import Refusal
from ..._plan.common.ownership import Values
from ..._plan.common.verdict import REFUSED, Verdict
from ..._plan.kubelet.config import GATES
from ..._plan.upgrade import refusals
from ..._plan.upgrade.refusals import Setting

MOST_REFUSALS = 12  # of one component that are told; each costs a start of it

Refused = list[tuple[t.Optional[Setting], str]]


class Trial(t.Protocol):
    """A component with settings, which can be rehearsed."""

    def rehearse(self) -> Verdict:
        """Start it in the sandbox."""

    def values(self) -> Values:
        """What it is started with."""

    def without(self, blame: t.Sequence[Setting]) -> Trial:
        """The same without settings. Raises Refusal where it cannot be had."""


@dataclasses.dataclass(frozen=True)
class GateTrial:
    """A program that is started with feature gates, of which those that it refuses are taken out.

    gates: by name. start: starts it with such gates, and gives the verdict.
    """

    gates: t.Mapping[str, t.Any]
    start: t.Callable[[t.Mapping[str, t.Any]], Verdict]
    clock: t.Callable[[], float]

    def rehearse(self) -> Verdict:
        """Start it in the sandbox."""
        began = self.clock()
        verdict = self.start(self.gates)
        return dataclasses.replace(verdict, seconds=round(self.clock() - began, 2))

    def values(self) -> Values:
        """Its gates."""
        return {GATES: dict(self.gates)}

    def without(self, blame: t.Sequence[Setting]) -> GateTrial:
        """The same without some of them."""
        gone = {key for field, key in blame if field == GATES}
        return dataclasses.replace(self, gates={gate: value for gate, value in self.gates.items() if gate not in gone})


def rehearse_all(trial: Trial) -> tuple[Verdict, Refused]:
    """Rehearse a component and, since it names the first thing only that it refuses, again without what it named.

    Returns the first verdict, and each refused setting with the component's words; None where these do not tell which it is.
    """
    first = verdict = trial.rehearse()
    refused: Refused = []
    for number in range(1, MOST_REFUSALS + 1):
        if verdict.verdict != REFUSED:
            break
        named = refusals.blamed(verdict.message, trial.values())
        blame = [setting for setting in named if setting not in dict(refused)]
        if named and not blame:  # it was taken out in vain
            break
        refused += [(setting, verdict.message) for setting in blame] or [(None, verdict.message)]
        if not blame or number == MOST_REFUSALS:
            break
        try:
            trial = trial.without(blame)
        except Refusal:
            break
        verdict = trial.rehearse()
    return first, refused
