# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first step of the playbooks that apply a desired state: the variables of all nodes, for all roles."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible.errors import AnsibleUndefinedVariable
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import role_variables
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.role_variables import SETTINGS
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.inventory_check import validate_value
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import FakePlay, Json

SITE = ("control_plane", "node_kubelet", "node_resources", "placement_guard")
CONFIG: Json = {"node_kubelet_config": {"maxPods": 50}}
GROUPS = {"kube_control_plane": ["cp1"], "kube_node": ["w1", "w2"]}
OF_SITE: Json = {"groups": list(GROUPS), "roles": SITE, "required": []}


def begin(hosts: t.Mapping[str, Json], roles: t.Sequence[str] = SITE, **settings: t.Any) -> Json:
    """The step on cp1. hosts: their variables; those that are not named have none."""
    play = FakePlay({name: hosts.get(name, {}) for name in ("cp1", "w1", "w2", "bastion")}, GROUPS, **settings)
    return play.run_step("site", "begin", "cp1", settings={**OF_SITE, "roles": list(roles)})


def test_what_any_node_names_is_noted() -> None:
    found = begin({"w1": CONFIG, "w2": {"placement_guard_nodes": [], "node_kubelet_args": {}}})
    assert found["named"] == ["node_kubelet_config", "node_kubelet_args", "placement_guard_nodes"]
    assert "warnings" not in found


@pytest.mark.parametrize(
    "hosts",
    [
        {},
        {"bastion": CONFIG},
        {"w1": {"device_plugin_config": {}}},  # of a role that the playbook does not use
        {"w1": {"node_kubelet_force": True}},
        {"w1": {"node_kubelet_state": "previous"}},
    ],
)
def test_a_run_that_names_nothing_is_refused(hosts: t.Mapping[str, Json]) -> None:
    found = begin(hosts)
    assert found["msg"].startswith("None of control_plane_feature_gates, control_plane_admission_plugins, ")
    assert "node_resources_taints, placement_guard_nodes" in found["msg"]


def test_a_variable_of_the_play_is_that_of_all_nodes() -> None:
    play = FakePlay({"cp1": {}, "w1": {}}, GROUPS)
    variables = play.variables
    play.variables = lambda role, host: {**variables(role, host), "node_kubelet_config": []}  # type: ignore[method-assign]
    found = play.run_step("site", "begin", "cp1", settings=OF_SITE)
    assert found["report"] == ["cp1, w1: invalid node_kubelet_config: must be a mapping, not a list."]


@pytest.mark.parametrize(
    ("variables", "groups", "renamed", "message"),
    [
        ({}, GROUPS, {}, ""),
        ({"kube_node_group": "kube_node"}, GROUPS, {}, ""),
        ({"kube_control_plane_group": "masters"}, {"masters": ["cp1"]}, {"kube_control_plane": "masters"}, ""),
        ({"kube_control_plane_group": "master"}, {"masters": ["cp1"]}, {}, "names master, which is not a group"),
        ({}, {"masters": ["cp1"]}, {}, "The inventory has no host in kube_control_plane or kube_node. "),
        # On the controller, which is no host of the inventory, a name cannot be worked out.
        ({"kube_node_group": AnsibleUndefinedVariable("x")}, {"kube_node": []}, {}, "The inventory has no host in "),
    ],
)
@pytest.mark.parametrize("roles", [SITE, ()])
def test_groups_of_the_inventory(
    variables: Json, groups: t.Mapping[str, list[str]], renamed: Json, message: str, roles: t.Sequence[str]
) -> None:
    play = FakePlay({"cp1": {**CONFIG, **variables}, "localhost": {}}, groups)
    found = play.run_step("site", "begin", "cp1", settings={**OF_SITE, "roles": roles})
    assert message in found.get("msg", "")
    assert (found.get("failed", False), found.get("renamed", {})) == (bool(message), renamed)
    if roles and not message:
        assert found["named"] == list(CONFIG)


def test_variables_unchecked_without_roles_or_nodes() -> None:
    play = FakePlay({"cp1": {"node_kubelet_config": None}, "bastion": {}}, GROUPS)
    assert "failed" not in play.run_step("site", "begin", "cp1", settings={**OF_SITE, "roles": []})
    play = FakePlay({"bastion": {"node_kubelet_config": None}}, GROUPS)
    assert "failed" not in play.run_step("site", "begin", "bastion", settings=OF_SITE)


