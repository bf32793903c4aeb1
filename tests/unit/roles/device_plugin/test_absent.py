# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes with the plugin, and what is reported of what stays."""

from __future__ import annotations

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


def test_absent_removes_what_the_role_made(play: Play) -> None:
    own = named("nodecraft-device-plugin", **{"app.kubernetes.io__managed-by": "nodecraft.kubeadm"})
    offered = {
        "node-w1": {D: {"capacity": "4", "allocatable": "0", "device_plugin": True}},
        "node-w2": {D: {"capacity": "4", "allocatable": "4", "device_plugin": False}},
        "node-w3": {"example.com/other": {"capacity": "1", "allocatable": "1", "device_plugin": True}},
    }
    pods = {"Pod": [named("plugin", **OWN_KEYWORD)]}
    objects = {"Namespace": [named("x", **OWN_KEYWORD)], "DaemonSet": [own], **FILES, **pods}
    stub = {"stub_objects": objects, "stub_api": {"offered": offered}}
    outcome = play({**OURS, "device_plugin_state": "absent"}, stub=stub)
    assert outcome.status == 0, outcome.output
    # A client that may not list the pods of all namespaces may remove it.
    assert [call["arguments"] for call in outcome.calls if call["component"] == "api"] == [{"requested": False}]
    assert removed(outcome) == [
        "DaemonSet nodecraft-device-plugin",
        f"ConfigMap {OWN}-config-0123456789",
        "Secret nodecraft-device-plugin-token",
        "Namespace nodecraft-device-plugin",
    ]
    (report,) = outcome.reports
    assert f"node-w1: still shows {D} 4 (0 for pods)" in report
    assert "node-w2" not in report
    assert "example.com/other" not in report
    assert max(outcome.tasks.values()) <= 20
