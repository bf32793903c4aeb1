# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A playbook holds the lock of its lab itself, so that it is known to work on when who started it is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab.guard import lock_lab
from ansible_collections.nodecraft.kubeadm.tests.sessions.places import COLLECTIONS, ROOT

LAB = f"unit-{os.getpid()}"
# Not this Python's: the path in a program's first line ends at a space.
PLAYBOOK = """#!/bin/sh
echo $$ > "$STARTED"
exec sleep 60
"""
STARTERS = {
    # As nox does.
    "alone.py": f"import subprocess; subprocess.run([{sys.executable!r}, 'lab/alone.py', {LAB!r}, 'ansible-playbook'])",
    "Lab.play": f"""
from pathlib import Path
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab
Lab({LAB!r}, "1.37", 1, 2).play("down", Path("/dev/null"))
""",
}


def free() -> bool:
    """Whether no playbook works on the lab, by the lock."""
    try:
        with lock_lab(LAB):
            return True
    except SystemExit:
        return False


@pytest.mark.parametrize("starter", STARTERS.values(), ids=STARTERS)
def test_the_lock_is_held_until_the_playbook_ends_also_when_who_started_it_is_killed(
    starter: str, tmp_path: Path
) -> None:
    program, started = tmp_path / "ansible-playbook", tmp_path / "started"
    program.write_text(PLAYBOOK, encoding="utf-8")
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(COLLECTIONS), *sys.path]),
        "STARTED": str(started),
    }
    with subprocess.Popen([sys.executable, "-c", starter], cwd=ROOT, env=environment) as process:
        until(lambda: started.exists() and started.read_text(encoding="utf-8") != "")
        process.kill()
    playbook = int(started.read_text(encoding="utf-8"))
    with (
        pytest.raises(SystemExit, match=rf"\(process {playbook}\)\. Wait .* with kill {playbook}\.$"),
        lock_lab(LAB),
    ):
        pass
    os.kill(playbook, signal.SIGKILL)
    until(free)


def test_the_lock_of_a_lab_is_that_of_all_clones_on_the_machine(tmp_path: Path) -> None:
    other = tmp_path / "ansible_collections/nodecraft/kubeadm"
    for directory in ("lab", "tests/sessions"):
        (other / directory).mkdir(parents=True)
        for path in (ROOT / directory).glob("*.py"):
            shutil.copy(path, other / directory)
    with lock_lab(LAB):
        done = subprocess.run(
            [sys.executable, "lab/alone.py", LAB, "echo", "started"],
            cwd=other,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Another command makes, changes or removes lab {LAB} (process {os.getpid()}).")


def until(holds: t.Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
