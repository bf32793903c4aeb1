# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of the role C(control_plane) on a play without Ansible, in a few words for a test."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_hosts import (
    API_SERVER,
    ETCD,
    ON,
    observed,
    pod,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import FakePlay, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import ControlPlanes, lease_result

REHEARSED: Json = {"rehearsal": {"verdict": "accepted", "message": "", "seconds": 0.1}}
CHANGES: Json = {API_SERVER: pod(ON, **REHEARSED)}
NOTHING: Json = {API_SERVER: pod(**REHEARSED)}
DOWN: Json = {API_SERVER: pod(ON, problem="is down", **REHEARSED)}
FAILED: Json = {"changed": True, "failed": True, "msg": "the change was rolled back"}
SILENT: Json = {"failed": True, "api_reachable": False, "msg": "the API server did not answer."}
READY: Json = {"static_pods": [observed(name) for name in (API_SERVER, ETCD)]}
TRANSACTION: Json = {
    "id": "new",
    "outcome": "committed",
    "seconds": 1.0,
    "outage_seconds": 1.0,
    "proof": {"pid": 1, "uid": "u"},
}


def plan(host: str, pods: Json | None = None, **more: t.Any) -> Json:
    """The result of the module for all static pods of a host."""
    cluster = {"ca_sha256": "a", "server": "https://a:6443", "machine_id": f"id-{host}"}
    return {"static_pods": CHANGES if pods is None else pods, "others": {}, "node": host, "cluster": cluster, **more}


def role_run(
    *pods: Json | None,
    plans: t.Mapping[str, t.Any] | None = None,
    changes: t.Mapping[str, t.Any] | None = None,
    each: t.Mapping[str, Json] | None = None,
    groups: t.Mapping[str, t.Sequence[str]] | None = None,
    results: t.Mapping[str, t.Any] | None = None,
    variables: Json | None = None,
    **settings: t.Any,
) -> ControlPlanes:
    """A play on cp1, cp2 ... pods: what is planned on each. plans: whole results. changes: of those that do not go well."""
    names = [f"cp{number}" for number in range(1, len(pods) + 1)]
    hosts = {name: {**(variables or {}), **(each or {}).get(name, {})} for name in names}
    results = {"rollout_lease": lease_result, "static_pod_info": READY, **(results or {})}
    play = FakePlay(hosts, {"kube_control_plane": names} if groups is None else groups, results=results, **settings)
    made = {name: plan(name, each_pods) for name, each_pods in zip(names, pods, strict=True)}
    done = {name: (changes or {}).get(name) or {"changed": True, "transaction": TRANSACTION} for name in names}
    return ControlPlanes(play, {**made, **(plans or {})}, done)


def run(*pods: Json | None, **more: t.Any) -> ControlPlanes:
    found = role_run(*pods, **more)
    found.run()
    return found
