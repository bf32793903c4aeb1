# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host sends requests for which nodes, what stops that, and what is reported: the steps of the role in their order."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, Call, FakePlay, Json, ModuleResult
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import NodeResources

MODULES = ["node_taint", "node_extended_resource", "node_label"]
LABEL: Json = {"field": "labels", "key": "a", "before": None, "after": "b"}
FAILS: Json = {"failed": True, "changed": False, "msg": "there are no usable credentials", "nodes": {}}


def node(call: Call) -> Json:
    """The result of kubelet_info on a node. Those called cp1, cp2 ... are control planes."""
    cluster = {"ca_sha256": "a", "server": "https://a:6443", "machine_id": f"id-{call.host}"}
    return {"node": f"node-{call.host}", "cluster": cluster, "control_plane": call.host.startswith("cp")}


def well(call: Call) -> Json:
    """Nothing changes."""
    result: Json = {"changed": False, "failed": False, "msg": "", "operations": []}
    return {"changed": False, "nodes": dict.fromkeys(call.arguments["per_node"], result)}


def difference(name: str, after: str = "b") -> Json:
    """What a module shows of a node."""
    return {"before_header": f"node/{name}", "after_header": f"node/{name}", "before": "", "after": after}


def changes(call: Call, **more: t.Any) -> Json:
    """A label is set on each node. more: what else its result has."""
    result: Json = {"changed": True, "failed": False, "msg": "", "operations": [LABEL], **more}
    names = list(call.arguments["per_node"])
    return {"changed": True, "nodes": dict.fromkeys(names, result), "diff": [difference(name) for name in names]}


def role_run(
    *names: str,
    each: t.Mapping[str, Json] | None = None,
    groups: t.Mapping[str, t.Sequence[str]] | None = None,
    results: t.Mapping[str, ModuleResult] | None = None,
    variables: Json | None = None,
    **settings: t.Any,
) -> NodeResources:
    """A play on hosts. each: variables of single hosts. variables: of all."""
    hosts = {name: {**(variables or {}), **(each or {}).get(name, {})} for name in names}
    planes = [name for name in names if name.startswith("cp")]
    play = FakePlay(
        hosts,
        {"kube_control_plane": planes} if groups is None else groups,
        results={"kubelet_info": node, **dict.fromkeys(MODULES, well), **(results or {})},
        **settings,
    )
    return NodeResources(play)


def run(*names: str, **more: t.Any) -> NodeResources:
    found = role_run(*names, **more)
    found.run()
    return found


def node_calls(found: NodeResources) -> list[tuple[str, list[str]]]:
    """Which module was run for which nodes, in order."""
    return [
        (call.module, sorted(call.arguments["per_node"])) for call in found.play.all_calls if call.module in MODULES
    ]


def test_each_module_is_queried_once_for_all_nodes() -> None:
    found = run("cp1", "w1", results={"node_label": changes}, variables={"node_resources_labels": {"a": "b"}})
    assert found.failures == {}
    assert node_calls(found) == [(name, ["node-cp1", "node-w1"]) for name in MODULES]
    assert found.lines == "Changed: 2 operations on 2 of 2 nodes\ncp1, w1 Node + label a=b"
    assert found.report("w1")["labels"]["operations"] == [LABEL]
    # Each host has what became of its own node, not the one that sent the requests.
    assert (found.result("apply", "cp1")["changed"], "diff" in found.result("apply", "cp1")) == (False, False)
    for host in ("cp1", "w1"):
        ended = found.result("end", host)
        assert (ended["changed"], ended["diff"]) == (True, [difference(f"node-{host}")])
    assert {call.on for call in found.play.all_calls if call.module in MODULES} == {"cp1"}
    (labels,) = found.play.calls("node_label")
    assert labels.arguments["per_node"]["node-w1"] == {"labels": {"a": "b"}}
    assert labels.arguments["cluster"]["machine_ids"] == {"node-cp1": "id-cp1", "node-w1": "id-w1"}


@pytest.mark.parametrize(
    ("taints", "labels", "diffs"),
    [
        ([difference("node-cp1", "a")], [difference("node-w1"), difference("node-cp1")], ["a", "b"]),
        ([difference("node-cp1", "a")], None, ["a"]),
        (None, [], None),
    ],
)
def test_diffs_of_all_modules_are_one_list(taints: t.Any, labels: t.Any, diffs: t.Any) -> None:
    results: dict[str, ModuleResult] = {
        "node_taint": lambda call: {**well(call), "diff": taints},
        "node_label": lambda call: {**well(call), "diff": labels},
    }
    ended = run("cp1", "w1", results=results).result("end", "cp1")
    assert ended.get("diff") == (diffs and [difference("node-cp1", after) for after in diffs])
    assert ended["changed"] is False


