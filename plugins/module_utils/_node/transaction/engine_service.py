# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module's side of a transaction: write its journal, start its engine as a service, wait for its end."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import typing as t

from ..._engine import program
from ..._engine.canary import SECONDS_BEFORE
from ..._engine.engine_errors import LockBusy
from ..._engine.files import LOCK, Json, locked, make_directory, read_bytes, sync_directory, write_atomically
from ..._engine.health_waiter import RESTART_GRACE, RESTORE_TIMEOUT
from ..._engine.journal import PREPARED, Journal, PlannedObservation, copies_of, remove_journal, save_journal
from ..._engine.observations import LOSS_SECONDS
from ..._plan.common.errors import Busy, KubeadmError
from ..._plan.common.identifiers import is_pod_name
from . import disk_space, lock_holder
from .engine_source import zipapp_of
from .journal_history import UNIT, is_active, open_journal
from .state import STATE_DIR, Run, Unusable, state_directory
from .transaction_progress import follow

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module starts again with a Python that has it

# An engine that has just closed its journal, or a check of another run, ends within this time.
_LOCK_TIMEOUT = 5.0
# Between two checks whether an engine runs at all, and how often in a row it may not: systemd needs a moment.
_FOLLOW_SECONDS = 2.0
_MAX_INACTIVE = 3
_ADVICE = "Run again when it is done; a task with lock_timeout waits for it."
# Where the lock of the whole node is: no component is called like that.
_NODE = ".node"
_UNIT_FILE = "/etc/systemd/system/nodecraft-kubeadm@.service"
# systemd counts no starts: the engine does (MAX_ATTEMPTS), and one that meets the lock of another run is started until it gets it.
_UNIT_TEXT = """\
# Written by the Ansible collection nodecraft.kubeadm.
[Unit]
Description=Change of %i by nodecraft.kubeadm
ConditionPathExists=|{state}/%i/journal.json
ConditionPathExists=|{state}/%i/backup/journal.json
StartLimitIntervalSec=0
# At boot it continues what is open, beside the kubelet that it may have to restart.
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


def start_engine(journal: Journal, *, run: Run) -> None:
    """Put the journal on disk and start the engine as a service of the node; from here on it needs no controller.

    Call with the lock. Raises Busy when another component of the node is being changed, KubeadmError when there is no room, or
    systemd does not start the engine; nothing was changed then.
    """
    name = journal["name"]
    directory = state_directory(_NODE)
    make_directory(directory)
    with _lock(directory, _busy_node_message):
        refuse_busy_node(name, run=run)
        if open_journal(name) is not None:  # started, and stopped, since this run checked
            raise Busy(_busy_message(name))
        _prepare_and_start(journal, run)


def _prepare_and_start(journal: Journal, run: Run) -> None:
    directory = state_directory(journal["name"])
    disk_space.require_space(journal, directory)
    _write_unit(run)
    _enable_at_boot(journal["name"])
    write_atomically(os.path.join(directory, "engine.pyz"), zipapp_of(program, yaml), mode=0o600, uid=0, gid=0)
    try:
        # The last file: with it a boot starts the unit, too.
        save_journal(directory, journal)
        _start_unit(journal["name"], run)
    except (OSError, KubeadmError):
        with contextlib.suppress(OSError):  # what stays of it, the next run drops
            remove_journal(directory)
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
    text = _UNIT_TEXT.format(python=python, state=STATE_DIR, stuck=program.STUCK, target=_TARGET).encode("utf-8")
    if read_bytes(_UNIT_FILE) != text:
        write_atomically(_UNIT_FILE, text, mode=0o644, uid=0, gid=0)
        run(["systemctl", "daemon-reload"], check_rc=True)


def _enable_at_boot(name: str) -> None:
    """Have the engine started at boot; without an open journal that does nothing. systemctl enable would make the same link, and
    have systemd read all its units again each time."""
    link = os.path.join(os.path.dirname(_UNIT_FILE), f"{_TARGET}.wants", UNIT.format(name=name))
    make_directory(os.path.dirname(link), 0o755)
    if not os.path.islink(link):
        os.symlink(_UNIT_FILE, link)
    sync_directory(os.path.dirname(link))


@contextlib.contextmanager
def hold_lock(name: str, *, dry: bool, seconds: float | None = None) -> t.Iterator[None]:
    """Keep engines and other runs out while a change is read, planned and prepared.

    dry: leave no trace on a node that never had a transaction. seconds: how long the lock is tried for, when not for _LOCK_TIMEOUT.
    Raises Busy when a transaction or another run has the lock.
    """
    directory = state_directory(name)
    if dry and not os.path.isdir(directory):
        yield
        return
    if not dry:
        make_directory(directory)
    with _lock(directory, lambda: _busy_message(name), seconds):
        yield


def refuse_busy_component(name: str, *, run: Run) -> None:
    """Refuse a component that cannot be changed at this moment.

    Raises Busy with the run or the engine that is active on the node, Unusable for a journal that cannot be read.
    """
    refuse_busy_node(name, run=run)
    with hold_lock(name, dry=True, seconds=0):
        read_stopped_journal(name, run)


@contextlib.contextmanager
def _lock(directory: str, busy_message: t.Callable[[], str], seconds: float | None = None) -> t.Iterator[None]:
    """Hold a directory's lock. busy_message: for when another process has it."""
    timeout = _LOCK_TIMEOUT if seconds is None else seconds
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(directory, seconds=timeout, clock=time.monotonic, sleep=time.sleep))
        except LockBusy as exc:
            raise Busy(busy_message()) from exc
        yield


