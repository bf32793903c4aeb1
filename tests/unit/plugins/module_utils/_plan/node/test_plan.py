# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of one node: the desired state and what is there, in; a JSON Patch out."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents import json_patch
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import plan as node_plan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.extended_resources import RESOURCES
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.labels import LABELS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.node_plans import D, owned, planned, summarized
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node

OURS = "nodecraft.kubeadm/owned-extended-resources"


def test_a_resource_and_its_record_in_one_patch() -> None:
    made = planned(RESOURCES, node(), {D: 4})
    assert summarized(made) == [("resources", D, None, "4")]
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
    assert made.desired == {D: "4"}


def test_what_is_there_already_needs_nothing() -> None:
    made = planned(RESOURCES, node(capacity={D: "1k"}), {D: 1000})
    assert (made.operations, made.patch) == ((), ())
    assert made.desired == {D: "1000"}


def test_the_amount_as_it_was_read_is_what_the_patch_relies_on() -> None:
    made = planned(RESOURCES, node(capacity={D: "1k"}, annotations={}), {D: 4})
    assert {"op": "test", "path": "/status/capacity/example.com~1dongle", "value": "1k"} in made.patch
    assert summarized(made) == [("resources", D, "1000", "4")]


def test_null_removes_and_the_record_goes_with_the_last_of_ours() -> None:
    found = node(capacity={D: "4"}, annotations={OURS: owned(**{D: ("4", None)}), "other": "x"})
    made = planned(RESOURCES, found, {D: None})
    assert json_patch.changes_of(made.patch) == [
        {"op": "remove", "path": "/metadata/annotations/nodecraft.kubeadm~1owned-extended-resources"},
        {"op": "remove", "path": "/status/capacity/example.com~1dongle"},
    ]
    assert made.desired == {D: None}


def test_purge_leaves_what_others_set() -> None:
    found = node(capacity={D: "4", "b.io/x": "1"}, annotations={OURS: owned(**{D: ("4", None)})})
    assert summarized(planned(RESOURCES, found, {}, purge=True)) == [("resources", D, "4", None)]


def test_absent_leaves_what_others_set() -> None:
    found = node(capacity={D: "4"})
    assert planned(RESOURCES, found, {D: None}, "absent").operations == ()


def test_a_foreign_change_is_given_up_with_a_word() -> None:
    found = node(labels={"a": "theirs"}, annotations={LABELS.annotation: owned(a=("ours", None))})
    made = planned(LABELS, found, {}, purge=True)
    assert summarized(made) == [("owned", "a", "ours", None)]
    (warning,) = made.warnings
    assert warning.startswith("w1: labels a: it was changed since this collection set it")


def test_a_record_that_is_none() -> None:
    for text in ("nonsense", "[]", '{"a":1}', '{"a":{}}', "null"):
        with pytest.raises(KubeadmError, match=r"w1: the annotation nodecraft.kubeadm/owned-labels does not hold"):
            planned(LABELS, node(annotations={LABELS.annotation: text}), {"a": "b"})


PARAMS: Json = {"labels": None, "per_node": None, "state": "present", "purge": False}


@pytest.mark.parametrize("changes", [{}, {"per_node": {}}])
def test_nothing_named_is_refused_with_present(changes: Json) -> None:
    with pytest.raises(Refusal, match="labels is required with state=present"):
        node_plan.parse_desired(LABELS, {**PARAMS, **changes})


def ours() -> Json:
    """A node with a label of ours."""
    return node(labels={"a": "b"}, annotations={LABELS.annotation: owned(a=("b", None))})


@pytest.mark.parametrize("purge", [True, False])
@pytest.mark.parametrize("entry", [None, {}, {"labels": None}])
def test_a_node_of_which_nothing_is_named_keeps_what_we_own(entry: Json | None, purge: bool) -> None:
    given = {**PARAMS, "per_node": {"w1": entry}, "purge": purge}
    found = node_plan.plan(LABELS, ours(), node_plan.parse_desired(LABELS, given).of("w1"))
    assert (found.operations, found.left_alone) == ((), ("a",))


@pytest.mark.parametrize("live", [{}, {"a": "c"}])
def test_what_another_took_away_or_changed_is_not_reported_to_stay(live: Json) -> None:
    given = {**PARAMS, "per_node": {"w1": None}, "purge": True}
    changed = node(labels=live, annotations={LABELS.annotation: owned(a=("b", None))})
    found = node_plan.plan(LABELS, changed, node_plan.parse_desired(LABELS, given).of("w1"))
    assert (found.operations, found.left_alone) == ((), ())


def test_an_empty_option_with_purge_reverts_what_we_own() -> None:
    given = {**PARAMS, "per_node": {"w1": {"labels": {}}}, "purge": True}
    found = node_plan.plan(LABELS, ours(), node_plan.parse_desired(LABELS, given).of("w1"))
    assert [each.to_result() for each in found.operations] == [
        {"field": "labels", "key": "a", "before": "b", "after": None, "no_longer_desired": True}
    ]
    assert found.left_alone == ()


def test_what_single_nodes_get_goes_on_top() -> None:
    desired_states = node_plan.parse_desired(
        LABELS, {**PARAMS, "labels": {"a": 1, "b": 1}, "per_node": {"w1": {"labels": {"b": 2, "c": None}}, "w2": {}}}
    )
    assert desired_states.of("w1").values == {"a": "1", "b": "2", "c": None}
    assert desired_states.of("w2").values == desired_states.of("w3").values == {"a": "1", "b": "1"}


def test_absent_without_anything_named_takes_all_of_ours_back() -> None:
    absent = {**PARAMS, "state": "absent"}
    assert node_plan.parse_desired(LABELS, absent).of("w1").purge
    assert node_plan.parse_desired(LABELS, {**absent, "per_node": {"w1": {}}}).of("w1").purge
    assert not node_plan.parse_desired(LABELS, {**absent, "labels": {}}).of("w1").purge
    assert not node_plan.parse_desired(LABELS, {**absent, "per_node": {"w1": {"labels": {}}}}).of("w1").purge


def test_what_is_not_seen_yet() -> None:
    found = node(capacity={D: "4"}, allocatable={D: "2"})
    assert node_plan.missing_values(RESOURCES, found, {D: "4", "b.io/x": None}) == [f"{D} should be '4' and is '2'"]
    assert node_plan.missing_values(RESOURCES, found, {D: None}) == [f"{D} should be unset and is '2'"]


def test_a_diff_has_what_is_ours_and_what_changes() -> None:
    first = json_patch.apply(
        node(labels={"theirs": "1", "b": "0"}), planned(LABELS, node(labels={"b": "0"}), {"a": 1}).patch
    )
    before, after = node_plan.diff_views(LABELS, first, json_patch.apply(first, planned(LABELS, first, {"b": 2}).patch))
    assert (before["metadata"]["labels"], after["metadata"]["labels"]) == ({"a": "1", "b": "0"}, {"a": "1", "b": "2"})
    # Where another one changes what is not ours, our record stays as it is, and is not shown.
    before, after = node_plan.diff_views(
        LABELS, first, {**first, "metadata": {**first["metadata"], "labels": {"a": "1"}}}
    )
    assert before["metadata"] == {
        "name": "w1",
        "labels": {"kubernetes.io/hostname": "w1", "theirs": "1", "a": "1", "b": "0"},
    }
    assert after["metadata"] == {"name": "w1", "labels": {"a": "1"}}
