# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that read a node: returns what the host's variables set, and records reads of static pods.

C(stub_undos): component -> the plan of its rollback, null for none.
C(stub_kubelet_info): C(gone) for a host that cannot be reached. C(stub_cluster): the authority of the node's cluster, a by default.
C(stub_pods): see C(pod_states).
"""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in

Json = dict[str, t.Any]


def kubelet_result(call: stand_in.StandIn) -> Json:
    """The result for the kubelet on the machine of the call."""
    node = call.machine
    if call.variable("stub_kubelet_info", "", node) == "gone":
        stand_in.lose_connection()
    cluster = call.variable("stub_cluster", "a", node)
    cluster_identity = {"ca_sha256": cluster, "server": f"https://{cluster}:6443", "machine_id": ""}
    return {
        "changed": False,
        "node": node,
        "cluster": cluster_identity,
        "undo": call.variable("stub_undos", {}).get("kubelet"),
    }


def pods_result(call: stand_in.StandIn) -> Json:
    """The result for the static pods on the machine of the call."""
    node = call.machine
    observations = call.observations(node)
    call.record("read", "pods")
    pods = call.pod_states(node)
    undos = call.variable("stub_undos", {}, node)
    names = dict.fromkeys([*pods, *(name for name in undos if name != "kubelet")])
    found = [{**stand_in.pod_of(name, pods.get(name, ""), observations), "undo": undos.get(name)} for name in names]
    if any(pod["problem"] == "gone" for pod in found):
        stand_in.lose_connection()
    return {"changed": False, "static_pods": found, "kubelet_problem": call.kubelet_problem(node)}


def main() -> t.NoReturn:
    """Read no node."""
    call = stand_in.StandIn()
    stand_in.exit_json(kubelet_result(call) if call.component == "kubelet_info" else pods_result(call))


if __name__ == "__main__":
    main()