def test_each_host_ends_as_its_own_node() -> None:
    def module_result(call: Call) -> Json:
        found = changes(call)
        refused = {"changed": False, "failed": True, "msg": "node-w1: refused", "operations": []}
        return {**found, "failed": True, "msg": "1 of 2 nodes failed.", "nodes": {**found["nodes"], "node-w1": refused}}

    labels = {"node_resources_labels": {"a": "b"}}
    found = run("cp1", "w1", results={"node_label": module_result}, variables=labels)
    assert found.failures == {"w1 end": "node-w1: refused"}
    assert [found.result("end", host)["changed"] for host in ("cp1", "w1")] == [True, False]
    assert "cp1 Node + label a=b\nw1: node-w1: refused\nFailed: w1 failed." in found.lines
    # What was not tried for that is left to do.
    missed = run("cp1", "w1", results={"node_taint": module_result}, variables=labels)
    assert [name for name, _nodes in node_calls(missed)] == MODULES[:1]
    assert missed.failures == {"cp1 end": "Not changed, because w1 failed.", "w1 end": "node-w1: refused"}


def test_what_was_not_waited_for_is_reported() -> None:
    note = "not waited for: the node is not Ready, so no kubelet would report it"
    found = run("cp1", "w1", results={"node_extended_resource": lambda call: changes(call, msg=note)})
    assert f"cp1, w1 Node: {note}" in found.lines


class Placed(dict[str, t.Any]):
    """A variable with the place where it comes from."""

    ansible_pos = ("w1.yml", 1, 1)


def test_reverts_are_reported_with_where_their_variable_comes_from_and_counted() -> None:
    gone = {**LABEL, "before": "b", "after": None, "no_longer_desired": True}
    emptied = {**LABEL, "key": "c", "before": "b", "after": ""}
    found = run(
        "w1",
        variables={"node_resources_labels": Placed(c="")},
        results={"node_label": lambda call: changes(call, operations=[gone, emptied])},
    )
    assert found.lines == (
        "Changed: 2 operations on 1 of 1 node, 1 of them a revert\n"
        'w1 Node - label a=b (no longer desired; node_resources_labels is from w1.yml:1) ~ label c=b -> ""'
    )


def test_what_is_requested_reaches_the_modules() -> None:
    texts = {"purge": "no", "wait": "no", "wait_timeout": "7", "allow_eviction": "yes"}
    found = run("cp1", variables={f"node_resources_{name}": value for name, value in texts.items()})
    taints, *others = (call.arguments for call in found.play.all_calls if call.module in MODULES)
    assert [taints[name] for name in texts] == [False, False, 7, True]
    assert [(each["purge"], each["wait"], each["wait_timeout"], "allow_eviction" in each) for each in others] == [
        (False, False, 7, False)
    ] * 2


def test_the_plan_of_a_playbook_changes_nothing() -> None:
    found = role_run("cp1", results={"node_label": changes})
    found.is_plan_only = True
    found.plan(["cp1"])
    assert {call.dry for call in found.play.all_calls if call.module in MODULES} == {True}
    applied = found.result("apply", "cp1")
    assert applied["changed"] is False
    assert applied["labels"]["nodes"]["node-cp1"] == {
        "changed": False,
        "failed": False,
        "msg": "",
        "operations": [LABEL],
    }
    found.end(["cp1"])
    assert found.result("end", "cp1")["changed"] is False
    assert found.lines.startswith("Nothing was changed on 1 node")


@pytest.mark.parametrize(("purge", "is_reported"), [(True, True), ("false", False)])
def test_what_is_left_alone_is_reported_where_an_empty_variable_would_revert_it(
    purge: t.Any, is_reported: bool
) -> None:
    def module_result(call: Call) -> Json:
        result: Json = {"changed": False, "failed": False, "msg": "", "operations": [], "left_alone": ["a"]}
        return {"changed": False, "nodes": dict.fromkeys(call.arguments["per_node"], result)}

    found = run("w1", "w2", results={"node_label": module_result}, variables={"node_resources_purge": purge})
    assert found.lines.count("labels a on w1, w2 is owned") == is_reported


def test_check_mode_queries_in_check_mode() -> None:
    found = run("cp1", check_mode=True, results={"node_label": changes})
    assert {call.dry for call in found.play.all_calls} == {True}
    assert found.result("end", "cp1")["changed"] is True
    assert found.lines.startswith("Plan: 1 operation on 1 of 1 node; nothing was refused\ncp1 Node + label a=b\n")


