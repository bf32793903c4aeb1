# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the variables of an inventory mean: what none names stays, and what cannot be used is refused before anything is planned."""

from __future__ import annotations

import re

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

CHANGES: Json = {"stub": {"kube-apiserver": "changes", "kubelet": "changes"}, "stub_nodes": {"node_label": "changes"}}
SETTINGS = ("feature_gates", "config", "args", "register_with_taints")
PLAYBOOKS = ("site", "feature_gates", "node_resources", "placement_guard", "device_plugin")


def site(stage: Stage, *options: str, cp1: Json | None = None, w1: Json | None = None, name: str = "site") -> Outcome:
    """Run a playbook on a control plane and a worker with these variables."""
    hosts = {
        host: {**CHANGES, "node_resources_node_name": host, **(own or {})} for host, own in (("cp1", cp1), ("w1", w1))
    }
    groups: Json = {"kube_control_plane": {"cp1": hosts["cp1"]}, "kube_node": {"w1": hosts["w1"]}}
    return stage.playbook(name, groups, *options)


def planned(outcome: Outcome, component: str, host: str) -> Json:
    """With what a component was planned."""
    return next(
        call["arguments"]
        for call in outcome.calls
        if (call["step"], call["component"], call["host"]) == ("plan", component, host)
    )


def refused(outcome: Outcome) -> str:
    """The text of a run that ended before it planned anything."""
    assert outcome.status != 0, outcome.output
    assert outcome.calls == []
    text = outcome.output.partition("PLAY RECAP")[0]
    assert len(text) < 3000
    return text


@pytest.mark.slice
def test_what_no_variable_names_is_left_alone_and_an_empty_one_reverts(stage: Stage) -> None:
    outcome = site(
        stage, cp1={"control_plane_components": {"kube-apiserver": {"args": {}}}}, w1={"node_kubelet_config": {}}
    )
    assert outcome.status == 0, outcome.output
    given = {host: planned(outcome, "kubelet", host) for host in ("cp1", "w1")}
    assert {name for name in SETTINGS if given["w1"].get(name) is not None} == {"config"}
    assert {name for name in SETTINGS if given["cp1"].get(name) is not None} == set()
    api = planned(outcome, "kube-apiserver", "cp1")
    assert {
        name for name in ("feature_gates", "admission_plugins", "args", "env", "files") if api.get(name) is not None
    } == {"args"}
    labels = next(call["arguments"] for call in outcome.calls if call["component"] == "node_label")
    assert labels["per_node"] == {"cp1": {"labels": None}, "w1": {"labels": None}}


@pytest.mark.slice
def test_a_mistake_is_one_line_before_anything_is_planned(stage: Stage) -> None:
    hosts: Json = {
        f"w{number}": {"node_kubelet_config": None, "node_kubelet_args": {"a": ["{{ not_there }}"]}}
        for number in range(40)
    }
    groups: Json = {"kube_control_plane": {"cp1": {"control_plane_components": {"etcd": None}}}, "kube_node": hosts}
    text = refused(stage.playbook("site", groups))
    assert "w0, w1, w2, " in text
    assert "invalid node_kubelet_config: must not be null." in text
    assert re.search(r"node_kubelet_args cannot be worked out: .*not_there", text)
    assert "cp1: invalid control_plane_components.etcd: must not be null." in text


@pytest.mark.parametrize(
    ("own", "mistake"),
    [
        ({"node_kublet_config": {}}, "is set for any host of this run"),
        (
            {"node_kubelet_config": {}, "placement_guard_node": [], "placement_guard_enforce": True},
            "did you mean placement_guard_nodes?",
        ),
        ({"node_kubelet_config": "{{ 'text' }}"}, "w1: invalid node_kubelet_config: must be a mapping, not text"),
        ({"node_kubelet_config": [1]}, "w1: invalid node_kubelet_config: must be a mapping, not a list"),
        ({"node_kubelet_config": {}, "node_kubelet_wait_timeout": "10%"}, "w1: invalid node_kubelet_wait_timeout: "),
    ],
)
def test_what_cannot_be_used_is_refused(stage: Stage, own: Json, mistake: str) -> None:
    assert mistake in refused(site(stage, w1=own))


