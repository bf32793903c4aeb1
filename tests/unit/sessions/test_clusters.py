# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a playbook of the lab is started: with the name as it was given, and alone."""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab import guard, runs
from ansible_collections.nodecraft.kubeadm.lab.guard import lock_lab
from ansible_collections.nodecraft.kubeadm.tests.sessions.clusters import run_program, start_lab, stop_lab

LAB = {"LAB": "sre", "K8S": "1.37", "CONTROL_PLANES": "1", "WORKERS": "2"}


class FakeSession:
    """Keeps what it is told to run."""

    posargs = ()

    def __init__(self) -> None:
        self.commands: list[tuple[str, ...]] = []
        self.options: list[dict[str, t.Any]] = []

    def run(self, *command: str, **options: t.Any) -> None:
        self.commands.append(command)
        self.options.append(options)

    @property
    def variables(self) -> dict[str, str]:
        """What the only command hands to Ansible."""
        ((*_program, _playbook, extra),) = (command[:6] for command in self.commands)
        return t.cast("dict[str, str]", json.loads(extra.removeprefix("--extra-vars=")))


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of this test's own for locks."""
    directory = tmp_path / "new" / "locks"
    monkeypatch.setattr(guard, "LOCKS", directory)
    return directory


def test_a_name_with_a_space_is_not_that_of_another_lab() -> None:
    session = FakeSession()
    stop_lab(t.cast(t.Any, session), "sre 2")
    assert session.variables == {"lab_name": "sre 2"}


def test_nothing_but_what_is_requested_is_handed_over() -> None:
    session = FakeSession()
    start_lab(t.cast(t.Any, session), {**LAB, "K8S": "1.37 lab_name=other"}, "--check")
    assert session.variables == {
        "lab_name": "sre",
        "lab_kubernetes": "1.37 lab_name=other",
        "lab_control_planes": "1",
        "lab_workers": "2",
    }
    assert session.commands[0][-1] == "--check"


def test_a_second_playbook_of_a_lab_is_refused_and_one_of_another_lab_is_not(tmp_path: Path) -> None:
    refused = rf"^Another command makes, changes or removes lab sre \(process {os.getpid()}\)\. Wait for its end"
    log = tmp_path / "log"
    with lock_lab("sre"):
        with pytest.raises(SystemExit, match=refused):
            runs.Lab("sre", "1.37", 1, 2).play("down", log)
        assert not log.exists()
        with lock_lab("sre-2"):
            pass
    with lock_lab("sre"):
        pass


def test_a_playbook_takes_the_lock_of_its_lab() -> None:
    session = FakeSession()
    stop_lab(t.cast(t.Any, session), "sre")
    assert session.commands[0][:4] == ("python", "lab/alone.py", "sre", "ansible-playbook")


def test_what_is_interrupted_gets_the_time_that_it_needs() -> None:
    session = FakeSession()
    start_lab(t.cast(t.Any, session), LAB)
    run_program(t.cast(t.Any, session), "demo/demo.py")
    assert [options["interrupt_timeout"] for options in session.options] == [None, None]


@pytest.mark.parametrize("name", ["../../../x", "{0} {x}", "x" * 300, ""])
def test_what_is_no_name_of_a_lab_leads_to_no_other_place(name: str, tmp_path: Path, locks: Path) -> None:
    with lock_lab(name), pytest.raises(SystemExit, match=r"^Another command"), lock_lab(name):
        pass
    assert [path.parent for path in tmp_path.rglob("*") if path.is_file()] == [locks]


def test_what_a_user_exported_does_not_change_how_the_labs_playbooks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANSIBLE_STDOUT_CALLBACK", "ANSIBLE_INVENTORY"):
        monkeypatch.setenv(name, "exported")
    given: list[dict[str, str]] = []

    def run_ansible(*_command: t.Any, env: dict[str, str], **_options: t.Any) -> int:
        given.append(env)
        return 0

    monkeypatch.setattr(runs, "run_ansible", run_ansible)
    runs.Lab("sre", "1.37", 1, 2).play("down", tmp_path / "log")
    session = FakeSession()
    stop_lab(t.cast(t.Any, session), "sre")
    for env in (*given, session.options[0]["env"]):
        assert (env["ANSIBLE_STDOUT_CALLBACK"], env["ANSIBLE_INVENTORY"]) == ("progress", os.devnull)