# ---- the name of a node ----------------------------------------------------------------------------------------------


def test_a_host_whose_name_is_given_is_not_queried_and_so_not_excluded() -> None:
    each = {"w1": {"node_resources_node_name": "n1"}}
    results: dict[str, ModuleResult] = {"kubelet_info": lambda call: dict(GONE) if call.host == "w1" else node(call)}
    found = run("cp1", "w1", each=each, results=results, variables={"node_resources_max_unreachable": 1})
    assert (found.failures, node_calls(found)[0]) == ({}, ("node_taint", ["n1", "node-cp1"]))
    assert list(found.play.calls("node_taint")[0].arguments["cluster"]["machine_ids"]) == ["node-cp1"]


def test_cluster_of_hosts_with_given_names_is_not_verified() -> None:
    names = {name: {"node_resources_node_name": f"n-{name}"} for name in ("cp1", "w1")}
    found = run("cp1", "w1", each=names)
    assert not [call for call in found.play.all_calls if call.arguments.get("cluster")]
    why = "all of them have node_resources_node_name"
    warning = f"WARNING: not verified: whether the API is that of these nodes: {why}"
    assert found.lines.splitlines()[-1] == warning
    assert "not verified" not in run("cp1", "w1", each={"w1": names["w1"]}).lines


def test_no_node_is_requested_again_for_what_another_role_read() -> None:
    found = role_run("cp1", "w1", results={"kubelet_info": GONE})
    for name in ("cp1", "w1"):
        found.play.hostvars[name]["__node_kubelet_begin"] = {"plan": node(Call("", name, name, {}, dry=False))}
    found.run()
    assert node_calls(found)[0] == ("node_taint", ["node-cp1", "node-w1"])
    # What that role excluded, or could not plan, is read.
    found.play.hostvars["w1"]["__node_kubelet_begin"] = {"skipped": True}
    found.run()
    assert found.failures["w1 begin"] == "Nothing was changed: the name of w1 in Kubernetes is not known: gone"


def test_labels_of_the_kubelets_command_line_are_refused() -> None:
    zone = "topology.kubernetes.io/zone"

    def node_info(call: Call) -> Json:
        source = {"argument": f"--node-labels={zone}=a", "source": "a file"}
        return {**node(call), "arguments": [source] if call.host == "w1" else []}

    desired: dict[str, Json] = {"w1": {"node_resources_labels": {zone: "b"}}}
    for known in (False, True):
        found = role_run("cp1", "w1", results={"kubelet_info": node_info}, each=desired)
        if known:  # by the role node_kubelet, which does not return the command line
            found.play.hostvars["w1"]["__node_kubelet_begin"] = {"plan": node(Call("", "w1", "w1", {}, dry=False))}
        found.run()
        assert found.failures["w1 begin"].startswith(
            f"Nothing was changed. labels: node-w1: {zone} is 'a' by --node-labels"
        )
        assert node_calls(found) == []
    desired["w1"] = {"node_resources_labels": {zone: "a"}}
    assert node_calls(run("cp1", "w1", results={"kubelet_info": node_info}, each=desired))


@pytest.mark.parametrize("module_result", [GONE, {"failed": True, "msg": "no kubelet"}])
def test_a_node_that_does_not_report_its_name_ends_the_play(module_result: Json) -> None:
    results: dict[str, ModuleResult] = {"kubelet_info": lambda call: module_result if call.host == "w1" else node(call)}
    found = run("cp1", "w1", results=results)
    assert (node_calls(found), list(found.failures), found.summary["outcome"]) == (
        [],
        ["w1 begin", "cp1 end"],
        "failed",
    )
    assert found.failures["cp1 end"] == "Not planned, because w1 failed."
    assert f"w1: {found.failures['w1 begin']}" in found.lines
    assert found.failures["w1 begin"].endswith(f"the name of w1 in Kubernetes is not known: {module_result['msg']}")
    limited = run("cp1", "w1", results=results, variables={"node_resources_max_unreachable": 1})
    assert ("w1 begin" in limited.failures) is bool(module_result.get("failed"))


# ---- who is excluded -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forks", [1, 2, 5])
@pytest.mark.parametrize("gone", [["w1", "w2", "w3"], ["w5"], ["w1", "w5"]])
def test_workers_that_cannot_be_reached_may_be_excluded(gone: list[str], forks: int) -> None:
    """Also when they end before the first one that is reached."""
    names = ["w1", "w2", "w3", "w4", "cp1", "w5"]
    results: dict[str, ModuleResult] = {"kubelet_info": lambda call: dict(GONE) if call.host in gone else node(call)}
    found = run(*names, results=results, variables={"node_resources_max_unreachable": "3"}, forks=forks)
    assert found.failures == {}
    left = sorted(f"node-{name}" for name in names if name not in gone)
    assert node_calls(found) == [(module, left) for module in MODULES]
    assert [f"{name}: skipped, because it cannot be reached" in found.lines for name in gone] == [True] * len(gone)
    assert [found.report(name)["unreachable"] for name in gone] == [True] * len(gone)


