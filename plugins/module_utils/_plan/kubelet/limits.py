# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a kubelet leaves to pods: how many there may be, how much of the node's capacity, and which kernel parameters.

A kubelet that starts holds the pods that already run against these limits too, and rejects those beyond them.
"""

from __future__ import annotations

import typing as t
from fractions import Fraction

from ..common.errors import Refusal
from ..kubernetes import quantities

Limits = dict[str, t.Any]

PODS = "pods"

# Every kubelet allows these.
SAFE_SYSCTLS = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    )
)

_HUGE_PAGES = "hugepages-"  # are taken off the memory


def allocatable(limits: Limits, capacity: t.Mapping[str, str]) -> dict[str, Fraction]:
    """What limits leave of a node's capacity, C(pods) among it. Raises Refusal for what are no limits."""
    try:
        _matches("", [*limits["unsafe_sysctls"], *limits["withdrawn_sysctls"]])
        left = {
            name: _left(quantities.parse(capacity[name]), amounts)
            for name, amounts in limits["reserved"].items()
            if name in capacity
        }
        if "memory" in left:
            left["memory"] -= sum(quantities.parse(capacity[name]) for name in capacity if name.startswith(_HUGE_PAGES))
        bounds = [Fraction(limits["max_pods"])]
        if limits["pods_per_core"]:
            bounds.append(limits["pods_per_core"] * quantities.parse(capacity["cpu"]))
    except (LookupError, TypeError, ValueError, AttributeError):
        raise Refusal(f"limits: {limits!r} is not what the module kubelet returns as limits.") from None
    return {**left, PODS: min(bounds)}


def _left(total: Fraction, amounts: t.Iterable[str]) -> Fraction:
    return total - sum((share(total, amount) for amount in amounts), Fraction(0))


def share(total: Fraction, amount: str) -> Fraction:
    """An amount that may be a percentage of a total. Raises ValueError for what is none."""
    return total * Fraction(amount[:-1]) / 100 if amount.endswith("%") else quantities.parse(amount)


def withdrawn(sysctl: str, limits: Limits) -> bool:
    """Whether a kernel parameter that a pod sets was allowed by the former settings only."""
    name = sysctl.replace("/", ".")
    if name in SAFE_SYSCTLS:
        return False
    return _matches(name, limits["withdrawn_sysctls"]) and not _matches(name, limits["unsafe_sysctls"])


def _matches(sysctl: str, patterns: t.Iterable[str]) -> bool:
    return any(sysctl.startswith(pattern[:-1]) if pattern.endswith("*") else sysctl == pattern for pattern in patterns)
