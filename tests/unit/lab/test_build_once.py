# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A build that was interrupted leaves nothing half-made, and the next one makes it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

BUILD_ONCE = ROOT / "lab/files/build-once"


def build(result: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BUILD_ONCE, result, *command], capture_output=True, text=True, check=False)


def test_an_interrupted_build_is_made_by_the_next_run(tmp_path: Path) -> None:
    result = tmp_path / "cache" / "thing"
    half = ["sh", "-c", f"echo half > {result}.part; echo begun; exec sleep 60"]
    # Ctrl-C has to reach it, also where the tests themselves were started to take no notice of that.
    command = ["env", "--default-signal=INT", str(BUILD_ONCE), str(result), *half]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        os.killpg(process.pid, signal.SIGINT)
    assert process.returncode != 0
    assert not result.exists()
    done = build(result, "sh", "-c", f"echo whole > {result}.part")
    assert done.stdout == f"built: {result}\n"
    assert result.read_text(encoding="utf-8") == "whole\n"


def test_what_is_there_is_not_built_again(tmp_path: Path) -> None:
    result = tmp_path / "thing"
    result.write_text("there", encoding="utf-8")
    assert build(result, "false").stdout == f"present: {result}\n"


def test_a_build_that_fails_leaves_no_result(tmp_path: Path) -> None:
    result = tmp_path / "thing"
    assert build(result, "sh", "-c", f"touch {result}.part; exit 3").returncode == 3
    assert not result.exists()


def drop_damaged(cache: Path) -> str:
    command = [BUILD_ONCE.with_name("drop-damaged"), cache]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_what_is_not_there_in_full_is_built_again_and_all_else_stays(tmp_path: Path) -> None:
    file, directory, whole, older = (tmp_path / name for name in ("file", "directory", "whole", "older"))
    for result in (file, whole):
        build(result, "sh", "-c", f"echo content > {result}.part")
    build(directory, "sh", "-ec", f"mkdir {directory}.part; echo a > {directory}.part/a; echo b > {directory}.part/b")
    older.write_text("built before sizes were noted", encoding="utf-8")
    assert drop_damaged(tmp_path) == ""
    os.truncate(file, 3)
    (directory / "b").unlink()
    assert drop_damaged(tmp_path).splitlines() == [f"dropped: {directory}", f"dropped: {file}"]
    assert (file.exists(), directory.exists(), whole.exists(), older.exists()) == (False, False, True, True)
    assert build(file, "sh", "-c", f"echo content > {file}.part").stdout == f"built: {file}\n"
    assert drop_damaged(tmp_path) == ""


def test_a_cache_that_is_not_there_is_not_damaged(tmp_path: Path) -> None:
    assert drop_damaged(tmp_path / "none") == ""
