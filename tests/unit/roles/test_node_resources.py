# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is asked for which nodes, with whose rights, and what is reported."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

ROLE = {"role": "nodecraft.kubeadm.node_resources"}
MODULES = ["node_taint", "node_extended_resource", "node_label"]

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role on cp1 and w1. stub: what the modules do. controller: variables of localhost."""

    def play(
        stub: dict[str, str] | None = None,
        *options: str,
        roles: t.Sequence[Json] = (ROLE,),
        controller: Json | None = None,
        **keywords: t.Any,
    ) -> Outcome:
        def host(name: str) -> Json:
            return {"node_resources_node_name": f"node-{name}", "stub_nodes": stub or {}}

        groups = {
            "kube_control_plane": {"cp1": host("cp1")},
            "kube_node": {"w1": host("w1")},
            "controllers": {"localhost": controller or {}},
        }
        return stage.play(groups, *options, hosts="kube_control_plane:kube_node", roles=list(roles), **keywords)

    return play


def asked(outcome: Outcome) -> list[tuple[str, list[str]]]:
    """Which module was asked for which nodes, in its order."""
    return [(call["component"], sorted(call["arguments"]["per_node"])) for call in outcome.calls]


@pytest.mark.slice
def test_each_module_is_asked_once_for_all_nodes(play: Play) -> None:
    outcome = play({"node_label": "changes"})
    assert outcome.status == 0, outcome.output
    assert asked(outcome) == [(name, ["node-cp1", "node-w1"]) for name in MODULES]
    (report,) = outcome.reports
    assert "node-cp1: labels a: unset -> b" in report
    assert "node-w1: labels a: unset -> b" in report
    told = outcome.statistics["node_resources_report"]
    assert {host: one["node"] for host, one in told.items()} == {"cp1": "node-cp1", "w1": "node-w1"}


@pytest.mark.parametrize("keywords", [{}, {"ignore_errors": True}])
def test_two_clusters_are_refused_before_the_first_write(stage: Stage, keywords: Json) -> None:
    hosts = {"w1": {}, "w2": {"stub_cluster": "b"}}
    outcome = stage.play({"kube_node": hosts}, roles=[ROLE], **keywords)
    assert asked(outcome) == []
    assert "belong to 2 clusters: w1 (https://a:6443, authority a); w2 (https://b:6443, authority b)." in outcome.output


def who(outcome: Outcome) -> set[tuple[str, bool, str | None]]:
    """Which host asked, whether as root, and which authority the API has to show."""
    return {
        (call["asks"], call["becomes"], call["arguments"].get("cluster", {}).get("ca_sha256")) for call in outcome.calls
    }


def test_a_control_plane_asks_with_its_own_admin_conf(play: Play, stage: Stage) -> None:
    assert who(play()) == {("cp1", True, None)}
    outcome = stage.play(
        {"kube_control_plane": {"cp1": {"stub_machine": "gone"}, "cp2": {}}, "kube_node": {"w1": {}}},
        hosts="kube_node",
        roles=[ROLE],
    )
    assert outcome.status == 0, outcome.output
    assert who(outcome) == {("cp1", True, None), ("cp2", True, "a")}
    stage.environment["K8S_AUTH_KUBECONFIG"] = "/here"
    assert ("localhost", False, None) in who(play())


def test_a_control_plane_that_cannot_be_reached_does_not_end_a_play_that_stops_at_every_error(stage: Stage) -> None:
    """Ansible counts a host that cannot be reached among the errors, although the task says to ignore it."""
    planes = {"cp1": {"stub_machine": "gone"}, "cp2": {}}
    groups: dict[str, Json] = {"kube_control_plane": planes, "kube_node": {"w1": {}, "w2": {}}}
    outcome = stage.play(groups, hosts="kube_node", roles=[ROLE], any_errors_fatal=True)
    assert outcome.status == 0, outcome.output
    assert {host for host, _root, _authority in who(outcome)} == {"cp2"}


def test_a_worker_that_cannot_be_reached_may_be_left_out(stage: Stage) -> None:
    groups: dict[str, Json] = {
        "kube_control_plane": {"cp1": {}},
        "kube_node": {"w1": {"stub_kubelet_info": "gone"}, "w2": {}},
    }
    limit = {"node_resources_max_unreachable": 1}
    outcome = stage.play(groups, roles=[ROLE], vars=limit, any_errors_fatal=True)
    assert outcome.status == 0, outcome.output
    assert asked(outcome) == [(name, ["cp1", "w2"]) for name in MODULES]
    (report,) = outcome.reports
    assert "w1: left out, because it cannot be reached" in report
    assert outcome.statistics["node_resources_report"]["w1"]["unreachable"] is True
    groups["kube_control_plane"]["cp1"] = {"stub_kubelet_info": "gone"}
    refused = stage.play(groups, roles=[ROLE], vars={"node_resources_max_unreachable": 2})
    assert "A control plane is never left out, and cp1 is one." in refused.output
    assert refused.calls == outcome.calls


def test_more_hosts_may_be_left_out_than_ansible_has_forks(stage: Stage) -> None:
    """Those that end before the first host that is reached are told of all the same."""
    gone: Json = {name: {"stub_kubelet_info": "gone"} for name in ("w1", "w2", "w3")}
    groups: dict[str, Json] = {"a_node": {**gone, "w4": {}}, "kube_control_plane": {"cp1": {}}}
    outcome = stage.play(groups, "--forks=1", roles=[ROLE], vars={"node_resources_max_unreachable": 3})
    assert outcome.status == 0, outcome.output
    (report,) = outcome.reports
    assert [f"w{number}: left out, because it cannot be reached" in report for number in (1, 2, 3)] == [True] * 3
    assert outcome.statistics["node_resources_report"].keys() == {"w1", "w2", "w3", "w4", "cp1"}


def test_a_run_that_reaches_no_host_is_refused(stage: Stage) -> None:
    groups: dict[str, Json] = {"kube_node": {"w1": {"stub_kubelet_info": "gone"}}, "kube_control_plane": {"cp1": {}}}
    outcome = stage.play(groups, hosts="kube_node", roles=[ROLE], vars={"node_resources_max_unreachable": 5})
    assert outcome.status != 0
    assert "No host of this run is left." in outcome.output


def test_a_host_whose_name_is_given_is_not_asked_and_so_not_left_out(stage: Stage) -> None:
    away = {"stub_kubelet_info": "gone", "node_resources_node_name": "n1"}
    groups: dict[str, Json] = {"kube_control_plane": {"cp1": {}}, "kube_node": {"w1": away}}
    outcome = stage.play(groups, roles=[ROLE], vars={"node_resources_max_unreachable": 1})
    assert outcome.status == 0, outcome.output
    assert asked(outcome) == [(name, ["cp1", "n1"]) for name in MODULES]


def test_a_play_that_does_not_keep_its_hosts_in_step_is_refused(play: Play) -> None:
    outcome = play({"node_label": "changes"}, strategy="ansible.builtin.free")
    assert outcome.status != 0
    assert asked(outcome) == []
    assert "invalid strategy ansible.builtin.free: must be linear" in outcome.output


def test_a_node_that_cannot_be_reached_ends_the_play(stage: Stage) -> None:
    groups: dict[str, Json] = {"kube_control_plane": {"cp1": {}}, "kube_node": {"w1": {"stub_kubelet_info": "gone"}}}
    outcome = stage.play(groups, roles=[ROLE])
    assert outcome.status != 0
    assert asked(outcome) == []
    assert "w1 does not tell its name in Kubernetes: gone" in outcome.output


def test_two_hosts_that_are_one_node_are_refused(stage: Stage) -> None:
    host = {"node_resources_node_name": "n1"}
    outcome = stage.play({"kube_node": {"w1": host, "w2": host}}, roles=[ROLE])
    assert outcome.status != 0
    assert "w1, w2 are the same node, n1. Each host of the play must be another node." in outcome.output
    assert asked(outcome) == []


def test_hosts_that_skip_the_role_are_left_out_wherever_they_stand(play: Play) -> None:
    outcome = play({"node_label": "changes"}, roles=[{**ROLE, "when": "inventory_hostname == 'w1'"}])
    assert outcome.status == 0, outcome.output
    assert asked(outcome) == [(name, ["node-w1"]) for name in MODULES]
    (report,) = outcome.reports
    assert "node-w1: labels a: unset -> b" in report


def test_hosts_of_the_last_pass_are_not_asked_for_in_the_next(play: Play) -> None:
    outcome = play(roles=[ROLE, {**ROLE, "when": "inventory_hostname == 'w1'"}])
    assert outcome.status == 0, outcome.output
    assert asked(outcome)[len(MODULES) :] == [(name, ["node-w1"]) for name in MODULES]


@pytest.mark.parametrize(("behaviour", "says"), [("fails", "there are no usable credentials"), ("gone", "gone")])
def test_a_failure_ends_the_play_and_is_what_is_reported(play: Play, behaviour: str, says: str) -> None:
    outcome = play({"node_extended_resource": behaviour}, post_tasks=[{"ansible.builtin.debug": {"msg": "went on"}}])
    assert outcome.status != 0
    assert [name for name, _nodes in asked(outcome)] == MODULES[:2]
    assert "went on" not in outcome.output
    assert "nothing to change" not in outcome.output
    assert says in "".join(outcome.reports)


def test_the_controller_is_asked_as_the_user_that_runs_ansible(play: Play) -> None:
    named = {"node_resources_api_host": "localhost"}
    outcome = play(controller={"ansible_become": True}, become=True, vars=named)
    assert outcome.status == 0, outcome.output
    assert [call["becomes"] for call in outcome.calls] == [False] * len(MODULES)


def test_what_is_asked_for_reaches_the_modules(play: Play) -> None:
    asks = {"allow_eviction": True, "wait": False, "wait_timeout": 7, "purge": False}
    outcome = play(vars={f"node_resources_{name}": value for name, value in asks.items()})
    assert outcome.status == 0, outcome.output
    taints, *others = [call["arguments"] for call in outcome.calls]
    assert {name: taints[name] for name in asks} == asks
    del asks["allow_eviction"]
    assert [{name: call[name] for name in asks} for call in others] == [asks, asks]


def test_hosts_that_ask_for_different_things_are_refused(play: Play) -> None:
    outcome = play(vars={"node_resources_purge": "{{ inventory_hostname == 'w1' }}"})
    assert outcome.status != 0
    assert (
        "node_resources_purge is False on cp1 and True on w1. These variables must be the same on all hosts"
        in outcome.output
    )
    assert outcome.calls == []


def test_nothing_is_offered_behind_a_failure_that_is_ignored(play: Play) -> None:
    outcome = play({"node_taint": "fails"}, ignore_errors=True)
    assert [name for name, _nodes in asked(outcome)] == MODULES[:1]