@pytest.mark.parametrize(
    ("gone", "most", "words"),
    [
        (["cp1"], 2, "A control plane is never skipped, and cp1 is one."),
        (["w1", "w2"], 1, "node_resources_max_unreachable is 1, and 2 would be skipped."),
        (["cp1", "w1", "w2"], 9, "Nothing was changed. "),
    ],
)
def test_who_must_not_be_excluded(gone: list[str], most: int, words: str) -> None:
    results: dict[str, ModuleResult] = {"kubelet_info": lambda call: dict(GONE) if call.host in gone else node(call)}
    found = run("cp1", "w1", "w2", results=results, variables={"node_resources_max_unreachable": most})
    assert node_calls(found) == []
    refused, *others = found.failures.values()
    assert words in refused
    assert {each.startswith("Not planned, because ") for each in others} <= {True}


def test_a_run_that_reaches_no_host_is_refused() -> None:
    groups = {"kube_control_plane": ["cp9"]}
    found = run("w1", groups=groups, results={"kubelet_info": GONE}, variables={"node_resources_max_unreachable": 5})
    assert "No host of this run is left." in found.failures["w1 decide"]


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ignores_errors", [False, True])
@pytest.mark.parametrize(
    ("each", "step", "words"),
    [
        ({"w1": {"node_resources_label": {}}}, "w1 begin", "did you mean node_resources_labels?"),
        ({"w1": {"node_resources_purge": False}}, "cp1 decide", "node_resources_purge is True on cp1 and False on w1."),
        ({"w1": {"node_resources_node_name": "node-cp1"}}, "cp1 decide", "cp1, w1 are the same node, node-cp1."),
    ],
)
def test_hosts_that_cannot_be_served(each: Json, step: str, words: str, ignores_errors: bool) -> None:
    found = run("cp1", "w1", each=each, ignores_errors=ignores_errors)
    assert words in found.failures[step]
    assert found.failures[step].startswith("Nothing was changed")
    if not ignores_errors or step != "w1 begin":
        assert node_calls(found) == []


def test_two_clusters_are_refused() -> None:
    other = {"ca_sha256": "b", "server": "https://b:6443", "machine_id": ""}
    results: dict[str, ModuleResult] = {
        "kubelet_info": lambda call: {**node(call), **({"cluster": other} if call.host == "w1" else {})}
    }
    found = run("cp1", "w1", results=results)
    assert (node_calls(found), "belong to 2 clusters" in found.failures["cp1 decide"]) == ([], True)


# ---- API hosts ------------------------------------------------------------------------------------------------


def test_a_control_plane_of_the_play_queries_before_one_of_the_inventory() -> None:
    found = run("w1", "cp2", groups={"kube_control_plane": ["cp1"]})
    assert found.result("decide", "w1")["api"] == [{"host": "cp2", "become": True}, {"host": "cp1", "become": True}]
    assert [call.on for call in found.play.all_calls if call.module in MODULES] == ["cp2"] * 3
    named = run("cp1", variables={"node_resources_api_host": "bastion"})
    assert [call.on for call in named.play.all_calls if call.module in MODULES] == ["bastion"] * 3


def test_the_next_control_plane_is_queried_where_the_first_cannot_be_reached() -> None:
    results: dict[str, ModuleResult] = {"node_taint": lambda call: GONE if call.on == "cp1" else well(call)}
    found = run("w1", groups={"kube_control_plane": ["cp1", "cp2"]}, results=results)
    assert found.failures == {}
    assert [(call.module, call.on) for call in found.play.all_calls[1:]] == [
        ("node_taint", "cp1"),
        *((module, "cp2") for module in MODULES),
    ]


@pytest.mark.parametrize("module_result", [FAILS, GONE])
@pytest.mark.parametrize("ignores_errors", [False, True])
def test_what_fails_ends_the_play_and_is_what_is_reported(module_result: Json, ignores_errors: bool) -> None:
    found = run("cp1", "w1", results={"node_extended_resource": module_result}, ignores_errors=ignores_errors)
    assert [name for name, _nodes in node_calls(found)] == MODULES[:2]
    assert found.failures == dict.fromkeys(("cp1 end", "w1 end"), module_result["msg"])
    assert found.lines.splitlines()[:2] == ["Nothing was changed on 2 nodes", f"cp1, w1: {module_result['msg']}"]
    assert "nothing to change" not in found.lines.lower()


