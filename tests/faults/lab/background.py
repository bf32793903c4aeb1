# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that run while a test does something else: samplers, probers, and Ansible itself."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.extensions.molecule.interruptions.interrupt import descendants
from ansible_collections.nodecraft.kubeadm.lab import runs

END_SECONDS = 15.0
LONGEST_RUN = 1500.0

Json = dict[str, t.Any]


class Program:
    """A program with its output in a file. It ends with the block."""

    def __init__(self, command: t.Sequence[str], output: Path, environment: t.Mapping[str, str] | None = None) -> None:
        output.parent.mkdir(parents=True, exist_ok=True)
        self.output = output
        self.errors = output.with_suffix(".log")
        with output.open("wb") as stdout, self.errors.open("wb") as stderr:
            self._process = subprocess.Popen(
                command, cwd=runs.ROOT, env=environment, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr
            )

    @classmethod
    def python(cls, *command: str, output: Path) -> Program:
        """A program of Python."""
        path = {"PYTHONPATH": str(runs.ROOT / "build/collections")}
        return cls([sys.executable, *command], output, {**os.environ, **path})

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *dummy: object) -> None:
        self.close_input()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        self.kill()

    @property
    def is_running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def close_input(self) -> None:
        """Close its input, at which samplers and probers end, and wait until it did."""
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_SECONDS)

    def wait(self, seconds: float = LONGEST_RUN) -> int:
        """Its exit status."""
        return self._process.wait(seconds)

    def read_errors(self) -> str:
        """Its standard error until now."""
        return self.errors.read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """End it and all that it started, so that nothing of it can do anything more."""
        if self.is_running:
            for pid in descendants(self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._process.wait()


class Task(Program):
    """One task on one host, as a user would run it."""

    def __init__(
        self, lab: runs.Lab, host: str, module: str, options: Json, output: Path, *arguments: str, by_ssh: bool = False
    ) -> None:
        self.host = host
        inventory = lab.directory / ("inventory-ssh.yml" if by_ssh else "inventory.yml")
        command = ["ansible", host, f"--inventory={inventory}", f"--module-name=nodecraft.kubeadm.{module}"]
        super().__init__([*command, f"--args={json.dumps(options)}", *arguments], output, environment(lab))

    def result(self) -> Json:
        """What the module returns, once it is done."""
        self.wait()
        return t.cast(Json, report(self)["plays"][0]["tasks"][0]["hosts"][self.host])


class Play(Program):
    """A playbook of the project."""

    def __init__(self, lab: runs.Lab, playbook: str, variables: Json, output: Path, *arguments: str) -> None:
        command = [
            "ansible-playbook",
            f"--inventory={lab.inventory}",
            playbook,
            f"--extra-vars={json.dumps(variables)}",
        ]
        self._began = time.monotonic()
        super().__init__([*command, *arguments], output, environment(lab))

    def finish(self) -> runs.Run:
        """Wait for its end; returns its run."""
        status = self.wait()
        return runs.Run(status, time.monotonic() - self._began, report(self))


class Probing:
    """The output of a prober, while it runs and afterwards."""

    def __init__(self, output: Path) -> None:
        self._output = output

    def _lines(self) -> list[Json]:
        text = self._output.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    @property
    def began(self) -> bool:
        """Whether it is at work."""
        return bool(self._lines())

    def failures(self) -> list[Json]:
        """The requests that failed, once or twice."""
        return [line for line in self._lines() if "request" in line]

    def summary(self) -> Json:
        """What it all came to; once it has ended."""
        return next(line for line in self._lines() if "requests" in line)


def environment(lab: runs.Lab) -> dict[str, str]:
    """What makes Ansible report as JSON. No master connection of SSH outlives a run: a kill has to take it along."""
    return {
        **lab.environment,
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "ANSIBLE_LOAD_CALLBACK_PLUGINS": "true",
        "ANSIBLE_SHOW_CUSTOM_STATS": "true",
        "ANSIBLE_PIPELINING": "true",
        "ANSIBLE_HOST_KEY_CHECKING": "false",
        "ANSIBLE_SSH_ARGS": "-o ControlMaster=no",
    }


def report(program: Program) -> Json:
    """The JSON that Ansible printed; it may print other lines before."""
    read_errors = program.output.read_text(encoding="utf-8")
    start = f"\n{read_errors}".find("\n{\n")
    assert start >= 0, f"no report:\n{read_errors}{program.read_errors()}"
    return t.cast(Json, json.loads(read_errors[start:]))
