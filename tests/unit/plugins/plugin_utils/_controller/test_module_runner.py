# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a step runs modules."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.typed import ModuleResult
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.module_runner import ModuleRunner
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.play_view import PlayView
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, FakePlay, Json, Task


@dataclasses.dataclass(frozen=True)
class Result(ModuleResult):
    """Of a module in these tests."""

    node: str = ""
    present: bool = False


def runner_of(play: FakePlay, **of_task: t.Any) -> ModuleRunner:
    """The modules of a step on w1. of_task: keywords of its task."""
    return ModuleRunner(play._action(Task({}, play.play, **of_task)), play.variables("node_kubelet", "w1"))


def run(runner: ModuleRunner, module: str, arguments: Json, **more: t.Any) -> Result:
    return runner.run(module, arguments, Result, **more)


@pytest.mark.parametrize(
    ("delegate_to", "become", "by"),
    [("localhost", False, None), ("localhost", True, "sudo"), ("cp1", False, "sudo"), ("", False, "sudo")],
)
def test_a_task_that_is_sent_to_the_controller_becomes_another_user_by_its_keyword_alone(
    delegate_to: str, become: bool, by: str | None
) -> None:
    """Of another host the variable of the inventory counts, and of the controller where it is a host of the play."""
    play = FakePlay({"w1": {}})
    runner_of(play, delegate_to=delegate_to, become=become)
    assert play.connection.become == by


def test_a_module_runs_where_the_task_does() -> None:
    play = FakePlay({"w1": {}}, results={"kubelet_info": {"node": "n", "warnings": ["old"]}})
    found = runner_of(play, delegate_to="cp1")
    assert run(found, "kubelet_info", {"a": 1}).node == "n"
    run(found, "kubelet_info", {})
    (call, _again) = play.all_calls
    assert (call.host, call.on, call.arguments, call.dry, found.warnings) == (
        "w1",
        "cp1",
        {"a": 1},
        False,
        ["old", "old"],
    )
    assert [
        PlayView(play._action(Task({}, play.play, delegate_to=to)), play.variables("node_kubelet", "w1")).delegate_host
        for to in ("cp1", "")
    ] == ["cp1", "w1"]


@pytest.mark.parametrize(
    ("check_mode", "is_plan", "dry"), [(False, True, True), (True, False, True), (False, False, False)]
)
def test_a_plan_is_requested_in_check_mode(check_mode: bool, is_plan: bool, dry: bool) -> None:
    play = FakePlay({"w1": {}})
    run(runner_of(play, check_mode=check_mode, diff=True), "node_taint", {}, is_plan=is_plan)
    assert play.all_calls[0].dry is dry
    assert play.all_calls[0].diff is not is_plan


def test_a_lost_connection_is_a_result_and_is_closed() -> None:
    play = FakePlay({"w1": {}}, results={"kubelet_info": GONE})
    runner = runner_of(play)
    run(runner, "node_taint", {})
    assert play.closed == []
    assert run(runner, "kubelet_info", {}).raw == GONE
    assert play.closed == ["connection"]


def test_a_module_without_an_action_plugin_is_run_as_it_is() -> None:
    play = FakePlay({"w1": {}})
    found = runner_of(play)
    calls: list[t.Any] = []

    def execute(name: str, *, module_args: Json, task_vars: Json) -> Json:
        calls.append((name, module_args, task_vars["inventory_hostname"]))
        if module_args.get("lost"):
            raise AnsibleConnectionFailure("gone")
        return {"present": True}

    action: t.Any = found._action
    action._shared_loader_obj.action_loader.get = lambda *_name, **_of_ansible: None
    action._execute_module = execute
    assert run(found, "node_image", {"name": "x"}).present
    assert run(found, "node_image", {"lost": True}).raw == GONE
    assert calls[0] == ("nodecraft.kubeadm.node_image", {"name": "x"}, "w1")


def test_what_ran_a_module_cleans_up_also_behind_a_lost_connection() -> None:
    play = FakePlay({"w1": {}}, results={"kubelet_info": GONE})
    run(runner_of(play), "kubelet_info", {})
    assert play.cleaned == 1


def test_module_defaults_of_the_play_count_for_the_modules_of_a_step() -> None:
    play = FakePlay({"w1": {"omit": "__omit__"}})
    play.play._action_groups = {"nodecraft.kubeadm.node_taint": ["nodecraft.kubeadm.api"]}
    defaults = [
        {"group/nodecraft.kubeadm.api": {"kubeconfig": "/c", "context": "of all"}, "other": {"a": 1}},
        {"nodecraft.kubeadm.node_taint": {"context": "of taints", "wait": False, "api_key": "__omit__"}},
    ]
    found = runner_of(play, module_defaults=defaults)
    run(found, "node_taint", {"wait": True})
    run(found, "node_label", {})
    taint, label = (call.arguments for call in play.all_calls)
    # Arguments of the step come first, and what is omitted is none.
    assert (taint, label) == ({"kubeconfig": "/c", "context": "of taints", "wait": True}, {})


def test_what_is_omitted_in_a_mapping_is_none_either() -> None:
    play = FakePlay({"w1": {"omit": "__omit__"}})
    config = {"maxPods": "__omit__", "podPidsLimit": 5, "evictionHard": {"a": "__omit__"}, "list": [{"b": "__omit__"}]}
    run(runner_of(play), "kubelet", {"config": config, "args": "__omit__"}, is_plan=True)
    assert play.all_calls[0].arguments == {"config": {"podPidsLimit": 5, "evictionHard": {}, "list": [{}]}}


def test_null_stays_where_nothing_can_be_omitted() -> None:
    play = FakePlay({"w1": {}})
    run(runner_of(play), "node_label", {"nodes": {"w1": {"a": "b", "c": None}}})
    assert play.all_calls[0].arguments == {"nodes": {"w1": {"a": "b", "c": None}}}


def test_a_plan_has_no_default_that_its_change_does_not_have() -> None:
    play = FakePlay({"w1": {}})
    play.play._action_groups = {"nodecraft.kubeadm.kubelet": ["nodecraft.kubeadm.node"]}
    defaults = [{"group/nodecraft.kubeadm.node": {"a": 1}, "nodecraft.kubeadm.kubelet": {"config": {"maxPods": 7}}}]
    run(runner_of(play, module_defaults=defaults), "kubelet", {"state": "present"}, is_plan=True, is_complete=True)
    assert play.all_calls[0].arguments == {"a": 1, "state": "present"}


def test_a_program_runs_on_the_controller() -> None:
    play = FakePlay({"w1": {}})
    play.controller.exec_result = (2, b"", b"line 1: bad\nline 2: worse")
    assert runner_of(play).run_on_controller(["python3", "-m", "a b"], "text", "/source") == {
        "rc": 2,
        "stderr_lines": ["line 1: bad", "line 2: worse"],
    }
    assert (play.controller.commands, play.controller.cwd) == ([("python3 -m 'a b'", b"text")], "/source")
