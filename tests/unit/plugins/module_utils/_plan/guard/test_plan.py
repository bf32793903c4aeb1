# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects are written and removed, and which lines report it."""

from __future__ import annotations

import copy
import dataclasses
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import plan as placement_guard
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import protection as placement_protection
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.desired import Desired
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.plan import GuardPlan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import (
    BINDING,
    GUARD_KINDS,
    MUTATION,
    MUTATION_BINDING,
    POLICY,
    ObjectKey,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.protection import Cluster, Protection
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import (
    NAME,
    NODES,
    TRIAL,
    D,
    desired,
    protected,
    refusal_message,
    stored_objects,
    tainted,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json

AFFINITY: Json = {"enforce": True, "on_node_name": "affinity"}


def test_what_another_client_made_is_refused() -> None:
    objects = stored_objects(desired(), "w1")
    placement_guard.refuse_foreign(objects)
    objects[BINDING, NAME]["metadata"]["labels"] = {"team": "a"}
    assert refusal_message(lambda: placement_guard.refuse_foreign(objects)) == (
        f"{BINDING} {NAME}: not created by this collection, because there is no label app.kubernetes.io/managed-by=nodecraft.kubeadm."
        " Remove it first, or use another name."
    )
    del objects[BINDING, NAME]["metadata"]["labels"]
    assert BINDING in refusal_message(lambda: placement_guard.refuse_foreign(objects))


# ---- what is to be done ----------------------------------------------------------------------------------------------


def planned(options: Desired, objects: t.Mapping[ObjectKey, Json] | None = None, **validated: t.Any) -> GuardPlan:
    """The plan against objects that were read. validated: kinds that the API server makes something else of; None: declines."""
    cluster = Cluster(objects or {}, {node["metadata"]["name"]: node for node in NODES})
    protection = placement_protection.plan_protection(options, cluster, dry=False)
    sent = placement_guard.build_bodies(options, cluster, protection)
    dry_runs = {placement_guard.key_of(body): body for body in sent if validated.get(body["kind"], True)}
    return placement_guard.plan(options, cluster, protection, sent, dry_runs)


def summarize(plan: GuardPlan) -> list[str]:
    return [str(operation) for operation in plan.operations]


def test_a_new_guard_is_created_the_policy_first() -> None:
    plan = planned(desired(**AFFINITY))
    assert summarize(plan) == [f"{kind} {NAME}: created" for kind in (POLICY, BINDING, MUTATION, MUTATION_BINDING)]
    assert [body["kind"] for body in plan.writes] == list(GUARD_KINDS)
    assert [body for body in plan.writes if "resourceVersion" in body["metadata"]] == []


def test_what_is_as_it_should_be_is_left_alone() -> None:
    plan = planned(desired(), stored_objects(desired(), "w1", "w2"))
    assert (plan.operations, plan.writes, plan.leftovers, plan.removals) == ((), (), (), ())


def test_what_differs_is_replaced_as_it_was_read() -> None:
    plan = planned(desired(enforce=True), stored_objects(desired(), "w1", "w2"))
    assert summarize(plan) == [f"{BINDING} {NAME}: changed"]
    assert plan.writes[0]["metadata"]["resourceVersion"] == "7"


def test_a_policy_with_the_messages_of_an_earlier_version_is_changed() -> None:
    objects = stored_objects(desired(), "w1", "w2")
    (named,) = (entry for entry in objects[POLICY, NAME]["spec"]["validations"] if "names" in entry["message"])
    today = named["messageExpression"]
    named["messageExpression"] = '"the pod names a node, which is kept for others"'
    plan = planned(desired(), objects)
    assert summarize(plan) == [f"{POLICY} {NAME}: changed"]
    assert plan.writes[0]["metadata"]["resourceVersion"] == "7"
    assert today in [entry["messageExpression"] for entry in plan.writes[0]["spec"]["validations"]]


def test_what_another_client_added_counts_as_a_difference() -> None:
    objects = stored_objects(desired(), "w1", "w2")
    objects[BINDING, NAME]["spec"]["matchResources"] = {"objectSelector": {"matchLabels": {"a": "b"}}}
    assert summarize(planned(desired(), objects)) == [f"{BINDING} {NAME}: changed"]


def test_a_label_that_another_client_added_does_not() -> None:
    objects = stored_objects(desired(), "w1", "w2")
    objects[BINDING, NAME]["metadata"]["labels"]["team"] = "a"
    assert summarize(planned(desired(), objects)) == []


def test_what_the_api_server_declines_is_a_change() -> None:
    assert summarize(planned(desired(), **{POLICY: None})) == [
        f"{POLICY} {NAME}: created",
        f"{BINDING} {NAME}: created",
    ]


def test_an_affinity_that_is_not_requested_any_more_goes_the_binding_first() -> None:
    plan = planned(desired(enforce=True), stored_objects(desired(**AFFINITY), "w1", "w2"))
    assert plan.removals == ((MUTATION_BINDING, NAME), (MUTATION, NAME))
    assert plan.writes == ()


def test_all_of_it_goes_the_bindings_first() -> None:
    plan = planned(desired(state="absent"), stored_objects(desired(**AFFINITY), "w1"))
    assert summarize(plan) == [f"{kind} {NAME}: removed" for kind in (MUTATION_BINDING, MUTATION, BINDING, POLICY)]
    assert planned(desired(state="absent")).operations == ()


def test_what_a_trial_left_goes_in_any_case() -> None:
    left = {(kind, TRIAL): entry for (kind, _name), entry in stored_objects(desired(), "w1").items()}
    plan = planned(desired(), {**stored_objects(desired(), "w1", "w2"), **left})
    assert (plan.leftovers, plan.writes) == (((BINDING, TRIAL), (POLICY, TRIAL)), ())
    assert summarize(plan) == [f"{BINDING} {TRIAL}: removed", f"{POLICY} {TRIAL}: removed"]


def test_a_plan_is_the_same_each_time_and_changes_nothing_that_was_read() -> None:
    objects = stored_objects(desired(), "w2", "w1")
    before = copy.deepcopy(objects)
    assert planned(desired(enforce=True), objects) == planned(desired(enforce=True), objects)
    assert objects == before


def test_a_guard_that_stops_refusing_is_reported() -> None:
    (warning,) = planned(desired(), stored_objects(desired(enforce=True))).warnings
    assert warning.startswith(f"{NAME} refused until now and only warns from now on, because enforce is not set")
    assert not planned(desired(enforce=True), stored_objects(desired(enforce=True))).warnings
    assert not planned(desired(), stored_objects(desired())).warnings
    assert not planned(desired(state="absent"), stored_objects(desired(enforce=True))).warnings


def test_what_the_user_should_know() -> None:
    options = desired(nodes=["w1", "w3", "gone"], schedulers=["mine"])
    found = dataclasses.replace(protected(options, former=["gone"]), denied_workloads=("Deployment a/b",))
    plan = placement_guard.plan(options, Cluster({}, {}), found, [], {})
    assert list(plan.warnings) == [
        "gone: no longer a node of the cluster; remove it from the nodes to protect, or keep it there when it comes back.",
        f"w3: has no taint {D} that keeps pods off, so the scheduler itself may place any pod there.",
        "pods of Deployment a/b would be refused if it were enforced, at their next start, because these tolerate a taint of the"
        " protected nodes and request nothing: those of DaemonSets on these nodes, those of others wherever they would run.",
        "schedulers: system:kube-scheduler is not among them, so the cluster's own scheduler cannot place any pod on protected nodes.",
    ]


def test_whether_the_former_guard_refused() -> None:
    for enforce in (True, False):
        cluster = Cluster(stored_objects(desired(enforce=enforce), "w1"), {})
        assert placement_guard.was_enforced(desired(), cluster) == enforce
    assert not placement_guard.was_enforced(desired(), Cluster({}, {}))


def test_a_guard_that_is_there_protects_nothing_when_its_last_node_goes() -> None:
    free = [tainted("w1"), tainted("w2")]
    found = protected(desired(), free, former=["w1", "w2"])
    assert (found.nodes, found.removed) == ((), ("w1", "w2"))
    options = desired()
    cluster = Cluster(stored_objects(options, "w1"), {node["metadata"]["name"]: node for node in free})
    plan = placement_guard.plan(options, cluster, found, placement_guard.build_bodies(options, cluster, found), {})
    assert plan.warnings[0].startswith("The guard protects nothing as long as that is so. nodes: none is given")
    assert "state absent removes a guard" in plan.warnings[0]


def test_a_plan_reports_what_a_real_run_refuses() -> None:
    cluster = Cluster({}, {})
    found = placement_protection.plan_protection(desired(), cluster, dry=True)
    (warning,) = placement_guard.plan(desired(), cluster, found, [], {}).warnings
    assert warning.startswith(
        "When the guard is applied, it is refused unless there is such a node by then. nodes: none is"
    )
    assert f"no node is kept for {D}" in warning


# ---- report lines -----------------------------------------------------------------------------------------------------


def test_what_was_done_is_reported() -> None:
    options = desired(nodes=["w1", "w3", "gone"])
    found = protected(options, former=["gone", "w2", "older"])
    operations = planned(desired()).operations[:1]
    assert placement_guard.report_lines(options, found, operations, dry=False) == [
        f"{NAME} only warns; protected: gone, w1, w3",
        "w1: protected from now on",
        "w3: protected from now on",
        "older: no longer protected, because it is no longer a node of the cluster",
        "w2: no longer protected",
        f"{POLICY} {NAME}: created",
    ]


def test_what_is_only_planned_is_reported_as_such() -> None:
    options = desired(enforce=True)
    found = protected(options, former=["w2", "w3"])
    operations = planned(options).operations[:1]
    assert placement_guard.report_lines(options, found, operations, dry=True) == [
        f"{NAME} would refuse; protected: w1, w2",
        "w1: would be protected",
        "w3: would no longer be protected",
        f"{POLICY} {NAME}: would be created",
    ]


def test_what_stays_is_reported_plainly() -> None:
    assert placement_guard.report_lines(desired(enforce=True), Protection(nodes=("w1",)), (), dry=True) == [
        f"{NAME} refuses; protected: w1"
    ]
    assert placement_guard.report_lines(desired(), Protection(), (), dry=True) == [
        f"{NAME} only warns; protected: no node"
    ]


def test_a_removal_is_reported() -> None:
    options = desired(state="absent")
    operations = planned(options, stored_objects(desired(), "w1")).operations
    assert placement_guard.report_lines(options, Protection(), operations, dry=False) == [f"{NAME}: does not exist"]
    assert placement_guard.report_lines(options, Protection(), operations, dry=True) == [f"{NAME}: would be removed"]


def test_a_diff_shows_expressions_line_by_line() -> None:
    policy = stored_objects(desired(), "w1", "w2")[POLICY, NAME]
    policy["metadata"]["managedFields"] = [{}]
    found = placement_guard.format_for_diff(policy)
    assert set(found["metadata"]) == {"name", "labels"}
    assert found["spec"]["variables"][1] == {"name": "nodes", "expression": ["[", '  "w1",', '  "w2"', "]"]}
    assert placement_guard.format_for_diff(None) == {}
