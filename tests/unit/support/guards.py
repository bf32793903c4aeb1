# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placement guards, their parameters, and the nodes and DaemonSets that they meet, for tests."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import plan as placement_guard
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import policies as placement_policies
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import protection as placement_protection
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.desired import Desired, parse_desired
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import Guard, ObjectKey
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.protection import Cluster, Protection
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
    """A node. taints: keys with effects. resources: those that this collection advertises. owned: whether this collection set the taints."""
    node_taints = [{"key": taint.partition(":")[0], "effect": taint.partition(":")[2]} for taint in taints]
    records = {TAINTS.annotation: taints if owned else (), RESOURCES.annotation: resources}
    annotations = {key: _record(names) for key, names in records.items() if names}
    return node(name, taints=node_taints, annotations=annotations, **parts)


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


GUARD = Guard(
    name="guard",
    nodes=("w1", "w2"),
    resources=(D,),
    taints=(),
    require_request=False,
    enforce=False,
    affinity=False,
    schedulers=("system:kube-scheduler",),
    exceptions=(),
    exempt_daemon_sets=(),
    exempt_namespaces=("kube-system",),
)


STRICT_GUARD = dataclasses.replace(
    GUARD,
    resources=(D, "example.com/b"),
    taints=({"effect": "NoExecute", "key": "a", "value": ""}, {"effect": "NoSchedule", "key": "a", "value": "b"}),
    require_request=True,
    enforce=True,
    affinity=True,
    schedulers=("system:kube-scheduler", "system:serviceaccount:ns:mine"),
    exceptions=('object.metadata.namespace == "ops"', 'request.userInfo.username == "ada"\n'),
    exempt_daemon_sets=("ns/agent",),
    exempt_namespaces=("kube-system", "ops"),
)


def by_kind(objects: list[Json]) -> dict[str, Json]:
    """The objects of a guard, of each kind one."""
    return {entry["kind"]: entry for entry in objects}


def desired(**params: t.Any) -> Desired:
    """What a task sets, with the defaults of the module."""
    return parse_desired({**PARAMS, **params})


def stored_objects(desired: Desired, *nodes: str) -> dict[ObjectKey, Json]:
    """The objects of a guard for these nodes as they were read."""
    found = placement_policies.build_objects(placement_guard.build_guard(desired, Protection(nodes=nodes)))
    for entry in found:
        entry["metadata"]["resourceVersion"] = "7"
    return {placement_guard.key_of(entry): entry for entry in found}


def protected(
    desired: Desired,
    nodes: t.Sequence[Json] = NODES,
    former: t.Sequence[str] = (),
    *,
    sets: t.Sequence[Json] = (),
    others: t.Mapping[str, Json] | None = None,
    dry: bool = False,
    **workloads: t.Sequence[Json],
) -> Protection:
    """The nodes that a desired state protects. former: nodes that the guard in force protects. sets: DaemonSets. others: policies of other guards."""
    objects = stored_objects(desired, *former) if former else {}
    controllers = {"DaemonSet": sets, **workloads}
    cluster = Cluster(objects, {node["metadata"]["name"]: node for node in nodes}, controllers, others or {})
    return placement_protection.plan_protection(desired, cluster, dry=dry)


def refusal_message(action: t.Callable[[], t.Any]) -> str:
    """The message of the Refusal that an action raises."""
    with pytest.raises(Refusal) as caught:
        action()
    return str(caught.value)
