# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task of the action plugin may request, and what a step returns."""

from __future__ import annotations

import re

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.rollout_steps import ROLES
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import FakePlay, Json, Task


def run_step(play: FakePlay, **args: object) -> Json:
    """The result of a task on w1."""
    found: Json = play._action(Task(dict(args), play.play)).run(task_vars=play.variables("node_kubelet", "w1"))
    return found


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            {"role": "node_kubelet", "step": "begin", "other": 1, "more": 2},
            "invalid options other, more: must be role,",
        ),
        (
            {"role": "kubelets", "step": "begin"},
            f"invalid role 'kubelets' or step 'begin': must be one of {', '.join(ROLES)}",
        ),
        ({"role": "node_kubelet", "step": "run"}, "invalid role 'node_kubelet' or step 'run': must be one of"),
        ({"step": "begin"}, "invalid role '' or step 'begin'"),
        ({"role": "node_kubelet", "step": "apply"}, "invalid step 'apply': must be one of those that node_kubelet has"),
        ({"role": "site", "step": "turn", "settings": {}}, "invalid step 'turn': must be one of those that site has"),
    ],
)
def test_what_a_task_must_not_request(args: Json, words: str) -> None:
    with pytest.raises(AnsibleActionFail, match=words.replace("(", r"\(")):
        run_step(FakePlay({"w1": {}}), **args)


@pytest.mark.parametrize(
    "role", ["control_plane", "node_kubelet", "node_resources", "placement_guard", "device_plugin"]
)
@pytest.mark.parametrize("step", ["decide", "admit"])
def test_a_role_that_begins_in_the_middle_is_refused(role: str, step: str) -> None:
    if not hasattr(ROLES[role], step):
        with pytest.raises(AnsibleActionFail):
            run_step(FakePlay({"w1": {}}), role=role, step=step)
        return
    found = run_step(FakePlay({"w1": {}}), role=role, step=step, settings=None)
    assert (found["failed"], found["changed"]) == (True, False)
    assert found["msg"].startswith(f"Nothing was changed: the role {role} has not begun. Run it from its first")


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_role_that_is_refused_in_the_second_pass_reports_that_the_first_one_changed_something(
    check_mode: bool,
) -> None:
    play = FakePlay({"w1": {"__play_pass": "rest"}})
    task = Task({"role": "node_kubelet", "step": "decide"}, play.play, check_mode=check_mode)
    found = play._action(task).run(task_vars=play.variables("node_kubelet", "w1"))
    prefix = "The first of two passes is done, and what it changed stays. This is about the second one only: "
    assert found["msg"].startswith(f"{'' if check_mode else prefix}Nothing was changed: ")


def test_a_pass_has_a_number_that_all_its_steps_report() -> None:
    play = FakePlay({"w1": {}, "w2": {}})
    settings = play.role_settings("node_resources", "w1")
    play.results["kubelet_info"] = {"node": "n", "cluster": {}}
    started = run_step(play, role="node_resources", step="begin", settings=settings)
    assert re.fullmatch("[0-9a-f]{8}", started["pass_id"])
    play.hostvars["w1"]["__node_resources_begin"] = started
    assert run_step(play, role="node_resources", step="decide")["pass_id"] == started["pass_id"]
    play.hostvars["w1"]["__node_resources_decide"] = run_step(play, role="node_resources", step="decide")
    # Not every task has settings.
    assert run_step(play, role="node_resources", step="apply")["api_reachable"] is True
    again = run_step(play, role="node_resources", step="begin", settings=settings)
    assert again["pass_id"] != started["pass_id"]
    # So is one that could not begin: its end is not that of the pass before.
    play.hostvars["w1"]["node_resources_label"] = 1
    refused = run_step(play, role="node_resources", step="begin", settings=settings)
    assert refused["failed"]
    assert refused["pass_id"] not in ("", started["pass_id"])
    play.hostvars["w1"]["__node_resources_begin"] = refused
    assert run_step(play, role="node_resources", step="end")["pass_id"] == refused["pass_id"]


def test_failure_at_the_end_is_its_message_only() -> None:
    """Each of many hosts shows all that is in it."""
    why = "Not changed, because w2 failed."
    registers = {"__node_resources_begin": {"pass_id": "p"}, "__node_resources_end": {"pass_id": "p", "why": why}}
    found = run_step(FakePlay({"w1": registers}), role="node_resources", step="acknowledge")
    assert found == {"changed": False, "failed": True, "msg": why}


def test_warnings_of_modules_and_of_the_step_are_those_of_the_task() -> None:
    play = FakePlay(
        {"w1": {}}, results={"kubelet_info": {"node": "n", "warnings": ["old"], "deprecations": [{"msg": "gone soon"}]}}
    )
    found = run_step(play, role="node_resources", step="begin", settings=play.role_settings("node_resources", "w1"))
    assert (found["warnings"], found["deprecations"], found["changed"]) == (["old"], [{"msg": "gone soon"}], False)
    play.results["kubelet_info"] = {"node": "n"}
    found = run_step(play, role="node_resources", step="begin", settings=play.role_settings("node_resources", "w1"))
    assert "warnings" not in found
