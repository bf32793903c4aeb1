# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose kubelet is changed when, what stops that, and what is reported."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

ROLE = {"role": "nodecraft.kubeadm.node_kubelet"}
REJECTED = {"rejected": {"w2": [{"pod": "default/picky", "reason": "selects nodes with disk=fast"}]}}
ASKED = {"node_kubelet_config": {"maxPods": 50}}
DIFFERENT = {"differences": {"w1": [{"field": "config", "key": "maxPods", "expected": 50, "found": 110}]}}

Play = t.Callable[..., Outcome]


def planned(outcome: Outcome) -> list[str]:
    """The hosts whose kubelet was planned, in their order."""
    return outcome.hosts("plan", "kubelet")


def changed(outcome: Outcome) -> list[str]:
    """The hosts whose kubelet was changed, in their order."""
    return outcome.hosts("change", "kubelet")


def batches(outcome: Outcome) -> list[set[str]]:
    """The hosts whose kubelet was changed before the API was asked again, batch by batch."""
    found: list[set[str]] = [set()]
    for call in outcome.calls:
        if call["step"] == "change":
            found[-1].add(call["host"])
        elif call["step"] == "ask" and found[-1]:
            found.append(set())
    return [batch for batch in found if batch]


def asked(outcome: Outcome) -> list[dict[str, t.Any]]:
    """What the API was asked for of single nodes, in its order."""
    found = [call["arguments"] for call in outcome.calls if call["step"] == "ask"]
    return [arguments for arguments in found if arguments.keys() & {"nodes", "restarted_nodes", "kubelets"}]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role on cp1, and on w1, w2 and w3.

    stub: what each does. api: what the API answers. options: of ansible-playbook. each: variables of single hosts.
    """

    def play(
        *stub: str,
        api: dict[str, t.Any] | None = None,
        options: t.Sequence[str] = (),
        roles: t.Sequence[dict[str, t.Any]] = (ROLE,),
        each: t.Mapping[str, dict[str, t.Any]] | None = None,
        **keywords: t.Any,
    ) -> Outcome:
        names = ["cp1", "w1", "w2", "w3"][: len(stub)]
        hosts = {
            name: {"stub": {"kubelet": behaviour}, "stub_api": api or {}, **(each or {}).get(name, {})}
            for name, behaviour in zip(names, stub, strict=True)
        }
        workers = {name: variables for name, variables in hosts.items() if name != "cp1"}
        groups = {"kube_control_plane": {"cp1": hosts["cp1"]}, "kube_node": workers}
        return stage.play(groups, *options, roles=list(roles), **keywords)

    return play


ALL = ("changes", "changes", "changes", "changes")


# ---- whose turn it is ------------------------------------------------------------------------------------------------


@pytest.mark.slice
def test_all_are_planned_and_changed_one_after_the_other(play: Play) -> None:
    outcome = play("changes", "changes", "nothing", "changes")
    assert outcome.status == 0, outcome.output
    assert sorted(planned(outcome)) == ["cp1", "w1", "w2", "w3"]
    assert changed(outcome) == ["cp1", "w1", "w3"]
    (report,) = outcome.reports
    assert "cp1: committed" in report
    assert "w2: nothing to change" in report
    assert "w3: committed" in report


def test_control_planes_come_one_by_one_whatever_their_group_is_called(stage: Stage) -> None:
    def hosts(*names: str, **variables: t.Any) -> dict[str, t.Any]:
        return {name: {"stub": {"kubelet": "changes"}, **variables} for name in names}

    groups = {"workers": hosts("w1", "w2"), "masters": hosts("m1", "m2", "m3", stub_control_plane=True)}
    outcome = stage.play(groups, roles=[ROLE], vars={"node_kubelet_max_unavailable": 2, **ASKED})
    assert outcome.status == 0, outcome.output
    assert batches(outcome) == [{"m1"}, {"m2"}, {"m3"}, {"w1", "w2"}]


def test_the_last_changes_are_taken_back_and_looked_at(play: Play) -> None:
    outcome = play("nothing", "on", vars={**ASKED, "node_kubelet_state": "previous"})
    assert outcome.status == 0, outcome.output
    (given,) = [call["arguments"] for call in outcome.calls if call["step"] == "change"]
    assert (given["state"], given["config"], given["purge"]) == ("previous", {}, False)
    # What the inventory asks for says nothing of what the change before had.
    assert asked(outcome)[-1]["kubelets"] == {"w1": {"feature_gates": {"A": True}, "config": {}}}


def test_a_word_from_outside_is_asked_for_as_the_variables_say(play: Play, confirm_url: str) -> None:
    wish = {**ASKED, "node_kubelet_confirm": True, "node_kubelet_confirm_url": confirm_url}
    outcome = play("nothing", "changes", vars=wish)
    assert outcome.status == 0, outcome.output
    (given,) = [call["arguments"] for call in outcome.calls if call["step"] == "change"]
    assert (given["confirm"], given["confirm_url"]) == (True, confirm_url)
    assert not {"confirm_timeout", "confirm_ca_cert"} & set(given)


def test_the_size_of_a_batch_may_be_a_text(play: Play) -> None:
    outcome = play("changes", "changes", "changes", options=["--extra-vars", "node_kubelet_max_unavailable=2"])
    assert outcome.status == 0, outcome.output
    assert sorted(changed(outcome)) == ["cp1", "w1", "w2"]


def test_workers_are_changed_in_batches_behind_the_control_plane(play: Play) -> None:
    outcome = play("changes", "changes", "restored", "changes", vars={"node_kubelet_max_unavailable": 2})
    assert outcome.status != 0
    assert changed(outcome)[0] == "cp1"
    assert sorted(changed(outcome)[1:]) == ["w1", "w2"]
    (report,) = outcome.reports
    assert "w1: committed" in report
    assert "w2: restored" in report
    assert "w3: not begun" in report
    assert "run again with --limit w2,w3" in report
    told = outcome.statistics["node_kubelet_report"]["w3"]
    assert (told["failed"], told["begun"], told["msg"]) == (True, False, "w3 was not changed, because w2 failed.")


@pytest.mark.parametrize(("stub", "ending"), [("lost", "lost"), ("unseen", "end not seen; rehearsal accepted")])
def test_a_node_that_is_lost_leaves_later_ones_untouched_and_is_reported(play: Play, stub: str, ending: str) -> None:
    outcome = play("changes", stub, "changes")
    assert outcome.status != 0
    assert changed(outcome) == ["cp1", "w1"]
    (report,) = outcome.reports
    assert f"w1: {ending}" in report
    assert "w2: not begun" in report
    assert outcome.statistics["node_kubelet_report"]["w1"]["failed"] is True


def test_nothing_is_changed_behind_a_failure_that_is_ignored(play: Play) -> None:
    outcome = play("restored", "changes", ignore_errors=True)
    assert changed(outcome) == ["cp1"]
    # Some releases of ansible-core end the play all the same.
    assert outcome.status != 0 or "w1 was not changed, because cp1 failed." in outcome.output


def test_a_second_pass_tells_of_those_that_take_part(play: Play) -> None:
    outcome = play(*ALL, roles=[ROLE, {**ROLE, "when": "inventory_hostname == 'w2'"}], vars=ASKED)
    assert outcome.status == 0, outcome.output
    first, second = outcome.reports
    assert "w1" in first
    assert "w1" not in second
    assert "w2" in second
    assert changed(outcome) == ["cp1", "w1", "w2", "w3", "w2"]
    # Whoever takes part asks, not whoever is first in the play.
    assert [call["host"] for call in outcome.calls if call["step"] == "ask"][-2:] == ["w2", "w2"]


def test_hosts_that_skip_the_role_are_left_out_wherever_they_stand(play: Play) -> None:
    outcome = play("changes", "changes", "changes", roles=[{**ROLE, "when": "inventory_hostname == 'w1'"}], vars=ASKED)
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["w1"]


def test_check_mode_plans_and_asks_and_changes_nothing(play: Play) -> None:
    outcome = play("changes", "changes", options=["--check"])
    assert outcome.status == 0, outcome.output
    assert {call["step"] for call in outcome.calls} == {"plan", "ask", "look"}
    limits = {"cp1": {"max_pods": 1}, "w1": {"max_pods": 1}}
    (look,) = asked(outcome)
    assert (look["restarted_nodes"], look["readmission"], look["limits"]) == (["cp1", "w1"], True, limits)


# ---- what stops it before the first write ----------------------------------------------------------------------------


@pytest.mark.slice
def test_a_refusal_keeps_every_node_from_a_change(play: Play) -> None:
    outcome = play("changes", "changes", "refused")
    assert outcome.status != 0
    assert "refused in the rehearsal" in outcome.output
    assert changed(outcome) == []


def test_a_node_that_cannot_be_reached_keeps_every_node_from_a_change(play: Play) -> None:
    outcome = play("changes", "gone", "changes")
    assert outcome.status != 0
    assert sorted(planned(outcome)) == ["cp1", "w1", "w2"]
    assert changed(outcome) == []


def test_a_node_that_the_play_has_lost_stops_it(play: Play) -> None:
    outcome = play("changes", "changes", pre_tasks=[{"ansible.builtin.fail": {}, "when": "inventory_hostname == 'w1'"}])
    assert outcome.status != 0
    assert planned(outcome) == []
    assert "reached or were ended earlier in this play cannot be planned (w1)" in outcome.output


def test_a_play_that_does_not_keep_its_hosts_in_step_is_refused(play: Play) -> None:
    outcome = play(*ALL, strategy="free")
    assert outcome.status != 0
    assert (planned(outcome), changed(outcome)) == ([], [])
    assert (
        "invalid strategy free: must be linear, because a turn begins only when every host has planned."
        in outcome.output
    )


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"node_kubelet_feature_gate": {}}, "did you mean node_kubelet_feature_gates?"),
        # All of them at once, not one in each run.
        ({"node_kubelet_zz": 1, "node_kubelet_yy": 1}, "does not know node_kubelet_yy; correct it, or list it in"),
        ({"node_kubelet_zz": 1, "node_kubelet_yy": 1}, "does not know node_kubelet_zz; correct it, or list it in"),
        ({"node_kubelet_max_unavailable": 0}, "Invalid node_kubelet_max_unavailable 0: must be at least 1."),
        ({"node_kubelet_node_name": "other"}, "node_kubelet_node_name of cp1 is other, but its kubelet goes by cp1"),
    ],
)
def test_variables_that_cannot_be_used(play: Play, variables: dict[str, t.Any], words: str) -> None:
    outcome = play("changes", "changes", vars=variables)
    assert outcome.status != 0
    assert words in outcome.output
    assert changed(outcome) == []


def test_hosts_that_cannot_be_served_together(play: Play) -> None:
    outcome = play("changes", "changes", each={"w1": {"node_kubelet_max_unavailable": 2}})
    assert outcome.status != 0
    assert (
        "node_kubelet_max_unavailable is 1 on cp1 and 2 on w1. These variables must be the same on all hosts"
        in outcome.output
    )
    assert changed(outcome) == []


@pytest.mark.parametrize("purge", [True, False])
def test_what_is_asked_for_reaches_the_module(play: Play, purge: bool) -> None:
    outcome = play(
        "changes", vars={"node_kubelet_config": {"maxPods": 50}, **({} if purge else {"node_kubelet_purge": False})}
    )
    (change,) = [call["arguments"] for call in outcome.calls if call["step"] == "change"]
    assert (change["purge"], change["config"], change["force"]) == (purge, {"maxPods": 50}, False)


def test_two_clusters_are_refused_before_the_first_write(play: Play) -> None:
    outcome = play("changes", "changes", "changes", each={"w2": {"stub_cluster": "b"}})
    assert outcome.status != 0
    assert changed(outcome) == []
    assert asked(outcome) == []
    assert (
        "belong to 2 clusters: cp1, w1 (https://a:6443, authority a); w2 (https://b:6443, authority b)."
        in outcome.output
    )
    assert "run each by itself, with --limit cp1,w1 and --limit w2." in outcome.output


def test_two_clusters_are_refused_where_errors_are_ignored(play: Play) -> None:
    outcome = play("changes", "changes", each={"w1": {"stub_cluster": "b"}}, ignore_errors=True)
    assert changed(outcome) == []


# ---- a run without control planes ------------------------------------------------------------------------------------

PLANES = {"control_planes": ["c1", "c2"]}
GATES = {"control_plane_feature_gates": {"A": True}}


def workers(stage: Stage, *options: str, others: t.Mapping[str, t.Any] | None = None, **variables: t.Any) -> Outcome:
    """A run on w1, in a cluster whose control planes are others."""
    node = {"stub": {"kubelet": "changes"}, "stub_api": PLANES} | variables
    return stage.play({"workers": {"w1": node}, **(others or {})}, *options, hosts="workers", roles=[ROLE])


def test_a_run_without_control_planes_says_so(stage: Stage) -> None:
    outcome = workers(stage, control_plane_feature_gates={})
    assert outcome.status == 0, outcome.output
    output = " ".join(outcome.output.split())
    assert "[WARNING]: no host of this run is a control plane, and the cluster has c1, c2." in output
    assert "the inventory has none in the group kube_control_plane" in output
    assert changed(outcome) == ["w1"]


def test_settings_of_control_planes_that_the_inventory_does_not_have_are_refused(stage: Stage) -> None:
    outcome = workers(stage, **GATES)
    assert outcome.status != 0
    assert "control_plane_feature_gates would reach nobody: the cluster has the control planes c1, c2" in outcome.output
    assert changed(outcome) == []


@pytest.mark.parametrize("group", ["kube_control_plane", "masters"])
def test_control_planes_may_be_left_out_of_a_run(stage: Stage, group: str) -> None:
    outcome = workers(stage, others={group: {"c1": {}}}, kube_control_plane_group=group, **GATES)
    assert outcome.status == 0, outcome.output
    assert "They are left out of this run: its hosts, or --limit, do not name them." in " ".join(outcome.output.split())
    assert changed(outcome) == ["w1"]


def test_an_api_that_knows_no_control_plane_says_nothing(stage: Stage) -> None:
    outcome = workers(stage, stub_api={})
    assert outcome.status == 0, outcome.output
    assert "WARNING" not in outcome.output


# ---- hosts that cannot be reached, and nodes that are not in the run -------------------------------------------------

GONE = {"stub_kubelet_info": "gone", "stub": {"kubelet": "gone"}}


def at_most(number: int, **variables: t.Any) -> dict[str, t.Any]:
    """The keywords of a play that may leave out so many hosts, and that stops at every error."""
    return {"vars": {"node_kubelet_max_unreachable": number, **variables}, "any_errors_fatal": True}


def test_a_worker_that_cannot_be_reached_may_be_left_out(play: Play) -> None:
    outcome = play(
        *ALL, each={"w2": GONE}, api={"control_planes": ["cp1"], "others": ["w9", "w1"]}, **at_most(1, **ASKED)
    )
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["cp1", "w1", "w3"]
    (report,) = outcome.reports
    assert "w2: left out, because it cannot be reached" in report
    assert "not in this run: w9" in report
    told = outcome.statistics["node_kubelet_report"]
    assert told["w2"]["unreachable"] is True
    assert told["w2"]["msg"].startswith("left out, because it cannot be reached: ")
    assert sorted(told) == ["cp1", "w1", "w2", "w3"]


@pytest.mark.parametrize(
    ("gone", "number", "told"),
    [
        (["w1", "w2"], 1, "node_kubelet_max_unreachable is 1, and 2 would be left out."),
        (["cp1"], 1, "A control plane is never left out, and cp1 is one."),
    ],
)
def test_more_of_them_or_a_control_plane_may_not(play: Play, gone: list[str], number: int, told: str) -> None:
    outcome = play(*ALL, each=dict.fromkeys(gone, GONE), **at_most(number))
    assert outcome.status != 0
    assert told in outcome.output
    assert changed(outcome) == []
    assert not set(planned(outcome)) & set(gone)


def test_a_run_that_reaches_no_host_is_refused(stage: Stage) -> None:
    groups: dict[str, Json] = {"kube_node": {"w1": GONE, "w2": GONE}, "kube_control_plane": {"cp1": {}}}
    outcome = stage.play(groups, hosts="kube_node", roles=[ROLE], **at_most(5))
    assert outcome.status != 0
    assert "No host of this run is left." in outcome.output


def test_a_control_plane_of_another_name_may_not_be_left_out(play: Play) -> None:
    outcome = play(*ALL, each={"w2": GONE}, api={"control_planes": ["cp1", "cp2"]}, **at_most(1))
    assert outcome.status != 0
    assert "w2 cannot be reached, and the cluster has the control plane cp2" in outcome.output
    assert changed(outcome) == []


def test_nobody_is_left_out_while_the_api_does_not_tell_the_control_planes(play: Play) -> None:
    outcome = play(*ALL, each={"w2": GONE}, api={"silent": True}, **at_most(1, node_kubelet_force=True))
    assert outcome.status != 0
    assert "w2 cannot be reached, and the API does not tell which nodes are control planes" in outcome.output
    assert changed(outcome) == []


def test_settings_of_control_planes_need_not_be_defined_on_the_host_that_asks(stage: Stage) -> None:
    wish = {"control_plane_components": {"kube-apiserver": {"args": {"x": "{{ of_planes }}"}}}}
    host = {"stub": {"kubelet": "changes"}, **wish}
    groups: dict[str, Json] = {"a_node": {"w1": host}, "kube_control_plane": {"cp1": {**host, "of_planes": "y"}}}
    outcome = stage.play(groups, roles=[ROLE])
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["cp1", "w1"]


# ---- what the API knows ----------------------------------------------------------------------------------------------


@pytest.mark.slice
def test_one_request_for_the_nodes_that_change(play: Play) -> None:
    outcome = play("nothing", "changes", "nothing", "changes")
    assert outcome.status == 0, outcome.output
    assert [call["restarted_nodes"] for call in asked(outcome) if "restarted_nodes" in call] == [["w1", "w3"]]


def test_nothing_is_asked_when_nothing_changes(play: Play) -> None:
    outcome = play("nothing", "nothing", api={"silent": True})
    assert outcome.status == 0, outcome.output
    assert asked(outcome) == []


@pytest.mark.parametrize("options", [[], ["--check"]])
def test_pods_that_would_not_come_back_keep_every_node_from_a_change(play: Play, options: list[str]) -> None:
    outcome = play("changes", "changes", "changes", api=REJECTED, options=options)
    assert outcome.status != 0
    assert changed(outcome) == []
    assert (
        "kubelet of w2 would reject pods that run there: default/picky (selects nodes with disk=fast)."
        in outcome.output
    )
    assert "set node_kubelet_force to true to lose them" in outcome.output
    (report,) = outcome.reports
    assert "w1: planned" in report
    assert "w2: failed" in report


def test_nothing_is_changed_behind_such_pods_when_errors_are_ignored(play: Play) -> None:
    assert changed(play(*ALL, api=REJECTED, ignore_errors=True)) == []


def test_force_restarts_under_such_pods(play: Play) -> None:
    outcome = play("changes", "changes", "changes", api=REJECTED, each={"w2": {"node_kubelet_force": True}})
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["cp1", "w1", "w2"]
    assert "default/picky" not in outcome.output


def test_the_next_control_plane_is_asked_where_the_api_of_the_first_does_not_answer(stage: Stage) -> None:
    host = {"stub": {"kubelet": "changes"}, "stub_api": {"devices": {"m1": ["silent", 4]}}}
    outcome = stage.play({"kube_control_plane": {"m1": host, "m2": host}}, roles=[ROLE])
    assert outcome.status == 0, outcome.output
    assert [call["asks"] for call in outcome.calls if call["step"] == "ask"][:2] == ["m1", "m2"]
    assert changed(outcome) == ["m1", "m2"]


# Ansible counts a host that cannot be reached among the errors, although the task says to ignore it.
@pytest.mark.parametrize("keywords", [{}, {"any_errors_fatal": True}])
@pytest.mark.parametrize("trouble", ["silent", "gone"])
def test_an_api_that_cannot_be_asked_is_refused_with_the_ways_out(
    play: Play, trouble: str, keywords: dict[str, t.Any]
) -> None:
    outcome = play("changes", "changes", api={trouble: True}, **keywords)
    assert outcome.status != 0
    assert changed(outcome) == []
    assert "the API does not tell which pods of cp1, w1 the restarted kubelets would reject" in outcome.output
    assert "elsewhere set K8S_AUTH_KUBECONFIG" in outcome.output
    assert "To do without, set node_kubelet_check_api to false" in outcome.output


@pytest.mark.parametrize(
    ("named", "asks"), [("", ("cp1", True)), ("localhost", ("localhost", False)), ("w1", ("w1", True))]
)
def test_who_asks_the_api(play: Play, named: str, asks: tuple[str, bool]) -> None:
    each = {name: {"ansible_become": True} for name in ("cp1", "w1", "w2", "w3")}
    outcome = play("changes", "changes", each=each, become=True, vars={**ASKED, "node_kubelet_api_host": named})
    assert outcome.status == 0, outcome.output
    found = [call for call in outcome.calls if call["step"] == "ask"]
    assert [(call["asks"], call["becomes"]) for call in found] == [asks] * 3
    assert found[0]["arguments"]["cluster"] == {"ca_sha256": "a", "machine_ids": {"cp1": "", "w1": ""}}


def test_without_the_api(play: Play) -> None:
    outcome = play("changes", "changes", api={"silent": True}, vars={"node_kubelet_check_api": False})
    assert outcome.status == 0, outcome.output
    assert asked(outcome) == []
    assert changed(outcome) == ["cp1", "w1"]


def test_what_was_asked_for_is_compared_after_every_batch(play: Play) -> None:
    wish = {"feature_gates": {"A": True}, "config": {"maxPods": 50}}
    outcome = play("changes", "changes", vars={f"node_kubelet_{name}": value for name, value in wish.items()})
    assert outcome.status == 0, outcome.output
    assert [call["step"] for call in outcome.calls][-5:] == ["change", "ask", "change", "ask", "released"]
    assert [call["kubelets"] for call in asked(outcome)[1:]] == [{"cp1": wish}, {"w1": wish}]


@pytest.mark.parametrize("keywords", [{}, {"ignore_errors": True}])
def test_a_kubelet_that_uses_something_else_stops_the_next_batch(play: Play, keywords: dict[str, t.Any]) -> None:
    outcome = play(*ALL, api=DIFFERENT, vars=ASKED, **keywords)
    assert changed(outcome) == ["cp1", "w1"]
    assert "config maxPods is 110, not 50. Nothing was rolled back" in outcome.output
    if not keywords:
        assert outcome.status != 0
        (report,) = outcome.reports
        assert "w2: not begun" in report


# ---- what device plugins offer ---------------------------------------------------------------------------------------

# Nobody sleeps between two looks, of which there are three.
BRISK = ["-e", '{"__node_kubelet_look_again": 0, "node_kubelet_allocatable_timeout": 2}']


def looks(outcome: Outcome, node: str) -> int:
    """How often the API was asked for this node alone, which is after its kubelet was restarted."""
    return sum(call.get("nodes") == [node] for call in asked(outcome))


def test_a_restarted_kubelet_is_waited_for_until_it_offers_its_devices_again(play: Play) -> None:
    outcome = play("changes", "changes", "changes", api={"devices": {"w1": [4, 0, 3, 4]}}, options=BRISK)
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["cp1", "w1", "w2"]
    # Whoever offered nothing before is not asked for.
    assert [looks(outcome, name) for name in ("cp1", "w1", "w2")] == [0, 3, 0]


@pytest.mark.parametrize("keywords", [{}, {"ignore_errors": True}])
def test_a_node_that_offers_less_than_before_stops_the_next_batch(play: Play, keywords: dict[str, t.Any]) -> None:
    outcome = play(*ALL, api={"devices": {"w1": [4, 3]}}, options=BRISK, **keywords)
    assert changed(outcome) == ["cp1", "w1"]
    assert looks(outcome, "w1") == 3
    output = " ".join(outcome.output.split())
    assert (
        "2 s later pods can be given less there of what device plugins offer than before: example.com/dongle is 3, expected 4."
        in output
    )
    assert "example.com/patched" not in outcome.output
    if not keywords:
        assert outcome.status != 0
        (report,) = outcome.reports
        assert "w2: not begun" in report


def test_a_resource_that_is_gone_counts_as_none(play: Play) -> None:
    outcome = play("nothing", "changes", api={"devices": {"w1": [4, None]}}, options=BRISK)
    assert outcome.status != 0
    assert "example.com/dongle is 0, expected 4" in outcome.output


def test_more_than_before_is_enough(play: Play) -> None:
    outcome = play("nothing", "changes", api={"devices": {"w1": [4, 5]}}, options=BRISK)
    assert outcome.status == 0, outcome.output
    assert looks(outcome, "w1") == 1


def test_an_api_that_falls_silent_in_between_is_asked_again(play: Play) -> None:
    outcome = play("nothing", "changes", api={"devices": {"w1": [4, "silent", 4]}}, options=BRISK)
    assert outcome.status == 0, outcome.output


def test_an_api_that_stays_silent_is_named(play: Play) -> None:
    outcome = play("nothing", "changes", api={"devices": {"w1": [4, "silent"]}}, options=BRISK)
    assert outcome.status != 0
    assert "the API could not be asked whether device plugins offer there" in outcome.output


def test_force_waits_for_devices_all_the_same(play: Play) -> None:
    forced = {"w1": {"node_kubelet_force": True}}
    outcome = play("nothing", "changes", api={"devices": {"w1": [4, 0]}}, options=BRISK, each=forced)
    assert outcome.status != 0
    assert "example.com/dongle is 0, expected 4" in outcome.output


def test_force_goes_on_without_an_answer(play: Play) -> None:
    outcome = play("nothing", "changes", api={"silent": True}, options=BRISK, each={"w1": {"node_kubelet_force": True}})
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["w1"]


def test_a_busy_node_is_waited_for(stage: Stage) -> None:
    node = {"stub": {"kubelet": ["busy", "changes", "busy", "changes"]}}
    brisk = ["-e", '{"__node_kubelet_look_again": 0, "node_kubelet_busy_timeout": 3}']
    outcome = stage.play({"kube_node": {"w1": node}}, *brisk, roles=[ROLE])
    assert outcome.status == 0, outcome.output
    assert (planned(outcome), changed(outcome)) == (["w1", "w1"], ["w1", "w1"])


@pytest.mark.parametrize("variable", ["node_kubelet_allocatable_timeout", "node_kubelet_check_api"])
def test_devices_may_be_left_out(play: Play, variable: str) -> None:
    outcome = play("nothing", "changes", api={"devices": {"w1": [4, 0]}}, vars={variable: 0})
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["w1"]
