# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a kubelet leaves to pods: how many there may be, how much of the node's capacity, and which kernel parameters.

A kubelet that starts holds the pods that already run against these limits too, and rejects those beyond them.
"""

from __future__ import annotations

import math
import typing as t
from fractions import Fraction

from ..common.errors import Refusal
from ..kubernetes import quantities
from .config import Settings

Limits = dict[str, t.Any]

PODS = "pods"

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
            name: _remaining(quantities.parse(capacity[name]), amounts)
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


def _remaining(total: Fraction, amounts: t.Iterable[str]) -> Fraction:
    return total - sum((amount_of(total, amount) for amount in amounts), Fraction(0))


def amount_of(total: Fraction, amount: str) -> Fraction:
    """An amount that may be a percentage of a total. Raises ValueError for what is none."""
    return total * Fraction(amount[:-1]) / 100 if amount.endswith("%") else quantities.parse(amount)


def is_withdrawn(sysctl: str, limits: Limits) -> bool:
    """Whether a kernel parameter that a pod sets was allowed by the former settings only."""
    name = sysctl.replace("/", ".")
    if name in SAFE_SYSCTLS:
        return False
    return _matches(name, limits["withdrawn_sysctls"]) and not _matches(name, limits["unsafe_sysctls"])


def _matches(sysctl: str, patterns: t.Iterable[str]) -> bool:
    return any(sysctl.startswith(pattern[:-1]) if pattern.endswith("*") else sysctl == pattern for pattern in patterns)


_MAX_PODS = 110
_LEAST_PIDS = 16  # with 5 runc 1.1 started no container, with 10 one of two (Kubernetes 1.37.2, containerd 1.7.24)
_MANAGERS = ("cpuManagerPolicy", "memoryManagerPolicy")
_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_EVICTION = {"memory": "memory.available", "ephemeral-storage": "nodefs.available"}
# Counts only as a whole: a configuration that names one threshold has no others, unless it asks for the merge.
_DEFAULT_EVICTION = {"memory.available": "100Mi", "nodefs.available": "10%"}


def limits_of(settings: Settings) -> Limits | None:
    """The limits that settings come to; None when a value makes no sense, which is the kubelet's to refuse.

    Returns C(max_pods), C(pods_per_core) (0: does not count), C(reserved): by resource the amounts that are taken off the
    capacity, as quantities or as percentages of it, C(unsafe_sysctls): the patterns of those that are allowed, and
    C(pod_level_managers): whether CPUs or memory are given to pods as a whole.
    """
    try:
        return {
            "max_pods": _read_number(settings, "maxPods", _MAX_PODS),
            "pods_per_core": _read_number(settings, "podsPerCore", 0),
            "reserved": _read_reserved(settings),
            "unsafe_sysctls": _unsafe_sysctls(settings),
            "pod_level_managers": settings.gates().get("PodLevelResourceManagers") is True
            and "static" in (str(settings.field((name,)) or "").lower() for name in _MANAGERS),
        }
    except (ValueError, TypeError, AttributeError):
        return None


def limits_change(before: Settings, after: Settings) -> Limits | None:
    """The limits after a change, and C(withdrawn_sysctls), the patterns that were allowed before it; None when nothing changes, and a restart
    takes nothing from pods either."""
    former, limits = limits_of(before), limits_of(after)
    if limits is None or (limits == former and not limits["pod_level_managers"]):
        return None
    allowed = former["unsafe_sysctls"] if former else []
    return {**limits, "withdrawn_sysctls": [name for name in allowed if name not in limits["unsafe_sysctls"]]}


def refuse_few_pids(before: Settings, after: Settings) -> None:
    """Refuse a change to so few processes that no pod starts; the kubelet is healthy with it. Raises Refusal."""
    pids = after.field(("podPidsLimit",))
    if pids != before.field(("podPidsLimit",)) and str(pids).isdecimal() and 0 < int(str(pids)) < _LEAST_PIDS:
        raise Refusal(
            f"invalid podPidsLimit {pids}: must be at least {_LEAST_PIDS}, or -1 for no limit. A container runtime needs that many to start a"
            " container, so with fewer every new pod fails (FailedCreatePodSandBox)."
        )


def _unsafe_sysctls(settings: Settings) -> list[str]:
    value = settings.field(("allowedUnsafeSysctls",)) or []
    return sorted(value.split(",") if isinstance(value, str) else value)


def _read_number(settings: Settings, field: str, default: int) -> int:
    # 0 in a file is no number but the default.
    return int(settings.field((field,)) or default)


def _read_reserved(settings: Settings) -> dict[str, list[str]]:
    sources = [settings.pairs("kubeReserved") or {}, settings.pairs("systemReserved") or {}]
    reserved = {name: [source[name] for source in sources if name in source] for name in _RESOURCES}
    cpus = reserved_cpus(settings)
    if cpus:
        reserved["cpu"] = [str(len(cpus))]
    eviction = settings.pairs("evictionHard")
    if eviction is None or settings.field(("mergeDefaultEvictionSettings",)) is True:
        eviction = {**_DEFAULT_EVICTION, **(eviction or {})}
    for name, signal in _EVICTION.items():
        # These two switch the threshold off.
        reserved[name] += [eviction[signal]] if eviction.get(signal, "0%") not in ("0%", "100%") else []
    for amounts in reserved.values():
        for amount in amounts:
            amount_of(Fraction(1), amount)  # what is no amount is found here
    return reserved


def reserved_cpus(settings: Settings) -> list[int]:
    """The ids of the CPUs that are reserved by name, in order; none when the kubelet takes as many as it reserves.

    Raises ValueError for a list that is none; such as C(0-3,8) is one.
    """
    parts = str(settings.field(("reservedSystemCPUs",)) or "").split(",")
    ranges = [part.split("-") for part in parts if part.strip()]
    return sorted({cpu for ends in ranges for cpu in range(int(ends[0]), int(ends[-1]) + 1)})


def count_reserved_cpus(settings: Settings) -> int:
    """How many whole CPUs are reserved. Raises ValueError, TypeError and AttributeError for settings that make no sense."""
    return math.ceil(sum((amount_of(Fraction(1), amount) for amount in _read_reserved(settings)["cpu"]), Fraction(0)))
