# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of Ansible that are followed while they run, and that end when this program is interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import typing as t
from pathlib import Path

Json = dict[str, t.Any]

MARK = "\x1e"  # each event of lab/callback/lab_events.py begins with it
STOP_TIMEOUT = 15  # seconds that a run has to end by itself
START_TIME = 19  # the field of /proc/PID/stat, counted from the one after the name
EVENTS = {
    "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).resolve().parent / "callback"),
    "ANSIBLE_CALLBACKS_ENABLED": "lab_events",
    # The ansible command uses callbacks only with this setting.
    "ANSIBLE_LOAD_CALLBACK_PLUGINS": "true",
}


def run_ansible(
    command: t.Sequence[str],
    *,
    cwd: Path,
    env: t.Mapping[str, str],
    stdout: t.IO[str] | None,
    on_event: t.Callable[[Json], None],
    on_line: t.Callable[[str], None],
    on_start: t.Callable[[subprocess.Popen[str]], None] | None = None,
    inherits: t.Collection[int] = (),
) -> int:
    """Run Ansible; returns its status. inherits: descriptors that it has open as well. on_start: gets the process.

    on_event and on_line: get its events and the other lines of its standard error at once, and those of its standard output
    when stdout is None.
    """
    # A session of its own: Ctrl-C reaches this program alone, which then ends the run in order.
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**env, **EVENTS},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.STDOUT if stdout is None else subprocess.PIPE,
        text=True,
        start_new_session=True,
        pass_fds=inherits,
    )
    try:
        if on_start is not None:
            on_start(process)
        for line in t.cast("t.IO[str]", process.stderr or process.stdout):
            event = read_event(line)
            if event is None:
                on_line(line.rstrip("\n"))
            else:
                on_event(event)
        return process.wait()
    except BaseException:
        end_process(process)
        raise


def read_event(line: str) -> Json | None:
    """The event in a line; None when it is another line."""
    before, mark, text = line.partition(MARK)
    if not mark or before:
        return None
    return t.cast(Json, json.loads(text))


def end_process(process: subprocess.Popen[str]) -> None:
    """End a run with its children: Ansible hands the signal on to its workers, which have sessions of their own."""
    children = descendants(process.pid)
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    # Killed at once, podman would leave a container at work that it has not yet written down as running.
    _wait_for_end(children)
    for child, started in children.items():
        if is_running(child, started):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    _wait_for_end(children)


def _wait_for_end(children: t.Mapping[int, str]) -> None:
    """Wait until all have ended, but not for ever."""
    deadline = time.monotonic() + STOP_TIMEOUT
    while any(is_running(child, started) for child, started in children.items()) and time.monotonic() < deadline:
        time.sleep(0.05)


def descendants(pid: int) -> dict[int, str]:
    """The children of a process and theirs, each with its start time, which differs from that of a later one with the same number."""
    parents: dict[int, int] = {}
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit() and (fields := _read_stat(int(directory.name))):
            parents[int(directory.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return {child: fields[START_TIME] for child in found - {pid} if (fields := _read_stat(child))}


def is_running(pid: int, started: str) -> bool:
    """Whether a process is there and is no zombie. started: when it began."""
    fields = _read_stat(pid)
    return bool(fields) and fields[START_TIME] == started and fields[0] != "Z"


def _read_stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name; none when the process ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
