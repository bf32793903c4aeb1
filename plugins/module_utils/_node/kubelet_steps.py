# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The steps of the module C(kubelet), for the runner."""

from __future__ import annotations

import dataclasses
import os
import posixpath
import time
import typing as t

from .._engine.journal import SYSTEMD_UNIT, Journal, SetAside, UnitWatch
from .._engine.node import NODE, Host
from .._engine.systemd_unit import ASIDE
from .._plan.common.errors import KubeadmError, Refusal
from .._plan.common.verdict import Verdict
from .._plan.kubelet import desired
from .._plan.kubelet import layout as kubelet_layout
from .._plan.kubelet import plan as kubelet
from .._plan.kubelet import undo as kubelet_undo
from .._plan.kubelet.desired import Wish
from .._plan.kubernetes import versions
from .._plan.transaction import messages
from .._plan.transaction.undo import PREVIOUS, WayBack, refuse_settings
from . import control_planes, journals, kubelet_rehearsals, transaction_log, way_back
from .journals import TransactionSettings
from .kubelet_health import (
    SETTLE_SECONDS,
    ask_why_not_drained,
    has_static_pods,
    instance,
    problem_of,
    watch_until_healthy,
)
from .kubelet_unit_files import KUBELET_UNIT
from .kubelet_units import KUBELET_NAME, KubeletUnit, read_unit
from .lock_wait import LockWait
from .state import Run
from .transaction_steps import TransactionSteps


class KubeletSteps(TransactionSteps):
    """One run of the module: reads, plans, rehearses and starts a change of the node's kubelet."""

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        dry: bool,
        diff: bool,
        run: Run,
        host: Host = NODE,
        patience: float = SETTLE_SECONDS,
        lock_wait: LockWait | None = None,
    ) -> None:
        super().__init__(params, name=KUBELET_NAME, dry=dry, diff=diff, run=run, host=host, lock_wait=lock_wait)
        self._patience = patience
        self._wish: Wish | None = None
        self._unit: KubeletUnit | None = None
        self._way: WayBack | None = None
        self._plan: kubelet.KubeletPlan | None = None
        self._complaints: list[str] = []
        self._control_plane: list[str] = []
        self._problem = ""

    def _parse(self) -> None:
        if self._params["state"] == PREVIOUS:
            refuse_settings(self._params, (*desired.SETTINGS, "purge", "adopt"))
        self._wish = desired.parse_wish(self._params)

    def read(self) -> None:
        """Read the unit, its files, the process, and our record."""
        self._unit = read_unit(self._run, self._host)
        self._node, self._cluster = self._unit.node_name, self._unit.cluster
        self._control_plane = control_planes.reasons(self._unit, self._host)
        self._read_transactions()
        if t.cast(Wish, self._wish).state == PREVIOUS and self._open is None:
            self._way = way_back.find(KUBELET_NAME, self._node)

    def notes(self) -> list[str]:
        """Warn of a kubelet's version that is not tested, too."""
        unit = t.cast(KubeletUnit, self._unit)
        return [*super().notes(), *versions.warnings(unit.node_name, {KUBELET_NAME: [unit.version]})]

    def plan(self) -> kubelet.KubeletPlan:
        """Work out the change, and check that the node may take it."""
        unit, wish = t.cast(KubeletUnit, self._unit), t.cast(Wish, self._wish)
        if wish.state == PREVIOUS:
            notes = way_back.notes(self._way, KUBELET_NAME, unit.node_name)
            self._plan = kubelet_undo.plan(self._way, unit.state, force=wish.force, warnings=notes)
        else:
            self._plan = kubelet.plan(wish, unit.state)
        if self._plan.policies and not wish.force:
            _refuse_undrained(unit, self._plan)
        if not self._plan.operations:
            return self._plan
        self._problem = problem_of(unit, self._host, self._run, self._patience)
        warnings = [messages.may_repair(self._problem)] if self._problem else []
        return dataclasses.replace(self._plan, warnings=(*self._plan.warnings, *warnings))

    def rehearse(self) -> Verdict:
        """Start the kubelet with its new command line in a sandbox."""
        unit, plan = t.cast(KubeletUnit, self._unit), t.cast(kubelet.KubeletPlan, self._plan)
        verdict, self._complaints = kubelet_rehearsals.rehearse(unit, plan, run=self._run, clock=time.monotonic)
        return verdict

    def apply(self) -> None:
        """Hand the change to the node's engine."""
        unit, plan = t.cast(KubeletUnit, self._unit), t.cast(kubelet.KubeletPlan, self._plan)
        journal = kubelet_journal(unit, plan, t.cast(TransactionSettings, self._settings), self._complaints)
        self._start(journals.enter(journal, self._way) if self._way else journal)

    def settle(self) -> None:
        """With nothing to change, see that the kubelet runs and is healthy. Raises KubeadmError when it does not get so."""
        if self._open is not None:  # it is in the middle of a change
            return
        unit = t.cast(KubeletUnit, self._unit)
        sight, log = watch_until_healthy(
            unit, self._host, run=self._run, seconds=self._patience, clock=time.monotonic, sleep=time.sleep
        )
        if sight.process is None or not sight.probes_ok:
            last = transaction_log.last(KUBELET_NAME)
            raise KubeadmError(messages.unwell(KUBELET_NAME, unit.node_name, sight.missing(), sight.probes, log, last))

    def report(self) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        plan = self._plan
        return {
            **self._report(plan.operations if plan else (), kubelet.diff(plan) if plan and self._diff else ()),
            "files": [change.path for change in plan.files] if plan and plan.operations else [],
            "control_plane": self._control_plane,
            "problem": self._problem or None,
            "limits": plan.limits if plan else None,
            "takes_back": self._way.transaction if self._way and plan and plan.operations else None,
        }


