# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One object of a task that changes many of them, and how all are sent."""

from __future__ import annotations

import dataclasses
import typing as t

from .._plan.common.ownership import Change
from .client import Json, Params
from .parallel import for_each


class Plan(t.Protocol):
    """What will be done to one object."""

    @property
    def operations(self) -> tuple[Change, ...]:
        """What changes."""


P = t.TypeVar("P", bound=Plan)


@dataclasses.dataclass
class Target(t.Generic[P]):
    """One object of a task. read: as it was when it was planned; empty when there is none. latest: as it was last seen. error: why it
    failed; empty when it did not. sent: whether the API server took the plan's patch.
    """

    name: str
    read: Json = dataclasses.field(default_factory=dict)
    latest: Json = dataclasses.field(default_factory=dict)
    plan: P | None = None
    error: str = ""
    note: str = ""
    sent: bool = False

    @property
    def operations(self) -> tuple[Change, ...]:
        """What changes."""
        return self.plan.operations if self.plan else ()

    @property
    def changed(self) -> bool:
        """Whether the API server took a change; in check mode, whether it would."""
        return self.sent and bool(self.operations)

    @property
    def changes(self) -> bool:
        """Whether it is, or was, going to change: it may have been done, and failed while its effect was waited for."""
        return bool(self.operations) and (self.sent or not self.error)

    def leave(self, why: str) -> None:
        """Note that it was not tried."""
        self.note, self.plan = f"not tried: {why}", None

    def report(self) -> Json:
        """The object's part of the result."""
        return {
            "changed": self.changed,
            "failed": bool(self.error),
            "msg": self.error or self.note,
            "operations": [dataclasses.asdict(change) for change in self.operations],
        }


T = t.TypeVar("T", bound="Target[t.Any]")


def send_each(targets: t.Sequence[T], send: t.Callable[[T], bool], params: Params, *, kind: str) -> None:
    """Send the changes of objects, so many at a time. send: returns whether it worked. params: of the module. kind: what one is."""
    for_each(targets, send, workers=params["concurrency"], stop_at_failure=params["on_error"] == "stop")
    leave_rest(targets, kind=kind)


def leave_rest(targets: t.Iterable[Target[t.Any]], *, kind: str) -> None:
    """Note of changes that were neither sent nor failed that they are not going to be tried. kind: what one object is."""
    for target in targets:
        if target.operations and not target.sent and not target.error:
            target.leave(f"another {kind} failed, and on_error is stop")
