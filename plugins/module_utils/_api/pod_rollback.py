# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes resizes back: gives pods their former amounts again, and waits until they have them."""

from __future__ import annotations

import typing as t
from http import HTTPStatus

from .._plan.common.batch import join_first
from .._plan.common.errors import KubeadmError, Refusal
from .._plan.pod import resize_state as pod_resize_state
from .._plan.pod import resize_undo
from .._plan.pod.resize_state import DEFERRED, GONE, IN_PROGRESS, INFEASIBLE, UNKNOWN
from .._plan.pod.resize_undo import UndoPlan
from .api_steps import retry_on_conflict
from .client import ApiError, Client, Params
from .parallel import for_each
from .pod_patches import ROLLBACK
from .pod_targets import Observed, PodTarget
from .pod_watch import PodWatch
from .workloads import Workloads


class PodRollback:
    """Restores what a task changed in pods, and nothing that another client changed since.

    It is apart from the steps because failures while pods are changed, while they are waited for and of templates end in it. params: of the
    module. note_unverified: records what could not be verified.
    """

    def __init__(
        self,
        client: Client,
        workloads: Workloads,
        watch: PodWatch,
        params: Params,
        *,
        note_unverified: t.Callable[[str], None],
    ) -> None:
        self._client = client
        self._workloads = workloads
        self._watch = watch
        self._params = params
        self._note_unverified = note_unverified
        self._subresource = ""

    def undo_failures(self, observed: Observed) -> None:
        """Take back the resizes of pods that failed; of all of them where something failed and on_error is rollback."""
        everything = self._takes_all and any(each.error for each in observed.objects)
        touched = [each for each in observed.targets.values() if each.may_have_changed and (everything or each.error)]
        # A template that was changed replaces its pods.
        self._restore(observed, [each for each in touched if not observed.templates.is_changed(each.name)])

    def undo_all(self, failure: KubeadmError, observed: Observed) -> str:
        """Take back what a run changed that ended early, but for what is known to be done where that is kept. Returns its error."""
        touched = [each for each in observed.targets.values() if each.may_have_changed]
        self._restore(observed, [each for each in touched if self._takes_all or not each.is_resized(dry=False)])
        failed = join_first(target.error for target in touched if target.error)
        return " ".join(filter(None, [f"{str(failure).rstrip('.')}.", failed, summarize(touched)]))

    @property
    def _takes_all(self) -> bool:
        return bool(self._params["on_error"] == ROLLBACK)

    def _restore(self, observed: Observed, targets: t.Iterable[PodTarget]) -> None:
        self._subresource = observed.subresource
        # Those that failed first: room that others give back would have their kubelets do what is taken back.
        waiting = sorted(targets, key=lambda target: not target.error)
        waiting = [target for target in waiting if target.outcome != GONE and target.rolled_back is None]
        self._send([target for target in waiting if not target.restarts], ready=False)
        restarting = [target for target in waiting if target.restarts]
        try:
            self._watch.take_turns(
                restarting,
                observed.targets,
                observed.limit,
                wanted=lambda target: target.outcome != GONE,
                change=self._send_restarting,
                give_up=self._give_up,
            )
        except KubeadmError as exc:
            self._give_up([target for target in restarting if target.rolled_back is None], str(exc))

    def _send_restarting(self, targets: t.Sequence[PodTarget]) -> None:
        self._send(targets, ready=True)

    def _send(self, targets: t.Sequence[PodTarget], *, ready: bool) -> None:
        stale = {target.name: pod_resize_state.resize_conditions(target.latest) for target in targets}
        for_each(targets, self._send_one, workers=self._params["concurrency"])
        complete = [target for target in targets if target.rolled_back]
        for name, reason in self._watch.wait_for_former(complete, stale, ready=ready).items():
            self._note_unverified(f"whether the pod {name} has its former amounts: {reason.rstrip('.')}")

    def _send_one(self, target: PodTarget) -> bool:
        """Take back one resize, again after conflicts with other writers. Returns whether that succeeded."""
        try:
            undo = self._undo(target)
        except Refusal as exc:
            target.keep_resize(str(exc))
        except KubeadmError as exc:
            if isinstance(exc, ApiError) and exc.status == HTTPStatus.NOT_FOUND:
                target.mark_gone()
                return True
            target.keep_resize(str(exc), self._command(target))
        else:
            if undo is None:
                return True  # it is gone
            if undo.remaining:
                target.keep_resize("; ".join(undo.remaining))
                target.add_message("All else has its former amounts. Only a new pod is without that limit.")
            else:
                target.roll_back(made=bool(undo.operations))
        return bool(target.rolled_back)

    def _undo(self, target: PodTarget) -> UndoPlan | None:
        """Returns None for a pod that is gone. Raises Refusal for what is not ours to take back."""
        if target.outcome == UNKNOWN:
            self._read_again(target)
        elif not target.stored:
            raise KubeadmError("the API does not show whether this task or another client made it")

        return retry_on_conflict(
            lambda: self._patch(target),
            lambda _refusal: self._read_again(target),
            cause="another client changed the pod",
        )

    def _patch(self, target: PodTarget) -> UndoPlan | None:
        if target.outcome == GONE:
            return None
        undo = self._plan(target)
        if undo.operations:
            path = f"{self._workloads.path_of(target.name)}{self._subresource}"
            target.latest = self._client.strategic_merge(path, undo.patch, dry_run=False)
            wanted = resize_undo.apply_changes(target.expected, undo.operations)
            altered = resize_undo.find_altered(wanted, (), target.latest)
            if altered:
                raise KubeadmError(f"the API server stored other amounts than the former ones: {'; '.join(altered)}")
        return undo

    @staticmethod
    def _plan(target: PodTarget) -> UndoPlan:
        return resize_undo.plan(target.read, target.expected, target.latest)

    def _read_again(self, target: PodTarget) -> None:
        pod = self._client.find(self._workloads.path_of(target.name))
        if pod is None or not target.is_same_pod(pod):
            target.mark_gone()
        else:
            target.latest = pod

    def _command(self, target: PodTarget) -> str:
        # What became of a patch without a response may not be known.
        current = target.expected if target.latest is target.read else target.latest
        try:
            undo = resize_undo.plan(target.read, target.expected, current)
        except Refusal:
            return ""
        return resize_undo.undo_command(current, undo.operations, self._subresource)

    def _give_up(self, targets: t.Sequence[PodTarget], reason: str) -> None:
        for target in targets:
            target.keep_resize(reason, self._command(target))


