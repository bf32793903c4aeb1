# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start a target of the Makefile: prepare the machine, make a venv with nox, run the target's sessions, and keep a log.

``start.py ENTRY``. Whatever fails ends with one sentence about what to do. Standard library only.
"""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":
    # What is opened next would take the place of a closed standard output.
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")
    # On a busy machine the imports below take a second, and Python's own reaction to Ctrl-C is a traceback.
    signal.signal(
        signal.SIGINT,
        lambda *_: (os.write(2, f"make {' '.join(sys.argv[1:])}: interrupted.\n".encode()), os._exit(130)),
    )

import contextlib
import fcntl
import re
import shlex
import shutil
import subprocess
import time
import traceback
import typing as t
from pathlib import Path

from . import host
from .console import echo
from .places import BUILD, COLLECTIONS, ENVS, NOX_LOCK, ROOT, TREES

VENV = BUILD / "nox"
TOOLS = ("antsibull-nox", "nox", "uv")

# The sessions of entries that are not called like one.
SESSIONS = {"test-unit": ("unit", "unit_core", "plays_whole", "device_plugin"), "test-sanity": ("sanity",)}
# Entries that work on the lab LAB and print their own output; that of nox is only in the log.
LAB_ENTRIES = ("demo", "bench", "lab-up", "lab-down")
# What lab/tasks/name.yml takes.
LAB_NAME_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,30}")
# All but why it could not begin: no other line has that.
OF_NOX = re.compile(r"nox > (?!Session \S+ failed: )")
# With such a line begins what a Python prints when a signal ends it.
OF_PYTHON = re.compile(r"Traceback \(most recent call last\)|KeyboardInterrupt|Exception ignored |Fatal Python error")

# What a failure comes from, by the messages of programs.
NO_SPACE = re.compile(r"No space left on device|not enough free space", re.IGNORECASE)
NO_NETWORK = re.compile(
    r"Temporary failure (?:in name resolution|resolving)|Name or service not known|dns error|no such host|Could not resolve"
    r"|Network is unreachable|Failed to establish a new connection|Failed to fetch|Failed getting release file|Couldn't download|error sending request"
    r"|lookup .*(?:refused|timeout|misbehaving)|dial tcp .*(?:i/o timeout|connect: no route)",
    re.IGNORECASE,
)
FULL = 100 * 2**20  # bytes of free space; with less programs fail, and not every one prints why
GOES_ON = "it goes on where it stopped"
TAIL = 60_000  # characters of a log in which the cause is looked for
INTERRUPTED = 130
PODMAN_TIMEOUT = 60  # seconds that podman gets to list containers
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """Run one entry. Returns its exit status."""
    (entry,) = sys.argv[1:]
    log = BUILD
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        prepare_environment()
        check_entry(entry)
        log = log_of(entry)
        with open_log(log) as output:
            status = run_entry(entry, output)
        return status if status == 0 else print_failure(failure_message(entry, status, log), status)
    except host.Problem as problem:
        return print_failure(f"make {entry}: {problem} {find_cause(read_tail(log))}".rstrip())
    except KeyboardInterrupt:
        return print_failure(f"make {entry}: interrupted. {describe_remains(entry)}".rstrip(), INTERRUPTED)
    except OSError as error:
        advice = find_cause(str(error)) or "Mend that and run the same command again."
        return print_failure(f"make {entry}: {error.filename or BUILD}: {error.strerror or error}. {advice}")
    except Exception:
        with contextlib.suppress(OSError), log.open("a", encoding="utf-8") as output:
            traceback.print_exc(file=output)
        return print_failure(f"make {entry} broke off by a mistake of its own. Please report it with its log, {log}.")


def prepare_environment() -> None:
    """What every program that is started here needs."""
    # Not every user's PATH has the directories in which the lab's programs are.
    os.environ["PATH"] = os.pathsep.join((os.environ.get("PATH", os.defpath), *host.DIRECTORIES))
    # Caches are found by these, also by programs that start in other directories.
    os.environ["HOME"] = str(Path.home())
    if cache := os.environ.get("XDG_CACHE_HOME"):
        os.environ["XDG_CACHE_HOME"] = str(Path(cache).absolute())
    # Ansible refuses to start in a locale that has no UTF-8 or is not installed.
    os.environ["LC_ALL"] = "C.UTF-8"
    # podman 5 warns at each call that cgroup v1 is old.
    os.environ.setdefault("PODMAN_IGNORE_CGROUPSV1_WARNING", "1")


def check_entry(entry: str) -> None:
    """Refuse, before anything is written, what cannot be done here."""
    if entry in LAB_ENTRIES and LAB_NAME_PATTERN.fullmatch(lab()) is None:
        raise host.Problem(
            f"invalid LAB {lab()!r:.80}: must be up to 31 lower-case letters, digits and hyphens that begin with a letter."
        )
    if os.pathsep in str(ROOT):
        raise host.Problem(
            f"invalid path of this clone {ROOT}: must be without {os.pathsep}, which Python's venv refuses. Rename the directory."
        )
    if entry != "lab-down":
        host.check_root(entry, is_root=os.geteuid() == 0)
    elif host.find("podman") is not None and os.geteuid() != 0:
        raise host.Problem("this needs root: labs are root's. Run the same command as root.")
    if entry.startswith(("test", "release")) and host.find("git") is not None:
        check_clone()


def check_clone() -> None:
    """Refuse what works with git in a clone whose files git does not list, such as another user's."""
    listed = subprocess.run(["git", "ls-files", "Makefile"], cwd=ROOT, check=False, capture_output=True, text=True)
    if listed.returncode != 0:
        reason = listed.stderr.partition("\n")[0].removeprefix("fatal: ")
        advice = "Make a clone with git, and run the same command there."
        if "ownership" in reason:
            allow = f"git config --global --add safe.directory {shlex.quote(str(ROOT))}"
            advice = f"Run {allow}, then the same command again."
        raise host.Problem(f"git does not tell the files of this clone ({reason}). {advice}")


