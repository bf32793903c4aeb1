# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The node as an engine reads it: its processes, logs, programs and clock."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import re
import subprocess
import typing as t

from .files import open_to_read

KUBELET = "kubelet.service"
CLOCK_SECONDS = 2  # the start of a process is known to a second
LOG_LINES = 20
_LOGGED = re.compile(r"[IWEF]\d{4} ")  # how a component of Kubernetes begins its lines
_PROBED = re.compile(r'httplog\.go:\d+\].* URI="/(?:livez|readyz|healthz)')
_LOG_BYTES = 262_144  # of the end of a log, where probes fill much
# A kubelet describes its whole machine in one line of its log.
LOG_WIDTH = 500
_LISTEN = "0A"  # the state of a socket in /proc/net/tcp
PROGRAM_SECONDS = 120  # systemctl stop may take 90

Run = t.Callable[[t.Sequence[str]], tuple[int, str, str]]

# Of a static pod, whose UID has no dashes. CRI-O's own watcher of a container is no process in it.
_CGROUP = re.compile(r"pod(?P<uid>[0-9a-f]{32})(?:\.slice)?/(?!crio-conmon-)(?:[a-z-]+-)?(?P<container>[0-9a-f]{64})")
# Of a pod that was created at the API; systemd replaces the dashes.
_API_POD = re.compile(r"pod[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}\b")


class Process(t.NamedTuple):
    """One process of a component.

    uid: of the instance: a static pod's UID, which the kubelet derives from the manifest's content, or the id that systemd
    gives to each start of a service.
    """

    uid: str
    pid: int
    container_id: str
    arguments: tuple[str, ...]

    @property
    def program(self) -> str:
        """The name of its program."""
        return os.path.basename(self.arguments[0])

    def runs(self, expected: t.Sequence[str | None], *, of_image: bool = False) -> bool:
        """Whether it runs exactly this command line; None stands for any one argument. of_image: its program is the image's own,
        or started by another one, with whatever arguments that puts before these."""
        before = len(self.arguments) - len(expected)
        return (before == 0 or (of_image and before > 0)) and all(
            argument in (None, actual) for argument, actual in zip(expected, self.arguments[before:])
        )


class Host(t.NamedTuple):
    """Where a node keeps what is observed here; other directories in tests.

    pod_logs: the kubelet's default; more_pod_logs: where it is configured to write them. container_logs: its links to the logs
    of all containers, wherever it was configured to write these when they were started. kubelet_conf: its credential.
    device_socket: of the device manager of whatever kubelet, which it makes at the end of its start.
    """

    proc: str = "/proc"
    pod_logs: str = "/var/log/pods"
    more_pod_logs: t.Sequence[str] = ()
    container_logs: str = "/var/log/containers"
    kubelet_root: str = "/var/lib/kubelet"
    kubelet_conf: str = "/etc/kubernetes/kubelet.conf"
    device_socket: str = "/var/lib/kubelet/device-plugins/kubelet.sock"

    def find_in_pods(self, uids: t.Container[str]) -> list[Process]:
        """The processes in the containers of these pods, without the pod's sandbox."""
        return [process for process in self._find(uids.__contains__) if process.program != "pause"]

    def find_in_host_network(self, program: str, others: t.Container[str]) -> list[Process]:
        """The processes of a program that use the node's own network, without those of pods that are known to be others:
        of these UIDs, and all that were created at the API."""
        found = self._find(lambda uid: uid not in others)
        return [process for process in found if process.program == program and self._is_in_host_network(process.pid)]

    def _find(self, is_selected: t.Callable[[str], bool]) -> list[Process]:
        """The processes by the UID of their static pod, '' for none. Those of the API's pods are never selected."""
        found: list[Process] = []
        for entry in os.listdir(self.proc):
            if not entry.isdigit():
                continue
            # A process may end between two reads; it is then no process of the pod any more.
            with contextlib.suppress(OSError):
                cgroup = self._read(entry, "cgroup")
                match = _CGROUP.search(cgroup)
                uid, container = match.group("uid", "container") if match else ("", "")
                if is_selected(uid) and not _API_POD.search(cgroup):
                    arguments = tuple(self._read(entry, "cmdline").split("\0")[:-1])
                    if arguments:
                        found.append(Process(uid, int(entry), container, arguments))
        return sorted(found, key=lambda process: process.pid)

    def _is_in_host_network(self, pid: int) -> bool:
        own, of_node = (os.path.join(self.proc, str(number), "ns", "net") for number in (pid, 1))
        try:
            return os.readlink(own) == os.readlink(of_node)
        except (FileNotFoundError, ProcessLookupError):  # it ended
            return False
        except OSError:  # it is not known to have a network of its own
            return True

    def read_arguments(self, pid: int) -> tuple[str, ...]:
        """A process's command line; empty when it ended."""
        try:
            return tuple(self._read(str(pid), "cmdline").split("\0")[:-1])
        except OSError:
            return ()

    def _read(self, pid: str, name: str) -> str:
        with open(os.path.join(self.proc, pid, name), encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()

    def listens_on(self, pid: int, port: int) -> bool:
        """Whether a process itself listens at a TCP port of the node. Raises OSError where that cannot be read, or it ended."""
        sockets = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in self._listeners(table, port)}
        for name in os.listdir(os.path.join(self.proc, str(pid), "fd")):
            with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
                if os.readlink(os.path.join(self.proc, str(pid), "fd", name)) in sockets:
                    return True
        return False

    def _listeners(self, table: str, port: int) -> list[str]:
        """The inodes of what listens at a port."""
        try:
            rows = [line.split() for line in self._read("net", table).splitlines()[1:]]
        except FileNotFoundError:
            if table == "tcp":
                raise
            return []  # a kernel without IPv6
        return [row[9] for row in rows if row[3] == _LISTEN and int(row[1].rpartition(":")[2], 16) == port]

    def read_start_time(self, pid: int) -> float | None:
        """When a process started, in seconds since 1970; None when it ended."""
        try:
            ticks = int(self._read(str(pid), "stat").rpartition(")")[2].split()[19])
            boot = re.search(r"^btime (\d+)", self._read("", "stat"), re.MULTILINE)
        except OSError:
            return None
        return round(int(boot.group(1)) + ticks / os.sysconf("SC_CLK_TCK"), 2) if boot else None

    def changed_since_start(self, pid: int, paths: t.Iterable[str]) -> dict[str, float | None]:
        """The files that were changed after a process started, and when, which is None of one that does not exist; none when it ended. What
        brings back a file with its former time, such as cp -p or mv, changes its inode."""
        started = self.read_start_time(pid)
        if started is None:
            return {}
        times = {path: _changed_at(path) for path in paths}
        return {path: at for path, at in times.items() if at is None or at > started + CLOCK_SECONDS}


