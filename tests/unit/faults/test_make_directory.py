# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A directory is made so that a power loss takes neither it nor what is written into it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import files

# What a program of our own finds the engine's files in.
CODE = str(Path(files.__file__).parents[1])
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from _engine.files import make_directory
make_directory(sys.argv[2])
"""


def calls(log: Path, directory: Path) -> list[str]:
    """What was done to directories, in order, by their paths below ours."""
    tracing = ["strace", "-f", "-qq", "-y", "-o", str(log), "-e", "trace=mkdir,fsync"]
    program = [sys.executable, "-I", "-S", "-c", PROGRAM, CODE, str(directory / "a" / "b")]
    subprocess.run([*tracing, *program], check=True)
    return [
        f"{line.split()[1].partition('(')[0]} {line.partition(str(directory))[2].split('>')[0].split(chr(34))[0] or '/'}"
        for line in log.read_text(encoding="utf-8").splitlines()
        if str(directory) in line
    ]


def test_each_new_directory_is_synced_and_the_one_above_it(tmp_path: Path) -> None:
    directory = tmp_path / "root"
    directory.mkdir()
    first = ["mkdir /a", "fsync /a", "fsync /"]
    second = ["mkdir /a/b", "fsync /a/b", "fsync /a"]
    assert calls(tmp_path / "log", directory) == [*first, *second]
    assert (directory / "a").stat().st_mode & 0o7777 == 0o700
    assert calls(tmp_path / "log", directory) == second[1:], "who made it may have died before it was synced"
