# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Following a transaction of a node, which goes on by itself, and confirming it."""

from __future__ import annotations

import contextlib
import os
import time
import typing as t

from ..._engine.files import Json, read_bytes, to_json, write_atomically
from ..._engine.journal import (
    ALARM,
    CONFIRMED,
    CONFIRMING,
    OBSERVED,
    OBSERVING,
    ROLLING_BACK,
    VERIFYING,
    result_of,
)
from ..._plan.common.errors import KubeadmError
from ..._plan.common.identifiers import is_pod_name, is_transaction_id
from .journal_history import (
    closed_journal,
    ended_ids,
    is_active,
    open_journal,
    outcome_of,
    read_progress,
    set_problem,
    set_reported,
)
from .state import Run, Unusable, state_directory

# Between two reads of two small files.
_POLL_INTERVAL = 0.1
# What is unknown of a transaction whose journal cannot be read.
_UNKNOWN = (
    "requested",
    "reverts",
    "observed_before",
    "healthy",
    "ended",
    "seconds",
    "restart_seconds",
    "outage_seconds",
    "proof",
    "confirmed",
    "observed",
)


def follow(
    name: str,
    identifier: str,
    *,
    seconds: float,
    seen: str | None,
    clock: t.Callable[[], float],
    sleep: t.Callable[[float], None],
) -> tuple[Json | None, str, str]:
    """Wait until a transaction ends or its message is not C(seen) any more, for so many seconds at most. seen: None waits for the end only.

    Returns (its outcome or None while it is open, phase, message). Raises KubeadmError for an unknown transaction, Unusable
    for one whose journal cannot be read.
    """
    limit = clock() + seconds
    while True:
        current = open_journal(name)
        if current is None or current["id"] != identifier:
            # Read in this order: a transaction that ends between the two reads is found by the second.
            closed = closed_journal(name, identifier)
            if closed is None:
                raise _unknown_error(name, identifier)
            return outcome_of(closed), closed["phase"], result_of(closed)["outcome"]
        phase, message = read_progress(name, current)
        if seen not in (None, message) or clock() >= limit:
            return None, phase, message
        sleep(_POLL_INTERVAL)


def report_progress(
    name: str,
    identifier: str | None,
    *,
    wait: int,
    seen: str | None,
    dry: bool,
    run: Run,
    confirmed: str | None = None,
    observed: str | None = None,
    losses: str = "",
    problem: str = "",
    acknowledges: bool = True,
) -> Json:
    """What the module C(node_transaction) returns. confirmed: the id of a transaction that is confirmed before. observed: of one that was observed, with
    these losses. problem: why one that stands does not count as verified. acknowledges: whether its outcome counts as reported with this."""
    if not is_pod_name(name):
        raise KubeadmError(f"invalid name {name!r}: must be kubelet or the name of a static pod.")
    for option, value in (("id", identifier), ("confirm", confirmed), ("observed", observed)):
        if value is not None and not is_transaction_id(value):
            raise KubeadmError(f"invalid {option} {value!r}: must be the id of a transaction.")
    answer = None
    if confirmed is not None:
        answer = _Answer(confirmed, CONFIRMING, "confirm: true", CONFIRMED, f"{confirmed}\n".encode("ascii"))
    elif observed is not None:
        content = to_json({"id": observed, "losses": losses})
        answer = _Answer(observed, OBSERVING, "observation_timeout", OBSERVED, content)
    if confirmed is not None and observed is not None:
        raise KubeadmError("confirm and observed exclude each other: a transaction waits for one of them at a time.")
    result: Json = {"name": name, "changed": answer is not None and _give(name, answer, dry=dry)}
    identifier = result["id"] = confirmed or observed or identifier or _latest_id(name)
    if identifier is None:
        return {**result, "phase": None, "message": "there was no transaction", "running": False, "transaction": None}
    try:
        ended, phase, message = follow(
            name, identifier, seconds=wait, seen=seen, clock=time.monotonic, sleep=time.sleep
        )
    except Unusable as exc:
        # A running engine has read its journal before; without one, what was in it is lost.
        running = is_active(name, run)
        alarm = None if running else _alarm_outcome(identifier, str(exc))
        return {**result, "phase": None, "message": str(exc), "running": running, "transaction": alarm}
    if ended is not None and problem and not dry:
        set_problem(name, identifier, problem)
    elif ended is not None and acknowledges and not dry:
        # On a full disk the outcome is reported all the same, and once more by the next run.
        with contextlib.suppress(OSError):
            set_reported(name, identifier)
    running = ended is None and is_active(name, run)
    return {**result, "phase": phase, "message": message, "running": running, "transaction": ended}


def _alarm_outcome(identifier: str, problem: str) -> Json:
    return {
        **dict.fromkeys(_UNKNOWN),
        "id": identifier,
        "outcome": ALARM,
        "reason": problem,
        "notes": [],
        "log": [],
    }


class _Answer(t.NamedTuple):
    """What an engine waits for in a phase: the content of a file beside its journal. option: which makes it wait."""

    identifier: str
    phase: str
    option: str
    file: str
    content: bytes


def _give(name: str, answer: _Answer, *, dry: bool) -> bool:
    """Give the engine the answer that it waits for. Returns whether it had none. One that comes after the end changes nothing.

    Raises KubeadmError when the transaction is not known, or does not wait for it.
    """
    journal = open_journal(name)
    if journal is None or journal["id"] != answer.identifier:
        if answer.identifier in ended_ids(name):
            return False
        raise _unknown_error(name, answer.identifier)
    if journal["phase"] != answer.phase:
        late = journal["phase"] in (ROLLING_BACK, VERIFYING)
        what = "confirmation" if answer.phase == CONFIRMING else "observation"
        advice = (
            f"The change is being rolled back, because it did not become healthy or there was no {what} in time"
            if late
            else f"It waits for one in phase {answer.phase}, which exists only with {answer.option}"
        )
        raise KubeadmError(
            f"transaction {answer.identifier} of {name} on {os.uname().nodename} waits for no {what}: it is in phase"
            f" {journal['phase']}. {advice}."
        )
    path = os.path.join(state_directory(name), answer.file)
    if read_bytes(path) == answer.content:
        return False
    if not dry:
        write_atomically(path, answer.content, mode=0o600, uid=0, gid=0)
    return True


def _unknown_error(name: str, identifier: str) -> KubeadmError:
    return KubeadmError(f"transaction {identifier} of {name} is not known on {os.uname().nodename}.")


def _latest_id(name: str) -> str | None:
    journal = open_journal(name)
    return str(journal["id"]) if journal else next(reversed(ended_ids(name)), None)
