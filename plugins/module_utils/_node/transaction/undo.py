# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading a rollback on a node: journals, their copies of files, and the files themselves."""

from __future__ import annotations

import json
import os
import typing as t

from ..._engine.engine_errors import EngineError
from ..._engine.files import Json
from ..._engine.journal import ALARM, COMMITTED, UNHEALTHY, FileEntry, Journal, result_of
from ..._plan.common import ownership
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.ownership import Change
from ..._plan.transaction import previous_change
from ..._plan.transaction.previous_change import COMPONENT, RECORD, Rollback, WrittenFile
from . import journal_history
from .file_versions import load_version, read_version
from .owned_record import read_record, record_path
from .state import state_directory

_IN_EFFECT = (COMMITTED, UNHEALTHY, ALARM)


def find_rollback(name: str, node: str) -> Rollback | None:
    """The change of a component that C(state=previous) reverts; None when there is none. node: for messages.

    Raises KubeadmError when a journal or a copy in it is damaged that would have to be known: nothing older is
    reverted in its place.
    """
    return previous_change.choose_change(_ended_changes(name, node))


def warnings(rollback: Rollback | None, name: str, node: str) -> list[str]:
    """Warn where there is nothing to revert because nothing was ever changed, but not where it is reverted already."""
    if rollback is not None or any(ended.stands for ended in _ended_changes(name, node)):
        return []
    ours = ", ".join(f"{field} {key}" for field, keys in read_record(name).items() for key in keys)
    if ours:
        history = os.path.join(state_directory(name), "history")
        return [
            f"{name} on {node}: this collection set {ours}, and {history} has no change that could be reverted. Revert single settings with"
            " state: absent."
        ]
    return [f"{name} on {node}: this collection has no change in effect, so there is nothing to revert."]


def describe(
    name: str, node: str, plan: t.Callable[[Rollback], tuple[t.Sequence[Change], t.Sequence[t.Mapping[str, str]]]]
) -> Json | None:
    """The rollback as an info module returns it; None when there is nothing to revert.

    plan: from a change to the operations and the differences that may be shown.
    """
    rollback = None
    try:
        rollback = find_rollback(name, node)
        _refuse_open(name, node)
        if rollback is None or rollback.is_done:
            return None
        return previous_change.describe_rollback(rollback, *plan(rollback))
    except KubeadmError as exc:
        return previous_change.describe_rollback(rollback, (), (), blocked_by=str(exc))


def _refuse_open(name: str, node: str) -> None:
    journal = journal_history.open_journal(name)
    if journal is not None:
        raise Refusal(f"transaction {journal['id']} of {name} on {node} is open: it has to end first.")


def _ended_changes(name: str, node: str) -> t.Iterator[Rollback]:
    """The transactions whose changes may be in effect, newest first, each read only when it is needed: an older one need not be readable."""
    for identifier in reversed(journal_history.ended_ids(name)):
        journal = journal_history.closed_journal(name, identifier)
        if journal is not None and result_of(journal)["outcome"] in _IN_EFFECT:
            yield _rollback(journal, os.path.join(state_directory(name), "history", f"{identifier}.json"), node)


def _rollback(journal: Journal, path: str, node: str) -> Rollback:
    record = record_path(journal["name"])
    try:
        files = tuple(_written_file(entry, record) for entry in journal["files"])
    except EngineError as exc:
        raise Refusal(
            f"{path} on {node} is damaged ({exc}), so transaction {journal['id']} cannot be reverted, and nothing older is reverted"
            " in its place. Revert single settings with state: absent, or edit the files manually."
        ) from exc
    return Rollback(
        transaction=journal["id"],
        node=node,
        journal=path,
        requested=journal["requested"],
        ended=result_of(journal)["ended"],
        outcome=result_of(journal)["outcome"],
        reverts=journal.get("reverts"),
        files=files,
        directories=tuple(journal.get("directories", ())),
        record=_former_record(journal["name"], files),
    )


def _written_file(entry: FileEntry, record: str) -> WrittenFile:
    return WrittenFile(
        path=entry["path"],
        former=load_version(entry["before"]),
        written=load_version(entry["after"]),
        now=read_version(entry["path"]),
        kind=RECORD if entry["path"] == record else COMPONENT,
        switch=entry["switch"],
    )


def _former_record(name: str, files: t.Iterable[WrittenFile]) -> ownership.Record:
    """What we owned before; a change that did not touch the record left it as it is."""
    for file in files:
        if file.kind == RECORD:
            return ownership.load_record(json.loads(file.former.content)["owned"]) if file.former else {}
    return read_record(name)
