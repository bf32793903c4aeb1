# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a program of the lab ends: by itself, refused, interrupted, or by something unexpected."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time
import traceback
import typing as t
from pathlib import Path
from urllib.parse import quote

INTERRUPTED = 130  # the exit status that a shell gives a program that Ctrl-C ended
UNEXPECTED = 2
PR_SET_PDEATHSIG = 1  # see prctl(2)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# The name of a lab is that of its containers, so all clones on a machine share the locks.
LOCKS = Path("/run/nodecraft")


class CommandFailed(Exception):
    """A command that should not fail did. output: all that it printed, for the log."""

    def __init__(self, command: t.Sequence[str], output: str) -> None:
        lines = output.strip().splitlines() or ["it printed nothing"]
        super().__init__(f"{' '.join(command):.120} failed: {lines[-1]:.300}")
        self.output = output


@contextlib.contextmanager
def exclusive_lock(lock: Path, message: str) -> t.Iterator[int]:
    """Refuse to start while another process holds the lock. message: what it is refused with; {0} is the other's process number.

    Yields the descriptor of the lock: a child that inherits it holds the lock as well, also when this process is killed.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a+", encoding="utf-8") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            raise SystemExit(message.format(_find_holder(stream.fileno(), stream.read().strip()))) from None
        stream.truncate(0)
        stream.write(str(os.getpid()))
        stream.flush()
        yield stream.fileno()


def _find_holder(lock: int, recorded: str) -> str:
    """The number of the process that holds the lock: the one that locked it, or, when that was killed, the first that inherited it."""
    if recorded and Path("/proc", recorded).exists():
        return recorded
    lock_status, holders = os.fstat(lock), []
    for path in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # It ended, or closed that, in between.
            if os.path.samestat(lock_status, path.stat()):
                holders.append(int(path.parts[2]))
    return str(min(set(holders) - {os.getpid()}, default="unknown"))


def lock_lab(name: str) -> t.ContextManager[int]:
    """Refuse a playbook of a lab while another one works on it: what the first one makes, the second would take for remains."""
    lab = quote(name, safe="")[:64]  # The playbook refuses an invalid name of a lab; until then it is no path either.
    wait = "Wait for its end, or interrupt it with Ctrl-C, or, where that is impossible, with kill {0}."
    return exclusive_lock(
        LOCKS / f"lab-{lab}", f"Another command makes, changes or removes lab {lab} (process {{0}}). {wait}"
    )


def end_with_parent() -> None:
    """Have the kernel send SIGTERM when the parent ends: nox does not hand on the one that ends it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def run_guarded(
    body: t.Callable[[], None],
    *,
    log: Path,
    advice: str,
    cleanup: t.Callable[[], None] | None = None,
    print_line: t.Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
) -> int:
    """Run a program; returns its exit status. log: gets the traceback of what was not expected. advice: what to do then.

    cleanup: removes what an interrupted program would leave behind; no signal ends it. It prints itself what it removes.
    """
    # Also where the one who starts this program ignores them, as nox and nohup do.
    handlers = {number: signal.signal(number, _interrupt) for number in SIGNALS}
    try:
        body()
    except SystemExit as exc:
        if exc.code is None or isinstance(exc.code, int):
            return exc.code or 0
        print_line(exc.code)
        return 1
    except KeyboardInterrupt:
        if cleanup is not None:
            _clean_up(cleanup, log, advice, print_line)
        return INTERRUPTED
    except Exception as exc:
        print_line(_log_error(exc, log, advice))
        return UNEXPECTED
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return 0


def _interrupt(_number: int, _frame: object) -> t.NoReturn:
    # A second one must not break off what puts things in order after the first.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _clean_up(cleanup: t.Callable[[], None], log: Path, advice: str, print_line: t.Callable[[str], None]) -> None:
    try:
        cleanup()
    except (Exception, SystemExit) as exc:
        print_line(_log_error(exc, log, advice))


def _log_error(exc: BaseException, log: Path, advice: str) -> str:
    """Write an error into the log; returns it as one sentence."""
    output = getattr(exc, "output", None)
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}\n{''.join(traceback.format_exception(exc))}")
        file.write(f"{output or ''}\n{getattr(exc, 'stderr', None) or ''}\n")
    what = " ".join((str(exc) if isinstance(exc, CommandFailed | SystemExit) else _describe_error(exc)).split())
    return f"Stopped by an unexpected error: {what.rstrip('.')}. All of it is in {log}. {advice}"


def _describe_error(exc: BaseException) -> str:
    if isinstance(exc, subprocess.CalledProcessError):
        command = exc.cmd if isinstance(exc.cmd, str) else " ".join(map(str, exc.cmd))
        lines = (exc.stderr or exc.output or "").strip().splitlines() or ["it printed nothing"]
        return f"{command:.120} ended with status {exc.returncode}: {lines[-1]:.300}"
    return f"{type(exc).__name__}: {exc!s:.300}"
