# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Which pods a new taint with the effect NoExecute evicts."""

from __future__ import annotations

import dataclasses
import typing as t

from ..kubernetes import pods
from ..kubernetes.pods import Pod, Taint


@dataclasses.dataclass(frozen=True)
class Eviction:
    """A pod that goes. after: seconds that it is left on the node, 0 for none. controller: the kind that made it."""

    pod: str
    after: int
    controller: str

    def __str__(self) -> str:
        notes = [f"of a {self.controller}" if self.controller else "that nothing recreates"]
        if self.after:
            notes.append(f"after {self.after} s")
        return f"{self.pod} ({', '.join(notes)})"


def evicted(found: t.Iterable[Pod], taints: t.Sequence[Taint]) -> list[Eviction]:
    """The pods of a node that new taints evict, the cluster's network and name service first."""
    going = []
    for pod in sorted(found, key=lambda pod: (-pods.priority(pod), pods.full_name(pod))):
        after = _patience(pod, taints)
        if after is not None and pods.is_active(pod):
            going.append(Eviction(pods.full_name(pod), after, pods.controller(pod)))
    return going


def _patience(pod: Pod, taints: t.Sequence[Taint]) -> int | None:
    """Seconds that a pod stays beside taints; None: for ever."""
    limits: list[int] = []
    for taint in taints:
        tolerations = pods.tolerations_of(pod, taint)
        if not tolerations:
            return 0
        seconds = [toleration.get("tolerationSeconds") for toleration in tolerations]
        limits += [max(0, int(value)) for value in seconds if value is not None]
    return min(limits) if limits else None
