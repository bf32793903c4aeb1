# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels: parameters, and the result on every path."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import api_module
from ansible_collections.nodecraft.kubeadm.plugins.modules import node_label
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play

__all__ = ["fixture_api", "fixture_play"]

KEYS = {"changed", "nodes", "diff", "rehearsal"}


def test_a_change_and_none(play: Start, api: FakeApi) -> None:
    first = play(node_label, nodes=["w1"], labels={"a": True})
    assert set(first) == KEYS
    assert (first["changed"], first["diff"], first["rehearsal"]["verdict"]) == (True, [], "not_needed")
    assert api.objects["w1"]["metadata"]["labels"]["a"] == "true"
    second = play(node_label, nodes=["w1"], labels={"a": True})
    assert (second["changed"], second["nodes"]["w1"]["operations"]) == (False, [])


def test_check_mode_and_diff(play: Start, api: FakeApi) -> None:
    result = play(node_label, nodes=["w1"], labels={"a": 1}, _ansible_check_mode=True, _ansible_diff=True)
    assert (result["changed"], result["rehearsal"]["verdict"]) == (True, "accepted")
    assert result["diff"][0]["after"]["labels"]["a"] == "1"
    assert "a" not in api.objects["w1"]["metadata"]["labels"]


def test_a_failure_has_the_same_keys(play: Start) -> None:
    result = play(node_label, nodes=["w1", "nobody"], labels={"a": 1})
    assert set(result) == KEYS | {"failed", "msg"}
    assert (result["failed"], result["changed"]) == (True, True)
    refused = play(node_label, nodes=["w1"], labels={"kubernetes.io/hostname": "x"})
    assert set(refused) == KEYS | {"failed", "msg"}
    assert (refused["changed"], refused["nodes"]) == (False, {})
    assert "kubernetes.io/hostname is not set by hand" in refused["msg"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"labels": {"a": 1}}, "one of the following is required: nodes, label_selector, per_node"),
        ({"nodes": ["w1"], "labels": {"a": 1}, "concurrency": 0}, "concurrency is 0"),
        ({"per_node": {"w1": {"label": {}}}}, "per_node: w1: label. Supported parameters include: labels"),
        ({"per_node": {"w1": "a=b"}}, "per_node: the entry of w1 is 'a=b'"),
        ({"label_selector": "", "labels": {"a": 1}}, "label_selector: it is empty"),
        ({"nodes": ["w1"]}, "labels is required with state=present"),
    ],
)
def test_parameters_that_cannot_be(play: Start, parameters: dict[str, t.Any], message: str) -> None:
    assert message in play(node_label, **parameters)["msg"]


def test_the_name_of_a_missing_package() -> None:
    assert api_module._lacking("no_such_package") == "no_such_package"
    assert api_module._lacking("json") is None


def test_without_kubernetes_core_its_options_are_no_mistake(play: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "AUTH_ARG_SPEC", {})
    monkeypatch.setattr(api_module, "MISSING", "The collection kubernetes.core is missing")
    result = play(node_label, nodes=["w1"], labels={}, kubeconfig="x")
    assert "The collection kubernetes.core is missing" in result["msg"]
