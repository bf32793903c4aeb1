# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks on a real play. What they decide, unit tests of their steps hold (tests/unit/plugins/plugin_utils/_controller/test_playbook_steps.py); what
they have in common, tests/contracts/test_playbooks.py."""

from __future__ import annotations

import itertools
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import ROOT, Json, Outcome, Stage

API, KUBELET, NODES = "kube-apiserver", "kubelet", "node_taint"

SETTINGS: Json = {"control_plane_components": {}}

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run a playbook on cp1 and w1. api, kubelets: what they do. nodes: what the modules of the API do. variables: or SETTINGS.

    run_import: variables that stand where the playbook is imported.
    """

    def play(
        api: str | list[str],
        kubelets: str | list[str],
        *options: str,
        name: str = "site",
        nodes: Json | None = None,
        run_import: Json | None = None,
        **variables: t.Any,
    ) -> Outcome:
        def host(node: str) -> Json:
            stubs = {"stub": {API: api, KUBELET: kubelets}, "stub_nodes": nodes or {}}
            return {**stubs, "node_resources_node_name": node, **(variables or SETTINGS)}

        groups = {"kube_control_plane": {"cp1": host("cp1")}, "kube_node": {"w1": host("w1")}}
        return stage.playbook(name, groups, *options, variables=run_import)

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
    assert passes(outcome) == [API, KUBELET, NODES]


@pytest.mark.slice
def test_a_refusal_anywhere_changes_nothing_anywhere(play: Play) -> None:
    outcome = play("on", "refused")
    assert outcome.status != 0
    assert "refused in the rehearsal" in outcome.output
    assert [call for call in outcome.calls if call["step"] == "change"] == []


PANIC = "kubelet on cp1 is down; it logged last: panic: unrecognized feature gate: OldGate"


def test_a_kubelet_that_is_down_is_repaired_before_the_control_plane_needs_it(stage: Stage) -> None:
    """In one pass, though the run adds and removes: what goes may be what keeps the kubelet down."""
    down: Json = {"stub": {API: "both", KUBELET: "off"}, "stub_kubelet_problem": PANIC}
    hosts: dict[str, Json] = {"cp1": down, "w1": {"stub": {KUBELET: "on"}}}
    for name, variables in hosts.items():
        variables.update(node_resources_node_name=name, **SETTINGS)
    groups = {"kube_control_plane": {"cp1": hosts["cp1"]}, "kube_node": {"w1": hosts["w1"]}}
    outcome = stage.playbook("site", groups)
    assert passes(outcome) == [KUBELET, NODES, API, NODES]
    assert outcome.hosts("change", KUBELET) == ["cp1", "w1"]
    assert f"cp1 kubelet: before the change, {PANIC}" in outcome.output


def test_without_an_api_server_the_run_reports_what_repairs_the_kubelet(stage: Stage) -> None:
    down: Json = {"stub": {API: "both", KUBELET: "off"}, "stub_kubelet_problem": PANIC}
    down |= {"stub_nodes": {NODES: "fails"}, "node_resources_node_name": "cp1", **SETTINGS}
    outcome = stage.playbook("site", {"kube_control_plane": {"cp1": down}, "kube_node": {}})
    assert outcome.status != 0
    assert "as on cp1, starts no API server" in "".join(outcome.reports)
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
        return {**stubs, **SETTINGS, **NAMED, **variables}

    groups = {"workers": {"w1": host("w1")}, "masters": {"m1": host("m1"), "m2": host("m2")}}
    return stage.playbook("site", groups, *options)


def test_a_limit_counts_for_groups_of_other_names(stage: Stage) -> None:
    outcome = named_groups(stage, "--limit=m2:w1")
    assert outcome.status == 0, outcome.output
    assert (outcome.hosts("change", API), outcome.hosts("change", KUBELET)) == (["m2"], ["m2", "w1"])


def test_a_group_that_the_inventory_does_not_have_is_named(stage: Stage) -> None:
    outcome = named_groups(stage, kube_control_plane_group="master")
    assert outcome.status != 0
    assert "names master, which is not a group of the inventory. It has masters, workers." in outcome.output
    assert outcome.calls == []


