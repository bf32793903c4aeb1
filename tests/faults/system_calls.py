# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""System calls of a process: what it does with files, and one of them killed, failed or stopped, by strace."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import typing as t
from collections import Counter
from pathlib import Path

# A name with a question mark is one that not every machine has.
CHANGING = [
    *(
        "openat",
        "?creat",
        "write",
        "pwrite64",
        "writev",
        "ftruncate",
        "?truncate",
        "fallocate",
        "fsync",
        "fdatasync",
        "flock",
    ),
    *("?rename", "?renameat", "renameat2", "?link", "linkat", "?symlink", "symlinkat", "?unlink", "unlinkat"),
    *("?mkdir", "mkdirat", "?rmdir", "?chmod", "fchmod", "fchmodat", "?chown", "?lchown", "fchown", "fchownat"),
    *("setxattr", "fsetxattr", "lsetxattr"),
]
READING = [
    *("read", "pread64", "getdents64", "?stat", "?lstat", "fstat", "newfstatat", "?readlink", "readlinkat"),
    *("listxattr", "getxattr", "statfs"),
]
_LINE = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>.*)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
# A name in a directory that is open.
_BELOW = re.compile(r'\d+<(/[^>]*)>, "([^"/]+)"')
_DESCRIPTOR = re.compile(r"(?:AT_FDCWD|\d+)<([^>]*)>")


@dataclasses.dataclass(frozen=True)
class Fault:
    """What happens at one system call: ``signal=KILL``, ``error=ENOSPC``. number: which call of that name, from 1.

    lasting: also at every later one of that name.
    """

    call: str
    number: int
    what: str
    lasting: bool = False

    @property
    def expression(self) -> str:
        """As strace takes it."""
        return f"inject={self.call}:{self.what}:when={self.number}{'+' if self.lasting else ''}"


@dataclasses.dataclass(frozen=True)
class Call:
    """One system call. number: which one of its name. paths: its files, those of descriptors too. result: strace's words."""

    name: str
    number: int
    arguments: str
    paths: tuple[str, ...]
    result: str

    @property
    def succeeded(self) -> bool:
        """Whether it did something."""
        return self.result[:1].isdigit()

    @property
    def killed(self) -> bool:
        """Whether the process ended in it, so that it did nothing."""
        return self.result.startswith("?")

    @property
    def injected(self) -> bool:
        """Whether a fault was put into it."""
        return self.killed or "INJECTED" in self.result or "DELAYED" in self.result

    @property
    def changes(self) -> bool:
        """Whether it is of the kind that changes something on a disk, or takes a lock."""
        if self.name == "openat":
            return re.search(r"O_CREAT|O_TRUNC|O_WRONLY|O_RDWR", self.arguments) is not None
        return self.name in {name.lstrip("?") for name in CHANGING}

    def flag(self, name: str) -> bool:
        """Whether an open has this flag."""
        return name in self.arguments

    def below(self, directory: Path) -> bool:
        """Whether it is about a file in this directory or one of its directories."""
        return any(path == str(directory) or path.startswith(f"{directory}/") for path in self.paths)


def parse(log: str) -> list[Call]:
    """The calls in a log of strace."""
    counts: Counter[str] = Counter()
    calls = []
    for line in log.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None:
            assert line.startswith(("+++", "---")) or "resumed>" in line or "<unfinished" in line, line
            continue
        name, arguments = match["name"], match["arguments"]
        counts[name] += 1
        calls.append(Call(name, counts[name], arguments, _paths(name, arguments), match["result"]))
    return calls


def _paths(name: str, arguments: str) -> tuple[str, ...]:
    quoted = [text for text in _QUOTED.findall(arguments) if text.startswith("/")]
    quoted = quoted or [f"{place}/{text}" for place, text in _BELOW.findall(arguments)]
    if name in ("write", "pwrite64", "read", "pread64"):
        quoted = []
    if quoted:
        return tuple(quoted)
    return tuple(path.removesuffix(" (deleted)") for path in _DESCRIPTOR.findall(arguments) if path.startswith("/"))


class Tracer:
    """strace on a process that waits for its order."""

    def __init__(self, pid: int, log: Path, fault: Fault | None = None) -> None:
        self._log = log
        command = [
            "strace",
            "-p",
            str(pid),
            "-o",
            str(log),
            "-y",
            "-s",
            "0",
            "-e",
            f"trace={','.join(CHANGING + READING)}",
        ]
        if fault is not None:
            command += ["-e", fault.expression]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = t.cast(t.IO[str], self._process.stderr).readline()
        assert "attached" in line, line

    def finish(self) -> list[Call]:
        """What it saw, once the process has ended."""
        error = self._process.communicate(timeout=60)[1]
        assert self._log.exists(), error
        return parse(self._log.read_text(encoding="utf-8", errors="replace"))
