# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters of placement guards, and the nodes and DaemonSets that they meet, for tests."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.extended_resources import RESOURCES
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.taints import TAINTS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node

D = "example.com/dongle"
NAME = "nodecraft-placement-guard"
TRIAL = f"{NAME}-trial"
PARAMS: Json = {
    "state": "present",
    "name": NAME,
    "nodes": [],
    "resources": [D],
    "taint_keys": None,
    "enforce": False,
    "on_node_name": "refuse",
    "require_request": False,
    "schedulers": ["system:kube-scheduler"],
    "exempt_namespaces": [],
    "exempt_daemon_sets": [],
    "exceptions": [],
    "allow_refusals": False,
    "trial_namespace": "default",
    "wait_timeout": 30,
    "concurrency": 8,
}


def tainted(name: str, *taints: str, resources: t.Sequence[str] = (), owned: bool = True, **parts: t.Any) -> Json:
    """A node. taints: keys with effects. resources: those that this collection advertises. owned: whether the taints are ours."""
    held = [{"key": taint.partition(":")[0], "effect": taint.partition(":")[2]} for taint in taints]
    records = {TAINTS.annotation: taints if owned else (), RESOURCES.annotation: resources}
    annotations = {key: _record(names) for key, names in records.items() if names}
    return node(name, taints=held, annotations=annotations, **parts)


def _record(names: t.Iterable[str]) -> str:
    return json.dumps({name: {"set": "", "original": None} for name in names})


NODES = (
    tainted("cp1", "node-role.kubernetes.io/control-plane:NoSchedule", owned=False),
    tainted("w1", f"{D}:NoSchedule", resources=[D]),
    tainted("w2", f"{D}:NoSchedule"),
    tainted("w3", resources=["example.com/licence"]),
)


def daemon_set(name: str, *tolerations: Json, resources: Json | None = None, **spec: t.Any) -> Json:
    """A DaemonSet. name: with its namespace. spec: of its pods."""
    namespace, _slash, own = name.partition("/")
    pod = {"tolerations": list(tolerations), "containers": [{"resources": resources or {}}], **spec}
    return {"metadata": {"namespace": namespace, "name": own}, "spec": {"template": {"spec": pod}}}


def expressions(policy: Json) -> dict[str, str]:
    """The variables of a policy, by name."""
    return {entry["name"]: entry["expression"] for entry in policy["spec"]["variables"]}