@pytest.mark.parametrize(
    "own",
    [
        {"node_kubelet_config": {"a": {"__ansible_unsafe": "{{ b }}"}}},
        {"node_kubelet_config": {"maxPods": 50}, "node_kubelet_wait_timeout": "300"},
        {"node_kubelet_config": "{{ {'maxPods': 50} }}"},
    ],
)
def test_what_can_be_used(stage: Stage, own: Json) -> None:
    outcome = site(stage, w1=own)
    assert outcome.status == 0, outcome.output


def test_variables_of_a_host_that_is_not_in_the_run_do_not_matter(stage: Stage) -> None:
    outcome = site(stage, "--limit=w1", cp1={"node_kubelet_config": None}, w1={"node_kubelet_config": {}})
    assert outcome.status == 0, outcome.output


def test_a_name_that_is_nearly_one_of_ours_is_a_warning(stage: Stage) -> None:
    outcome = site(stage, w1={"node_kubelet_config": {}, "node_kublet_args": {}})
    assert outcome.status == 0, outcome.output
    assert "no role knows node_kublet_args (did you mean node_kubelet_args?)" in " ".join(outcome.output.split())


def test_a_role_in_a_play_of_the_user_checks_what_it_alone_sees(stage: Stage) -> None:
    hosts: Json = {"w1": {**CHANGES, "node_kubelet_check_api": False}}
    outcome = stage.play(
        {"kube_node": hosts}, roles=["nodecraft.kubeadm.node_kubelet"], vars={"node_kubelet_config": None}
    )
    assert outcome.status != 0
    assert "invalid node_kubelet_config: must not be null." in outcome.output
    assert outcome.calls == []
    outcome = stage.play({"kube_node": hosts}, roles=["nodecraft.kubeadm.node_kubelet"], vars={"node_kubelet_args": {}})
    assert {name for name in SETTINGS if planned(outcome, "kubelet", "w1").get(name) is not None} == {"args"}


@pytest.mark.parametrize(
    ("role", "variable", "desired", "component", "option"),
    [
        ("node_kubelet", "node_kubelet_config", {"maxPods": 50}, "kubelet", "config"),
        ("control_plane", "control_plane_feature_gates", {"A": True}, "kube-apiserver", "feature_gates"),
    ],
)
def test_a_variable_of_a_loop_around_a_role_is_the_same_in_plan_and_change(
    stage: Stage, role: str, variable: str, desired: Json, component: str, option: str
) -> None:
    task: Json = {
        "include_role": {"name": f"nodecraft.kubeadm.{role}"},
        "loop": [desired],
        "vars": {variable: "{{ item }}"},
    }
    host: Json = {**CHANGES, "node_kubelet_check_api": False}
    outcome = stage.play({"kube_control_plane": {"cp1": host}}, tasks=[task])
    assert outcome.status == 0, outcome.output
    given = {
        call["step"]: call["arguments"].get(option)
        for call in outcome.calls
        if call["component"] == component and call["step"] in ("plan", "change")
    }
    assert given == {"plan": desired, "change": desired}


@pytest.mark.parametrize("name", ["site", "rollback", "upgrade_check"])
def test_tags_that_leave_everything_out_are_reported(stage: Stage, name: str) -> None:
    outcome = site(stage, "--tags=nodes", w1={"node_kubelet_config": {}}, name=name)
    assert (outcome.status, outcome.calls) == (0, [])
    assert "Nothing of this playbook is run with --tags nodes" in outcome.output


def inventory_tasks(outcome: Outcome) -> list[str]:
    """The tasks whose banners the play shows that checks the inventory, which is the first one."""
    _before, first, *_later = re.split(r"^PLAY \[", outcome.output, flags=re.MULTILINE)
    assert first.startswith("Check the inventory] ")
    return re.findall(r"^TASK \[(.+)\] \*+$", first, re.MULTILINE)


