# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a guard protects, what it refuses to do, and what it is told apart by: all that is worked out without asking anybody."""

from __future__ import annotations

import copy
import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import plan as placement_guard
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import policies as placement_policies
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.plan import (
    Cluster,
    GuardPlan,
    Place,
    Protection,
    Wish,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import (
    BINDING,
    KINDS,
    MUTATION,
    MUTATION_BINDING,
    POLICY,
    Case,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import (
    NAME,
    NODES,
    PARAMS,
    TRIAL,
    D,
    daemon_set,
    tainted,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json

STRICT: Json = {"enforce": True, "require_request": True}
AFFINITY: Json = {"enforce": True, "on_node_name": "affinity"}


def wish(**params: t.Any) -> Wish:
    return placement_guard.parse({**PARAMS, **params})


def there(asked: Wish, *nodes: str) -> dict[Place, Json]:
    """The objects of a guard for these nodes as they were read."""
    found = placement_policies.objects(placement_guard.guard_of(asked, Protection(nodes=nodes)))
    for entry in found:
        entry["metadata"]["resourceVersion"] = "7"
    return {placement_guard.place_of(entry): entry for entry in found}


def protect(
    asked: Wish,
    nodes: t.Sequence[Json] = NODES,
    former: t.Sequence[str] = (),
    *,
    sets: t.Sequence[Json] = (),
    others: t.Mapping[str, Json] | None = None,
    dry: bool = False,
    **workloads: t.Sequence[Json],
) -> Protection:
    """Which nodes a wish comes to. former: nodes that the guard in force protects. sets: DaemonSets. others: policies of other guards."""
    objects = there(asked, *former) if former else {}
    makers = {"DaemonSet": sets, **workloads}
    cluster = Cluster(objects, {node["metadata"]["name"]: node for node in nodes}, makers, others or {})
    return placement_guard.protect(asked, cluster, dry=dry)


def refusal(action: t.Callable[[], t.Any]) -> str:
    with pytest.raises(Refusal) as caught:
        action()
    return str(caught.value)


# ---- what is asked for -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"name": "Guard"}, "name: 'Guard' is no name of a policy"),
        ({"name": "g" * 201}, "name: it has 201 characters, and 200 are the most"),
        ({"name": TRIAL}, f"name: '{TRIAL}' is what the copy of another guard is called"),
        ({"nodes": ["W1"]}, "nodes: 'W1' is no name of a node"),
        ({"resources": ["dongle"]}, "no pod could request 'dongle'"),
        ({"taint_keys": ["a b"]}, "taint_keys: 'a b' is no key"),
        (
            {"taint_keys": ["node.kubernetes.io/not-ready"]},
            "taint_keys: node.kubernetes.io/not-ready is not set by hand",
        ),
        ({"exempt_namespaces": ["A"]}, "exempt_namespaces: 'A' is no name of a namespace"),
        ({"exempt_daemon_sets": ["agent"]}, "exempt_daemon_sets: 'agent' has no namespace"),
        ({"exempt_daemon_sets": ["a/b/c"]}, "write it as namespace/name"),
        ({"exceptions": [" "]}, "exceptions: one of them is empty"),
        ({"schedulers": [""]}, "schedulers: one of them is empty"),
        ({"schedulers": []}, "schedulers: it is empty, so that nobody could place a pod"),
        ({"trial_namespace": "A"}, "trial_namespace: 'A' is no name of a namespace"),
        ({"trial_namespace": "kube-system"}, "the guard does not concern kube-system"),
        ({"exempt_namespaces": ["default"]}, "trial_namespace: the guard does not concern default"),
        ({"resources": []}, "none of nodes, resources and taint_keys is given"),
        ({"resources": [], "nodes": ["w1"], "require_request": True}, "require_request: resources is empty"),
    ],
)
def test_what_could_not_be_guarded_is_refused(params: Json, says: str) -> None:
    assert says in refusal(lambda: wish(**params))


def test_what_is_asked_for_comes_in_one_form() -> None:
    asked = wish(nodes=["w2", "w1", "w2"], exempt_namespaces=["b", "kube-system", "a"])
    assert (asked.nodes, asked.exempt_namespaces) == (("w1", "w2"), ("kube-system", "a", "b"))
    assert (asked.taint_keys, wish(taint_keys=["k"]).taint_keys, wish(taint_keys=[]).taint_keys) == ((D,), ("k",), (D,))


def test_an_affinity_counts_where_it_is_enforced() -> None:
    assert wish(**AFFINITY).affinity
    assert not wish(on_node_name="affinity").affinity


def test_nothing_has_to_be_named_to_remove_it() -> None:
    assert not wish(state="absent", resources=[], schedulers=[]).present


# ---- what the cluster says against it ----------------------------------------------------------------------------------


def test_a_cluster_without_policies_is_told_the_other_way() -> None:
    message = refusal(lambda: placement_guard.refuse_unserved(wish(), [], lambda: "v1.29.3"))
    assert message.startswith(
        "this cluster (v1.29.3) does not serve ValidatingAdmissionPolicy of admissionregistration.k8s.io/v1"
    )
    assert "from 1.30 on" in message
    assert f"{{key: {D}, effect: NoExecute}}" in message
    named = wish(resources=[], nodes=["w1"])
    assert "{key: KEY, effect: NoExecute}" in refusal(lambda: placement_guard.refuse_unserved(named, [], str))


def test_a_cluster_that_changes_no_pods_refuses_the_affinity_alone() -> None:
    message = refusal(lambda: placement_guard.refuse_unserved(wish(**AFFINITY), KINDS[:2], lambda: "v1.35.0"))
    assert message == (
        "on_node_name is affinity, and this cluster (v1.35.0) does not serve MutatingAdmissionPolicy of admissionregistration.k8s.io/v1,"
        " which Kubernetes has from 1.36 on. Leave it at refuse."
    )
    placement_guard.refuse_unserved(wish(), KINDS[:2], str)


def test_what_somebody_else_made_is_refused() -> None:
    objects = there(wish(), "w1")
    placement_guard.refuse_foreign(objects)
    objects[BINDING, NAME]["metadata"]["labels"] = {"team": "a"}
    assert refusal(lambda: placement_guard.refuse_foreign(objects)) == (
        f"{BINDING} {NAME}: not made by this collection, because there is no label app.kubernetes.io/managed-by=nodecraft.kubeadm."
        " Remove it first, or use another name."
    )
    del objects[BINDING, NAME]["metadata"]["labels"]
    assert BINDING in refusal(lambda: placement_guard.refuse_foreign(objects))


# ---- which nodes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "nodes"),
    [
        ({}, ("w1", "w2")),
        ({"resources": ["example.com/licence"]}, ("w3",)),
        ({"resources": [], "taint_keys": [D]}, ("w1", "w2")),
        ({"nodes": ["w3", "cp1", "w3"]}, ("cp1", "w3")),
    ],
)
def test_nodes_are_those_named_or_those_managed(params: Json, nodes: tuple[str, ...]) -> None:
    assert protect(wish(**params)).nodes == nodes


