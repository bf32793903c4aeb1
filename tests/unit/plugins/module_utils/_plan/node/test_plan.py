# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of one node: what is wished and what is there, in; a JSON Patch out."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents import json_patch
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import plan as node_plan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.extended_resources import RESOURCES
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.labels import LABELS
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.plan import Kind, NodePlan, Wish
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.taints import TAINTS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node

D = "example.com/dongle"
OURS = "nodecraft.kubeadm/owned-extended-resources"


def owned(**keys: t.Any) -> str:
    """A record, from C(key=(set, original))."""
    return json.dumps(
        {key: {"set": value[0], "original": value[1]} for key, value in keys.items()}, separators=(",", ":")
    )


def plan(kind: Kind, found: Json, values: t.Any, state: str = "present", *, purge: bool = False) -> NodePlan:
    return node_plan.plan(kind, found, Wish(kind.parse(values, state), state, purge))


def seen(made: NodePlan) -> list[tuple[str, str, t.Any, t.Any]]:
    return [(change.field, change.key, change.before, change.after) for change in made.operations]


def test_a_resource_and_its_record_in_one_patch() -> None:
    made = plan(RESOURCES, node(), {D: 4})
    assert seen(made) == [("resources", D, None, "4")]
    assert list(made.patch) == [
        {"op": "test", "path": "/metadata/annotations", "value": None},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {
            "op": "add",
            "path": "/metadata/annotations/nodecraft.kubeadm~1owned-extended-resources",
            "value": owned(**{D: ("4", None)}),
        },
        {"op": "test", "path": "/status/capacity/example.com~1dongle", "value": None},
        {"op": "add", "path": "/status/capacity/example.com~1dongle", "value": "4"},
    ]
    assert made.wanted == {D: "4"}


def test_what_is_there_already_needs_nothing() -> None:
    made = plan(RESOURCES, node(capacity={D: "1k"}), {D: 1000})
    assert (made.operations, made.patch) == ((), ())
    assert made.wanted == {D: "1000"}


def test_the_amount_as_it_was_read_is_what_the_patch_relies_on() -> None:
    made = plan(RESOURCES, node(capacity={D: "1k"}, annotations={}), {D: 4})
    assert {"op": "test", "path": "/status/capacity/example.com~1dongle", "value": "1k"} in made.patch
    assert seen(made) == [("resources", D, "1000", "4")]


def test_null_removes_and_the_record_goes_with_the_last_of_ours() -> None:
    found = node(capacity={D: "4"}, annotations={OURS: owned(**{D: ("4", None)}), "other": "x"})
    made = plan(RESOURCES, found, {D: None})
    assert json_patch.changes_of(made.patch) == [
        {"op": "remove", "path": "/metadata/annotations/nodecraft.kubeadm~1owned-extended-resources"},
        {"op": "remove", "path": "/status/capacity/example.com~1dongle"},
    ]
    assert made.wanted == {D: None}


def test_purge_leaves_what_others_set() -> None:
    found = node(capacity={D: "4", "b.io/x": "1"}, annotations={OURS: owned(**{D: ("4", None)})})
    assert seen(plan(RESOURCES, found, {}, purge=True)) == [("resources", D, "4", None)]


def test_absent_leaves_what_others_set() -> None:
    found = node(capacity={D: "4"})
    assert plan(RESOURCES, found, {D: None}, "absent").operations == ()


def test_a_device_plugins_resource_is_refused() -> None:
    with pytest.raises(Refusal, match=r"w1: resources example.com/dongle is not changed: a device plugin offers it"):
        plan(RESOURCES, node(capacity={D: "4"}, managed=[D]), {D: 5})


def test_nothing_is_waited_for_that_is_a_device_plugins() -> None:
    assert plan(RESOURCES, node(capacity={D: "4"}, managed=[D]), {D: None}, "absent").wanted == {}


def test_what_a_device_plugin_took_over_is_left_to_it() -> None:
    found = node(capacity={D: "4"}, managed=[D], annotations={OURS: owned(**{D: ("4", None)})})
    made = plan(RESOURCES, found, {}, purge=True)
    assert seen(made) == [("owned", D, "4", None)]
    assert [entry["op"] for entry in made.patch] == ["test", "remove"]
    assert "is left alone: a device plugin" in made.warnings[0]


def test_a_foreign_change_is_given_up_with_a_word() -> None:
    found = node(labels={"a": "theirs"}, annotations={LABELS.annotation: owned(a=("ours", None))})
    made = plan(LABELS, found, {}, purge=True)
    assert seen(made) == [("owned", "a", "ours", None)]
    (warning,) = made.warnings
    assert warning.startswith("w1: labels a: somebody changed it since this collection set it")


