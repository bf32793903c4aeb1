# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CI runs targets of the Makefile, and of others only what is pinned by its commit: a tag may be moved to another one."""

from __future__ import annotations

import re
import typing as t

import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from ansible_collections.nodecraft.kubeadm.tests.contracts.test_commands import targets_of

PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
MAKE = re.compile(r"sudo make (\S.*)")

# Ansible's community requires all tests for each change, and each week.
EVENTS = {"pull_request", "push", "schedule", "workflow_dispatch"}


def events_of(workflow: t.Mapping[t.Any, t.Any]) -> set[str]:
    """What starts a workflow; YAML 1.1 reads C(on) as a truth value."""
    return set(workflow[True])


def made(job: t.Mapping[str, t.Any]) -> set[str]:
    """The targets that a job makes."""
    found = {match[1] for step in job["steps"] if (match := MAKE.fullmatch(step.get("run", "")))}
    matrix = job.get("strategy", {}).get("matrix", {}).get("target", [])
    return {target for name in found for target in (matrix if name == "${{ matrix.target }}" else [name])}


def test_workflows_make_targets_and_pin_what_they_use() -> None:
    workflows = [yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")]
    jobs = [job for workflow in workflows for job in workflow["jobs"].values()]
    assert [made(job) - targets_of((ROOT / "Makefile").read_text("utf-8")) for job in jobs] == [set() for _job in jobs]
    assert set().union(*map(made, jobs)) == {"test", "test-unit", "test-sanity", "test-lab", "test-docs", "test-faults"}
    assert [sorted(events_of(workflow)) for workflow in workflows] == [sorted(EVENTS) for _workflow in workflows]
    used = [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]
    assert used
    assert [use for use in used if not PINNED.fullmatch(use)] == []


def test_a_breach_is_found() -> None:
    assert made({"steps": [{"run": "sudo make a"}, {"run": "sudo apt-get update"}, {"uses": "x/y@v1"}]}) == {"a"}
    matrix = {"matrix": {"target": ["b", "c"]}}
    assert made({"strategy": matrix, "steps": [{"run": "sudo make ${{ matrix.target }}"}]}) == {"b", "c"}
    assert not PINNED.fullmatch("actions/checkout@v7")
