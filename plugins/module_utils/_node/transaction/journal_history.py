# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the journals on a node say of its transactions."""

from __future__ import annotations

import contextlib
import errno
import os

from ..._engine.engine_errors import EngineError
from ..._engine.files import Json, read_json, write_json
from ..._engine.journal import Journal, history_ids, last_known_good, load_journal, result_of
from .state import Run, Unusable, state_directory, told

UNIT = "nodecraft-kubeadm@{name}.service"


def open_journal(name: str) -> Journal | None:
    """The journal of the open transaction; None when there is none. Raises Unusable."""
    with told():
        return load_journal(state_directory(name))[0]


def closed_journal(name: str, identifier: str) -> Journal | None:
    """The journal of a transaction that ended; None when it is not known. Raises Unusable."""
    with told():
        return load_journal(state_directory(name), identifier)[0]


def history(name: str) -> list[str]:
    """The ids of the transactions that ended, oldest first."""
    return history_ids(state_directory(name))


def outcome(journal: Journal) -> Json:
    """What a result says of a closed transaction: no file contents."""
    return {
        "id": journal["id"],
        "requested": journal["requested"],
        "reverts": journal.get("reverts"),
        **result_of(journal),
    }


def last(name: str) -> Json | None:
    """The outcome of the last transaction that ended; None when there is none, or none that can be read."""
    with contextlib.suppress(Unusable):  # summary() and unreported() tell of it
        return _last(name)
    return None


def _last(name: str) -> Json | None:
    ids = history(name)
    journal = closed_journal(name, ids[-1]) if ids else None
    return outcome(journal) if journal else None


def unreported(name: str) -> Json | None:
    """The outcome of the last transaction when no run was told of it. Raises Unusable."""
    ids = history(name)
    if not ids or _hint(name, "followed.json").get("id") == ids[-1]:
        return None
    return _last(name)


def mark_followed(name: str, identifier: str) -> None:
    """Note that a run was told how a transaction ended."""
    write_json(os.path.join(state_directory(name), "followed.json"), {"id": identifier})


def summary(name: str) -> Json:
    """What an info module says of a component's transactions."""
    return {
        "open_transaction": describe_open(name),
        "last_transaction": last(name),
        "last_known_good": last_known_good(state_directory(name)),
        "unreadable_journals": _unreadable(name),
    }


def _unreadable(name: str) -> list[str]:
    """What is wrong with each journal of which no copy can be used, the open one first."""
    problems = (_problem(name, identifier) for identifier in (None, *history(name)))
    return [problem for problem in problems if problem]


def _problem(name: str, identifier: str | None) -> str | None:
    try:
        with told():
            load_journal(state_directory(name), identifier)
    except Unusable as exc:
        return str(exc)
    return None


def describe_open(name: str) -> Json | None:
    """The open transaction of a component: its id, where it is, and who asked for it; None when there is none."""
    try:
        journal = open_journal(name)
    except Unusable as exc:
        return {"id": None, "phase": None, "message": str(exc), "requested": None}
    if journal is None:
        return None
    phase, message = progress(name, journal)
    return {"id": journal["id"], "phase": phase, "message": message, "requested": journal["requested"]}


def progress(name: str, journal: Journal) -> tuple[str, str]:
    """(phase, message) of an open transaction, for people. News that a power loss took leave what the journal says."""
    news = _hint(name, "progress.json")
    phase, message = (
        (news["phase"], news["message"]) if news.get("id") == journal["id"] else (journal["phase"], "starting")
    )
    why = _write_problem(state_directory(name))
    return phase, f"{message}; cannot save its state: {why}" if why else message


def _write_problem(directory: str) -> str:
    """Why an engine writes nothing there now, news included; empty when it can."""
    try:
        found, size = os.statvfs(directory), os.stat(os.path.join(directory, "journal.json")).st_size
    except OSError:
        return ""
    if found.f_flag & os.ST_RDONLY:
        number = errno.EROFS
    elif found.f_bfree * found.f_frsize < size or (found.f_files and not found.f_ffree):
        number = errno.ENOSPC
    else:
        return ""
    return f"{os.strerror(number)}: {directory} on {os.uname().nodename}"


def _hint(name: str, file: str) -> Json:
    """What a file says that is for people only: nothing when it is not there, or damaged by a power loss."""
    try:
        hint = read_json(os.path.join(state_directory(name), file))
    except EngineError:
        return {}
    return hint if isinstance(hint, dict) else {}


def is_active(name: str, run: Run) -> bool:
    """Whether the engine is at work, or systemd is about to start it. Where systemd does not tell, it may be."""
    state = run(["systemctl", "is-active", UNIT.format(name=name)])[1].strip()
    return state in ("active", "activating", "reloading", "")
