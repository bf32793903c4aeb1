# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What changes by the collection cost, each beside other ways to the same end, on the same cluster in one run."""

from __future__ import annotations

import argparse
import json
import os
import typing as t

from ansible_collections.nodecraft.kubeadm.lab.demo import (
    bench_api_server,
    bench_device_plugin,
    bench_idle,
    bench_kubelet,
    bench_nodes,
    bench_pods,
)
from ansible_collections.nodecraft.kubeadm.lab.demo.figures import OUTPUT, Part, say
from ansible_collections.nodecraft.kubeadm.lab.demo.runs import Lab

PARTS: dict[str, t.Callable[[Lab], Part]] = {
    "idle": bench_idle.measure,
    "nodes": bench_nodes.measure,
    "kubelet": bench_kubelet.measure,
    "api_server": bench_api_server.measure,
    "pods": bench_pods.measure,
    "device_plugin": bench_device_plugin.measure,
}


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


def main() -> None:
    """Measure, print, keep."""
    asked = arguments()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    lab = Lab.of_environment()
    if not asked.standing:
        say(f"Starting lab {lab.name}: Kubernetes {lab.kubernetes} (log: build/bench/lab.log)")
        lab.start_anew(OUTPUT / "lab.log")
    lines: list[str] = []
    figures: dict[str, t.Any] = {"kubernetes": lab.kubernetes}
    for name in asked.only:
        load = os.getloadavg()[0]
        part = PARTS[name](lab)
        lines += [f"## {part.title}", "", f"Load of the machine before: {load:.1f}", "", *part.table, ""]
        figures[name] = {"load": load, **part.figures}
        (OUTPUT / "bench.md").write_text("\n".join(lines), encoding="utf-8")
        (OUTPUT / "bench.json").write_text(json.dumps(figures, indent=2), encoding="utf-8")
    say("\n".join(["", *lines, f"make lab-down LAB={lab.name} removes the lab."]))


if __name__ == "__main__":
    main()
