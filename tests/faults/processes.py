# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that run the collection's code, and whose requests a test handles."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import typing as t
import zipfile
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import files
from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Call, Fault, Tracer
from ansible_collections.nodecraft.kubeadm.tests.faults.worker import MESSAGE

HERE = Path(__file__).parent
MODULE_UTILS = Path(files.__file__).parents[1]
INSIDE = Path("ansible_collections/nodecraft/kubeadm/plugins/module_utils")

# Between two reads of whether a process was stopped, while it sends nothing.
STOP_SECONDS = 0.01
Handler = t.Callable[[dict[str, t.Any]], t.Any]


def copy_code(tree: Path) -> Path:
    """A copy of what is shipped to nodes, with packages as they are in the archive that Ansible ships. Returns its root."""
    target = tree / INSIDE
    shutil.copytree(MODULE_UTILS, target, ignore=shutil.ignore_patterns("__pycache__"))
    for directory in (
        target,
        *target.relative_to(tree).parents,
        *(path for path in target.rglob("*") if path.is_dir()),
    ):
        (tree / directory / "__init__.py").touch()
    return tree


@dataclasses.dataclass(frozen=True)
class ProcessResult:
    """How a process ended. status: its exit status, or the negative number of the signal that ended it. result: of a
    module. calls: its system calls, when it was traced."""

    status: int
    result: t.Any
    calls: list[Call]

    @property
    def faults(self) -> list[Call]:
        """The calls into which a fault was put: the proof that it was reached."""
        return [call for call in self.calls if call.injected]


def _state(pid: int) -> str:
    """Whether a process runs, sleeps, or is stopped, as proc(5) abbreviates it; also when it is traced."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stream:
        return stream.read().rpartition(")")[2].split()[0].upper()


class Process:
    """A forked process that waits for its order."""

    def __init__(self, worker: Worker, pid: int, connection: socket.socket) -> None:
        self._worker = worker
        self._connection = connection
        self.pid = pid

    def execute(
        self,
        order: dict[str, t.Any],
        handle: Handler,
        clock: t.Callable[[], float],
        on_stopped: t.Callable[[], None] | None,
    ) -> tuple[int, t.Any]:
        """Send the order and handle requests until the process ends: its status and its result.

        on_stopped: called when a signal has stopped the process, before it goes on; None when nothing stops it.
        """
        result: t.Any = None
        try:
            self._send({**order, "now": clock()})
            while True:
                if on_stopped is not None:
                    self._resume_after_stop(on_stopped)
                message = self._receive()
                if message is None:
                    break
                assert "error" not in message, message["error"]
                if "result" in message:
                    result = message["result"]
                else:
                    self._send({"response": handle(message), "now": clock()})
        except BaseException:
            os.kill(self.pid, signal.SIGKILL)
            raise
        finally:
            self._connection.close()
            status = self._worker.wait(self.pid)
        return status, result

    def _resume_after_stop(self, on_stopped: t.Callable[[], None]) -> None:
        """Wait for the next message, and see to it that the process gets there."""
        while not select.select([self._connection], [], [], STOP_SECONDS)[0]:
            if _state(self.pid) == "T":
                on_stopped()
                os.kill(self.pid, signal.SIGCONT)

    def _send(self, message: dict[str, t.Any]) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it was killed, and its end is seen
            self._connection.sendall(json.dumps(message).encode())

    def _receive(self) -> dict[str, t.Any] | None:
        try:
            data = self._connection.recv(MESSAGE)
        except ConnectionResetError:
            return None
        return json.loads(data) if data else None


class Worker:
    """The program that holds the code of one tree and forks."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            command = [sys.executable, "-I", str(HERE / "worker.py"), str(tree), str(other.fileno())]
            self._program = subprocess.Popen(command, pass_fds=[other.fileno()])

    def fork(self) -> Process:
        """A process that waits for its order."""
        own_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with child_end:
            socket.send_fds(self._control, [b"fork"], [child_end.fileno()])
            pid = int(self._control.recv(MESSAGE))
        return Process(self, pid, own_end)

    def wait(self, pid: int) -> int:
        """How a forked process ended."""
        self._control.sendall(str(pid).encode())
        return os.waitstatus_to_exitcode(int(self._control.recv(MESSAGE)))

    def run(
        self,
        order: dict[str, t.Any],
        *,
        handle: Handler,
        clock: t.Callable[[], float],
        log: Path,
        fault: Fault | None = None,
        traced: bool = False,
        on_stopped: t.Callable[[], None] = lambda: None,
    ) -> ProcessResult:
        """Run one process from its order to its end."""
        process = self.fork()
        tracer = Tracer(process.pid, log, fault) if traced or fault else None
        status, result = process.execute(order, handle, clock, on_stopped if fault and "STOP" in fault.what else None)
        return ProcessResult(status, result, tracer.finish() if tracer else [])

    def assert_packed_in(self, program: Path) -> None:
        """The engine on a node has every source of this tree, and so the one from which a safeguard was taken out."""
        with zipfile.ZipFile(program) as archive:
            for source in sorted((self._tree / INSIDE / "_engine").glob("*.py")):
                assert archive.read(f"_engine/{source.name}") == source.read_bytes(), (
                    f"{program} has another {source.name}"
                )

    def close(self) -> None:
        """End the program."""
        self._control.close()
        self._program.wait(timeout=60)
