# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extended resources of one node, beside those of device plugins."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents import json_patch
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.extended_resources import RESOURCES
from ansible_collections.nodecraft.kubeadm.tests.unit.support.node_plans import D, owned, planned, summarized
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import node

OURS = "nodecraft.kubeadm/owned-extended-resources"


def test_a_device_plugins_resource_is_refused() -> None:
    with pytest.raises(
        Refusal, match=r"w1: resources example.com/dongle is not changed: a device plugin advertises it"
    ):
        planned(RESOURCES, node(capacity={D: "4"}, kubelet_managed=[D]), {D: 5})


def test_what_remains_of_a_device_plugin_is_refused_with_its_removal() -> None:
    with pytest.raises(Refusal) as refused:
        planned(RESOURCES, node(capacity={D: "0"}, kubelet_managed=[D]), {D: 5})
    message = str(refused.value)
    assert "w1: resources example.com/dongle is not changed: the kubelet has 0 of it from a device plugin" in message
    patch = re.search(
        r"kubectl patch node w1 --subresource=status --type=json --patch='(?P<patch>.+)'\) and run again", message
    )
    assert patch is not None
    left = json_patch.apply(node(capacity={D: "0"}, kubelet_managed=[D]), json.loads(patch["patch"]))
    assert D not in left["status"]["capacity"]


def test_nothing_is_waited_for_that_is_a_device_plugins() -> None:
    assert planned(RESOURCES, node(capacity={D: "4"}, kubelet_managed=[D]), {D: None}, "absent").desired == {}


def test_what_a_device_plugin_took_over_is_left_to_it() -> None:
    found = node(capacity={D: "4"}, kubelet_managed=[D], annotations={OURS: owned(**{D: ("4", None)})})
    made = planned(RESOURCES, found, {}, purge=True)
    assert summarized(made) == [("owned", D, "4", None)]
    assert [entry["op"] for entry in made.patch] == ["test", "remove"]
    assert "is left alone: a device plugin" in made.warnings[0]
