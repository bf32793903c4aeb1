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
from ansible_collections.nodecraft.kubeadm.lab.console import tell
from ansible_collections.nodecraft.kubeadm.lab.runs import Follower, Json, Lab, Run, run_playbook
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import say

# Later releases have the gate of in-place resize locked; they show the way with a gate that is off by default there.
GATES = {"1.32": "InPlacePodVerticalScaling"}
OTHER_GATE = "CrossNamespaceVolumeDataSource"
SHOWN = 12  # lines of a difference on the terminal; the file has all

Look = dict[str, Json]


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
        self.start: tuple[Look, Look] = ({}, {})
        # On the clock of all processes: make begins to prepare the machine before the demo itself can.
        self.began = float(os.environ.get("MAKE_BEGAN") or time.monotonic())
        self.meanwhile = contextlib.ExitStack()
        self.after_first_effect: t.Callable[[], None] = lambda: None
        self._wait_for_image: t.Callable[[], Json] | None = None
        for path in output.glob("*-difference.txt"):
            path.unlink()

    def begin_image(self) -> None:
        """Have the image for part 7 built from now on."""
        log = self.output / "7-image.log"
        self._wait_for_image = self.meanwhile.enter_context(self.lab.building_device_plugin(log))

    def image(self) -> Json:
        """The image for part 7, as variables of the role, as soon as it is there."""
        if self._wait_for_image is None:
            self.begin_image()
        return t.cast("t.Callable[[], Json]", self._wait_for_image)()

    def claim(self, holds: bool, text: str) -> None:
        """State something that was checked."""
        tell(f"{'ok ' if holds else 'NOT AS CLAIMED:'} {text}", 3)
        if not holds:
            self.broken_claims.append(text)

    def claim_same(self, name: str, before: t.Any, after: t.Any, text: str, *, holds: bool = True) -> None:
        """State that two looks are equal, and what else has to hold. Where they differ the record tells in what."""
        self.claim(holds and before == after, text)
        if before == after:
            return
        lines = difference(before, after)
        path = self.output / f"{name}-difference.txt"
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
        self.differences[name] = lines
        tell(f"what differs, all of it in {path}:", 5)
        for line in lines[:SHOWN]:
            say(f"     {line:.150}")

    def ask(self, desired: t.Mapping[str, t.Any]) -> None:
        """Write the desired state as an inventory, as a user would. JSON is YAML."""
        self.desired.write_text(json.dumps(desired, indent=2), encoding="utf-8")

    def run(
        self,
        record: str,
        *arguments: str,
        follower: Follower,
        variables: t.Mapping[str, t.Any] | None = None,
    ) -> Run:
        """Run site.yml for the desired state."""
        path = self.output / record
        return run_playbook(self.lab, variables or {}, path, *arguments, desired=self.desired, follower=follower)

    def keep(self) -> None:
        """Write down what is known up to now."""
        facts = {**self.facts, "broken_claims": self.broken_claims, "differences": self.differences}
        (self.output / "demo.json").write_text(json.dumps(facts, indent=2), encoding="utf-8")


def show_component(result: Json) -> None:
    """One component: its diff, what it said in the rehearsal, how long it was away."""
    transaction, rehearsal = result["transaction"], result["rehearsal"]
    tell(
        f"{result['node']}: {result['name']}, rehearsal {rehearsal['verdict']} in {rehearsal['seconds']:.1f} s; {ending(transaction)}",
        3,
    )
    for line in changed_lines(result["diff"][0]["before"], result["diff"][0]["after"]):
        say(f"     {line}")


def ending(transaction: Json) -> str:
    """How a transaction ended."""
    outage = transaction["outage_seconds"]
    known = "not known" if outage is None else f"{outage:.1f} s"
    return f"{transaction['outcome'].replace('_', ' ')} after {transaction['seconds']:.0f} s, outage {known}"


def show_summary(run: Run) -> None:
    """What a run told people at its end."""
    for line in run.lines:
        say(f"     {line}")


def nodes_and_objects(lab: Lab) -> Look:
    """A look at every node, and its Node in the API."""
    looks, objects = lab.look(), lab.node_objects()
    return {name: {**sides, "object": objects.get(name)} for name, sides in looks.items()}


def side(nodes: Look, name: str) -> Json:
    """One side of every node, such as its manifests."""
    return {node: {name: sides[name]} for node, sides in nodes.items()}


def commands(nodes: Look) -> Json:
    """The command lines of every control plane."""
    return {
        name: {component: [process["arguments"] for process in found] for component, found in node["processes"].items()}
        for name, node in nodes.items()
    }


def arguments(node: Json, component: str) -> list[str]:
    """The command line of a component that runs once."""
    (process,) = node["processes"][component]
    return t.cast("list[str]", process["arguments"])


def kubelets(nodes: Look) -> Json:
    """Files and command lines of the kubelet of every node."""
    return {
        name: {"files": node["files"], "arguments": [process["arguments"] for process in node["kubelets"]]}
        for name, node in nodes.items()
    }
