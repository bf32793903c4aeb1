# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Part 8: an empty desired state reverts everything."""

from __future__ import annotations

import time

from ansible_collections.nodecraft.kubeadm.demo.part_change import API_SERVER
from ansible_collections.nodecraft.kubeadm.demo.story import Snapshot, Story, commands, kubelets, snapshot_part
from ansible_collections.nodecraft.kubeadm.lab.console import show
from ansible_collections.nodecraft.kubeadm.lab.runs import PLUGIN_RESOURCES, Observer
from ansible_collections.nodecraft.kubeadm.lab.waiting import Waiting

API_TIMEOUT = 60  # seconds until what was changed has to show in the API


def revert(story: Story) -> None:
    """What is named and empty is reverted."""
    show("8. An empty desired state")
    nothing = {
        "control_plane_static_pods": [API_SERVER],
        "control_plane_feature_gates": {},
        "control_plane_admission_plugins": {},
        "node_kubelet_feature_gates": {},
        "node_resources_extended_resources": {},
        "node_resources_taints": [],
        "node_resources_labels": {},
        "placement_guard_state": "absent",
    }
    story.write_desired({"all": {"vars": {**story.settings, **nothing}}})
    run = story.run(
        "8-revert.json",
        observer=Observer("everything is reverted, with a restart of the API server and of each kubelet", 75),
    )
    story.facts["revert"] = {"seconds": run.seconds}
    (before, nodes), after = story.start, story.lab.take_snapshot()
    story.claim_same(
        "8-control-plane",
        {"manifests": snapshot_part(before, "manifests"), "commands": commands(before)},
        {"manifests": snapshot_part(after, "manifests"), "commands": commands(after)},
        f"manifests and command lines of the control plane are as kubeadm made them ({run.seconds:.0f} s)",
        holds=run.rc == 0,
    )
    story.claim_same("8-kubelets", kubelets(before), kubelets(after), "so are files and command lines of the kubelets")
    deadline, nodes = time.monotonic() + API_TIMEOUT, _without_plugins(nodes)
    with Waiting("the kubelets report the capacity of their nodes", 10):
        while (found := _without_plugins(story.lab.node_objects())) != nodes and time.monotonic() < deadline:
            time.sleep(1)
    story.claim_same(
        "8-nodes", nodes, found, "labels, taints, annotations and capacity of all nodes are the first ones"
    )
    if story.second_runs:
        second = story.run(
            "8-again.json", observer=Observer("site.yml checks all nodes, and finds nothing to change", 22)
        )
        story.claim(second.rc == 0 and second.changed == 0, f"and once more: changed={second.changed}")


def _without_plugins(nodes: Snapshot) -> Snapshot:
    """Without the capacity of part 7, which a kubelet shows for some time."""
    return {
        name: {
            **node,
            "capacity": {key: amount for key, amount in node["capacity"].items() if key not in PLUGIN_RESOURCES},
        }
        for name, node in nodes.items()
    }
