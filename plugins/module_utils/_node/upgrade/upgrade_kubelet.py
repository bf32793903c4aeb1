# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an upgrade does to the kubelet of a node: the new one with the settings of today, and with those of the inventory."""

from __future__ import annotations

import dataclasses
import functools
import os
import typing as t

from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.ownership import Values
from ..._plan.common.verdict import Verdict
from ..._plan.kubelet import plan as kubelet
from ..._plan.kubelet.desired import parse_desired
from ..._plan.kubelet.plan import KubeletPlan
from ..._plan.upgrade import kubelets as upgrade
from ..._plan.upgrade import prerequisites, refusals
from ..._plan.upgrade.findings import BROKEN, INVENTORY, KUBELET_GATES, Finding, UpgradeFindings
from ..._plan.upgrade.refusals import Setting
from ..kubelet import kubelet_rehearsal
from ..kubelet.kubelet_reader import printed_version
from ..kubelet.kubelet_units import KUBELET_NAME, KubeletUnit
from ..runtime.programs import Program
from ..transaction.state import Run
from .upgrade_programs import GateTrial, NewPrograms, Refused, Trial, rehearse_all, start_program

_CGROUP_V2 = "/sys/fs/cgroup/cgroup.controllers"  # not on a hybrid node
_DEFAULTS = {"state": "present", "purge": False, "adopt": False, "force": False}


@dataclasses.dataclass
class _Trial:
    unit: KubeletUnit
    plan: KubeletPlan
    binary: str
    run: Run
    clock: t.Callable[[], float]

    def rehearse(self) -> Verdict:
        """Start the new kubelet in the sandbox."""
        return kubelet_rehearsal.rehearse(self.unit, self.plan, run=self.run, clock=self.clock, binary=self.binary)[0]

    def values(self) -> Values:
        """Its settings."""
        return upgrade.all_settings(self.plan.after)

    def without(self, settings: t.Sequence[Setting]) -> _Trial:
        """The same without settings."""
        return dataclasses.replace(self, plan=upgrade.without_settings(self.plan, settings))


@dataclasses.dataclass(frozen=True)
class KubeletUpgrade:
    """The kubelet of a node that is checked.

    version: of the programs. api_server: the new kube-apiserver, which validates the gates of a kubelet that is not started.
    """

    unit: KubeletUnit
    programs: NewPrograms
    version: prerequisites.Version
    api_server: t.Callable[[], t.ContextManager[Program]]
    clock: t.Callable[[], float]

    def check(self, desired: t.Mapping[str, t.Any] | None, found: UpgradeFindings) -> str:
        """Add what is found. Returns the version of today's kubelet.

        desired: options of the module C(kubelet) that the inventory sets; None when it sets none.
        """
        unit, target, run = self.unit, self.programs.target, self.programs.run
        version = printed_version(unit.binary, run)
        found.findings += prerequisites.kubelet_skew(version, target)
        fails = unit.layout.settings.field(("failCgroupV1",))
        cgroup = prerequisites.cgroup_findings(target, has_v2=os.path.exists(_CGROUP_V2), fails=fails)
        today = upgrade.after_kubeadm_upgrade(upgrade.unchanged_plan(unit.state), self.version)
        plan = None if desired is None else self._plan_desired(desired, found)
        if prerequisites.may_rehearse_kubelet(target):
            # Where the kubelet does not start, the rehearsal finds that.
            found.findings += [finding for finding in cgroup if finding.impact != BROKEN]
            trial = _Trial(unit, today, self.programs.path(KUBELET_NAME), run, self.clock)
            desired_trial = dataclasses.replace(trial, plan=plan) if plan and plan.operations else None
            refused, again = _rehearse_both(KUBELET_NAME, trial, desired_trial, found)
        else:
            found.findings += cgroup
            found.skip(
                KUBELET_NAME,
                f"a kubelet of {target} is newer than those that this collection is tested with, and is not started",
            )
            refused, again = self._validate_gates(today, plan, found)
        found.findings += _broken_findings(unit, today, plan, refused, again)
        return version

    def _plan_desired(self, desired: t.Mapping[str, t.Any], found: UpgradeFindings) -> KubeletPlan | None:
        """The desired state for the new kubelet, which will have been restarted by then; None where site would refuse it."""
        state = dataclasses.replace(self.unit.state, version=self.version[:2], newer=(), running=None)
        try:
            plan = kubelet.plan(parse_desired({**_DEFAULTS, **desired}), state)
            return upgrade.after_kubeadm_upgrade(plan, self.version)
        except Refusal as exc:
            message = f"site would not work after the upgrade: {exc}"
            found.findings.append(Finding(KUBELET_NAME, BROKEN, message, set_by=INVENTORY))
            return None

    def _validate_gates(
        self, today: KubeletPlan, plan: KubeletPlan | None, found: UpgradeFindings
    ) -> tuple[Refused, Refused]:
        """The gates that the new kube-apiserver refuses of a kubelet that is not started; without it, those that a table knows to be removed."""
        gates = today.after.settings.gates()
        desired = plan.after.settings.gates() if plan and plan.operations else {}
        if not gates and not desired:
            found.check(KUBELET_GATES, ())
            return [], []
        try:
            with self.api_server() as program:
                trial = GateTrial(gates, functools.partial(_start_with_gates, program, self.programs.run), self.clock)
                following = dataclasses.replace(trial, gates=desired) if desired else None
                return _rehearse_both(KUBELET_GATES, trial, following, found)
        except KubeadmError as exc:
            names = ", ".join(dict.fromkeys([*gates, *desired]))
            reason = f"{exc}. A table tells which of {names} are removed, and not which are locked to another value"
            found.skip(KUBELET_GATES, reason)
            return refusals.removed_gates(gates, self.version), refusals.removed_gates(desired, self.version)


def _start_with_gates(program: Program, run: Run, gates: t.Mapping[str, t.Any]) -> Verdict:
    return upgrade.gates_verdict(*start_program(program, upgrade.gates_command(gates), run))


def _rehearse_both(name: str, today: Trial, desired: Trial | None, found: UpgradeFindings) -> tuple[Refused, Refused]:
    """What is refused of today's settings, and of the desired ones."""
    verdict, refused = rehearse_all(today)
    found.note(name, "today", verdict)
    if desired is None:
        return refused, []
    verdict, again = rehearse_all(desired)
    found.note(name, "desired", verdict)
    return refused, again


def _broken_findings(
    unit: KubeletUnit, today: KubeletPlan, plan: KubeletPlan | None, refused: Refused, again: Refused
) -> list[Finding]:
    """What breaks today's kubelet, and what only the desired state breaks."""
    values = upgrade.all_settings((plan or today).after)
    findings = []
    for setting, message in refused:
        is_named = setting is None or setting[1] in values.get(setting[0], {})
        findings.append(upgrade.broken_setting(unit.layout, setting, message, by_site=False, still_named=is_named))
    known = [setting for setting, dummy in refused]
    for setting, message in again:
        if plan and setting not in known:
            findings.append(upgrade.broken_setting(plan.after, setting, message, by_site=True, still_named=True))
    return findings