def test_a_taint_of_others_makes_no_node_managed() -> None:
    asked = wish(resources=[], taint_keys=["node-role.kubernetes.io/control-plane"])
    assert "this collection manages no node with node-role.kubernetes.io/control-plane" in refusal(
        lambda: protect(asked)
    )
    # Whoever only plans may yet taint nodes.
    assert protect(asked, dry=True).nodes == ()


def test_a_guard_that_is_there_protects_nothing_when_its_last_node_goes() -> None:
    free = [tainted("w1"), tainted("w2")]
    found = protect(wish(), free, former=["w1", "w2"])
    assert (found.nodes, found.removed) == ((), ("w1", "w2"))
    asked = wish()
    cluster = Cluster(there(asked, "w1"), {node["metadata"]["name"]: node for node in free})
    plan = placement_guard.plan(asked, cluster, found, placement_guard.bodies(asked, cluster, found), {})
    assert plan.warnings[0].startswith("The guard protects nothing as long as that is so. nodes: none is given")
    assert "state absent removes a guard" in plan.warnings[0]


def test_a_plan_says_what_a_real_run_refuses() -> None:
    cluster = Cluster({}, {})
    found = placement_guard.protect(wish(), cluster, dry=True)
    (warning,) = placement_guard.plan(wish(), cluster, found, [], {}).warnings
    assert warning.startswith("Outside check mode this is refused, unless there is such a node by then. nodes: none is")
    assert f"manages no node with {D}" in warning


