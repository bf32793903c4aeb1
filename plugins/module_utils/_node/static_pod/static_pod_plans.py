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

_UNHEALTHY = "is_unhealthy"
# Those that others of the node use.
_SERVERS = (static_pods.ETCD, static_pods.API_SERVER)


class NodeState(t.NamedTuple):
    """What is read once for all plans of a node."""

    kubelet: Kubelet
    config: KubeadmConfig


class StaticPodPlans:
    """One run of the module: reads the kubelet once, and has each static pod planned and rehearsed, one after the other.

    params: C(static_pods) by name, C(persist_env), and options that are those of each. ready_timeout: seconds for one that has nothing to
    change to be ready.
    """

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        run: Run,
        host: Host = NODE,
        ready_timeout: float = static_pods.STABLE_SECONDS,
        lock_wait: LockWait | None = None,
    ) -> None:
        self._shared = {key: value for key, value in params.items() if key not in ("static_pods", "persist_env")}
        self._persist_env: t.Sequence[str] | None = params["persist_env"]
        self._entries: dict[str, Json] = params["static_pods"]
        self._run = run
        self._host = host
        self._ready_timeout = ready_timeout
        self._lock_wait = lock_wait or LockWait(params["lock_timeout"])
        self._busy = False

    def read(self) -> NodeState:
        """Wait until no other run is active on the node, and read its kubelet. Raises Busy, KubeadmError."""
        try:
            self._lock_wait.wait_until_node_free(self._entries, self._run)
        except Busy:
            self._busy = True
            raise
        # Where it does not work, everything is planned from its files: a rollout repairs it first.
        kubelet = read_any_kubelet(self._run, self._host, self._ready_timeout)
        clients = ApiClients.of_node(self._host._replace(**kubelet.paths).kubelet_conf, kubelet.node_name)
        return NodeState(kubelet, kubeadm_config.read(clients.admin))

    def members(self, node: NodeState) -> dict[str, StaticPodSteps]:
        """The steps of each static pod that is planned."""
        return {
            name: _PlanSteps(
                {**self._shared, **entry, "name": name},
                node=node,
                persist_env=self._persist_env,
                run=self._run,
                host=self._host,
                ready_timeout=self._ready_timeout,
                lock_wait=self._lock_wait,
            )
            for name, entry in self._entries.items()
            if not entry["only_if_changed"] or can_revert(name, self._shared["state"]) or node.config.persisted.of(name)
        }

    def report(self, node: NodeState | None, plans: t.Mapping[str, Json]) -> Json:
        """The result of the module. plans: those that were made, or why not, by the name of the static pod."""
        plans = _without_consequences(plans)
        failed = [plan for plan in plans.values() if plan["failed"]]
        identity = node.kubelet.cluster if node else ClusterIdentity()
        config = node.config.facts if node else {"problem": "the node was not read"}
        others, unreadable = self._others(node.kubelet, plans) if node else ({}, [])
        return {
            "static_pods": dict(plans),
            "others": others,
            "unreadable_files": unreadable,
            "node": node.kubelet.node_name if node else None,
            "cluster": dataclasses.asdict(identity),
            "kubeadm_config": {**config, "version": self._version(node.kubelet) if node else ""},
            "kubelet_problem": (node.kubelet.problem or None) if node else None,
            # Waiting for others does not change a refusal.
            "busy": self._busy or (bool(failed) and all(plan["busy"] for plan in failed)),
        }

    def _version(self, kubelet: Kubelet) -> str:
        directory = self._shared["manifest_dir"] or kubelet.manifest_dir
        return kubeadm_config.version_of_api_server(directory, kubelet.node_name)

    def _others(self, kubelet: Kubelet, planned: t.Container[str]) -> tuple[Json, list[str]]:
        """What a rollout needs to know of the node's static pods that are not planned, and the files that cannot be read as pods."""
        directory = self._shared["manifest_dir"] or kubelet.manifest_dir
        try:
            identities = {path: static_pods.pod_identity(path) for path in manifest_files(directory)}
        except KubeadmError:
            return {}, [directory]
        names = sorted({identity[1] for identity in identities.values() if identity})
        others = {name: _describe_state(name, directory, kubelet, self._host) for name in names if name not in planned}
        return others, [path for path, identity in identities.items() if identity is None]


class _PlanSteps(StaticPodSteps):
    """A plan, and the state of the static pod now.

    node: what was read for all plans. persist_env: the variables of the environment whose values may be returned; None: those in kubeadm-config.
    """

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        node: NodeState,
        persist_env: t.Sequence[str] | None,
        **options: t.Any,
    ) -> None:
        super().__init__(params, diff=False, kubelet=node.kubelet, **options)
        self._node = node
        self._persist_env = persist_env
        self._is_unhealthy = False

    @contextlib.contextmanager
    def session(self, *, dry: bool) -> t.Iterator[None]:
        """As in check mode: the run that changes resumes what an earlier run left open."""
        with super().session(dry=True):
            yield

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """As in check mode: the run that changes reports again how an earlier transaction ended."""
        return super().notes(observed, dry=True)

    def read(self, *, dry: bool) -> Observed:
        """Read as the module C(static_pod) does, and own what came with kubeadm-config: a change reads it from the record then."""
        observed = super().read(dry=dry)
        pod, persisted = observed.pod, self._node.config.persisted.of(self._name)
        record = kubeadm_config.adopt_persisted(pod.record, pod.manifest.values(), persisted)
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

    def _unhealthy_error(self, missing: str, probes: t.Any, log: t.Sequence[str]) -> KubeadmError:
        self._is_unhealthy = True
        return super()._unhealthy_error(missing, probes, log)

    def report(self, observed: Observed | None, plan: StaticPodPlan | None) -> Json:
        """The result of the module C(static_pod), and of C(static_pod_info) what a rollout needs."""
        directory = self._params["manifest_dir"] or self._node.kubelet.manifest_dir
        result = super().report(observed, plan)
        return {
            **result,
            "persistable": self._persistable(plan) if plan else None,
            "leads": self._leads,
            _UNHEALTHY: self._is_unhealthy,
            **_describe_state(self._name, directory, self._node.kubelet, self._host),
            # A plan verifies more than whether the static pod is ready.
            "unverified": result["unverified"],
        }

    def _persistable(self, plan: StaticPodPlan) -> Json:
        return kubeadm_config.describe(plan, self._desired, self._node.config, self._persist_env)


def _without_consequences(plans: t.Mapping[str, Json]) -> dict[str, Json]:
    """The same plans, in which what has nothing to change and does not work is no failure where something that it uses changes on this node: with etcd at
    max-concurrent-streams=1 no scheduler was ready, and a run that took that back was refused for it."""
    changing = [name for name in _SERVERS if (plans.get(name) or {}).get("operations")]
    found = {name: {key: value for key, value in plan.items() if key != _UNHEALTHY} for name, plan in plans.items()}
    for name, plan in plans.items() if changing else ():
        if plan.get(_UNHEALTHY) and name not in changing:
            why = f"whether it works: it does not now, which the change of {changing[0]} may repair; run again to verify it"
            found[name].update(failed=False, msg="", unverified=[*plan["unverified"], why])
    return found


def _describe_state(name: str, directory: str, kubelet: Kubelet, host: Host) -> Json:
    """What a rollout needs of the result of C(static_pod_info)."""
    return {
        **static_pods.readiness(name, directory, kubelet.node_name, host._replace(**kubelet.paths)),
        "open_transaction": journal_history.describe_open(name),
    }
