# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that read a node: answers as the host's variables say, and notes a look at static pods.

C(stub_undos): component -> what is said of its rollback, null for none.
C(stub_kubelet_info): C(gone) for a host that cannot be reached. C(stub_cluster): the authority of the node's cluster, a by default.
C(stub_pods): see C(pods_said).
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
    return {"changed": False, "node": node, "cluster": told, "undo": call.said("stub_undos", {}).get("kubelet")}


def pods_of(call: stand_in.StandIn) -> Json:
    """What is said of the static pods on the machine that is asked."""
    node = call.machine
    looks = call.looks(node)
    call.note("look", "pods")
    pods = call.pods_said(node)
    undos = call.said("stub_undos", {}, node)
    names = dict.fromkeys([*pods, *(name for name in undos if name != "kubelet")])
    found = [{**stand_in.pod_of(name, pods.get(name, ""), looks), "undo": undos.get(name)} for name in names]
    if any(pod["problem"] == "gone" for pod in found):
        stand_in.lose_connection()
    return {"changed": False, "static_pods": found, "kubelet_problem": call.kubelet_problem(node)}


def main() -> t.NoReturn:
    """Look at no node."""
    call = stand_in.StandIn()
    stand_in.answer(kubelet_of(call) if call.component == "kubelet_info" else pods_of(call))


if __name__ == "__main__":
    main()
