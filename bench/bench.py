# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What changes by the collection cost, each beside other ways to the same end, on the same cluster, or stand-in nodes, in one run."""

from __future__ import annotations

import argparse
import json
import os
import sys
import typing as t

from ansible_collections.nodecraft.kubeadm.bench import api_server, device_plugin, idle, kubelet, nodes, pods, rollout
from ansible_collections.nodecraft.kubeadm.bench.figures import OUTPUT, Part
from ansible_collections.nodecraft.kubeadm.lab.guard import end_with_parent, exclusive_lock, run_guarded
from ansible_collections.nodecraft.kubeadm.lab.labs import OwnedLab
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo
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


def parse_arguments() -> argparse.Namespace:
    """Parse the command line and the environment, which make hands through."""
    selected = os.environ.get("BENCH_ONLY", "").split() or list(PARTS)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=selected, help="the parts to measure; BENCH_ONLY")
    parser.add_argument("--standing", action="store_true", help="measure on the lab as it stands, and make no new one")
    args = parser.parse_args()
    if unknown := set(args.only) - set(PARTS):
        parser.error(f"BENCH_ONLY: {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    return args


def measure(args: argparse.Namespace, owned: OwnedLab) -> None:
    """Measure, print, write the results."""
    lab = owned.lab
    on_lab = bool(set(args.only) - BENCH_WITHOUT_LAB)
    if on_lab and not args.standing:
        echo(f"Starting lab {lab.name}: Kubernetes {lab.kubernetes} (log: build/bench/lab.log)")
        owned.start(OUTPUT / "lab.log")
    lines: list[str] = []
    figures: dict[str, t.Any] = {"kubernetes": lab.kubernetes} if on_lab else {}
    for name in args.only:
        load = os.getloadavg()[0]
        part = PARTS[name](lab)
        lines += [f"## {part.title}", "", f"Load of the machine before: {load:.1f}", "", *part.table, ""]
        figures[name] = {"load": load, **part.figures}
        (OUTPUT / "bench.md").write_text("\n".join(lines), encoding="utf-8")
        (OUTPUT / "bench.json").write_text(json.dumps(figures, indent=2), encoding="utf-8")
    echo("\n".join(["", *lines, *([f"make lab-down LAB={lab.name} removes the lab."] if on_lab else [])]))


def main() -> int:
    """Measure, and end well or with one sentence."""
    args = parse_arguments()
    end_with_parent()
    with exclusive_lock(OUTPUT / "lock", RUNNING):
        log = OUTPUT / "bench.log"
        log.unlink(missing_ok=True)
        lab = OwnedLab(Lab.from_environment(), "bench")
        return run_guarded(lambda: measure(args, lab), log=log, advice=lab.advice, cleanup=lambda: lab.remove(log))


if __name__ == "__main__":
    sys.exit(main())
