# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(kubelet), for the runner; how a kubelet is watched, and whether its node is drained."""

from __future__ import annotations

import dataclasses
import glob
import os
import posixpath
import time
import typing as t

from ..._engine import probes
from ..._engine.files import POLL_SECONDS
from ..._engine.journal import PREPARED, SYSTEMD_UNIT, Instance, Journal, SetAside, UnitWatch
from ..._engine.kubeconfig import find_problem
from ..._engine.node import NODE, Host
from ..._engine.systemd_unit import ASIDE, UnitObservation, UnitWatcher
from ..._engine.watcher import HICCUP_SECONDS
from ..._plan.common.errors import Refusal
from ..._plan.common.verdict import Verdict
from ..._plan.kubelet import kubelet_undo
from ..._plan.kubelet import layout as kubelet_layout
from ..._plan.kubelet import plan as kubelet
from ..._plan.kubelet.desired import SETTINGS, Desired, parse_desired
from ..._plan.kubelet.layout import Layout
from ..._plan.kubelet.plan import KubeletPlan
from ..._plan.kubernetes import pods
from ..._plan.transaction import messages
from ..transaction import planned_journal
from ..transaction.file_versions import refuse_unsafe, with_target
from ..transaction.lock_wait import LockWait
from ..transaction.planned_journal import TransactionSettings
from ..transaction.state import Run
from ..transaction.transaction_steps import Earlier, TransactionSteps
from . import control_planes, kubelet_rehearsal
from .kubelet_reader import healthz_of
from .kubelet_unit_files import KUBELET_UNIT
from .kubelet_units import KUBELET_NAME, KubeletUnit, read_unit, warnings_about

