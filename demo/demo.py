# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection at work on a fresh cluster, from the first change to the last one reverted.

Ends with an error when anything is not as it claims.
"""

from __future__ import annotations

import argparse
import sys
import time
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.demo.part_change import change
from ansible_collections.nodecraft.kubeadm.demo.part_device_plugin import device_plugin
from ansible_collections.nodecraft.kubeadm.demo.part_pods import pods
from ansible_collections.nodecraft.kubeadm.demo.part_replace import replace
from ansible_collections.nodecraft.kubeadm.demo.part_revert import revert
from ansible_collections.nodecraft.kubeadm.demo.part_steady import again, refusal, restore
from ansible_collections.nodecraft.kubeadm.demo.story import Story
from ansible_collections.nodecraft.kubeadm.lab.console import show
from ansible_collections.nodecraft.kubeadm.lab.guard import end_with_parent, exclusive_lock, run_guarded
from ansible_collections.nodecraft.kubeadm.lab.labs import OwnedLab
from ansible_collections.nodecraft.kubeadm.lab.runs import KUBEADM_GRACE, KUBELET_STATUS, ROOT, Lab
from ansible_collections.nodecraft.kubeadm.lab.waiting import Remaining, minutes_left

PARTS: dict[str, t.Callable[[Story], None]] = {
    "change": change,
    "pods": pods,
    "again": again,
    "refusal": refusal,
    "restore": restore,
    "device_plugin": device_plugin,
    "replace": replace,
    "revert": revert,
}
# What each usually takes on two idle cores, in seconds.
USUALLY = {
    "change": 65,
    "pods": 20,
    "again": 15,
    "refusal": 7,
    "restore": 26,
    "device_plugin": 65,
    "replace": 120,
    "revert": 68,
}
WORKERS = 2  # as many as parts 2 and 3 are about
GRACE = 1  # seconds; each restart of an API server that stands still for kubeadm's 30 would show nothing more
COLLECTION_MIN_READY = 10  # the default of both roles
MIN_READY = 1  # seconds that a change is watched after it is ready
NODE_STATUS = 2  # seconds; what a kubelet learns of its node or from a plugin, the API has up to that much later
RUNNING = (
    "Another demo runs in this clone (process {}) and writes into the same directory. Wait for its end, or interrupt it"
    " with Ctrl-C; make demo starts a new one then."
)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--standing", action="store_true", help="on the lab as it stands, with kubeadm's own settings")
    parser.add_argument("--ssh", action="store_true", help="reach the nodes by SSH instead of podman")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "build/demo", help="the directory for the results, as JSON"
    )
    parser.add_argument(
        "--leave-out",
        nargs="+",
        choices=PARTS,
        default=["replace"],
        help="parts that are not shown (default: replace, whose two passes take two minutes)",
    )
    parser.add_argument(
        "--second-runs", action="store_true", help="repeat the runs of parts 7 and 8 as well, which must change nothing"
    )
    parser.add_argument("--min-ready-seconds", type=int, default=MIN_READY, help="how long what was changed is watched")
    parser.add_argument("--grace-seconds", type=int, default=GRACE, help="what static pods of a new lab get to end")
    parser.add_argument(
        "--node-status-seconds", type=int, default=NODE_STATUS, help="how often kubelets of a new lab report"
    )
    return parser.parse_args()


def show_demo(args: argparse.Namespace, owned: OwnedLab) -> None:
    """Show it all."""
    lab, story = owned.lab, Story(owned.lab, args.output, args.min_ready_seconds, second_runs=args.second_runs)
    if lab.workers != WORKERS and "pods" not in args.leave_out:
        raise SystemExit(
            f"invalid WORKERS {lab.workers}: must be {WORKERS}, because pods show what happens on one and on the other."
        )
    left = Remaining({name: USUALLY[name] for name in PARTS if name not in args.leave_out})
    try:
        if not args.standing:
            show(
                f"Starting lab {lab.name}: Kubernetes {lab.kubernetes}, {lab.control_planes} control plane, {lab.workers} workers"
            )
            show(
                f"Shorter than in a cluster of yours, so that the demo is quick: static pods get {lab.grace_seconds} s to end"
                f" (kubeadm: {KUBEADM_GRACE} s), kubelets report each {lab.node_status_seconds} s (Kubernetes: {KUBELET_STATUS} s), and"
                f" what was changed is watched for {args.min_ready_seconds} s (roles: {COLLECTION_MIN_READY} s).",
                3,
            )
            seconds = owned.start(args.output / "lab.log", left.seconds_after)
            story.facts["lab"] = {"kubernetes": lab.kubernetes, "seconds": seconds}
            show(f"ready after {seconds:.0f} s (log: {args.output}/lab.log)", 3)
        show_parts(story, left)
        story.facts["seconds"] = time.monotonic() - story.began
    finally:
        story.write_record()
    show(f"{story.facts['seconds']:.0f} s in total. All of it as JSON: {args.output}/")
    show(f"The lab stays up (inventory: build/lab/{lab.name}/inventory.yml); make lab-down LAB={lab.name} removes it.")
    if story.broken_claims:
        raise SystemExit(f"{len(story.broken_claims)} claim(s) did not hold.")


def show_parts(story: Story, left: Remaining) -> None:
    """Show the parts that take time according to this."""
    if "device_plugin" in left.steps:
        story.after_first_effect = story.start_image_build
    with story.meanwhile:
        for name in left.steps:
            left.turn_to(name)
            show(f"({minutes_left(left.seconds)})", 3)
            began = time.monotonic()
            PARTS[name](story)
            story.facts.setdefault("parts", {})[name] = time.monotonic() - began


def main() -> int:
    """Show it all, and end well or with one sentence."""
    args = parse_arguments()
    end_with_parent()
    args.output.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(args.output / "lock", RUNNING):
        log = args.output / "demo.log"
        log.unlink(missing_ok=True)
        lab = Lab.from_environment(
            by_ssh=args.ssh, grace_seconds=args.grace_seconds, node_status_seconds=args.node_status_seconds
        )
        owned = OwnedLab(lab, "demo")
        return run_guarded(
            lambda: show_demo(args, owned), log=log, advice=owned.advice, cleanup=lambda: owned.remove(log)
        )


if __name__ == "__main__":
    sys.exit(main())