MISTAKES: list[tuple[Json, str]] = [
    ({"node_kubelet_config": None}, "invalid node_kubelet_config: must not be null."),
    ({"node_kubelet_config": "{}"}, "invalid node_kubelet_config: must be a mapping, not text."),
    (
        {"node_kubelet_wait_timeout": "10%"},
        "invalid node_kubelet_wait_timeout: argument 'node_kubelet_wait_timeout' is of type",
    ),
    ({"node_kubelet_force": "perhaps"}, "invalid node_kubelet_force: argument 'node_kubelet_force' is of type"),
    ({"node_kubelet_state": "gone"}, "invalid node_kubelet_state: value of node_kubelet_state must be one of:"),
    (
        {"node_kubelet_register_with_taints": [None]},
        "invalid node_kubelet_register_with_taints[0]: must be a mapping with key, ",
    ),
    (
        {"node_resources_taints": [{"key": "a.b/c", "effect": "NoSchedule"}, "a.b/d:NoSchedule"]},
        "invalid node_resources_taints[1]: must be a mapping with key, ",
    ),
    (
        {"node_resources_taints": [{"key": "a.b/c", "efect": "NoSchedule"}]},
        "invalid node_resources_taints[0].efect: must be one of key, ",
    ),
    ({"node_resources_taints": [{"key": "a.b/c"}]}, "invalid node_resources_taints: a.b/c needs an effect ("),
    ({"node_resources_labels": {"bad key!": "a"}}, "invalid node_resources_labels: invalid key 'bad key!': "),
    (
        {"node_resources_extended_resources": {"a.b/c": 4.5}},
        "invalid node_resources_extended_resources: ",
    ),
    (
        {"node_resources_extended_resources": 4},
        "invalid node_resources_extended_resources: must be a mapping, not a number.",
    ),
    ({"node_kubelet_config": True}, "invalid node_kubelet_config: must be a mapping, not true or false."),
    (
        {"node_kubelet_register_with_taints": [{"key": "a"}]},
        "invalid node_kubelet_register_with_taints: ",
    ),
    (
        {"control_plane_components": {"kube-apisever": {}, "kube-apiserver": {"args": None}}},
        "invalid control_plane_components.kube-apisever: must be one of ",
    ),
    (
        {"control_plane_components": {"kube-apiserver": {"arg": {"v": 2}}, "kube-scheduler": {"args": None}}},
        "invalid control_plane_components.kube-apiserver.arg: must be one of feature_gates, args, ",
    ),
    ({"control_plane_components": {"etcd": None}}, "invalid control_plane_components.etcd: must not be null."),
    (
        {"control_plane_components": {"etcd": {"args": None}}},
        "invalid control_plane_components.etcd.args: must not be null.",
    ),
    (
        {"control_plane_components": {"etcd": {"args": ""}}},
        "invalid control_plane_components.etcd.args: must be a mapping, not text. Write it in YAML.",
    ),
    ({"node_kubelet_ignored_variables": None}, "invalid node_kubelet_ignored_variables: must not be null."),
    (
        {"node_kubelet_ignored_variables": {}},
        "invalid node_kubelet_ignored_variables: must be a list, not a mapping.",
    ),
    (
        {"node_kubelet_ignored_variables": AnsibleUndefinedVariable("'x' is undefined")},
        "node_kubelet_ignored_variables cannot be worked out: 'x' is undefined",
    ),
    (
        {"node_kubelet_zz": 1, "node_kubelet_ignored_variables": "node_kubelet_zzz"},
        "The role node_kubelet does not know node_kubelet_zz",
    ),
    (
        {"node_kubelet_args": AnsibleUndefinedVariable("one, original message: two, original message: three")},
        "node_kubelet_args cannot be worked out: three",
    ),
    (
        {"control_plane_components": {"etcd": {"args": [1]}}},
        "invalid control_plane_components.etcd.args: must be a mapping, not a list.",
    ),
    (
        {"node_kubelet_confg": {}},
        "The role node_kubelet does not know node_kubelet_confg (did you mean node_kubelet_config?)",
    ),
    (
        {"placement_guard_node": [], "placement_guard_enforce": True},
        "The role placement_guard does not know placement_guard_node",
    ),
    ({"placement_guard_enforce": True}, "placement_guard_enforce without any of placement_guard_nodes, "),
    ({"device_plugin_imag": "x"}, "The role device_plugin does not know device_plugin_imag"),
    (
        {"node_kubelet_args": AnsibleUndefinedVariable("'x' is undefined")},
        "node_kubelet_args cannot be worked out: 'x' is undefined",
    ),
]


@pytest.mark.parametrize(("variables", "mistake"), MISTAKES)
def test_what_cannot_be_used_is_reported_with_its_hosts(variables: Json, mistake: str) -> None:
    found = begin({"w1": {**CONFIG, **variables}, "w2": variables})
    assert found["msg"] == "Nothing was changed. Variables cannot be used"
    assert any(line.startswith(f"w1, w2: {mistake}") for line in found["report"]), found["report"]


