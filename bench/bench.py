# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What changes by the collection cost, each beside other ways to the same end, on the same cluster, or stand-in nodes, in one run."""

from __future__ import annotations

import argparse
import json
import os
import sys
import typing as t

from ansible_collections.nodecraft.kubeadm.bench import (
    api_server,
    device_plugin,
    idle,
    kubelet,
    nodes,
    pods,
    rollout,
)
from ansible_collections.nodecraft.kubeadm.bench.figures import OUTPUT, Part
from ansible_collections.nodecraft.kubeadm.lab.guard import end_with_parent, guarded, only_one
from ansible_collections.nodecraft.kubeadm.lab.labs import Ours
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import say
from ansible_collections.nodecraft.kubeadm.tests.sessions.host import BENCH_WITHOUT_LAB

PARTS: dict[str, t.Callable[[Lab], Part]] = {
    "idle": idle.measure,
    "nodes": nodes.measure,
    "kubelet": kubelet.measure,
    "api_server": api_server.measure,
    "pods": pods.measure,
    "device_plugin": device_plugin.measure,
    "rollout": rollout.measure,
}
RUNNING = "Another bench runs in this clone (process {}) and writes into the same directory. Wait for its end, or interrupt it with Ctrl-C."


def arguments() -> argparse.Namespace:
    """What was asked for, on the command line or in the environment, which make hands through."""
    asked = os.environ.get("BENCH_ONLY", "").split() or list(PARTS)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=asked, help="the parts to measure; BENCH_ONLY")
    parser.add_argument("--standing", action="store_true", help="measure on the lab as it stands, and make no new one")
    found = parser.parse_args()
    if unknown := set(found.only) - set(PARTS):
        parser.error(f"BENCH_ONLY: {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    return found


def measure(asked: argparse.Namespace, ours: Ours) -> None:
    """Measure, print, keep."""
    lab = ours.lab
    on_lab = bool(set(asked.only) - BENCH_WITHOUT_LAB)
    if on_lab and not asked.standing:
        say(f"Starting lab {lab.name}: Kubernetes {lab.kubernetes} (log: build/bench/lab.log)")
        ours.start(OUTPUT / "lab.log")
    lines: list[str] = []
    figures: dict[str, t.Any] = {"kubernetes": lab.kubernetes} if on_lab else {}
    for name in asked.only:
        load = os.getloadavg()[0]
        part = PARTS[name](lab)
        lines += [f"## {part.title}", "", f"Load of the machine before: {load:.1f}", "", *part.table, ""]
        figures[name] = {"load": load, **part.figures}
        (OUTPUT / "bench.md").write_text("\n".join(lines), encoding="utf-8")
        (OUTPUT / "bench.json").write_text(json.dumps(figures, indent=2), encoding="utf-8")
    say("\n".join(["", *lines, *([f"make lab-down LAB={lab.name} removes the lab."] if on_lab else [])]))


def main() -> int:
    """Measure, and end well or with one sentence."""
    asked = arguments()
    end_with_parent()
    with only_one(OUTPUT / "lock", RUNNING):
        log = OUTPUT / "bench.log"
        log.unlink(missing_ok=True)
        ours = Ours(Lab.of_environment(), "bench")
        return guarded(lambda: measure(asked, ours), log=log, advice=ours.advice, tidy=lambda: ours.tidy(log))


if __name__ == "__main__":
    sys.exit(main())
