# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection at work on a fresh cluster, from the first change to the last one taken back.

Ends with an error when anything is not as it claims.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
import textwrap
import time
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.lab.demo.figures import say as say_line
from ansible_collections.nodecraft.kubeadm.lab.demo.pods import DONGLE, Pods
from ansible_collections.nodecraft.kubeadm.lab.demo.runs import (
    FULL,
    ROOT,
    UNIT,
    Json,
    Lab,
    Run,
    run_module,
    run_playbook,
)

# Later releases have the gate of in-place resize locked; they show the way with a gate that is off by default there.
GATES = {"1.32": "InPlacePodVerticalScaling"}
OTHER_GATE = "HPAScaleToZero"
PLUGIN = "ExtendedResourceToleration"
LABEL = "example.com/rack"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
# No etcd answers in that time: the API server starts, takes every argument, and never becomes ready.
NEVER_READY = {
    "control_plane_components": {"kube-apiserver": {"args": {"etcd-healthcheck-timeout": "1ns"}}},
    "control_plane_wait_timeout": 60,
}
TOKEN_SECRET = "nodecraft-device-plugin-token"  # noqa: S105
DEVICES: Json = {
    "device_plugin_pod_resources_token": "of-the-demo-only",
    "device_plugin_node_selector": {LABEL: "r7"},
    "device_plugin_config": {
        "resources": [
            {
                "name": UNIT,
                "discover": [{"fake": {"count": 4}}],
                "container": {
                    "env": {"UNITS": "{ids}"},
                    "mounts": [{"hostPath": "/etc/hostname", "containerPath": "/opt/node", "readOnly": True}],
                },
            },
            {"name": FULL, "discover": [{"path": {"glob": "/dev/full", "containerPath": "/dev/unit{index}"}}]},
        ]
    },
    "device_plugin_expected": [{"resources": {UNIT: 4, FULL: 1}}],
}
SAYS = "UNITS=$UNITS /opt/node=$(cat /opt/node) /dev/unit0=$(stat --format %t:%T /dev/unit0)"
LONGEST_LOOK = 60  # seconds until something that was changed has to show


