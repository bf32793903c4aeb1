# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second ``make lab-up`` brings back a lab that stands still, and needs nothing of the cache."""

from __future__ import annotations

import ast
import json
import typing as t

import jinja2
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

STATES = {"1": "running", "2": "paused", "3": "exited", "4": "created"}


def tasks(name: str) -> list[dict[str, t.Any]]:
    """Those of a file, and those of its blocks."""
    found = yaml.safe_load((ROOT / "lab/tasks" / f"{name}.yml").read_text(encoding="utf-8"))
    return [one for task in found for one in task.get("block", [task])]


def test_paused_nodes_are_unpaused_and_others_that_stand_still_are_started() -> None:
    (task,) = tasks("restart")
    environment = jinja2.Environment()  # noqa: S701 (a command, no page)
    environment.filters["from_json"] = json.loads

    def render(template: str, **names: t.Any) -> t.Any:
        return ast.literal_eval(environment.from_string(template).render(names))

    listed = {"stdout": json.dumps([{"Id": number, "State": state} for number, state in STATES.items()])}
    still = render(task["vars"]["lab_still"], lab_containers=listed)
    commands = {item["command"]: render(item["containers"], lab_still=still) for item in task["loop"]}
    assert commands == {"unpause": ["2"], "start": ["3", "4"]}


def test_kubectl_of_a_lab_stays_when_the_cache_is_deleted() -> None:
    (put,) = (task for task in tasks("hand_over") if str(task).find("lab_directory }}/kubectl'") >= 0)
    assert "ansible.builtin.copy" in put
    assert put["when"] == "not lab_ready"
