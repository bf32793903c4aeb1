# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies of a kubelet that need a drained node, and the state files that have to match them."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import (
    manager_policies as kubelet_policies,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.manager_policies import (
    UNREADABLE,
    StateFilePolicies,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.plugins.module_utils._plan.kubelet.test_config import settings
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import desired, state

CPU, MEMORY = "cpuManagerPolicy: static", "memoryManagerPolicy: Static"
TOPOLOGY = "topologyManagerPolicy: restricted"
GATE = "PodLevelResourceManagers"


def named(before: str, after: str, state_policies: StateFilePolicies | None = None) -> list[str]:
    """What changes, of all policies, between two configuration files."""
    found = kubelet_policies.policy_changes(
        settings(files=[f"{{{before}}}"]), settings(files=[f"{{{after}}}"]), state_policies or {}
    )
    return [name for change in found for name in change.differences]


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("", "", []),
        ("cpuManagerPolicy: none", "", []),
        ("memoryManagerPolicy: None", "", []),
        ("", CPU, ["cpuManagerPolicy"]),
        (CPU, "", ["cpuManagerPolicy"]),
        ("", f"{MEMORY}, {TOPOLOGY}", ["memoryManagerPolicy", "topologyManagerPolicy"]),
        ("cgroupDriver: systemd", "", ["cgroupDriver"]),
    ],
)
def test_a_changed_policy_is_named(before: str, after: str, names: list[str]) -> None:
    assert named(before, after) == names


@pytest.mark.parametrize(
    ("policy", "before", "after", "names"),
    [
        (CPU, "reservedSystemCPUs: '0'", "reservedSystemCPUs: '0,1'", ["reserved CPUs"]),
        (CPU, "reservedSystemCPUs: '0'", "reservedSystemCPUs: '1'", ["reserved CPUs"]),
        (CPU, "reservedSystemCPUs: '0,1'", "reservedSystemCPUs: '0-1'", []),
        (CPU, "kubeReserved: {cpu: '1'}", "kubeReserved: {cpu: 500m}, systemReserved: {cpu: 600m}", ["reserved CPUs"]),
        (CPU, "kubeReserved: {cpu: 500m}", "kubeReserved: {cpu: 1}", []),
        (CPU, "kubeReserved: {cpu: 1}", "kubeReserved: {cpu: 1, memory: 1Gi}", []),
        (CPU, "", "cpuManagerPolicyOptions: {strict-cpu-reservation: 'true'}", ["cpuManagerPolicyOptions"]),
        (CPU, "", "cpuManagerPolicyOptions: {strict-cpu-reservation: 'false'}", []),
        (CPU, "", "maxPods: 50, cpuManagerReconcilePeriod: 5s", []),
        (
            MEMORY,
            "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]",
            "reservedMemory: [{numaNode: 0, limits: {memory: 2Gi}}]",
            ["reservedMemory"],
        ),
        (MEMORY, "reservedMemory: []", "", []),
        (TOPOLOGY, "topologyManagerScope: container", "", []),
        (TOPOLOGY, "", "topologyManagerScope: pod", ["topologyManagerScope"]),
        (
            TOPOLOGY,
            "",
            "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}",
            ["topologyManagerPolicyOptions"],
        ),
    ],
)
def test_what_a_policy_in_force_stands_on_is_named(policy: str, before: str, after: str, names: list[str]) -> None:
    assert named(f"{policy}, {before}", f"{policy}, {after}") == names
    assert named(before, after) == [], "nothing of it counts without the policy"


def test_flags_and_fields_that_mean_the_same_are_the_same() -> None:
    text = f"{{{CPU}, reservedSystemCPUs: '0', cpuManagerPolicyOptions: {{full-pcpus-only: 'true'}}}}"
    flags = ("--cpu-manager-policy=static", "--reserved-cpus=0", "--cpu-manager-policy-options=full-pcpus-only=1")
    assert kubelet_policies.policy_changes(settings(files=[text]), settings(*flags), {}) == []


def test_reserved_memory_may_be_given_twice_as_a_flag() -> None:
    one, other = (
        settings(
            "--memory-manager-policy=Static", "--reserved-memory=0:memory=1Gi", f"--reserved-memory=1:memory={size}"
        )
        for size in ("1Gi", "2Gi")
    )
    assert [change.differences for change in kubelet_policies.policy_changes(one, other, {})] == [("reservedMemory",)]
    assert kubelet_policies.policy_changes(one, one, {}) == []


@pytest.mark.parametrize("nonsense", ["reservedSystemCPUs: a-b", "kubeReserved: [1]", "cpuManagerPolicyOptions: 'x'"])
def test_what_makes_no_sense_is_left_to_the_kubelet(nonsense: str) -> None:
    assert len(named(CPU, f"{CPU}, {nonsense}")) == 1


def test_unreadable_reservations_that_differ_are_a_difference() -> None:
    before, after = (f"{CPU}, systemReserved: {{cpu: {amount}}}" for amount in ("many", "most"))
    assert named(before, after) == ["reserved CPUs"]
    assert named(before, before) == []


def test_a_gate_that_goes_takes_the_state_files_along() -> None:
    on, off = f"featureGates: {{{GATE}: true}}", f"featureGates: {{{GATE}: false}}"
    assert named(on, off) == [GATE, GATE]
    assert named(on, "") == [GATE, GATE]
    assert named(off, on) == []


# ---- state files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state_policies", "text", "words"),
    [
        (
            {"cpu_manager_state": "none"},
            CPU,
            ["cpu_manager_state names the policy none, but cpuManagerPolicy is static"],
        ),
        ({"memory_manager_state": "static"}, "", ["memory_manager_state names the policy static, but"]),
        ({"cpu_manager_state": UNREADABLE}, "", ["cpu_manager_state names no policy, but cpuManagerPolicy is none"]),
        ({"cpu_manager_state": "static", "memory_manager_state": "none"}, CPU, []),
        ({"cpu_manager_state": None, "memory_manager_state": None}, f"{CPU}, {MEMORY}", []),
    ],
)
def test_a_state_file_that_does_not_match_is_reported(
    state_policies: StateFilePolicies, text: str, words: list[str]
) -> None:
    found = kubelet_policies.find_mismatches(settings(files=[f"{{{text}}}"]), state_policies)
    assert [mismatch.startswith(beginning) for mismatch, beginning in zip(found, words)] == [True] * len(words)
    assert len(found) == len(words)


def plan(state_policies: StateFilePolicies, **config: t.Any) -> kubelet.KubeletPlan:
    return kubelet.plan(desired(config=config), state(state_policies=state_policies))


def test_a_file_that_does_not_match_makes_way_with_any_change() -> None:
    (change,) = plan({"cpu_manager_state": "static"}, maxPods=50).policies
    assert (change.policy.state_file, change.value) == ("cpu_manager_state", "none")
    assert plan({"cpu_manager_state": "none"}, maxPods=50).policies == ()


def test_without_a_change_it_is_only_reported() -> None:
    idle = plan({"cpu_manager_state": "static"}, maxPods=110)
    assert (idle.operations, idle.policies) == ((), ())
    assert (
        "cpu_manager_state names the policy static, but cpuManagerPolicy is none: a kubelet does not"
        in idle.warnings[0]
    )
