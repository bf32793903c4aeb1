# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kill or an error at every system call with which a manifest is replaced."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import files

NAME = "kube-apiserver.yaml"
OLD, NEW = b"old: manifest\n", b"new: manifest\n" * 400
# What a program of our own finds the engine's files in.
CODE = str(Path(files.__file__).parents[1])
PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[1])
from _engine.files import write_atomically
write_atomically(sys.argv[2], b"new: manifest\\n" * 400, mode=0o600, uid=os.getuid(), gid=os.getgid())
"""
CALLS = ("openat", "write", "fsync", "rename", "close")
ERRORS = {"openat": "EROFS", "write": "ENOSPC", "fsync": "EIO", "rename": "EACCES"}


def inject(directory: Path, call: str, what: str, number: int) -> int:
    """Replace the manifest, with something going wrong at one system call on it, its directory or its temporary file."""
    paths = [directory, directory / NAME, directory / f".{NAME}.nodecraft-kubeadm"]
    watched = [item for path in paths for item in ("-P", str(path))]
    expression = f"inject={call}:{what}:when={number}"
    tracing = ["strace", "-f", "-qq", "-o", os.devnull, *watched, "-e", f"trace={call}", "-e", expression]
    program = [sys.executable, "-I", "-S", "-c", PROGRAM, CODE, str(directory / NAME)]
    return subprocess.run([*tracing, *program], check=False, capture_output=True).returncode


def old_manifest(directory: Path) -> None:
    for path in directory.iterdir():
        path.unlink()
    (directory / NAME).write_bytes(OLD)


def visible(directory: Path) -> list[str]:
    return [name for name in os.listdir(directory) if not name.startswith(".")]


@pytest.mark.parametrize("call", CALLS)
def test_killed_at_any_call_the_manifest_is_old_or_new_and_alone(tmp_path: Path, call: str) -> None:
    seen: list[bytes] = []
    for number in range(1, 12):
        old_manifest(tmp_path)
        status = inject(tmp_path, call, "signal=KILL", number)
        content = (tmp_path / NAME).read_bytes()
        assert content in (OLD, NEW)
        assert visible(tmp_path) == [NAME]
        if status == 0:
            assert content == NEW
            break
        assert status in (-signal.SIGKILL, 128 + signal.SIGKILL)
        seen.append(content)
    else:
        pytest.fail("there is no end of calls")
    assert seen, f"no {call} was met, so nothing was tested"
    if call in ("openat", "write"):
        assert seen[0] == OLD
    if call == "fsync":
        assert seen == [OLD, NEW], "the file is synced before the rename, and the directory after it"


@pytest.mark.parametrize("call", ERRORS)
def test_an_error_at_any_call_leaves_the_manifest_whole_and_no_rest(tmp_path: Path, call: str) -> None:
    failures = 0
    for number in range(1, 12):
        old_manifest(tmp_path)
        status = inject(tmp_path, call, f"error={ERRORS[call]}", number)
        content = (tmp_path / NAME).read_bytes()
        assert content in (OLD, NEW)
        assert os.listdir(tmp_path) == [NAME]
        if status == 0:
            assert content == NEW
            break
        failures += 1
    else:
        pytest.fail("there is no end of calls")
    assert failures, f"no {call} was met, so nothing was tested"


def test_without_injection_the_program_does_its_work(tmp_path: Path) -> None:
    old_manifest(tmp_path)
    assert inject(tmp_path, "write", "signal=KILL", 99) == 0
    assert (tmp_path / NAME).read_bytes() == NEW
