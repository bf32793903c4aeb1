# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role on a real play. What is decided, unit tests of the steps hold (tests/unit/plugins/plugin_utils/_controller/test_node_resources_rollout.py)."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

ROLE = {"role": "nodecraft.kubeadm.node_resources"}
MODULES = ["node_taint", "node_extended_resource", "node_label"]

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role on cp1 and w1. stub: what the modules do."""

    def play(stub: dict[str, str], **keywords: t.Any) -> Outcome:
        def host(name: str) -> Json:
            return {"node_resources_node_name": f"node-{name}", "stub_nodes": stub}

        groups = {"kube_control_plane": {"cp1": host("cp1")}, "kube_node": {"w1": host("w1")}}
        return stage.play(groups, roles=[ROLE], **keywords)

    return play


def node_calls(outcome: Outcome) -> list[tuple[str, list[str]]]:
    """Which module was run for which nodes, in order."""
    return [(call["component"], sorted(call["arguments"]["per_node"])) for call in outcome.calls]


@pytest.mark.slice
def test_each_module_is_queried_once_for_all_nodes(play: Play) -> None:
    outcome = play({"node_label": "changes"})
    assert outcome.status == 0, outcome.output
    assert node_calls(outcome) == [(name, ["node-cp1", "node-w1"]) for name in MODULES]
    (report,) = outcome.reports
    assert "cp1, w1 Node + label a=b" in report
    reports = outcome.statistics["node_resources_report"]
    assert {host: one["node"] for host, one in reports.items()} == {"cp1": "node-cp1", "w1": "node-w1"}


def who(outcome: Outcome) -> set[tuple[str, bool, str | None]]:
    """Which host node_calls, whether as root, and which authority the API has to show."""
    return {
        (call["machine"], call["becomes"], call["arguments"].get("cluster", {}).get("ca_sha256"))
        for call in outcome.calls
    }


def test_a_control_plane_that_cannot_be_reached_does_not_end_a_play_that_stops_at_every_error(stage: Stage) -> None:
    """Ansible counts a host that cannot be reached among the errors, although the task says to ignore it."""
    planes = {"cp1": {"stub_machine": "gone"}, "cp2": {}}
    groups: dict[str, Json] = {"kube_control_plane": planes, "kube_node": {"w1": {}, "w2": {}}}
    outcome = stage.play(groups, hosts="kube_node", roles=[ROLE], any_errors_fatal=True)
    assert outcome.status == 0, outcome.output
    assert who(outcome) == {("cp2", True, "a")}


def test_more_hosts_may_be_excluded_than_ansible_has_forks(stage: Stage) -> None:
    """Those that end before the first host that is reached are reported all the same."""
    gone: Json = {name: {"stub_kubelet_info": "gone"} for name in ("w1", "w2", "w3")}
    groups: dict[str, Json] = {"a_node": {**gone, "w4": {}}, "kube_control_plane": {"cp1": {}}}
    outcome = stage.play(groups, "--forks=1", roles=[ROLE], vars={"node_resources_max_unreachable": 3})
    assert outcome.status == 0, outcome.output
    (report,) = outcome.reports
    assert [f"w{number}: skipped, because it cannot be reached" in report for number in (1, 2, 3)] == [True] * 3
    assert outcome.statistics["node_resources_report"].keys() == {"w1", "w2", "w3", "w4", "cp1"}


def test_a_failure_ends_the_play_and_is_what_is_reported(play: Play) -> None:
    outcome = play({"node_extended_resource": "fails"}, post_tasks=[{"ansible.builtin.debug": {"msg": "went on"}}])
    assert outcome.status != 0
    assert [name for name, _nodes in node_calls(outcome)] == MODULES[:2]
    assert "went on" not in outcome.output
    assert "nothing to change" not in outcome.output
    assert "there are no usable credentials" in "".join(outcome.reports)