def summarize(targets: t.Iterable[PodTarget]) -> str:
    """Which pods of a task that failed were changed and are not any more, beside those whose errors say so; empty for none."""
    complete = [target.name for target in targets if target.rolled_back and not target.error]
    return f"These were resized, too, and have their former amounts again: {join_first(complete)}." if complete else ""


def offer_commands(observed: Observed) -> None:
    """Say how a resize is taken back that is not done, and that this task did not make."""
    for target in observed.targets.values():
        if target.outcome in (INFEASIBLE, DEFERRED, IN_PROGRESS) and not target.operations and target.latest:
            changes = resize_undo.unfinished_changes(target.latest, target.desired)
            target.command = resize_undo.undo_command(target.latest, changes, observed.subresource)
            if target.error and target.command:
                target.add_message(
                    f"This task did not change it. This gives it what its containers have: {target.command}"
                )


def added_limit_warnings(observed: Observed) -> list[str]:
    """A warning of what a failure could not take back, if any."""
    added = [
        f"{target.name} ({', '.join(limits)})"
        for target in observed.changing
        for limits in [resize_undo.added_limits(target.operations)]
        if limits
    ]
    advice = "These get a limit that they did not have, which no resize can take back, for Kubernetes removes none from a running pod"
    return [f"{advice}: {join_first(added)}."] if added else []
