# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether kubelets still run, by the Leases that they renew: what the API shows of a node or a pod may be of one that has stopped."""

from __future__ import annotations

import typing as t

from .._plan.kubernetes import kubelet_lease
from .._plan.kubernetes.kubelet_lease import Silence
from .client import ApiError, Client, Json

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"  # one for each node, by its name
_POLL_INTERVAL = 2.0


def find_silent(client: Client, nodes: t.Collection[str]) -> Silence:
    """Which kubelets of these nodes do not renew their Leases. Asks nothing where there is no node."""
    if not nodes:
        return Silence({}, {})
    try:
        return _read(client, nodes)
    except ApiError as exc:
        return Silence({}, dict.fromkeys(nodes, str(exc)))


def _read(client: Client, nodes: t.Collection[str]) -> Silence:
    """Where a Lease looks old it is watched until it is renewed, because the clocks of the node and of the API server may differ."""
    began = client.clock()
    first = leases = _list(client)
    now = client.server_time()
    waiting = [name for name in nodes if name in first and not kubelet_lease.was_just_renewed(first[name], now)]

    def refresh() -> None:
        nonlocal leases
        leases = _list(client)

    def are_renewed() -> bool:
        waiting[:] = [name for name in waiting if leases.get(name) == first[name]]
        return not waiting

    longest = max((kubelet_lease.renewal_interval(first[name]) for name in waiting), default=0.0)
    client.poll(are_renewed, longest, _POLL_INTERVAL, refresh=refresh)
    missing = [name for name in nodes if name not in first]
    return Silence(
        dict.fromkeys(waiting, client.clock() - began),
        dict.fromkeys(missing, "kube-node-lease has no Lease that they renewed"),
    )


def _list(client: Client) -> dict[str, Json]:
    """The Leases that kubelets have renewed, by node."""
    leases = {lease["metadata"]["name"]: lease for lease in client.list(_LEASES)}
    return {name: lease for name, lease in leases.items() if (lease.get("spec") or {}).get("renewTime")}