def lab() -> str:
    """The lab that an entry works on."""
    return os.environ.get("LAB", "lab")


def log_of(entry: str) -> Path:
    """Where the output of an entry goes; each lab has its own."""
    return BUILD / "log" / (f"{entry}-{lab()}.log" if entry in LAB_ENTRIES else f"{entry}.log")


def describe_remains(entry: str) -> str:
    """What is there of its lab, and at work for it, after an entry was interrupted, and what to do; empty when nothing is."""
    if entry not in LAB_ENTRIES or host.find("podman") is None:
        return ""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    return " ".join(filter(None, (remaining_lab(), remaining_builds())))


def remaining_lab() -> str:
    """Whether containers or a network of the lab are there, and how to remove them."""
    options = ["--quiet", "--filter", f"label=nodecraft.lab.directory={BUILD / 'lab' / lab()}"]
    found = ""
    try:
        for command in (["podman", "ps", "--all"], ["podman", "network", "ls"]):
            args = [*command, *options]
            found += subprocess.run(args, check=False, capture_output=True, text=True, timeout=PODMAN_TIMEOUT).stdout
    except subprocess.TimeoutExpired:
        return f"podman does not tell what is left: make lab-down LAB={lab()} removes it."
    return f"Lab {lab()} is still there, or a part of it: make lab-down LAB={lab()} removes it." if found else ""


def remaining_builds() -> str:
    """What is still being built: Ansible leaves the compiler at work. Each build holds the lock of its result."""
    found = []
    for path in sorted(cache().glob("*.lock")):
        with contextlib.suppress(OSError), path.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(path.stem)
    return f"{', '.join(found)} is still being built in the background: the next run waits for that." if found else ""


def open_log(path: Path) -> t.TextIO:
    """A fresh log; where the same entry is at work already, its log goes on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    log = path.open("a", encoding="utf-8")
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        log.truncate(0)
    return log


def run_entry(entry: str, log: t.TextIO) -> int:
    """Prepare the machine and run the sessions. Returns nox's exit status."""
    if entry == "lab-down" and host.find("podman") is None:
        echo("This machine has no podman, so there is no lab to remove.")
        return 0
    if entry in LAB_ENTRIES:
        # They count from here how long something took, and print seldom into a file.
        os.environ["MAKE_BEGAN"] = str(time.monotonic())
        os.environ["SECONDS_BETWEEN_LINES"] = "15" if sys.stdout.isatty() else "60"
    with compile_programs(entry, log) as end_compiling:
        if entry != "lab-down":
            host.prepare(entry, host.Machine.this(), echo, log)
        make_venv(log)
    sessions = SESSIONS.get(entry, (entry.replace("-", "_"),))
    status = run_command([str(VENV / "bin" / "nox"), "--session", *sessions], log, filtered=entry in LAB_ENTRIES)
    if status != 0:
        end_compiling()
    return status


@contextlib.contextmanager
def compile_programs(entry: str, log: t.TextIO) -> t.Iterator[t.Callable[[], None]]:
    """Have the programs of a lab compiled from now on: nothing takes longer, and it needs only Go. The lab waits for it later.

    Yields what ends it. A machine that cannot be prepared compiles nothing further.
    """
    needs_lab = entry in LAB_ENTRIES and entry in host.NEEDS and host.need_of(entry).lab
    if not needs_lab or host.find("go") is None:
        yield lambda: None
        return
    command = [sys.executable, str(ROOT / "lab" / "programs.py"), "build", os.environ.get("K8S", "1.37")]
    # A session of its own: Ctrl-C does not end what the next run can use.
    build = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )

    def stop_build() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(build.pid, signal.SIGTERM)
        build.wait()

    try:
        yield stop_build
    except BaseException:
        stop_build()
        raise