@pytest.mark.parametrize(
    ("problem", "plan_only", "has_remedy"),
    [("kubelet on w1 is down", True, True), ("kubelet on w1 is down", False, False), (None, True, False)],
)
def test_a_plan_without_the_api_reports_what_repairs_a_kubelet(
    problem: str | None, plan_only: bool, has_remedy: bool
) -> None:
    found = role_run("cp1", "w1", results={"node_taint": FAILS}, ignores_errors=True)
    for name, each in (("cp1", None), ("w1", problem)):
        plan = {**node(Call("", name, name, {}, dry=False)), "problem": each}
        found.play.hostvars[name]["__node_kubelet_begin"] = {"plan": plan}
    found.is_plan_only = plan_only
    found.plan(["cp1", "w1"])
    why = found.result("apply", "cp1")["taints"]["msg"]
    assert why.startswith(FAILS["msg"])
    assert ("as on w1, starts no API server" in why) is has_remedy


# ---- passes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operations", "plan_only", "refused"), [([LABEL], True, True), ([], True, False), ([LABEL], False, False)]
)
def test_missing_right_is_refused_where_kubelets_restart(
    operations: list[Json], plan_only: bool, refused: bool
) -> None:
    """What a restarted kubelet loses is set again, although nothing is to change when all is planned."""
    missing = {"verb": "patch", "resource": "nodes/status", "group": "", "namespace": "", "names": ["node-w1"]}
    found = role_run(
        "cp1",
        "w1",
        variables={"node_resources_extended_resources": {"a/b": 1}},
        results={"access_info": {"user": "runner", "missing": [missing]}},
    )
    for host in ("cp1", "w1"):
        found.play.hostvars[host]["__node_kubelet_begin"] = {
            "plan": {**node(Call("", host, host, {}, False)), "operations": operations}
        }
    found.is_plan_only = plan_only
    found.run()
    # Of the host that sends the requests for all.
    assert list(found.failures) == (["cp1 end"] if refused else [])
    message = found.failures.get("cp1 end", "")
    assert (f"cp1: {message}\nFailed: cp1 failed." in found.lines) is refused
    assert ("Nothing was changed: the account runner lacks rights" in message) is refused
    assert ("patch nodes/status node-w1" in message) is refused
    rights = [each["resource"] for call in found.play.calls("access_info") for each in call.arguments["rights"]]
    assert rights == (["nodes/status"] if refused else [])


def test_rights_that_could_not_be_reviewed_are_reported_before_kubelets_restart() -> None:
    found = role_run("cp1", results={"access_info": {"failed": True, "msg": "the API server answers 500."}})
    module_result = node(Call("", "cp1", "cp1", {}, False))
    found.play.hostvars["cp1"].update(
        node_resources_extended_resources={"a/b": 1},
        __node_kubelet_begin={"plan": {**module_result, "operations": [LABEL]}},
    )
    found.is_plan_only = True
    found.run()
    assert found.failures == {}
    purpose = "node_resources needs after the kubelets are restarted"
    limit = f"not verified: whether the account has the rights that {purpose}: the API server answers 500."
    assert limit in found.result("apply", "cp1")["warnings"]


def test_hosts_that_skip_the_role_are_excluded_wherever_they_stand() -> None:
    found = role_run("cp1", "w1")
    found.run()
    found.run(skipped_by=["cp1"])
    assert node_calls(found)[len(MODULES) :] == [(name, ["node-w1"]) for name in MODULES]
    assert found.lines == "Nothing to change on 1 node"
    assert list(found.statistics["node_resources_report"]) == ["w1"]


def test_a_pass_that_did_not_begin_ends_with_what_kept_it_from_that() -> None:
    found = run("w1", variables={"node_resources_label": 1})
    assert (found.report("w1"), list(found.failures)) == ({}, ["w1 begin"])
    assert found.lines.splitlines()[:2] == ["Nothing was changed on 1 node", f"w1: {found.failures['w1 begin']}"]
    assert found.summary["hosts"]["w1"]["failed"] is True


def test_hosts_that_the_play_has_lost_keep_no_other_from_it() -> None:
    found = role_run("cp1", "w1")
    found.play.play_hosts, found.play.lost = ["cp1"], ["w1"]
    found.run()
    assert (found.failures, node_calls(found)[0]) == ({}, ("node_taint", ["node-cp1"]))
