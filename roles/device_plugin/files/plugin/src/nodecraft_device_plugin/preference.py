# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preferred devices for a container. Pure.

In this order: different physical devices, one NUMA node, then packed (the most used first) or spread.
"""

from __future__ import annotations

import typing as t
from collections import Counter

from nodecraft_device_plugin.devices import physical_of


def preferred(
    available: t.Sequence[str],
    must_include: t.Sequence[str],
    size: int,
    numa: t.Mapping[str, int | None],
    policy: str,
) -> list[str]:
    """Select ``size`` ids. available: free ids, including those of must_include.

    numa: the NUMA node of each physical device. policy: ``packed`` or ``spread``.
    """
    selected = list(must_include)
    free = sorted(set(available) - set(selected))
    replicas = Counter(physical_of(identifier) for identifier in free)
    sign = 1 if policy == "packed" else -1
    order = _numa_order(selected, replicas, size, numa, sign)
    used = Counter(physical_of(identifier) for identifier in selected)
    while len(selected) < size and free:

        def rank(identifier: str) -> tuple[int, int, int, str]:
            physical = physical_of(identifier)
            return used[physical], order[numa.get(physical)], sign * replicas[physical], identifier

        best = min(free, key=rank)
        free.remove(best)
        used[physical_of(best)] += 1
        selected.append(best)
    return selected


def _numa_order(
    selected: t.Sequence[str], replicas: t.Mapping[str, int], size: int, numa: t.Mapping[str, int | None], sign: int
) -> dict[int | None, int]:
    """The rank of each NUMA node: those already selected, then those with enough devices for all, then the largest."""
    used_nodes = {numa.get(physical_of(identifier)) for identifier in selected}
    capacity = Counter(numa.get(physical) for physical in replicas)
    missing = size - len(selected)

    def rank(node: int | None) -> tuple[bool, bool, int, int]:
        fits = capacity[node] >= missing
        return (
            node not in used_nodes,
            not fits,
            sign * capacity[node] if fits else -capacity[node],
            -1 if node is None else node,
        )

    return {node: place for place, node in enumerate(sorted(capacity, key=rank))}