class Story:
    """What is shown, part by part, on one lab."""

    def __init__(self, lab: Lab, output: Path, min_ready_seconds: int) -> None:
        self.lab = lab
        self.output = output
        self.settings = {f"{role}_min_ready_seconds": min_ready_seconds for role in ("control_plane", "node_kubelet")}
        self.gate = GATES.get(lab.kubernetes, OTHER_GATE)
        self.facts: Json = {}
        self.broken_claims: list[str] = []
        self.wish = output / "wish.yml"
        self.start: tuple[dict[str, Json], dict[str, Json]] = ({}, {})

    # -- telling -----------------------------------------------------------------------------------------------------

    def claim(self, holds: bool, text: str) -> None:
        """State something that was checked."""
        say(f"{'ok ' if holds else 'NOT AS CLAIMED:'} {text}", 3)
        if not holds:
            self.broken_claims.append(text)

    def show_differences(self, nodes: t.Mapping[str, Json]) -> None:
        """Tell where the Nodes are not what they were."""
        for name, node in self.lab.node_objects().items():
            for part, value in node.items():
                if value != nodes[name][part]:
                    say(f"{name}: {part} were {nodes[name][part]} and are {value}", 6)

    def ask(self, wish: t.Mapping[str, t.Any]) -> None:
        """Write what is asked for as an inventory, as a user would. JSON is YAML."""
        self.wish.write_text(json.dumps(wish, indent=2), encoding="utf-8")

    def run(self, record: str, *arguments: str, variables: t.Mapping[str, t.Any] | None = None) -> Run:
        """Run site.yml for what is asked for."""
        return run_playbook(self.lab, variables or {}, self.output / record, *arguments, wish=self.wish)

    # -- the parts -----------------------------------------------------------------------------------------------------

    def change(self) -> None:
        """All of it is asked for at once."""
        lab, first = self.lab, self.lab.worker_names[0]
        say(f"1. One run: gate {self.gate} everywhere, plugin {PLUGIN}, four dongles, a taint and a label on {first}")
        lab.kubectl("wait", "node", "--all", "--for=condition=Ready", f"--timeout={LONGEST_LOOK}s")
        self.start = lab.look(), lab.node_objects()
        self.ask(
            {
                "all": {
                    "vars": {
                        **self.settings,
                        "control_plane_feature_gates": {self.gate: True},
                        "control_plane_admission_plugins": {PLUGIN: "enabled"},
                        "node_kubelet_feature_gates": {self.gate: True},
                        "placement_guard_resources": [DONGLE],
                        "placement_guard_enforce": True,
                    },
                    "hosts": {
                        first: {
                            "node_resources_extended_resources": {DONGLE: 4},
                            "node_resources_taints": [{"key": DONGLE, "effect": "NoSchedule"}],
                            "node_resources_labels": {LABEL: "r7"},
                        }
                    },
                }
            }
        )
        planned = self.run("1-check.json", "--check", "--diff")
        self.claim(
            planned.rc == 0 and lab.look() == self.start[0] and lab.node_objects() == self.start[1],
            f"check mode found {planned.changed} tasks that would change something, and changed nothing ({planned.seconds:.0f} s)",
        )
        self.show_differences(self.start[1])
        run = self.run("1-change.json", "--diff")
        if run.rc != 0:
            raise SystemExit(f"site.yml failed: {' '.join(run.reasons)}")
        components, kubelets = run.changes("static_pod"), run.changes("kubelet")
        for result in components[: len(COMPONENTS)]:
            show_component(result)
        for result in kubelets:
            say(f"{result['node']}: kubelet {ending(result['transaction'])}", 3)
        for line in node_operations(run):
            say(line, 3)
        self.facts["change"] = {"seconds": run.seconds, "components": components, "kubelets": kubelets}
        self.claim(
            [(result["node"], result["name"]) for result in components]
            == [(node, component) for node in lab.control_plane_names for component in COMPONENTS]
            and [result["node"] for result in kubelets] == lab.names,
            f"every component and every kubelet changed, one node after the other, in {run.seconds:.0f} s",
        )
        self._judge_change(components)

    def _judge_change(self, components: list[Json]) -> None:
        lab, (before, _nodes), after = self.lab, self.start, self.lab.look()
        argument = f"--feature-gates={self.gate}=true"
        self.claim(
            all(
                argument in arguments(after[name], component)
                for name in lab.control_plane_names
                for component in COMPONENTS
            )
            and all(
                f"--enable-admission-plugins=NodeRestriction,{PLUGIN}" in arguments(after[name], "kube-apiserver")
                for name in lab.control_plane_names
            ),
            "the control plane runs with them, merged with NodeRestriction",
        )
        # Its process may be another one by now: with the gate of in-place resize, a kubelet of 1.32 makes static pods anew.
        proof = components[0]["transaction"]["proof"]
        self.claim(
            proof["arguments"][1:] == arguments(after[lab.first], "kube-apiserver")
            and proof["feature_gates"].get(self.gate) is True,
            f"proof: pid {proof['pid']} of pod {proof['uid'][:13]}... had this command line, its own metrics the gate",
        )
        self.claim(
            all(self._configz(name)["featureGates"].get(self.gate) is True for name in lab.names),
            "every kubelet says in /configz that it uses the gate",
        )
        self.claim(
            all(before[name]["files"].items() <= after[name]["files"].items() for name in lab.names)
            and all(before[name]["in_pods"] == after[name]["in_pods"] for name in lab.worker_names),
            "kubeadm's own kubelet files are byte for byte as before, and no pod of a worker was restarted",
        )
        old, new = (side[lab.first]["manifests"] for side in (before, after))
        texts = ["".join(side["kube-apiserver.yaml"]["lines"]) for side in (old, new)]
        self.claim(
            old.keys() == new.keys()
            and {entry["mode"] for entry in new.values()} == {"0600"}
            and len(differences(*texts)) == 3
            and old["etcd.yaml"] == new["etcd.yaml"],
            "nothing else differs in the manifests; mode 0600; no other file in the folder",
        )

    def _configz(self, name: str) -> Json:
        answer = self.lab.kubectl("get", "--raw", f"/api/v1/nodes/{name}/proxy/configz")
        return t.cast(Json, json.loads(answer)["kubeletconfig"])

    def pods(self) -> None:
        """What it is good for."""
        lab, pods = self.lab, Pods(self.lab)
        first = lab.worker_names[0]
        say(f"2. Pods that ask {first} for dongles, and one that does not")
        pods.make("three", devices={DONGLE: 3})
        three = pods.wait("three", lambda pod: pod["status"]["phase"] == "Running")
        added = [entry for entry in three["spec"]["tolerations"] if entry.get("key") == DONGLE]
        self.claim(
            three["spec"].get("nodeName") == first and [entry.get("operator") for entry in added] == ["Exists"],
            f"the pod that requests 3 runs on {first}; admission gave it the toleration",
        )
        pods.make("two", devices={DONGLE: 2})
        reason = pods.unschedulable("two")
        self.claim(f"Insufficient {DONGLE}" in reason, f"one that requests 2 more is Pending: {reason.split('. ')[0]}")
        pods.make("none", selector={LABEL: "r7"})
        reason = pods.unschedulable("none")
        self.claim(
            "untolerated taint" in reason,
            f"one that requests none does not land there: {reason.split('. ')[0]}",
        )
        reason = pods.refused("shortcut", first)
        self.claim(
            f"names the node {first}" in reason,
            f"one that goes there by spec.nodeName is refused: {reason.rpartition(': ')[2]}",
        )
        self._resize(pods)
        self._effects(pods)
        pods.remove_all()

    def _resize(self, pods: Pods) -> None:
        """All pods of a Deployment get more while they run."""
        pods.make_deployment("web", replicas=5)
        before = pods.of("web")
        more = {"cpu": "80m", "memory": "48Mi"}
        wish = {
            "pod_resize_namespace": "default",
            "pod_resize_owner": {"kind": "Deployment", "name": "web"},
            "pod_resize_containers": [{"name": "pause", "resources": {"requests": more, "limits": more}}],
        }
        run = run_playbook(self.lab, wish, self.output / "2-resize.json", name="resize")
        after = pods.of("web")
        self.claim(
            run.rc == 0
            and {pods.limit(pod) for pod in after} == {"80m"}
            and {pod["metadata"]["uid"] for pod in after} == {pod["metadata"]["uid"] for pod in before}
            and {pod["status"]["containerStatuses"][0]["restartCount"] for pod in after} == {0},
            f"one task gives {len(after)} running pods of a Deployment 80m instead of 50m, without a restart ({run.seconds:.0f} s)",
        )
        again = run_playbook(self.lab, wish, self.output / "2-resize-again.json", name="resize")
        self.claim(again.rc == 0 and again.changed == 0, f"the same again: changed={again.changed}")

    def _effects(self, pods: Pods) -> None:
        """The other two effects, on the last worker."""
        last = self.lab.worker_names[-1]
        say(f"3. The other effects of a taint, on {last}")
        self._taint("3-prefer.json", {"key": "example.com/quiet", "effect": "PreferNoSchedule"})
        pods.make("soft")
        soft = pods.wait("soft", lambda pod: pod["status"]["phase"] == "Running")
        self.claim(
            soft["spec"].get("nodeName") == last,
            "PreferNoSchedule: a pod still lands there when there is no other place",
        )
        pods.make("tolerant", tolerates="example.com/closed")
        pods.wait("tolerant", lambda pod: pod["status"]["phase"] == "Running")
        closed = {"key": "example.com/closed", "effect": "NoExecute"}
        refused = self._taint("3-refused.json", closed)
        said = " ".join(refused.reasons)
        self.claim(
            refused.rc != 0 and "default/soft" in said and "default/tolerant" not in said,
            f"NoExecute: refused, because it would evict: {textwrap.shorten(said, 110, placeholder=' ...')}",
        )
        allowed = self._taint("3-allowed.json", closed, allow_eviction=True)
        gone = pods.wait_gone("soft")
        self.claim(
            allowed.rc == 0 and gone and pods.phase("tolerant") == "Running",
            "with allow_eviction that pod goes, and the one that tolerates the taint stays",
        )
        self._taint("3-absent.json", state="absent")

    def _taint(self, record: str, *taints: Json, **options: t.Any) -> Run:
        wish = {"nodes": [self.lab.worker_names[-1]], "taints": list(taints), **options}
        return run_module(
            self.lab, "node_taint", {key: value for key, value in wish.items() if value != []}, self.output / record
        )

    def again(self) -> None:
        """A second run has nothing to do."""
        say("4. The same again")
        before = self.lab.look()
        run = self.run("4-again.json")
        self.facts["again"] = {"seconds": run.seconds, "changed": run.changed}
        self.claim(
            run.rc == 0 and run.changed == 0 and self.lab.look() == before,
            f"changed={run.changed}, no process restarted ({run.seconds:.0f} s)",
        )

    def refusal(self) -> None:
        """A gate that does not exist."""
        say("5. Switch on NoSuchGate")
        before = self.lab.look()
        run = self.run(
            "5-refusal.json", variables={"control_plane_feature_gates": {self.gate: True, "NoSuchGate": True}}
        )
        reason = run.reasons[0] if run.reasons else "(no word)"
        say(reason, 5)
        self.facts["refusal"] = {"seconds": run.seconds, "message": reason}
        self.claim(
            run.rc != 0 and "unrecognized feature gate: NoSuchGate" in reason and self.lab.look() == before,
            f"refused by Kubernetes itself in the rehearsal; nothing was written or restarted ({run.seconds:.0f} s)",
        )

    def restore(self) -> None:
        """An API server that never becomes ready."""
        say("6. Have the API server give etcd a nanosecond to answer, for 60 s at most")
        lab, before = self.lab, self.lab.look()
        run = self.run("6-restore.json", variables=NEVER_READY)
        failed = next(iter(run.changes("static_pod")), {})
        transaction = failed.get("transaction") or {"outcome": "none", "seconds": 0, "outage_seconds": 0}
        say(textwrap.shorten(failed.get("msg", "(no word)"), 225, placeholder=" ..."), 5)
        self.facts["restore"] = {"seconds": run.seconds, "transaction": transaction}
        after = lab.look()
        self.claim(
            run.rc != 0
            and failed.get("rehearsal", {}).get("verdict") == "accepted"
            and transaction["outcome"] == "restored"
            and manifests(after) == manifests(before)
            and arguments(after[lab.first], "kube-apiserver") == arguments(before[lab.first], "kube-apiserver")
            and lab.kubectl("get", "--raw=/readyz") == "ok",
            f"rehearsal accepted, then {ending(transaction)}; the former bytes are back, the API server is ready",
        )

    def device_plugin(self) -> None:
        """Our device plugin on one node, with devices that are nothing and one that is a node in /dev."""
        lab, first = self.lab, self.lab.worker_names[0]
        say(f"7. A device plugin on {first}: four units of nothing, and one that is /dev/full")
        image = lab.device_plugin(self.output / "7-image.log")
        wish = {**image, **DEVICES}
        run = self._deploy("7-devices.json", wish)
        if run.rc != 0:
            raise SystemExit(f"device_plugin.yml failed: {' '.join(run.reasons)}")
        self.facts["device_plugin"] = {"seconds": run.seconds}
        allocatable = lab.get("node", first)["status"]["allocatable"]
        self.claim(
            allocatable[UNIT] == "4" and allocatable[FULL] == "1",
            f"without a registry and without privileges; allocatable was right when the role ended ({run.seconds:.0f} s)",
        )
        pods = Pods(lab)
        pods.make("user", devices={UNIT: 2, FULL: 1}, tolerates=DONGLE, image=image["device_plugin_image"], says=SAYS)
        pods.wait("user", lambda pod: pod["status"]["phase"] == "Running")
        said = pods.said("user")
        self.claim(
            re.fullmatch(rf"UNITS=fake-\d,fake-\d /opt/node={first} /dev/unit0=1:7", said) is not None,
            f"a pod that asks for two and one has environment, mount and device: {said}",
        )
        found = run_module(
            lab,
            "pod_resource_info",
            {"plugin_token_secret": TOKEN_SECRET, "nodes": [first]},
            self.output / "7-held.json",
        )
        held = next(found.results("pod_resource_info")).get("allocations", [])
        self.claim(
            {entry["pod"] for entry in held} == {"user"} and len(held) == 3,
            f"pod_resource_info tells who holds what: {', '.join(entry['pod'] + ' ' + entry['device_id'] for entry in held)}",
        )
        again = self._deploy("7-again.json", wish)
        self.claim(
            again.rc == 0 and again.changed == 0, f"the same again: changed={again.changed} ({again.seconds:.0f} s)"
        )
        pods.remove_all()
        gone = self._deploy("7-absent.json", {"device_plugin_state": "absent"})
        left = lab.kubectl("get", "namespace", "nodecraft-device-plugin", "--ignore-not-found", "--output=name")
        self.claim(
            gone.rc == 0 and not left,
            "state absent: removed with its namespace; the kubelet shows the names for some time",
        )

    def _deploy(self, record: str, variables: t.Mapping[str, t.Any]) -> Run:
        return run_playbook(self.lab, variables, self.output / record, name="device_plugin")

    def take_back(self) -> None:
        """Nothing is asked for any more."""
        say("8. An empty wish")
        nothing = {"control_plane_feature_gates": {}, "placement_guard_state": "absent"}
        self.ask({"all": {"vars": {**self.settings, **nothing}}})
        run = self.run("8-take-back.json")
        self.facts["take_back"] = {"seconds": run.seconds}
        (before, nodes), after = self.start, self.lab.look()
        self.claim(
            run.rc == 0 and manifests(after) == manifests(before) and commands(after) == commands(before),
            f"manifests and command lines of the control plane are as kubeadm made them ({run.seconds:.0f} s)",
        )
        self.claim(
            all(
                after[name]["files"] == before[name]["files"]
                and kubelet_arguments(after[name]) == kubelet_arguments(before[name])
                for name in self.lab.names
            ),
            "so are files and command lines of the kubelets",
        )
        deadline = time.monotonic() + LONGEST_LOOK
        while self.lab.node_objects() != nodes and time.monotonic() < deadline:
            time.sleep(1)
        self.claim(
            self.lab.node_objects() == nodes, "labels, taints, annotations and capacity of all nodes are the first ones"
        )
        self.show_differences(nodes)
        second = self.run("8-again.json")
        self.claim(second.rc == 0 and second.changed == 0, f"and once more: changed={second.changed}")


