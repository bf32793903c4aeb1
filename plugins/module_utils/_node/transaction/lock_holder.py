# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which process holds the lock of a component, as the kernel reports it, also of one that wrote nothing yet."""

from __future__ import annotations

import datetime
import os
import re
import typing as t

from ..._engine.node import NODE, Host, list_dir


def requester_of(environment: t.Mapping[str, str]) -> str:
    """Who started a process with this environment: the address of the SSH connection, or else the user."""
    return environment.get("SSH_CLIENT", "").split(" ")[0] or environment.get("SUDO_USER", "") or "this host"


def describe_holder(path: str, host: Host = NODE) -> str:
    """Which process holds the lock of a file, since when it runs and who started it; empty where that cannot be read."""
    try:
        pid = _holder_pid(path, host.proc)
        started = None if pid is None else host.read_start_time(pid)
        if started is None:
            return ""
        since = datetime.datetime.fromtimestamp(started, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"process {pid}, running since {since}, started from {requester_of(_environment(pid, host.proc))}"
    except OSError:  # it has just ended
        return ""


def _holder_pid(path: str, proc: str) -> int | None:
    """The process that the kernel names. An inode may be that of another file system, so the process has to have this file open."""
    inode = os.stat(path).st_ino
    with open(os.path.join(proc, "locks"), encoding="ascii", errors="replace") as stream:
        pids = re.findall(rf"^\d+: FLOCK +\w+ +\w+ (\d+) [0-9a-f]+:[0-9a-f]+:{inode} ", stream.read(), re.MULTILINE)
    return next((int(pid) for pid in pids if _has_open(path, os.path.join(proc, pid, "fd"))), None)


def _has_open(path: str, directory: str) -> bool:
    status = os.stat(path)
    return any(_is_same(os.path.join(directory, name), status) for name in list_dir(directory))


def _is_same(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), status)
    except FileNotFoundError:  # closed meanwhile
        return False


def _environment(pid: int | None, proc: str) -> dict[str, str]:
    with open(os.path.join(proc, str(pid), "environ"), encoding="utf-8", errors="replace") as stream:
        return dict(entry.split("=", 1) for entry in stream.read().split("\0") if "=" in entry)
