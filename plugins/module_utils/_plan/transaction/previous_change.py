# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rollback: which change of a component C(state=previous) reverts, and whether that is safe.

A journal holds both versions of every file that its transaction changed. Reverting it brings each to its former version,
in a transaction of its own.
"""

from __future__ import annotations

import dataclasses
import difflib
import typing as t

from ..common.errors import Refusal
from ..common.file_values import FileVersion
from ..common.ownership import Change, Record
from .messages import ALARM, STANDING

PREVIOUS = "previous"
COMPONENT, RECORD = "component", "record"


@dataclasses.dataclass(frozen=True)
class WrittenFile:
    """One file that a change wrote; None for a version in which it does not exist.

    former: before the change. written: after it. now: as it stands. kind: RECORD for our own record of what is ours.
    switch: whether it is the manifest of a static pod.
    """

    path: str
    former: FileVersion | None
    written: FileVersion | None
    now: FileVersion | None
    kind: str = COMPONENT
    switch: bool = False

    @property
    def is_unedited(self) -> bool:
        """Whether it still has what the change wrote. A chmod is no edit."""
        return _content(self.now) == _content(self.written)

    @property
    def is_reverted(self) -> bool:
        """Whether it has what stood there before the change."""
        if _content(self.former) == _content(self.written):  # the change was one of mode or owner
            return self.now == self.former
        return _content(self.now) == _content(self.former)

    @property
    def change(self) -> str:
        """What reverting the change does to it: created, removed or changed."""
        return "created" if self.written is None else "removed" if self.former is None else "changed"


def _content(version: FileVersion | None) -> bytes | None:
    return None if version is None else version.content


@dataclasses.dataclass(frozen=True)
class Rollback:
    """The rollback of a transaction that ended: what would be reverted.

    node: where. journal: path of its journal, for messages. requested: when (C(at)) and from where (C(from)).
    reverts: id of the transaction that it reverted itself. directories: that it made, outermost first.
    record: what was ours before it.
    """

    transaction: str
    node: str
    journal: str
    requested: t.Mapping[str, t.Any]
    ended: str
    outcome: str
    reverts: str | None
    files: tuple[WrittenFile, ...]
    directories: tuple[str, ...]
    record: Record

    @property
    def is_done(self) -> bool:
        """Whether everything but our own record is as it was before the change."""
        return all(file.is_reverted for file in self.component_files)

    @property
    def stands(self) -> bool:
        """Whether the change is in effect. An alarm may have ended with the files on either side."""
        return self.outcome in STANDING or (self.outcome == ALARM and not self.is_done)

    @property
    def component_files(self) -> list[WrittenFile]:
        """The files without our own record."""
        return [file for file in self.files if file.kind == COMPONENT]

    def refuse_foreign_edits(self) -> None:
        """Raise Refusal when a file is not what the change left."""
        foreign = [file.path for file in self.files if not file.is_unedited]
        if foreign:
            raise Refusal(
                f"state: previous would revert transaction {self.transaction}, but {', '.join(foreign)} on {self.node} is not what"
                " that left: it was changed since, manually or by an upgrade. Nothing was changed. Restore the"
                f" content that {self.journal} holds for it (base64), or revert single settings with state: absent."
            )


def choose_change(ended: t.Iterable[Rollback]) -> Rollback | None:
    """The newest change that stands; None when there is none, or when it reverted another one: a second request is no redo.

    ended: the transactions of one component that may stand, newest first. None is passed over but those that left nothing.
    """
    newest = next((each for each in ended if each.stands), None)
    return None if newest is None or newest.reverts else newest


def refuse_settings(params: t.Mapping[str, t.Any], options: t.Iterable[str]) -> None:
    """Raise Refusal for settings that are given beside C(state=previous). An empty one counts as none."""
    given = [option for option in options if params[option]]
    if given:
        raise Refusal(
            f"state: previous reverts the last change as a whole, and {', '.join(given)} is given too. Remove that, or name"
            " the settings with state: present or absent."
        )


def revert_operations(changes: t.Iterable[Change], files: t.Iterable[WrittenFile]) -> tuple[Change, ...]:
    """The settings that change; when no setting does, the files: a plan without operations would change nothing."""
    return tuple(changes) or tuple(Change("files", file.path, None, "reverted") for file in files)


# ---- the report -------------------------------------------------------------------------------------------------------


def describe_rollback(
    rollback: Rollback | None,
    changes: t.Iterable[Change],
    diffs: t.Iterable[t.Mapping[str, str]],
    blocked_by: str | None = None,
) -> dict[str, t.Any]:
    """What an info module returns about the rollback. diffs: the differences that may be displayed, in Ansible's form.

    blocked_by: why the change would not be reverted.
    """
    by_path = {entry["after_header"]: _unified_diff(entry["before"], entry["after"]) for entry in diffs}
    return {
        "transaction": rollback.transaction if rollback else None,
        "requested": rollback.requested if rollback else None,
        "ended": rollback.ended if rollback else None,
        "files": [
            {"path": file.path, "change": file.change, "diff": by_path.get(file.path)}
            for file in (rollback.files if rollback else ())
        ],
        "operations": [change.to_result() for change in changes],
        "blocked_by": blocked_by,
    }


def _unified_diff(before: str, after: str) -> str:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm=""))
    return "\n".join(lines[2:])  # without the names of the files
