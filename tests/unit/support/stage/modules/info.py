# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that read a node: answers as the host's variables say, and notes a look at static pods.

C(stub_ways): component -> what is said of its way back, null for none.
C(stub_kubelet_info): C(gone) for a host that cannot be reached. C(stub_cluster): the authority of the node's cluster, a by default.
C(stub_pods): static pod -> what is wrong (nothing by default), C(open) for a change that is open, or a list of these,
one for each look, the last for all that follow. C(none): the look itself fails. C(gone): so many looks, then it is lost.
"""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in

Json = dict[str, t.Any]


def kubelet_of(call: stand_in.StandIn) -> Json:
    """What is said of the kubelet on the machine that is asked."""
    node = call.machine
    if call.said("stub_kubelet_info", "", node) == "gone":
        stand_in.lose_connection()
    cluster = call.said("stub_cluster", "a", node)
    told = {"ca_sha256": cluster, "server": f"https://{cluster}:6443", "machine_id": ""}
    return {"changed": False, "node": node, "cluster": told, "way_back": call.said("stub_ways", {}).get("kubelet")}


def pods_of(call: stand_in.StandIn) -> Json:
    """What is said of the static pods."""
    looks = len(call.calls("look", "pods", call.host))
    call.note("look", "pods")
    pods = {"kube-apiserver": "", "etcd": "", **call.said("stub_pods", {})}
    ways = call.said("stub_ways", {})
    if looks >= pods.pop("gone", looks + 1):
        stand_in.lose_connection()
    if "none" in pods:
        return {"failed": True, "msg": "it cannot be read."}
    names = dict.fromkeys([*pods, *(name for name in ways if name != "kubelet")])
    found = [{**pod_of(name, pods.get(name, ""), looks), "way_back": ways.get(name)} for name in names]
    return {"changed": False, "static_pods": found}


def pod_of(name: str, said: t.Any, looks: int) -> Json:
    """One static pod after so many looks."""
    problem = said[min(looks, len(said) - 1)] if isinstance(said, list) else said
    is_open = problem == "open"
    return {
        "name": name,
        "ready": not problem or is_open,
        "problem": None if is_open else problem or None,
        "open_transaction": {"id": "1", "phase": "waiting"} if is_open else None,
    }


def main() -> t.NoReturn:
    """Look at no node."""
    call = stand_in.StandIn()
    stand_in.answer(kubelet_of(call) if call.component == "kubelet_info" else pods_of(call))


if __name__ == "__main__":
    main()
