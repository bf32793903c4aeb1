# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of the role C(node_kubelet) on a play without Ansible, in a few words for a test."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import Call, FakePlay, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import Kubelets, lease_result, nodes_result

SETTING: Json = {"field": "args", "key": "v", "before": None, "after": ["5"]}
DONE: Json = {"changed": True, "transaction": {"id": "new", "outcome": "committed"}}
FAILED: Json = {"changed": True, "failed": True, "msg": "it is restored"}
SILENT: Json = {"failed": True, "msg": "no credentials."}
# An API that shows a kubelet which uses something else.
DIFFERENT: Json = {
    "w1": {
        "kubelet": {
            "config": {},
            "differences": [{"field": "config", "key": "maxPods", "expected": 50, "found": 110}],
            "problem": None,
        }
    }
}
REJECTED: Json = {"w2": {"readmission": [{"pod": "default/picky", "reason": "selects disk=fast"}]}}


def plan(host: str, **more: t.Any) -> Json:
    """The result of the module before it changes anything. Hosts called cp1, cp2 ... are control planes."""
    return {
        "node": host,
        "cluster": {"ca_sha256": "a", "server": "https://a:6443", "machine_id": f"id-{host}"},
        "control_plane": ["etcd runs"] if host.startswith("cp") else [],
        "limits": {"max_pods": 1},
        "operations": [SETTING],
        "changed": True,  # as in check mode
        "open_transaction": None,
        "previous_transaction": None,
        "rehearsal": {"verdict": "accepted", "message": "", "seconds": 0.1},
        **more,
    }


IDLE: Json = {"operations": []}


def role_run(
    *names: str,
    plans: t.Mapping[str, Json] | None = None,
    changes: t.Mapping[str, t.Any] | None = None,
    each: t.Mapping[str, Json] | None = None,
    groups: t.Mapping[str, t.Sequence[str]] | None = None,
    results: t.Mapping[str, t.Any] | None = None,
    variables: Json | None = None,
    **settings: t.Any,
) -> Kubelets:
    """A play on hosts. plans: what differs. changes: of those that do not go well. each: variables of single hosts. variables: of all."""
    hosts = {name: {**(variables or {}), **(each or {}).get(name, {})} for name in names}
    planes = [name for name in names if name.startswith("cp")]
    play = FakePlay(
        hosts,
        {"kube_control_plane": planes} if groups is None else groups,
        results={"node_resource_info": nodes_result, "rollout_lease": lease_result, **(results or {})},
        **settings,
    )
    made = {name: plan(name, **(plans or {}).get(name, {})) for name in names}
    return Kubelets(play, made, {name: (changes or {}).get(name, DONE) for name in names})


def run(*names: str, **more: t.Any) -> Kubelets:
    found = role_run(*names, **more)
    found.run()
    return found


def node_queries(found: Kubelets) -> list[Json]:
    """The queries of single nodes, in their order, but for the pods that run when a turn begins."""
    calls = [call.arguments for call in found.play.calls("node_resource_info") if not call.arguments.get("running")]
    return [arguments for arguments in calls if arguments.keys() & {"nodes", "restarted_nodes", "kubelets"}]


def lease_calls(found: Kubelets) -> list[tuple[str, str]]:
    """The states of the Lease that were requested, and where."""
    return [(call.arguments["state"], call.on) for call in found.play.calls("rollout_lease")]


FOUR = ("cp1", "w1", "w2", "w3")


def advertising(node: str, *numbers: t.Any) -> t.Callable[[Call], Json]:
    """An API that shows one number of devices at each query of a node; silent is no response, none no such resource."""
    left = list(numbers)

    def result(call: Call) -> Json:
        options = ("nodes", "kubelets") if call.arguments.get("readmission") else ("nodes",)
        requested = [name for option in options for name in call.arguments.get(option, [])]
        if node not in requested or call.arguments.get("running"):
            return nodes_result(call)
        number = left.pop(0) if len(left) > 1 else left[0]
        if number == "silent":
            return SILENT
        resources = {} if number is None else {"a/b": {"allocatable": str(number), "device_plugin": True}}
        return nodes_result(call, **{node: {"extended_resources": resources}})

    return result
