# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a kubelet admits a static pod that requests more than before.

A static pod is critical: the kubelet ends pods that are not, to make room for it, and takes none from those that are. Without enough it does
not start the pod, and says so in the mirror pod only (UnexpectedAdmissionError, seen with 1.37.2 and 500Gi).
"""

from __future__ import annotations

import typing as t
from fractions import Fraction

from ..kubernetes import pods, quantities
from ..kubernetes.pods import Pod

_CRITICAL = 2_000_000_000  # the priority from which on a pod is


def more_requested(before: Pod, after: Pod) -> dict[str, Fraction]:
    """The requests of a pod, by resource, that a change makes larger."""
    former = pods.sum_requests(before)
    return {name: amount for name, amount in pods.sum_requests(after).items() if amount > former.get(name, Fraction(0))}


def problem(requests: t.Mapping[str, Fraction], node: t.Mapping[str, t.Any], others: t.Iterable[Pod]) -> str:
    """Why a node has no room for a static pod; empty when it has. others: the other pods of the node.

    A resource that the node does not have at all is not compared: the kubelet admits the pod.
    """
    short = _insufficient(requests, node, [pod for pod in others if is_critical(pod)])
    return "; ".join(
        f"it requests {pods.format_amount(requests[name])} of {name}, and {pods.format_amount(left)} are left beside the node's critical pods"
        for name, left in short.items()
    )


def displaces(requests: t.Mapping[str, Fraction], node: t.Mapping[str, t.Any], others: t.Iterable[Pod]) -> list[str]:
    """The resources of which there is room only when the kubelet ends other pods."""
    return list(_insufficient(requests, node, others))


def _insufficient(
    requests: t.Mapping[str, Fraction], node: t.Mapping[str, t.Any], others: t.Iterable[Pod]
) -> dict[str, Fraction]:
    """What some pods of a node leave of each resource of which that is less than requested."""
    reserved = pods.total_requests(others)
    allocatable = node["status"]["allocatable"]
    left = {
        name: quantities.parse(str(allocatable[name])) - reserved.get(name, Fraction(0))
        for name in sorted(requests)
        if name in allocatable
    }
    return {name: max(amount, Fraction(0)) for name, amount in left.items() if requests[name] > amount}


def is_critical(pod: Pod) -> bool:
    """Whether the kubelet ends a pod for no static pod."""
    return pods.is_static(pod) or pods.priority(pod) >= _CRITICAL
