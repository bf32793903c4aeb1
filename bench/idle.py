# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run of site.yml that has nothing to do, beside one ping of the same hosts."""

from __future__ import annotations

import statistics

from ansible_collections.nodecraft.kubeadm.bench.figures import OUTPUT, REPEATS, Part, module, spread
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab, run_playbook
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import say

HOSTS = "kube_control_plane:kube_node"
# Named, so that no playbook takes it for a run whose variables were forgotten.
NOTHING: dict[str, dict[str, bool]] = {
    "control_plane_feature_gates": {},
    "node_kubelet_feature_gates": {},
    "node_resources_labels": {},
}


def measure(lab: Lab) -> Part:
    """The two in turn."""
    seconds: dict[str, list[float]] = {"ping": [], "site.yml": []}
    for number in range(REPEATS):
        seconds["ping"].append(module(lab, HOSTS, "ansible.builtin.ping"))
        run = run_playbook(lab, NOTHING, OUTPUT / f"idle-{number}.json")
        if run.rc != 0 or run.changed:
            raise SystemExit(f"site.yml should have had nothing to do: see build/bench/idle-{number}.json")
        seconds["site.yml"].append(run.seconds)
        say(f"nothing to do, {number + 1}: ping {seconds['ping'][-1]:.1f} s, site.yml {run.seconds:.1f} s")
    ratio = statistics.median(seconds["site.yml"]) / statistics.median(seconds["ping"])
    table = [
        f"| {len(lab.names)} hosts | until done |",
        "| --- | --- |",
        f"| `ansible -m ping` | {spread(seconds['ping'])} |",
        f"| `site.yml`, nothing to change | {spread(seconds['site.yml'])}, {ratio:.1f} x ping |",
    ]
    return Part("Nothing to change", table, {"seconds": seconds, "ratio": ratio})
