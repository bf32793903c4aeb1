# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One setting of the workers' kubelets, beside a bare drop-in and a manual restart."""

from __future__ import annotations

import statistics
import subprocess
import time

from ansible_collections.nodecraft.kubeadm.bench.cluster import Cluster
from ansible_collections.nodecraft.kubeadm.bench.figures import ROUNDS, Part, module, play, spread
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo

MIN_READY = 10
DIRECTORY = "/etc/systemd/system/kubelet.service.d"
RESTART = "systemctl daemon-reload && systemctl restart kubelet"
BARE_ON = (
    f"mkdir -p {DIRECTORY} && printf '[Service]\\nEnvironment=BENCH=1\\n' > {DIRECTORY}/90-bench.conf && {RESTART}"
)
BARE_OFF = f"rm {DIRECTORY}/90-bench.conf && rmdir --ignore-fail-on-non-empty {DIRECTORY} && {RESTART}"


def bare(cluster: Cluster, nodes: list[str], command: str) -> float:
    """Node after node; done when its kubelet was Ready again. Returns seconds per node."""
    began = time.monotonic()
    for node in nodes:
        before = cluster.ready_since(node)
        subprocess.run(["podman", "exec", node, "sh", "-c", command], check=True)
        while cluster.ready_since(node) in (None, before):
            time.sleep(0.1)
    return (time.monotonic() - began) / len(nodes)


def task(lab: Lab, nodes: list[str], config: dict[str, int]) -> float:
    """The module by the ansible command, node after node, rehearsed, verified and watched. Returns seconds per node."""
    options = {"config": config, "purge": True, "min_ready_seconds": MIN_READY}
    return sum(module(lab, node, "nodecraft.kubeadm.kubelet", options) for node in nodes) / len(nodes)


def role(lab: Lab, nodes: list[str], config: dict[str, int]) -> float:
    """The role on the same nodes, which plans all of them first and asks the API too. Returns seconds per node."""
    seconds = play(
        lab,
        {
            "hosts": ",".join(nodes),
            "become": True,
            "any_errors_fatal": True,
            "roles": ["nodecraft.kubeadm.node_kubelet"],
            "vars": {"node_kubelet_config": config, "node_kubelet_min_ready_seconds": MIN_READY},
        },
    )
    return seconds / len(nodes)


def measure(lab: Lab) -> Part:
    """Both ways in turn, on and off."""
    cluster = Cluster(lab)
    nodes = lab.worker_names
    seconds: dict[str, list[float]] = {"bare": [], "module": [], "role": []}
    for number in range(1, ROUNDS + 1):
        seconds["bare"] += [bare(cluster, nodes, BARE_ON), bare(cluster, nodes, BARE_OFF)]
        seconds["module"] += [task(lab, nodes, {"maxPods": 99}), task(lab, nodes, {})]
        seconds["role"] += [role(lab, nodes, {"maxPods": 99}), role(lab, nodes, {})]
        echo(f"kubelet, round {number}: " + ", ".join(f"{way} {spread(found[-2:])}" for way, found in seconds.items()))
    middle = {way: statistics.median(found) for way, found in seconds.items()}
    above = {way: middle[way] - middle["bare"] for way in ("module", "role")}
    table = [
        f"| a setting of the kubelet, {lab.workers} nodes one after the other | per node |",
        "| --- | --- |",
        f"| drop-in and `systemctl restart kubelet`, until its Lease is renewed | {spread(seconds['bare'])} |",
        f"| kubelet (rehearsed, verified, watched for {MIN_READY} s) | {spread(seconds['module'])}, {above['module']:.1f} s above |",
        f"| role node_kubelet (all planned first, the API read) | {spread(seconds['role'])}, {above['role']:.1f} s above |",
    ]
    return Part("Kubelets", table, {"min_ready_seconds": MIN_READY, "seconds_per_node": seconds, "above": above})
