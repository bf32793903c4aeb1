# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the events of a run reach the program that started it, and how a run is ended."""

from __future__ import annotations

import json
import os
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab import processes
from ansible_collections.nodecraft.kubeadm.lab.processes import MARK, read_event, run_ansible

Json = dict[str, t.Any]

TASK = {"event": "task", "name": "nodecraft.kubeadm.x : x"}


@pytest.mark.parametrize("line", ["", "demo-cp1: kube-apiserver starts, 3 s\n", f"said {MARK}{{}}\n"])
def test_other_lines_are_no_events(line: str) -> None:
    assert read_event(line) is None


def run(program: str, **more: t.Any) -> tuple[int, list[Json], list[str]]:
    events: list[Json] = []
    lines: list[str] = []
    given: Json = {"stdout": None, "on_event": events.append, "on_line": lines.append, **more}
    return run_ansible([sys.executable, "-c", program], cwd=Path("/"), env=os.environ, **given), events, lines


def test_events_and_lines_of_both_streams_come_apart() -> None:
    event = MARK + json.dumps(TASK)
    program = f"import sys; print('out', flush=True); print({event!r}, file=sys.stderr); sys.exit(4)"
    assert run(program) == (4, [TASK], ["out"])


def test_an_interrupted_run_ends_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "STOP_TIMEOUT", 0.3)
    # The child has a session of its own and takes no notice of the signal, as a worker of Ansible may.
    child = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    program = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {child!r}], stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""
    found: list[int] = []

    def interrupt(line: str) -> None:
        found.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(program, on_line=interrupt)
    assert state(found[0]) in {"", "Z"}


def test_children_that_end_by_themselves_are_not_killed(tmp_path: Path) -> None:
    # As podman does, whose container would run on unknown to it.
    done = tmp_path / "done"
    child = f"trap 'kill $!; sleep 0.2; touch {done}; exit' TERM; echo up; sleep 60 & wait"
    program = f"""
import signal, subprocess, sys, time
child = subprocess.Popen(["sh", "-c", {child!r}], stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline()
signal.signal(signal.SIGTERM, lambda *_: (child.terminate(), sys.exit()))
print("up", flush=True)
time.sleep(60)
"""

    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(program, on_line=interrupt)
    assert done.exists()


def state(pid: int) -> str:
    """A process that is gone has none; one whose parent is gone is a zombie until init takes notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""
