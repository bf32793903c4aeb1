# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run asks for, and in which order it adds and removes."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import site
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.results import PartResult, Report
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.site import SiteDecision, SiteStep

Json = dict[str, t.Any]


def parts(given: t.Mapping[str, Json]) -> Report:
    return {name: typed.parse(PartResult, each) for name, each in given.items()}


def raw(report: Report) -> Json:
    return {name: each.raw for name, each in report.items()}


@pytest.mark.parametrize(
    ("roles", "found", "sets"),
    [
        (["control_plane"], [], True),
        (["control_plane"], ["control_plane_components"], True),
        (["control_plane"], ["node_kubelet_config"], False),
        (["node_kubelet"], [], False),
    ],
)
def test_whether_control_planes_are_set(roles: list[str], found: list[str], sets: bool) -> None:
    assert site.sets_control_planes(roles, found) is sets


def test_a_control_plane_outside_its_group() -> None:
    reasons: Json = {"w1": [], "cp1": ["etcd runs"], "cp2": ["etcd runs"]}
    assert site.outside_group(reasons, ["cp1", "cp2"]) == ""
    message = site.outside_group(reasons, ["cp1"])
    assert message.startswith(
        "Nothing was changed. cp2 is a control plane (etcd runs), but the group kube_control_plane does not"
    )


INVENTORY = {"all": ["b", "m1", "w1"], "ungrouped": ["b"], "masters": ["m1"], "workers": ["w1"], "kube_node": []}
NO_HOST = (
    " The nodes of the control plane belong in the group kube_control_plane, all other nodes in kube_node; a host may be in both. Where these groups have"
    " other names, set kube_control_plane_group and kube_node_group for all hosts."
)


@pytest.mark.parametrize(
    ("named", "nodes"),
    [
        ({}, set()),
        ({"kube_control_plane": "masters"}, {"m1"}),
        ({"kube_control_plane": "masters", "kube_node": "workers"}, {"m1", "w1"}),
        ({"kube_node": "all"}, {"b", "m1", "w1"}),
        ({"kube_node": "kube_node"}, set()),
    ],
)
def test_hosts_that_are_nodes(named: dict[str, str], nodes: set[str]) -> None:
    groups = site.NodeGroups({**INVENTORY, "kube_control_plane": []}, named)
    assert groups.nodes() == nodes
    assert groups.nodes(["kube_control_plane"]) == nodes & ({"m1"} if "kube_control_plane" in named else set())


@pytest.mark.parametrize(
    ("named", "required", "refusal"),
    [
        ({"kube_control_plane": "masters"}, ["kube_control_plane"], ""),
        ({"kube_node": "workers"}, ["kube_control_plane", "kube_node"], ""),
        (
            {"kube_node": "workers"},
            ["kube_control_plane"],
            f"The inventory has no host in kube_control_plane.{NO_HOST}",
        ),
        ({}, list(site.GROUP_VARIABLES), f"The inventory has no host in kube_control_plane or kube_node.{NO_HOST}"),
        (
            {"kube_control_plane": "master", "kube_node": "worker"},
            ["kube_control_plane"],
            "kube_control_plane_group or kube_node_group names master, worker, which is not a group of the inventory. It has kube_node, masters, workers.",
        ),
        (
            {"kube_control_plane": "masters", "kube_node": "worker"},
            ["kube_control_plane"],
            "kube_control_plane_group or kube_node_group names worker, which is not a group of the inventory. It has kube_node, masters, workers.",
        ),
    ],
)
def test_inventory_without_group_or_host_is_refused(named: dict[str, str], required: list[str], refusal: str) -> None:
    assert site.NodeGroups(INVENTORY, named).refusal(required) == refusal


PLANES, KUBELETS, NODES = "control_plane", "node_kubelet", "node_resources"


def planned(**operations: t.Sequence[tuple[str, t.Any]]) -> dict[str, list[Json]]:
    """The plans of all roles on one host. operations: by role, field and value of each."""
    return {
        role: [
            {
                "operations": [
                    {"field": field, "before": None, "after": after} for field, after in operations.get(role, ())
                ]
            },
            {},
        ]
        for role in (PLANES, KUBELETS, NODES)
    }


