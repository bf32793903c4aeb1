# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One pod of a task that resizes pods: what is known of it, and what became of it."""

from __future__ import annotations

import dataclasses
import typing as t

from .._plan.kubernetes import pods
from .._plan.pod import resize_state as pod_resize_state
from .._plan.pod.resize import Desired, PodPlan
from .._plan.pod.resize_state import (
    ACCEPTED,
    GONE,
    INFEASIBLE,
    NOT_TRIED,
    RESIZED,
    RESTARTED,
    UNCHANGED,
)
from .api_steps import Target
from .client import Json


@dataclasses.dataclass
class PodTarget(Target[PodPlan]):
    """One pod of a task. earlier_conditions: its conditions about resizes before the plan's patch was sent."""

    namespace: str = "default"
    desired: Desired = dataclasses.field(default_factory=dict)
    outcome: str = UNCHANGED
    earlier_conditions: t.Sequence[t.Any] = ()

    @property
    def full_name(self) -> str:
        """Its namespace and name."""
        return f"{self.namespace}/{self.name}"

    @property
    def node(self) -> str:
        """The node that it runs on; empty without one."""
        return str(self.latest.get("spec", {}).get("nodeName") or "")

    @property
    def restarts(self) -> tuple[str, ...]:
        """The containers that resizePolicy restarts for it."""
        return self.plan.restarts if self.plan else ()

    @property
    def patch(self) -> Json:
        """The patch of its plan."""
        return self.plan.patch if self.plan else {}

    @property
    def is_ready(self) -> bool:
        """Whether the pod is Ready."""
        return pods.is_ready(self.latest)

    @property
    def restarted(self) -> list[str]:
        """The containers that were restarted since it was planned."""
        return pod_resize_state.find_restarted(self.read, self.latest) if self.read and self.latest else []

    def is_same_pod(self, pod: Json) -> bool:
        """Whether the pod that has its name now is this one."""
        return pod_resize_state.is_same(self.latest, pod)

    def fail(self, outcome: str, reason: str) -> None:
        """Record that its resize failed."""
        self.outcome, self.error = outcome, f"{self.full_name}: {reason}"

    def fail_gone(self) -> None:
        """Record that the pod no longer exists."""
        self.fail(
            GONE,
            "it was deleted since it was read. A pod that its controller created in its place has the resources of the template;"
            " run the task again for that one.",
        )

    def fail_infeasible(self, reason: str) -> None:
        """Record that its kubelet cannot do it."""
        self.fail(
            INFEASIBLE,
            f"the kubelet of {self.node} says: {reason.rstrip('.')}. The pod keeps running with its former resources.",
        )

    def update(self, pod: Json | None) -> None:
        """Record the pod that has its name now, if any."""
        if pod is None or not self.is_same_pod(pod):
            self.fail_gone()
            return
        self.latest = pod
        if not pods.is_active(pod):
            self.fail(GONE, f"it has ended ({pod['status']['phase']}).")

    def succeed(self) -> None:
        """Record that it has the desired resources."""
        if self.operations:
            self.outcome = RESTARTED if self.restarted else RESIZED
        unexpected = [name for name in self.restarted if name not in self.restarts]
        if unexpected:
            self.note = f"restarted, although resizePolicy does not require it: {', '.join(unexpected)}"

    def is_resized(self, *, dry: bool) -> bool:
        """Whether it runs with the desired resources, so that its template may get them; dry: or would, as far as is known."""
        done = (UNCHANGED, RESIZED, RESTARTED, *([ACCEPTED] if dry else []))
        return not self.error and self.outcome in done and bool(self.node)

    def skip(self, reason: str) -> None:
        """Record that it was not tried."""
        super().skip(reason)
        self.outcome = NOT_TRIED

    def report(self) -> Json:
        """The result of this pod."""
        return {
            **super().report(),
            "outcome": self.outcome,
            "node": self.node or None,
            "restarted": self.restarted,
        }
