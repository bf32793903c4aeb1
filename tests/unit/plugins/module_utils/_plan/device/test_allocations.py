# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who holds which device, what is free, and why a node cannot be queried."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device import allocations as pod_resources
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device.allocations import PodResourcesError, View
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node, pod

D, GPU = "example.com/dongle", "example.org/gpu"
NOT_OFFERED = (
    "the kubelet does not advertise the device now: it is unhealthy or gone, or its device plugin is not registered"
)


def holding(device: str, name: str = "p", *, resource: str = D, health: str = "Healthy") -> Json:
    return {
        "namespace": "default",
        "pod": name,
        "container": "c",
        "resource": resource,
        "device_id": device,
        "physical": device.partition("::")[0],
        "numa": [0],
        "health": health,
    }


def view(*holdings: Json, **allocatable: list[str]) -> View:
    named = {{"dongle": D, "gpu": GPU}[name]: ids for name, ids in allocatable.items()}
    return pod_resources.parse_view("s/plugin", {"node": "w1", "holdings": list(holdings), "allocatable": named})


def test_who_holds_what_since_when() -> None:
    found = view(holding("a::1"), dongle=["a::0", "a::1"])
    (allocation,) = pod_resources.list_allocations("w1", found, [pod(started="2026-02-03T04:05:06Z"), pod("other")])
    assert allocation.to_result() == {
        "node": "w1",
        "namespace": "default",
        "pod": "p",
        "container": "c",
        "resource": D,
        "device_id": "a::1",
        "physical": "a",
        "numa": [0],
        "health": "Healthy",
        "phase": "Running",
        "since": "2026-02-03T04:05:06Z",
        "problems": [],
    }


@pytest.mark.parametrize(
    ("reported", "offered", "health", "problems"),
    [
        ("Healthy", True, "Healthy", []),
        ("Healthy", False, "Healthy", [NOT_OFFERED]),
        ("Unhealthy", False, "Unhealthy", ["the device is unhealthy; the page /devices of its plugin says why"]),
        # The plugin sees it before the kubelet does.
        ("Unhealthy", True, "Unhealthy", ["the device is unhealthy; the page /devices of its plugin says why"]),
        ("Vanished", False, "Vanished", ["the device is not there any more"]),
        ("", True, "Healthy", []),
        ("", False, "Unknown", [NOT_OFFERED]),
    ],
)
def test_unhealthy_devices_have_problems(reported: str, offered: bool, health: str, problems: list[str]) -> None:
    found = view(holding("a", health=reported), dongle=["a"] if offered else ["b"])
    (allocation,) = pod_resources.list_allocations("w1", found, [pod()])
    assert (allocation.health, list(allocation.problems)) == (health, problems)


def test_a_pod_that_is_gone_still_holds_its_device() -> None:
    found = view(holding("a"), dongle=["a", "b"])
    (allocation,) = pod_resources.list_allocations("w1", found, [pod("other")])
    assert (allocation.phase, allocation.since) == (None, None)
    assert allocation.problems == ("the API has no such pod on this node; the kubelet has not released the device",)
    assert pod_resources.summarize_resources(node(), found, [allocation], [])[D]["free"] == ["b"]


def test_a_pod_that_has_ended_leaves_its_device() -> None:
    found = view(holding("a"), holding("b", "q"), dongle=["a", "b"])
    there = [pod(phase="Failed", requests={D: "1"}), pod("q", requests={D: "1"})]
    entries = pod_resources.list_allocations("w1", found, there)
    assert [entry.problems for entry in entries] == [
        ("the pod has ended (Failed); its device goes to the next pod that requests it",),
        (),
    ]
    offers = pod_resources.summarize_resources(node(capacity={D: "2"}, kubelet_managed=[D]), found, entries, there)
    offer = {"capacity": "2", "allocatable": "2", "requested": "1", "devices": ["a", "b"], "free": ["a"]}
    assert offers == {D: offer}