def decide(
    plans: t.Mapping[str, t.Sequence[Json]],
    *,
    has_guard: bool = False,
    in_pass: str = site.WHOLE,
    check_mode: bool = False,
) -> SiteDecision:
    by_role = {role: [typed.parse(PartResult, each) for each in results] for role, results in plans.items()}
    return site.decide(by_role, has_guard=has_guard, in_pass=in_pass, check_mode=check_mode)


def decision(work: list[str], is_split: bool, rechecks: bool, in_pass: str = site.WHOLE) -> SiteDecision:
    compares = KUBELETS not in work and in_pass != site.ADDITIONS
    steps = (
        *(SiteStep("role.yml", role, "apply") for role in work),
        *([SiteStep("recheck.yml", NODES, "plan_and_apply")] * rechecks),
        *([SiteStep("role.yml", KUBELETS, "compare")] * compares),
    )
    return SiteDecision(work=work, is_split=is_split, steps=steps, in_pass=in_pass)


def preserved(plans: t.Mapping[str, t.Mapping[str, Json]], absent: t.Collection[str]) -> Json:
    return site.preserved_settings({role: parts(results) for role, results in plans.items()}, absent)


ON, OFF, FLAG, LABEL = ("feature_gates", True), ("feature_gates", False), ("args", None), ("labels", "a")


@pytest.mark.parametrize(
    ("operations", "work", "is_split", "rechecks"),
    [
        ({}, [], False, False),
        ({PLANES: [ON]}, [PLANES], False, False),
        ({KUBELETS: [ON]}, [KUBELETS, NODES], False, False),
        ({NODES: [LABEL]}, [NODES], False, False),
        ({PLANES: [ON], KUBELETS: [ON], NODES: [LABEL]}, [PLANES, KUBELETS, NODES], False, False),
        ({PLANES: [OFF]}, [PLANES], False, False),
        ({PLANES: [OFF], KUBELETS: [OFF]}, [NODES, KUBELETS, PLANES], False, True),
        ({PLANES: [OFF], NODES: [("labels", None)]}, [NODES, PLANES], False, False),
        ({KUBELETS: [ON], PLANES: [("feature_gates", None)]}, [NODES, KUBELETS, PLANES], True, True),
        (
            {PLANES: [("admission_plugins", "disabled")], KUBELETS: [("config", 1)]},
            [NODES, KUBELETS, PLANES],
            False,
            True,
        ),
        ({PLANES: [("admission_plugins", "enabled"), OFF]}, [PLANES], True, False),
        ({NODES: [("labels", False)]}, [NODES], False, False),
        # Flags and other settings have no order.
        ({PLANES: [FLAG], KUBELETS: [("config", None)]}, [PLANES, KUBELETS, NODES], False, False),
    ],
)
def test_what_changes_something_and_in_which_order(
    operations: dict[str, list[tuple[str, t.Any]]], work: list[str], is_split: bool, rechecks: bool
) -> None:
    assert decide(planned(**operations)) == decision(work, is_split, rechecks)


def test_the_guard_is_behind_the_nodes_and_in_the_last_pass() -> None:
    both = planned(control_plane=[ON, OFF], node_kubelet=[OFF])
    assert decide(both, has_guard=True).work == decide(both).work  # both passes are to come
    assert decide(both, has_guard=True, in_pass=site.ADDITIONS).work == decide(both, in_pass=site.ADDITIONS).work
    assert decide(both, has_guard=True, in_pass=site.REST).work == [NODES, KUBELETS, PLANES, "placement_guard"]
    only = decide(planned(), has_guard=True)
    # What is compared is compared at the end.
    assert [(step.role, step.tasks_from) for step in only.steps] == [
        ("placement_guard", "apply"),
        (KUBELETS, "compare"),
    ]


