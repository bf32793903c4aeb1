# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Not in the usual demo: one run adds and removes, in two passes."""

from __future__ import annotations

import json

from ansible_collections.nodecraft.kubeadm.demo.part_change import API_SERVER, LABEL, PLUGIN, desired
from ansible_collections.nodecraft.kubeadm.demo.story import Story, nodes_and_objects
from ansible_collections.nodecraft.kubeadm.lab.console import show
from ansible_collections.nodecraft.kubeadm.lab.runs import Observer

OTHER_PLUGIN = "PodNodeSelector"  # off by default in all versions, and harmless without annotations of namespaces
OTHER_LABEL = "example.com/row"


def replace(story: Story) -> None:
    """Another plugin, another label, and no gate any more."""
    lab, first = story.lab, story.lab.worker_names[0]
    show(f"Besides: {OTHER_PLUGIN} instead of {PLUGIN}, another label, no gate any more")
    story.write_desired(desired(story, gates={}, plugin=OTHER_PLUGIN, labels={OTHER_LABEL: "2"}))
    before = nodes_and_objects(lab)
    planned = story.run("replace-check.json", "--check", observer=Observer("both passes are planned and rehearsed", 60))
    story.claim_same(
        "replace-check",
        before,
        nodes_and_objects(lab),
        f"check mode rehearses both passes, says that there are two, and changes nothing ({planned.seconds:.0f} s)",
        holds=planned.rc == 0 and "This run makes two passes" in json.dumps(planned.report),
    )
    run = story.run("replace.json", observer=Observer("what is new is added, then the rest is removed", 120))
    story.facts["replace"] = {"seconds": run.seconds}
    servers = [(node, API_SERVER) for node in lab.control_plane_names]
    restarted = [(result["node"], result.get("name", "kubelet")) for result in run.changes("static_pod", "kubelet")]
    story.claim(
        run.rc == 0 and restarted == [*servers, *((node, "kubelet") for node in lab.names), *servers],
        f"the API server got the new plugin first, the kubelets lost the gate, each with one restart, then the API server the rest ({run.seconds:.0f} s)",
    )
    labels = lab.node_objects()[first]["labels"]
    story.claim(OTHER_LABEL in labels and LABEL not in labels, f"{first} has the other label instead")
    again = story.run(
        "replace-again.json", observer=Observer("site.yml checks all nodes, and finds nothing to change", 22)
    )
    story.claim(again.rc == 0 and again.changed == 0, f"and once more: changed={again.changed}")
