# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plans of several static pods of a node, for the runner: for each the steps of C(static_pod) in check mode."""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from ..._engine.files import Json, make_directory
from ..._engine.node import NODE, Host
from ..._plan.common.errors import Busy, KubeadmError
from ..._plan.kubernetes.clusters import ClusterIdentity
from ..._plan.static_pod.plan import StaticPodPlan
from ..kubelet.kubelet_down import read_any_kubelet
from ..kubelet.kubelet_reader import Kubelet, manifest_files
from ..transaction import journal_history
from ..transaction.owned_record import RecordDetails, can_revert, made_directories, write_record
from ..transaction.state import Run, state_directory
from ..transaction.transaction_steps import LockWait
from ..upgrade import kubeadm_config
from ..upgrade.kubeadm_config import KubeadmConfig
from . import static_pods
from .static_pod_journal import ApiClients
from .static_pod_steps import Observed, StaticPodSteps


class Common(t.NamedTuple):
    """What all plans of a node have in common. known: what the API tells of kubeadm-config."""

    kubelet: Kubelet
    known: KubeadmConfig


class StaticPodPlans:
    """One run of the module: reads the kubelet once, and has each static pod planned and rehearsed, one after the other.

    params: C(static_pods) by name, C(persist_env), and options that are those of each. patience: seconds for one that has nothing to
    change to be ready.
    """

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        run: Run,
        host: Host = NODE,
        patience: float = static_pods.STABLE_SECONDS,
        lock_wait: LockWait | None = None,
    ) -> None:
        self._shared = {key: value for key, value in params.items() if key not in ("static_pods", "persist_env")}
        self._persist_env: t.Sequence[str] | None = params["persist_env"]
        self._entries: dict[str, Json] = params["static_pods"]
        self._run = run
        self._host = host
        self._patience = patience
        self._lock_wait = lock_wait or LockWait(params["lock_timeout"])
        self._busy = False

    def read(self) -> Common:
        """Wait for others at work on the node, and read its kubelet. Raises Busy, KubeadmError."""
        try:
            self._lock_wait.wait_until_node_free(self._entries, self._run)
        except Busy:
            self._busy = True
            raise
        # Where it does not work, everything is planned from its files: a rollout repairs it first.
        kubelet = read_any_kubelet(self._run, self._host, self._patience)
        clients = ApiClients.of_node(self._host._replace(**kubelet.places).kubelet_conf, kubelet.node_name)
        return Common(kubelet, kubeadm_config.read(clients.admin))

    def members(self, common: Common) -> dict[str, StaticPodSteps]:
        """The steps of each static pod that is planned."""
        return {
            name: _PlanSteps(
                {**self._shared, **entry, "name": name},
                found=common,
                persist_env=self._persist_env,
                run=self._run,
                host=self._host,
                patience=self._patience,
                lock_wait=self._lock_wait,
            )
            for name, entry in self._entries.items()
            if not entry["only_if_changed"]
            or can_revert(name, self._shared["state"])
            or common.known.persisted.of(name)
        }

    def report(self, common: Common | None, plans: t.Mapping[str, Json]) -> Json:
        """The result of the module. plans: those that were made, or why not, by the name of the static pod."""
        failed = [plan for plan in plans.values() if plan["failed"]]
        identity = common.kubelet.cluster if common else ClusterIdentity()
        told = common.known.told if common else {"problem": "the node was not read"}
        others, unreadable = self._others(common.kubelet, plans) if common else ({}, [])
        return {
            "static_pods": dict(plans),
            "others": others,
            "unreadable_files": unreadable,
            "node": common.kubelet.node_name if common else None,
            "cluster": dataclasses.asdict(identity),
            "kubeadm_config": {**told, "version": self._version(common.kubelet) if common else ""},
            "kubelet_problem": (common.kubelet.problem or None) if common else None,
            # A refusal stays one, however long others are waited for.
            "busy": self._busy or (bool(failed) and all(plan["busy"] for plan in failed)),
        }

    def _version(self, kubelet: Kubelet) -> str:
        directory = self._shared["manifest_dir"] or kubelet.manifest_dir
        return kubeadm_config.version_of_api_server(directory, kubelet.node_name)

    def _others(self, kubelet: Kubelet, planned: t.Container[str]) -> tuple[Json, list[str]]:
        """What a rollout goes by of the static pods of the node that are not planned, and the files that may be some and cannot be read."""
        directory = self._shared["manifest_dir"] or kubelet.manifest_dir
        try:
            identities = {path: static_pods.pod_identity(path) for path in manifest_files(directory)}
        except KubeadmError:
            return {}, [directory]
        names = sorted({identity[1] for identity in identities.values() if identity})
        others = {name: _observed(name, directory, kubelet, self._host) for name in names if name not in planned}
        return others, [path for path, identity in identities.items() if identity is None]


class _PlanSteps(StaticPodSteps):
    """A plan, and what the static pod is found to be now.

    found: what was read for all plans. persist_env: the variables of the environment whose values may be told; None: those in kubeadm-config.
    """

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        found: Common,
        persist_env: t.Sequence[str] | None,
        **given: t.Any,
    ) -> None:
        super().__init__(params, diff=False, kubelet=found.kubelet, **given)
        self._found = found
        self._persist_env = persist_env

    @contextlib.contextmanager
    def session(self, *, dry: bool) -> t.Iterator[None]:
        """As in check mode: what an earlier run left open is for the run that changes."""
        with super().session(dry=True):
            yield

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """As in check mode: how an earlier transaction ended is told again to the run that changes."""
        return super().notes(observed, dry=True)

    def read(self, *, dry: bool) -> Observed:
        """Read as the module C(static_pod) does, and take as ours what came with kubeadm-config, which a change reads from the record then."""
        observed = super().read(dry=dry)
        pod, persisted = observed.pod, self._found.known.persisted.of(self._name)
        record = kubeadm_config.adopted(pod.record, pod.manifest.values(), persisted)
        if record == pod.record or observed.previous.open is not None:
            return observed
        written = pod.written_image if pod.record else pod.manifest.container.get("image")
        if not dry:
            make_directory(state_directory(self._name))  # a node that has just joined has none
            write_record(
                self._name,
                before=pod.record,
                after=record,
                details=RecordDetails(pod.written_image, written, directories=made_directories(self._name)),
            )
        return dataclasses.replace(
            observed,
            pod=dataclasses.replace(pod, record=record, written_image=written),
            state=dataclasses.replace(observed.state, record=record, written_image=written),
        )

    def report(self, observed: Observed | None, plan: StaticPodPlan | None) -> Json:
        """What the module C(static_pod) reports, and of C(static_pod_info) what a rollout goes by."""
        directory = self._params["manifest_dir"] or self._found.kubelet.manifest_dir
        made = super().report(observed, plan)
        return {
            **made,
            "persistable": self._persistable(plan) if plan else None,
            **_observed(self._name, directory, self._found.kubelet, self._host),
            # A plan looks at more than whether the static pod is ready.
            "unverified": made["unverified"],
        }

    def _persistable(self, plan: StaticPodPlan) -> Json:
        return kubeadm_config.describe(plan, self._desired, self._found.known, self._persist_env)


def _observed(name: str, directory: str, kubelet: Kubelet, host: Host) -> Json:
    """What C(static_pod_info) tells of a static pod, as far as a rollout goes by it."""
    return {
        **static_pods.readiness(name, directory, kubelet.node_name, host._replace(**kubelet.places)),
        "open_transaction": journal_history.describe_open(name),
    }