def test_a_worker_that_cannot_be_reached_may_be_excluded_from_the_whole_run(stage: Stage) -> None:
    def host(behaviour: str, **variables: t.Any) -> Json:
        limits = {"node_kubelet_max_unreachable": 1, "node_resources_max_unreachable": 1}
        return {"stub": {API: "on", KUBELET: behaviour}, **SETTINGS, **limits, **variables}

    workers = {"w1": host("on"), "w2": host("gone", stub_kubelet_info="gone")}
    outcome = stage.playbook("site", {"kube_control_plane": {"cp1": host("on")}, "kube_node": workers})
    assert outcome.status == 0, outcome.output
    assert (outcome.hosts("change", API), outcome.hosts("change", KUBELET)) == (["cp1"], ["cp1", "w1"])
    (taints,) = [call["arguments"] for call in outcome.calls if (call["step"], call["component"]) == ("change", NODES)]
    assert sorted(taints["per_node"]) == ["cp1", "w1"]


def test_the_file_that_the_documentation_has_for_awx_plays_the_playbook(stage: Stage) -> None:
    text = (ROOT / "docs/site.md").read_text(encoding="utf-8").partition("## In AWX")[2]
    (entry,) = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])
    hosts = {"stub": {API: "on"}, "node_resources_node_name": "cp1", **SETTINGS}
    outcome = stage.run_import(entry, {"kube_control_plane": {"cp1": hosts}})
    assert outcome.status == 0, outcome.output
    assert outcome.hosts("change", API) == ["cp1"]


def test_what_was_planned_and_did_not_begin_fails_and_is_in_the_limit_that_goes_on(play: Play) -> None:
    outcome = play("rolled_back", "on")
    assert outcome.status != 0
    assert outcome.hosts("change", KUBELET) == []
    assert 'fatal: [w1]: FAILED! => {"changed": false, "msg": "Not changed, because cp1 failed."' in outcome.output
    (report,) = outcome.reports
    assert report.splitlines()[-1].startswith(
        "Failed: cp1 failed; rolled back: kube-apiserver on cp1; 1 node did not begin."
    )


def test_both_take_two_passes_of_which_the_first_takes_nothing_away(play: Play) -> None:
    desired = {"control_plane_feature_gates": {"A": True, "B": False}, "node_resources_labels": {"a": "b", "c": None}}
    # As real modules report both: what is added, and then what is removed.
    outcome = play(
        ["both", "on", "on", "off"],
        ["on", "on", "on", "nothing"],
        nodes={"node_label": ["both", "changes", "changes", "off"]},
        **desired,
    )
    assert passes(outcome) == [API, KUBELET, NODES, NODES, API]
    first, second = arguments(outcome, API)
    assert first["feature_gates"] == {"A": True, "B": True}
    assert second["feature_gates"] == {"A": True, "B": False}
    # It is not set to what it was, for it may have been removed meanwhile.
    labels = [(call["per_node"]["w1"]["labels"], call["purge"]) for call in arguments(outcome, "node_label")]
    assert labels == [({"a": "b"}, False), ({"a": "b", "c": None}, True)]
    # The report is that of the run, not of its second pass.
    statistics = outcome.statistics
    api = statistics["control_plane_report"]["cp1"][API]
    assert [each["key"] for each in api["operations"]] == ["A", "B"]
    kubelet = statistics["node_kubelet_report"]["w1"]
    assert (kubelet["changed"], kubelet["transaction"]["outcome"]) == (True, "committed")
    assert [each["key"] for each in statistics["node_resources_report"]["w1"]["labels"]["operations"]] == ["a", "c"]


def test_second_observation_of_the_nodes_hides_nothing_of_what_was_changed_there(play: Play) -> None:
    outcome = play("nothing", "off", nodes={"node_label": ["off", "off", "nothing"]})
    assert passes(outcome) == [NODES, KUBELET, NODES]
    assert outcome.statistics["node_resources_report"]["w1"]["labels"]["changed"]