def test_a_record_that_nobody_can_read_is_an_error() -> None:
    broken = tainted("w1")
    broken["metadata"]["annotations"] = {"nodecraft.kubeadm/owned-taints": "x"}
    with pytest.raises(KubeadmError, match="does not hold what this collection writes"):
        protect(wish(), [broken])


def test_what_came_and_went() -> None:
    found = protect(wish(nodes=["w1", "w3", "gone"]), former=["gone", "w2", "older"])
    assert (found.nodes, found.added, found.removed) == (("gone", "w1", "w3"), ("w1", "w3"), ("older", "w2"))
    assert (found.stale, found.gone, found.untainted) == (("gone",), ("older",), ("w3",))


def test_a_new_name_that_nobody_has_is_refused_and_one_that_went_is_not() -> None:
    asked = wish(nodes=["w1", "w9"])
    assert refusal(lambda: protect(asked)) == (
        "nodes: w9: there is no node of this name in the cluster; it has cp1, w1, w2, w3."
    )
    assert protect(asked, former=["w9"]).stale == ("w9",)


def test_a_guard_that_goes_protects_nobody() -> None:
    found = protect(wish(state="absent"), nodes=(), former=["w1"])
    assert (found.nodes, found.removed, found.gone) == ((), ("w1",), ())


def test_a_taint_that_keeps_nobody_off_is_none() -> None:
    found = protect(wish(), [tainted("w1", f"{D}:PreferNoSchedule")])
    assert (found.untainted, found.taints) == (("w1",), ())


def test_taints_are_those_of_the_keys_each_once_and_sorted() -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule", "a:NoSchedule"), tainted("w2", f"{D}:NoSchedule", f"{D}:NoExecute")]
    assert protect(wish(), nodes).taints == (
        {"effect": "NoExecute", "key": D, "value": ""},
        {"effect": "NoSchedule", "key": D, "value": ""},
    )
    named = wish(resources=[], nodes=["w1"])
    assert [taint["key"] for taint in protect(named, nodes).taints] == ["a", D]


def test_taints_with_other_values_are_others() -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule"), tainted("w2", f"{D}:NoSchedule")]
    nodes[1]["spec"]["taints"][0]["value"] = "b"
    assert [taint["value"] for taint in protect(wish(), nodes).taints] == ["", "b"]


def policy_of(*nodes: str, taints: t.Sequence[Json] = (), **params: t.Any) -> Json:
    """The policy of another guard."""
    protection = Protection(nodes=nodes, taints=tuple(taints))
    return placement_policies.objects(placement_guard.guard_of(wish(**params), protection))[0]


def test_a_node_has_one_guard_that_refuses() -> None:
    others = {"gpu": policy_of("w2", "w3"), "fpga": policy_of("w9")}
    message = refusal(lambda: protect(wish(enforce=True), others=others))
    assert message.startswith("w2 protected by gpu already. Of two guards that refuse,")
    assert protect(wish(), others=others).nodes == ("w1", "w2")
    assert protect(wish(state="absent"), others=others).nodes == ()


