# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that change a node: returns what the host's variable C(stub) sets, and records the call."""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in

Change = dict[str, t.Any]
ID = "20260101T000000.000000Z-abcdef"
SETTING: list[Change] = [{"field": "args", "key": "v", "before": None, "after": ["5"]}]
ON: Change = {"field": "feature_gates", "key": "A", "before": None, "after": True}
OFF: Change = {"field": "feature_gates", "key": "B", "before": True, "after": None}
NO_FACTS: Change = {"settings": {}, "others": []}
OPERATIONS = {"nothing": [], "on": [ON], "off": [OFF], "both": [ON, OFF]}


def behaviour_of(call: stand_in.StandIn, name: str) -> str:
    """C(stub): component -> changes, nothing, refused (by the rehearsal), rolled_back, gone, lost (in the middle), unseen
    (its end), busy, leads (changes, and its node leads), or loses (leads, and what worked before does not); for gates on, off, or both. A list: one for
    each call, the last for all that follow. What reverts a change goes well.
    """
    if call.arguments.get("state") == "previous":
        return "changes"
    behaviour = call.variable("stub", {}).get(name, "nothing")
    if not isinstance(behaviour, list):
        return str(behaviour)
    before = sum(len(call.calls(step, name, call.host)) for step in ("plan", "change"))
    return str(behaviour[min(before, len(behaviour) - 1)])


def cluster_of(authority: str) -> dict[str, str]:
    """The identity of a cluster with this authority, none for an empty one."""
    return {"ca_sha256": authority, "server": f"https://{authority}:6443" if authority else "", "machine_id": ""}


def plan_of(call: stand_in.StandIn, name: str, behaviour: str) -> dict[str, t.Any]:
    """The result of the module before it changes anything.

    C(stub_cluster): the authority of the node's cluster, a by default. C(stub_control_plane): whether the kubelet finds a control
    plane, which it does on hosts called cp1, cp2 ... by default.
    """
    refused = call.dry and behaviour == "refused"
    operations = [] if behaviour == "busy" else OPERATIONS.get(behaviour, SETTING)
    is_control_plane = call.variable("stub_control_plane", call.host.startswith("cp")) and behaviour != "busy"
    return {
        **({"failed": True, "msg": "refused in the rehearsal"} if refused else {}),
        **({"failed": True, "msg": "busy"} if behaviour == "busy" else {}),
        "busy": behaviour == "busy",
        "name": name,
        "node": call.host,
        "cluster": cluster_of(call.variable("stub_cluster", "a")),
        "manifest": "/m",
        "snapshot": None,
        "files": [],
        "problem": call.kubelet_problem(call.host) if name == "kubelet" and operations else None,
        "control_plane": ["etcd runs"] if is_control_plane else [],
        "limits": {"max_pods": 1},
        "sandbox_image": "registry.k8s.io/pause:3.10",
        "operations": operations,
        "diff": [],
        "changed": bool(operations),
        "rehearsal": {
            "verdict": "refused" if refused else "accepted",
            "message": "",
            "seconds": 0.1,
            "command": [],
            "warnings": [],
        },
        "transaction": None,
        "reverts": ID if call.arguments.get("state") == "previous" else None,
        "previous_transaction": None,
        "open_transaction": None,
    }


def start_change(call: stand_in.StandIn, name: str, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
    """Start a transaction where there is something to change. The stand-in for C(node_transaction) returns its end."""
    behaviour = behaviour_of(call, name)
    ending = {"rolled_back": "rolled_back", "loses": "rolled_back", "unseen": None}.get(behaviour, "committed")
    result = plan_of(call, name, behaviour)
    reason = "what worked before does not: a pod (none was made)" if behaviour == "loses" else ""
    call.record(component=name, ending=ending, reason=reason, arguments=arguments)
    if behaviour == "gone" or (behaviour == "lost" and not call.dry):
        stand_in.lose_connection()
    if result["operations"] and not call.dry:
        result["transaction"] = {"id": ID, "requested": {}, "outcome": None, "longest_seconds": 400}
    return result


def plan_pods(call: stand_in.StandIn, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
    """Plan each static pod, with its own settings and those of all, and read the others.

    C(stub_facts): what the plans have for kubeadm-config, see below.
    """
    call.dry = True
    shared = {name: value for name, value in arguments.items() if name != "static_pods"}
    observations, pods = call.observations(call.host), call.pod_states(call.host)
    call.record("read", "planned pods")
    seen = {name: stand_in.pod_of(name, state, observations) for name, state in pods.items()}
    plans = {}
    for name, settings in arguments["static_pods"].items():
        if not settings.pop("only_if_changed", False):
            plan = start_change(call, name, {**settings, **shared, "name": name})
            found = seen.pop(name, None) or stand_in.pod_of(name, "", observations)
            leads = behaviour_of(call, name) in ("leads", "loses")
            plans[name] = {"failed": False, "msg": None, "leads": leads, **plan, **found}
    failures = [plan for plan in plans.values() if plan["failed"]]
    facts = call.variable("stub_facts", None)
    if facts:  # what each static pod, and the API, has for kubeadm-config
        plans = {name: {**plan, "persistable": facts["pods"].get(name, NO_FACTS)} for name, plan in plans.items()}
    return {
        **({"kubeadm_config": facts["known"]} if facts else {}),
        "static_pods": plans,
        "others": seen,
        "node": call.host,
        "cluster": cluster_of(call.variable("stub_cluster", "a")),
        "kubelet_problem": call.kubelet_problem(call.host),
        "changed": False,
        "failed": bool(failures),
        "busy": bool(failures) and all(plan["busy"] for plan in failures),
        **({"msg": ", ".join(plan["msg"] for plan in failures)} if failures else {}),
    }


def main() -> t.NoReturn:
    """Change nothing."""
    call = stand_in.StandIn()
    if call.component == "static_pod_plan":
        stand_in.exit_json(plan_pods(call, call.arguments))
    stand_in.exit_json(start_change(call, call.arguments.get("name", "kubelet"), call.arguments))


if __name__ == "__main__":
    main()
