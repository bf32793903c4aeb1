# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sends the changes of pods to the API server."""

from __future__ import annotations

import typing as t
from http import HTTPStatus

from .._plan.common.errors import KubeadmError, Refusal
from .._plan.pod import resize as pod_resize
from .._plan.pod import resize_state as pod_resize_state
from .._plan.pod import resize_undo
from .._plan.pod.resize import PodPlan
from .._plan.pod.resize_state import ACCEPTED, REFUSED, UNKNOWN
from .api_steps import retry_on_conflict, send_each
from .client import ApiError, Client, Json, NoResponse, Params
from .pod_targets import PodTarget
from .workloads import Workloads

STOP, ROLLBACK = "stop", "rollback"  # of on_error


class PodPatcher:
    """Sends the changes of pods: plans a pod again that another client changed meanwhile, and turns a refusal into an outcome.

    It is apart from the steps because a dry run, a change of all pods at once and one batch by batch send by the same rules. params: of the
    module. note_unverified: records what could not be verified.
    """

    def __init__(
        self, client: Client, workloads: Workloads, params: Params, *, note_unverified: t.Callable[[str], None]
    ) -> None:
        self._client = client
        self._workloads = workloads
        self._params = params
        self._note_unverified = note_unverified

    def plan(self, target: PodTarget, pod: Json) -> PodPlan:
        """Work out what changes in a pod. Raises KubeadmError."""
        return pod_resize.plan(pod, target.desired, allow_restart=self._params["allow_restart"])

    def send(self, targets: t.Sequence[PodTarget], subresource: str, *, dry_run: bool) -> None:
        """Send the plans of pods. subresource: the one that resizes them, if any."""

        def send(target: PodTarget) -> bool:
            path = f"{self._workloads.path_of(target.name)}{subresource}"
            return self._send_one(target, path, dry_run=dry_run)

        # A dry run finds all that is refused.
        goes_on = dry_run and self._params["on_error"] == ROLLBACK
        send_each(targets, send, {**self._params, **({"on_error": "continue"} if goes_on else {})}, kind="pod")

    def _send_one(self, target: PodTarget, path: str, *, dry_run: bool) -> bool:
        """Change one pod, again after conflicts with other writers. Returns whether it succeeded."""
        try:
            retry_on_conflict(
                lambda: self._patch(target, path, dry_run=dry_run),
                lambda _refusal: self._plan_again(target),
                cause="another client changed the pod",
            )
        except NoResponse as exc:
            target.fail(UNKNOWN, str(exc))
            if not dry_run:
                self._note_unverified(
                    f"whether the pod {target.full_name} was changed: the API server stopped answering"
                )
        except ApiError as exc:
            if exc.status == HTTPStatus.NOT_FOUND:
                target.fail_gone()
            else:
                target.fail(*pod_resize_state.interpret_refusal(str(exc), target.latest))
        except KubeadmError as exc:
            target.fail(REFUSED, str(exc))
        return not target.error

    def _patch(self, target: PodTarget, path: str, *, dry_run: bool) -> bool:
        target.latest = target.stored = self._client.strategic_merge(path, target.patch, dry_run=dry_run)
        target.sent, target.outcome = True, ACCEPTED
        target.earlier_conditions = pod_resize_state.resize_conditions(target.read)
        altered = resize_undo.find_altered(target.read, target.operations, target.stored)
        if altered:
            if dry_run:
                target.sent = False
            raise Refusal(
                f"the API server stored something else than it was sent, as a mutating admission webhook or policy makes it:"
                f" {'; '.join(altered)}. Request what it gives, or exempt these pods from it."
            )
        return True

    def _plan_again(self, target: PodTarget) -> bool:
        """Read a pod that another client changed, and plan again. Returns whether nothing is left to send."""
        pod = self._client.get(self._workloads.path_of(target.name))
        if not pod_resize_state.is_same(target.read, pod):
            target.fail_gone()
            return True
        new_plan = self.plan(target, pod)
        target.latest = pod
        if new_plan.operations:
            target.read, target.plan = pod, new_plan
        else:
            # It is as desired: another writer's work, or our own patch whose response was lost.
            target.sent, target.outcome = True, ACCEPTED
        return not new_plan.operations