def _changed_at(path: str) -> float | None:
    """When a file came to its path as it is; None when there is none. A link that was turned leads to another one, however old that is."""
    try:
        found = os.stat(path)
        return max(found.st_mtime, found.st_ctime, *(os.lstat(link).st_ctime for link in _links_to(path)))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _links_to(path: str) -> t.Iterator[str]:
    """The links on the way to a file, and on theirs."""
    for place in map(str, [*reversed(pathlib.PurePath(path).parents), path]):
        if os.path.islink(place):
            yield place
            yield from _links_to(os.path.join(os.path.dirname(place), os.readlink(place)))


def log_files(directories: t.Iterable[str], container: str) -> list[str]:
    """The log files of a container, one for each start, oldest first. directories: of its pod, the one in use last."""
    paths = [os.path.join(place, container, name) for place in directories for name in list_dir(f"{place}/{container}")]
    numbered = [path for path in paths if re.fullmatch(r"\d+\.log", os.path.basename(path))]
    return sorted(numbered, key=lambda path: int(os.path.basename(path)[: -len(".log")]))


def list_dir(directory: str) -> list[str]:
    """What stands in a directory; nothing when there is none."""
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_log_tail(path: str, lines: int = LOG_LINES) -> list[str]:
    """The last lines of a container's log, without the runtime's own columns."""
    try:
        with open_to_read(path) as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _LOG_BYTES))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return []
    written = [_written(line) for line in text.splitlines() if line]
    # From -v=3 on a component logs each probe, several times a second, which would leave no room for why it is not healthy.
    return ([line for line in written if not _PROBED.search(line)] or written)[-lines:]


def _written(line: str) -> str:
    """What the component wrote: behind the columns of containerd and CRI-O, or in the JSON of Docker, which cri-dockerd leaves."""
    if line.startswith('{"log":'):
        with contextlib.suppress(ValueError):
            return str(json.loads(line)["log"]).rstrip("\n")
    columns = line.split(" ", 3)
    return columns[3] if len(columns) == 4 else line


def read_unit_log(run: Run, unit: str) -> list[str]:
    """The last lines of a systemd unit, which are those of a process that may be gone. Of one that panicked, the first ones of that: its stack
    fills more than these."""
    command = ["journalctl", "--output=cat", "--no-pager", f"--lines={3 * LOG_LINES}", f"_SYSTEMD_UNIT={unit}"]
    lines = [line[:LOG_WIDTH] for line in run(command)[1].splitlines()]
    panics = [number for number, line in enumerate(lines) if line.startswith("panic:")]
    # A process that was started after it logs something else.
    if panics and not any(map(_LOGGED.match, lines[panics[-1] :])):
        return lines[panics[-1] :][:LOG_LINES]
    return lines[-LOG_LINES:]


def read_unit_errors(run: Run, unit: str, pod: str) -> list[str]:
    """The errors about a pod among what a unit logged last, oldest first. pod: NAMESPACE/NAME."""
    command = ["journalctl", "--output=cat", "--no-pager", f"--lines={50 * LOG_LINES}", f"_SYSTEMD_UNIT={unit}"]
    lines = run(command)[1].splitlines()
    return [line for line in lines if line.startswith("E") and f'pod="{pod}"' in line]


def read_last_log_lines(paths: t.Sequence[str]) -> list[str]:
    """The end of the newest log that is not empty."""
    tails = (read_log_tail(path) for path in reversed(paths))
    return next((lines for lines in tails if lines), [])


def redact(text: str, hidden: t.Mapping[str, str]) -> str:
    """A text without values that are secret. hidden: value -> what is displayed instead."""
    for value in sorted(hidden, key=len, reverse=True):
        text = text.replace(value, hidden[value])
    return text


NODE = Host()


def run_program(arguments: t.Sequence[str]) -> tuple[int, str, str]:
    """Run a program of the node: (status, output, error). One that hangs is killed after PROGRAM_SECONDS."""
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


def read_boot_id() -> str:
    """The id of this start of the machine."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        return stream.read().strip()


def utc_now() -> str:
    """The wall clock, for people. Deadlines never use it."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
