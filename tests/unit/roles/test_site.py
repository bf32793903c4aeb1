# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which order the playbooks use the roles, and how they split a wish into what is added and what goes."""

from __future__ import annotations

import itertools
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import ROOT, Json, Outcome, Stage

API, KUBELET, NODES = "kube-apiserver", "kubelet", "node_taint"

ASKED: Json = {"control_plane_components": {}}

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run a playbook on cp1 and w1. api, kubelets: what they do. nodes: what the modules of the API do. variables: or ASKED.

    imported: variables that stand where the playbook is imported.
    """

    def play(
        api: str | list[str],
        kubelets: str | list[str],
        *options: str,
        name: str = "site",
        nodes: Json | None = None,
        imported: Json | None = None,
        **variables: t.Any,
    ) -> Outcome:
        def host(node: str) -> Json:
            stubs = {"stub": {API: api, KUBELET: kubelets}, "stub_nodes": nodes or {}}
            return {**stubs, "node_resources_node_name": node, **(variables or ASKED)}

        groups = {"kube_control_plane": {"cp1": host("cp1")}, "kube_node": {"w1": host("w1")}}
        return stage.playbook(name, groups, *options, variables=imported)

    return play


def passes(outcome: Outcome) -> list[str]:
    """What was changed after the plans, in its order, each component once in a row."""
    assert outcome.status == 0, outcome.output
    changed = [call["component"] for call in outcome.calls if call["step"] == "change"]
    return [name for name, _group in itertools.groupby(changed) if name in (API, KUBELET, NODES)]


def arguments(outcome: Outcome, component: str) -> list[Json]:
    """With what the component was changed on the control plane, in its order."""
    return [
        call["arguments"]
        for call in outcome.calls
        if (call["step"], call["component"], call["host"]) == ("change", component, "cp1")
    ]


@pytest.mark.slice
def test_everything_is_planned_before_the_first_change(play: Play) -> None:
    outcome = play("on", "on")
    assert outcome.status == 0, outcome.output
    steps = [(call["step"], call["component"]) for call in outcome.calls]
    first = next(number for number, (step, _component) in enumerate(steps) if step == "change")
    assert {("plan", API), ("plan", KUBELET), ("plan", NODES)} <= set(steps[:first])


@pytest.mark.slice
def test_a_refusal_anywhere_changes_nothing_anywhere(play: Play) -> None:
    outcome = play("on", "refused")
    assert outcome.status != 0
    assert [call for call in outcome.calls if call["step"] == "change"] == []


PANIC = "kubelet on cp1 is down; it said last: panic: unrecognized feature gate: OldGate"


def repair(stage: Stage, kubelet: str, *options: str, role: str = "") -> Outcome:
    """The whole run, or only a role, on cp1, whose kubelet panics, and on w1. kubelet: what is planned for that of cp1."""
    down: Json = {"stub": {API: "both", KUBELET: kubelet}, "stub_kubelet_problem": PANIC}
    hosts: dict[str, Json] = {"cp1": down, "w1": {"stub": {KUBELET: "on"}}}
    for name, variables in hosts.items():
        variables.update(node_resources_node_name=name, **ASKED)
    if role:
        return stage.play({"kube_control_plane": {"cp1": hosts["cp1"]}}, *options, roles=[{"role": role}])
    groups = {"kube_control_plane": {"cp1": hosts["cp1"]}, "kube_node": {"w1": hosts["w1"]}}
    return stage.playbook("site", groups, *options)


def test_a_kubelet_that_is_down_is_repaired_before_the_control_plane_needs_it(stage: Stage) -> None:
    """In one pass, though the run adds and removes: what goes may be what keeps the kubelet down."""
    outcome = repair(stage, "off")
    assert passes(outcome) == [KUBELET, NODES, API, NODES]
    assert outcome.hosts("change", KUBELET) == ["cp1", "w1"]
    assert f"cp1: before the change, {PANIC}" in outcome.output


def test_check_mode_shows_the_repair_and_what_follows(stage: Stage) -> None:
    outcome = repair(stage, "off", "--check")
    assert outcome.status == 0, outcome.output
    assert PANIC in outcome.output
    assert "cp1 kube-apiserver: planned" in outcome.output


def test_a_kubelet_that_nothing_repairs_stops_the_control_plane_and_is_quoted(stage: Stage) -> None:
    for outcome in (repair(stage, "nothing"), repair(stage, "off", role="nodecraft.kubeadm.control_plane")):
        assert outcome.status != 0
        assert PANIC in outcome.output
        assert "the role node_kubelet repairs it" in outcome.output
        assert API not in [call["component"] for call in outcome.calls if call["step"] == "change"]


def test_without_an_api_server_the_run_says_what_repairs_the_kubelet(stage: Stage) -> None:
    down: Json = {"stub": {API: "both", KUBELET: "off"}, "stub_kubelet_problem": PANIC}
    down |= {"stub_nodes": {NODES: "fails"}, "node_resources_node_name": "cp1", **ASKED}
    outcome = stage.playbook("site", {"kube_control_plane": {"cp1": down}, "kube_node": {}})
    assert outcome.status != 0
    assert "as on cp1, starts no API server" in "".join(outcome.reports)
    assert [call for call in outcome.calls if call["step"] == "change"] == []


def test_a_playbook_that_changes_no_kubelet_is_refused_after_its_plan(stage: Stage) -> None:
    gates = {"control_plane_feature_gates": {"A": True}}
    hosts = {"cp1": {"stub": {API: "on"}, "stub_kubelet_problem": PANIC, **gates}}
    outcome = stage.playbook("feature_gates", {"kube_control_plane": hosts, "kube_node": {}})
    assert outcome.status != 0
    assert PANIC in outcome.output
    assert [call for call in outcome.calls if call["step"] == "change"] == []


NAMED: Json = {"kube_control_plane_group": "masters", "kube_node_group": "workers"}


def named_groups(stage: Stage, *options: str, **variables: t.Any) -> Outcome:
    """The whole run on masters m1 and m2 and the worker w1."""

    def host(node: str) -> Json:
        stubs = {
            "stub": {API: "on", KUBELET: "on"},
            "stub_control_plane": node != "w1",
            "node_resources_node_name": node,
        }
        return {**stubs, **ASKED, **NAMED, **variables}

    groups = {"workers": {"w1": host("w1")}, "masters": {"m1": host("m1"), "m2": host("m2")}}
    return stage.playbook("site", groups, *options)


def test_groups_may_have_other_names(stage: Stage) -> None:
    outcome = named_groups(stage)
    assert outcome.status == 0, outcome.output
    assert outcome.hosts("change", API) == ["m1", "m2"]
    assert outcome.hosts("change", KUBELET) == ["m1", "m2", "w1"]


def test_a_limit_counts_for_groups_of_other_names(stage: Stage) -> None:
    outcome = named_groups(stage, "--limit=m2:w1")
    assert outcome.status == 0, outcome.output
    assert (outcome.hosts("change", API), outcome.hosts("change", KUBELET)) == (["m2"], ["m2", "w1"])


def test_a_group_that_the_inventory_does_not_have_is_named(stage: Stage) -> None:
    outcome = named_groups(stage, kube_control_plane_group="master")
    assert outcome.status != 0
    assert "names master, which is no group of the inventory. It has masters, workers." in outcome.output
    assert outcome.calls == []


@pytest.mark.parametrize(("wish", "refused"), [("control_plane_components", True), ("node_kubelet_config", False)])
def test_a_control_plane_outside_its_group_is_refused_where_settings_would_miss_it(
    stage: Stage, wish: str, refused: bool
) -> None:
    def host(node: str) -> Json:
        return {"stub": {API: "on", KUBELET: "on"}, "node_resources_node_name": node, wish: {}}

    groups = {"kube_control_plane": {"cp1": host("cp1")}, "kube_node": {"cp2": host("cp2")}}
    outcome = stage.playbook("site", groups)
    changed = [call for call in outcome.calls if call["step"] == "change"]
    assert (outcome.status != 0, not changed) == (refused, refused), outcome.output
    told = "cp2 is a control plane (etcd runs), but the group kube_control_plane does not have it"
    assert (told in outcome.output) == refused


def test_a_worker_that_cannot_be_reached_may_be_left_out_of_the_whole_run(stage: Stage) -> None:
    def host(behaviour: str, **variables: t.Any) -> Json:
        limits = {"node_kubelet_max_unreachable": 1, "node_resources_max_unreachable": 1}
        return {"stub": {API: "on", KUBELET: behaviour}, **ASKED, **limits, **variables}

    workers = {"w1": host("on"), "w2": host("gone", stub_kubelet_info="gone")}
    outcome = stage.playbook("site", {"kube_control_plane": {"cp1": host("on")}, "kube_node": workers})
    assert outcome.status == 0, outcome.output
    assert (outcome.hosts("change", API), outcome.hosts("change", KUBELET)) == (["cp1"], ["cp1", "w1"])
    (taints,) = [call["arguments"] for call in outcome.calls if (call["step"], call["component"]) == ("change", NODES)]
    assert sorted(taints["per_node"]) == ["cp1", "w1"]


def test_the_file_that_the_documentation_has_for_awx_plays_the_playbook(stage: Stage) -> None:
    text = (ROOT / "docs/site.md").read_text(encoding="utf-8").partition("## In AWX")[2]
    (entry,) = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])
    hosts = {"stub": {API: "on"}, "node_resources_node_name": "cp1", **ASKED}
    outcome = stage.imported(entry, {"kube_control_plane": {"cp1": hosts}})
    assert outcome.status == 0, outcome.output
    assert outcome.hosts("change", API) == ["cp1"]


def test_nothing_to_do_is_planned_once_and_not_changed(play: Play) -> None:
    outcome = play("nothing", "nothing")
    assert outcome.status == 0, outcome.output
    assert passes(outcome) == []
    assert outcome.hosts("plan", KUBELET) in (["cp1", "w1"], ["w1", "cp1"])


def test_additions_begin_with_the_control_plane(play: Play) -> None:
    assert passes(play("on", "on")) == [API, KUBELET, NODES]


def test_removals_end_with_the_control_plane_and_look_at_the_nodes_again(play: Play) -> None:
    assert passes(play("off", "off")) == [NODES, KUBELET, API, NODES]


def test_what_was_planned_and_did_not_begin_fails_and_is_in_the_limit_that_goes_on(play: Play) -> None:
    outcome = play("restored", "on")
    assert outcome.status != 0
    assert outcome.hosts("change", KUBELET) == []
    assert "node_kubelet did not begin on w1, because cp1 failed." in outcome.output
    assert "To go on with the whole run when that is repaired, run it again with --limit cp1,w1" in outcome.output


def test_a_setting_that_replaces_another_takes_one_pass(play: Play) -> None:
    assert passes(play("changes", "changes")) == [API, KUBELET, NODES]


def test_both_take_two_passes_of_which_the_first_takes_nothing_away(play: Play) -> None:
    wish = {"control_plane_feature_gates": {"A": True, "B": False}, "node_resources_labels": {"a": "b", "c": None}}
    # As real modules tell of both, of what is added, and then of what goes.
    outcome = play(["both", "on", "on", "off"], ["on", "on", "on", "nothing"], nodes={"node_label": "changes"}, **wish)
    assert passes(outcome) == [API, KUBELET, NODES, NODES, API]
    first, second = arguments(outcome, API)
    assert (first["feature_gates"], first["purge"]) == ({"A": True}, False)
    assert (second["feature_gates"], second["purge"]) == ({"A": True, "B": False}, True)
    labels = [call["per_node"]["w1"]["labels"] for call in arguments(outcome, "node_label")]
    assert labels == [{"a": "b"}, {"a": "b", "c": None}]


def test_a_second_pass_that_stops_fails_where_a_role_did_not_begin(play: Play) -> None:
    """What goes from the control plane goes last: its host is in the limit that goes on."""
    outcome = play(["both", "on", "on", "off"], ["both", "on", "on", "restored"], **ASKED)
    assert outcome.status != 0
    assert [call["component"] for call in outcome.calls if call["step"] == "change"].count(API) == 1
    assert "control_plane did not begin on cp1" in outcome.output
    assert "run it again with --limit cp1,w1" in outcome.output


def test_devices_that_the_restart_of_a_kubelet_loses_stop_the_run(play: Play) -> None:
    brisk = ["-e", '{"__node_kubelet_look_again": 0, "node_kubelet_allocatable_timeout": 1}']
    # It is looked at with the plan, before the restarts, and after them.
    outcome = play("nothing", "on", *brisk, stub_api={"devices": {"w1": [4, 4, 0]}}, **ASKED)
    assert outcome.status != 0
    assert "example.com/dongle is 0, expected 4" in outcome.output
    changed = [call["component"] for call in outcome.calls if call["step"] == "change"]
    assert KUBELET in changed
    assert NODES not in changed


def test_check_mode_shows_all_of_it_in_one_pass_and_changes_nothing(play: Play) -> None:
    outcome = play("both", "both", "--check")
    assert passes(outcome) == []
    assert outcome.hosts("plan", API) == ["cp1"] * 2  # with all others, and for the diff


def test_gates_alone_leave_the_nodes_alone(play: Play) -> None:
    wish = {"control_plane_feature_gates": {"A": True}, "node_kubelet_feature_gates": {"A": True}}
    assert passes(play("on", "on", name="feature_gates", **wish)) == [API, KUBELET]


def test_gates_of_the_control_plane_alone_leave_the_kubelets_alone(play: Play) -> None:
    assert passes(play("on", "on", name="feature_gates", control_plane_feature_gates={"A": True})) == [API]


def test_labels_alone_are_a_change(play: Play) -> None:
    assert passes(play("nothing", "nothing", nodes={"node_label": "changes"})) == [NODES]


def test_a_placement_guard_is_planned_first_and_written_last(play: Play) -> None:
    outcome = play("on", "on", **ASKED, placement_guard_nodes=["w1"])
    assert outcome.status == 0, outcome.output
    steps = [(call["step"], call["component"]) for call in outcome.calls]
    guarded = [number for number, (_step, component) in enumerate(steps) if component == "placement_guard"]
    assert [steps[number][0] for number in guarded] == ["plan", "change"]
    assert guarded[0] < steps.index(("change", API))
    assert guarded[1] > max(number for number, (_step, component) in enumerate(steps) if component == NODES)


def test_a_placement_guard_alone_is_no_wish_for_the_whole_cluster(play: Play) -> None:
    outcome = play("on", "on", placement_guard_nodes=["w1"])
    assert outcome.status != 0
    assert "is set for any host of this run" in outcome.output
    assert outcome.calls == []


def test_a_run_that_names_nothing_is_refused(play: Play) -> None:
    outcome = play("off", "off", other="variable")
    assert outcome.status != 0
    assert "is set for any host of this run" in outcome.output
    assert outcome.calls == []


def test_gates_that_nobody_names_are_refused(play: Play) -> None:
    outcome = play("on", "on", name="feature_gates")
    assert outcome.status != 0
    assert "None of control_plane_feature_gates, node_kubelet_feature_gates is set" in outcome.output
    assert outcome.calls == []


def test_a_wish_may_stand_where_the_playbook_is_imported(play: Play) -> None:
    gates = {"control_plane_feature_gates": {"A": True}}
    outcome = play("on", "on", name="feature_gates", imported=gates, node_kubelet_feature_gates={"A": True})
    assert passes(outcome) == [API, KUBELET]


def test_labels_may_stand_there_too(play: Play) -> None:
    labels, changes = {"node_resources_labels": {"a": "b"}}, {"node_label": "changes"}
    outcome = play("on", "on", name="node_resources", nodes=changes, imported=labels, other="variable")
    assert passes(outcome) == [NODES]


@pytest.mark.parametrize("name", ["site", "feature_gates", "node_resources", "placement_guard"])
def test_an_inventory_with_other_groups_is_refused(stage: Stage, name: str) -> None:
    outcome = stage.playbook(name, {"masters": {"cp1": ASKED}, "workers": {"w1": ASKED}})
    assert outcome.status != 0
    assert "The inventory has no host in kube_control_plane" in outcome.output


def test_gates_of_a_control_plane_that_is_not_there_are_refused(stage: Stage) -> None:
    outcome = stage.playbook("feature_gates", {"kube_node": {"w1": {"control_plane_feature_gates": {"A": True}}}})
    assert outcome.status != 0
    assert "control_plane_feature_gates is set, and the inventory has no host in kube_control_plane" in outcome.output


def test_no_role_asks_a_node_again_for_what_another_read(stage: Stage) -> None:
    host = {"stub": {API: "on", KUBELET: "on"}, "stub_nodes": {}, "stub_kubelet_info": "gone", **ASKED}
    outcome = stage.playbook("site", {"kube_control_plane": {"cp1": host}, "kube_node": {"w1": host}})
    assert outcome.status == 0, outcome.output
    asked = [call["arguments"] for call in outcome.calls if call["component"] == NODES]
    assert asked
    assert all(sorted(each["per_node"]) == ["cp1", "w1"] for each in asked)
    assert {each["cluster"]["ca_sha256"] for each in asked} == {"a"}
