# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever is desired for whatever node: the patch brings it about, once, and its rollback leads to what was there."""

from __future__ import annotations

import typing as t

import jsonpatch
import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents import json_patch
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import names as node_names
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import plan as node_plan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.extended_resources import RESOURCES
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.labels import LABELS
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.plan import Desired, Kind, NodePlan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.taints import TAINTS, taint_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.sampled_from(["a.io/x", "a.io/y", "b.io/x", "b.io/z"])
TEXTS = st.sampled_from(["", "1", "two"])
AMOUNTS = st.integers(0, 2000).map(str)
TAINT_NAMES = st.tuples(NAMES, st.sampled_from(node_names.EFFECTS)).map(":".join)

KINDS: dict[str, tuple[Kind, t.Any, t.Any, t.Callable[[Json], Json]]] = {
    "labels": (LABELS, NAMES, TEXTS, lambda values: node(labels=values)),
    "resources": (RESOURCES, NAMES, AMOUNTS, lambda values: node(capacity=values)),
    "taints": (TAINTS, TAINT_NAMES, TEXTS, lambda values: node(taints=[taint_of(*item) for item in values.items()])),
}


def patched(found: Json, made: NodePlan) -> Json:
    """The node after a patch, whose tests have to hold before it."""
    for operation in made.patch:
        if operation["op"] == "test" and operation["value"] is not None:
            jsonpatch.apply_patch(found, [operation])
    return t.cast(Json, jsonpatch.apply_patch(found, json_patch.changes_of(made.patch)))


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_there_and_back(name: str, data: st.DataObject) -> None:
    kind, keys, values, make = KINDS[name]
    found = make(data.draw(st.dictionaries(keys, values)))
    before = kind.live(found)
    values_desired = data.draw(st.dictionaries(keys, st.none() | values))
    desired = Desired(values_desired, "present", purge=False)

    changed = patched(found, node_plan.plan(kind, found, desired))
    merged = {**before, **values_desired}
    assert kind.live(changed) == {key: value for key, value in merged.items() if value is not None}
    assert node_plan.plan(kind, changed, desired).operations == ()

    back = patched(changed, node_plan.plan(kind, changed, Desired({}, "absent", purge=True)))
    assert kind.live(back) == before
    assert not node_plan.read_record(kind, back)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_purge_ends_where_the_last_desired_state_alone_would(name: str, data: st.DataObject) -> None:
    kind, keys, values, make = KINDS[name]
    found = make(data.draw(st.dictionaries(keys, values)))
    first, second = (
        Desired(data.draw(st.dictionaries(keys, st.none() | values)), "present", purge=True) for dummy in range(2)
    )
    direct = patched(found, node_plan.plan(kind, found, second))
    between = patched(found, node_plan.plan(kind, found, first))
    assert kind.live(patched(between, node_plan.plan(kind, between, second))) == kind.live(direct)
