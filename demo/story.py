# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of the demo share: claims, the desired state, runs, and how results are printed."""

from __future__ import annotations

import contextlib
import json
import os
import time
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.demo.comparison import changed_lines, difference
from ansible_collections.nodecraft.kubeadm.lab.console import show
from ansible_collections.nodecraft.kubeadm.lab.runs import Json, Lab, Observer, Run, run_playbook
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo

# Later releases have the gate of in-place resize locked; they show the way with a gate that is off by default there.
GATES = {"1.32": "InPlacePodVerticalScaling"}
OTHER_GATE = "CrossNamespaceVolumeDataSource"
MAX_LINES = 12  # lines of a difference on the terminal; the file has all

Snapshot = dict[str, Json]


class Story:
    """What is shown, part by part, on one lab.

    second_runs: whether also parts 7 and 8 show that a second run changes nothing. Part 4 always does.
    meanwhile: what is built while parts are shown; it ends with the story. after_first_effect: begins it.
    """

    def __init__(self, lab: Lab, output: Path, min_ready_seconds: int, *, second_runs: bool = False) -> None:
        self.lab = lab
        self.output = output
        self.second_runs = second_runs
        self.settings = {f"{role}_min_ready_seconds": min_ready_seconds for role in ("control_plane", "node_kubelet")}
        self.gate = GATES.get(".".join(lab.kubernetes.split(".")[:2]), OTHER_GATE)
        self.facts: Json = {}
        self.broken_claims: list[str] = []
        self.differences: dict[str, list[str]] = {}
        self.desired = output / "desired.yml"
        self.start: tuple[Snapshot, Snapshot] = ({}, {})
        # On the clock of all processes: make begins to prepare the machine before the demo itself can.
        self.began = float(os.environ.get("MAKE_BEGAN") or time.monotonic())
        self.meanwhile = contextlib.ExitStack()
        self.after_first_effect: t.Callable[[], None] = lambda: None
        self._wait_for_image: t.Callable[[], Json] | None = None
        for path in output.glob("*-difference.txt"):
            path.unlink()

    def start_image_build(self) -> None:
        """Have the image for part 7 built from now on."""
        log = self.output / "7-image.log"
        self._wait_for_image = self.meanwhile.enter_context(self.lab.build_device_plugin(log))

    def wait_for_image(self) -> Json:
        """The image for part 7, as variables of the role, as soon as it is there."""
        if self._wait_for_image is None:
            self.start_image_build()
        return t.cast("t.Callable[[], Json]", self._wait_for_image)()

    def claim(self, holds: bool, text: str) -> None:
        """State something that was checked."""
        show(f"{'ok ' if holds else 'NOT AS CLAIMED:'} {text}", 3)
        if not holds:
            self.broken_claims.append(text)

    def claim_same(self, name: str, before: t.Any, after: t.Any, text: str, *, holds: bool = True) -> None:
        """State that two snapshots are equal, and what else has to hold. The record has their differences."""
        self.claim(holds and before == after, text)
        if before == after:
            return
        lines = difference(before, after)
        path = self.output / f"{name}-difference.txt"
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
        self.differences[name] = lines
        show(f"what differs, all of it in {path}:", 5)
        for line in lines[:MAX_LINES]:
            echo(f"     {line:.150}")

    def write_desired(self, desired: t.Mapping[str, t.Any]) -> None:
        """Write the desired state as an inventory, as a user would. JSON is YAML."""
        self.desired.write_text(json.dumps(desired, indent=2), encoding="utf-8")

    def run(
        self,
        record: str,
        *arguments: str,
        observer: Observer,
        variables: t.Mapping[str, t.Any] | None = None,
    ) -> Run:
        """Run site.yml for the desired state."""
        path = self.output / record
        return run_playbook(self.lab, variables or {}, path, *arguments, desired=self.desired, observer=observer)

    def write_record(self) -> None:
        """Write what is known up to now into demo.json."""
        facts = {**self.facts, "broken_claims": self.broken_claims, "differences": self.differences}
        (self.output / "demo.json").write_text(json.dumps(facts, indent=2), encoding="utf-8")


def print_component(result: Json) -> None:
    """One component: its diff, its rehearsal, how long it was away."""
    transaction, rehearsal = result["transaction"], result["rehearsal"]
    show(
        f"{result['node']}: {result['name']}, rehearsal {rehearsal['verdict']} in {rehearsal['seconds']:.1f} s; {format_outcome(transaction)}",
        3,
    )
    for line in changed_lines(result["diff"][0]["before"], result["diff"][0]["after"]):
        echo(f"     {line}")


def format_outcome(transaction: Json) -> str:
    """How a transaction ended."""
    outage = transaction["outage_seconds"]
    known = "not known" if outage is None else f"{outage:.1f} s"
    return f"{transaction['outcome'].replace('_', ' ')} after {transaction['seconds']:.0f} s, outage {known}"


def print_summary(run: Run) -> None:
    """The summary at the end of a run."""
    for line in run.lines:
        echo(f"     {line}")


def nodes_and_objects(lab: Lab) -> Snapshot:
    """A snapshot of every node, with its Node in the API."""
    snapshots, objects = lab.take_snapshot(), lab.node_objects()
    return {name: {**sides, "object": objects.get(name)} for name, sides in snapshots.items()}


def snapshot_part(nodes: Snapshot, name: str) -> Json:
    """One part of every snapshot, such as the manifests."""
    return {node: {name: sides[name]} for node, sides in nodes.items()}


def commands(nodes: Snapshot) -> Json:
    """The command lines of every control plane."""
    return {
        name: {component: [process["arguments"] for process in found] for component, found in node["processes"].items()}
        for name, node in nodes.items()
    }


def arguments(node: Json, component: str) -> list[str]:
    """The command line of a component that runs once."""
    (process,) = node["processes"][component]
    return t.cast("list[str]", process["arguments"])


def kubelets(nodes: Snapshot) -> Json:
    """Files and command lines of the kubelet of every node."""
    return {
        name: {"files": node["files"], "arguments": [process["arguments"] for process in node["kubelets"]]}
        for name, node in nodes.items()
    }