SHARED = {"key": D, "effect": "NoSchedule", "value": ""}


@pytest.mark.parametrize(
    ("params", "other", "refused"),
    [
        # Each of two nodes has the same taint, and a guard of its own.
        ({"require_request": True}, policy_of("w2"), True),
        ({}, policy_of("w2", taints=[SHARED], require_request=True), True),
        ({}, policy_of("w2", taints=[{**SHARED, "value": "b"}], require_request=True), False),
        ({}, policy_of("w2"), False),
        ({"require_request": True}, policy_of("w3"), False),
        ({"require_request": True, "enforce": False}, policy_of("w2"), False),
    ],
)
def test_what_has_to_be_tolerated_for_another_guard_is_left_to_it(params: Json, other: Json, refused: bool) -> None:
    asked = wish(**{"enforce": True, "nodes": ["w1"], **params})
    if refused:
        message = refusal(lambda: protect(asked, others={"gpu": other}))
        assert message.startswith(f"{D}:NoSchedule on nodes of gpu, too, and require_request. Of two guards")
    else:
        assert protect(asked, others={"gpu": other}).nodes == ("w1",)


def test_the_other_guards_are_those_that_refuse() -> None:
    objects: dict[Place, Json] = {}
    for name, enforce in (("mine", True), ("gpu", True), ("gpu-trial", True), ("warns", False)):
        objects |= there(wish(name=name.removesuffix("-trial"), enforce=enforce), "w1")
        for kind in (POLICY, BINDING):
            objects[kind, name] = objects[kind, name.removesuffix("-trial")]
    objects |= {(POLICY, "loose"): objects[POLICY, "gpu"]}
    assert placement_guard.refusing(objects, "mine") == {"gpu": objects[POLICY, "gpu"]}


# ---- what makes pods from templates --------------------------------------------------------------------------------------------------------

EVERYTHING = {"operator": "Exists"}
OF_THE_KEY = {"key": D, "operator": "Exists"}
SETS = [
    daemon_set("monitoring/exporter", EVERYTHING),
    daemon_set("logging/agent", OF_THE_KEY),
    daemon_set("kube-system/kube-proxy", EVERYTHING),
    daemon_set("dongles/plugin", OF_THE_KEY, resources={"requests": {D: "1"}}),
    daemon_set("dongles/limited", OF_THE_KEY, resources={"limits": {D: 1}}),
    daemon_set("other/no-execute", {"operator": "Exists", "effect": "NoExecute"}),
    daemon_set("other/plain"),
    daemon_set("other/elsewhere", EVERYTHING, nodeSelector={"disk": "ssd"}),
    daemon_set("other/value", {"key": D, "value": "b", "effect": "NoSchedule"}),
]


def test_daemon_sets_that_would_lose_their_pods_are_refused() -> None:
    message = refusal(lambda: protect(wish(**STRICT), sets=SETS))
    assert (
        "pods of DaemonSet logging/agent, DaemonSet monitoring/exporter would be refused at their next start" in message
    )
    assert "into exempt_daemon_sets" in message
    assert "or set allow_refusals" in message


@pytest.mark.parametrize(
    ("way", "shut_out"),
    [
        ({"allow_refusals": True}, ("DaemonSet logging/agent", "DaemonSet monitoring/exporter")),
        ({"enforce": False}, ("DaemonSet logging/agent", "DaemonSet monitoring/exporter")),
        ({"exempt_namespaces": ["monitoring"], "exempt_daemon_sets": ["logging/agent"]}, ()),
    ],
)
def test_they_are_not_when_that_is_meant(way: Json, shut_out: tuple[str, ...]) -> None:
    assert protect(wish(**{**STRICT, **way}), sets=SETS).shut_out == shut_out


def test_a_daemon_set_of_the_nodes_own_labels_is_meant() -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule", labels={"disk": "ssd"})]
    assert "other/elsewhere" in refusal(lambda: protect(wish(**STRICT), nodes, sets=SETS))


