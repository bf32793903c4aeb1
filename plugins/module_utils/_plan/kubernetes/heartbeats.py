# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a kubelet shows often enough that it lives: the controller manager counts a node as lost when it hears nothing for its grace period.

A kubelet renews its Node's Lease after a quarter of its duration, and one renewal may be late. With C(nodeLeaseDurationSeconds) 600 a change was
committed after 12 s, and the node was NotReady after 50 (1.37.2).
"""

from __future__ import annotations

import typing as t
from fractions import Fraction

from . import quantities

GRACE_FLAG = "node-monitor-grace-period"  # of the controller manager
_DEFAULT_GRACE = Fraction(50)  # seconds, as from 1.32 on
_LEASE, _UPDATE, _REPORT = "nodeLeaseDurationSeconds", "nodeStatusUpdateFrequency", "nodeStatusReportFrequency"
_DEFAULT_LEASE, _DEFAULT_UPDATE, _DEFAULT_REPORT = Fraction(40), Fraction(10), Fraction(300)
_RENEWALS_IN_LEASE = 4
_HEARTBEATS_IN_GRACE = 2


def heartbeat_interval(field: t.Callable[[str], t.Any]) -> Fraction:
    """The seconds between two heartbeats of a kubelet: renewals of the Lease, or reports of the status, whatever comes more often.

    field: reads a field of its configuration; None where it is not set. Raises ValueError for what is no time, which is the kubelet's to refuse.
    """
    update, report = (quantities.parse_duration(field(name)) for name in (_UPDATE, _REPORT))
    between_reports = report or update or _DEFAULT_REPORT
    return min(_renewal(field(_LEASE)), max(between_reports, update or _DEFAULT_UPDATE))


def _renewal(lease_seconds: t.Any) -> Fraction:
    return Fraction(str(lease_seconds or _DEFAULT_LEASE)) / _RENEWALS_IN_LEASE


def kubelet_problem(before: t.Callable[[str], t.Any], after: t.Callable[[str], t.Any], grace: str | None) -> str:
    """Why a changed kubelet would count as lost; empty when it would not, or did before.

    grace: of the controller manager; None for its default, also where that is not known.
    """
    limit = quantities.parse_duration(grace) or _DEFAULT_GRACE
    try:
        former, seconds = heartbeat_interval(before), heartbeat_interval(after)
    except (ValueError, ZeroDivisionError):
        return ""
    if seconds == former or seconds * _HEARTBEATS_IN_GRACE <= limit:
        return ""
    return (
        f"its Node's Lease would be renewed after {float(seconds):g} s ({_LEASE} / {_RENEWALS_IN_LEASE}), and two renewals do not fit into the"
        f" {float(limit):g} s after which the controller manager counts a node as lost: set its {GRACE_FLAG} first"
    )


def grace_problem(grace: t.Any, leases: t.Iterable[t.Mapping[str, t.Any]]) -> str:
    """Which node a controller manager with this grace period would count as lost; empty for none. leases: of the Nodes, as the API has them."""
    seconds = quantities.parse_duration(grace)
    renewals = {lease["metadata"]["name"]: _renewal(lease["spec"].get("leaseDurationSeconds")) for lease in leases}
    if seconds is None or not renewals:
        return ""
    node = max(renewals, key=lambda name: renewals[name])
    if renewals[node] * _HEARTBEATS_IN_GRACE <= seconds:
        return ""
    return (
        f"args: invalid {GRACE_FLAG} {grace}: must be at least {float(renewals[node] * _HEARTBEATS_IN_GRACE):g}s, two renewals of the Lease of {node}, so"
        " that the node does not count as lost while it works, and its pods are not evicted."
    )
