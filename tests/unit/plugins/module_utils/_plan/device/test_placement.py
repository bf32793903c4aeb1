# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes get a device plugin, and what is expected of each."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device import placement as device_plugin
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device.placement import Placement
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node

D, G = "example.com/dongle", "example.com/gpu"
EVERYWHERE = Placement({}, [{"operator": "Exists"}])
W1, W2 = node("w1", labels={"rack": "r7"}), node("w2")


def selected(*entries: Json, placement: Placement = EVERYWHERE, nodes: t.Sequence[Json] = (W1, W2)) -> Json:
    """What is expected of each node, as text."""

    def select(selector: str) -> list[str]:
        key, _equals, value = selector.partition("=")
        return [each["metadata"]["name"] for each in nodes if each["metadata"]["labels"].get(key) == value]

    expected = device_plugin.parse_expectations(entries, select)
    found = device_plugin.select_nodes(nodes, placement, expected)
    return {name: {key: str(amount) for key, amount in amounts.items()} for name, amounts in found.items()}


def test_an_entry_for_all_and_a_later_one_for_some() -> None:
    assert selected({"resources": {D: 4, G: ">=1"}}, {"resources": {D: "2"}, "label_selector": "rack=r7"}) == {
        "w1": {D: "2", G: "at least 1"},
        "w2": {D: "4", G: "at least 1"},
    }


def test_names_and_a_selector_add_up() -> None:
    entry = {"resources": {D: 0}, "label_selector": "rack=r7", "nodes": ["w2"]}
    assert selected(entry) == {"w1": {D: "0"}, "w2": {D: "0"}}


def test_without_expectations_the_plugin_still_has_its_nodes() -> None:
    assert selected(placement=Placement({"rack": "r7"}, [])) == {"w1": {}}


@pytest.mark.parametrize(
    ("found", "expected", "holds"), [(4, 4, True), (5, 4, False), (5, ">=4", True), (3, ">= 4", False)]
)
def test_amounts(found: int, expected: t.Any, holds: bool) -> None:
    (expectation,) = device_plugin.parse_expectations([{"resources": {D: expected}}], lambda _selector: [])
    assert expectation.resources[D].is_met_by(found) is holds


@pytest.mark.parametrize("amount", [True, None, -1, "some", "1.5", ">=", 1.5])
def test_what_is_no_amount(amount: t.Any) -> None:
    with pytest.raises(Refusal, match=r"expected\[0\]: invalid value .* of example.com/dongle: must be a whole number"):
        selected({"resources": {D: amount}})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"resources": {}}, "resources is empty"),
        ({"resources": {"dongle": 1}}, "no pod could request 'dongle'"),
        ({"resources": {D: 1}, "label_selector": "rack=r9"}, "label_selector rack=r9 matches no node"),
        ({"resources": {D: 1}, "label_selector": " "}, "invalid label_selector"),
        ({"resources": {D: 1}, "nodes": []}, r"invalid nodes \[\]: must name some"),
        ({"resources": {D: 1}, "nodes": ["w9"]}, "there is no node w9"),
    ],
)
def test_entries_that_fit_nothing(entry: Json, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        selected(entry)


def test_a_node_that_gets_no_plugin_can_offer_nothing() -> None:
    with pytest.raises(Refusal, match="expected of w2, which gets no device plugin: it lacks the label rack=r7"):
        selected({"resources": {D: 1}, "nodes": ["w2"]}, placement=Placement({"rack": "r7"}, []))


def test_a_selector_that_matches_nothing() -> None:
    with pytest.raises(
        Refusal, match=r"node_selector rack=r9 .* matches none of 2 nodes \(w1: it lacks the label rack=r9"
    ):
        selected(placement=Placement({"rack": "r9"}, []))


def test_a_cluster_without_nodes() -> None:
    with pytest.raises(Refusal, match="the cluster has no node"):
        selected(nodes=[])


@pytest.mark.parametrize(
    ("key", "effect", "tolerations", "gets_it"),
    [
        ("k", "NoSchedule", [], False),
        ("k", "NoExecute", [{"key": "k", "operator": "Exists"}], True),
        ("k", "PreferNoSchedule", [], True),
        ("node.kubernetes.io/unschedulable", "NoSchedule", [], True),
    ],
)
def test_taints(key: str, effect: str, tolerations: list[Json], gets_it: bool) -> None:
    tainted = node("w3", taints=[{"key": key, "effect": effect}])
    assert ("w3" in selected(placement=Placement({}, tolerations), nodes=[W1, tainted])) is gets_it


def test_cdi_where_containers_would_start_without_their_devices() -> None:
    nodes = [
        node("w1", runtime="containerd://1.6.20~ds1"),
        node("w2", runtime="containerd://1.7.0"),
        node("w3", runtime="containerd://1.5.9"),
    ]
    with pytest.raises(Refusal, match=r"w1 \(containerd://1.6.20~ds1\), w3 \(containerd://1.5.9\). Take cdi from"):
        device_plugin.check_cdi(nodes)


@pytest.mark.parametrize(
    ("runtime", "warned"),
    [
        ("containerd://1.7.24", True),
        ("containerd://v1.10.0", True),
        ("containerd://2.0.0-rc.1", False),
        ("containerd://10.1.0", False),
        ("cri-o://1.6.2", False),
        ("containerd://Unknown", False),
        ("", False),
    ],
)
def test_cdi_that_may_have_to_be_switched_on(runtime: str, warned: bool) -> None:
    warnings = device_plugin.check_cdi([node("w1", runtime=runtime), node("w2")])
    assert [f"w1 ({runtime})" in warning and "enable_cdi = true" in warning for warning in warnings] == [True] * warned
