# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step sees of a play, and how it runs modules."""

from __future__ import annotations

import os
import typing as t

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.rollout_pass import RolloutPass
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, FakePlay, Json, Task


def pass_of(play: FakePlay, host: str = "w1", role: str = "node_kubelet", **of_task: t.Any) -> RolloutPass:
    """What a step of a role sees on a host. of_task: keywords of its task."""
    task = Task({}, play.play, **of_task)
    return RolloutPass(play._action(task), play.variables(role, host), role)


def test_the_results_of_a_host_are_read_once() -> None:
    play = FakePlay({"w1": {}})
    play.hostvars["w1"]["__node_kubelet_plan"] = {"operations": []}
    found = pass_of(play)
    assert found.registers("w1") is found.registers("w1")
    assert found.registers("w1")["plan"] is found.registers("w1")["plan"]


# ---- hosts -----------------------------------------------------------------------------------------------------------


def test_hosts_in_the_order_of_the_play() -> None:
    play = FakePlay({"w1": {}, "w2": {}, "w3": {}})
    play.play_hosts, play.batch = ["w1", "w3"], ["w3"]
    found = pass_of(play)
    assert (found.all_play_hosts, found.play_hosts, found.lost_hosts()) == (["w1", "w2", "w3"], ["w1", "w3"], ["w2"])
    assert (found.batch_hosts, found.excluded_by_serial()) == (["w3"], ["w1"])


@pytest.mark.parametrize(
    ("order", "hosts"),
    [(None, ["w1", "w2", "w3"]), ("inventory", ["w1", "w2", "w3"]), ("reverse_inventory", ["w3", "w2", "w1"])],
)
def test_the_keyword_order_counts_in_the_batch(order: str | None, hosts: list[str]) -> None:
    play = FakePlay({"w1": {}, "w2": {}, "w3": {}}, order=order)
    play.batch = ["w3", "w2"]
    assert pass_of(play).all_play_hosts == hosts


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        ("linear", ""),
        ("ansible.builtin.linear", ""),
        ("free", "free"),
        ("ansible.builtin.free", "ansible.builtin.free"),
        ("host_pinned", "host_pinned"),
        ("debug", ""),
    ],
)
def test_a_strategy_that_does_not_keep_its_hosts_in_sync(strategy: str, told: str) -> None:
    assert pass_of(FakePlay({"w1": {}}, strategy=strategy)).unordered_strategy() == told


def test_who_is_at_work_is_the_coordinator() -> None:
    play = FakePlay({"w1": {}, "w2": {}, "w3": {}})
    play.hostvars["w1"]["__node_kubelet_pass"] = {"skipped": True}
    for host in ("w2", "w3"):
        play.hostvars[host]["__node_kubelet_pass"] = {"at_work": True, "settings": {}, "excluded": ""}
    found = pass_of(play)
    assert (found.coordinator, list(found.hosts()), list(found.hosts(["w1"]))) == ("w2", ["w2", "w3"], ["w1"])
    assert [name for name, _registers in found.all_hosts()] == ["w1", "w2", "w3"]
    assert pass_of(play, role="control_plane").coordinator == ""


def test_results_are_read_by_their_short_names() -> None:
    play = FakePlay(
        {"w1": {"__node_kubelet_plan": {"node": "n"}, "__node_kubelet_other": 1, "__control_plane_plan": {}}}
    )
    play.hostvars["w1"]["__node_kubelet_admit"] = {"results": [{"api_reachable": False}, {"api_reachable": True}]}
    play.hostvars["w1"]["__node_kubelet_decide"] = {"results": []}
    play.hostvars["w1"]["__node_kubelet_change"] = {"results": [{"item": {}}]}
    play.hostvars["w1"]["__node_kubelet_apply"] = {"api_reachable": True}  # skipped, or of no loop
    own = pass_of(play).own
    assert (dict(own), len(own)) == (
        {
            "plan": {"node": "n"},
            "admit": {"api_reachable": True},
            "decide": {},
            "change": {"results": [{"item": {}}]},
            "apply": {"api_reachable": True},
        },
        5,
    )


def test_what_a_host_registered_under_any_name() -> None:
    found = pass_of(FakePlay({"w1": {"a": {"b": 1}}, "w2": {"a": None}}))
    assert (found.registered("a"), found.registered("a", "w2"), found.registered("c")) == ({"b": 1}, {}, {})
    assert found.of_role("control_plane").role == "control_plane"


@pytest.mark.parametrize(
    ("groups", "variables", "planes"),
    [
        ({}, {}, []),
        ({"kube_control_plane": ["cp1", "cp2"]}, {}, ["cp1", "cp2"]),
        ({"masters": ["m1"], "kube_control_plane": ["cp1"]}, {"kube_control_plane_group": "masters"}, ["cp1", "m1"]),
        ({"masters": ["m1"]}, {"kube_control_plane_group": "nowhere"}, []),
    ],
)
def test_the_control_planes_of_the_inventory(groups: Json, variables: Json, planes: list[str]) -> None:
    found = pass_of(FakePlay({"w1": variables}, groups))
    assert found.control_planes() == planes
    assert found.group("nowhere") == []