@pytest.mark.parametrize(
    ("expressions", "meant"),
    [
        ([{"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}], True),
        ([{"key": "disk", "operator": "NotIn", "values": ["ssd"]}], False),
        ([{"key": "disk", "operator": "Exists"}], True),
        ([{"key": "disk", "operator": "DoesNotExist"}], False),
        ([{"key": "rank", "operator": "Gt", "values": ["2"]}], True),
        ([{"key": "rank", "operator": "Lt", "values": ["2"]}], False),
        ([{"key": "disk", "operator": "Exists"}, {"key": "gone", "operator": "Exists"}], False),
    ],
)
def test_a_daemon_set_with_an_affinity_is_meant_where_the_labels_fit(expressions: list[Json], meant: bool) -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule", labels={"disk": "ssd", "rank": "3"})]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    asked = wish(**STRICT, allow_refusals=True)
    found = protect(asked, nodes, sets=[daemon_set("other/agent", EVERYTHING, affinity=affinity)])
    assert found.shut_out == (("DaemonSet other/agent",) if meant else ())


@pytest.mark.parametrize(("name", "meant"), [("w1", True), ("cp1", False), ("", True)])
def test_a_daemon_set_that_names_its_node_is_meant_there(name: str, meant: bool) -> None:
    sets = [daemon_set("other/agent", EVERYTHING, nodeName=name)]
    assert bool(protect(wish(**STRICT, allow_refusals=True), sets=sets).shut_out) is meant


def test_a_request_of_nothing_is_none() -> None:
    empty = daemon_set("dongles/none", OF_THE_KEY, resources={"requests": {D: "0"}})
    assert "dongles/none" in refusal(lambda: protect(wish(**STRICT), sets=[empty]))


def test_what_lands_nobody_knows_where_is_refused_wherever_it_would_run() -> None:
    elsewhere = daemon_set("ops/roamer", EVERYTHING, nodeSelector={"disk": "ssd"})
    nightly = {**elsewhere, "spec": {"jobTemplate": {"spec": elsewhere["spec"]}}}
    message = refusal(
        lambda: protect(wish(**STRICT), Deployment=[elsewhere], StatefulSet=[elsewhere], CronJob=[nightly])
    )
    assert "pods of CronJob ops/roamer, Deployment ops/roamer, StatefulSet ops/roamer would be refused" in message
    assert "those of others wherever they would run" in message
    # Such a list is for DaemonSets, whose controller alone is believed.
    listed = wish(**STRICT, exempt_daemon_sets=["ops/roamer"])
    assert "Deployment ops/roamer" in refusal(lambda: protect(listed, Deployment=[elsewhere]))
    assert protect(wish(**STRICT, exempt_namespaces=["ops"]), Deployment=[elsewhere]).shut_out == ()


def pinned_to(*terms: t.Sequence[str]) -> Json:
    """An affinity: of each term the nodes that it names."""
    fields = [[{"key": "metadata.name", "operator": "In", "values": list(names)}] for names in terms]
    required = {"nodeSelectorTerms": [{"matchFields": found} for found in fields]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ({"nodeName": "w3"}, False),
        ({"nodeName": "w1"}, True),
        ({"affinity": pinned_to(["w3"], ["cp1", "w3"])}, False),
        ({"affinity": pinned_to(["w3"], ["w1", "w3"])}, True),
        ({"affinity": pinned_to()}, True),
    ],
)
def test_what_names_other_nodes_is_not_meant(spec: Json, meant: bool) -> None:
    pinned = daemon_set("ops/pinned", EVERYTHING, **spec)
    assert bool(protect(wish(**STRICT, allow_refusals=True), Deployment=[pinned]).shut_out) is meant


def test_a_toleration_of_another_value_is_none() -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule")]
    nodes[0]["spec"]["taints"][0]["value"] = "b"
    other, same = ({"key": D, "value": value, "effect": "NoSchedule"} for value in ("a", "b"))
    assert protect(wish(**STRICT), nodes, sets=[daemon_set("ops/agent", other)]).shut_out == ()
    assert "ops/agent" in refusal(lambda: protect(wish(**STRICT), nodes, sets=[daemon_set("ops/agent", same)]))


# ---- what is to be done ------------------------------------------------------------------------------------------------


def planned(asked: Wish, objects: t.Mapping[Place, Json] | None = None, **judged: t.Any) -> GuardPlan:
    """The plan against objects that were read. judged: kinds that the API server makes something else of; None: declines."""
    cluster = Cluster(objects or {}, {node["metadata"]["name"]: node for node in NODES})
    protection = placement_guard.protect(asked, cluster, dry=False)
    sent = placement_guard.bodies(asked, cluster, protection)
    answers = {placement_guard.place_of(body): body for body in sent if judged.get(body["kind"], True)}
    return placement_guard.plan(asked, cluster, protection, sent, answers)


def told(plan: GuardPlan) -> list[str]:
    return [str(operation) for operation in plan.operations]


def test_a_new_guard_is_created_the_policy_first() -> None:
    plan = planned(wish(**AFFINITY))
    assert told(plan) == [f"{kind} {NAME}: created" for kind in (POLICY, BINDING, MUTATION, MUTATION_BINDING)]
    assert [body["kind"] for body in plan.writes] == list(KINDS)
    assert [body for body in plan.writes if "resourceVersion" in body["metadata"]] == []


def test_what_is_as_it_should_be_is_left_alone() -> None:
    plan = planned(wish(), there(wish(), "w1", "w2"))
    assert (plan.operations, plan.writes, plan.leftovers, plan.removals) == ((), (), (), ())


def test_what_differs_is_replaced_as_it_was_read() -> None:
    plan = planned(wish(enforce=True), there(wish(), "w1", "w2"))
    assert told(plan) == [f"{BINDING} {NAME}: changed"]
    assert plan.writes[0]["metadata"]["resourceVersion"] == "7"


def test_what_somebody_added_counts_as_a_difference() -> None:
    objects = there(wish(), "w1", "w2")
    objects[BINDING, NAME]["spec"]["matchResources"] = {"objectSelector": {"matchLabels": {"a": "b"}}}
    assert told(planned(wish(), objects)) == [f"{BINDING} {NAME}: changed"]


def test_a_label_that_somebody_added_does_not() -> None:
    objects = there(wish(), "w1", "w2")
    objects[BINDING, NAME]["metadata"]["labels"]["team"] = "a"
    assert told(planned(wish(), objects)) == []


def test_what_the_api_server_declines_is_a_change() -> None:
    assert told(planned(wish(), **{POLICY: None})) == [f"{POLICY} {NAME}: created", f"{BINDING} {NAME}: created"]


def test_an_affinity_that_is_not_asked_for_any_more_goes_the_binding_first() -> None:
    plan = planned(wish(enforce=True), there(wish(**AFFINITY), "w1", "w2"))
    assert plan.removals == ((MUTATION_BINDING, NAME), (MUTATION, NAME))
    assert plan.writes == ()


def test_all_of_it_goes_the_bindings_first() -> None:
    plan = planned(wish(state="absent"), there(wish(**AFFINITY), "w1"))
    assert told(plan) == [f"{kind} {NAME}: removed" for kind in (MUTATION_BINDING, MUTATION, BINDING, POLICY)]
    assert planned(wish(state="absent")).operations == ()


def test_what_a_trial_left_goes_in_any_case() -> None:
    left = {(kind, TRIAL): entry for (kind, _name), entry in there(wish(), "w1").items()}
    plan = planned(wish(), {**there(wish(), "w1", "w2"), **left})
    assert (plan.leftovers, plan.writes) == (((BINDING, TRIAL), (POLICY, TRIAL)), ())
    assert told(plan) == [f"{BINDING} {TRIAL}: removed", f"{POLICY} {TRIAL}: removed"]


def test_a_plan_is_the_same_each_time_and_changes_nothing_that_was_read() -> None:
    objects = there(wish(), "w2", "w1")
    before = copy.deepcopy(objects)
    assert planned(wish(enforce=True), objects) == planned(wish(enforce=True), objects)
    assert objects == before


def test_a_guard_that_stops_refusing_is_told() -> None:
    (warning,) = planned(wish(), there(wish(enforce=True))).warnings
    assert warning.startswith(f"{NAME} refused until now and only warns from now on, because enforce is not asked for")
    assert not planned(wish(enforce=True), there(wish(enforce=True))).warnings
    assert not planned(wish(), there(wish())).warnings
    assert not planned(wish(state="absent"), there(wish(enforce=True))).warnings


def test_what_the_user_should_know() -> None:
    asked = wish(nodes=["w1", "w3", "gone"], schedulers=["mine"])
    found = dataclasses.replace(protect(asked, former=["gone"]), shut_out=("Deployment a/b",))
    plan = placement_guard.plan(asked, Cluster({}, {}), found, [], {})
    assert list(plan.warnings) == [
        "gone: no node of the cluster any more; take it out of the nodes to protect, or leave it there when it comes back.",
        f"w3: has no taint {D} that keeps pods off, so the scheduler itself may place any pod there.",
        "pods of Deployment a/b would be refused if it were enforced, at their next start, because these tolerate a taint of the"
        " protected nodes and request nothing: those of DaemonSets on these nodes, those of others wherever they would run.",
        "schedulers: system:kube-scheduler is not among them, so the cluster's own scheduler cannot place any pod on protected nodes.",
    ]


def test_whether_the_former_guard_refused() -> None:
    for enforce in (True, False):
        cluster = Cluster(there(wish(enforce=enforce), "w1"), {})
        assert placement_guard.was_enforced(wish(), cluster) == enforce
    assert not placement_guard.was_enforced(wish(), Cluster({}, {}))


# ---- what is told ------------------------------------------------------------------------------------------------------


def test_what_was_done_is_told() -> None:
    asked = wish(nodes=["w1", "w3", "gone"])
    found = protect(asked, former=["gone", "w2", "older"])
    operations = planned(wish()).operations[:1]
    assert placement_guard.lines(asked, found, operations, dry=False) == [
        f"{NAME} only warns; protected: gone, w1, w3",
        "w1: protected from now on",
        "w3: protected from now on",
        "older: not protected any more, and no node of the cluster any more",
        "w2: not protected any more",
        f"{POLICY} {NAME}: created",
    ]


def test_what_is_only_planned_is_told_as_such() -> None:
    asked = wish(enforce=True)
    found = protect(asked, former=["w2", "w3"])
    operations = planned(asked).operations[:1]
    assert placement_guard.lines(asked, found, operations, dry=True) == [
        f"{NAME} would refuse; protected: w1, w2",
        "w1: would be protected",
        "w3: would not be protected any more",
        f"{POLICY} {NAME}: would be created",
    ]


def test_what_stays_is_told_plainly() -> None:
    assert placement_guard.lines(wish(enforce=True), Protection(nodes=("w1",)), (), dry=True) == [
        f"{NAME} refuses; protected: w1"
    ]
    assert placement_guard.lines(wish(), Protection(), (), dry=True) == [f"{NAME} only warns; protected: no node"]


def test_a_removal_is_told() -> None:
    asked = wish(state="absent")
    operations = planned(asked, there(wish(), "w1")).operations
    assert placement_guard.lines(asked, Protection(), operations, dry=False) == [f"{NAME}: not there any more"]
    assert placement_guard.lines(asked, Protection(), operations, dry=True) == [f"{NAME}: would be removed"]


def test_a_diff_shows_expressions_line_by_line() -> None:
    policy = there(wish(), "w1", "w2")[POLICY, NAME]
    policy["metadata"]["managedFields"] = [{}]
    found = placement_guard.shown(policy)
    assert set(found["metadata"]) == {"name", "labels"}
    assert found["spec"]["variables"][1] == {"name": "nodes", "expression": ["[", '  "w1",', '  "w2"', "]"]}
    assert placement_guard.shown(None) == {}


# ---- what a trial and the proof say ------------------------------------------------------------------------------------


NAMING = Case("a pod that names w1", {}, says=("names the node w1",))
OWN = Case("a pod that names w1", {}, says=("names the node w1", "mine 1a2b3c4d"))
PLAIN = Case("a pod that names no node", {})
PINNED = Case("a pod whose node has to become an affinity", {}, scheduled="mine 1a2b3c4d")
PINNED_BY = "nodecraft.kubeadm/placement-guard"


@pytest.mark.parametrize(
    ("case", "taken", "said", "problem"),
    [
        (NAMING, None, "403, the pod names the node w1, which", ""),
        (NAMING, {"spec": {}}, "", "It did not refuse a pod that names w1 within 30 s. See whether the API server"),
        (
            OWN,
            None,
            "403, ValidatingAdmissionPolicy 'mine' with binding 'mine' denied: the pod names the node w1, which. (mine 1a2b3c4d)",
            "",
        ),
        (
            OWN,
            None,
            "403, ValidatingAdmissionPolicy 'mine' with denied: the pod names the node w1 (mine 00000000)",
            "It did not refuse",
        ),
        (NAMING, None, "quota exceeded", "within 30 s (quota exceeded). See"),
        (
            NAMING,
            None,
            "x resulted in error: no such key: team",
            "An expression fails for a pod that names w1: x resulted",
        ),
        (PLAIN, {"spec": {}}, "", ""),
        (
            PLAIN,
            None,
            "no.",
            "It has to accept a pod that names no node, in the namespace ns, and the API server said: no.",
        ),
        (PINNED, {"metadata": {"annotations": {PINNED_BY: "mine 1a2b3c4d"}}, "spec": {"affinity": {}}}, "", ""),
        (
            PINNED,
            {"metadata": {}, "spec": {"nodeName": "w1"}},
            "",
            "was not turned into an affinity by mine 1a2b3c4d for 30 s. See whether the API server runs without",
        ),
        (
            PINNED,
            {"metadata": {"annotations": {PINNED_BY: "mine 00000000"}}, "spec": {"affinity": {}}},
            "",
            "was not turned into an affinity by mine 1a2b3c4d",
        ),
        (PINNED, None, "no.", "It has to accept a pod whose node has to become an affinity"),
    ],
)
def test_answers_to_pods_are_judged(case: Case, taken: Json | None, said: str, problem: str) -> None:
    found = placement_guard.problem(case, taken, said, seconds=30, namespace="ns")
    assert problem in found
    assert bool(problem) == bool(found)


def test_what_is_said_of_expressions() -> None:
    warning = {"fieldRef": "spec.variables[6].expression", "warning": "undefined field 'specs'"}
    assert placement_guard.complaints({"status": {"typeChecking": {"expressionWarnings": [warning]}}}) == [
        "The API server says of the expression spec.variables[6].expression: undefined field 'specs'"
    ]
    assert placement_guard.complaints({"status": {"observedGeneration": 1}}) == []
    assert placement_guard.complaints({}) == []


def test_the_way_out_names_every_binding() -> None:
    assert placement_guard.way_out(wish(enforce=True)) == (
        f"To take it out of force: kubectl delete validatingadmissionpolicybinding {NAME}."
    )
    assert f"and kubectl delete mutatingadmissionpolicybinding {NAME}." in placement_guard.way_out(wish(**AFFINITY))
