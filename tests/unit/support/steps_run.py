# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of a module gone through as the runner does, without a module."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import NOT_NEEDED, REFUSED, Verdict
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock

if t.TYPE_CHECKING:  # of the Pythons that this is tested on, not all have ansible-core
    from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.runner import Steps

Json = dict[str, t.Any]
Observed = t.TypeVar("Observed")


class Planned(t.Protocol):
    """A plan, which is a dataclass."""

    __dataclass_fields__: t.ClassVar[dict[str, t.Any]]

    @property
    def operations(self) -> t.Sequence[t.Any]:
        """The changes."""

    @property
    def warnings(self) -> t.Sequence[str]:
        """Warnings for the user."""


P = t.TypeVar("P", bound=Planned)


class StepRunner(t.Generic[Observed, P]):
    """Runs the steps of a module one by one, with the results of the steps before. dry: as in check mode."""

    def __init__(self, steps: Steps[Observed, P], *, dry: bool = False) -> None:
        self.steps = steps
        self.dry = dry
        self.last_observed: Observed | None = None
        self.made: P | None = None

    @property
    def observed(self) -> Observed:
        """What was read."""
        assert self.last_observed is not None
        return self.last_observed

    @property
    def planned(self) -> P:
        """What was planned."""
        assert self.made is not None
        return self.made

    def session(self) -> t.ContextManager[None]:
        return self.steps.session(dry=self.dry)

    def read(self) -> Observed:
        self.last_observed = self.steps.read(dry=self.dry)
        return self.last_observed

    def notes(self) -> t.Sequence[str]:
        return self.steps.notes(self.observed, dry=self.dry)

    def plan(self) -> P:
        """Plan, and check for what would keep the change from working."""
        self.made = self.steps.plan(self.observed)
        warnings = (*self.made.warnings, *self.steps.preflight(self.observed, self.made))
        return dataclasses.replace(self.made, warnings=warnings)

    def verify(self) -> t.Sequence[str]:
        return self.steps.verify(self.observed, self.planned, dry=self.dry)

    def rehearse(self) -> Verdict:
        if self.steps.unrehearsed and not self.dry:
            return Verdict(NOT_NEEDED, self.steps.unrehearsed)
        return self.steps.rehearse(self.observed, self.planned)

    def apply(self) -> None:
        self.steps.apply(self.observed, self.planned)

    def finish(self) -> t.Sequence[str]:
        return self.steps.finish(self.observed, self.planned, dry=self.dry)

    def report(self) -> Json:
        return self.steps.report(self.last_observed, self.made)


class Run(t.NamedTuple):
    """The result of a run. error: how it failed. clock: the one of its waits."""

    report: Json
    warnings: list[str]
    operations: int
    error: KubeadmError | None
    clock: Clock


R = t.TypeVar("R", bound=Run)


def run_steps(runner: StepRunner[t.Any, t.Any], clock: Clock, kind: type[R]) -> R:
    """Read, plan, rehearse and apply. kind: the class of the result."""
    warnings: list[str] = []
    operations, error = 0, None
    try:
        with runner.session():
            runner.read()
            warnings += runner.notes()
            plan = runner.plan()
            warnings += plan.warnings
            operations = len(plan.operations)
            if not operations:
                warnings += runner.verify()
            else:
                verdict = runner.rehearse()
                if verdict.verdict == REFUSED:
                    raise KubeadmError(verdict.message)
                if not runner.dry:
                    runner.apply()
            warnings += runner.finish()
    except KubeadmError as exc:
        error = exc
    return kind(runner.report(), warnings, operations, error, clock)
