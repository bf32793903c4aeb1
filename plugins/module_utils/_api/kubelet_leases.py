# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether kubelets still run, by the Leases that they renew: the status of a node or pod may be from a kubelet that has stopped."""

from __future__ import annotations

import typing as t

from .._plan.kubernetes import kubelet_lease
from .._plan.kubernetes.kubelet_lease import StaleLeases
from .client import ApiError, Client, Json

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"  # one for each node, by its name
_POLL_INTERVAL = 2.0


def find_stale_leases(client: Client, nodes: t.Collection[str]) -> StaleLeases:
    """Which kubelets of these nodes do not renew their Leases. Sends no request without nodes."""
    if not nodes:
        return StaleLeases({}, {})
    try:
        return _watch_leases(client, nodes)
    except ApiError as exc:
        return StaleLeases({}, dict.fromkeys(nodes, str(exc)))


def _watch_leases(client: Client, nodes: t.Collection[str]) -> StaleLeases:
    """Watch Leases that seem old until they are renewed, because the clocks of node and API server may differ."""
    started = client.clock()
    before = leases = _list_renewed(client)
    now = client.server_time()
    unrenewed = [name for name in nodes if name in before and not kubelet_lease.was_just_renewed(before[name], now)]

    def refresh() -> None:
        nonlocal leases
        leases = _list_renewed(client)

    def are_renewed() -> bool:
        unrenewed[:] = [name for name in unrenewed if leases.get(name) == before[name]]
        return not unrenewed

    timeout = max((kubelet_lease.renewal_interval(before[name]) for name in unrenewed), default=0.0)
    client.poll(are_renewed, timeout, _POLL_INTERVAL, refresh=refresh)
    missing = [name for name in nodes if name not in before]
    return StaleLeases(
        dict.fromkeys(unrenewed, client.clock() - started),
        dict.fromkeys(missing, "kube-node-lease has no Lease that they renewed"),
    )


def _list_renewed(client: Client) -> dict[str, Json]:
    """The Leases that kubelets have renewed, by node."""
    leases = {lease["metadata"]["name"]: lease for lease in client.list(_LEASES)}
    return {name: lease for name, lease in leases.items() if (lease.get("spec") or {}).get("renewTime")}
