# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waits for what kubelets make of the changes of pods."""

from __future__ import annotations

import typing as t

from .._plan.common.batch import join_first
from .._plan.common.errors import KubeadmError
from .._plan.kubernetes import pods
from .._plan.kubernetes.kubelet_lease import describe_stale_lease, unverified_kubelets
from .._plan.pod import resize as pod_resize
from .._plan.pod import resize_state as pod_resize_state
from .._plan.pod.resize_state import INFEASIBLE, REFUSED, RESIZED, RESTARTED, UNCHANGED
from .client import Client
from .kubelet_leases import find_stale_leases
from .pod_targets import PodTarget
from .workloads import Workloads

POLL_INTERVAL = 0.5  # seconds


class PodWatch:
    """Waits for the outcomes of pods, with one request for all of them at a time: resized, restarted, refused by a kubelet, gone.

    It is apart from the steps because each batch, all pods and those of an earlier run are watched by the same rules. timeout: seconds that
    pods have. note_unverified: records what could not be verified.
    """

    def __init__(
        self, client: Client, workloads: Workloads, *, timeout: int, note_unverified: t.Callable[[str], None]
    ) -> None:
        self._client = client
        self._workloads = workloads
        self._timeout = timeout
        self._note_unverified = note_unverified
        self._watched: set[str] = set()  # names of pods that were waited for, so that their kubelets just reported

    def wait(self, targets: t.Sequence[PodTarget], *, ready: bool) -> None:
        """Wait until pods have the desired resources. ready: and are Ready."""
        waiting, timeout = list(targets), self._timeout

        def refresh() -> None:
            current = self._workloads.read_current([target.name for target in waiting])
            for target in waiting:
                self._watched.add(target.name)
                target.update(current.get(target.name))

        def are_done() -> bool:
            waiting[:] = [target for target in waiting if not self._is_done(target, ready=ready)]
            return not waiting

        self._client.poll(are_done, timeout, POLL_INTERVAL, refresh=refresh)
        for target in waiting:
            state = pod_resize_state.resize_state(target.latest, target.desired)
            if state.outcome == INFEASIBLE:
                target.fail_infeasible(state.reason)
                continue
            outcome, gap = (RESTARTED, "it is not Ready") if state.outcome == RESIZED else (state.outcome, state.reason)
            target.fail(outcome, f"not done within {timeout} s: {gap.rstrip('.')}.")

    def wait_for_former(
        self, targets: t.Sequence[PodTarget], stale: t.Mapping[str, t.Sequence[t.Any]], *, ready: bool
    ) -> dict[str, str]:
        """Wait until pods have the amounts that they had when they were read. Returns what that is not known of, with the reason.

        stale: by name, their conditions about resizes before they were given these. ready: and are Ready.
        """
        waiting = {target.name: target for target in targets if target.node}
        missing: dict[str, str] = {}

        def refresh() -> None:
            current = self._workloads.read_current(list(waiting))
            for name, target in list(waiting.items()):
                if name in current and target.is_same_pod(current[name]):
                    target.latest = current[name]
                else:
                    del waiting[name]

        def are_done() -> bool:
            missing.clear()
            for target in waiting.values():
                state = pod_resize_state.resize_state(target.latest, target.former, stale[target.name])
                if state.outcome != RESIZED or (ready and not target.is_ready):
                    missing[target.full_name] = state.reason or "it is not Ready"
            return not missing

        try:
            self._client.poll(are_done, self._timeout, POLL_INTERVAL, refresh=refresh)
        except KubeadmError as exc:
            return dict.fromkeys((target.full_name for target in waiting.values()), str(exc))
        return missing

    def take_turns(
        self,
        targets: t.Sequence[PodTarget],
        every: t.Mapping[str, PodTarget],
        limit: int,
        *,
        wanted: t.Callable[[PodTarget], bool],
        change: t.Callable[[t.Sequence[PodTarget]], None],
        give_up: t.Callable[[t.Sequence[PodTarget], str], None],
    ) -> None:
        """Change pods whose containers restart for it, in batches, so that at most limit of every pod of the task are down at a time.

        wanted: whether one still has to be changed. change: changes a batch, and waits until it is Ready again. give_up: gets those that had no turn, and why.
        """
        waiting = list(targets)
        while waiting:
            down = self.not_ready(every)
            waiting = [target for target in waiting if wanted(target)]
            batch = pod_resize.next_batch(
                waiting, ready=lambda target: target.is_ready, unavailable=len(down), limit=limit
            )
            if waiting and not batch:
                give_up(
                    waiting,
                    f"its restart would put more than max_unavailable ({limit}) out of service, because these are not Ready:"
                    f" {join_first(down)}.",
                )
                return
            change(batch)
            waiting = [target for target in waiting if target not in batch and wanted(target)]
            if waiting:
                # A pod that fails again at once must be noticed before the next batch.
                self._client.sleep(POLL_INTERVAL)

    def note_pending(self, targets: t.Iterable[PodTarget]) -> None:
        """Record, without waiting, what the kubelets report of earlier changes."""
        for target in targets:
            # Without a node it has no kubelet, and starts with its resources.
            if target.operations or not target.latest["spec"].get("nodeName"):
                continue
            state = pod_resize_state.resize_state(target.latest, target.desired)
            if state.outcome == INFEASIBLE:
                target.fail_infeasible(state.reason)
            elif state.outcome != RESIZED:
                target.outcome, target.note = state.outcome, state.reason
                self._note_unverified(
                    f"whether the pod {target.full_name} gets its resources: {state.reason.rstrip('.')}"
                )

    def note_stale(self, targets: t.Iterable[PodTarget]) -> None:
        """Record which pods are known to have their resources only by what their kubelet reported before it stopped: they may not even run."""
        pending = [target for target in targets if not (target.operations and target.outcome == UNCHANGED)]
        known = {target.full_name: target for target in pending if target.is_resized(dry=False)}
        reasons = {
            name: f"its node {target.node} is not Ready, so no kubelet reports it"
            for name, target in known.items()
            if pods.is_unreported(target.latest)
        }
        others = {name: each for name, each in known.items() if name not in reasons and each.name not in self._watched}
        nodes = list(dict.fromkeys(target.node for target in others.values()))
        stale, unknown = find_stale_leases(self._client, nodes)
        reasons |= {name: describe_stale_lease(stale[each.node]) for name, each in others.items() if each.node in stale}
        for name, reason in reasons.items():
            self._note_unverified(f"whether the pod {name} has its resources: {reason}")
        for text in unverified_kubelets(unknown, nodes):
            self._note_unverified(text)

    def not_ready(self, targets: t.Mapping[str, PodTarget]) -> list[str]:
        """The names of the pods that are not Ready now, those that are gone included. Any of them may have been Ready before."""
        known = [target for target in targets.values() if target.latest]
        current = self._workloads.read_current([target.name for target in known])
        ready = {name for name, pod in current.items() if targets[name].is_same_pod(pod) and pods.is_ready(pod)}
        for target in known:
            if not target.error:
                target.update(current.get(target.name))
        return [target.name for target in known if target.name not in ready]

    def _is_done(self, target: PodTarget, *, ready: bool) -> bool:
        """Whether there is nothing more to wait for, and record the outcome."""
        if target.error:
            return True
        if not target.latest["spec"].get("nodeName"):
            target.note = "not waited for: the pod has no node yet, and starts with the desired resources"
            self._note_unverified(f"whether the pod {target.full_name} gets its resources: it has no node yet")
            return True
        lost = pod_resize_state.find_overwritten(target.latest, target.desired)
        if lost:
            target.fail(REFUSED, f"another client changed it in the meantime: {'; '.join(lost)}. Run the task again.")
            return True
        state = pod_resize_state.resize_state(target.latest, target.desired, target.earlier_conditions)
        if state.outcome == INFEASIBLE:
            target.fail_infeasible(state.reason)
            return True
        if state.outcome != RESIZED or (ready and not target.is_ready):
            return False
        target.succeed()
        return True
