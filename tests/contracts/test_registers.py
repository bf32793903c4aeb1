# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tasks of a role register is what its rollout reads: a name that differs would read as a task that did not run."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.rollout_pass import REGISTERED
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

FILES = sorted(ROOT.glob("roles/*/tasks/*.yml"))
OURS = "nodecraft.kubeadm."
ROLLOUT = f"{OURS}rollout"


def tasks(entries: t.Sequence[t.Any]) -> t.Iterator[dict[str, t.Any]]:
    """The tasks of a file, those in blocks too."""
    for entry in entries:
        for part in ("block", "rescue", "always"):
            yield from tasks(entry.get(part, []))
        yield entry


def objections(role: str, task: dict[str, t.Any]) -> list[str]:
    """What is wrong with what a task with a module of ours registers."""
    if "register" not in task or not any(key.startswith(OURS) for key in task):
        return []
    name = task["register"].removeprefix(f"__{role}_")
    step = task.get(ROLLOUT, {}).get("step", name)
    found = [] if name == {"begin": "pass", "end": "pass"}.get(step, step) else [f"{step} is registered as {name}"]
    return found if name in REGISTERED else [*found, f"{name} is not read"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_registered_is_read(path: Path) -> None:
    role = path.parents[1].name
    found = [objections(role, task) for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8")))]
    assert [objection for each in found for objection in each] == []


def test_another_name_is_found() -> None:
    step = {ROLLOUT: {"step": "decide"}, "register": "__r_decision"}
    assert objections("r", step) == ["decide is registered as decision", "decision is not read"]
    assert objections("r", {**step, "register": "__r_decide"}) == []
    assert objections("r", {ROLLOUT: {"step": "end"}, "register": "__r_pass"}) == []
    assert objections("r", {f"{OURS}kubelet": {}, "register": "__r_chnage"}) == ["chnage is not read"]
