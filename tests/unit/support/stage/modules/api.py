# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(node_resource_info): returns what the host's variable C(stub_api) sets, and records the call.

C(stub_api): C(rejected) by node. C(unread): node -> why its kubelet cannot be read.
C(devices): node -> how many devices a plugin offers there, a list with one number for each observation of the node, the last for
all that follow. C(others) among the nodes: each that is not named.
C(control_planes): the nodes that have the label of control planes.
C(offered): node -> its extended resources, for a query of all nodes. C(others): nodes without any.
"""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in

PLANE = "node-role.kubernetes.io/control-plane"
Json = dict[str, t.Any]


def requested_nodes(arguments: Json) -> list[str]:
    """The nodes that are requested by their names."""
    return [name for option in ("nodes", "restarted_nodes", "kubelets") for name in arguments.get(option, [])]


def devices_of(call: stand_in.StandIn, settings: Json, name: str) -> t.Any:
    """How many devices a node offers after all queries until now."""
    devices = settings.get("devices", {})
    offered = devices.get(name, devices.get("others", [0]))
    if len(offered) == 1:
        return offered[0]
    observations = sum(name in requested_nodes(record["arguments"]) for record in call.calls("query", "api"))
    return offered[min(observations, len(offered) - 1)]


def all_nodes(settings: Json) -> Json:
    """The nodes of the whole cluster."""
    offered = {**{name: {} for name in settings.get("others", [])}, **settings.get("offered", {})}
    found: Json = {name: {"labels": {}, "extended_resources": offered[name]} for name in offered}
    return {**found, **{name: {"labels": {PLANE: ""}} for name in settings.get("control_planes", [])}}


def node_result(name: str, arguments: Json, settings: Json, devices: t.Any) -> Json:
    """The result for one node."""
    return {
        "extended_resources": {
            "example.com/dongle": {"allocatable": str(devices), "device_plugin": True},
            # What no device plugin offers.
            "example.com/patched": {"allocatable": str(devices), "device_plugin": False},
        }
        if devices is not None
        else {},
        "readmission": settings.get("rejected", {}).get(name, []) if arguments.get("readmission") else None,
        "running": {} if arguments.get("running") else None,
        "losses": {"watched": 2, "lost": [], "restarted": [], "deleted": [], "unknown": []}
        if name in arguments.get("running_before", {})
        else None,
        "kubelet": kubelet(name, arguments, settings),
    }


def kubelet(name: str, arguments: Json, settings: Json) -> Json | None:
    """What the kubelet of a node uses, where that is requested."""
    if name not in arguments.get("kubelets", {}):
        return None
    problem = settings.get("unread", {}).get(name)
    return {"config": None if problem else {}, "differences": [], "problem": problem}


def main() -> t.NoReturn:
    """Read no cluster."""
    call = stand_in.StandIn()
    call.reach_machine()
    settings = call.variable("stub_api", {})
    nodes = requested_nodes(call.arguments)
    devices = {name: devices_of(call, settings, name) for name in nodes}
    call.record("query", "api")
    one_by_one = {name: node_result(name, call.arguments, settings, devices[name]) for name in nodes}
    is_whole = not nodes or "restarted_nodes" in call.arguments
    known = all_nodes(settings) if is_whole else {}
    named = {name: {"labels": {}, **known.get(name, {}), **found} for name, found in one_by_one.items()}
    stand_in.exit_json({"changed": False, "nodes": {**known, **named}})


if __name__ == "__main__":
    main()
