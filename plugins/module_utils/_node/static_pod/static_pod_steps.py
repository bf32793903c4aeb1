# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(static_pod), for the runner."""

from __future__ import annotations

import dataclasses
import os
import time
import typing as t

from ..._engine.node import NODE, Host, read_last_log_lines, redact
from ..._plan.common.verdict import Verdict
from ..._plan.static_pod import plan as static_pod
from ..._plan.static_pod.desired import SETTINGS, Desired, parse_desired
from ..._plan.static_pod.plan import State, StaticPodPlan, build_diff
from ..etcd import etcd_preflight
from ..kubelet.kubelet_down import read_running_kubelet
from ..kubelet.kubelet_reader import Kubelet, version_warnings
from ..runtime import programs
from ..runtime.container_runtime import runtime_at
from ..transaction.state import Run
from ..transaction.transaction_steps import LockWait, PreviousTransactions, TransactionSteps
from . import preflight, static_pod_journal, static_pods
from .component_files import ComponentFiles, PreflightContext, refuse_special_files
from .static_pod_journal import ApiClients
from .static_pods import StaticPod


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run reads. host: where this kubelet keeps its pods. previous: what earlier runs left."""

    kubelet: Kubelet
    host: Host
    pod: StaticPod
    state: State
    previous: PreviousTransactions


class StaticPodSteps(TransactionSteps[Desired]):
    """One run of the module: reads, plans, rehearses and starts a change of one static pod."""

    _conflicts_with_previous = (*SETTINGS, "purge")

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        diff: bool,
        run: Run,
        host: Host = NODE,
        ready_timeout: float = static_pods.STABLE_SECONDS,
        lock_wait: LockWait | None = None,
        kubelet: Kubelet | None = None,
    ) -> None:
        """kubelet: of the node, where it was read already; one with a problem is repaired before a change."""
        super().__init__(params, name=str(params["name"]), diff=diff, run=run, host=host, lock_wait=lock_wait)
        self._ready_timeout = ready_timeout
        self._kubelet = kubelet
        self._manifest: str | None = None
        self._snapshot: str | None = None
        self._leads = False
        self._sandbox_image = ""

    def _parse(self) -> Desired:
        return parse_desired(self._params)

    def read(self, *, dry: bool) -> Observed:
        """Read the kubelet, the manifest, our record, and the files that may change."""
        kubelet = self._kubelet or read_running_kubelet(self._run, self._host, self._ready_timeout)
        self._context.node, self._context.cluster = kubelet.node_name, kubelet.cluster
        previous, desired = self._read_transactions(kubelet.node_name), self._desired
        directory = self._params["manifest_dir"] or kubelet.manifest_dir
        if self._name == static_pods.ETCD:
            etcd_preflight.refuse_external(directory, kubelet.node_name)
        pod = static_pods.read_static_pod(self._name, directory, kubelet.node_name, joined_at=kubelet.joined)
        self._manifest = pod.path
        refuse_special_files((entry.path for entry in desired.files), directory)
        paths = {entry.path for entry in desired.files} | set(pod.record.get("files", {}))
        etcd_preflight.refuse_files_among_data(pod, paths)
        users, groups = static_pods.read_accounts(desired.files)
        files = static_pods.read_files(paths)
        state = State(pod.manifest, pod.record, files, users, groups, pod.written_image, pod.former, pod.changed)
        return Observed(kubelet, self._host._replace(**kubelet.paths), pod, state, previous)

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """Warn of a version that is not tested, too: the component's, or the kubelet's where the component is not Kubernetes' own."""
        kubelet = observed.kubelet
        images = {self._name: observed.pod.manifest.container.get("image")}
        notes = self._transaction_warnings(kubelet.node_name, observed.previous, dry=dry)
        unread = ", ".join(observed.pod.unread)
        unverified = [f"whether its kubelet takes {unread} for it: it cannot be read as a pod"] if unread else []
        notes += self._record_unverified(unverified)
        return [*notes, *version_warnings(kubelet, images, self._run)]

    def plan(self, observed: Observed) -> StaticPodPlan:
        """Work out the change."""
        if self._is_revert:
            previous = observed.previous
            return static_pod.plan_undo(self._name, previous.rollback, observed.state, self._revert_warnings(previous))
        return static_pod.plan(self._desired, observed.state)

    def preflight(self, observed: Observed, plan: StaticPodPlan) -> t.Sequence[str]:
        """Check for what would keep the changed component from starting or being verified."""
        if not plan.operations:
            return ()
        node = self._preflight_context(observed)
        warnings = preflight.check(observed.pod, plan, node)
        self._leads = node.facts.get("leads", False)
        self._sandbox_image = node.facts.get("sandbox_image", "")
        return [
            *warnings,
            *self._record_unverified(node.unverified),
            *self._record_unverifiable(
                static_pod_journal.unverifiable(observed.pod, plan, _clients(observed), observed.host)
            ),
        ]

    def _preflight_context(self, observed: Observed) -> PreflightContext:
        return PreflightContext(
            kubelet=observed.kubelet,
            run=self._run,
            host=observed.host,
            clock=time.monotonic,
            sleep=time.sleep,
            ready_timeout=self._ready_timeout,
            kubeconfig=_clients(observed).admin,
            force=self._params["force"],
        )

    def verify(self, observed: Observed, plan: StaticPodPlan, *, dry: bool) -> t.Sequence[str]:
        """With nothing to change, verify that the component runs what its manifest says, and reports its feature gates. Raises KubeadmError
        when it does not.

        What others changed is recorded as theirs, since there is no transaction that could do it.
        """
        pod, kubelet = observed.pod, observed.kubelet
        if observed.previous.open is not None:  # it is in the middle of a change
            return ()
        if not dry:
            static_pod_journal.write_plan_record(pod, plan)
        if kubelet.problem:  # it comes up with its kubelet only
            return self._record_unverified(["whether it works: its kubelet does not, so it was not looked at"])
        observation = static_pods.watch_until_healthy(
            pod, observed.host, seconds=self._ready_timeout, clock=time.monotonic, sleep=time.sleep
        )
        if not observation.healthy:
            log = [redact(line, pod.manifest.hidden) for line in read_last_log_lines(observation.logs)]
            raise self._unhealthy_error(observation.missing(), observation.probes, log)
        clients = _clients(observed)
        unverified = [
            *observation.unverified(),
            *static_pods.unread_files(self._read_at_start(observed), observation.process, observed.host),
            *static_pod_journal.unverified_clients(pod, clients),
            *static_pod_journal.verify_gates(pod, clients),
            *(etcd_preflight.unverified_cluster(pod) if self._name == static_pods.ETCD else ()),
        ]
        return self._record_unverified(unverified)

    def _read_at_start(self, observed: Observed) -> list[str]:
        """The files of the settings, also those that only an argument names."""
        pod = observed.pod
        args = {**pod.record.get("args", {}), **self._desired.values.get("args", {})}
        files = [path for path, version in observed.state.files.items() if version is not None]
        return list(dict.fromkeys([*files, *ComponentFiles(pod.manifest).named_files(args)]))

    def rehearse(self, observed: Observed, plan: StaticPodPlan) -> Verdict:
        """Start the component with its new command line in a sandbox."""
        runtime = runtime_at(observed.kubelet.runtime, self._run)
        verdict = programs.rehearse(
            observed.pod, plan, run=self._run, runtime=runtime, clock=time.monotonic, host=observed.host
        )
        named = {("files", entry.path) for entry in self._desired.files}
        changes = [each for each in plan.operations if (each.field, each.key) not in named]
        return self._with_reverts(verdict, observed.previous, changes)

    def apply(self, observed: Observed, plan: StaticPodPlan) -> None:
        """Hand the change to the node's engine."""
        pod, paths = observed.pod, observed.kubelet.paths
        params = {**self._params, "sandbox_image": self._sandbox_image}
        journal = static_pod_journal.static_pod_journal(pod, plan, self._settings, _clients(observed), paths, params)
        if self._name == static_pods.ETCD:
            node = self._preflight_context(observed)
            etcd_preflight.add_member_probes(journal, plan, os.path.dirname(pod.path), node)
            self._snapshot = etcd_preflight.save_snapshot(pod, plan, node)
            if self._snapshot:
                journal["notes"].append(
                    f"a snapshot of etcd was saved before the change, and read back: {self._snapshot}"
                )
        self._start(journal, observed.previous)

    def report(self, observed: Observed | None, plan: StaticPodPlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        rollback = observed.previous.rollback if observed and plan and plan.operations else None
        return {
            **self._report(plan, build_diff(plan) if plan and self._diff else ()),
            "manifest": self._manifest,
            "snapshot": self._snapshot,
            "lost": plan.lost if plan else {},
            "reverts": rollback.transaction if rollback else None,
        }


def _clients(observed: Observed) -> ApiClients:
    return ApiClients.of_node(observed.host.kubelet_conf, observed.kubelet.node_name)