def test_resources_by_what_the_kubelet_has_from_plugins() -> None:
    advertised = node(capacity={D: "2", "example.com/patched": "5"}, allocatable={D: "0"}, kubelet_managed=[D])
    # The plugin has stopped, and with it goes what the kubelet can hand out.
    found = view(holding("g", resource=GPU, health=""), gpu=["g", "h"])
    entries = pod_resources.list_allocations("w1", found, [pod()])
    assert pod_resources.summarize_resources(advertised, found, entries, []) == {
        D: {"capacity": "2", "allocatable": "0", "requested": "0", "devices": [], "free": []},
        GPU: {"capacity": None, "allocatable": None, "requested": None, "devices": ["g", "h"], "free": ["h"]},
    }
    assert pod_resources.summarize_resources(advertised, None, [], []) == {
        D: {"capacity": "2", "allocatable": "0", "requested": "0", "devices": None, "free": None},
    }


@pytest.mark.parametrize("turned", [False, True])
def test_several_plugins_on_a_node_each_know_their_own(turned: bool) -> None:
    first = view(holding("a", health="Unhealthy"), holding("g", resource=GPU, health=""), gpu=["g"])
    second = view(holding("a", health=""), holding("g", resource=GPU), gpu=["g"])
    merged = pod_resources.merge_views([second, first] if turned else [first, second])
    assert [(entry.device_id, entry.health) for entry in merged.holdings] == [("a", "Unhealthy"), ("g", "Healthy")]


@pytest.mark.parametrize(
    "response",
    [
        None,
        {},
        {"holdings": [], "allocatable": []},
        {"holdings": [{}], "allocatable": {}},
        {"holdings": [{**holding("a"), "numa": None}], "allocatable": {}},
        {"holdings": [], "allocatable": {D: 3}},
    ],
)
def test_response_that_is_no_view_is_refused(response: t.Any) -> None:
    with pytest.raises(
        PodResourcesError,
        match=r"s/plugin answered with something other than a view of pod resources\. Check that path",
    ):
        pod_resources.parse_view("s/plugin", response)


def plugin(**parts: t.Any) -> Json:
    return {**pod("plugin", namespace="s"), **parts}


WAITING = {"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([plugin()], None),
        ([plugin(status={"phase": "Pending"}), plugin()], None),
        ([], "no pod with labels is on w1. Let the DaemonSet"),
        ([plugin(status={"phase": "Pending"})], "s/plugin is Pending. See kubectl describe pod --namespace s plugin"),
        ([plugin(status={})], "s/plugin is not taken on yet. See"),
        ([plugin(status=WAITING)], "s/plugin waits: CrashLoopBackOff. See"),
        ([plugin(metadata={"name": "p", "namespace": "s", "deletionTimestamp": "x"})], "s/p is about to end. See"),
    ],
)
def test_why_a_node_cannot_be_queried(found: list[Json], reason: str | None) -> None:
    why = pod_resources.node_blocker(node(), found, "labels")
    assert why == reason if reason is None else str(why).startswith(reason)


def test_a_kubelet_that_does_not_report_is_not_queried() -> None:
    silent = node()
    silent["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    assert "kubelet of w1 does not report any more" in str(pod_resources.node_blocker(silent, [plugin()], "labels"))
    # Its kubelet runs, and may be queried.
    silent["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    assert pod_resources.node_blocker(silent, [plugin()], "labels") is None


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "Set plugin_token or plugin_token_secret"),
        (403, "Set plugin_token or plugin_token_secret"),
        (404, "Set podResources.access"),
        (503, "Check that the directory of the kubelet's pod resources is mounted"),
        (500, "See the log of the pod"),
    ],
)
def test_a_refusal_reports_what_to_do(status: int, advice: str) -> None:
    assert pod_resources.response_error("s/p", status, "words.").startswith(f"s/p answered {status}, words. {advice}")
    assert len(pod_resources.response_error("s/p", status, "w" * 1000)) < 500
