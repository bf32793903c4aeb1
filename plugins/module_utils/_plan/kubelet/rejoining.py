# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node that was reset and joined again: C(kubeadm reset) leaves our files, so what we set for its former life still wins over kubelet-config."""

from __future__ import annotations

import typing as t

from ..common.ownership import Record
from .config import ARGS, CONFIG, GATES, TAINTS
from .desired import Desired
from .layout import Layout

_FIELDS = (GATES, CONFIG, ARGS, TAINTS)


class Override(t.NamedTuple):
    """A setting of ours that is another than in the files of others. below: the value in these; None when they do not set it."""

    field: str
    key: str
    used: t.Any
    below: t.Any


def find_overrides(owned: Record, base: Layout) -> list[Override]:
    """What is ours and makes a difference. base: the kubelet without our files."""
    found = []
    for field in _FIELDS:
        for key, entry in owned.get(field, {}).items():
            below = base.settings.value(field, key, entry.set)
            if below != entry.set:
                found.append(Override(field, key, entry.set, below))
    return found


def warnings(desired: Desired, owned: Record, base: Layout, joined: str) -> list[str]:
    """Warnings about settings that are not desired in the node's new life. owned: after the change. joined: when it began, UTC; empty when there
    is none."""
    left = (
        [each for each in find_overrides(owned, base) if (each.field, each.key) not in desired.keys] if joined else []
    )
    if not left:
        return []
    names = ", ".join(f"{each.field} {each.key}" for each in left)
    return [
        f"this node was joined to its cluster again at {joined}, and this collection had set {names} before. kubeadm reset keeps that, and it takes"
        " precedence over what kubeadm join wrote. Name it to keep it, or revert it with purge or with state: absent."
    ]
