# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts in a rollout over a control plane, as the decisions see them: with the results of their tasks, which a test sets briefly."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.static_pod_results import StaticPodHost
from ansible_collections.nodecraft.kubeadm.tests.unit.support.rollouts import registered

Json = dict[str, t.Any]

API_SERVER, SCHEDULER, ETCD = "kube-apiserver", "kube-scheduler", "etcd"
ON: Json = {"field": "feature_gates", "key": "A", "before": None, "after": True}
SETTINGS: Json = {
    "control_plane_lease": True,
    "control_plane_lease_takeover": False,
    "control_plane_resume": False,
    "control_plane_api_host": "",
    "lock_timeout": 600,
    "wait_timeout": 300,
    "min_ready_seconds": 10,
    "confirm": False,
    "confirm_timeout": 60,
    "node_name": "",
    "desired": "a digest",
    "purge": True,
    "control_plane_persist": False,
    "control_plane_persist_env": [],
    "control_plane_persist_feature_gates": [],
    "persists": True,
    "static_pods": ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"],
}


def pod(*operations: Json, problem: str | None = None, phase: str | None = None, **more: t.Any) -> Json:
    """The plan of a static pod. problem: what is wrong with it now. phase: of a transaction that is open."""
    return {
        "operations": list(operations),
        "ready": problem is None,
        "problem": problem,
        "open_transaction": {"id": "1", "phase": phase} if phase is not None else None,
        "previous_transaction": None,
        "failed": False,
        "diff": ["not kept"],
        **more,
    }


def results(registers: Json) -> StaticPodHost:
    """A host as the decisions see it."""
    return StaticPodHost(registered(registers))


def host(name: str, planned: Json | None = None, *, others: Json | None = None, **settings: t.Any) -> Json:
    """A host that has planned; without what is planned, its API server changes."""
    pods = {API_SERVER: pod(ON)} if planned is None else planned
    cluster = {"ca_sha256": "a", "server": "https://a:6443", "machine_id": f"machine-{name}"}
    return {
        "begin": {"at_work": True, "pass_id": name, "settings": {**SETTINGS, **settings}},
        "plan": {"static_pods": pods, "others": others or {}, "node": name, "cluster": cluster, "failed": False},
    }


def after_turn(registers: Json, *results: Json, order: t.Sequence[str] = (API_SERVER,)) -> Json:
    """The same host after its turn. results: of the changes that were made, each in the order of the turn."""
    own = registers["begin"]["pass_id"]
    made = [
        {"item": {"name": order[number], "pass_id": own}, "failed": False, **result}
        for number, result in enumerate(results)
    ]
    changes = [{"name": name, "pass_id": own} for name in order]
    return {**registers, "turn": {"pass_id": own, "changes": changes}, "change": {"results": made}}


def after_failure(registers: Json, step: str, why: str) -> Json:
    """The same host after a step that failed."""
    return {**registers, step: {"pass_id": registers["begin"]["pass_id"], "failed": True, "msg": why}}


def after_observation(registers: Json, **pods_by_host: t.Sequence[Json] | str) -> Json:
    """The same host in its turn, after it observed others. pods_by_host: by host its static pods, or why they are not known."""
    results = [
        {"host": name, "static_pods": None, "msg": pods}
        if isinstance(pods, str)
        else {"host": name, "static_pods": list(pods)}
        for name, pods in pods_by_host.items()
    ]
    return {**registers, "observe": {"results": results}}


def observed(name: str, problem: str | None = None) -> Json:
    """A static pod as C(static_pod_info) returns it."""
    return {"name": name, "ready": problem is None, "problem": problem, "unverified": [], "open_transaction": None}
