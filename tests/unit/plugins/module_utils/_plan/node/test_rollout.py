# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes one task serves, with what, and what is reported of each."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import rollout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.rollout import Applied, NodeHost, NodeOutcome
from ansible_collections.nodecraft.kubeadm.tests.unit.support.rollouts import THIS_PASS, Json

CLUSTER = {"ca_sha256": "a", "server": "", "machine_id": "1"}
SHARED = dict.fromkeys(rollout.SAME_FOR_ALL, 1)


def host(node: str, excluded: str = "", **settings: object) -> NodeHost:
    known: Json = {
        **SHARED,
        "node": node,
        "cluster": None,
        "control_plane": False,
        "taints": [],
        "resources": {},
        "labels": {"a": "b"},
    }
    return passed({**THIS_PASS, "at_work": True, "excluded": excluded, "settings": {**known, **settings}})


def passed(begin: Json, **registers: Json) -> NodeHost:
    return NodeHost(lambda task: {"begin": begin, **registers}.get(task, {}))


def outcome(of: NodeHost, results: Json) -> NodeOutcome:
    """What became of a host. results: of the tasks, by kind."""
    return rollout.host_outcome(of, typed.parse(Applied, results))


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (host("n2"), ""),
        (host("n2", node_resources_purge=0), "node_resources_purge is 1 on w1 and 0 on w2"),
        (host("n1"), "w1, w2 are the same node, n1."),
        (host("n2", cluster={**CLUSTER, "ca_sha256": "b"}), "belong to 2 clusters"),
    ],
)
def test_what_refuses_all(second: NodeHost, words: str) -> None:
    found = rollout.run_refusal({"w1": host("n1", cluster=CLUSTER), "w2": second, "w3": host("n3")})
    assert words in found
    assert bool(found) is bool(words)


def test_which_hosts_are_control_planes() -> None:
    assert rollout.control_planes({"c1": host("c1", control_plane=True), "w1": host("w1")}) == ["c1"]


def test_the_first_of_two_passes_leaves_what_goes() -> None:
    """Unnamed, because what is named would come back where a person removes it meanwhile: a taint could evict pods."""
    taints = [{"key": "x"}, {"key": "y", "state": "absent"}, {"key": "z", "effect": "NoSchedule", "state": "present"}]
    desired = {"taints": taints, "labels": {"a": "b", "c": None}, "extended_resources": {}}
    settings = {"desired": desired, "node_resources_purge": True}
    known = {"taints": taints, "labels": {"a": "b", "c": None}, "resources": {}, "node_resources_purge": True}
    preserved = {
        "taints": {"waits": True, "taints": {"y:NoExecute": "v"}},
        "labels": {"waits": False, "labels": {"c": "d", "e": "f"}},
        "resources": {"waits": True, "resources": {"a.com/b": "2"}},
    }
    assert rollout.settings_of_pass({**settings, "first_of_two": True, "preserved": preserved}) == {
        "taints": [
            taints[0],
            {"key": "y", "effect": "NoSchedule", "state": "absent"},
            {"key": "y", "effect": "PreferNoSchedule", "state": "absent"},
            taints[2],
        ],
        "labels": {"a": "b"},
        "resources": {},
        "node_resources_purge": False,
    }
    # One task serves all hosts, so that purge must be the same where nothing goes.
    assert rollout.settings_of_pass({**settings, "first_of_two": True, "preserved": {}}) == {
        **known,
        "node_resources_purge": False,
    }
    assert rollout.settings_of_pass({**settings, "first_of_two": False, "preserved": {}}) == known


def test_what_no_variable_names_is_not_requested() -> None:
    settings = {"desired": {"labels": {}}, "first_of_two": False, "preserved": {}}
    assert rollout.settings_of_pass(settings) == {"taints": None, "labels": {}, "resources": None}


def test_the_first_of_two_passes_names_a_taint_that_was_removed_before() -> None:
    taints = [{"key": "x", "state": "absent"}, {"key": "y", "effect": "NoExecute", "state": "absent"}]
    preserved = {"taints": {"taints": {"x:NoSchedule": ""}}}
    settings = {"desired": {"taints": taints}, "first_of_two": True, "preserved": preserved}
    others = [{"key": "x", "effect": effect, "state": "absent"} for effect in ("PreferNoSchedule", "NoExecute")]
    assert rollout.settings_of_pass(settings)["taints"] == [*others, taints[1]]


def test_what_a_task_is_requested() -> None:
    hosts = {"w1": host("n1", taints=["t"]), "w2": host("n2", cluster=CLUSTER)}
    assert rollout.module_arguments("labels", hosts) == {
        "per_node": {"n1": {"labels": {"a": "b"}}, "n2": {"labels": {"a": "b"}}},
        "purge": 1,
        "wait": 1,
        "wait_timeout": 1,
        "cluster": {"ca_sha256": "a", "machine_ids": {"n2": "1"}},
    }
    taints = rollout.module_arguments("taints", {"w1": hosts["w1"]})
    assert (taints["per_node"], taints["allow_eviction"]) == ({"n1": {"taints": ["t"]}}, 1)
    # Where no node was queried which cluster is its own.
    assert "cluster" not in taints


