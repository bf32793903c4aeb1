# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of a module gone through as the runner does, without a module."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import REFUSED
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock

if t.TYPE_CHECKING:  # of the Pythons that this is tested on, not all have ansible-core
    from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.runner import Steps

Json = dict[str, t.Any]


class Run(t.NamedTuple):
    """What a run came to. error: how it failed. clock: what it was waited by."""

    report: Json
    warnings: list[str]
    operations: int
    error: KubeadmError | None
    clock: Clock


R = t.TypeVar("R", bound=Run)


def go_through(steps: Steps, clock: Clock, kind: type[R], *, dry: bool) -> R:
    """Read, plan, rehearse and apply. kind: of what is returned. dry: as in check mode."""
    warnings: list[str] = []
    operations, error = 0, None
    try:
        with steps.session():
            steps.read()
            warnings += steps.notes()
            plan = steps.plan()
            warnings += plan.warnings
            operations = len(plan.operations)
            if not operations:
                steps.settle()
            else:
                verdict = steps.rehearse()
                if verdict.verdict == REFUSED:
                    raise KubeadmError(verdict.message)
                if not dry:
                    steps.apply()
    except KubeadmError as exc:
        error = exc
    return kind(steps.report(), warnings, operations, error, clock)
