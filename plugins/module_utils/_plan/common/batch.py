# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a task that changes many objects at once, and its messages about several of them."""

from __future__ import annotations

import dataclasses
import typing as t

from .errors import KubeadmError
from .ownership import Change

_DISPLAY_LIMIT = 10  # items of a list in one message


class PartialFailure(KubeadmError):
    """Some objects of a task failed and the others did not."""

    def __init__(self, message: str, *, changed: bool) -> None:
        super().__init__(message)
        self.changed = changed


@dataclasses.dataclass(frozen=True)
class TaskPlan:
    """The changes of all objects together, for the runner."""

    operations: tuple[Change, ...]
    warnings: tuple[str, ...]


def join_first(items: t.Iterable[t.Any]) -> str:
    """The first of many items in one text, and how many more there are."""
    texts = [str(item) for item in items]
    more = len(texts) - _DISPLAY_LIMIT
    return ", ".join(texts[:_DISPLAY_LIMIT]) + (f" and {more} more" if more > 0 else "")


def raise_failures(kind: str, errors: t.Sequence[str], total: int, *, changed: bool, end: str = "") -> None:
    """End a task in which some objects failed. kind: what they are, in the plural. errors: one for each that failed. end: the last sentence."""
    if errors:
        message = join_first(errors)
        whole = f"{len(errors)} of {total} {kind} failed. {message}" if total > 1 else message
        raise PartialFailure(f"{whole.rstrip('.')}. {end}" if end else whole, changed=changed)