def test_a_run_that_must_not_split_takes_one_pass() -> None:
    both = planned(control_plane=[ON, OFF], node_kubelet=[OFF])
    assert decide(both).is_split
    for in_pass in (site.SINGLE, site.ADDITIONS, site.REST):
        assert decide(both, in_pass=in_pass) == decision([NODES, KUBELETS, PLANES], False, True, in_pass)


def test_in_check_mode_the_first_pass_is_rehearsed_and_the_second_shows_both() -> None:
    both = planned(control_plane=[ON, OFF], node_kubelet=[OFF])
    assert decide(both, check_mode=True).is_split
    assert decide(both, in_pass=site.ADDITIONS, check_mode=True).work == []
    # No kubelet was restarted, after which its node would have to be looked at.
    assert decide(both, in_pass=site.REST, check_mode=True) == decision(
        [NODES, KUBELETS, PLANES], False, False, site.REST
    )


def test_a_kubelet_that_is_down_is_first_and_takes_one_pass() -> None:
    """What goes may be what keeps it down, and a control plane is changed by a kubelet that works only."""
    both = planned(control_plane=[ON, OFF], node_kubelet=[OFF], node_resources=[LABEL])
    both[KUBELETS][0]["problem"] = "kubelet on cp1 is down"
    assert decide(both) == decision([KUBELETS, NODES, PLANES], False, True)
    added = planned(control_plane=[ON], node_kubelet=[FLAG])
    added[KUBELETS][0]["problem"] = "kubelet on cp1 is down"
    assert decide(added).work == [KUBELETS, PLANES, NODES]
    # Nothing of this run repairs it.
    idle = planned(control_plane=[ON, OFF])
    idle[KUBELETS][0]["problem"] = "kubelet on cp1 is down"
    assert decide(idle) == decision([PLANES], True, False)


def test_the_hosts_that_a_role_changes() -> None:
    assert site.changed_hosts({"cp1": parts({"a": IDLE}), "w1": parts({"a": IDLE, "b": WORK}), "w2": {}}) == ["w1"]


def test_a_change_that_is_open_is_work() -> None:
    assert decide({PLANES: [{"operations": [], "open_transaction": {"phase": "x"}}]}).work == [PLANES]


def test_resources_that_a_playbook_does_not_use_are_not_observed() -> None:
    assert decide({KUBELETS: [{"operations": [{"field": "feature_gates", "after": False}]}]}) == decision(
        [KUBELETS], False, False
    )


def operation(field: str, key: str, before: t.Any, after: t.Any) -> Json:
    return {"field": field, "key": key, "before": before, "after": after}


GATE_ON, GATE_OFF = operation("feature_gates", "A", None, True), operation("feature_gates", "B", True, None)
ARGUMENT = operation("args", "v", ["5"], None)


def test_the_first_pass_keeps_what_goes_where_something_comes_and_leaves_the_rest_alone() -> None:
    plans: dict[str, dict[str, Json]] = {
        PLANES: {
            "kube-apiserver": {
                "operations": [GATE_ON, GATE_OFF, ARGUMENT, operation("admission_plugins", "P", None, "disabled")]
            },
            "kube-scheduler": {"operations": [GATE_OFF, ARGUMENT]},
            "kube-controller-manager": {"operations": [GATE_ON, ARGUMENT]},
            "etcd": {"operations": [ARGUMENT]},
        },
        KUBELETS: {"kubelet": {"operations": []}},
        NODES: {"labels": {"operations": [operation("labels", "a", "b", None), operation("labels", "c", None, "d")]}},
    }
    assert preserved(plans, []) == {
        PLANES: {
            "kube-apiserver": {"waits": False, "feature_gates": {"B": True}, "admission_plugins": {"P": None}},
            "kube-scheduler": {"waits": True, "feature_gates": {"B": True}},
        },
        NODES: {"labels": {"waits": False, "labels": {"a": "b"}}},
    }