@pytest.mark.parametrize(
    "variables",
    [
        {
            "node_kubelet_wait_timeout": "300",
            "node_kubelet_force": "yes",
            "control_plane_static_pods": "etcd,kube-apiserver",
        },
        {"node_kubelet_zz": 1, "node_kubelet_ignored_variables": ["node_kubelet_zz"]},
        {"node_kubelet_zz": 1, "node_kubelet_ignored_variables": "node_kubelet_zy, node_kubelet_zz"},
        {"control_plane_components": {"kube-scheduler": {"args": {"v": None}}}},
        {"placement_guard_enforce": True, "placement_guard_resources": ["a.b/c"]},
        {"placement_guard_api_host": "cp1"},
    ],
)
def test_what_can_be_used(variables: Json) -> None:
    assert "failed" not in begin({"w1": {**CONFIG, **variables}})


def test_details_of_a_guard_do_not_matter_where_it_is_not_applied() -> None:
    assert "failed" not in begin({"w1": {**CONFIG, "placement_guard_enforce": True}}, ["node_kubelet"])


def test_each_mistake_is_one_line_however_many_nodes_have_it() -> None:
    hosts: Json = {f"w{number}": {"node_kubelet_config": []} for number in range(40)}
    play = FakePlay(hosts, {"kube_node": list(hosts)})
    (line,) = play.run_step("site", "begin", "w0", settings=OF_SITE)["report"]
    assert line.startswith("w0, w1, ")
    assert " and 30 more: invalid node_kubelet_config" in line


def test_a_mistake_in_a_file_of_each_node_is_one_line() -> None:
    class Text(str):
        ansible_pos: tuple[str, int, int]

    hosts: Json = {f"w{number}": {"node_kubelet_config": Text("{}")} for number in range(40)}
    for host, variables in hosts.items():
        variables["node_kubelet_config"].ansible_pos = (f"{host}.yml", 7, 1)
    play = FakePlay(hosts, {"kube_node": list(hosts)})
    (line,) = play.run_step("site", "begin", "w0", settings=OF_SITE)["report"]
    assert line.endswith(" (w0.yml:7 and 39 more)")


def test_many_mistakes_are_not_all_shown() -> None:
    hosts: Json = {f"w{number}": {f"node_kubelet_{number}": 1} for number in range(40)}
    play = FakePlay(hosts, {"kube_node": list(hosts)})
    lines = play.run_step("site", "begin", "w0", settings=OF_SITE)["report"]
    assert sum(map(len, lines)) < 2500
    assert lines[-1] == f"{40 - len(lines) + 1} more mistakes"


def test_a_name_that_is_nearly_one_of_ours_is_a_warning() -> None:
    found = begin({"w1": {**CONFIG, "node_kublet_config": {}}, "w2": {"kube_apiserver_feature_gates": []}})
    assert found["warnings"] == ["w1: no role knows node_kublet_config (did you mean node_kubelet_config?)"]


@pytest.mark.parametrize(
    ("run", "skipped", "own", "options"),
    [
        (["all"], [], ["always"], ""),
        (["nodes"], [], ["always", "nodes"], ""),
        (["untagged"], [], ["always"], ""),
        (["tagged"], [], ["always", "nodes"], ""),
        (["all"], ["other"], ["always"], ""),
        (["other", "more"], [], ["always"], "--tags more,other"),
        (["tagged"], [], ["always"], "--tags tagged"),
        (["all"], ["untagged"], ["always"], "--skip-tags untagged"),
        (["all"], ["nodes"], ["always", "nodes"], "--skip-tags nodes"),
    ],
)
def test_tags_that_leave_everything_out_are_reported(
    run: list[str], skipped: list[str], own: list[str], options: str
) -> None:
    tags: Json = {"ansible_run_tags": run, "ansible_skip_tags": skipped}
    play = FakePlay({"w1": {**CONFIG, **tags}}, GROUPS, tags=own)
    found = play.run_step("site", "begin", "w1", settings=OF_SITE)
    assert found.get("lines", []) == (
        [f"Nothing of this playbook is run with {options}: its tasks have no such tags."] if options else []
    )


VALUES: tuple[t.Any, ...] = (
    None,
    True,
    "",
    "text",
    "300",
    "10%",
    "[1]",
    "{}",
    5,
    [],
    ["a"],
    [1],
    [None],
    [{}],
    {},
    {"a": 1},
    {"a": None},
)


@pytest.mark.parametrize("role", SETTINGS)
def test_nothing_passes_that_the_specification_of_the_role_refuses(role: str) -> None:
    """Ansible checks it once more when the role begins, on some hosts after other roles have planned."""
    specs = yaml.safe_load((ROOT / "roles" / role / "meta/argument_specs.yml").read_text(encoding="utf-8"))[
        "argument_specs"
    ]
    for name, option in role_variables.options_of(specs).items():
        for value in VALUES:
            mistakes = begin({"w1": {**CONFIG, name: value}}).get("report", [])
            assert mistakes or not validate_value(name, value, option)[0], (name, value)