@pytest.mark.slice
def test_inventory_with_the_usual_groups_is_checked_in_two_tasks(stage: Stage) -> None:
    outcome = site(stage, w1={"node_kubelet_config": {}})
    assert outcome.status == 0, outcome.output
    assert len(inventory_tasks(outcome)) == 2
    assert "localhost " not in outcome.output


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("site", "kube_control_plane"),
        ("join_files", "kube_control_plane"),
        ("upgrade_check", "kube_control_plane"),
        ("rollback", "kube_control_plane or kube_node"),
        ("device_plugin", "kube_control_plane or kube_node"),
    ],
)
def test_inventory_without_hosts_is_refused(stage: Stage, name: str, groups: str) -> None:
    # What a plugin that found nothing leaves, with names that no variable of the controller has.
    outcome = stage.playbook(name, {"kube_node": {}}, "--extra-vars=kube_node_group='{{ prefix }}s'")
    assert f"The inventory has no host in {groups}." in " ".join(refused(outcome).split())


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_node_that_is_the_controller_is_a_node(stage: Stage, host: str) -> None:
    variables: Json = {**CHANGES, "node_resources_node_name": host, "node_kubelet_config": {}}
    groups: Json = {"other": {"bastion": {}}, "kube_control_plane": {host: variables}}
    outcome = stage.playbook("site", groups)
    assert outcome.status == 0, outcome.output
    assert outcome.hosts("plan", "kubelet") == [host]


@pytest.mark.parametrize("name", ["site", "rollback"])
def test_limit_without_a_node_plays_nothing(stage: Stage, name: str) -> None:
    groups: Json = {"kube_control_plane": {"cp1": {"node_kubelet_config": None}}, "other": {"bastion": {}}}
    outcome = stage.playbook(name, groups, "--limit=bastion")
    assert (outcome.status, outcome.calls) == (0, []), outcome.output


def test_groups_of_other_names_without_desired_state(stage: Stage) -> None:
    named: Json = {"kube_control_plane_group": "{{ prefix }}s", "kube_node_group": "workers", "prefix": "master"}
    groups: Json = {"workers": {"w1": named}, "masters": {"m1": named, "m2": named}}
    info = {"cluster_configuration": "a: 1", "kubelets": {"m2": "v1.36.3", "w1": "v1.36.3"}}
    requested = {"upgrade_check_target": "1.37.2", "upgrade_check_programs": "/new", "stub_upgrade_info": info}
    outcome = stage.playbook("upgrade_check", groups, "--limit=m2:w1", variables=requested)
    assert outcome.status == 0, outcome.output
    assert len(inventory_tasks(outcome)) == 3
    assert {call["host"] for call in outcome.calls if call["component"] == "upgrade_check"} == {"m2", "w1"}


def tasks_of(stage: Stage, name: str) -> list[str]:
    """The tasks that C(--start-at-task) takes."""
    found = re.findall(r"^      (.+?)\tTAGS:", site(stage, "--list-tasks", name=name).output, re.MULTILINE)
    return list(dict.fromkeys(found))


def names_something(arguments: Json) -> bool:
    """Whether a module is to change anything. One that names nothing leaves all as it is, and the module of the guard refuses it."""
    if "per_node" in arguments:
        return any(value is not None for node in arguments["per_node"].values() for value in node.values())
    if "schedulers" in arguments:
        return any(arguments.get(name) for name in ("nodes", "resources", "taint_keys"))
    return True


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_wherever_a_run_starts_it_reverts_nothing_that_was_forgotten(stage: Stage, name: str) -> None:
    names = tasks_of(stage, name)
    assert len(names) > 3
    for task in names:
        outcome = site(stage, f"--start-at-task={task}", name=name)
        changes = [call for call in outcome.calls if call["step"] == "change" and names_something(call["arguments"])]
        assert outcome.status != 0 or changes == [], (task, outcome.output)


@pytest.mark.parametrize("name", ["site", "rollback", "upgrade_check"])
def test_summary_alone_is_no_success(stage: Stage, name: str) -> None:
    outcome = site(stage, f"--start-at-task={tasks_of(stage, name)[-1]}", name=name)
    assert outcome.status == 2, outcome.output
    # What rollback reverts is in the result of its first task, so the arguments of the others fail.
    assert name == "rollback" or "Nothing was looked at. The first task was skipped." in outcome.output
    assert "Nothing to change" not in outcome.output
