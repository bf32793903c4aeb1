# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The transactions of a node, as its journals record them."""

from __future__ import annotations

import contextlib
import errno
import os

from ..._engine.engine_errors import EngineError
from ..._engine.files import Json, read_json, write_json
from ..._engine.journal import Journal, history_ids, last_known_good, load_journal, result_of
from .state import Run, Unusable, state_directory, translate_errors

UNIT = "nodecraft-kubeadm@{name}.service"


def open_journal(name: str) -> Journal | None:
    """The journal of the open transaction; None when there is none. Raises Unusable."""
    with translate_errors():
        return load_journal(state_directory(name))[0]


def closed_journal(name: str, identifier: str) -> Journal | None:
    """The journal of a transaction that ended; None when it is not known. Raises Unusable."""
    with translate_errors():
        return load_journal(state_directory(name), identifier)[0]


def ended_ids(name: str) -> list[str]:
    """The ids of the transactions that ended, oldest first."""
    return history_ids(state_directory(name))


def outcome_of(journal: Journal) -> Json:
    """A closed transaction as a result has it: without file contents."""
    return {
        "id": journal["id"],
        "requested": journal["requested"],
        "reverts": journal.get("reverts"),
        "observed_before": journal.get("observed_before"),
        **result_of(journal),
    }


def last_outcome(name: str) -> Json | None:
    """The outcome of the last transaction that ended; None when there is none, or none that can be read."""
    with contextlib.suppress(Unusable):  # describe_transactions() and unreported_outcome() report it
        return _last_outcome(name)
    return None


def _last_outcome(name: str) -> Json | None:
    ids = ended_ids(name)
    journal = closed_journal(name, ids[-1]) if ids else None
    return outcome_of(journal) if journal else None


def unreported_outcome(name: str) -> Json | None:
    """The outcome of the last transaction when no run has reported it. Raises Unusable."""
    ids = ended_ids(name)
    if not ids or _read_hint(name, "followed.json").get("id") == ids[-1]:
        return None
    outcome, hint = _last_outcome(name), _read_hint(name, "problem.json")
    return {**outcome, "problem": hint.get("problem", "")} if outcome and hint.get("id") == ids[-1] else outcome


def set_problem(name: str, identifier: str, problem: str) -> None:
    """Record why a transaction that is committed does not count as verified, for the run that reports it."""
    write_json(os.path.join(state_directory(name), "problem.json"), {"id": identifier, "problem": problem})


def set_reported(name: str, identifier: str) -> None:
    """Record that a run has reported how a transaction ended."""
    write_json(os.path.join(state_directory(name), "followed.json"), {"id": identifier})


def describe_transactions(name: str) -> Json:
    """A component's transactions as an info module returns them."""
    return {
        "open_transaction": describe_open(name),
        "last_transaction": last_outcome(name),
        "last_known_good": last_known_good(state_directory(name)),
        "unreadable_journals": _unreadable_journals(name),
    }


def _unreadable_journals(name: str) -> list[str]:
    """What is wrong with each journal of which no copy can be used, the open one first."""
    problems = (_journal_problem(name, identifier) for identifier in (None, *ended_ids(name)))
    return [problem for problem in problems if problem]


def _journal_problem(name: str, identifier: str | None) -> str | None:
    try:
        with translate_errors():
            load_journal(state_directory(name), identifier)
    except Unusable as exc:
        return str(exc)
    return None


def describe_open(name: str) -> Json | None:
    """The open transaction of a component: its id, its phase, and who requested it; None when there is none."""
    try:
        journal = open_journal(name)
    except Unusable as exc:
        return {"id": None, "phase": None, "message": str(exc), "requested": None}
    if journal is None:
        return None
    phase, message = read_progress(name, journal)
    return {"id": journal["id"], "phase": phase, "message": message, "requested": journal["requested"]}


def read_progress(name: str, journal: Journal) -> tuple[str, str]:
    """(phase, message) of an open transaction; without a progress file, from the journal."""
    hint = _read_hint(name, "progress.json")
    phase, message = (
        (hint["phase"], hint["message"]) if hint.get("id") == journal["id"] else (journal["phase"], "starting")
    )
    problem = _write_problem(state_directory(name))
    return phase, f"{message}; cannot save its state: {problem}" if problem else message


def _write_problem(directory: str) -> str:
    """Why an engine cannot write there now, not even its progress; empty when it can."""
    try:
        status, size = os.statvfs(directory), os.stat(os.path.join(directory, "journal.json")).st_size
    except OSError:
        return ""
    if status.f_flag & os.ST_RDONLY:
        number = errno.EROFS
    elif status.f_bfree * status.f_frsize < size or (status.f_files and not status.f_ffree):
        number = errno.ENOSPC
    else:
        return ""
    return f"{os.strerror(number)}: {directory} on {os.uname().nodename}"


def _read_hint(name: str, file: str) -> Json:
    """The content of an informative file: empty when it is missing or damaged."""
    try:
        hint = read_json(os.path.join(state_directory(name), file))
    except EngineError:
        return {}
    return hint if isinstance(hint, dict) else {}


def is_active(name: str, run: Run) -> bool:
    """Whether the engine runs, or may: systemd is about to start it, or gives no state."""
    state = run(["systemctl", "is-active", UNIT.format(name=name)])[1].strip()
    return state in ("active", "activating", "reloading", "")
