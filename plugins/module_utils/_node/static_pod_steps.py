# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The steps of the module C(static_pod), for the runner."""

from __future__ import annotations

import dataclasses
import os
import time
import typing as t

from .._engine.node import NODE, Host, hide, last_words
from .._engine.watcher import HICCUP_SECONDS
from .._plan.common.errors import KubeadmError
from .._plan.common.verdict import Verdict
from .._plan.kubernetes import versions
from .._plan.static_pod import desired
from .._plan.static_pod import plan as static_pod
from .._plan.static_pod import undo as static_pod_undo
from .._plan.static_pod.desired import Wish
from .._plan.static_pod.diff import diff
from .._plan.transaction import messages
from .._plan.transaction.undo import PREVIOUS, WayBack, refuse_settings
from . import (
    etcd_preflight,
    journals,
    preflight,
    rehearsals,
    static_pod_journals,
    static_pods,
    transaction_log,
    way_back,
)
from .api_clients import ApiClients
from .journals import TransactionSettings
from .kubelet import Kubelet, version_of
from .kubelet_down import read_running_kubelet
from .lock_wait import LockWait
from .preflight_context import PreflightContext
from .records import Images, write_record
from .runtime import runtime_at
from .state import Run
from .transaction_steps import TransactionSteps


class StaticPodSteps(TransactionSteps):
    """One run of the module: reads, plans, rehearses and starts a change of one static pod."""

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        dry: bool,
        diff: bool,
        run: Run,
        host: Host = NODE,
        patience: float = static_pods.SETTLE_SECONDS,
        lock_wait: LockWait | None = None,
        kubelet: Kubelet | None = None,
    ) -> None:
        """kubelet: of the node, where it was read already. One with a problem is repaired before a change is made."""
        super().__init__(params, name=str(params["name"]), dry=dry, diff=diff, run=run, host=host, lock_wait=lock_wait)
        self._patience = patience
        self._wish: Wish | None = None
        self._kubelet = kubelet
        self._pod: static_pods.StaticPod | None = None
        self._state: static_pod.State | None = None
        self._way: WayBack | None = None
        self._plan: static_pod.StaticPodPlan | None = None
        self._snapshot: str | None = None
        self._notes_record = not dry

    def _parse(self) -> None:
        if self._params["state"] == PREVIOUS:
            refuse_settings(self._params, (*desired.SETTINGS, "purge"))
        self._wish = desired.parse_wish(self._params)

    def read(self) -> None:
        """Read the kubelet, the manifest, our record, and the files that may change."""
        self._kubelet = kubelet = self._kubelet or read_running_kubelet(self._run, self._host, self._patience)
        self._node, self._cluster = kubelet.node_name, kubelet.cluster
        self._host = self._host._replace(**kubelet.places)
        self._read_transactions()
        wish = t.cast(Wish, self._wish)
        folder = self._params["manifest_dir"] or kubelet.manifest_dir
        if self._name == static_pods.ETCD:
            etcd_preflight.refuse_external(folder, kubelet.node_name)
        self._pod = static_pods.read_static_pod(self._name, folder, kubelet.node_name, joined=kubelet.joined)
        _refuse_pods_as_files(wish, folder)
        paths = {entry.path for entry in wish.files} | set(self._pod.record.get("files", {}))
        etcd_preflight.refuse_files_among_data(self._pod, paths)
        users, groups = static_pods.read_accounts(wish.files)
        self._state = static_pod.State(
            self._pod.manifest,
            self._pod.record,
            static_pods.read_files(paths),
            users,
            groups,
            self._pod.written_image,
            self._pod.changed,
        )
        if wish.state == PREVIOUS and self._open is None:
            self._way = way_back.find(self._name, kubelet.node_name)

    def notes(self) -> list[str]:
        """Warn of a version that is not tested, too: the component's, or the kubelet's where the component is not Kubernetes' own."""
        image = t.cast(static_pods.StaticPod, self._pod).manifest.container.get("image")
        found = versions.of_images({self._name: image}) or {
            "kubelet": [version_of(t.cast(Kubelet, self._kubelet).program, self._run)]
        }
        return [*super().notes(), *versions.warnings(str(self._node), found)]

    def plan(self) -> static_pod.StaticPodPlan:
        """Work out the change, and look for what would keep the changed component from coming up."""
        wish, state = t.cast(Wish, self._wish), t.cast(static_pod.State, self._state)
        if wish.state == PREVIOUS:
            notes = way_back.notes(self._way, self._name, str(self._node))
            plan = static_pod_undo.plan(self._name, self._way, state, notes)
        else:
            plan = static_pod.plan(wish, state)
        self._plan = plan
        if not plan.operations:
            return plan
        warnings = preflight.check(t.cast(static_pods.StaticPod, self._pod), plan, self._fitness())
        return dataclasses.replace(plan, warnings=(*plan.warnings, *warnings))

    def _fitness(self) -> PreflightContext:
        return PreflightContext(
            kubelet=t.cast(Kubelet, self._kubelet),
            run=self._run,
            host=self._host,
            clock=time.monotonic,
            sleep=time.sleep,
            patience=min(self._patience, HICCUP_SECONDS),
            kubeconfig=self._clients().admin,
            force=self._params["force"],
        )

    def _clients(self) -> ApiClients:
        return ApiClients.of_node(self._host.kubelet_conf, t.cast(Kubelet, self._kubelet).node_name)

    def settle(self) -> None:
        """With nothing to change, see that the component runs what its manifest says. Raises KubeadmError when it does not.

        What others changed is noted as theirs, since there is no transaction that could do it.
        """
        pod, plan = t.cast(static_pods.StaticPod, self._pod), t.cast(static_pod.StaticPodPlan, self._plan)
        if self._open is not None:  # it is in the middle of a change
            return
        if self._notes_record:
            images = Images(pod.written_image, plan.image)
            write_record(self._name, before=pod.record, after=plan.record, images=images)
        if t.cast(Kubelet, self._kubelet).problem:  # it comes up with its kubelet only
            return
        sight = static_pods.watch_until_healthy(
            pod, self._host, seconds=self._patience, clock=time.monotonic, sleep=time.sleep
        )
        if not sight.healthy:
            log = [hide(line, pod.manifest.hidden) for line in last_words(sight.logs)]
            last = transaction_log.last(self._name)
            raise KubeadmError(messages.unwell(self._name, str(self._node), sight.missing(), sight.probes, log, last))

    def rehearse(self) -> Verdict:
        """Start the component with its new command line in a sandbox."""
        pod, plan = t.cast(static_pods.StaticPod, self._pod), t.cast(static_pod.StaticPodPlan, self._plan)
        runtime = runtime_at(t.cast(Kubelet, self._kubelet).runtime, self._run)
        return rehearsals.rehearse(pod, plan, run=self._run, runtime=runtime, clock=time.monotonic, host=self._host)

    def apply(self) -> None:
        """Hand the change to the node's engine."""
        pod, plan = t.cast(static_pods.StaticPod, self._pod), t.cast(static_pod.StaticPodPlan, self._plan)
        places = t.cast(Kubelet, self._kubelet).places
        settings = t.cast(TransactionSettings, self._settings)
        journal = static_pod_journals.static_pod_journal(pod, plan, settings, self._clients(), places)
        if self._name == static_pods.ETCD:
            etcd_preflight.add_member(journal, plan, os.path.dirname(pod.path))
            self._snapshot = etcd_preflight.save_snapshot(pod, plan, self._fitness())
            if self._snapshot:
                journal["notes"].append(
                    f"a snapshot of etcd was saved before the change, and read back: {self._snapshot}"
                )
        self._start(journals.enter(journal, self._way) if self._way else journal)

    def report(self) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        plan = self._plan
        return {
            **self._report(plan.operations if plan else (), diff(plan) if plan and self._diff else ()),
            "manifest": self._pod.path if self._pod else None,
            "snapshot": self._snapshot,
            "lost": plan.lost if plan else {},
            "takes_back": self._way.transaction if self._way and plan and plan.operations else None,
        }


def _refuse_pods_as_files(wish: Wish, folder: str) -> None:
    for entry in wish.files:
        if os.path.dirname(os.path.realpath(entry.path)) == os.path.realpath(folder):
            raise KubeadmError(
                f"files: {entry.path} would be in the directory of static pods, where the kubelet treats it as one."
            )
