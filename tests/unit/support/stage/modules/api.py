# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(node_resource_info): answers as the host's variable C(stub_api) says, and notes the call.

C(stub_api): C(rejected) by node. C(unread): node -> why its kubelet cannot be read.
C(devices): node -> how many devices a plugin offers there, a list with one number for each look at the node, the last for
all that follow. C(others) among the nodes: each that is not named.
C(control_planes): the nodes that have the label of control planes.
C(offered): node -> its extended resources, for a look at all nodes. C(others): nodes without any.
"""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in

PLANE = "node-role.kubernetes.io/control-plane"
Json = dict[str, t.Any]


def singly(arguments: Json) -> list[str]:
    """The nodes that are asked for by their names."""
    return [name for option in ("nodes", "restarted_nodes", "kubelets") for name in arguments.get(option, [])]


def devices_of(call: stand_in.StandIn, said: Json, name: str) -> t.Any:
    """How many devices a node offers after all looks until now."""
    devices = said.get("devices", {})
    offered = devices.get(name, devices.get("others", [0]))
    if len(offered) == 1:
        return offered[0]
    looks = sum(name in singly(noted["arguments"]) for noted in call.calls("ask", "api"))
    return offered[min(looks, len(offered) - 1)]


def all_nodes(said: Json) -> Json:
    """What a look at the whole cluster finds."""
    offered = {**{name: {} for name in said.get("others", [])}, **said.get("offered", {})}
    found: Json = {name: {"labels": {}, "extended_resources": offered[name]} for name in offered}
    return {**found, **{name: {"labels": {PLANE: ""}} for name in said.get("control_planes", [])}}


def one_node(name: str, arguments: Json, said: Json, devices: t.Any) -> Json:
    """What a look at a node finds."""
    return {
        "extended_resources": {
            "example.com/dongle": {"allocatable": str(devices), "device_plugin": True},
            # What no device plugin offers.
            "example.com/patched": {"allocatable": str(devices), "device_plugin": False},
        }
        if devices is not None
        else {},
        "readmission": said.get("rejected", {}).get(name, []) if arguments.get("readmission") else None,
        "running": {} if arguments.get("running") else None,
        "losses": {"watched": 2, "lost": [], "restarted": [], "deleted": [], "unknown": []}
        if name in arguments.get("running_before", {})
        else None,
        "kubelet": kubelet(name, arguments, said),
    }


def kubelet(name: str, arguments: Json, said: Json) -> Json | None:
    """What the kubelet of a node uses, for which it is asked."""
    if name not in arguments.get("kubelets", {}):
        return None
    problem = said.get("unread", {}).get(name)
    return {"config": None if problem else {}, "differences": [], "problem": problem}


def main() -> t.NoReturn:
    """Look at no cluster."""
    call = stand_in.StandIn()
    call.reach_machine()
    said = call.said("stub_api", {})
    nodes = singly(call.arguments)
    devices = {name: devices_of(call, said, name) for name in nodes}
    call.note("ask", "api")
    one_by_one = {name: one_node(name, call.arguments, said, devices[name]) for name in nodes}
    is_whole = not nodes or "restarted_nodes" in call.arguments
    known = all_nodes(said) if is_whole else {}
    named = {name: {"labels": {}, **known.get(name, {}), **found} for name, found in one_by_one.items()}
    stand_in.answer({"changed": False, "nodes": {**known, **named}})


if __name__ == "__main__":
    main()
