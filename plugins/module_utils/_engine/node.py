# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The node as an engine meets it: its processes, logs, programs and clock."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import subprocess
import typing as t

KUBELET = "kubelet.service"
LOG_LINES = 20
PROGRAM_SECONDS = 120

Run = t.Callable[[t.Sequence[str]], tuple[int, str, str]]

_CGROUP = re.compile(r"pod(?P<uid>[0-9a-f]{32})(?:\.slice)?/(?:[a-z-]+-)?(?P<container>[0-9a-f]{64})")


class Process(t.NamedTuple):
    """One process of a component.

    uid: of the instance: a static pod's UID, which the kubelet derives from the manifest's content, or the id that systemd
    gives to each start of a service.
    """

    uid: str
    pid: int
    container_id: str
    arguments: tuple[str, ...]

    def runs(self, expected: t.Sequence[str | None]) -> bool:
        """Whether it runs exactly this command line; None stands for any one argument."""
        return len(expected) == len(self.arguments) and all(
            want in (None, have) for want, have in zip(expected, self.arguments)
        )


class Host(t.NamedTuple):
    """Where a node keeps what is observed here; other folders in tests."""

    proc: str = "/proc"
    pod_logs: str = "/var/log/pods"

    def pod_folders(self, log_prefix: str) -> dict[str, str]:
        """UID -> log folder of the static pod's instances, running or gone. UIDs of static pods have no dashes."""
        pattern = re.compile(re.escape(log_prefix) + r"([0-9a-f]{32})")
        try:
            names = os.listdir(self.pod_logs)
        except FileNotFoundError:
            return {}
        matches = ((name, pattern.fullmatch(name)) for name in names)
        return {match.group(1): os.path.join(self.pod_logs, name) for name, match in matches if match}

    def processes(self, uids: t.Container[str]) -> list[Process]:
        """The processes in the containers of these pods, without the pod's sandbox."""
        found: list[Process] = []
        for entry in os.listdir(self.proc):
            if not entry.isdigit():
                continue
            # A process may end between two reads; it is then no process of the pod any more.
            with contextlib.suppress(OSError):
                match = _CGROUP.search(self._read(entry, "cgroup"))
                if match and match.group("uid") in uids:
                    arguments = tuple(self._read(entry, "cmdline").split("\0")[:-1])
                    if arguments and os.path.basename(arguments[0]) != "pause":
                        found.append(Process(match.group("uid"), int(entry), match.group("container"), arguments))
        return sorted(found, key=lambda process: process.pid)

    def arguments(self, pid: int) -> tuple[str, ...]:
        """A process's command line; empty when it ended."""
        try:
            return tuple(self._read(str(pid), "cmdline").split("\0")[:-1])
        except OSError:
            return ()

    def _read(self, pid: str, name: str) -> str:
        with open(os.path.join(self.proc, pid, name), encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()

    def started(self, pid: int) -> float | None:
        """When a process started, in seconds since 1970; None when it ended."""
        try:
            ticks = int(self._read(str(pid), "stat").rpartition(")")[2].split()[19])
            boot = re.search(r"^btime (\d+)", self._read("", "stat"), re.MULTILINE)
        except OSError:
            return None
        return round(int(boot.group(1)) + ticks / os.sysconf("SC_CLK_TCK"), 2) if boot else None

    def log_files(self, folder: str, container: str) -> list[str]:
        """The log files of a container, one for each start, oldest first."""
        try:
            names = os.listdir(os.path.join(folder, container))
        except FileNotFoundError:
            return []
        numbers = sorted(int(name[: -len(".log")]) for name in names if re.fullmatch(r"\d+\.log", name))
        return [os.path.join(folder, container, f"{number}.log") for number in numbers]


def log_tail(path: str, lines: int = LOG_LINES) -> list[str]:
    """The last lines of a container's log, without the runtime's own columns."""
    try:
        with open(path, "rb") as stream:
            stream.seek(max(0, os.path.getsize(path) - 65536))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return []
    columns = (line.split(" ", 3) for line in text.splitlines() if line)
    return [column[3] if len(column) == 4 else " ".join(column) for column in columns][-lines:]


def last_words(paths: t.Sequence[str]) -> list[str]:
    """The end of the newest log that is not empty: that of a process which has just been started says nothing yet."""
    tails = (log_tail(path) for path in reversed(paths))
    return next((lines for lines in tails if lines), [])


def hide(text: str, hidden: t.Mapping[str, str]) -> str:
    """A text without values that nobody may read. hidden: value -> what is shown instead."""
    for value in sorted(hidden, key=len, reverse=True):
        text = text.replace(value, hidden[value])
    return text


NODE = Host()


def run_program(arguments: t.Sequence[str]) -> tuple[int, str, str]:
    """Run a program of the node: (status, output, error). One that hangs is given up."""
    try:
        # Under systemd there is no module whose run_command could be called.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            list(arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "LC_ALL": "C"},
            timeout=PROGRAM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, "", f"no answer within {PROGRAM_SECONDS} s"
    except OSError as exc:
        return 127, "", str(exc)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def boot_id() -> str:
    """What tells one start of this machine from another."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        return stream.read().strip()


def utc_now() -> str:
    """The wall clock, for people. Deadlines never use it."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
