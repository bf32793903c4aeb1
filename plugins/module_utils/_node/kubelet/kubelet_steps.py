# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(kubelet), for the runner."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ..._engine.node import NODE, Host
from ..._plan.common.verdict import Verdict
from ..._plan.kubelet import kubelet_undo
from ..._plan.kubelet import plan as kubelet
from ..._plan.kubelet.desired import SETTINGS, Desired, parse_desired
from ..._plan.kubelet.plan import KubeletPlan
from ..transaction.file_versions import path_with_target, refuse_unsafe
from ..transaction.state import Run
from ..transaction.transaction_steps import LockWait, PreviousTransactions, TransactionSteps
from . import control_planes, kubelet_journal, kubelet_rehearsal, kubelet_settings, kubelet_start, kubelet_watch
from .kubelet_units import KUBELET_NAME, KubeletUnit, read_unit, unread_files, warnings_of

# systemd waits ten seconds between two starts of what crashed.
STABLE_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run reads. previous: what earlier runs left."""

    unit: KubeletUnit
    previous: PreviousTransactions


class KubeletSteps(TransactionSteps[Desired]):
    """One run of the module: reads, plans, rehearses and starts a change of the node's kubelet."""

    _conflicts_with_previous = (*SETTINGS, "purge", "adopt")

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        diff: bool,
        run: Run,
        host: Host = NODE,
        ready_timeout: float = STABLE_SECONDS,
        lock_wait: LockWait | None = None,
    ) -> None:
        super().__init__(params, name=KUBELET_NAME, diff=diff, run=run, host=host, lock_wait=lock_wait)
        self._ready_timeout = ready_timeout
        self._ignored: list[str] = []  # of configuration that is not ours, in the rehearsal
        self._control_plane: list[str] = []
        self._problem = self._sandbox_image = ""

    def _parse(self) -> Desired:
        return parse_desired(self._params)

    def read(self, *, dry: bool) -> Observed:
        """Read the unit, its files, the process, and our record."""
        unit = read_unit(self._run, self._host)
        self._context.node, self._context.cluster = unit.node_name, unit.cluster
        self._control_plane = control_planes.reasons(unit, self._host)
        return Observed(unit, self._read_transactions(unit.node_name))

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """Warn of a kubelet's version that is not tested, too, and of a credential with which its Node cannot be read."""
        unit = observed.unit
        return [*self._transaction_warnings(unit.node_name, observed.previous, dry=dry), *warnings_of(unit)]

    def plan(self, observed: Observed) -> KubeletPlan:
        """Work out the change."""
        unit, desired = observed.unit, self._desired
        if self._is_revert:
            warnings = self._revert_warnings(observed.previous)
            return kubelet_undo.plan(observed.previous.rollback, unit.state, force=desired.force, warnings=warnings)
        return kubelet.plan(desired, unit.state)

    def preflight(self, observed: Observed, plan: KubeletPlan) -> list[str]:
        """Check that the node may take the change."""
        unit = observed.unit
        if plan.policies and not self._desired.force:
            kubelet_watch.refuse_undrained(unit, plan)
        if not plan.operations:
            return []
        refuse_unsafe(change.path for change in plan.files)
        if plan.fragment is not None:
            kubelet_start.refuse_unread_directory(plan.after.command)
        self._sandbox_image = kubelet_start.find_sandbox_image(unit, self._run)
        self._problem, unverified = kubelet_watch.read_problem(unit, self._host, self._run, self._ready_timeout)
        unverified += unread_files(unit, self._host)  # a restart brings these in, too
        return [
            *kubelet_settings.check_settings(unit, plan, self._host, self._run, force=self._desired.force),
            *kubelet_start.check_start(
                unit,
                plan,
                self._problem,
                run=self._run,
                host=self._host,
                ready_timeout=self._ready_timeout,
                force=self._desired.force,
            ),
            *self._record_unverified(unverified, until_changed=True),
            *self._record_unverifiable(kubelet.unverified(plan)),
        ]

    def rehearse(self, observed: Observed, plan: KubeletPlan) -> Verdict:
        """Start the kubelet with its new command line in a sandbox."""
        verdict, self._ignored = kubelet_rehearsal.rehearse(observed.unit, plan, run=self._run, clock=time.monotonic)
        # An entry that moves from another file into ours is no change.
        changes = [each for each in plan.operations if each.field != kubelet.ADOPTED or each.after is not None]
        return self._with_reverts(verdict, observed.previous, changes)

    def apply(self, observed: Observed, plan: KubeletPlan) -> None:
        """Hand the change to the node's engine."""
        journal = kubelet_journal.kubelet_journal(observed.unit, plan, self._settings, self._ignored)
        self._start(journal, observed.previous)

    def verify(self, observed: Observed, plan: KubeletPlan, *, dry: bool) -> t.Sequence[str]:
        """With nothing to change, verify that the kubelet runs and is healthy. Raises KubeadmError when it does not in time."""
        unit = observed.unit
        if observed.previous.open is not None:  # it is in the middle of a change
            return ()
        observation, log, unverified = kubelet_watch.watch_until_healthy(
            unit, self._host, run=self._run, seconds=self._ready_timeout, clock=time.monotonic, sleep=time.sleep
        )
        if observation.process is None or not observation.probes_ok:
            raise self._unhealthy_error(observation.missing(), observation.probes, log)
        kubelet_start.refuse_idle_without_runtime(unit, self._run, self._ready_timeout)
        return self._record_unverified([*unverified, *unread_files(unit, self._host)])

    def report(self, observed: Observed | None, plan: KubeletPlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        changing = plan if plan and plan.operations else None
        rollback = observed.previous.rollback if observed and changing else None
        return {
            **self._report(plan, kubelet.diff_files(changing) if changing and self._diff else ()),
            "files": [path_with_target(change.path) for change in changing.files] if changing else [],
            "control_plane": self._control_plane,
            "problem": self._problem or None,
            "sandbox_image": self._sandbox_image or None,
            "limits": plan.limits if plan else None,
            "reverts": rollback.transaction if rollback else None,
        }
