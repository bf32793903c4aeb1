# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of one node."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents import json_patch
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.labels import (
    LABELS,
    reset_refusal,
    set_again,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.node_plans import planned, summarized
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node


def test_labels_are_changed_one_by_one() -> None:
    made = planned(LABELS, node(labels={"a": "1", "b": "2"}, annotations={}), {"a": 2, "b": None, "x.io/y": ""})
    assert summarized(made) == [("labels", "a", "1", "2"), ("labels", "b", "2", None), ("labels", "x.io/y", None, "")]
    assert json_patch.changes_of(made.patch)[1:] == [
        {"op": "add", "path": "/metadata/labels/a", "value": "2"},
        {"op": "remove", "path": "/metadata/labels/b"},
        {"op": "add", "path": "/metadata/labels/x.io~1y", "value": ""},
    ]


ZONE = "topology.kubernetes.io/zone"


def of_kubelet(manager: str = "kubelet", **entry: str) -> Json:
    """A node whose labels were written by a manager."""
    found = node(labels={ZONE: "a", "x.io/y": "1"}, annotations={})
    fields: Json = {"f:metadata": {"f:labels": {".": {}, f"f:{ZONE}": {}, "f:x.io/y": {}}}}
    found["metadata"]["managedFields"] = [{"manager": manager, "operation": "Update", "fieldsV1": fields, **entry}]
    return found


def test_label_that_the_kubelet_sets_again_is_refused() -> None:
    """Also when it was set again: the kubelet writes it by way of the status then, as one of 1.37 showed."""
    for value, entry in (("b", {}), (None, {}), ("b", {"subresource": "status"})):
        with pytest.raises(Refusal, match=f"labels {ZONE} is not changed: the kubelet set it"):
            planned(LABELS, of_kubelet(**entry), {ZONE: value})


def test_label_that_the_kubelet_set_only_once_is_changed() -> None:
    assert summarized(planned(LABELS, of_kubelet(), {"x.io/y": "2"})) == [("labels", "x.io/y", "1", "2")]
    assert summarized(planned(LABELS, of_kubelet("kubectl-label"), {ZONE: "b"})) == [("labels", ZONE, "a", "b")]


def test_label_of_the_kubelet_with_the_wanted_value_is_no_change() -> None:
    assert planned(LABELS, of_kubelet(), {ZONE: "a"}).operations == ()


def test_labels_of_a_command_line() -> None:
    arguments = ["/usr/bin/kubelet", f"--node-labels={ZONE}=a,x.io/y=1", "--v=2"]
    assert set_again(arguments) == {ZONE: "a"}
    assert set_again([*arguments, "--node-labels=x.io/z=2"]) == {ZONE: "a"}  # each occurrence adds to those before
    assert reset_refusal("w1", {ZONE: "a", "x.io/y": 2}, arguments) == ""
    assert reset_refusal("w1", {ZONE: None}, arguments) == (
        f"labels: w1: {ZONE} is 'a' by --node-labels of the kubelet, which sets it again whenever it starts. Change it there."
    )


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("node-role.kubernetes.io/control-plane", "kubeadm upgrade does not look at it"),
        ("node.kubernetes.io/exclude-from-external-load-balancers", "send the traffic of Services to the node"),
    ],
)
def test_removal_of_a_label_of_kubeadm_is_a_warning(key: str, words: str) -> None:
    (warning,) = planned(LABELS, node(labels={key: ""}, annotations={}), {key: None}).warnings
    assert words in warning
    assert planned(LABELS, node(labels={}, annotations={}), {key: ""}).warnings == ()
