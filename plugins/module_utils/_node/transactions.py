# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The module's side of a transaction: write its journal, start its engine as a service, read how it goes."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import typing as t

from .._engine import program
from .._engine.errors import EngineError, LockHeld
from .._engine.files import (
    LOCK,
    Json,
    locked,
    make_folder,
    read_bytes,
    read_json,
    sync_folder,
    write_atomically,
    write_json,
)
from .._engine.journal import (
    ALARM,
    CONFIRMED,
    CONFIRMING,
    PREPARED,
    Journal,
    copies_of,
    drop_journal,
    history_ids,
    last_known_good,
    load_journal,
    result_of,
    save_journal,
)
from .._engine.transaction import RESTORE_SECONDS, REVIVAL_SECONDS
from .._plan.common.errors import Busy, KubeadmError
from .._plan.common.names import is_pod_name, is_transaction_id
from . import lock_holder, space
from .source import zipapp_of
from .state import STATE_DIR, Run, Unusable, state_folder, told

UNIT = "nodecraft-kubeadm@{name}.service"
# An engine that has just filed its journal away, or a check of another run, is done in a moment.
_LOCK_SECONDS = 5.0
# Between two looks at what the engine says: two small files, and somebody waits for them.
_NEWS_SECONDS = 0.1
# Between two looks at whether an engine is at work at all, and how often in a row it may not be: systemd needs a moment.
_ROUND_SECONDS = 2.0
_MAX_IDLE = 3
# What nobody knows of a transaction whose journal cannot be read.
_UNKNOWN = (
    "takes_back",
    "healthy",
    "ended",
    "seconds",
    "restart_seconds",
    "outage_seconds",
    "proof",
    "confirmed",
)
_ADVICE = "Run again when it is done; a task with lock_timeout waits for it."
# Where the lock of the whole node is: no component is called like that.
_NODE = ".node"
_UNIT_FILE = "/etc/systemd/system/nodecraft-kubeadm@.service"
_UNIT_TEXT = """\
# Written by the Ansible collection nodecraft.kubeadm.
[Unit]
Description=Change of %i by nodecraft.kubeadm
ConditionPathExists=|{state}/%i/journal.json
ConditionPathExists=|{state}/%i/backup/journal.json
StartLimitIntervalSec=0
# At boot it goes on with what is open, beside the kubelet that it may have to start anew.
Before=kubelet.service

[Service]
Type=exec
ExecStart={python} -I {state}/%i/engine.pyz {state}/%i
Restart=on-failure
# Only systemctl stop and a shutdown end it before its transaction; systemd takes these signals for a clean end.
RestartForceExitStatus=SIGHUP SIGINT SIGPIPE SIGTERM
RestartSec=5
RestartPreventExitStatus={stuck}
UMask=0077

[Install]
WantedBy={target}
"""
_TARGET = "multi-user.target"


# ---- starting --------------------------------------------------------------------------------------------------------


def start(journal: Journal, *, run: Run) -> None:
    """Put the journal on disk and start the engine as a service of the node; from here on it needs nobody.

    Call with the lock. Raises Busy when another component of the node is being changed, KubeadmError when there is no room, or
    systemd does not start the engine; nothing was changed then.
    """
    name = journal["name"]
    folder = state_folder(_NODE)
    make_folder(folder)
    with _locked(folder, _busy_node):
        refuse_beside_another(name, run=run)
        if open_journal(name) is not None:  # begun, and stopped, since this run looked
            raise Busy(_busy(name))
        _begin(journal, run)


def _begin(journal: Journal, run: Run) -> None:
    folder = state_folder(journal["name"])
    space.require_room(journal, folder)
    _write_unit(run)
    _enable(journal["name"])
    write_atomically(os.path.join(folder, "engine.pyz"), zipapp_of(program), mode=0o600, uid=0, gid=0)
    try:
        save_journal(folder, journal)
        _start_unit(journal["name"], run)
    except (OSError, KubeadmError):
        with contextlib.suppress(OSError):  # what stays of it, the next run drops
            drop_journal(folder)
        raise


def _start_unit(name: str, run: Run) -> None:
    status, dummy, error = run(["systemctl", "start", "--no-block", UNIT.format(name=name)])
    if status != 0:
        raise KubeadmError(
            f"systemd on {os.uname().nodename} does not start {UNIT.format(name=name)}: {error.strip()}. No file was changed."
        )


