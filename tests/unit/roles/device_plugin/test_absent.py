# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes with the plugin, and what is told of what stays."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_role import (
    FILES,
    OURS,
    OWN,
    OWN_KEYWORD,
    D,
    Play,
    named,
    removed,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json


@pytest.mark.parametrize(
    ("namespace", "others", "goes"),
    [
        (named("x", **OWN_KEYWORD), {"Pod": [named("plugin", **OWN_KEYWORD)]}, True),
        (named("x", **OWN_KEYWORD), {"Deployment": [named("theirs")]}, False),
        (named("x"), {}, False),
    ],
)
def test_absent_removes_what_the_role_made(
    play: Play, namespace: Json, others: dict[str, list[Json]], goes: bool
) -> None:
    own = named("nodecraft-device-plugin", **{"app.kubernetes.io__managed-by": "nodecraft.kubeadm"})
    offered = {
        "node-w1": {D: {"capacity": "4", "allocatable": "0", "device_plugin": True}},
        "node-w2": {D: {"capacity": "4", "allocatable": "4", "device_plugin": False}},
        "node-w3": {"example.com/other": {"capacity": "1", "allocatable": "1", "device_plugin": True}},
    }
    objects = {"Namespace": [namespace], "DaemonSet": [own], **FILES, **others}
    stub = {"stub_objects": objects, "stub_api": {"offered": offered}}
    outcome = play({**OURS, "device_plugin_state": "absent"}, stub=stub)
    assert outcome.status == 0, outcome.output
    # Whoever may not list the pods of all namespaces may take it away.
    assert [call["arguments"] for call in outcome.calls if call["component"] == "api"] == [{"requested": False}]
    assert removed(outcome) == [
        "DaemonSet nodecraft-device-plugin",
        f"ConfigMap {OWN}-config",
        f"ConfigMap {OWN}-config-0123456789",
        "Secret nodecraft-device-plugin-token",
        *(["Namespace nodecraft-device-plugin"] if goes else []),
    ]
    (report,) = outcome.reports
    assert f"node-w1: still shows {D} 4 (0 for pods)" in report
    assert ("stays, because it has also: Deployment theirs" in report) is bool(others.get("Deployment"))
    assert "node-w2" not in report
    assert "example.com/other" not in report


def test_absent_without_names_tells_of_what_nobody_serves(play: Play) -> None:
    offered = {
        "node-w1": {D: {"capacity": "4", "allocatable": "0", "device_plugin": True}},
        "node-w2": {D: {"capacity": "4", "allocatable": "4", "device_plugin": True}},
    }
    outcome = play({"device_plugin_state": "absent"}, stub={"stub_api": {"offered": offered}})
    assert outcome.status == 0, outcome.output
    assert removed(outcome) == []
    (report,) = outcome.reports
    assert "node-w1" in report
    assert "node-w2" not in report