def test_what_was_to_be_removed_and_was_not_is_in_the_limit_that_goes_on(play: Play) -> None:
    outcome = play("off", ["on", "on", "rolled_back"], control_plane_feature_gates={"B": False})
    assert outcome.status != 0
    (report,) = outcome.reports
    assert report.splitlines()[-1].startswith("Failed: cp1 failed; rolled back: ")
    assert "cp1" in report.rpartition("--limit ")[2] or "Run the same command again" in report


def test_a_kubelet_to_which_nothing_comes_waits_for_the_second_pass(play: Play) -> None:
    """What replaces each other in its configuration is changed in one pass, with one restart."""
    desired = {
        "node_kubelet_config": {"maxParallelImagePulls": 4},
        "node_kubelet_args": {"v": 4},
        "control_plane_feature_gates": {"A": True},
    }
    outcome = play(["on", "on", "on", "nothing"], ["off", "nothing", "off"], **desired)
    assert passes(outcome) == [API, NODES, KUBELET, NODES]
    plans = [
        call["arguments"]
        for call in outcome.calls
        if (call["step"], call["component"], call["host"]) == ("plan", KUBELET, "w1")
    ]
    named = [(plan.get("config"), plan.get("args"), plan["purge"]) for plan in plans]
    everything = (desired["node_kubelet_config"], desired["node_kubelet_args"], True)
    assert named == [everything, (None, None, False), everything]


def test_check_mode_rehearses_both_passes_shows_them_as_one_and_changes_nothing(play: Play) -> None:
    desired = {"control_plane_feature_gates": {"A": True, "B": False}}
    outcome = play("both", "both", "--check", **desired)
    assert passes(outcome) == []
    plans = [
        call["arguments"]["feature_gates"]
        for call in outcome.calls
        if (call["step"], call["component"]) == ("plan", API)
    ]
    whole = {"A": True, "B": False}
    assert plans == [whole, {"A": True, "B": True}, whole, whole]  # the last one for the diff
    assert "This run makes two passes" in outcome.output


def test_a_placement_guard_is_planned_first_and_written_last(play: Play) -> None:
    outcome = play("on", "on", **SETTINGS, placement_guard_nodes=["w1"])
    assert outcome.status == 0, outcome.output
    steps = [(call["step"], call["component"]) for call in outcome.calls]
    guarded = [number for number, (_step, component) in enumerate(steps) if component == "placement_guard"]
    assert [steps[number][0] for number in guarded] == ["plan", "change"]
    assert guarded[0] < steps.index(("change", API))
    assert guarded[1] > max(number for number, (_step, component) in enumerate(steps) if component == NODES)


def test_a_run_that_names_nothing_is_refused(play: Play) -> None:
    outcome = play("off", "off", other="variable")
    assert outcome.status != 0
    assert "is set for any host of this run" in outcome.output
    assert outcome.calls == []


def test_a_desired_state_may_stand_where_the_playbook_is_imported(play: Play) -> None:
    gates = {"control_plane_feature_gates": {"A": True}}
    outcome = play("on", "on", name="feature_gates", run_import=gates, node_kubelet_feature_gates={"A": True})
    assert passes(outcome) == [API, KUBELET]


def test_labels_may_stand_there_too(play: Play) -> None:
    labels, changes = {"node_resources_labels": {"a": "b"}}, {"node_label": "changes"}
    outcome = play("on", "on", name="node_resources", nodes=changes, run_import=labels, other="variable")
    assert passes(outcome) == [NODES]


def test_an_inventory_with_other_groups_is_refused(stage: Stage) -> None:
    outcome = stage.playbook("site", {"masters": {"cp1": SETTINGS}, "workers": {"w1": SETTINGS}})
    assert outcome.status != 0
    assert "The inventory has no host in kube_control_plane" in outcome.output


def test_gates_of_a_control_plane_that_is_not_there_are_refused(stage: Stage) -> None:
    outcome = stage.playbook("feature_gates", {"kube_node": {"w1": {"control_plane_feature_gates": {"A": True}}}})
    assert outcome.status != 0
    assert "control_plane_feature_gates is set, and the inventory has no host in kube_control_plane" in outcome.output