def make_venv(log: t.TextIO) -> None:
    """Make the venv with nox, unless it is there, for this place and in the pinned versions. A target that another shell started waits for it."""
    with (BUILD / "nox.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _make_venv(log)


def _make_venv(log: t.TextIO) -> None:
    place, ready = f"{ROOT}\n", VENV / "ready"
    expected = place + NOX_LOCK.read_text(encoding="utf-8")
    found = ready.read_text(encoding="utf-8") if ready.exists() else ""
    # Its Python may have left this machine since.
    if (VENV / "bin" / "python").exists() and found == expected:
        return
    if found and not found.startswith(place):
        echo("This clone was moved or copied: build/nox and build/envs are made again")
        for directory in (ENVS, TREES, COLLECTIONS):
            shutil.rmtree(directory, ignore_errors=True)
    echo("Installing nox into build/nox (once, usually 10 s)")
    shutil.rmtree(VENV, ignore_errors=True)
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", str(VENV)],
        [*pip, "install", "--require-hashes", f"--requirement={NOX_LOCK}"],
    ):
        if run_command(command, log, filtered=True, quiet=True) != 0:
            raise host.Problem(f"{', '.join(TOOLS)} could not be installed into {VENV}; the reason is in {log.name}.")
    ready.write_text(expected, encoding="utf-8")


def run_command(command: t.Sequence[str], log: t.TextIO, *, filtered: bool, quiet: bool = False) -> int:
    """Run a command, its output to the log and, with filtered but for the lines of nox and Python themselves, to the terminal.

    Returns its exit status. Raises KeyboardInterrupt when a signal ended it.
    """
    caught: list[int] = []
    started: list[subprocess.Popen[str]] = []

    def forward_signal(number: int, _frame: object) -> None:
        caught.append(number)
        for one in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, number)

    # What ends this reaches all that it started, and this ends after them.
    for number in SIGNALS:
        signal.signal(number, forward_signal)
    try:
        with subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            process_group=0,
        ) as process:
            started.append(process)
            if caught:  # while it started
                os.killpg(process.pid, caught[0])
            copy_lines(t.cast(t.IO[str], process.stdout), log, caught, filtered=filtered, quiet=quiet)
            status = process.wait()
    finally:
        for number in SIGNALS:
            signal.signal(number, signal.default_int_handler)
    if status == INTERRUPTED or (caught and status != 0):
        raise KeyboardInterrupt
    return status if status >= 0 else 128 - status


def copy_lines(lines: t.Iterable[str], log: t.TextIO, caught: t.Sequence[int], *, filtered: bool, quiet: bool) -> None:
    """Write lines to the log and those for the user to the terminal. caught: the signals so far."""
    for line in lines:
        log.write(line)
        log.flush()
        # After that there is only more of it.
        quiet = quiet or (filtered and bool(caught and OF_PYTHON.match(line)))
        if not quiet and not (filtered and OF_NOX.match(line)):
            echo(line.removesuffix("\n"))


def failure_message(entry: str, status: int, log: Path) -> str:
    """The message about an entry that failed: what to do, and where to read more."""
    if entry not in LAB_ENTRIES:
        # Tests print what they put into the way of others: their output is no sign of this machine's state.
        return f"make {entry} ended with status {status}. What failed is said above. Log: {log}"
    # A playbook of the lab writes its results to a log of its own.
    logs = [path for path in (log, log.parent / f"lab-{lab()}.jsonl") if path.exists()]
    advice = find_cause("".join(map(read_tail, logs))) or "What failed is said above."
    return f"make {entry} ended with status {status}. {advice} Log: {', '.join(map(str, logs))}"


def read_tail(log: Path) -> str:
    """The end of a log; empty where it cannot be read."""
    with contextlib.suppress(OSError):
        return log.read_text(encoding="utf-8", errors="replace")[-TAIL:]
    return ""


def find_cause(text: str) -> str:
    """What a failure comes from and what to do, as far as the end of a log shows; else empty."""
    free = free_space()
    free_text = ", ".join(f"{bytes_free / 2**30:.1f} GiB free in {path}" for path, bytes_free in free.items())
    if min(free.values(), default=FULL) < FULL:
        return f"The disk is full ({free_text}). Make room, for example in the cache {cache()}, and run the same command again: {GOES_ON}."
    if NO_SPACE.search(text):
        return f"A program found no space where it wrote, though there is ({free_text}): look for another disk, a quota, or no free inodes."
    if NO_NETWORK.search(text):
        return f"Something could not be downloaded. See to this machine's network and run the same command again: {GOES_ON}."
    return ""


def cache() -> Path:
    """The directory of what the lab built."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodecraft-kubeadm"


def free_space() -> dict[Path, int]:
    """How many bytes are free where this writes. It writes nothing itself: the disk may be full."""
    free = {}
    for path in (BUILD, cache().parent, Path("/var/lib/containers"), Path(os.environ.get("TMPDIR") or "/tmp")):  # noqa: S108
        # It may not be there, or not be to be entered.
        with contextlib.suppress(OSError):
            free[path] = shutil.disk_usage(path).free
    return free


def print_failure(text: str, status: int = 2) -> int:
    """Print the last line, after all that was printed before. Returns the exit status."""
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
