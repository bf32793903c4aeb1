# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What a run tells of kubeadm-config, in few lines: what the next upgrade undoes, what a control plane that joins will lack, and what was written."""

from __future__ import annotations

import dataclasses
import difflib
import typing as t

from ..common.ownership import Change
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


@dataclasses.dataclass(frozen=True)
class Outlook:
    """What is known at the end of a run.

    is_asked: whether the run may write. refusal: why it may not all the same; empty when nothing keeps it. plan: None where it was refused. others:
    what is ours and kubeadm-config cannot say, by static pod. written: the operations that were made; None when nothing was to be written.
    """

    is_asked: bool
    refusal: str
    entries: Entries
    plan: ConfigPlan | None
    others: t.Mapping[str, t.Sequence[str]]
    written: t.Sequence[str] | None = None

    @property
    def lost(self) -> dict[Place, str]:
        """What an upgrade takes, with the reason, which is empty for what could be written."""
        left_out = {**self.entries.left_out, **(self.plan.left_out if self.plan else {})}
        pending = [] if self.plan is not None and self.written is not None else self._pending
        return {**{place: "" for place in pending if place not in left_out}, **left_out}

    @property
    def _pending(self) -> list[Place]:
        if self.plan is None:
            return list(self.entries.wanted)
        names = {(change.field, change.key) for change in self.plan.operations}
        return [place for place in self.entries.wanted if (place.component, f"{place.field} {place.key}") in names]


def lines(outlook: Outlook, *, diff: bool) -> list[str]:
    """The lines, warnings first. diff: whether the difference of the text is shown."""
    lost = outlook.lost
    found: list[str] = []
    guards = rules.guards(lost)
    if guards:
        found.append(
            f"WARNING: the next kubeadm upgrade takes away {_named(guards)}, and a control plane that joins does not have it: what protects this"
            " cluster is open until site has run again."
        )
    found += [f"    {line}" for line in outlook.written or ()]
    rest = [place for place in lost if not lost[place] and place not in guards]
    beyond = [f"{component} {name}" for component, names in outlook.others.items() for name in names]
    if rest or beyond:
        found.append(
            f"The next kubeadm upgrade undoes, and a control plane that joins lacks: {', '.join([*map(str, rest), *beyond])}. Run site again after"
            " either."
        )
    if outlook.refusal and (lost or outlook.is_asked):
        found.append(f"kubeadm-config is not written: {outlook.refusal}")
    elif not outlook.is_asked and any(not reason for reason in lost.values()):
        found.append(f"{_WORD} keeps in kubeadm-config what it can say.")
    found += [f"{place} is not written to kubeadm-config: {reason}" for place, reason in lost.items() if reason]
    if outlook.is_asked and outlook.plan is not None and outlook.entries.files:
        found.append(f"{_JOIN}{', '.join(outlook.entries.files)}")
    if diff and outlook.plan is not None:
        found += difference(outlook.plan)
    return found


def difference(plan: ConfigPlan) -> list[str]:
    """The difference of the text, line by line."""
    names = (f"{IN_CONFIG_MAP} before", f"{IN_CONFIG_MAP} after")
    return list(difflib.unified_diff(plan.before.splitlines(), plan.after.splitlines(), *names, lineterm="", n=2))


def _named(places: t.Iterable[Place]) -> str:
    return ", ".join(map(str, places))


def written(operations: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    """What the module C(kubeadm_config) changed. operations: of its result."""
    changes = [Change(each["field"], each["key"], each["before"], each["after"]) for each in operations]
    return [f"kubeadm-config {plans.shown(change)}" for change in changes if change.field != "record"]
