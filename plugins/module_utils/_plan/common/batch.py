# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a task that changes many objects at once tells of them together."""

from __future__ import annotations

import dataclasses
import typing as t

from .errors import KubeadmError
from .ownership import Change

_SHOWN = 10  # so many are named in a message


class Incomplete(KubeadmError):
    """Some objects are done and others are not."""

    def __init__(self, message: str, *, changed: bool) -> None:
        super().__init__(message)
        self.changed = changed


@dataclasses.dataclass(frozen=True)
class TaskPlan:
    """What the runner wants to know of all of them."""

    operations: tuple[Change, ...]
    warnings: tuple[str, ...]


def joined(items: t.Iterable[t.Any]) -> str:
    """The first of many things, and how many more there are."""
    texts = [str(item) for item in items]
    rest = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def refuse_failures(kind: str, errors: t.Sequence[str], total: int, *, changed: bool) -> None:
    """End a task in which some objects failed. kind: what they are, in the plural. errors: one for each that failed."""
    if errors:
        told = joined(errors)
        raise Incomplete(
            f"{len(errors)} of {total} {kind} failed. {told}" if total > 1 else told,
            changed=changed,
        )
