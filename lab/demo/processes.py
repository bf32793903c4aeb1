# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of Ansible that are followed while they run, and that end when this program is interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import typing as t
from pathlib import Path

Json = dict[str, t.Any]

MARK = "\x1e"  # each event of callbacks/demo_events.py begins with it
PATIENCE = 15  # seconds that a run has to end by itself
EVENTS = {
    "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).resolve().parent / "callbacks"),
    "ANSIBLE_CALLBACKS_ENABLED": "demo_events",
    # The ansible command uses callbacks only when it is told to.
    "ANSIBLE_LOAD_CALLBACK_PLUGINS": "true",
}


def follow(
    command: t.Sequence[str],
    *,
    cwd: Path,
    env: t.Mapping[str, str],
    stdout: t.IO[str],
    on_event: t.Callable[[Json], None],
    on_line: t.Callable[[str], None],
) -> int:
    """Run Ansible; returns its status. on_event and on_line: get its events and the other lines of its standard error, at once."""
    # A session of its own: Ctrl-C reaches this program alone, which then ends the run in order.
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**env, **EVENTS},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        for line in t.cast("t.IO[str]", process.stderr):
            event = read_event(line)
            if event is None:
                on_line(line.rstrip("\n"))
            else:
                on_event(event)
        return process.wait()
    except BaseException:
        end(process)
        raise


def read_event(line: str) -> Json | None:
    """The event in a line; None when it is another line."""
    before, mark, text = line.partition(MARK)
    if not mark or before:
        return None
    return t.cast(Json, json.loads(text))


def end(process: subprocess.Popen[str]) -> None:
    """End a run with its children: Ansible hands the signal on to its workers, which have sessions of their own."""
    children = descendants(process.pid)
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for child, started in children.items():
        if start_time(child) == started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def descendants(pid: int) -> dict[int, str]:
    """The children of a process and theirs, each with its start time, which tells it from a later one with the same number."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _fields(int(folder.name))):
            parents[int(folder.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return {child: started for child in found - {pid} if (started := start_time(child))}


def start_time(pid: int) -> str:
    """When a process began; empty when it ended."""
    fields = _fields(pid)
    return fields[19] if fields else ""


def _fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name; none when the process ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
