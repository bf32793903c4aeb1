# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server with admission policies, which come into force while a caller waits."""

from __future__ import annotations

import copy
import json
import typing as t
from urllib.parse import parse_qsl, unquote, urlsplit

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import SLICES
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import policies as placement_policies
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import (
    ANNOTATION,
    BINDING,
    GROUP,
    GUARD_KINDS,
    MUTATION,
    MUTATION_BINDING,
    POLICY,
    TRIAL_LABEL,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.protection import WORKLOADS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi, HttpError, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import expressions

ObjectKey = tuple[str, str]
PLURALS = {placement_policies.path_of(kind).rpartition("/")[2]: kind for kind in GUARD_KINDS}
PODS = "/api/v1/namespaces/default/pods"


class FakeGuards(FakeApi):
    """The server. guards: the objects by kind and name. served: the kinds that it has. writes: the stored writes, in order.

    in_force: the objects that pods meet, which are those of the last sync. syncs: whether it syncs at all. syncs_before_pods: whether
    it does so before every pod.
    before_object, before_pod: called before an object is read or written, with verb, key and whether it is a dry run, and before a pod is
    admitted; they may raise an HttpError. requested_pods: all pods that were sent. created_pods: those that were no dry runs.
    unacknowledged: objects whose next write is stored, but gets an error.
    checked: the status that the controller manager writes into a policy; None: it writes none.
    """

    def __init__(
        self,
        *nodes: Json,
        served: t.Sequence[str] = GUARD_KINDS,
        workloads: t.Mapping[str, t.Sequence[Json]] | None = None,
    ) -> None:
        super().__init__(*nodes)
        for kind, path in WORKLOADS.items():
            self.responses[path] = list((workloads or {}).get(kind, ()))
        self.responses[SLICES] = [
            {"ports": [{"name": "https", "port": 6443}], "endpoints": [{"addresses": ["127.0.0.1"]}]}
        ]
        self.served = served
        self.guards: dict[ObjectKey, Json] = {}
        self.in_force: dict[ObjectKey, Json] = {}
        self.syncs = True
        self.syncs_before_pods = False
        self.writes: list[str] = []
        self.requested_pods: list[Json] = []
        self.created_pods: list[Json] = []
        self.before_object: t.Callable[[str, ObjectKey, bool], None] = lambda verb, key, dry: None
        self.unacknowledged: list[ObjectKey] = []
        self.before_pod: t.Callable[[Json], None] = lambda pod: None
        self.checked: Json | None = {"observedGeneration": 1}

    def sync_policies(self) -> None:
        """Put what was written into force, as an API server does after a moment."""
        with self._lock:
            if self.syncs:
                self.in_force = copy.deepcopy(self.guards)
            for (kind, _name), found in self.guards.items():
                if kind == POLICY and self.checked is not None:
                    found["status"] = self.checked

    def _route(self, path: str) -> t.Callable[[str, str, bytes], Json | str]:
        key = urlsplit(path).path
        if key == GROUP:
            return self._discovery
        if key.startswith(f"{GROUP}/"):
            return self._guard
        return self._pod if key == PODS else super()._route(path)

    def _discovery(self, _verb: str, _path: str, _body: bytes) -> Json:
        return {
            "resources": [{"name": plural, "kind": kind} for plural, kind in PLURALS.items() if kind in self.served]
        }

    # ---- the objects ---------------------------------------------------------------------------------------------------

    def _guard(self, verb: str, path: str, body: bytes) -> Json:
        plural, *names = unquote(urlsplit(path).path)[len(GROUP) + 1 :].split("/")
        if verb == "GET" and not names:
            return self._list(PLURALS[plural], dict(parse_qsl(urlsplit(path).query)).get("labelSelector", ""))
        sent = json.loads(body) if body else {}
        key = (PLURALS[plural], names[0] if names else sent["metadata"]["name"])
        dry = "dryRun" in path
        if PLURALS[plural] not in self.served:
            raise HttpError(404, "the server could not find the requested resource")
        with self._lock:
            self.before_object(verb, key, dry)
            if verb in ("GET", "DELETE", "PUT") and key not in self.guards:
                raise HttpError(404, f'{plural} "{key[1]}" not found')
            if verb == "GET":
                return self.guards[key]
            if not dry:
                self.writes.append(f"{verb} {key[0]} {key[1]}")
            if verb == "DELETE":
                if not dry:
                    del self.guards[key]
                return {"kind": "Status", "status": "Success"}
            return self._store(verb, key, sent, dry)

    def _list(self, kind: str, selector: str) -> Json:
        label, _equals, value = selector.partition("=")
        found = [entry for key, entry in self.guards.items() if key[0] == kind]
        return {"items": [entry for entry in found if entry["metadata"].get("labels", {}).get(label) == value]}

    def _store(self, verb: str, key: ObjectKey, sent: Json, dry: bool) -> Json:
        version = self.guards[key]["metadata"]["resourceVersion"] if key in self.guards else None
        if (verb == "POST") is (key in self.guards) or sent["metadata"].get("resourceVersion") != version:
            raise HttpError(409, f'Operation cannot be fulfilled on "{key[1]}": the object has been modified')
        found = _with_defaults(sent)
        found["metadata"]["resourceVersion"] = str(int(version or 0) + 1)
        if not dry:
            self.guards[key] = found
            if key in self.unacknowledged:
                self.unacknowledged.remove(key)
                raise HttpError(503, "etcd is gone")
        return found

    def touch(self, key: ObjectKey) -> None:
        """Change an object, so that a writer who read it before gets a conflict."""
        metadata = self.guards[key]["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)

    # ---- the pods ------------------------------------------------------------------------------------------------------

    def _pod(self, _verb: str, path: str, body: bytes) -> Json:
        pod: Json = json.loads(body)
        if self.syncs_before_pods:
            self.sync_policies()
        with self._lock:
            self.requested_pods.append(pod)
            if "dryRun" not in path:
                self.created_pods.append(pod)
            self.before_pod(pod)
            for name in self._bound_policies(MUTATION_BINDING, pod):
                self._mutate(name, pod)
            for name in self._bound_policies(BINDING, pod):
                self._validate(name, pod)
        return pod

    def _bound_policies(self, kind: str, pod: Json) -> list[str]:
        """The names of the policies whose bindings of a kind select a pod."""
        found = [entry for (own, _name), entry in self.in_force.items() if own == kind]
        return [entry["spec"]["policyName"] for entry in found if _selects(entry, pod)]

    def _mutate(self, name: str, pod: Json) -> None:
        policy = self.in_force.get((MUTATION, name))
        if policy and pod["spec"].get("nodeName") in placement_policies.nodes_of(policy):
            pod["spec"]["affinity"] = {"nodeAffinity": pod["spec"].pop("nodeName")}
            pod["metadata"]["annotations"] = {ANNOTATION: f"{name} {placement_policies.revision_of(policy)}"}

    def _validate(self, name: str, pod: Json) -> None:
        policy, binding = self.in_force.get((POLICY, name)), self.in_force[BINDING, name]
        limits = pod["spec"]["containers"][0]["resources"]["limits"]
        node, requests = pod["spec"].get("nodeName"), any("/" in resource for resource in limits)
        reason = ""
        if not requests and _keys(policy) & {toleration["key"] for toleration in pod["spec"].get("tolerations", [])}:
            reason = "the pod tolerates a taint"
        if node in placement_policies.nodes_of(policy) and not requests:
            reason = f"the pod names the node {node}, which is kept for others"
        if policy and reason and placement_policies.denies(binding):
            stamp = f"({name} {placement_policies.revision_of(policy)})"
            raise HttpError(
                403,
                f"pods is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {reason} {stamp}",
            )


def _keys(policy: Json | None) -> set[str]:
    """The keys of the taints in a policy."""
    taints = expressions(policy).get("taints", "[]") if policy else "[]"
    return {taint["key"] for taint in json.loads(taints)}


def _selects(binding: Json, pod: Json) -> bool:
    selector = binding["spec"].get("matchResources", {}).get("objectSelector", {})
    label = pod["metadata"].get("labels", {}).get(TRIAL_LABEL)
    skipped = [value for entry in selector.get("matchExpressions", []) for value in entry["values"]]
    return label not in skipped and selector.get("matchLabels", {}).get(TRIAL_LABEL) in (None, label)


def _with_defaults(sent: Json) -> Json:
    """An object with what the API server writes into it by itself."""
    found = copy.deepcopy(sent)
    found["metadata"]["uid"] = "u"
    matched = found["spec"].get("matchConstraints")
    if matched:
        matched.update(matchPolicy="Equivalent", objectSelector={})
        for rule in matched["resourceRules"]:
            rule["scope"] = "*"
    return found