def test_variables() -> None:
    found = pass_of(FakePlay({"w1": {"mine": {"a": 1}}}))
    assert (found.variable("mine"), found.variable("other"), found.variable("other", 5)) == ({"a": 1}, None, 5)
    assert {"mine", "node_kubelet_state", "inventory_hostname"} <= set(found.variable_names())
    assert "node_kubelet_state" in found.argument_specs()["main"]["options"]
    assert os.path.isdir(os.path.join(found.role_path(), "meta"))


# ---- the API and modules ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "has"),
    [("K8S_AUTH_KUBECONFIG", "/c", True), ("K8S_AUTH_HOST", "h", True), ("K8S_AUTH_HOST", "", False)],
)
def test_credentials_of_the_controller(monkeypatch: pytest.MonkeyPatch, name: str, value: str, has: bool) -> None:
    for each in ("K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, value)
    found = pass_of(FakePlay({"w1": {}, "cp1": {"ansible_become": False}}))
    assert found.has_api_credentials() is has
    asks = {"host": "localhost", "become": False} if has else {"host": "cp1", "become": False}
    assert found.api_hosts(["cp1"], "", reachable=["cp1"]) == [asks]


@pytest.mark.parametrize(
    ("delegate_to", "become", "by"),
    [("localhost", False, None), ("localhost", True, "sudo"), ("cp1", False, "sudo"), ("", False, "sudo")],
)
def test_a_task_that_is_sent_to_the_controller_becomes_another_user_by_its_keyword_alone(
    delegate_to: str, become: bool, by: str | None
) -> None:
    """Of another host the variable of the inventory counts, and of the controller where it is a host of the play."""
    play = FakePlay({"w1": {}})
    pass_of(play, delegate_to=delegate_to, become=become)
    assert play.connection.become == by


def test_a_module_runs_where_the_task_does() -> None:
    play = FakePlay({"w1": {}}, answers={"kubelet_info": {"node": "n", "warnings": ["old"]}})
    found = pass_of(play, delegate_to="cp1")
    assert found.ask("kubelet_info", {"a": 1}) == {"node": "n"}
    found.ask("kubelet_info", {})
    (call, _again) = play.asked
    assert (call.host, call.on, call.arguments, call.dry, found.warnings) == (
        "w1",
        "cp1",
        {"a": 1},
        False,
        ["old", "old"],
    )
    assert (found.asked_host, pass_of(play).asked_host) == ("cp1", "w1")


@pytest.mark.parametrize(
    ("check_mode", "is_plan", "dry"), [(False, True, True), (True, False, True), (False, False, False)]
)
def test_a_plan_is_asked_for_in_check_mode(check_mode: bool, is_plan: bool, dry: bool) -> None:
    play = FakePlay({"w1": {}})
    pass_of(play, check_mode=check_mode, diff=True).ask("node_taint", {}, is_plan=is_plan)
    assert play.asked[0].dry is dry
    assert play.asked[0].diff is not is_plan


def test_a_lost_connection_is_a_result() -> None:
    assert pass_of(FakePlay({"w1": {}}, answers={"kubelet_info": GONE})).ask("kubelet_info", {}) == GONE


def test_a_module_without_an_action_plugin_is_run_as_it_is() -> None:
    play = FakePlay({"w1": {}})
    found = pass_of(play)
    calls: list[t.Any] = []

    def execute(name: str, *, module_args: Json, task_vars: Json) -> Json:
        calls.append((name, module_args, task_vars["inventory_hostname"]))
        if module_args.get("lost"):
            raise AnsibleConnectionFailure("gone")
        return {"present": True}

    action: t.Any = found._action
    action._shared_loader_obj.action_loader.get = lambda *_name, **_of_ansible: None
    action._execute_module = execute
    assert found.ask("node_image", {"name": "x"}) == {"present": True}
    assert found.ask("node_image", {"lost": True}) == GONE
    assert calls[0] == ("nodecraft.kubeadm.node_image", {"name": "x"}, "w1")


def test_what_ran_a_module_cleans_up_also_behind_a_lost_connection() -> None:
    play = FakePlay({"w1": {}}, answers={"kubelet_info": GONE})
    pass_of(play).ask("kubelet_info", {})
    assert play.cleaned == 1


def test_module_defaults_of_the_play_count_for_the_modules_of_a_step() -> None:
    play = FakePlay({"w1": {"omit": "__omit__"}})
    play.play._action_groups = {"nodecraft.kubeadm.node_taint": ["nodecraft.kubeadm.api"]}
    defaults = [
        {"group/nodecraft.kubeadm.api": {"kubeconfig": "/c", "context": "of all"}, "other": {"a": 1}},
        {"nodecraft.kubeadm.node_taint": {"context": "of taints", "wait": False, "api_key": "__omit__"}},
    ]
    found = pass_of(play, module_defaults=defaults)
    found.ask("node_taint", {"wait": True})
    found.ask("node_label", {})
    taint, label = (call.arguments for call in play.asked)
    # What the step says comes first, and what is omitted is none.
    assert (taint, label) == ({"kubeconfig": "/c", "context": "of taints", "wait": True}, {})


def test_a_program_runs_on_the_controller() -> None:
    play = FakePlay({"w1": {}})
    play.controller.answer = (2, b"", b"line 1: bad\nline 2: worse")
    assert pass_of(play).run_here(["python3", "-m", "a b"], "text", "/source") == {
        "rc": 2,
        "stderr_lines": ["line 1: bad", "line 2: worse"],
    }
    assert (play.controller.ran, play.controller.cwd) == ([("python3 -m 'a b'", b"text")], "/source")
