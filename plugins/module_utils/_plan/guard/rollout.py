# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of the role C(placement_guard) hand on, and the result for the guard."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..common import typed
from ..common.typed import Mapped, ModuleResult
from ..transaction.api_host import ApiHost
from ..transaction.rollout import Decision, HostResults, StepResult

_UNCHANGED: Mapped = {"enforced": False, "nodes": [], "added": [], "removed": [], "stale": [], "untainted": []}


@dataclasses.dataclass(frozen=True)
class GuardSettings:
    """All variables of the role, each of which must be the same on all hosts."""

    values: Mapped = dataclasses.field(default_factory=dict)
    placement_guard_api_host: str = ""


@dataclasses.dataclass(frozen=True)
class GuardDecision(Decision):
    """Of the step decide. api: the control planes, each of which is read until one responds."""

    api: tuple[ApiHost, ...] = typed.tuple_of(ApiHost.parse)


@dataclasses.dataclass(frozen=True)
class GuardResult(ModuleResult):
    """The result of the module C(placement_guard); empty when it did not run."""

    summary: t.Sequence[str] = ()

    def report(self) -> dict[str, t.Any]:
        """The facts of the role about its guard."""
        return {"changed": self.changed, **{name: self.raw.get(name) or value for name, value in _UNCHANGED.items()}}


class GuardHost(HostResults[GuardSettings, ModuleResult]):
    """What the tasks of the role left on one host."""

    settings_type = GuardSettings

    @functools.cached_property
    def decision(self) -> GuardDecision:
        """Of the step decide; empty before that."""
        return self.of_pass("decide", GuardDecision) or GuardDecision()

    @functools.cached_property
    def guard(self) -> GuardResult:
        """Of the module; empty where it did not run in this pass."""
        return self.result("change", GuardResult) if self.of_pass("admit", StepResult) else GuardResult()

    @property
    def has_failed(self) -> bool:
        """As in all rollouts."""
        return super().has_failed or self.guard.failed

    @property
    def causes(self) -> list[str]:
        """As in all rollouts."""
        return [*super().causes, *([f"{self.guard.reason}."] if self.guard.has_failed else [])]
