# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which devices a container should get. Pure.

In this order: different physical devices, one NUMA node, then packed (what is most in use already) or spread.
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
    """Choose ``size`` ids. available: free ids, those that must be included among them.

    numa: the NUMA node of each physical device. policy: ``packed`` or ``spread``.
    """
    chosen = list(must_include)
    free = sorted(set(available) - set(chosen))
    replicas = Counter(physical_of(identifier) for identifier in free)
    sign = 1 if policy == "packed" else -1
    order = _numa_order(chosen, replicas, size, numa, sign)
    used = Counter(physical_of(identifier) for identifier in chosen)
    while len(chosen) < size and free:

        def rank(identifier: str) -> tuple[int, int, int, str]:
            physical = physical_of(identifier)
            return used[physical], order[numa.get(physical)], sign * replicas[physical], identifier

        best = min(free, key=rank)
        free.remove(best)
        used[physical_of(best)] += 1
        chosen.append(best)
    return chosen


def _numa_order(
    chosen: t.Sequence[str], replicas: t.Mapping[str, int], size: int, numa: t.Mapping[str, int | None], sign: int
) -> dict[int | None, int]:
    """The rank of each NUMA node: those already chosen, then those that have room for all, then the biggest."""
    taken = {numa.get(physical_of(identifier)) for identifier in chosen}
    room = Counter(numa.get(physical) for physical in replicas)
    missing = size - len(chosen)

    def rank(node: int | None) -> tuple[bool, bool, int, int]:
        fits = room[node] >= missing
        return node not in taken, not fits, sign * room[node] if fits else -room[node], -1 if node is None else node

    return {node: place for place, node in enumerate(sorted(room, key=rank))}