# systemd waits ten seconds between two starts of what crashed.
STABLE_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run finds. earlier: what earlier runs left."""

    unit: KubeletUnit
    earlier: Earlier


class KubeletSteps(TransactionSteps[Desired]):
    """One run of the module: reads, plans, rehearses and starts a change of the node's kubelet."""

    _beside_previous = (*SETTINGS, "purge", "adopt")

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        diff: bool,
        run: Run,
        host: Host = NODE,
        patience: float = STABLE_SECONDS,
        lock_wait: LockWait | None = None,
    ) -> None:
        super().__init__(params, name=KUBELET_NAME, diff=diff, run=run, host=host, lock_wait=lock_wait)
        self._patience = patience
        self._complaints: list[str] = []  # about configuration that is not ours, where it was rehearsed
        self._control_plane: list[str] = []
        self._problem = ""

    def _parse(self) -> Desired:
        return parse_desired(self._params)

    def read(self, *, dry: bool) -> Observed:
        """Read the unit, its files, the process, and our record."""
        unit = read_unit(self._run, self._host)
        self._told.node, self._told.cluster = unit.node_name, unit.cluster
        self._control_plane = control_planes.reasons(unit, self._host)
        return Observed(unit, self._read_transactions(unit.node_name))

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """Warn of a kubelet's version that is not tested, too, and of a credential with which its Node cannot be read."""
        unit = observed.unit
        return [*self._notes(unit.node_name, observed.earlier, dry=dry), *warnings_about(unit)]

    def plan(self, observed: Observed) -> KubeletPlan:
        """Work out the change."""
        unit, desired = observed.unit, self._desired
        if self._is_revert:
            notes = self._revert_notes(observed.earlier)
            return kubelet_undo.plan(observed.earlier.rollback, unit.state, force=desired.force, warnings=notes)
        return kubelet.plan(desired, unit.state)

    def preflight(self, observed: Observed, plan: KubeletPlan) -> list[str]:
        """Check that the node may take the change."""
        if plan.policies and not self._desired.force:
            _refuse_undrained(observed.unit, plan)
        if not plan.operations:
            return []
        refuse_unsafe(change.path for change in plan.files)
        self._problem = _problem_of(observed.unit, self._host, self._run, self._patience)
        return [
            *([messages.may_repair(self._problem)] if self._problem else ()),
            *self._will_not_be_verified(kubelet.unverified(plan)),
        ]

    def rehearse(self, observed: Observed, plan: KubeletPlan) -> Verdict:
        """Start the kubelet with its new command line in a sandbox."""
        verdict, self._complaints = kubelet_rehearsal.rehearse(observed.unit, plan, run=self._run, clock=time.monotonic)
        return self._with_reverts(verdict, observed.earlier, plan.operations)

    def apply(self, observed: Observed, plan: KubeletPlan) -> None:
        """Hand the change to the node's engine."""
        journal = kubelet_journal(observed.unit, plan, self._settings, self._complaints)
        self._start(journal, observed.earlier)

    def verify(self, observed: Observed, plan: KubeletPlan, *, dry: bool) -> t.Sequence[str]:
        """With nothing to change, see that the kubelet runs and is healthy. Raises KubeadmError when it does not get so."""
        unit = observed.unit
        if observed.earlier.open is not None:  # it is in the middle of a change
            return ()
        observation, log, limits = _watch_until_healthy(
            unit, self._host, run=self._run, seconds=self._patience, clock=time.monotonic, sleep=time.sleep
        )
        if observation.process is None or not observation.probes_ok:
            raise self._unhealthy(observation.missing(), observation.probes, log)
        return self._not_verified(limits)

    def report(self, observed: Observed | None, plan: KubeletPlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        changing = plan if plan and plan.operations else None
        rollback = observed.earlier.rollback if observed and changing else None
        return {
            **self._report(
                changing.operations if changing else (), kubelet.diff(changing) if changing and self._diff else ()
            ),
            "files": [with_target(change.path) for change in changing.files] if changing else [],
            "control_plane": self._control_plane,
            "problem": self._problem or None,
            "limits": plan.limits if plan else None,
            "reverts": rollback.transaction if rollback else None,
        }


# ---- the journal of a change -----------------------------------------------------------------------------------------


def kubelet_journal(
    unit: KubeletUnit, plan: KubeletPlan, settings: TransactionSettings, complaints: t.Sequence[str]
) -> Journal:
    """The journal of a planned change of the kubelet. complaints: about configuration that is not ours, known before."""
    files = [
        *(planned_journal.file_entry(change) for change in plan.files),
        *planned_journal.record_entry(KUBELET_NAME, before=unit.state.record, after=plan.record),
    ]
    watch: UnitWatch = {
        "kind": SYSTEMD_UNIT,
        "unit": KUBELET_UNIT,
        "before": instance(plan.before),
        "after": instance(plan.after),
        "node": {"name": unit.node_name, "kubeconfig": unit.kubeconfig},
        "complaints": list(complaints),
        "has_static_pods": _has_static_pods(unit),
        "set_aside": [],
        "unverified": kubelet.unverified(plan),
    }
    journal = planned_journal.new_journal(KUBELET_NAME, files, watch, settings)
    for change in plan.policies:
        if change.policy.state_file:
            path = posixpath.join(unit.root, change.policy.state_file)
            aside = f"{path}{ASIDE}{journal['id']}"
            entry: SetAside = {"path": path, "aside": aside, "existed": os.path.exists(path), "policy": change.value}
            watch["set_aside"].append(entry)
    directories = [os.path.dirname(change.path) for change in plan.files if change.after is None]
    # Removed when they are empty then; the directory of fragments only when no kubelet looks for it any more.
    journal["obsolete"] = [
        directory for directory in directories if directory != kubelet_layout.config_dir(plan.after.command)
    ]
    return journal


# ---- the running kubelet and its node --------------------------------------------------------------------------------


def instance(layout: Layout) -> Instance:
    """How a kubelet with these files is recognised."""
    probe = healthz_of(layout.settings)
    return {"arguments": layout.command, "probes": [probe] if probe else []}


def _watch_until_healthy(
    unit: KubeletUnit,
    host: Host,
    *,
    run: Run,
    seconds: float,
    clock: t.Callable[[], float],
    sleep: t.Callable[[float], None],
) -> tuple[UnitObservation, list[str], list[str]]:
    """The look at a kubelet that runs and answers, or the last one when it does not get so; its last words; and what is not verified of it.

    Its Node is looked at, and not waited for: what is wrong with that need not be the kubelet's.
    """
    now = instance(unit.layout)
    watch: UnitWatch = {
        "kind": SYSTEMD_UNIT,
        "unit": KUBELET_UNIT,
        "before": now,
        "after": now,
        "node": {"name": unit.node_name, "kubeconfig": unit.kubeconfig},
        "complaints": [],
        "has_static_pods": False,
        "set_aside": [],
    }
    watcher = UnitWatcher({"phase": PREPARED}, watch, host, run, probes.api_get, clock, sleep)
    limit = clock() + seconds
    while True:
        observation = watcher.look()
        if (observation.process is not None and observation.probes_ok) or clock() >= limit:
            not_ready = [] if observation.node_ok else [f"whether it works: {observation.node}"]
            return observation, watcher.log(observation), [*watcher.unverified(), *not_ready]
        sleep(POLL_SECONDS)


def _problem_of(unit: KubeletUnit, host: Host, run: Run, patience: float) -> str:
    """Why a kubelet does not work, with its last words; empty when it does. patience: seconds for a moment's weakness, up to those of a hiccup."""
    seconds = min(patience, HICCUP_SECONDS)
    observation, log, dummy = _watch_until_healthy(
        unit, host, run=run, seconds=seconds, clock=time.monotonic, sleep=time.sleep
    )
    if observation.process is not None and observation.probes_ok:
        return ""
    return messages.down(KUBELET_NAME, unit.node_name, observation.missing(), observation.probes, log)


def _has_static_pods(unit: KubeletUnit) -> bool:
    """Whether the kubelet's directory of static pods holds any."""
    directory = unit.layout.settings.field(("staticPodPath",))
    return bool(directory) and any(not os.path.basename(path).startswith(".") for path in glob.glob(f"{directory}/*"))


def _ask_why_not_drained(unit: KubeletUnit) -> str | None:
    """Why this node does not count as drained, as its own credential sees it; None when it does."""
    node, why = probes.api_get(unit.kubeconfig, f"/api/v1/nodes/{unit.node_name}")
    if node is None:
        return why
    found, why = probes.api_get(unit.kubeconfig, f"/api/v1/pods?fieldSelector=spec.nodeName%3D{unit.node_name}")
    return why if found is None else pods.why_not_drained(node, found["items"])


def _refuse_undrained(unit: KubeletUnit, plan: KubeletPlan) -> None:
    reason = _ask_why_not_drained(unit)
    if reason is not None:
        names = ", ".join(dict.fromkeys(name for change in plan.policies for name in change.differences))
        consequences = ". ".join(dict.fromkeys(change.policy.consequence for change in plan.policies))
        is_unread = find_problem(unit.kubeconfig)
        advice = f"Repair {unit.kubeconfig}, and run again." if is_unread else "Drain the node, or set force: true."
        raise Refusal(
            f"config: {names} would change on {unit.node_name}, which is not drained: {reason}. {consequences}. {advice}"
        )
