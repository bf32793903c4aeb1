# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines of a run about kubeadm-config: what the next upgrade undoes, what a control plane that joins will lack, and what was written."""

from __future__ import annotations

import dataclasses
import difflib
import typing as t

from . import entries as rules
from . import plan as plans
from .cluster_configuration import IN_CONFIG_MAP
from .entries import Entries
from .plan import ConfigPlan
from .settings import SettingKey

_ENABLE = "control_plane_persist: true"
_JOIN = (
    "Before another control plane joins, put these files there: ansible-playbook nodecraft.kubeadm.join_files --limit HOST. Without them kubeadm adds"
    " its etcd as a member, its API server never starts, and the join hangs: "
)


# The outcome of a run: it may not write, it would (check mode), it failed before it did, it has nothing to write, or it wrote.
NOT_REQUESTED, PLANNED, FAILED, UNCHANGED, WRITTEN = "not requested", "planned", "failed", "unchanged", "written"


@dataclasses.dataclass(frozen=True)
class PersistenceReport:
    """What is known at the end of a run.

    ending: one of the above. refusal: why nothing may be written; empty when nothing keeps it. plan: None where it could not be made. others: what is
    ours and kubeadm-config has no field for, by static pod.
    """

    ending: str
    refusal: str
    entries: Entries
    plan: ConfigPlan | None
    others: t.Mapping[str, t.Sequence[str]]

    @property
    def lost(self) -> dict[SettingKey, str]:
        """What an upgrade takes, with the reason, which is empty for what could be written."""
        skipped = {**self.entries.skipped, **(self.plan.skipped if self.plan else {})}
        persists = self.ending in (PLANNED, UNCHANGED, WRITTEN) and not self.refusal
        return {**{each: "" for each in ([] if persists else self._pending) if each not in skipped}, **skipped}

    @property
    def left(self) -> list[str]:
        """What a run that may not write leaves there of ours although it is to go."""
        if self.ending != NOT_REQUESTED or self.plan is None:
            return []
        desired = {(each.component, f"{each.field} {each.key}") for each in self.entries.desired}
        return [
            f"{change.field} {change.key}"
            for change in self.plan.operations
            if change.field != "record" and (change.field, change.key) not in desired
        ]

    @property
    def _pending(self) -> list[SettingKey]:
        if self.plan is None:
            return list(self.entries.desired)
        names = {(change.field, change.key) for change in self.plan.operations}
        return [each for each in self.entries.desired if (each.component, f"{each.field} {each.key}") in names]


def report_lines(result: PersistenceReport, *, diff: bool) -> list[str]:
    """The lines, warnings first. diff: whether the difference of the text is shown."""
    lost, plan = result.lost, result.plan
    guards = rules.security_settings(lost)
    found: list[str] = []
    if guards:
        found.append(
            f"WARNING: the next kubeadm upgrade removes {_join_settings(guards)}, and a control plane that joins does not have it: the"
            " cluster is not protected then until site has run again."
        )
    if plan is not None and result.ending in (PLANNED, WRITTEN):
        found.append("kubeadm-config, from which kubeadm upgrade and kubeadm join generate manifests:")
        found += [f"    {plans.format_change(change)}" for change in plan.operations if change.field != "record"]
    rest = [each for each in lost if each not in guards]
    beyond = [f"{component} {name}" for component, names in result.others.items() for name in names]
    if rest or beyond:
        found.append(
            f"The next kubeadm upgrade reverts, and a control plane that joins lacks: {', '.join([*map(str, rest), *beyond])}. Run site again after"
            " either."
        )
    if result.left:
        found.append(
            f"kubeadm-config still has {', '.join(result.left)}, so the next kubeadm upgrade sets that, and so does a control plane that joins."
            f" With {_ENABLE} it is reverted there, too."
        )
    is_pending = any(not reason for reason in lost.values())
    if result.refusal and (is_pending or result.ending in (FAILED, PLANNED)):
        found.append(f"kubeadm-config is not written: {result.refusal}")
    elif result.ending == NOT_REQUESTED and is_pending:
        found.append(f"With {_ENABLE} kubeadm-config keeps what it can hold of that.")
    found += _skip_lines(lost)
    if result.ending in (PLANNED, UNCHANGED, WRITTEN) and result.entries.files:
        found.append(f"{_JOIN}{', '.join(result.entries.files)}")
    if diff and plan is not None:
        changes = diff_lines(plan)
        found += [f"With {_ENABLE} this would be written:"] if changes and result.ending == NOT_REQUESTED else []
        found += changes
    return found


def _skip_lines(lost: t.Mapping[SettingKey, str]) -> list[str]:
    """Why settings are not kept, a line for each reason."""
    places: dict[str, list[str]] = {}
    for each, reason in lost.items():
        places.setdefault(reason, []).append(str(each))
    return [
        f"{', '.join(named)} {'is' if len(named) == 1 else 'are'} not kept in kubeadm-config: {reason}."
        for reason, named in places.items()
        if reason
    ]


def diff_lines(plan: ConfigPlan) -> list[str]:
    """The difference of the text, line by line."""
    names = (f"{IN_CONFIG_MAP} before", f"{IN_CONFIG_MAP} after")
    return list(difflib.unified_diff(plan.before.splitlines(), plan.after.splitlines(), *names, lineterm="", n=2))


def _join_settings(places: t.Iterable[SettingKey]) -> str:
    return ", ".join(map(str, places))
