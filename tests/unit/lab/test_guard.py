# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How demo and bench end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab.guard import CommandFailed, exclusive_lock, run_guarded

ADVICE = "make demo starts over."


class Guarded:
    """One program that ended."""

    def __init__(
        self, directory: Path, body: t.Callable[[], None], cleanup: t.Callable[[], None] | None = None
    ) -> None:
        self.lines: list[str] = []
        log = directory / "demo.log"
        self.status = run_guarded(body, log=log, advice=ADVICE, cleanup=cleanup, print_line=self.lines.append)
        self.log = log.read_text(encoding="utf-8") if log.exists() else ""


def raising(exc: BaseException) -> t.Callable[[], None]:
    def body() -> None:
        raise exc

    return body


@pytest.mark.parametrize(
    ("body", "status", "lines"),
    [
        (lambda: None, 0, []),
        (raising(SystemExit()), 0, []),
        (raising(SystemExit(3)), 3, []),
        (raising(SystemExit("2 claim(s) did not hold.")), 1, ["2 claim(s) did not hold."]),
    ],
)
def test_what_is_expected_leaves_no_log(
    body: t.Callable[[], None], status: int, lines: list[str], tmp_path: Path
) -> None:
    ended = Guarded(tmp_path, body)
    assert (ended.status, ended.lines, ended.log) == (status, lines, "")


@pytest.mark.parametrize(
    ("exc", "what"),
    [
        (KeyError("phase"), "KeyError: 'phase'"),
        (ValueError("first\nsecond"), "ValueError: first second"),
        (
            subprocess.CalledProcessError(4, ["podman", "exec", "cp1"], "", "warning\nno such container\n"),
            "podman exec cp1 ended with status 4: no such container",
        ),
        (subprocess.CalledProcessError(1, "true"), "true ended with status 1: it printed nothing"),
        (
            CommandFailed(["kubectl", "get"], "a\nThe connection was refused.\n"),
            "kubectl get failed: The connection was refused",
        ),
    ],
)
def test_what_is_not_expected_is_one_sentence_and_its_traceback_is_in_the_log(
    exc: Exception, what: str, tmp_path: Path
) -> None:
    ended = Guarded(tmp_path, raising(exc))
    assert ended.status == 2
    assert ended.lines == [f"Stopped by an unexpected error: {what}. All of it is in {tmp_path / 'demo.log'}. {ADVICE}"]
    assert "Traceback (most recent call last)" in ended.log
    assert all(line in ended.log for line in str(getattr(exc, "output", None) or "").splitlines())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_program_tidies_up_once_and_no_signal_stops_that(number: signal.Signals, tmp_path: Path) -> None:
    steps: list[str] = []

    def cleanup() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        steps.append("tidy")

    before = signal.getsignal(number)
    ended = Guarded(tmp_path, lambda: os.kill(os.getpid(), number), cleanup)
    assert (ended.status, steps, ended.log) == (130, ["tidy"], "")
    assert signal.getsignal(number) is before


def test_a_program_whose_parent_is_killed_tidies_up(tmp_path: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from ansible_collections.nodecraft.kubeadm.lab.guard import end_with_parent, run_guarded

def body():
    print("up", flush=True)
    time.sleep(60)

end_with_parent()
run_guarded(body, log=Path({str(tmp_path / "demo.log")!r}), advice="", cleanup=lambda: print("tidy", flush=True))
"""
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True, env=environment) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "up\n"
        killed.kill()
        assert killed.stdout.read() == "tidy\n"


@pytest.mark.parametrize("exc", [KeyError("x"), SystemExit("The lab is of another clone.")])
def test_tidying_up_that_fails_reports_what_is_left_to_do(exc: BaseException, tmp_path: Path) -> None:
    ended = Guarded(tmp_path, raising(KeyboardInterrupt()), raising(exc))
    assert ended.status == 130
    assert len(ended.lines) == 1
    assert ended.lines[0].endswith(ADVICE)
    assert "Traceback" in ended.log


def test_a_second_program_is_refused_in_one_sentence(tmp_path: Path) -> None:
    lock = tmp_path / "new" / "lock"
    with exclusive_lock(lock, "busy: {}"), pytest.raises(SystemExit, match=f"^busy: {os.getpid()}$"):
        second(lock)
    second(lock)


def second(lock: Path) -> None:
    with exclusive_lock(lock, "busy: {}"):
        pass


def test_a_child_does_not_hold_the_lock(tmp_path: Path) -> None:
    with exclusive_lock(tmp_path / "lock", "busy: {}"):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        second(tmp_path / "lock")
    finally:
        child.communicate(b"\n")


def test_a_second_interruption_does_not_break_off_what_ends_the_first_one(tmp_path: Path) -> None:
    ended: list[str] = []

    def body() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            ended.append("in order")

    assert Guarded(tmp_path, body).status == 130
    assert ended == ["in order"]


def test_a_program_without_a_reader_tidies_up(tmp_path: Path) -> None:
    tidied = tmp_path / "tidied"
    code = (
        "import os, signal, pathlib\n"
        "from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo\n"
        "from ansible_collections.nodecraft.kubeadm.lab.guard import run_guarded\n"
        "def body():\n    echo('started')\n    os.kill(os.getpid(), signal.SIGHUP)\n"
        f"def cleanup():\n    echo('more')\n    echo('and more')\n    pathlib.Path({str(tidied)!r}).touch()\n"
        f"raise SystemExit(run_guarded(body, log=pathlib.Path({str(tmp_path / 'log')!r}), advice='', cleanup=cleanup))\n"
    )
    reading, writing = os.pipe()
    os.close(reading)
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=writing, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    os.close(writing)
    assert done.returncode == 130
    assert tidied.exists()
