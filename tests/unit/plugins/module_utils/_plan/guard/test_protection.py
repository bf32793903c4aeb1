# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes a guard protects, and whose pods it would keep off them."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import plan as placement_guard
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import policies as placement_policies
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import protection as placement_protection
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import (
    BINDING,
    POLICY,
    ObjectKey,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.protection import Protection
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import (
    D,
    daemon_set,
    desired,
    protected,
    refusal_message,
    stored_objects,
    tainted,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json

STRICT: Json = {"enforce": True, "require_request": True}


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
    assert protected(desired(**params)).nodes == nodes


def test_node_with_a_taint_of_others_is_protected() -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule", owned=False), tainted("w2", f"{D}:PreferNoSchedule", owned=False)]
    assert protected(desired(), nodes).nodes == ("w1",)


def test_tainted_node_leaves_no_guard_that_refuses() -> None:
    options = desired(nodes=["w1"], enforce=True)
    assert f"w2 ({D}:NoSchedule): tainted, and not protected" in refusal_message(
        lambda: protected(options, former=["w1", "w2"])
    )
    assert protected(options, former=["w1", "w2"], others={"other": policy_of("w2")}).removed == ("w2",)
    assert protected(desired(nodes=["w1"]), former=["w1", "w2"]).removed == ("w2",)
    assert protected(options).nodes == ("w1",)


def test_no_node_that_is_kept_for_anything() -> None:
    options = desired(resources=[], taint_keys=["example.com/other"])
    assert "no node is kept for example.com/other, by a taint or by this collection" in refusal_message(
        lambda: protected(options)
    )
    # A run that only plans may yet taint nodes.
    assert protected(options, dry=True).nodes == ()


def test_an_unreadable_record_is_an_error() -> None:
    broken = tainted("w1")
    broken["metadata"]["annotations"] = {"nodecraft.kubeadm/owned-taints": "x"}
    with pytest.raises(KubeadmError, match="does not hold what this collection writes"):
        protected(desired(), [broken])


def test_what_came_and_went() -> None:
    found = protected(desired(nodes=["w1", "w3", "gone"]), former=["gone", "cp1", "older"])
    assert (found.nodes, found.added, found.removed) == (("gone", "w1", "w3"), ("w1", "w3"), ("cp1", "older"))
    assert (found.stale, found.gone, found.untainted) == (("gone",), ("older",), ("w3",))


def test_a_new_name_that_no_node_has_is_refused_and_one_that_went_is_not() -> None:
    options = desired(nodes=["w1", "w9"])
    assert refusal_message(lambda: protected(options)) == (
        "nodes: w9: there is no node of this name in the cluster; it has cp1, w1, w2, w3."
    )
    assert protected(options, former=["w9"]).stale == ("w9",)


def test_a_guard_that_goes_protects_no_node() -> None:
    found = protected(desired(state="absent"), nodes=(), former=["w1"])
    assert (found.nodes, found.removed, found.gone) == ((), ("w1",), ())


def test_a_taint_that_keeps_no_pod_off_is_none() -> None:
    found = protected(desired(), [tainted("w1", f"{D}:PreferNoSchedule")])
    assert (found.untainted, found.taints) == (("w1",), ())


def test_taints_are_those_of_the_keys_each_once_and_sorted() -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule", "a:NoSchedule"), tainted("w2", f"{D}:NoSchedule", f"{D}:NoExecute")]
    assert protected(desired(), nodes).taints == (
        {"effect": "NoExecute", "key": D, "value": ""},
        {"effect": "NoSchedule", "key": D, "value": ""},
    )
    named = desired(resources=[], nodes=["w1"])
    assert [taint["key"] for taint in protected(named, nodes).taints] == ["a", D]


def test_taints_with_other_values_are_others() -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule"), tainted("w2", f"{D}:NoSchedule")]
    nodes[1]["spec"]["taints"][0]["value"] = "b"
    assert [taint["value"] for taint in protected(desired(), nodes).taints] == ["", "b"]


def policy_of(*nodes: str, taints: t.Sequence[Json] = (), **params: t.Any) -> Json:
    """The policy of another guard."""
    protection = Protection(nodes=nodes, taints=tuple(taints))
    return placement_policies.build_objects(placement_guard.build_guard(desired(**params), protection))[0]


def test_a_node_has_one_guard_that_refuses() -> None:
    others = {"gpu": policy_of("w2", "w3"), "fpga": policy_of("w9")}
    message = refusal_message(lambda: protected(desired(enforce=True), others=others))
    assert message.startswith("w2 protected by gpu already. Of two guards that refuse,")
    assert protected(desired(), others=others).nodes == ("w1", "w2")
    assert protected(desired(state="absent"), others=others).nodes == ()


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
    options = desired(**{"enforce": True, "nodes": ["w1"], **params})
    if refused:
        message = refusal_message(lambda: protected(options, others={"gpu": other}))
        assert message.startswith(f"{D}:NoSchedule on nodes of gpu, too, and require_request. Of two guards")
    else:
        assert protected(options, others={"gpu": other}).nodes == ("w1",)


def test_the_other_guards_are_those_that_refuse() -> None:
    objects: dict[ObjectKey, Json] = {}
    for name, enforce in (("mine", True), ("gpu", True), ("gpu-trial", True), ("warns", False)):
        objects |= stored_objects(desired(name=name.removesuffix("-trial"), enforce=enforce), "w1")
        for kind in (POLICY, BINDING):
            objects[kind, name] = objects[kind, name.removesuffix("-trial")]
    objects |= {(POLICY, "loose"): objects[POLICY, "gpu"]}
    assert placement_protection.enforcing_policies(objects, "mine") == {"gpu": objects[POLICY, "gpu"]}


# ---- what makes pods from templates ----------------------------------------------------------------------------------

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
    message = refusal_message(lambda: protected(desired(**STRICT), sets=SETS))
    assert (
        "pods of DaemonSet logging/agent, DaemonSet monitoring/exporter would be refused at their next start" in message
    )
    assert "to exempt_daemon_sets" in message
    assert "or set allow_refusals" in message


@pytest.mark.parametrize(
    ("params", "denied_workloads"),
    [
        ({"allow_refusals": True}, ("DaemonSet logging/agent", "DaemonSet monitoring/exporter")),
        ({"enforce": False}, ("DaemonSet logging/agent", "DaemonSet monitoring/exporter")),
        ({"exempt_namespaces": ["monitoring"], "exempt_daemon_sets": ["logging/agent"]}, ()),
    ],
)
def test_exempt_workloads_are_not_refused(params: Json, denied_workloads: tuple[str, ...]) -> None:
    assert protected(desired(**{**STRICT, **params}), sets=SETS).denied_workloads == denied_workloads


def test_a_daemon_set_of_the_nodes_own_labels_is_meant() -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule", labels={"disk": "ssd"})]
    assert "other/elsewhere" in refusal_message(lambda: protected(desired(**STRICT), nodes, sets=SETS))


@pytest.mark.parametrize(
    ("expressions", "expected"),
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
def test_a_daemon_set_with_an_affinity_is_meant_where_the_labels_fit(expressions: list[Json], expected: bool) -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule", labels={"disk": "ssd", "rank": "3"})]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    options = desired(**STRICT, allow_refusals=True)
    found = protected(options, nodes, sets=[daemon_set("other/agent", EVERYTHING, affinity=affinity)])
    assert found.denied_workloads == (("DaemonSet other/agent",) if expected else ())


@pytest.mark.parametrize(("name", "expected"), [("w1", True), ("cp1", False), ("", True)])
def test_a_daemon_set_that_names_its_node_is_meant_there(name: str, expected: bool) -> None:
    sets = [daemon_set("other/agent", EVERYTHING, nodeName=name)]
    assert bool(protected(desired(**STRICT, allow_refusals=True), sets=sets).denied_workloads) is expected


def test_a_request_of_nothing_is_none() -> None:
    empty = daemon_set("dongles/none", OF_THE_KEY, resources={"requests": {D: "0"}})
    assert "dongles/none" in refusal_message(lambda: protected(desired(**STRICT), sets=[empty]))


def test_what_lands_on_an_unknown_node_is_refused_wherever_it_would_run() -> None:
    elsewhere = daemon_set("ops/roamer", EVERYTHING, nodeSelector={"disk": "ssd"})
    nightly = {**elsewhere, "spec": {"jobTemplate": {"spec": elsewhere["spec"]}}}
    message = refusal_message(
        lambda: protected(desired(**STRICT), Deployment=[elsewhere], StatefulSet=[elsewhere], CronJob=[nightly])
    )
    assert "pods of CronJob ops/roamer, Deployment ops/roamer, StatefulSet ops/roamer would be refused" in message
    assert "those of others wherever they would run" in message
    # Such a list is for DaemonSets, whose controller alone is believed.
    listed = desired(**STRICT, exempt_daemon_sets=["ops/roamer"])
    assert "Deployment ops/roamer" in refusal_message(lambda: protected(listed, Deployment=[elsewhere]))
    assert protected(desired(**STRICT, exempt_namespaces=["ops"]), Deployment=[elsewhere]).denied_workloads == ()


def pinned_to(*terms: t.Sequence[str]) -> Json:
    """An affinity: of each term the nodes that it names."""
    fields = [[{"key": "metadata.name", "operator": "In", "values": list(names)}] for names in terms]
    required = {"nodeSelectorTerms": [{"matchFields": found} for found in fields]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"nodeName": "w3"}, False),
        ({"nodeName": "w1"}, True),
        ({"affinity": pinned_to(["w3"], ["cp1", "w3"])}, False),
        ({"affinity": pinned_to(["w3"], ["w1", "w3"])}, True),
        ({"affinity": pinned_to()}, True),
    ],
)
def test_what_names_other_nodes_is_not_meant(spec: Json, expected: bool) -> None:
    pinned = daemon_set("ops/pinned", EVERYTHING, **spec)
    assert bool(protected(desired(**STRICT, allow_refusals=True), Deployment=[pinned]).denied_workloads) is expected


def test_a_toleration_of_another_value_is_none() -> None:
    nodes = [tainted("w1", f"{D}:NoSchedule")]
    nodes[0]["spec"]["taints"][0]["value"] = "b"
    other, same = ({"key": D, "value": value, "effect": "NoSchedule"} for value in ("a", "b"))
    assert protected(desired(**STRICT), nodes, sets=[daemon_set("ops/agent", other)]).denied_workloads == ()
    assert "ops/agent" in refusal_message(
        lambda: protected(desired(**STRICT), nodes, sets=[daemon_set("ops/agent", same)])
    )
