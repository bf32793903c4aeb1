# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the Lease of a node tells of its kubelet. Of one that has stopped, its Node is Ready for 40 s, and what it last reported stands there."""

from __future__ import annotations

import typing as t

from ..common.batch import join_first
from ..common.times import parse_time

Json = t.Mapping[str, t.Any]

# A kubelet renews the Lease of its node after a quarter of its duration, which is 40 s by default, and a little later by chance.
_DURATION, _LATE = 40.0, 2.0


class StaleLeases(t.NamedTuple):
    """Of kubelets that seem to run. stale_seconds: for how long they did not renew their Leases, by node. unknown: why that is not known, by node."""

    stale_seconds: t.Mapping[str, float]
    unknown: t.Mapping[str, str]


def renewal_interval(lease: Json) -> float:
    """Seconds within which a kubelet that runs renews the Lease of its node."""
    return float(lease["spec"].get("leaseDurationSeconds") or _DURATION) / 4 + _LATE


def was_just_renewed(lease: Json, now: float) -> bool:
    """Whether a kubelet renewed the Lease of its node in time. The time is of the node's clock: one that is not right proves nothing."""
    try:
        return -_LATE <= now - parse_time(lease["spec"]["renewTime"]) <= renewal_interval(lease)
    except ValueError:
        return False


def describe_stale_lease(seconds: float) -> str:
    """What is wrong with a kubelet that did not renew its Lease for so long."""
    return f"its kubelet has stopped or does not reach the API server: it has not renewed the Lease of its node for {seconds:.0f} s"


def unverified_kubelets(unknown: t.Mapping[str, str], nodes: t.Collection[str]) -> list[str]:
    """Of which nodes it is not known whether their kubelets run, each reason once. unknown: as in C(StaleLeases). nodes: those that seem to work."""
    by_reason: dict[str, list[str]] = {}
    for node in sorted(set(nodes) & set(unknown)):
        by_reason.setdefault(unknown[node], []).append(node)
    return [f"whether the kubelet still runs on {join_first(names)}: {why}" for why, names in by_reason.items()]
