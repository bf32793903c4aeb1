# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resizes of many running pods in one task, beside a loop of kubectl."""

from __future__ import annotations

import json
import os
import statistics
import typing as t

from ansible_collections.nodecraft.kubeadm.bench.figures import ROUNDS, Part, module, spread, timed
from ansible_collections.nodecraft.kubeadm.lab.runs import Json, Lab
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo

NUMBER = int(os.environ.get("BENCH_PODS", "200"))
NAME = "bench-pods"
SMALL, BIG = "5m", "8m"
# Each pod is patched, and then each one is read until its status has the amount.
LOOP = """
set -eu
for pod in $PODS; do "$KUBECTL" patch pod "$pod" --subresource=resize --patch="$PATCH" >/dev/null; done
for pod in $PODS; do
  until [ "$("$KUBECTL" get pod "$pod" --output="jsonpath={.status.containerStatuses[0].resources.requests.cpu}")" = "$CPU" ]; do sleep 0.2; done
done
"""


def deployment() -> Json:
    """Pods that do nothing, as many as two nodes take."""
    container = {"name": "pause", "image": "lab.local/pause:1", "imagePullPolicy": "IfNotPresent"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": {
            "replicas": NUMBER,
            "selector": {"matchLabels": {"app": NAME}},
            "template": {
                "metadata": {"labels": {"app": NAME}},
                "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{**container, "resources": amounts(SMALL)}],
                },
            },
        },
    }


def amounts(cpu: str) -> Json:
    """What a container requests."""
    return {"requests": {"cpu": cpu}}


def loop(lab: Lab, pods: t.Sequence[str], cpu: str) -> float:
    """By a shell."""
    patch = json.dumps({"spec": {"containers": [{"name": "pause", "resources": amounts(cpu)}]}})
    variables = {"PODS": " ".join(pods), "CPU": cpu, "PATCH": patch, "KUBECTL": str(lab.directory / "kubectl")}
    return timed(lab, "env", *(f"{name}={value}" for name, value in variables.items()), "sh", "-c", LOOP)


def task(lab: Lab, cpu: str) -> float:
    """By the module, until each pod has it."""
    options = {
        "namespace": "default",
        "owner": {"kind": "Deployment", "name": NAME},
        "containers": [{"name": "pause", "resources": amounts(cpu)}],
        "template": "keep",
        "wait": True,
        "wait_timeout": 600,
    }
    return module(lab, "localhost", "nodecraft.kubeadm.pod_resize", options)


def measure(lab: Lab) -> Part:
    """Both ways in turn, there and back."""
    echo(f"pods: making {NUMBER}")
    lab.kubectl("apply", "--filename=-", stdin=json.dumps(deployment()))
    seconds: dict[str, list[float]] = {"loop": [], "module": []}
    try:
        lab.kubectl("rollout", "status", f"deployment/{NAME}", "--timeout=20m")
        found = lab.get("pods", f"--selector=app={NAME}")["items"]
        pods = [pod["metadata"]["name"] for pod in found]
        for number in range(1, ROUNDS + 1):
            seconds["loop"] += [loop(lab, pods, BIG), loop(lab, pods, SMALL)]
            seconds["module"] += [task(lab, BIG), task(lab, SMALL)]
            echo(f"pods, round {number}: " + ", ".join(f"{way} {spread(took[-2:])}" for way, took in seconds.items()))
        restarts = sum(
            pod["status"]["containerStatuses"][0]["restartCount"]
            for pod in lab.get("pods", f"--selector=app={NAME}")["items"]
        )
    finally:
        lab.kubectl("delete", "deployment", NAME, "--wait=false", check=False)
    times = statistics.median(seconds["loop"]) / statistics.median(seconds["module"])
    table = [
        f"| {NUMBER} running pods get another amount of CPU, until each of them has it | all |",
        "| --- | --- |",
        f"| a loop of `kubectl patch --subresource=resize`, and of `kubectl get` | {spread(seconds['loop'])} |",
        f"| pod_resize | {spread(seconds['module'])}, {times:.1f} times as fast |",
    ]
    figures = {"pods": NUMBER, "seconds": seconds, "times_as_fast": times, "restarts": restarts}
    return Part("Running pods", table, figures)
