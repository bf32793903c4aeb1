# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is reported of a node that offers what is expected, and of one that does not."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device import check as device_plugin_check
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device.check import NodeCheck, Observation
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device.placement import Amount
from ansible_collections.nodecraft.kubeadm.tests.unit.support.daemons import NOW, daemon_set, plugin_pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node

D = "example.com/dongle"
POD = plugin_pod()
RACK = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r7"]}]}
AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [RACK]}}}


def check(
    *pods: Json,
    capacity: str | None = "4",
    allocatable: str | None = None,
    expected: Amount | None = None,
    **parts: t.Any,
) -> NodeCheck:
    """Check the node w1, of which four are expected. parts: of the Observation, and ready and taints of the node."""
    amounts = {} if capacity is None else {D: capacity}
    found = node(
        "w1",
        capacity=amounts,
        allocatable=amounts if allocatable is None else {D: allocatable},
        ready=parts.pop("ready", True),
        taints=parts.pop("taints", []),
    )
    observed = Observation(
        **{"name": "x/p", "daemon_set": daemon_set(), "revision": "new", "pods": pods or [POD], "now": NOW, **parts}
    )
    return device_plugin_check.check_node(found, {D: expected or Amount(4)}, observed)


def test_a_node_that_offers_it() -> None:
    assert check() == NodeCheck("x/p-1", {D: "4"}, {D: "4"}, {D: "4"}, "")
    assert str(check()) == "example.com/dongle 4"


def test_the_plugin_has_to_work_even_where_the_amount_is_right() -> None:
    assert check(plugin_pod(ready=False)).problem == "the pod x/p-1 is not ready: it is being started"


@pytest.mark.parametrize(
    ("capacity", "allocatable", "message"),
    [
        (None, None, "expected 4, found 0: not registered, the kubelet knows no device plugin for it"),
        ("4", "2", "expected 4, found 2: 2 of 4 devices are unhealthy"),
        ("4", "0", "expected 4, found 0: 4 of 4 devices are unhealthy"),
        ("6", "6", "expected 4, found 6: the plugin advertises 6"),
        ("0", "0", "expected 4, found 0: the plugin found none"),
    ],
)
def test_amounts_that_differ(capacity: str | None, allocatable: str | None, message: str) -> None:
    assert f"{D}: {message}" in check(capacity=capacity, allocatable=allocatable).problem


def test_our_plugin_reports_which_devices_and_why() -> None:
    sick = {"id": "usb-A6", "healthy": False, "reason": "the device no longer exists"}
    well = {"id": "usb-B7", "healthy": True, "reason": ""}
    reports = {"p-1": {D: {"devices": [sick, well], "skipped": [], "failure": ""}}}
    problem = check(allocatable="3", plugin_reports=reports).problem
    assert problem.endswith("1 of 4 devices are unhealthy (usb-A6: the device no longer exists)")


def test_our_plugin_reports_what_it_skipped() -> None:
    skipped = [{"what": f"/dev/d{number}", "reason": "no permission"} for number in range(5)]
    reports = {"p-1": {D: {"devices": [], "skipped": skipped, "failure": "/dev cannot be read"}}}
    problem = check(capacity="0", plugin_reports=reports).problem
    assert (
        "the plugin found none (/dev/d0: no permission; /dev/d1: no permission; /dev/d2: no permission; and 2 more)"
        in problem
    )
    assert problem.endswith(": /dev cannot be read")


def test_no_daemon_set() -> None:
    assert check(daemon_set=None).problem == "there is no DaemonSet x/p"


