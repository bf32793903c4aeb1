# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is observed of a changed kubelet through the API, and what that means."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import observation, rollout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_results import KubeletSettings
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.observation import CanaryResult
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.results import NodesInfo
from ansible_collections.nodecraft.kubeadm.tests.unit.support.rollouts import Json, host, results


def info(response: Json) -> NodesInfo:
    return typed.parse(NodesInfo, response)


def test_devices_that_are_missing() -> None:
    resources = {"a": {"allocatable": "3"}, "b": {"allocatable": "9"}, "c": {}}
    response = info({"nodes": {"w1": {"extended_resources": resources}}})
    assert observation.missing_devices({"a": 3, "b": 4}, response, "w1") == []
    assert observation.missing_devices({"a": 3}, info({"nodes": {"w1": {}}}), "w1") == ["a is 0, expected 3"]
    found = observation.missing_devices({"a": 4, "b": 4, "c": 1, "d": 2}, response, "w1")
    assert found == ["a is 3, expected 4", "c is 0, expected 1", "d is 0, expected 2"]
    message = observation.device_mismatch("w1", response, found, 20)
    assert "20 s later device plugins have less allocatable there than before: a is 3, expected 4;" in message
    assert observation.device_mismatch("w1", response, [], 20) == ""
    assert "does not show whether device plugins advertise there" in observation.device_mismatch("w1", info({}), [], 20)


def test_rights_for_a_canary_are_those_of_its_namespace() -> None:
    hosts = {
        "w1": results(host("n1", settings={"canary_namespace": "canaries"})),
        "w2": results(host("n2", settings={"canary_namespace": "of-no-turn"})),
    }
    needed = rollout.rights(hosts, ["w1"], KubeletSettings(), canaries=["w1"])
    rights = [each for each in needed if each.namespace == "canaries"]
    assert [str(each) for each in rights] == [
        "create pods in canaries",
        "list pods in canaries",
        "deletecollection pods in canaries",
        "get pods/log in canaries",
        "list events in canaries",
    ]


@pytest.mark.parametrize(
    ("after", "losses", "unknown"),
    [
        ({"a": "", "b": ""}, "", ""),
        ({"a": "", "b": "no"}, "what worked before does not: b (no)", ""),
        ({"a": "", "c": "no"}, "", ""),  # it did not work before either
        ({"the creation of a pod": "quota"}, "", "whether it starts pods: the creation of a pod (quota)"),
    ],
)
def test_only_what_worked_before_is_lost(after: dict[str, str], losses: str, unknown: str) -> None:
    before = {"the creation of a pod": "", "a": "", "b": "", "c": "no"}
    assert observation.find_losses(before, CanaryResult(steps=after)) == (losses, unknown)


def test_a_node_waits_for_the_slowest_one_of_its_batch() -> None:
    settings = KubeletSettings(wait_timeout=300, min_ready_seconds=10, allocatable_timeout=120)
    assert observation.observation_timeout(settings) > 300 + 10 + 300 + 120 + 120
