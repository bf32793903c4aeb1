# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is changed when, and what is reported: the role as it is, run by Ansible, with a module that changes nothing."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
API_SERVER = "kube-apiserver"
ROLE = {"role": "nodecraft.kubeadm.control_plane"}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of a play. changed: the hosts in their order. report: what the role said, one text for each time."""

    status: int
    output: str
    planned: list[str]
    changed: list[str]

    @property
    def reports(self) -> list[str]:
        """The role's lines, one text for each time that it reported."""
        return [part.split("\n}", 1)[0] for part in self.output.split('"msg": [')[1:]]


Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(tmp_path: Path) -> Play:
    """Run the role in a play on cp1, cp2 and cp3; C(stub) says what each does for kube-apiserver."""
    collection = tmp_path / "ansible_collections/nodecraft/kubeadm"
    (collection / "plugins/action").mkdir(parents=True)
    for name in ("meta", "roles", "plugins/modules"):
        (collection / name).symlink_to(ROOT / name)
    for name in ("static_pod", "node_transaction"):
        shutil.copy(HERE / "stub_static_pod.py", collection / "plugins/action" / f"{name}.py")
    log = tmp_path / "calls"
    log.touch()

    def play(*stub: str, roles: t.Sequence[dict[str, t.Any]] = (ROLE,), **keywords: t.Any) -> Outcome:
        hosts = {f"cp{number}": {"stub": {API_SERVER: each}} for number, each in enumerate(stub, start=1)}
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        inventory = {"kube_control_plane": {"hosts": hosts, "vars": local}}
        (tmp_path / "inventory.yml").write_text(json.dumps(inventory), encoding="utf-8")
        plays = [{"hosts": "kube_control_plane", "gather_facts": False, "roles": list(roles), **keywords}]
        (tmp_path / "play.yml").write_text(json.dumps(plays), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "ansible", "playbook", "--inventory=inventory.yml", "play.yml"],
            cwd=tmp_path,
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(tmp_path),
                "ANSIBLE_HOME": str(tmp_path / "home"),
                "ANSIBLE_NOCOLOR": "true",
                "ANSIBLE_FORCE_COLOR": "false",
                "LC_ALL": "C.UTF-8",
                "STUB_LOG": str(log),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        calls = [line.split() for line in log.read_text(encoding="utf-8").splitlines()]
        told = {
            step: [host for what, host, component in calls if (what, component) == (step, API_SERVER)]
            for step in ("plan", "change")
        }
        return Outcome(done.returncode, done.stdout + done.stderr, told["plan"], told["change"])

    return play


def test_all_are_planned_and_then_changed_one_after_the_other(play: Play) -> None:
    outcome = play("changes", "nothing", "changes")
    assert outcome.status == 0
    assert sorted(outcome.planned) == ["cp1", "cp2", "cp3"]
    assert outcome.changed == ["cp1", "cp3"]
    (report,) = outcome.reports
    assert "cp1 kube-apiserver: committed" in report
    assert "cp2: nothing to change" in report
    assert "cp3 kube-apiserver: committed" in report
    assert "kubeadm upgrade" in report


def test_a_refusal_keeps_every_node_from_a_change(play: Play) -> None:
    outcome = play("changes", "changes", "refused")
    assert outcome.status != 0
    assert outcome.changed == []


@pytest.mark.parametrize("ending", ["restored", "lost"])
def test_a_failure_leaves_later_nodes_untouched_and_is_reported(play: Play, ending: str) -> None:
    outcome = play("changes", ending, "changes")
    assert outcome.status != 0
    assert outcome.changed == ["cp1", "cp2"]
    (report,) = outcome.reports
    assert "cp1 kube-apiserver: committed" in report
    assert f"cp2 kube-apiserver: {ending}" in report
    assert "cp3 kube-apiserver: planned" in report


@pytest.mark.parametrize("stub", [("restored", "changes", "changes"), ("refused", "changes", "changes")])
def test_nothing_is_changed_behind_a_failure_that_is_ignored(play: Play, stub: tuple[str, str, str]) -> None:
    outcome = play(*stub, ignore_errors=True)
    assert outcome.changed in (["cp1"], [])
    # Some releases of ansible-core end the play all the same.
    assert outcome.status != 0 or "cp2 was not changed, because cp1 failed." in outcome.output


def test_a_play_that_does_not_keep_its_hosts_in_step_is_refused(play: Play) -> None:
    outcome = play("changes", "changes", "changes", strategy="free")
    assert outcome.status != 0
    assert len(outcome.changed) <= 1
    assert "its strategy has to be linear" in outcome.output


def test_every_batch_reports_for_itself(play: Play) -> None:
    outcome = play("changes", "changes", serial=1)
    assert outcome.status == 0
    assert [f"cp{number} kube-apiserver: committed" in report for number, report in enumerate(outcome.reports, 1)] == [
        True,
        True,
    ]


def test_a_second_pass_tells_of_those_that_take_part(play: Play) -> None:
    outcome = play("changes", "changes", roles=[ROLE, {**ROLE, "when": "inventory_hostname == 'cp2'"}])
    assert outcome.status == 0
    first, second = outcome.reports
    assert "cp1" in first
    assert "cp1" not in second
    assert "cp2" in second


def test_a_node_that_the_play_has_lost_stops_it(play: Play) -> None:
    outcome = play(
        "changes", "changes", pre_tasks=[{"ansible.builtin.fail": {}, "when": "inventory_hostname == 'cp1'"}]
    )
    assert outcome.status != 0
    assert outcome.planned == []
    assert "cp1 failed, could not be reached or was ended" in outcome.output