def kubelet_journal(
    unit: KubeletUnit, plan: kubelet.KubeletPlan, settings: TransactionSettings, complaints: t.Sequence[str]
) -> Journal:
    """The journal of a planned change of the kubelet. complaints: about configuration that is not ours, known before."""
    files = [
        *(journals.file_entry(change) for change in plan.files),
        *journals.record_entry(KUBELET_NAME, before=unit.state.record, after=plan.record),
    ]
    watch: UnitWatch = {
        "kind": SYSTEMD_UNIT,
        "unit": KUBELET_UNIT,
        "before": instance(plan.before),
        "after": instance(plan.after),
        "node": {"name": unit.node_name, "kubeconfig": unit.kubeconfig},
        "complaints": list(complaints),
        "has_static_pods": has_static_pods(unit),
        "set_aside": [],
    }
    journal = journals.new_journal(KUBELET_NAME, files, watch, settings)
    for change in plan.policies:
        if change.policy.state_file:
            path = posixpath.join(unit.root, change.policy.state_file)
            aside = f"{path}{ASIDE}{journal['id']}"
            entry: SetAside = {"path": path, "aside": aside, "existed": os.path.exists(path), "policy": change.value}
            watch["set_aside"].append(entry)
    folders = [os.path.dirname(change.path) for change in plan.files if change.after is None]
    # Removed when they are empty then; the folder of fragments only when no kubelet looks for it any more.
    journal["obsolete"] = [folder for folder in folders if folder != kubelet_layout.config_dir(plan.after.command)]
    return journal


def _refuse_undrained(unit: KubeletUnit, plan: kubelet.KubeletPlan) -> None:
    reason = ask_why_not_drained(unit)
    if reason is not None:
        names = ", ".join(dict.fromkeys(name for change in plan.policies for name in change.differences))
        consequences = ". ".join(dict.fromkeys(change.policy.consequence for change in plan.policies))
        raise Refusal(
            f"config: {names} would change on {unit.node_name}, which is not drained: {reason}. {consequences}."
            " Drain the node, or set force: true."
        )
