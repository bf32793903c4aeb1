# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Try every way to a node at once, remove it all again, and print as JSON what came of each: KUBECONFIG NODE NAMESPACE.

Knows nothing of the collection's own code. A way that was not refused ends with the nodes of its pods.
"""

from __future__ import annotations

import json
import sys
import time
import typing as t

from kubernetes import client, config, dynamic
from kubernetes.dynamic.exceptions import DynamicApiError

Json = dict[str, t.Any]

DONGLE = "example.com/dongle"
# Seconds until every way has come to its end. The controller of DaemonSets stops at the first pod that is refused, and tries the other
# nodes again later, each time after twice the wait.
WAIT_TIMEOUT = 180
EVERYTHING = [{"operator": "Exists"}]
KINDS = ("Pod", "Deployment", "Job", "DaemonSet")


def template(way: str, *, dongles: int = 0, **spec: t.Any) -> Json:
    """The template of the pods of a way."""
    container: Json = {"name": "pause", "image": "lab.local/pause:1", "imagePullPolicy": "IfNotPresent"}
    if dongles:
        container["resources"] = {"limits": {DONGLE: dongles}}
    pod = {"terminationGracePeriodSeconds": 0, "containers": [container], **spec}
    return {"metadata": {"labels": {"way": way}}, "spec": pod}


def object_of(kind: str, way: str, pod: Json) -> Json:
    """An object of that kind with such pods."""
    metadata = {"name": way, "labels": {"way": way}}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": pod["spec"]}
    if kind == "Job":
        once = {"metadata": pod["metadata"], "spec": {**pod["spec"], "restartPolicy": "Never"}}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": {"template": once}}
    spec = {"selector": {"matchLabels": {"way": way}}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def ways_to(node: str) -> dict[str, Json]:
    """Every way that is an object, by name."""
    on_it = {"nodeSelector": {"kubernetes.io/hostname": node}}
    kinds: dict[str, tuple[str, Json]] = {}
    for kind in KINDS:
        kinds[f"plain-{kind.lower()}"] = (kind, {})
        kinds[f"named-{kind.lower()}"] = (kind, {"nodeName": node})
    kinds |= {
        # Its controller makes no pod for a node whose taint it does not tolerate.
        "named-daemonset": ("DaemonSet", {"nodeName": node, "tolerations": EVERYTHING}),
        "named-requesting-pod": ("Pod", {"nodeName": node, "dongles": 1}),
        "named-requesting-deployment": ("Deployment", {"nodeName": node, "dongles": 1}),
        "requesting-pod": ("Pod", {"dongles": 1, "tolerations": [{"key": DONGLE, "operator": "Exists"}]}),
        "tolerating-pod": ("Pod", {"tolerations": EVERYTHING, **on_it}),
        "tolerating-daemonset": ("DaemonSet", {"tolerations": EVERYTHING}),
        # No scheduler places them, so that they can be bound manually.
        "binding-subresource": ("Pod", {"schedulerName": "none"}),
        "bindings": ("Pod", {"schedulerName": "none"}),
    }
    return {way: object_of(kind, way, template(way, **options)) for way, (kind, options) in kinds.items()}


def is_unschedulable(pod: Json) -> bool:
    """Whether the scheduler found no node for a pod."""
    conditions = pod.get("status", {}).get("conditions", [])
    return any(each["type"] == "PodScheduled" and each.get("reason") == "Unschedulable" for each in conditions)


class Namespace:
    """A namespace of the lab for one run."""

    def __init__(self, kubeconfig: str, name: str) -> None:
        config.load_kube_config(kubeconfig)
        self.api = dynamic.DynamicClient(client.ApiClient())
        self.name = name
        self.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        while "refused" in self.read("serviceaccounts/default"):  # No pod is taken without it.
            time.sleep(0.1)

    def send(self, verb: str, path: str, body: Json | None = None) -> Json:
        """One request; the message of a refusal instead of a response."""
        try:
            response = self.api.request(verb, path, body=body, serialize=False)
        except DynamicApiError as exc:
            return {"refused": json.loads(exc.body)["message"]}
        return dict(json.loads(response.data))

    def create(self, thing: Json) -> Json:
        """Make an object."""
        group = thing["apiVersion"]
        base = f"/api/{group}" if "/" not in group else f"/apis/{group}"
        return self.send("POST", f"{base}/namespaces/{self.name}/{thing['kind'].lower()}s", thing)

    def read(self, what: str, group: str = "api/v1") -> Json:
        """Read something."""
        return self.send("GET", f"/{group}/namespaces/{self.name}/{what}")

    def bind(self, path: str, pod: str, node: str) -> Json:
        """Bind a pod manually."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod, "namespace": self.name}}
        return self.send("POST", f"/api/v1/namespaces/{self.name}/{path}", {**body, "target": target})

    def pods(self) -> dict[str, list[Json]]:
        """The pods of each way."""
        found: dict[str, list[Json]] = {}
        for pod in self.read("pods")["items"]:
            found.setdefault(pod["metadata"].get("labels", {}).get("way", ""), []).append(pod)
        return found

    def creation_errors(self) -> dict[str, str]:
        """The errors that controllers got when they created the pods of a way."""
        events = [each for each in self.read("events")["items"] if each["reason"] == "FailedCreate"]
        # The ReplicaSet of a Deployment has its name before its own.
        return {
            event["involvedObject"]["name"].rpartition("-")[0]
            if event["involvedObject"]["kind"] == "ReplicaSet"
            else event["involvedObject"]["name"]: event["message"]
            for event in events
        }

    def daemon_sets(self) -> dict[str, int]:
        """On how many nodes each DaemonSet has to have a pod; 0 before its controller counted."""
        found = self.read("daemonsets", "apis/apps/v1")["items"]
        return {each["metadata"]["name"]: int(each["status"].get("desiredNumberScheduled", 0)) for each in found}


def collect_outcomes(namespace: Namespace, responses: t.Mapping[str, Json]) -> dict[str, Json]:
    """What became of each way up to now. responses: to the requests that created them."""
    pods, creation_errors, desired_numbers = namespace.pods(), namespace.creation_errors(), namespace.daemon_sets()
    found = {}
    for way, response in responses.items():
        nodes = sorted(pod["spec"]["nodeName"] for pod in pods.get(way, []) if "nodeName" in pod["spec"])
        refused = response.get("refused") or creation_errors.get(way, "")
        waiting = sum(is_unschedulable(pod) for pod in pods.get(way, []))
        # A DaemonSet that is refused on one node still has its pods on the others.
        missing = desired_numbers.get(way, 1) - len(nodes) - waiting - bool(refused)
        found[way] = {"nodes": nodes, "refused": refused, "ended": missing <= 0 and desired_numbers.get(way, 1) > 0}
    return found


def main(kubeconfig: str, node: str, name: str) -> None:
    """Try them all."""
    namespace = Namespace(kubeconfig, name)
    responses = {way: namespace.create(thing) for way, thing in ways_to(node).items()}
    responses["binding-subresource"] = namespace.bind("pods/binding-subresource/binding", "binding-subresource", node)
    responses["bindings"] = namespace.bind("bindings", "bindings", node)
    end = time.monotonic() + WAIT_TIMEOUT
    found = collect_outcomes(namespace, responses)
    while not all(way["ended"] for way in found.values()) and time.monotonic() < end:
        time.sleep(0.3)
        found = collect_outcomes(namespace, responses)
    namespace.send("DELETE", f"/api/v1/namespaces/{name}")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