def node(**result: object) -> Json:
    return {"nodes": {"n1": {"changed": False, "failed": False, "msg": "", "operations": [], **result}}}


def test_what_became_of_a_host() -> None:
    found = outcome(host("n1"), {"taints": node(changed=True), "resources": node()})
    assert found.taints
    assert (found.node, found.taints.changed, found.labels) == ("n1", True, None)


LABEL = {"field": "labels", "key": "a", "before": None, "after": "b"}
NOTHING: Json = {"changed": False, "failed": False, "msg": "", "operations": []}
CHANGED: Json = {**NOTHING, "changed": True, "operations": [LABEL]}


def test_each_node_gets_its_own_results() -> None:
    results = {"taints": {"nodes": {"w1": NOTHING, "w2": CHANGED}}, "labels": {"nodes": {"w1": CHANGED}}}
    own = {"node": "w1", "taints": NOTHING, "resources": None, "labels": CHANGED}
    assert outcome(host("w1"), results).report() == own
    assert outcome(host("w2"), results).report() == {**own, "node": "w2", "taints": CHANGED, "labels": None}


def test_task_that_failed_as_a_whole_failed_for_each_node() -> None:
    failed = {"changed": False, "failed": True, "operations": []}
    refused = {"failed": True, "msg": "refused"}
    assert outcome(host("w1"), {"labels": refused}).report()["labels"] == {**failed, "msg": "refused"}
    assert outcome(host("w1"), {"labels": {"unreachable": True}}).report()["labels"] == {**failed, "msg": "no answer"}
    # It failed for another node, and says of this one how it ended.
    results = {"labels": {"failed": True, "nodes": {"w1": CHANGED, "w2": {**NOTHING, "failed": True}}}}
    assert outcome(host("w1"), results).report()["labels"] == CHANGED
    # It read and planned the nodes, and was refused before it sent anything: which pods a taint evicts could not be read.
    planned = {"failed": True, "msg": "403", "nodes": {"w1": {**CHANGED, "changed": False}}}
    assert outcome(host("w1"), {"taints": planned}).report()["taints"] == {
        **CHANGED,
        "changed": False,
        "failed": True,
        "msg": "403",
    }


def test_task_that_did_not_run_has_left_what_other_nodes_name_there() -> None:
    failed = {
        "taints": {"failed": True, "nodes": {"w1": NOTHING, "w2": {**NOTHING, "failed": True}}},
        "failed_hosts": ["host-of-w2"],
    }
    left = {**NOTHING, "failed": True, "started": False, "msg": "Not changed, because host-of-w2 failed."}
    own = outcome(host("w1", resources=None), failed).report()
    assert (own["taints"], own["resources"], own["labels"]) == (NOTHING, None, left)
    # One that failed itself has the reason.
    assert outcome(host("w2"), failed).report()["labels"] is None
    # A task that has not run yet has left nothing.
    assert outcome(host("w1"), {"taints": {"nodes": {"w1": NOTHING}}}).report()["labels"] is None


def test_a_host_that_is_excluded() -> None:
    found = outcome(host("", excluded="no route"), {})
    assert found.report() == {
        "node": None,
        "taints": None,
        "resources": None,
        "labels": None,
        "unreachable": True,
        "msg": "skipped, because it cannot be reached: no route",
    }


def test_a_host_that_has_ended_already_is_reported_as_it_reported_itself() -> None:
    """The results of its end take the place of what it began with, before hosts end that Ansible has no forks for at once."""
    report = {"node": None, **dict.fromkeys(rollout.TASKS), "unreachable": True, "msg": "gone"}
    assert outcome(passed({**THIS_PASS, "at_work": True}, end={**THIS_PASS, "report": report}), {}).report() == report


def test_what_repairs_kubelets_that_keep_the_api_down() -> None:
    found = rollout.api_repair_hint(["cp2", "cp1"])
    assert "as on cp1, cp2, starts no API server" in found
    assert "feature_gates" in found
    assert "-e node_kubelet_check_api=false" in found
    assert rollout.api_repair_hint([]) == ""


def test_what_is_owned_and_not_named_comes_with_what_reverts_it() -> None:
    found = {"node": "n1", "labels": None, "resources": {"left_alone": ["a.b/c"]}, "taints": {"left_alone": ["t"]}}
    assert list(rollout.left_alone({"w1": typed.parse(NodeOutcome, found)})) == [
        ("w1", "taints t", "node_resources_taints: []"),
        ("w1", "resources a.b/c", "node_resources_extended_resources: {}"),
    ]