def test_a_record_that_is_none() -> None:
    for text in ("nonsense", "[]", '{"a":1}', '{"a":{}}', "null"):
        with pytest.raises(KubeadmError, match=r"w1: the annotation nodecraft.kubeadm/owned-labels does not hold"):
            plan(LABELS, node(annotations={LABELS.annotation: text}), {"a": "b"})


def test_labels_are_changed_one_by_one() -> None:
    made = plan(LABELS, node(labels={"a": "1", "b": "2"}, annotations={}), {"a": 2, "b": None, "x.io/y": ""})
    assert seen(made) == [("labels", "a", "1", "2"), ("labels", "b", "2", None), ("labels", "x.io/y", None, "")]
    assert json_patch.changes_of(made.patch)[1:] == [
        {"op": "add", "path": "/metadata/labels/a", "value": "2"},
        {"op": "remove", "path": "/metadata/labels/b"},
        {"op": "add", "path": "/metadata/labels/x.io~1y", "value": ""},
    ]


def taint(key: str, effect: str = "NoSchedule", **more: t.Any) -> Json:
    return {"key": key, "effect": effect, **more}


def entry(key: str, effect: str | None = "NoSchedule", value: t.Any = None, state: str = "present") -> Json:
    return {"key": key, "effect": effect, "value": value, "state": state}


def test_taints_of_others_stay_as_they_are() -> None:
    theirs = taint("b", "NoExecute", timeAdded="2026-01-01T00:00:00Z")
    made = plan(TAINTS, node(taints=[theirs, taint("a", value="1")], annotations={}), [entry("a", value=2), entry("c")])
    assert seen(made) == [("taints", "a:NoSchedule", "1", "2"), ("taints", "c:NoSchedule", None, "")]
    assert list(made.patch)[-2:] == [
        {"op": "test", "path": "/spec/taints", "value": [theirs, taint("a", value="1")]},
        {"op": "add", "path": "/spec/taints", "value": [theirs, taint("a", value="2"), taint("c")]},
    ]


def test_the_last_taint_takes_the_list_with_it() -> None:
    made = plan(TAINTS, node(taints=[taint("a")], annotations={}), [entry("a", effect=None, state="absent")])
    assert json_patch.changes_of(made.patch)[-1] == {"op": "remove", "path": "/spec/taints"}
    assert made.wanted == {"a:NoSchedule": None, "a:PreferNoSchedule": None, "a:NoExecute": None}


def test_a_taint_twice() -> None:
    with pytest.raises(Refusal, match="a:NoSchedule is asked for twice"):
        plan(TAINTS, node(), [entry("a", value="1"), entry("a", value="2")])
    assert len(plan(TAINTS, node(), [entry("a"), entry("a"), entry("a", "NoExecute")]).operations) == 2


PARAMS: Json = {"labels": None, "per_node": None, "state": "present", "purge": False}


@pytest.mark.parametrize("changes", [{}, {"per_node": {"w1": {}}}, {"per_node": {"w1": {"labels": {}}, "w2": None}}])
def test_nothing_named_is_refused_with_present(changes: Json) -> None:
    with pytest.raises(Refusal, match="labels is required with state=present"):
        node_plan.parse_wishes(LABELS, {**PARAMS, **changes})


def test_what_single_nodes_get_goes_on_top() -> None:
    wishes = node_plan.parse_wishes(
        LABELS, {**PARAMS, "labels": {"a": 1, "b": 1}, "per_node": {"w1": {"labels": {"b": 2, "c": None}}, "w2": {}}}
    )
    assert wishes.of("w1").values == {"a": "1", "b": "2", "c": None}
    assert wishes.of("w2").values == wishes.of("w3").values == {"a": "1", "b": "1"}


def test_absent_without_anything_named_takes_all_of_ours_back() -> None:
    absent = {**PARAMS, "state": "absent"}
    assert node_plan.parse_wishes(LABELS, absent).of("w1").purge
    assert node_plan.parse_wishes(LABELS, {**absent, "per_node": {"w1": {}}}).of("w1").purge
    assert not node_plan.parse_wishes(LABELS, {**absent, "labels": {}}).of("w1").purge
    assert not node_plan.parse_wishes(LABELS, {**absent, "per_node": {"w1": {"labels": {}}}}).of("w1").purge


def test_what_is_not_seen_yet() -> None:
    found = node(capacity={D: "4"}, allocatable={D: "2"})
    assert node_plan.missing(RESOURCES, found, {D: "4", "b.io/x": None}) == [f"{D} should be '4' and is '2'"]
    assert node_plan.missing(RESOURCES, found, {D: None}) == [f"{D} should be unset and is '2'"]


def test_pointers_are_escaped() -> None:
    assert json_patch.pointer("a/b", "~", "c~/d") == "/a~1b/~0/c~0~1d"
