# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Part 1: one run changes control plane, kubelets and a node."""

from __future__ import annotations

import json
import time
import typing as t

from ansible_collections.nodecraft.kubeadm.demo.comparison import changed_lines
from ansible_collections.nodecraft.kubeadm.demo.pods import DONGLE
from ansible_collections.nodecraft.kubeadm.demo.story import (
    Snapshot,
    Story,
    arguments,
    format_outcome,
    print_component,
    print_summary,
)
from ansible_collections.nodecraft.kubeadm.lab.console import show
from ansible_collections.nodecraft.kubeadm.lab.runs import Json, Observer, Run, run_module
from ansible_collections.nodecraft.kubeadm.lab.waiting import Waiting

PLUGIN = "ExtendedResourceToleration"
LABEL = "example.com/rack"
# Another component would show nothing that this one does not, and each takes half a minute to change and to revert.
API_SERVER = "kube-apiserver"
READY_TIMEOUT = 60  # seconds until the nodes are ready
# What each usually takes on two cores at a load of 3, in seconds.
PLANNING, COMPONENT, KUBELETS, NODES = 30, 18, 60, 15
# The start of these tasks shows how far a run is.
KUBELET_TASK = "Change the kubelet"
NODES_TASK = "Taint the nodes, advertise their extended resources and label them"


class ChangeObserver(Observer):
    """Prints each static pod and each kubelet as soon as its change is committed, and what comes next."""

    def __init__(self, story: Story, what: str, usually: float) -> None:
        super().__init__(what, usually)
        self.story = story
        self.kubelets_done = False  # before that, the same tasks only plan

    def on_event(self, event: Json, waiting: Waiting) -> None:
        """A task begins, or a transaction on a node ended."""
        if event["event"] == "transaction":
            self._print_transaction(event["action"], event["result"])
        if event["event"] == "task":
            self._update_waiting(event["name"].rpartition(" : ")[2], waiting)

    def _update_waiting(self, task: str, waiting: Waiting) -> None:
        if task == KUBELET_TASK:
            waiting.turn_to("the kubelets restart with their gate, one batch after the other", KUBELETS)
        elif task == NODES_TASK and self.kubelets_done:
            waiting.turn_to("the API gets taint, resources and label, and the placement guard is tried", NODES)

    def _print_transaction(self, action: str, result: Json) -> None:
        if action == "kubelet":
            self.kubelets_done = True
            show(f"{result['node']}: kubelet {format_outcome(result['transaction'])}", 3)
            return
        if result["node"] == self.story.lab.first:
            print_component(result)
        proof = result["transaction"].get("proof") or {}
        gate = self.story.gate
        if "first_effect" not in self.story.facts and (proof.get("feature_gates") or {}).get(gate) is True:
            seconds = time.monotonic() - self.story.began
            self.story.facts["first_effect"] = {"seconds": seconds, "component": result["name"]}
            show(
                f"first effect after {seconds:.0f} s: {result['name']} of {result['node']} runs with {gate}, according to its own metrics",
                3,
            )


def change(story: Story) -> None:
    """All of the desired state at once."""
    lab, first = story.lab, story.lab.worker_names[0]
    show(f"1. One task: gate {story.gate} and plugin {PLUGIN} on the API server")
    lab.kubectl("wait", "node", "--all", "--for=condition=Ready", f"--timeout={READY_TIMEOUT}s")
    story.start = lab.take_snapshot(), lab.node_objects()
    task = _api_server(story)
    story.after_first_effect()
    show(
        f"One run: the gate on all kubelets, too, four dongles, a taint and a label on {first}; the API server stays as it is",
        3,
    )
    story.write_desired(desired(story, gates={story.gate: True}, plugin=PLUGIN, labels={LABEL: "r7"}))
    observer = ChangeObserver(story, "site.yml plans and rehearses everything on all nodes", PLANNING)
    run = story.run("1-change.json", "--diff", observer=observer)
    if run.rc != 0:
        raise SystemExit(f"site.yml failed: {' '.join(run.reasons)}")
    components, kubelets = task.changes("static_pod") + run.changes("static_pod"), run.changes("kubelet")
    print_summary(run)
    story.facts["change"] = {"seconds": run.seconds, "components": components, "kubelets": kubelets}
    story.claim(
        [(result["node"], result["name"]) for result in components]
        == [(node, API_SERVER) for node in lab.control_plane_names]
        and [result["node"] for result in kubelets] == lab.names,
        f"every API server and every kubelet changed once, one after the other ({task.seconds:.0f} s and {run.seconds:.0f} s)",
    )
    _claim_running_state(story, components)


