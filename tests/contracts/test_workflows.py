# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CI runs targets of the Makefile, and of others only what is pinned by its commit: a tag may be moved to another one."""

from __future__ import annotations

import re
import typing as t

import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from ansible_collections.nodecraft.kubeadm.tests.contracts.test_commands import targets_of
from ansible_collections.nodecraft.kubeadm.tests.contracts.test_support import value_of

PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
MAKE = re.compile(r'sudo env "PATH=\$PATH" (?:"XDG_CACHE_HOME=\$HOME/\.cache" )?make (\S.*)')
# What finds most mistakes; all else waits for it.
FIRST = {"test-first", "test-lint"}
SETUP = "actions/setup-python@"

# Ansible's community requires all tests for each change, whatever it is about, and each week.
EVENTS = {"pull_request", "push", "schedule", "workflow_dispatch"}
WEEKLY = re.compile(r"\d+ \d+ \* \* (?:\*|[0-6])")


def events_of(workflow: t.Mapping[t.Any, t.Any]) -> set[str]:
    """What starts a workflow; YAML 1.1 reads C(on) as a truth value."""
    return set(workflow[True])


def made(job: t.Mapping[str, t.Any]) -> set[str]:
    """The targets that a job makes."""
    found = {match[1] for step in job["steps"] if (match := MAKE.fullmatch(step.get("run", "")))}
    matrix = job.get("strategy", {}).get("matrix", {}).get("target", [])
    return {target for name in found for target in (matrix if name == "${{ matrix.target }}" else [name])}


def pythons(job: t.Mapping[str, t.Any]) -> set[str]:
    """The Pythons that a job has."""
    found = [step["with"]["python-version"] for step in job["steps"] if step.get("uses", "").startswith(SETUP)]
    return {version for listed in found for version in listed.split()}


def supported_pythons() -> set[str]:
    """The Pythons of controllers, and those of nodes from the oldest to the newest of the controllers."""
    cores = value_of("CORES").values()
    newest = max(int(python[2:]) for _release, found in cores for python in found)
    oldest = yaml.safe_load((ROOT / "tests/config.yml").read_text("utf-8"))["modules"]["python_requires"]
    return {f"3.{minor}" for minor in range(int(oldest.removeprefix(">=3.")), newest + 1)}


def seldom(workflow: t.Mapping[t.Any, t.Any]) -> list[str]:
    """What keeps a workflow from some changes, or from running at least once a week."""
    events = workflow[True]
    filters = [f"pull_request: {name}" for name in events["pull_request"] or {}]
    crons = [entry["cron"] for entry in events["schedule"]]
    return filters + ([] if any(map(WEEKLY.fullmatch, crons)) else [f"schedule: {cron}" for cron in crons])


def test_workflows_make_targets_and_pin_what_they_use() -> None:
    workflows = [yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")]
    jobs = [job for workflow in workflows for job in workflow["jobs"].values()]
    assert [made(job) - targets_of((ROOT / "Makefile").read_text("utf-8")) for job in jobs] == [set() for _job in jobs]
    later = {"test", "test-unit", "test-sanity", "test-lab", "test-docs", "test-faults"}
    assert set().union(*map(made, jobs)) == FIRST | later
    assert [job.get("needs") for job in jobs if made(job) & later] == ["first"]
    assert [made(job) for workflow in workflows for name, job in workflow["jobs"].items() if name == "first"] == [FIRST]
    assert [sorted(events_of(workflow)) for workflow in workflows] == [sorted(EVENTS) for _workflow in workflows]
    assert [seldom(workflow) for workflow in workflows] == [[] for _workflow in workflows]
    used = [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]
    assert used
    assert [use for use in used if not PINNED.fullmatch(use)] == []


def test_no_commit_of_main_ends_the_tests_of_another() -> None:
    """A release needs the tests of its own commit, which take hours, and the next commit may come before they end."""
    groups = [
        yaml.safe_load(path.read_text("utf-8"))["concurrency"]["group"]
        for path in (ROOT / ".github/workflows").glob("*.yml")
    ]
    assert groups
    assert [
        group for group in groups if "github.event_name == 'pull_request' && github.ref || github.sha" not in group
    ] == []


def test_every_supported_python_is_there() -> None:
    """Of a Python that the machine lacks no session is run, and none of an ansible-core that only starts on it."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))["jobs"].values()
    assert {"3.9", "3.13"} < supported_pythons()
    assert [supported_pythons() - pythons(job) for job in jobs] == [set() for _job in jobs]


def test_a_breach_is_found() -> None:
    weekly = {"pull_request": None, "schedule": [{"cron": "17 2 * * 6"}]}
    assert seldom({True: weekly}) == []
    assert seldom({True: {**weekly, "pull_request": {"paths": ["docs"]}}}) == ["pull_request: paths"]
    assert seldom({True: {**weekly, "schedule": [{"cron": "17 2 1 * *"}]}}) == ["schedule: 17 2 1 * *"]
    assert pythons({"steps": [{"uses": f"{SETUP}v1", "with": {"python-version": "3.9\n3.10\n"}}]}) == {"3.9", "3.10"}
    make = 'sudo env "PATH=$PATH" make'
    assert made({"steps": [{"run": f"{make} a"}, {"run": "sudo apt-get update"}, {"uses": "x/y@v1"}]}) == {"a"}
    matrix = {"matrix": {"target": ["b", "c"]}}
    assert made({"strategy": matrix, "steps": [{"run": f"{make} ${{{{ matrix.target }}}}"}]}) == {"b", "c"}
    assert not PINNED.fullmatch("actions/checkout@v7")
