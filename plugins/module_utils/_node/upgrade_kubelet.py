# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.
"""What an upgrade does to the kubelet of a node: the new one with the settings of today, and with those of the inventory."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from .._plan.common.errors import Refusal
from .._plan.common.ownership import Values
from .._plan.common.verdict import Verdict
from .._plan.kubelet import plan as kubelet
from .._plan.kubelet.desired import parse_desired
from .._plan.kubelet.plan import KubeletPlan
from .._plan.upgrade import kubelets as upgrade
from .._plan.upgrade import steps
from .._plan.upgrade.findings import BREAKS, INVENTORY, Finding
from .._plan.upgrade.refusals import Setting
from . import kubelet_rehearsals
from .kubelet import version_of
from .kubelet_units import KUBELET_NAME, KubeletUnit
from .state import Run
from .upgrade_findings import UpgradeFindings, hear
from .upgrade_programs import NewPrograms

_CGROUP_V2 = "/sys/fs/cgroup/cgroup.controllers"
_DEFAULTS = {"state": "present", "purge": False, "adopt": False, "force": False}


@dataclasses.dataclass
class _Trial:
    unit: KubeletUnit
    plan: KubeletPlan
    binary: str
    run: Run
    clock: t.Callable[[], float]
    complaints: list[str] = dataclasses.field(default_factory=list)

    def rehearse(self) -> Verdict:
        """Start the new kubelet in the sandbox."""
        verdict, complaints = kubelet_rehearsals.rehearse(
            self.unit, self.plan, run=self.run, clock=self.clock, binary=self.binary
        )
        self.complaints += complaints
        return verdict

    def values(self) -> Values:
        """Its settings."""
        return upgrade.values(self.plan.after)

    def without(self, blame: t.Sequence[Setting]) -> _Trial:
        """The same without settings."""
        return dataclasses.replace(self, plan=upgrade.without(self.plan, blame), complaints=[])


def check(
    unit: KubeletUnit,
    wanted: t.Mapping[str, t.Any] | None,
    programs: NewPrograms,
    version: steps.Version,
    found: UpgradeFindings,
    *,
    run: Run,
    clock: t.Callable[[], float],
) -> None:
    """Add what is found. wanted: options of the module C(kubelet) that the inventory asks for; None when it asks for none. version: of
    the programs."""
    target = programs.target
    today = version_of(unit.binary, run)
    found.findings += steps.kubelet_skew(today, target)
    fails = unit.layout.settings.field(("failCgroupV1",))
    cgroup = steps.cgroup_objection(target, has_v2=os.path.exists(_CGROUP_V2), fails=fails)
    if not steps.may_rehearse_kubelet(target):
        found.findings += cgroup
        found.skip(
            KUBELET_NAME,
            f"a kubelet of {target} is newer than those that this collection is tested with, and is not started",
        )
        return
    # Where the kubelet does not start, it says so itself.
    found.findings += [finding for finding in cgroup if finding.fate != BREAKS]
    today_plan = upgrade.as_kubeadm_leaves(upgrade.unchanged(unit.state), version)
    trial = _Trial(unit, today_plan, programs.path(KUBELET_NAME), run, clock)
    verdict, refused = hear(trial)
    found.note(KUBELET_NAME, "today", verdict)
    found.findings += upgrade.passed_over(dict.fromkeys(trial.complaints))
    plan = None if wanted is None else _planned(unit, wanted, version, found)
    kept = upgrade.values(plan.after if plan else trial.plan.after)
    for blame, message in refused:
        is_kept = blame is None or blame[1] in kept.get(blame[0], {})
        found.findings.append(upgrade.broken(unit.layout, blame, message, by_site=False, still_named=is_kept))
    if plan and plan.operations:
        verdict, again = hear(dataclasses.replace(trial, plan=plan, complaints=[]))
        found.note(KUBELET_NAME, "desired", verdict)
        known = [blame for blame, dummy in refused]
        for blame, message in again:
            if blame not in known:
                found.findings.append(upgrade.broken(plan.after, blame, message, by_site=True, still_named=True))


def _planned(
    unit: KubeletUnit, wanted: t.Mapping[str, t.Any], version: steps.Version, found: UpgradeFindings
) -> KubeletPlan | None:
    """The desired state for the new kubelet, which will have been restarted by then; None where site would refuse it."""
    state = dataclasses.replace(unit.state, version=version[:2], newer=(), running=None)
    try:
        return upgrade.as_kubeadm_leaves(kubelet.plan(parse_desired({**_DEFAULTS, **wanted}), state), version)
    except Refusal as exc:
        told = f"site would not work after the upgrade: {exc}"
        found.findings.append(Finding(KUBELET_NAME, BREAKS, told, set_by=INVENTORY))
        return None
