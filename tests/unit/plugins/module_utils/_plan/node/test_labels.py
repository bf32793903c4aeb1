# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of one node."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents import json_patch
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.labels import LABELS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.node_plans import planned, shown
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import node


def test_labels_are_changed_one_by_one() -> None:
    made = planned(LABELS, node(labels={"a": "1", "b": "2"}, annotations={}), {"a": 2, "b": None, "x.io/y": ""})
    assert shown(made) == [("labels", "a", "1", "2"), ("labels", "b", "2", None), ("labels", "x.io/y", None, "")]
    assert json_patch.changes_of(made.patch)[1:] == [
        {"op": "add", "path": "/metadata/labels/a", "value": "2"},
        {"op": "remove", "path": "/metadata/labels/b"},
        {"op": "add", "path": "/metadata/labels/x.io~1y", "value": ""},
    ]