@pytest.mark.parametrize(("field", "off"), [("feature_gates", False), ("admission_plugins", "disabled")])
def test_what_was_switched_off_and_is_no_more_is_added(field: str, off: t.Any) -> None:
    """Its default may be on, so it begins where it is offered."""
    plans = {role: [{"operations": [operation(field, "B", off, None)]}] for role in (PLANES, KUBELETS)}
    assert decide(plans).work == [PLANES, KUBELETS]
    assert preserved({PLANES: {"kube-apiserver": plans[PLANES][0]}}, []) == {}


def test_resources_of_a_container_have_no_order() -> None:
    """Their keys are no option of a static pod, so they could not be preserved."""
    amount = operation("resources", "requests.cpu", "250m", None)
    plans = {PLANES: {"kube-apiserver": {"operations": [GATE_ON, amount]}}}
    assert preserved(plans, []) == {}
    assert not decide({PLANES: list(plans[PLANES].values())}).is_split
    of_node = {NODES: {"resources": {"operations": [operation("resources", "a.com/b", "2", None)]}}}
    assert preserved(of_node, []) == {NODES: {"resources": {"waits": True, "resources": {"a.com/b": "2"}}}}


def test_a_role_that_reverts_all_it_set_waits_though_something_is_added() -> None:
    plans = {KUBELETS: {"kubelet": {"operations": [GATE_ON, GATE_OFF]}}}
    assert [preserved(plans, absent)[KUBELETS]["kubelet"]["waits"] for absent in ([], [KUBELETS])] == [False, True]


WORK: Json = {"operations": [{"field": "labels", "key": "a", "before": None, "after": "b"}], "failed": False}
IDLE: Json = {"operations": [], "failed": False}


def done(key: str, **more: t.Any) -> Json:
    """What was changed."""
    return {"operations": [operation("labels", key, None, "b")], "changed": True, "failed": False, **more}


def both(first: Json, last: Json) -> Json:
    return raw(site.merge_reports(parts(first), parts(last)))


def both_of_kubelet(first: Json, last: Json) -> Json:
    found: Json = both(*({"kubelet": part} if part else {} for part in (first, last)))["kubelet"]
    return found


def test_the_report_of_two_passes_has_what_each_changed() -> None:
    first, second = done("a", transaction={"id": "1"}), done("b", transaction={"id": "2"})
    idle = {**IDLE, "changed": False}
    merged = {**second, "operations": [*first["operations"], *second["operations"]]}
    assert both_of_kubelet(first, second) == merged
    assert (both_of_kubelet(first, idle), both_of_kubelet(idle, second)) == (first, second)
    # Once more, by a host on which the role did not run meanwhile.
    assert both_of_kubelet(merged, second) == merged
    assert (both_of_kubelet({}, second), both_of_kubelet(first, {})) == (second, first)
    missed = {**done("b", changed=False, failed=True), "started": False}
    found = both_of_kubelet(first, missed)
    assert (found["changed"], found["failed"], len(found["operations"])) == (True, True, 2)
    failed = {**idle, "failed": True, "msg": "no API"}
    assert both_of_kubelet(first, failed) == {**failed, "changed": True, "operations": first["operations"]}


def test_the_same_of_roles_that_report_in_parts() -> None:
    first, last = {"labels": done("a")}, {"labels": IDLE, "taints": done("t")}
    assert both(first, last) == {"labels": done("a"), "taints": done("t")}
    assert both({"etcd": done("a")}, {"kube-apiserver": IDLE}) == {"etcd": done("a"), "kube-apiserver": IDLE}


def test_why_something_was_not_removed() -> None:
    message = [site.not_removed_message(KUBELETS, stopped) for stopped in (["cp1"], [])]
    assert message[0] == "What node_kubelet is to remove is still there, because cp1 failed."
    assert message[1].endswith("because the run ended before.")


def test_whether_something_of_a_host_has_failed() -> None:
    assert site.has_failed(parts({"etcd": IDLE, "kube-apiserver": {**IDLE, "failed": True}}))
    assert not site.has_failed(parts({"labels": IDLE}))
