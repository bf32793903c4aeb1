# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which setting a component's words are about."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import refusals

VALUES: dict[str, dict[str, t.Any]] = {
    "feature_gates": {"SidecarContainers": True, "B": False},
    "admission_plugins": {"Foo": "enabled", "Bar": "disabled"},
    "args": {
        "concurrent-service-syncs": ["2"],
        "v": ["x"],
        "audit-policy-file": ["/etc/audit/policy.yaml"],
        "encryption-provider-config": ["/etc/audit/policy"],
        "name": ["x"],
        "runtime-config": ["foo.io/v1=true"],
    },
    "config": {
        "evictionHard/memory": "1",
        "memoryThrottlingFactor": 0.8,
        "memorySwap/swapBehavior": "x",
        "hairpinMode": "x",
    },
}


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("unrecognized feature gate: SidecarContainers", [("feature_gates", "SidecarContainers")]),
        ("unrecognized feature gate: NoSuch", []),
        ("cannot set feature gate B to false, feature is locked to true", [("feature_gates", "B")]),
        ("[B is enabled, but depends on features that are disabled: [Other]]", [("feature_gates", "B")]),
        ('invalid value of B=maybe, err: strconv.ParseBool: parsing "maybe"', [("feature_gates", "B")]),
        (
            'enable-admission-plugins plugin "Foo" is unknown, disable-admission-plugins plugin "Bar" is unknown',
            [("admission_plugins", "Foo"), ("admission_plugins", "Bar")],
        ),
        ("unknown flag: --concurrent-service-syncs", [("args", "concurrent-service-syncs")]),
        ("flag provided but not defined: -name", [("args", "name")]),
        ('invalid argument "x" for "-v, --v" flag: strconv.ParseInt', [("args", "v")]),
        ("loading audit policy file: /etc/audit/policy.yaml: no kind", [("args", "audit-policy-file")]),
        ('strict decoding error: unknown field "evictionHard.memory"', [("config", "evictionHard/memory")]),
        (
            "failed to validate kubelet configuration, error: invalid configuration: memoryThrottlingFactor must not be set when MemoryQoS feature"
            " gate is disabled, path: &TypeMeta{Kind:,APIVersion:,}",
            [("config", "memoryThrottlingFactor")],
        ),
        (
            'error: [invalid configuration: memorySwap.swapBehavior "x" must be one of: "", invalid configuration: option "x" specified for'
            " hairpinMode (--hairpin-mode). Valid options are",
            [("config", "memorySwap/swapBehavior"), ("config", "hairpinMode")],
        ),
        ("invalid configuration: both A and B cannot be specified", []),
        ("unknown api groups foo.io/v1", [("args", "runtime-config")]),
        ("--name can not be specified when --v or --other flags are defined", [("args", "name"), ("args", "v")]),
        ("args: --v=/x on cp1: no volume is mounted over /x", [("args", "v")]),
        ("it crashed", []),
    ],
)
def test_offending_settings(message: str, found: list[refusals.Setting]) -> None:
    assert refusals.offending_settings(message, VALUES) == found


@pytest.mark.parametrize(
    ("target", "removed"), [((1, 37, 2), []), ((1, 38, 0), ["NodeSwap"]), ((1, 39, 0), ["NodeSwap"])]
)
def test_removed_gates_come_from_table(target: tuple[int, ...], removed: list[str]) -> None:
    refused = refusals.removed_gates(["NodeSwap", "CrossNamespaceVolumeDataSource"], target)
    assert refused == [
        (
            ("feature_gates", gate),
            "Kubernetes 1.38 removes this feature gate, and a component that is given it does not start",
        )
        for gate in removed
    ]