def refuse_busy_node(name: str, *, run: Run) -> None:
    """Two components of a node are not changed at once: while the kubelet is away, no static pod is restarted, and the other
    change would be rolled back for nothing. Raises Busy with the one that is active."""
    try:
        names = sorted(os.listdir(os.path.dirname(state_directory(name))))
    except FileNotFoundError:  # there never was a transaction
        return
    for other in names:
        if other != name and is_pod_name(other) and _may_be_open(other) and is_active(other, run):
            raise Busy(_busy_message(other))


def _may_be_open(name: str) -> bool:
    with contextlib.suppress(Unusable):  # its engine may go on with what it has read
        return open_journal(name) is not None
    return True


def longest_seconds(journal: Journal) -> int:
    """How long a transaction can take, with a restore."""
    wait, ready = int(journal["wait_timeout"]), int(journal["min_ready_seconds"])
    restore = max(wait, RESTORE_TIMEOUT) + RESTART_GRACE
    awaited = (journal.get("confirm_timeout") or 0) + (journal.get("observation_timeout") or 0)
    return wait + restore + 2 * ready + int(awaited) + _longest_observations(journal["watch"].get("observations", ()))


def _longest_observations(planned: t.Iterable[PlannedObservation]) -> int:
    """Seconds for what is observed before the change, behind it, and behind a restore. Only a canary has seconds of its own."""
    canaries = [each["seconds"] for each in planned if "seconds" in each]
    return int(2 * LOSS_SECONDS + sum(SECONDS_BEFORE + 2 * seconds for seconds in canaries))


def _busy_node_message() -> str:
    return f"another run begins a change on {os.uname().nodename} at this moment{_holder_message(_NODE)}. {_ADVICE}"


def _busy_message(name: str) -> str:
    journal = None
    with contextlib.suppress(Unusable):
        journal = open_journal(name)
    if journal is None:
        return f"another run prepares a change of {name} on {os.uname().nodename} at this moment{_holder_message(name)}. {_ADVICE}"
    return (
        f"a change of {name} on {os.uname().nodename} is open: transaction {journal['id']}, started from"
        f" {journal['requested']['from']} at {journal['requested']['at']}, phase {journal['phase']}. It ends by itself, with a"
        f" commit or a rollback, at most about {longest_seconds(journal)} s after it began. {_ADVICE}"
    )


def _holder_message(name: str) -> str:
    holder = lock_holder.describe_holder(os.path.join(state_directory(name), LOCK))
    return f": {holder}" if holder else ""


# ---- recovery at the next run ------------------------------------------------------------------------------------------


def resume_transaction(name: str, *, run: Run) -> str | None:
    """Resume a transaction that an earlier run left open and whose engine does not run.

    Returns the id of a transaction whose engine was started again and has to be waited for; None when nothing is open
    any more. A journal whose engine was never started is dropped: nothing was written yet, and its desired state may be stale.
    Raises Busy when an engine runs, Unusable for a journal that cannot be read: it is left as it is.
    """
    with hold_lock(name, dry=False):
        journal = read_stopped_journal(name, run)
        if journal is None:
            return None
        if journal["phase"] == PREPARED:
            remove_journal(state_directory(name))
            return None
    _start_unit(name, run)
    return str(journal["id"])


def read_stopped_journal(name: str, run: Run) -> Journal | None:
    """The open journal of an engine that does not run: it was stopped, or the node was restarted. Call with the lock.

    Raises Busy when systemd is about to start that engine, Unusable for a journal that cannot be read.
    """
    journal = open_journal(name)
    if journal is not None and is_active(name, run):
        raise Busy(_busy_message(name))
    return journal


def wait_for_end(
    name: str, identifier: str, *, run: Run, clock: t.Callable[[], float], sleep: t.Callable[[float], None]
) -> Json:
    """Wait for the outcome of a transaction that was resumed.

    Raises KubeadmError when its engine does not run, or takes longer than it can take.
    """
    journal = open_journal(name)
    limit = clock() + (longest_seconds(journal) if journal else 0)
    inactive, seen = 0, ""
    while True:
        ended, dummy, seen = follow(name, identifier, seconds=_FOLLOW_SECONDS, seen=seen, clock=clock, sleep=sleep)
        if ended is not None:
            return ended
        inactive = 0 if is_active(name, run) else inactive + 1
        if inactive > _MAX_INACTIVE or clock() >= limit:
            raise KubeadmError(
                f"transaction {identifier} of {name} on {os.uname().nodename} does not end. Check systemctl status"
                f" {UNIT.format(name=name)} on the node. When its journal is damaged, move both copies away once the component"
                f" runs as desired: {' and '.join(copies_of(state_directory(name)))}."
            )
