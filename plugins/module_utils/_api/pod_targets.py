# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pods of a task that resizes them: what is known of each, and what became of it."""

from __future__ import annotations

import dataclasses
import typing as t

from .._plan.kubernetes import pods
from .._plan.pod import resize as pod_resize
from .._plan.pod import resize_state as pod_resize_state
from .._plan.pod import resize_undo
from .._plan.pod.resize import Desired, PodPlan
from .._plan.pod.resize_state import (
    ACCEPTED,
    GONE,
    INFEASIBLE,
    NOT_TRIED,
    RESIZED,
    RESTARTED,
    UNCHANGED,
    UNKNOWN,
)
from .._plan.transaction.messages import ROLLED_BACK
from .api_steps import Target
from .client import Json
from .template_steps import Template, Templates


@dataclasses.dataclass
class PodTarget(Target[PodPlan]):
    """One pod of a task.

    earlier_conditions: its conditions about resizes before the plan's patch was sent. stored: as the API server stored that patch; empty
    when no response says so. rolled_back: whether it has its former amounts again; None when nothing had to be taken back. command: what
    takes its resize back, where that was not done.
    """

    namespace: str = "default"
    desired: Desired = dataclasses.field(default_factory=dict)
    outcome: str = UNCHANGED
    earlier_conditions: t.Sequence[t.Any] = ()
    stored: Json = dataclasses.field(default_factory=dict)
    rolled_back: bool | None = None
    command: str = ""

    @property
    def full_name(self) -> str:
        """Its namespace and name."""
        return f"{self.namespace}/{self.name}"

    @property
    def node(self) -> str:
        """The node that it runs on; empty without one."""
        return str(self.latest.get("spec", {}).get("nodeName") or "")

    @property
    def changed(self) -> bool:
        """Whether the API server accepted a change that was not taken back; in check mode, whether it would."""
        return super().changed and not self.rolled_back

    @property
    def has_diff(self) -> bool:
        """Whether a diff has it."""
        return super().has_diff and not self.rolled_back

    @property
    def may_have_changed(self) -> bool:
        """Whether a change of it was accepted, or sent and not answered."""
        return bool(self.operations) and (self.sent or self.outcome == UNKNOWN)

    @property
    def restarts(self) -> tuple[str, ...]:
        """The containers that resizePolicy restarts for it."""
        return self.plan.restarts if self.plan else ()

    @property
    def expected(self) -> Json:
        """As its plan leaves it, or as far as is known."""
        return self.stored or resize_undo.apply_changes(self.read, self.operations)

    @property
    def former(self) -> Desired:
        """The amounts of its containers when it was planned."""
        return pod_resize.amounts_after(self.read, ())

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
            " run the task again for that one."
            if pods.controller_kind(self.read)
            else "it was deleted since it was read, and no controller creates it again.",
        )

    def mark_gone(self) -> None:
        """Record that it does not exist any more, beside why it failed before."""
        error = self.error
        self.fail_gone()
        self.error = f"{error} It was deleted since then." if error else self.error

    def fail_infeasible(self, reason: str) -> None:
        """Record that its kubelet cannot do it."""
        self.fail(
            INFEASIBLE,
            f"the kubelet of {self.node} says: {reason.rstrip('.')}. The pod keeps running with its former resources.",
        )

    def add_message(self, text: str) -> None:
        """Add to why it failed, or to what else there is to say of it."""
        if self.error:
            self.error = f"{self.error} {text}"
        else:
            self.note = f"{self.note} {text}".strip()

    def roll_back(self, *, made: bool) -> None:
        """Record that it has its former amounts again. made: or still, if not."""
        self.rolled_back = True
        if not self.error:
            self.outcome = ROLLED_BACK
        self.add_message("It was given its former amounts again." if made else "It has its former amounts.")

    def keep_resize(self, reason: str, command: str = "") -> None:
        """Record that its resize could not be taken back. command: what does it."""
        self.rolled_back, self.command = False, command
        advice = f" This gives it its former amounts: {command}" if command else ""
        resize = "Its resize, if it was made," if self.outcome == UNKNOWN else "Its resize"
        text = f"{resize} was not taken back: {reason.rstrip('.')}.{advice}"
        if self.error:
            self.add_message(text)
        else:
            self.error = f"{self.full_name}: {text}"

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
        starved = pod_resize_state.find_starved(self.latest, self.restarted, self.operations)
        if starved:
            self.fail(
                RESTARTED,
                f"{', '.join(starved)} needed more memory than the new limit and was ended for it (OOMKilled). Set a higher one.",
            )
            return
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
            ROLLED_BACK: self.rolled_back,
            "command": self.command,
        }


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run reads: the pods of the task by name, each with its plan and result.

    subresource: the one that resizes them, with its slash; empty for none. limit: how many of them may be down while containers restart.
    """

    targets: dict[str, PodTarget]
    templates: Templates
    subresource: str
    limit: int

    @property
    def objects(self) -> list[PodTarget | Template]:
        """Everything that may change."""
        return [*self.targets.values(), *self.templates.by_controller.values()]

    @property
    def changed(self) -> bool:
        """Whether anything changed."""
        return any(each.changed for each in self.objects)

    @property
    def failed(self) -> bool:
        """Whether a pod failed."""
        return any(target.error for target in self.targets.values())

    @property
    def changing(self) -> list[PodTarget]:
        """The pods that are going to change."""
        return [target for target in self.targets.values() if target.operations and not target.error]

    def compare(self) -> None:
        """Compare the templates with the resources that the pods have, or are going to have."""
        amounts = {
            target.name: pod_resize.amounts_after(
                target.latest, () if target.error or target.rolled_back else target.operations
            )
            for target in self.targets.values()
            if target.latest
        }
        self.templates.compare(amounts)