def say(text: str = "", indent: int = 0) -> None:
    """Print, within the width of a terminal."""
    for line in textwrap.wrap(text, 120 - indent) or [""]:
        say_line(" " * indent + line)


def differences(before: str, after: str) -> list[str]:
    """The lines that differ, marked."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [f"{line[0]} {line[1:].strip()}" for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


def show_component(result: Json) -> None:
    """One component: its diff, what it said in the rehearsal, how long it was away."""
    transaction, rehearsal = result["transaction"], result["rehearsal"]
    say(
        f"{result['node']}: {result['name']}, rehearsal {rehearsal['verdict']} in {rehearsal['seconds']:.1f} s; {ending(transaction)}",
        3,
    )
    for line in differences(result["diff"][0]["before"], result["diff"][0]["after"]):
        say_line(f"     {line}")


def ending(transaction: Json) -> str:
    """How a transaction ended."""
    return (
        f"{transaction['outcome']} after {transaction['seconds']:.0f} s, outage {transaction['outage_seconds']:.1f} s"
    )


def node_operations(run: Run) -> list[str]:
    """What was changed through the API."""
    found: dict[str, None] = {}
    for result in run.results("node_taint", "node_extended_resource", "node_label"):
        for name, node in result.get("nodes", {}).items():
            for change in node["operations"] if node["changed"] else ():
                found[f"{name}: {change['field']} {change['key']} {change['after'] or ''}".rstrip()] = None
    return list(found)


def manifests(nodes: dict[str, Json]) -> Json:
    """The manifests of every node."""
    return {name: node["manifests"] for name, node in nodes.items()}


def commands(nodes: dict[str, Json]) -> Json:
    """The command lines of every control plane."""
    return {
        name: {component: [process["arguments"] for process in found] for component, found in node["processes"].items()}
        for name, node in nodes.items()
    }


def processes(node: Json) -> dict[str, list[int]]:
    """The process numbers of each component."""
    return {name: [process["pid"] for process in found] for name, found in node["processes"].items()}


def arguments(node: Json, component: str) -> list[str]:
    """The command line of a component that runs once."""
    (process,) = node["processes"][component]
    return t.cast("list[str]", process["arguments"])


def kubelet_arguments(node: Json) -> list[list[str]]:
    """The command lines of the kubelets of a node."""
    return [process["arguments"] for process in node["kubelets"]]


PARTS: dict[str, t.Callable[[Story], None]] = {
    "change": Story.change,
    "pods": Story.pods,
    "again": Story.again,
    "refusal": Story.refusal,
    "restore": Story.restore,
    "device_plugin": Story.device_plugin,
    "take_back": Story.take_back,
}


def main() -> None:
    """Show it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--standing", action="store_true", help="on the lab as it stands, with kubeadm's own settings")
    parser.add_argument("--ssh", action="store_true", help="reach the nodes by SSH instead of podman")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "build/demo", help="the folder for what was seen, as JSON"
    )
    parser.add_argument("--leave-out", nargs="+", choices=PARTS, default=[], help="parts that are not shown")
    parser.add_argument("--min-ready-seconds", type=int, default=10, help="how long what was changed is watched")
    asked = parser.parse_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    lab = Lab.of_environment(by_ssh=asked.ssh)
    story = Story(lab, asked.output, asked.min_ready_seconds)
    if not asked.standing:
        say(
            f"Starting lab {lab.name}: Kubernetes {lab.kubernetes}, {lab.control_planes} control plane, {lab.workers} workers"
        )
        story.facts["lab"] = {"kubernetes": lab.kubernetes, "seconds": lab.start_anew(asked.output / "lab.log")}
        say(
            f"ready after {story.facts['lab']['seconds']:.0f} s (the first time builds Kubernetes; log: {asked.output}/lab.log)",
            3,
        )
    for name, part in PARTS.items():
        if name not in asked.leave_out:
            part(story)
    story.facts["broken_claims"] = story.broken_claims
    (asked.output / "demo.json").write_text(json.dumps(story.facts, indent=2), encoding="utf-8")
    say(f"All of it as JSON: {asked.output}/")
    say(f"The lab stays up (inventory: build/lab/{lab.name}/inventory.yml); make lab-down LAB={lab.name} removes it.")
    if story.broken_claims:
        sys.exit(f"{len(story.broken_claims)} claim(s) did not hold.")


if __name__ == "__main__":
    main()