def _write_unit(run: Run) -> None:
    # Of a virtual environment, the interpreter below it: the service must not vanish with the environment. It runs this
    # very code, so its version is right.
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    wanted = _UNIT_TEXT.format(python=python, state=STATE_DIR, stuck=program.STUCK, target=_TARGET).encode("utf-8")
    if read_bytes(_UNIT_FILE) != wanted:
        write_atomically(_UNIT_FILE, wanted, mode=0o644, uid=0, gid=0)
        run(["systemctl", "daemon-reload"], check_rc=True)


def _enable(name: str) -> None:
    """Have the engine started at boot; without an open journal that does nothing. systemctl enable would make the same link, and
    have systemd read all its units again each time."""
    link = os.path.join(os.path.dirname(_UNIT_FILE), f"{_TARGET}.wants", UNIT.format(name=name))
    make_folder(os.path.dirname(link), 0o755)
    if not os.path.islink(link):
        os.symlink(_UNIT_FILE, link)
    sync_folder(os.path.dirname(link))


@contextlib.contextmanager
def exclusive(name: str, *, dry: bool, seconds: float | None = None) -> t.Iterator[None]:
    """Keep engines and other runs out while a change is read, planned and prepared.

    dry: leave no trace on a node that never had a transaction. seconds: how long the lock is tried for, when not for a moment.
    Raises Busy when somebody is at work.
    """
    folder = state_folder(name)
    if dry and not os.path.isdir(folder):
        yield
        return
    if not dry:
        make_folder(folder)
    with _locked(folder, lambda: _busy(name), seconds):
        yield


def refuse_others(name: str, *, run: Run) -> None:
    """See that a change of this component could be prepared at this moment.

    Raises Busy with the run or the engine that is at work on the node, Unusable for a journal that cannot be read.
    """
    refuse_beside_another(name, run=run)
    with exclusive(name, dry=True, seconds=0):
        left_open(name, run)


@contextlib.contextmanager
def _locked(folder: str, busy: t.Callable[[], str], seconds: float | None = None) -> t.Iterator[None]:
    """Hold a folder's lock. busy: what to say when another process keeps it."""
    patience = _LOCK_SECONDS if seconds is None else seconds
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(folder, seconds=patience, clock=time.monotonic, sleep=time.sleep))
        except LockHeld as exc:
            raise Busy(busy()) from exc
        yield


def refuse_beside_another(name: str, *, run: Run) -> None:
    """Two components of a node are not changed at once: while the kubelet is away, no static pod is started anew, and the other
    change would be restored for nothing. Raises Busy with the one that is at work."""
    try:
        names = sorted(os.listdir(os.path.dirname(state_folder(name))))
    except FileNotFoundError:  # there never was a transaction
        return
    for other in names:
        if other != name and is_pod_name(other) and _may_be_open(other) and _is_active(other, run):
            raise Busy(_busy(other))


def _may_be_open(name: str) -> bool:
    with contextlib.suppress(Unusable):  # its engine may be at work with what it has read
        return open_journal(name) is not None
    return True


def longest_seconds(journal: Journal) -> int:
    """How long a transaction can take, with a restore."""
    wait, ready = int(journal["wait_timeout"]), int(journal["min_ready_seconds"])
    restore = max(wait, RESTORE_SECONDS) + REVIVAL_SECONDS
    return wait + restore + 2 * ready + int(journal.get("confirm_timeout") or 0)


def _busy_node() -> str:
    return f"another run begins a change on {os.uname().nodename} at this moment{_holder(_NODE)}. {_ADVICE}"


def _busy(name: str) -> str:
    journal = None
    with contextlib.suppress(Unusable):
        journal = open_journal(name)
    if journal is None:
        return (
            f"another run prepares a change of {name} on {os.uname().nodename} at this moment{_holder(name)}. {_ADVICE}"
        )
    return (
        f"a change of {name} on {os.uname().nodename} is open: transaction {journal['id']}, asked for from"
        f" {journal['requested']['from']} at {journal['requested']['at']}, phase {journal['phase']}. It ends by itself, with a"
        f" commit or a restore, at most about {longest_seconds(journal)} s after it began. {_ADVICE}"
    )


def _holder(name: str) -> str:
    holder = lock_holder.describe(os.path.join(state_folder(name), LOCK))
    return f": {holder}" if holder else ""


# ---- reading -----------------------------------------------------------------------------------------------------------


def open_journal(name: str) -> Journal | None:
    """The journal of the open transaction; None when there is none. Raises Unusable."""
    with told():
        return load_journal(state_folder(name))[0]


