# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host applies the guard, of which cluster it is, and what is reported: the steps of the role in their order."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, Call, FakePlay, Json, ModuleResult
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import Guard

UNCHANGED = {"changed": False, "enforced": False, "nodes": [], "added": [], "removed": [], "stale": [], "untainted": []}
WRITTEN: Json = {"changed": True, "enforced": True, "nodes": ["w1"], "summary": ["guard refuses; protected: w1"]}


def node(call: Call) -> Json:
    return {"node": f"node-{call.on}", "cluster": {"ca_sha256": "a", "server": "", "machine_id": f"id-{call.on}"}}


def role_run(
    *names: str,
    each: t.Mapping[str, Json] | None = None,
    planes: t.Sequence[str] = (),
    result: ModuleResult = node,
    change: Json | None = None,
    run_once: bool = False,
    **variables: t.Any,
) -> Guard:
    """A play on hosts. each: variables of single hosts. change: the result of the module. variables: of all."""
    hosts = {name: {**variables, **(each or {}).get(name, {})} for name in names}
    play = FakePlay(hosts, {"kube_control_plane": planes}, results={"kubelet_info": result}, run_once=run_once)
    return Guard(play, changes=dict.fromkeys(names, change or WRITTEN))


def run(*names: str, **more: t.Any) -> Guard:
    found = role_run(*names, **more)
    found.run()
    return found


def test_one_host_requests_all() -> None:
    found = run("w1", "w2")
    assert found.failures == {}
    admitted = found.result("admit", "w1")
    assert admitted["api"] == {"host": "localhost", "become": False}
    assert admitted["cluster"] == {"ca_sha256": "a", "machine_ids": {"node-w1": "id-w1"}}
    assert found.result("decide", "w2")["api"] == []
    assert found.summary["lines"] == ["guard refuses; protected: w1"]
    assert (found.report("w1")["changed"], found.report("w1")["nodes"], found.report("w2")) == (True, ["w1"], {})
    # There is one guard, not one for each host.
    assert found.statistics["placement_guard_report"] == found.report("w1")
    assert (found.summary["ansible_stats"]["per_host"], found.summary["outcome"]) == (False, "changed")


def test_a_control_plane_queries_the_first_that_responds() -> None:
    found = run("w1", planes=["cp1", "cp2"], result=lambda call: GONE if call.on == "cp1" else node(call))
    admitted = found.result("admit", "w1")
    assert found.result("decide", "w1")["api"][0] == {"host": "cp1", "become": True}
    assert (admitted["api"], [call.on for call in found.play.all_calls]) == (
        {"host": "cp2", "become": True},
        ["cp1", "cp2"],
    )
    assert admitted["cluster"]["machine_ids"] == {"node-cp2": "id-cp2"}


def test_who_comes_after_the_first_that_responds_is_not_queried() -> None:
    found = run("w1", planes=["cp1", "cp2"])
    assert (found.result("admit", "w1")["api"]["host"], [call.on for call in found.play.all_calls]) == ("cp1", ["cp1"])


def test_where_none_responds_the_last_one_queries_without_a_cluster() -> None:
    found = run("w1", planes=["cp1", "cp2"], result=GONE)
    admitted = found.result("admit", "w1")
    assert (admitted["api"]["host"], admitted["cluster"]) == ("cp1", {"ca_sha256": "", "machine_ids": {}})


def test_who_is_named_queries() -> None:
    found = run("w1", planes=["cp1"], placement_guard_api_host="bastion")
    assert (found.result("admit", "w1")["api"]["host"], found.changed) == ("bastion", ["bastion"])


@pytest.mark.parametrize(
    ("each", "step", "words"),
    [
        ({"w2": {"placement_guard_node": ["w1"]}}, "w2 begin", "did you mean placement_guard_nodes?"),
        (
            {"w2": {"placement_guard_nodes": ["w2"]}},
            "w1 decide",
            "These variables must be the same on all hosts of the play. Nodes with another purpose need a guard",
        ),
    ],
)
def test_bad_variables_are_refused_before_a_request_is_sent(each: Json, step: str, words: str) -> None:
    found = run("w1", "w2", each=each)
    assert words in found.failures[step]
    assert found.failures[step].startswith("Nothing was changed")
    assert (found.play.all_calls, found.changed) == ([], [])


def test_names_of_something_else_may_differ() -> None:
    each = {"w2": {"placement_guard_other": 1, "placement_guard_ignored_variables": ["placement_guard_other"]}}
    assert run("w1", "w2", each=each).failures == {}


def test_report_has_the_same_keys_on_every_path() -> None:
    result = {"changed": True, "enforced": True, "nodes": ["w1"], "summary": ["protected: w1"], "msg": "x"}
    written = run("w1", change=result)
    assert written.report("w1") == {**UNCHANGED, "changed": True, "enforced": True, "nodes": ["w1"]}
    assert written.summary["lines"] == ["protected: w1"]
    failed = run("w1", change={"failed": True, "summary": [], "msg": "no credentials"})
    assert failed.report("w1") == UNCHANGED
    assert failed.lines.startswith("Nothing was changed on 1 node\nw1: no credentials.\nFailed: w1 failed.")


def test_a_failure_is_what_is_reported() -> None:
    failed = {"failed": True, "changed": True, "msg": "It does not work as desired.", "summary": []}
    found = run("w1", change=failed)
    assert found.report("w1")["changed"] is True
    assert found.lines.startswith("w1: It does not work as desired.\nFailed: w1 failed.")


def test_hosts_that_skip_the_role_do_not_query() -> None:
    found = role_run("w1", "w2")
    found.run(skipped_by=["w1"])
    assert (found.summary["lines"], found.report("w2")["changed"]) == (["guard refuses; protected: w1"], True)


def test_what_an_earlier_pass_wrote_is_not_reported_again() -> None:
    found = role_run("w1")
    found.run()
    found.play.results["kubelet_info"] = {"failed": True, "msg": "no kubelet"}
    found.play.hostvars["w1"]["placement_guard_name"] = "other"
    its_pass = found.play
    its_pass.run_on_hosts("placement_guard", "begin")
    its_pass.run_on_hosts("placement_guard", "decide")
    found.end(["w1"])
    assert (found.lines, found.report("w1")) == ("Nothing to change on 1 node", UNCHANGED)


def test_one_host_may_do_it_for_all() -> None:
    assert run("w1", run_once=True).failures == {}


def test_hosts_that_the_play_has_lost_keep_no_other_from_it() -> None:
    found = role_run("w1", "w2")
    found.play.play_hosts, found.play.lost = ["w1"], ["w2"]
    found.run()
    assert (found.failures, found.changed) == ({}, ["localhost"])
