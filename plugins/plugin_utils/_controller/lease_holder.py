# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name of a run as holder of a Lease, whether the run of such a name has ended, and the action plugin that displays whom a run waits for.

The name has the user and the machine, for people, and the process, by which another run on this machine knows that the run has ended: one that was
killed releases nothing.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import re
import typing as t
from pathlib import Path

from ...module_utils._plan.transaction import lease
from . import run_key
from .api_credentials import ApiCredentials
from .lock_waiter import show_progress

_CHARACTERS = 8
_NAME = re.compile(r".*@(?P<machine>[^/]*)/[0-9a-f]+-(?P<pid>[0-9]+)-(?P<start>[0-9]+)-(?P<scope>[0-9a-f]+)")
_PROC = "/proc"
_INIT = 1


class _Process(t.NamedTuple):
    """A process. session: as a number. start: in ticks since the machine was started."""

    is_dead: bool
    parent: int
    session: int
    start: int

    @property
    def is_adopted(self) -> bool:
        """Whether the process that forked it has ended, as far as can be seen: it is the child of the first process, or of one of another session."""
        parent = _read_process(self.parent)
        return self.parent == _INIT or parent is None or parent.session != self.session


def holder_name() -> str:
    """The name of this run on a Lease, in all its passes."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number that has no name; which error it is depends on Python
        user = str(os.getuid())
    run = run_key.digest("the name of this run")[:_CHARACTERS]
    # Ansible forks the process of a task from that of the run.
    process, scope = _read_process(os.getppid()), _process_scope()
    process_suffix = f"-{os.getppid()}-{process.start}-{scope}" if process and scope else ""
    return f"{user}@{os.uname().nodename}/{run}{process_suffix}"


def is_gone(name: str) -> bool:
    """Whether the run that holds a Lease by this name was one of this machine, since it was started, and has ended with all its tasks."""
    found = _NAME.fullmatch(name)
    if found is None or found.group("machine") != os.uname().nodename or found.group("scope") != _process_scope():
        return False
    pid, start = int(found.group("pid")), int(found.group("start"))
    process = _read_process(pid)
    if process is None and _process_exists(pid):  # it is hidden from this user
        return False
    if process is not None and process.start == start and not process.is_dead:
        return False
    return not _has_orphans(start)


def _process_scope() -> str:
    """A digest of the boot and the PID namespace in which a process id is unique. Empty where they are not known."""
    try:
        boot = Path(_PROC, "sys/kernel/random/boot_id").read_text(encoding="ascii")
        return hashlib.sha256(f"{boot}{os.readlink(f'{_PROC}/self/ns/pid')}".encode()).hexdigest()[:_CHARACTERS]
    except OSError:
        return ""


def _read_process(pid: int) -> _Process | None:
    try:
        text = Path(_PROC, str(pid), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # of proc(5), from the third on: a name may have blanks
    return _Process(fields[0] in "ZX", int(fields[1]), int(fields[3]), int(fields[19]))


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        pass
    return True


def _has_orphans(start: int) -> bool:
    """Whether a process of Ansible runs without the one that forked it, as the task of a run that was killed does until it ends. start: of
    the run. One of another run counts, too: then the Lease is waited for. A live run of something else does not: seen with plays that others ran on
    the same machine, which kept a dead run's Lease for all of its time."""
    for pid in map(int, filter(str.isdigit, os.listdir(_PROC))):
        process = _read_process(pid) if pid not in (os.getpid(), os.getppid()) and _is_of_ansible(pid) else None
        is_later = process and not process.is_dead and process.start >= start
        if process and is_later and not _is_of_ansible(process.parent) and process.is_adopted:
            return True
    return False


def _is_of_ansible(pid: int) -> bool:
    try:
        arguments = Path(_PROC, str(pid), "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return False
    return any(re.fullmatch("ansible(-.*)?", os.path.basename(argument)) for argument in arguments[:3])


Json = dict[str, t.Any]


class LeaseWaiter(ApiCredentials):
    """Requests the Lease without waiting, and once more when another run holds it: a module prints nothing before its end."""

    def _run_module(self, arguments: Json, task_vars: Json) -> Json:
        if self._task.async_val:  # the result comes later, and nothing is displayed
            return super()._run_module(arguments, task_vars)
        result = super()._run_module({**arguments, "wait_timeout": 0}, task_vars)
        if result.get("busy") and is_gone(result["holder"]):
            arguments = {**arguments, "gone": result["holder"]}
            result = super()._run_module({**arguments, "wait_timeout": 0}, task_vars)
        timeout = arguments.get("wait_timeout", lease.WAIT_TIMEOUT)
        if not result.get("busy") or str(timeout) == "0":
            return result
        host, name = task_vars.get("inventory_hostname"), arguments.get("name", lease.LEASE_NAME)
        show_progress(f"{host}: waits up to {timeout} s for {result['holder']}, which holds the Lease {name}", 0)
        return super()._run_module(arguments, task_vars)
