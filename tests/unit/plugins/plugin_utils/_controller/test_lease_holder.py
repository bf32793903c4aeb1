# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""By which name a run holds a Lease, and when the run of a name is gone."""

from __future__ import annotations

import getpass
import os
import re
import signal
import subprocess
import sys
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller import lease_holder
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.lease_holder import holder_name, is_gone


def test_the_user_and_the_machine_and_what_no_other_run_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ops")
    whose, name = holder_name().split("/")
    assert whose == f"ops@{os.uname().nodename}"
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9]+-[0-9]+-[0-9a-f]{8}", name)
    assert holder_name() == f"{whose}/{name}"


@pytest.mark.parametrize("error", [KeyError, OSError])
def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def nameless() -> str:
        raise error("no name for this number")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert holder_name().startswith(f"{os.getuid()}@{os.uname().nodename}/")


@pytest.fixture(name="run")
def fixture_run() -> t.Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A process, and the name of a run that it is."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    found = lease_holder._read_process(process.pid)
    assert found is not None
    yield process, f"ada@{os.uname().nodename}/1f0c9d2e-{process.pid}-{found.start}-{lease_holder._process_scope()}"
    process.kill()
    process.communicate()


def test_run_is_gone_once_it_was_killed(run: tuple[subprocess.Popen[bytes], str]) -> None:
    process, name = run
    assert not is_gone(name)
    assert not is_gone(holder_name())
    process.kill()
    process.wait()
    assert is_gone(name)


def test_run_is_gone_when_its_number_is_another_process(run: tuple[subprocess.Popen[bytes], str]) -> None:
    whose, pid, start, place = run[1].rsplit("-", 3)
    assert is_gone(f"{whose}-{pid}-{int(start) + 1}-{place}")


def test_run_of_elsewhere_is_never_known_to_be_gone(run: tuple[subprocess.Popen[bytes], str]) -> None:
    process, name = run
    process.kill()
    process.wait()
    for other in (
        "",
        "them",
        "ada@elsewhere/1f0c9d2e",
        name.replace(os.uname().nodename, "elsewhere"),
        f"{name.rpartition('-')[0]}-00000000",
    ):
        assert not is_gone(other), other


# Starts a process whose command line is that of a run, as that of a task is which it forked, and ends with its number.
FORK = """
import subprocess, sys
child = subprocess.Popen(["ansible-playbook", "-c", "import time; time.sleep(60)"], executable=sys.executable)
print(child.pid, flush=True)
"""


@pytest.mark.parametrize(("rest", "is_left"), [("", True), ("child.wait()", False)])
def test_killed_run_has_tasks_left_but_not_those_of_a_live_run(
    run: tuple[subprocess.Popen[bytes], str], rest: str, is_left: bool
) -> None:
    process, name = run
    process.kill()
    process.wait()
    parent = subprocess.Popen([sys.executable, "-c", FORK + rest], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    try:
        # The kernel shows its words a moment after it has begun to execute it.
        while not lease_holder._is_of_ansible(child):
            os.kill(child, 0)
        if is_left:
            parent.wait()
        assert is_gone(name) is not is_left
    finally:
        os.kill(child, signal.SIGKILL)
        parent.communicate()
