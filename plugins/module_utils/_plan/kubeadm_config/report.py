# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run tells of kubeadm-config, in few lines: what the next upgrade undoes, what a control plane that joins will lack, and what was written."""

from __future__ import annotations

import dataclasses
import difflib
import typing as t

from . import entries as rules
from . import plan as plans
from .cluster_configuration import IN_CONFIG_MAP
from .entries import Entries
from .plan import ConfigPlan
from .settings import Place

_WORD = "control_plane_persist: true"
_JOIN = (
    "Before another control plane joins, put these files there: ansible-playbook nodecraft.kubeadm.join_files --limit HOST. Without them kubeadm adds"
    " its etcd as a member, its API server never starts, and the join hangs: "
)


# What a run came to: it may not write, it would (check mode), it failed before it did, it has nothing to write, or it wrote.
NOT_ASKED, PLANNED, FAILED, UNCHANGED, WRITTEN = "not asked", "planned", "failed", "unchanged", "written"


@dataclasses.dataclass(frozen=True)
class Outlook:
    """What is known at the end of a run.

    ending: one of the above. refusal: why nothing may be written; empty when nothing keeps it. plan: None where it could not be made. others: what is
    ours and kubeadm-config cannot say, by static pod.
    """

    ending: str
    refusal: str
    entries: Entries
    plan: ConfigPlan | None
    others: t.Mapping[str, t.Sequence[str]]

    @property
    def lost(self) -> dict[Place, str]:
        """What an upgrade takes, with the reason, which is empty for what could be written."""
        skipped = {**self.entries.skipped, **(self.plan.skipped if self.plan else {})}
        is_kept = self.ending in (PLANNED, UNCHANGED, WRITTEN) and not self.refusal
        return {**{place: "" for place in ([] if is_kept else self._pending) if place not in skipped}, **skipped}

    @property
    def left(self) -> list[str]:
        """What a run that may not write leaves there of ours although it is to go."""
        if self.ending != NOT_ASKED or self.plan is None:
            return []
        wanted = {(place.component, f"{place.field} {place.key}") for place in self.entries.wanted}
        return [
            f"{change.field} {change.key}"
            for change in self.plan.operations
            if change.field != "record" and (change.field, change.key) not in wanted
        ]

    @property
    def _pending(self) -> list[Place]:
        if self.plan is None:
            return list(self.entries.wanted)
        names = {(change.field, change.key) for change in self.plan.operations}
        return [place for place in self.entries.wanted if (place.component, f"{place.field} {place.key}") in names]


def lines(outlook: Outlook, *, diff: bool) -> list[str]:
    """The lines, warnings first. diff: whether the difference of the text is shown."""
    lost, plan = outlook.lost, outlook.plan
    guards = rules.guards(lost)
    found: list[str] = []
    if guards:
        found.append(
            f"WARNING: the next kubeadm upgrade removes {_named(guards)}, and a control plane that joins does not have it: the"
            " cluster is not protected then until site has run again."
        )
    if plan is not None and outlook.ending in (PLANNED, WRITTEN):
        found.append("kubeadm-config, from which kubeadm upgrade and kubeadm join generate manifests:")
        found += [f"    {plans.shown(change)}" for change in plan.operations if change.field != "record"]
    rest = [place for place in lost if place not in guards]
    beyond = [f"{component} {name}" for component, names in outlook.others.items() for name in names]
    if rest or beyond:
        found.append(
            f"The next kubeadm upgrade reverts, and a control plane that joins lacks: {', '.join([*map(str, rest), *beyond])}. Run site again after"
            " either."
        )
    if outlook.left:
        found.append(
            f"kubeadm-config still has {', '.join(outlook.left)}, so the next kubeadm upgrade sets that, and so does a control plane that joins."
            f" With {_WORD} it is reverted there, too."
        )
    is_pending = any(not reason for reason in lost.values())
    if outlook.refusal and (is_pending or outlook.ending in (FAILED, PLANNED)):
        found.append(f"kubeadm-config is not written: {outlook.refusal}")
    elif outlook.ending == NOT_ASKED and is_pending:
        found.append(f"With {_WORD} kubeadm-config keeps what it can hold of that.")
    found += _not_kept(lost)
    if outlook.ending in (PLANNED, UNCHANGED, WRITTEN) and outlook.entries.files:
        found.append(f"{_JOIN}{', '.join(outlook.entries.files)}")
    if diff and plan is not None:
        changes = difference(plan)
        found += [f"With {_WORD} this would be written:"] if changes and outlook.ending == NOT_ASKED else []
        found += changes
    return found


def _not_kept(lost: t.Mapping[Place, str]) -> list[str]:
    """Why settings are not kept, a line for each reason."""
    places: dict[str, list[str]] = {}
    for place, reason in lost.items():
        places.setdefault(reason, []).append(str(place))
    return [
        f"{', '.join(named)} {'is' if len(named) == 1 else 'are'} not kept in kubeadm-config: {reason}."
        for reason, named in places.items()
        if reason
    ]


def difference(plan: ConfigPlan) -> list[str]:
    """The difference of the text, line by line."""
    names = (f"{IN_CONFIG_MAP} before", f"{IN_CONFIG_MAP} after")
    return list(difflib.unified_diff(plan.before.splitlines(), plan.after.splitlines(), *names, lineterm="", n=2))


def _named(places: t.Iterable[Place]) -> str:
    return ", ".join(map(str, places))
