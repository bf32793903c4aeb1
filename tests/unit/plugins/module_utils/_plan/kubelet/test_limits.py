# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet's settings leave to pods."""

from __future__ import annotations

import typing as t
from fractions import Fraction

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import limits
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import limits as kubelet_limits
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.desired import parse_desired
from ansible_collections.nodecraft.kubeadm.tests.unit.plugins.module_utils._plan.kubelet.test_config import settings
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets

CAPACITY = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110"}
GI = 1024**3


def left(*arguments: str, text: str = "{}") -> dict[str, Fraction]:
    amounts = limits.limits_of(settings(*arguments, files=[text]))
    assert amounts is not None
    return kubelet_limits.allocatable({**amounts, "withdrawn_sysctls": []}, CAPACITY)


def test_defaults() -> None:
    assert left() == {"cpu": 4, "memory": 8 * GI - 100 * 1024**2, "ephemeral-storage": 90 * GI, "pods": 110}


@pytest.mark.parametrize(
    ("text", "name", "amount"),
    [
        ("maxPods: 5", "pods", 5),
        ("maxPods: 0", "pods", 110),
        ("evictionHard: {memory.available: 100%}", "memory", 8 * GI),
        ("podsPerCore: 2", "pods", 8),
        ("{podsPerCore: 2, maxPods: 5}", "pods", 5),
        ("{kubeReserved: {cpu: 500m}, systemReserved: {cpu: 1}}", "cpu", Fraction(5, 2)),
        ("{kubeReserved: {cpu: 500m}, reservedSystemCPUs: '0-1,3'}", "cpu", 1),
        ("{kubeReserved: {memory: 1Gi}, evictionHard: {memory.available: 25%}}", "memory", 5 * GI),
        ("evictionHard: {memory.available: 25%}", "ephemeral-storage", 100 * GI),
        ("{evictionHard: {memory.available: 25%}, mergeDefaultEvictionSettings: true}", "ephemeral-storage", 90 * GI),
        ("evictionHard: {nodefs.available: 1Gi}", "ephemeral-storage", 99 * GI),
    ],
)
def test_fields(text: str, name: str, amount: t.Any) -> None:
    assert left(text=text)[name] == amount


@pytest.mark.parametrize(
    ("argument", "name", "amount"),
    [
        ("--max-pods=7", "pods", 7),
        ("--reserved-cpus=0", "cpu", 3),
        ("--kube-reserved=cpu=1,memory=1Gi", "cpu", 3),
        ("--eviction-hard=memory.available<1Gi,nodefs.available<10%", "memory", 7 * GI),
    ],
)
def test_flags_win(argument: str, name: str, amount: t.Any) -> None:
    assert left(argument, text="{maxPods: 50, kubeReserved: {cpu: 2}, evictionHard: {}}")[name] == amount


@pytest.mark.parametrize(
    "text", ["maxPods: many", "kubeReserved: [1]", "reservedSystemCPUs: first", "evictionHard: {memory.available: abc}"]
)
def test_what_makes_no_sense_is_the_kubelets_to_refuse(text: str) -> None:
    assert limits.limits_of(settings(files=[text])) is None


@pytest.mark.parametrize(
    "limits", [{}, {"max_pods": 3}, {"max_pods": 3, "pods_per_core": 0, "reserved": {"cpu": ["x"]}}]
)
def test_what_are_no_limits(limits: t.Any) -> None:
    with pytest.raises(Refusal, match="is not what the module kubelet returns as limits"):
        kubelet_limits.allocatable(limits, CAPACITY)


def test_a_plan_reports_them_when_they_change() -> None:
    def planned(**desired: t.Any) -> t.Any:
        return kubelet.plan(parse_desired(kubelets.parameters(**desired)), kubelets.state()).limits

    assert planned(config={"maxPods": 3})["max_pods"] == 3
    assert planned(config={"registryPullQPS": 3}) is None


def test_limits_that_make_no_sense_are_not_verified() -> None:
    def unverified(**desired: t.Any) -> list[str]:
        return kubelet.unverified(kubelet.plan(parse_desired(kubelets.parameters(**desired)), kubelets.state()))

    limit = "whether running pods still fit: what the kubelet leaves to them cannot be worked out from its settings"
    assert unverified(config={"evictionHard": {"memory.available": "abc"}}) == [limit]
    assert unverified(config={"maxPods": 3}) == []


def test_huge_pages_are_taken_off_the_memory() -> None:
    amounts = limits.limits_of(settings(files=["evictionHard: {}"]))
    assert amounts is not None
    found = kubelet_limits.allocatable({**amounts, "withdrawn_sysctls": []}, {**CAPACITY, "hugepages-2Mi": "1Gi"})
    assert found["memory"] == 7 * GI


@pytest.mark.parametrize(
    ("text", "are_on"),
    [
        ("{featureGates: {PodLevelResourceManagers: true}, cpuManagerPolicy: static}", True),
        ("{featureGates: {PodLevelResourceManagers: true}, memoryManagerPolicy: Static}", True),
        ("{featureGates: {PodLevelResourceManagers: true}}", False),
        ("{featureGates: {PodLevelResourceManagers: false}, cpuManagerPolicy: static}", False),
        ("cpuManagerPolicy: static", False),
    ],
)
def test_managers_of_pods_as_a_whole_count_in_each_restart(text: str, *, are_on: bool) -> None:
    same = settings(files=[text])
    assert (limits.limits_change(same, same) is not None) is are_on


def test_sysctls_that_are_withdrawn() -> None:
    before, after = (settings(files=[f"allowedUnsafeSysctls: {names}"]) for names in (["a.*", "b"], ["a.b", "b"]))
    found = limits.limits_change(before, after)
    assert found is not None
    assert (found["unsafe_sysctls"], found["withdrawn_sysctls"]) == (["a.b", "b"], ["a.*"])
    assert [kubelet_limits.is_withdrawn(name, found) for name in ("a.b", "a.c", "b", "c")] == [
        False,
        True,
        False,
        False,
    ]
    assert limits.limits_change(after, after) is None
    safe = {"unsafe_sysctls": [], "withdrawn_sysctls": ["net.*"]}
    assert not kubelet_limits.is_withdrawn("net.ipv4.tcp_syncookies", safe)
    assert kubelet_limits.is_withdrawn("net/core/somaxconn", safe)


@pytest.mark.parametrize("after", [(["podPidsLimit: 2"], ()), (["{}"], ("--pod-max-pids=15",))])
def test_limit_of_processes_with_which_no_pod_starts_is_refused(after: tuple[list[str], tuple[str, ...]]) -> None:
    files, arguments = after
    with pytest.raises(Refusal, match=r"invalid podPidsLimit \d+: must be at least 16, or -1 for no limit"):
        limits.refuse_few_pids(settings(files=["{}"]), settings(*arguments, files=files))


@pytest.mark.parametrize("text", ["podPidsLimit: 16", "podPidsLimit: -1", "podPidsLimit: 0", "{}", "podPidsLimit: x"])
def test_other_limits_of_processes_are_not_refused(text: str) -> None:
    limits.refuse_few_pids(settings(files=["{}"]), settings(files=[text]))
    limits.refuse_few_pids(settings(files=["podPidsLimit: 2"]), settings(files=["podPidsLimit: 2"]))