def desired(story: Story, *, gates: dict[str, bool], plugin: str, labels: dict[str, str]) -> Json:
    """Gates of the API server and the kubelets, a plugin, and a worker with four dongles that is reserved for them. labels: of that worker."""
    return {
        "all": {
            "vars": {
                **story.settings,
                "control_plane_static_pods": [API_SERVER],
                "control_plane_feature_gates": gates,
                "control_plane_admission_plugins": {plugin: "enabled"},
                "node_kubelet_feature_gates": gates,
                "placement_guard_resources": [DONGLE],
                "placement_guard_enforce": True,
            },
            "hosts": {
                story.lab.worker_names[0]: {
                    "node_resources_extended_resources": {DONGLE: 4},
                    "node_resources_taints": [{"key": DONGLE, "effect": "NoSchedule"}],
                    "node_resources_labels": labels,
                }
            },
        }
    }


def _api_server(story: Story) -> Run:
    """The first change: what is seen first."""
    options = {
        "name": API_SERVER,
        "feature_gates": {story.gate: True},
        "admission_plugins": {PLUGIN: "enabled"},
        "min_ready_seconds": story.settings["control_plane_min_ready_seconds"],
    }
    name, nodes, output = "static_pod", "kube_control_plane", story.output
    planned = run_module(story.lab, name, options, output / "1-check.json", "--check", host=nodes)
    found = [result["changed"] for result in planned.results(name)]
    story.claim_same(
        "1-check",
        {"snapshot": story.start[0], "nodes": story.start[1]},
        {"snapshot": story.lab.take_snapshot(), "nodes": story.lab.node_objects()},
        f"check mode: the node's own API server accepts it in a rehearsal, and nothing was changed ({planned.seconds:.0f} s)",
        holds=planned.rc == 0 and found == [True] * len(story.lab.control_plane_names),
    )
    observer = ChangeObserver(story, "the API server restarts", COMPONENT)
    run = run_module(story.lab, name, options, output / "1-api-server.json", host=nodes, observer=observer)
    if run.rc != 0:
        raise SystemExit(f"static_pod failed: {' '.join(run.reasons)}")
    return run


def _claim_running_state(story: Story, components: list[Json]) -> None:
    lab, (before, _nodes), after = story.lab, story.start, story.lab.take_snapshot()
    added = {f"--feature-gates={story.gate}=true", f"--enable-admission-plugins=NodeRestriction,{PLUGIN}"}
    story.claim(
        all(added <= set(arguments(after[name], API_SERVER)) for name in lab.control_plane_names),
        "the API server runs with them, the plugin merged with NodeRestriction",
    )
    # Its process may be another one by now: with the gate of in-place resize, a kubelet of 1.32 recreates static pods.
    proof = components[0]["transaction"]["proof"]
    story.claim(
        proof["arguments"][1:] == arguments(after[lab.first], API_SERVER)
        and proof["feature_gates"].get(story.gate) is True,
        f"proof: pid {proof['pid']} of pod {proof['uid'][:13]}... has this command line, and its own metrics show the gate",
    )
    story.claim(
        all(_configz(story, name)["featureGates"].get(story.gate) is True for name in lab.names),
        "/configz of every kubelet shows the gate",
    )
    # Files of the collection are new; all others are compared.
    preexisting = {
        name: {path: content for path, content in after[name]["files"].items() if path in before[name]["files"]}
        for name in lab.names
    }
    story.claim_same(
        "1-kubelets",
        {
            "files": {name: before[name]["files"] for name in lab.names},
            "in_pods": {name: before[name]["in_pods"] for name in lab.worker_names},
        },
        {"files": preexisting, "in_pods": {name: after[name]["in_pods"] for name in lab.worker_names}},
        "kubeadm's own kubelet files are byte for byte as before, and no pod of a worker was restarted",
    )
    _claim_manifests(story, before, after)


def _claim_manifests(story: Story, before: Snapshot, after: Snapshot) -> None:
    """The manifests of every control plane have what was desired, and are else as they were."""
    gate, plugins = f"- --feature-gates={story.gate}=true", "- --enable-admission-plugins=NodeRestriction"
    file, changed_text = f"{API_SERVER}.yaml", sorted([f"+ {gate}", f"+ {plugins},{PLUGIN}", f"- {plugins}"])
    expected, found = (
        {name: dict(nodes[name]["manifests"]) for name in story.lab.control_plane_names} for nodes in (before, after)
    )
    for name in story.lab.control_plane_names:
        # Of the file that changes, the lines that differ.
        texts = ["".join(nodes[name].get(file, {}).get("lines", [])) for nodes in (expected, found)]
        expected[name][file] = {**expected[name][file], "lines": changed_text}
        found[name][file] = {**found[name].get(file, {}), "lines": sorted(changed_lines(*texts))}
    story.claim_same(
        "1-manifests",
        expected,
        found,
        "nothing else differs in the manifests; mode 0600; no other file in the directory",
        holds={entry.get("mode") for files in found.values() for entry in files.values()} == {"0600"},
    )


def _configz(story: Story, name: str) -> Json:
    response = story.lab.kubectl("get", "--raw", f"/api/v1/nodes/{name}/proxy/configz")
    return t.cast(Json, json.loads(response)["kubeletconfig"])
