# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run of site.yml that has nothing to do, without and with its settings kept in kubeadm-config, beside one ping of the same hosts."""

from __future__ import annotations

import statistics
import typing as t

from ansible_collections.nodecraft.kubeadm.bench.figures import OUTPUT, REPEATS, Part, module, spread
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab, Run, run_playbook
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo

HOSTS = "kube_control_plane:kube_node"
# The empty ones are named, so that no playbook takes it for a run whose variables were forgotten.
EMPTY: dict[str, t.Any] = {
    "control_plane_components": {},
    "node_kubelet_feature_gates": {},
    "node_resources_labels": {},
}
# One argument each of the components that kubeadm-config has a place for.
SETTINGS: dict[str, t.Any] = {
    **EMPTY,
    "control_plane_components": {
        name: {"args": {"v": "1"}} for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    },
}
PLAYBOOKS = {"`site.yml`": False, "`site.yml` with `control_plane_persist`": True}


def site(lab: Lab, settings: dict[str, t.Any], *, persist: bool, log: str) -> Run:
    """Run the playbook, and see it end well."""
    run = run_playbook(lab, {**settings, "control_plane_persist": persist}, OUTPUT / f"{log}.json")
    if run.rc != 0:
        raise SystemExit(f"site.yml failed: see build/bench/{log}.json")
    return run


def measure(lab: Lab) -> Part:
    """All in turn, on a cluster that has settings; they are taken back afterwards."""
    seconds: dict[str, list[float]] = {"ping": [], **{title: [] for title in PLAYBOOKS}}
    site(lab, SETTINGS, persist=True, log="idle-before")
    for number in range(REPEATS):
        seconds["ping"].append(module(lab, HOSTS, "ansible.builtin.ping"))
        for title, persist in PLAYBOOKS.items():
            log = f"idle-{number}-{'kept' if persist else 'not-kept'}"
            run = site(lab, SETTINGS, persist=persist, log=log)
            if run.changed:
                raise SystemExit(f"site.yml should have had nothing to do: see build/bench/{log}.json")
            seconds[title].append(run.seconds)
        echo(
            f"nothing to do, {number + 1}: " + ", ".join(f"{title} {took[-1]:.1f} s" for title, took in seconds.items())
        )
    site(lab, EMPTY, persist=True, log="idle-after")
    medians = {title: statistics.median(took) for title, took in seconds.items()}
    ratios = {title: medians[title] / medians["ping"] for title in PLAYBOOKS}
    table = [
        f"| {len(lab.names)} hosts, nothing to change | until done |",
        "| --- | --- |",
        f"| `ansible -m ping` | {spread(seconds['ping'])} |",
        *(f"| {title} | {spread(seconds[title], 2)}, {ratio:.1f} x ping |" for title, ratio in ratios.items()),
    ]
    return Part("Nothing to change", table, {"seconds": seconds, "ratios": ratios})