def closed_journal(name: str, identifier: str) -> Journal | None:
    """The journal of a transaction that ended; None when it is not known. Raises Unusable."""
    with told():
        return load_journal(state_folder(name), identifier)[0]


def history(name: str) -> list[str]:
    """The ids of the transactions that ended, oldest first."""
    return history_ids(state_folder(name))


def outcome(journal: Journal) -> Json:
    """What a result says of a closed transaction: no file contents."""
    return {
        "id": journal["id"],
        "requested": journal["requested"],
        "takes_back": journal.get("takes_back"),
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


def summary(name: str) -> Json:
    """What an info module says of a component's transactions."""
    return {
        "open_transaction": describe_open(name),
        "last_transaction": last(name),
        "last_known_good": last_known_good(state_folder(name)),
        "unreadable_journals": _unreadable(name),
    }


def _unreadable(name: str) -> list[str]:
    """What is wrong with each journal of which no copy can be used, the open one first."""
    problems = (_problem(name, identifier) for identifier in (None, *history(name)))
    return [problem for problem in problems if problem]


def _problem(name: str, identifier: str | None) -> str | None:
    try:
        with told():
            load_journal(state_folder(name), identifier)
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


# ---- recovery at the next run ------------------------------------------------------------------------------------------


def recover(name: str, *, run: Run) -> str | None:
    """Take up a transaction that an earlier run left open and whose engine is not at work.

    Returns the id of a transaction whose engine was started again and has to be waited for; None when nothing is open
    any more. A journal whose engine was never started is dropped: nothing was written yet, and its wish may be stale.
    Raises Busy when an engine is at work, Unusable for a journal that cannot be read: it is left as it is.
    """
    with exclusive(name, dry=False):
        journal = left_open(name, run)
        if journal is None:
            return None
        if journal["phase"] == PREPARED:
            drop_journal(state_folder(name))
            return None
    _start_unit(name, run)
    return str(journal["id"])


def left_open(name: str, run: Run) -> Journal | None:
    """The open journal of an engine that is not at work: it was stopped, or the node was started anew. Call with the lock.

    Raises Busy when systemd is about to start that engine, Unusable for a journal that cannot be read.
    """
    journal = open_journal(name)
    if journal is not None and _is_active(name, run):
        raise Busy(_busy(name))
    return journal


def _is_active(name: str, run: Run) -> bool:
    """Whether the engine is at work, or systemd is about to start it."""
    return run(["systemctl", "is-active", UNIT.format(name=name)])[1].strip() in ("active", "activating", "reloading")


# ---- following ---------------------------------------------------------------------------------------------------------


def progress(name: str, journal: Journal) -> tuple[str, str]:
    """(phase, message) of an open transaction, for people. News that a power loss took leave what the journal says."""
    news = _hint(name, "progress.json")
    if news.get("id") == journal["id"]:
        return news["phase"], news["message"]
    return journal["phase"], "starting"


def _hint(name: str, file: str) -> Json:
    """What a file says that is for people only: nothing when it is not there, or damaged by a power loss."""
    try:
        hint = read_json(os.path.join(state_folder(name), file))
    except EngineError:
        return {}
    return hint if isinstance(hint, dict) else {}


def follow(
    name: str,
    identifier: str,
    *,
    seconds: float,
    seen: str,
    clock: t.Callable[[], float],
    sleep: t.Callable[[float], None],
) -> tuple[Json | None, str, str]:
    """Wait until a transaction ends or has other news than C(seen), for so many seconds at most.

    Returns (its outcome or None while it is open, phase, message). Raises KubeadmError for an unknown transaction, Unusable
    for one whose journal cannot be read.
    """
    limit = clock() + seconds
    while True:
        current = open_journal(name)
        if current is None or current["id"] != identifier:
            # Asked in this order: a transaction that ends between the two questions is found by the second.
            closed = closed_journal(name, identifier)
            if closed is None:
                raise _unknown(name, identifier)
            return outcome(closed), closed["phase"], result_of(closed)["outcome"]
        phase, message = progress(name, current)
        if message != seen or clock() >= limit:
            return None, phase, message
        sleep(_NEWS_SECONDS)


def wait_for_end(
    name: str, identifier: str, *, run: Run, clock: t.Callable[[], float], sleep: t.Callable[[float], None]
) -> Json:
    """Wait for the outcome of a transaction that was taken up again.

    Raises KubeadmError when its engine is not at work, or takes longer than it can take.
    """
    journal = open_journal(name)
    limit = clock() + (longest_seconds(journal) if journal else 0)
    idle, seen = 0, ""
    while True:
        ended, dummy, seen = follow(name, identifier, seconds=_ROUND_SECONDS, seen=seen, clock=clock, sleep=sleep)
        if ended is not None:
            return ended
        idle = 0 if _is_active(name, run) else idle + 1
        if idle > _MAX_IDLE or clock() >= limit:
            raise KubeadmError(
                f"transaction {identifier} of {name} on {os.uname().nodename} does not end. Ask systemctl status"
                f" {UNIT.format(name=name)} on the node why. When its journal is damaged, move both copies away once the component"
                f" runs what it should: {' and '.join(copies_of(state_folder(name)))}."
            )


def report_progress(
    name: str, identifier: str | None, *, wait: int, seen: str, dry: bool, run: Run, confirmed: str | None = None
) -> Json:
    """What the module C(node_transaction) returns. confirmed: the id of a transaction that is confirmed before."""
    if not is_pod_name(name):
        raise KubeadmError(f"name: {name!r} is neither kubelet nor the name of a static pod.")
    for option, value in (("id", identifier), ("confirm", confirmed)):
        if value is not None and not is_transaction_id(value):
            raise KubeadmError(f"{option}: {value!r} is no id of a transaction.")
    if confirmed is not None:
        _confirm(name, confirmed, dry=dry)
    identifier = confirmed or identifier or _latest(name)
    if identifier is None:
        return {
            "name": name,
            "phase": None,
            "message": "there was no transaction",
            "running": False,
            "transaction": None,
        }
    try:
        ended, phase, message = follow(
            name, identifier, seconds=wait, seen=seen, clock=time.monotonic, sleep=time.sleep
        )
    except Unusable as exc:
        return _told_by_nobody(name, identifier, str(exc), running=_is_active(name, run))
    if ended is not None and not dry:
        # On a full disk the outcome is told all the same, and once more by the next run.
        with contextlib.suppress(OSError):
            mark_followed(name, identifier)
    running = ended is None and _is_active(name, run)
    return {"name": name, "phase": phase, "message": message, "running": running, "transaction": ended}


def _told_by_nobody(name: str, identifier: str, problem: str, *, running: bool) -> Json:
    """A journal that cannot be read: an engine at work knows what is in it, but without one nobody does any more."""
    alarm: Json = {
        **dict.fromkeys(_UNKNOWN),
        "id": identifier,
        "requested": None,
        "outcome": ALARM,
        "reason": problem,
        "notes": [],
        "log": [],
    }
    return {
        "name": name,
        "phase": None,
        "message": problem,
        "running": running,
        "transaction": None if running else alarm,
    }


def _confirm(name: str, identifier: str, *, dry: bool) -> None:
    """Give the engine the word from outside that it waits for. One that comes after the end changes nothing.

    Raises KubeadmError when the transaction is not known, or does not wait for it.
    """
    journal = open_journal(name)
    if journal is None or journal["id"] != identifier:
        if identifier in history(name):
            return
        raise _unknown(name, identifier)
    if journal["phase"] != CONFIRMING:
        raise KubeadmError(
            f"transaction {identifier} of {name} on {os.uname().nodename} waits for no confirmation: it is in phase"
            f" {journal['phase']}. Confirm it in phase {CONFIRMING}, which there is only with confirm: true."
        )
    if not dry:
        path = os.path.join(state_folder(name), CONFIRMED)
        write_atomically(path, f"{identifier}\n".encode("ascii"), mode=0o600, uid=0, gid=0)


def _unknown(name: str, identifier: str) -> KubeadmError:
    return KubeadmError(f"transaction {identifier} of {name} is not known on {os.uname().nodename}.")


def _latest(name: str) -> str | None:
    journal = open_journal(name)
    return str(journal["id"]) if journal else next(reversed(history(name)), None)


def mark_followed(name: str, identifier: str) -> None:
    """Note that somebody was told how a transaction ended."""
    write_json(os.path.join(state_folder(name), "followed.json"), {"id": identifier})


def unreported(name: str) -> Json | None:
    """The outcome of the last transaction when nobody was told of it. Raises Unusable."""
    ids = history(name)
    if not ids or _hint(name, "followed.json").get("id") == ids[-1]:
        return None
    return _last(name)