def test_no_pod() -> None:
    events = {("DaemonSet", "p"): "FailedCreate: violates PodSecurity"}
    elsewhere = plugin_pod(node="w2")
    assert check(elsewhere, capacity=None, events=events).problem == (
        f"{D}: expected 4, found 0: there is no pod of the DaemonSet x/p: FailedCreate: violates PodSecurity"
    )
    assert "its controller has created none yet" in check(elsewhere).problem


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({"nodeSelector": {"rack": "r7"}}, "selects nodes with rack=r7"),
        ({"affinity": AFFINITY}, "its required node affinity does not match the node's labels"),
        ({"tolerations": []}, "its taint k:NoSchedule is not tolerated"),
    ],
)
def test_a_template_that_another_client_changed_keeps_pods_off(template: Json, message: str) -> None:
    parts: Json = {"daemon_set": daemon_set(template=template), "taints": [{"key": "k", "effect": "NoSchedule"}]}
    expected = f"there is no pod of the DaemonSet x/p: its pod template keeps it off this node: {message}"
    events = {("DaemonSet", "p"): "FailedCreate: long ago"}
    for left in (plugin_pod(node="w2"), plugin_pod(ending=True)):
        assert check(left, events=events, **parts).problem == expected


def test_a_node_that_is_down() -> None:
    assert check(ready=False).problem.startswith("the node is not Ready")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"waiting": {"reason": "ErrImageNeverPull", "message": "not present with pull policy of Never"}},
            "the image localhost/i:1 is not on the node and cannot be pulled (ErrImageNeverPull: not present with pull policy"
            " of Never). Where no registry is reachable, load it with device_plugin_image_archive",
        ),
        (
            {
                "waiting": {"reason": "CrashLoopBackOff"},
                "last": {"exitCode": 2, "reason": "Error", "message": "line 3:\n no such key"},
            },
            "its container ended with status 2 (Error): line 3: no such key",
        ),
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, "its container ended with status 1 (Error)"),
        ({"waiting": {"reason": "CreateContainerError", "message": "no args"}}, "CreateContainerError: no args"),
        ({"waiting": {"reason": "ContainerCreating"}}, "FailedMount: /dev/x is no directory"),
        ({"phase": "Failed", "reason": "Evicted", "message": "disk pressure"}, "Evicted: disk pressure"),
        ({"scheduled": False}, "it has no node: too few CPUs"),
    ],
)
def test_pods_that_are_not_ready(parts: Json, message: str) -> None:
    events = {("Pod", "p-1"): "FailedMount: /dev/x is no directory"}
    problem = check(plugin_pod(ready=False, **parts), events=events).problem
    assert problem == f"the pod x/p-1 is not ready: {message}"


def test_our_plugin_reports_why_it_is_not_registered() -> None:
    reports = {"p-1": {D: {"not_ready": "the kubelet refused the connection", "shortage": "0 healthy devices"}}}
    problem = check(plugin_pod(ready=False), plugin_reports=reports).problem
    assert problem.endswith(f"not registered, it says: {D}: the kubelet refused the connection")


def test_our_plugin_reports_that_it_has_too_few_devices() -> None:
    reports = {"p-1": {D: {"not_ready": "", "shortage": "0 healthy devices, and minHealthy is 1"}}}
    problem = check(plugin_pod(ready=False), plugin_reports=reports).problem
    assert problem.endswith(f"the pod x/p-1 is not ready: it says: {D}: 0 healthy devices, and minHealthy is 1")
    assert "it says" not in check(plugin_pod(), plugin_reports={"p-1": {D: {"not_ready": "", "shortage": ""}}}).problem


def test_a_pod_that_waits_for_its_turn() -> None:
    assert "of an earlier revision" in check(plugin_pod(revision="old")).problem


def test_a_pod_that_is_ready_only_now() -> None:
    # 2027-01-15T08:00:00Z is NOW.
    assert check(plugin_pod(since="2027-01-15T07:59:51Z")).problem == "the pod x/p-1 is ready for less than 10 s"
    assert check(plugin_pod(since="2027-01-15T07:59:50Z")).problem == ""


def test_of_two_pods_the_newer_one_counts() -> None:
    ending = plugin_pod("p-0", revision="old", ending=True)
    assert check(ending, POD).pod == check(POD, ending).pod == "x/p-1"
    assert check(ending).problem == (
        "there is no pod of the DaemonSet x/p: x/p-0 is terminating, and the next one is created when it is gone"
    )


def test_a_pod_without_a_node_belongs_to_the_one_it_is_meant_for() -> None:
    pending = plugin_pod(node="", ready=False, scheduled=False, phase="Pending")
    field = {"key": "metadata.name", "operator": "In", "values": ["w1"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    pending["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    assert "it has no node" in check(pending).problem
