# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal of a static pod's planned change, and what of it cannot be verified."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ..._engine.api_server import AUTHORIZED_PATH
from ..._engine.journal import (
    STATIC_POD,
    Client,
    Credential,
    FileEntry,
    InterimVersion,
    Journal,
    KubeletPaths,
    StaticPodWatch,
    StoredVersion,
)
from ..._engine.node import Host
from ..._engine.pod_observation import mirror_pod_path
from ..._engine.probes import api_request, read_gates, unread_gates, wrong_gates
from ..._plan.common.errors import KubeadmError
from ..._plan.static_pod import short_restarts
from ..._plan.static_pod.manifest import Manifest
from ..._plan.static_pod.plan import StaticPodPlan
from ..._plan.transaction import planned_observations
from ..transaction.file_versions import dump_version
from ..transaction.owned_record import RecordDetails, made_directories, write_record
from ..transaction.planned_journal import (
    TransactionSettings,
    file_entry,
    missing_directories,
    new_journal,
    record_entry,
)
from . import planned_canary, static_pods
from .static_pods import API_SERVER, StaticPod, instance_of, observe

ADMIN = ("/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf")


@dataclasses.dataclass(frozen=True)
class ApiClients:
    """The clients that verify an API server. admin, kubelet: their kubeconfigs. node: the name of the kubelet's Node."""

    admin: str
    kubelet: str
    node: str

    @classmethod
    def of_node(cls, kubelet: str, node: str) -> ApiClients:
        """kubeadm may have moved an administrator's kubeconfig away, but not both of them."""
        return cls(next(filter(os.path.exists, ADMIN), ADMIN[0]), kubelet, node)

    def credentials(self) -> list[Credential]:
        """Those that exist, each with a path that it may always read."""
        paths = {self.admin: AUTHORIZED_PATH, self.kubelet: f"/api/v1/nodes/{self.node}"}
        return [{"kubeconfig": file, "path": path} for file, path in paths.items() if os.path.exists(file)]

    def mirror(self, log_prefix: str) -> Credential:
        """The pod by which the kubelet reports a static pod at the API."""
        return {"kubeconfig": self.kubelet, "path": mirror_pod_path(log_prefix)}

    def unverified(self) -> list[str]:
        """What cannot be verified of an API server, because a kubeconfig is missing."""
        return [
            f"whether it answers {client}: {file} does not exist on {os.uname().nodename}"
            for file, client in ((self.admin, "its administrator"), (self.kubelet, "its kubelet"))
            if not os.path.exists(file)
        ]


def static_pod_journal(
    pod: StaticPod,
    plan: StaticPodPlan,
    settings: TransactionSettings,
    clients: ApiClients,
    paths: KubeletPaths,
    params: t.Mapping[str, t.Any],
) -> Journal:
    """The journal of a planned change of a static pod. params: of the module, and C(sandbox_image), with which the runtime begins every pod."""
    before, after = instance_of(plan.before), instance_of(plan.after)
    details, made = record_details(pod, plan), made_directories(pod.name)
    gates, metrics = gate_source(plan.after, clients)
    files: list[FileEntry] = [
        *(file_entry(change) for change in plan.files),
        {
            "path": pod.path,
            "switch": True,
            "before": dump_version(pod.version),
            "after": _version_of(pod, plan.after),
            **_interim_version(pod, plan),
        },
        *record_entry(pod.name, before=pod.record, after=plan.record, details=details),
    ]
    watch: StaticPodWatch = {
        "kind": STATIC_POD,
        **pod.logs,
        "places": paths,
        "before": before,
        "after": after,
        "feature_gates": gates,
        "metrics": metrics,
        "hidden": plan.after.hidden,
    }
    journal = new_journal(pod.name, files, watch, settings)
    journal["obsolete"] = [path for path in reversed(made) if path not in details.directories]
    min_ready = settings.min_ready_seconds + plan.seconds_until_leading()
    journal["min_ready_seconds"] = max(min_ready, plan.after.seconds_until_killed())
    if pod.name == API_SERVER:
        for instance, manifest in ((before, plan.before), (after, plan.after)):
            instance["server"] = static_pods.server_address(manifest)
        watch["credentials"], watch["mirror"] = clients.credentials(), clients.mirror(pod.log_prefix)
        watch["unverified"] = clients.unverified()
        former, planned = map(_addresses_of, (plan.before, plan.after))
        watch["observations"] = planned_observations.of_api_server(former, planned, clients.admin)
    planned_canary.add_canary(watch, planned_canary.plan_canary(pod, plan, params, clients.node, clients.admin))
    return journal


def _addresses_of(manifest: Manifest) -> dict[str, t.Any]:
    return {
        "server": static_pods.server_address(manifest),
        "advertised": static_pods.advertised_address(manifest)["host"],
    }


def _version_of(pod: StaticPod, manifest: Manifest) -> StoredVersion | None:
    return dump_version(dataclasses.replace(pod.version, content=manifest.text.encode("utf-8")))


def _interim_version(pod: StaticPod, plan: StaticPodPlan) -> InterimVersion:
    """Where the former instance ends soon, so that the kubelet's wait is what takes longest."""
    manifest = short_restarts.interim_manifest(pod.name, plan.before, plan.after)
    return {} if manifest is None else {"interim": _version_of(pod, manifest)}


def record_details(pod: StaticPod, plan: StaticPodPlan) -> RecordDetails:
    """What the record of a static pod holds besides what we own."""
    files = plan.record.get("files", {})
    missing = missing_directories(change.path for change in plan.files if change.after is not None)
    made = {
        path for path in (*made_directories(pod.name), *missing) if any(file.startswith(f"{path}/") for file in files)
    }
    return RecordDetails(pod.written_image, plan.image, plan.former, plan.after.text, tuple(sorted(made)))


def write_plan_record(pod: StaticPod, plan: StaticPodPlan) -> None:
    """Record what we own after a plan, where it changes nothing else."""
    write_record(pod.name, before=pod.record, after=plan.record, details=record_details(pod, plan))


def gate_source(manifest: Manifest, clients: ApiClients) -> tuple[dict[str, bool], Client | None]:
    """The feature gates that a manifest sets, and where its process reports them; None without an HTTP probe.

    Only the administrator may read that: on 1.37 the kubelet, the components and the API server's client for kubelets get 403.
    """
    gates = {gate: value for gate, value in manifest.values()["feature_gates"].items() if isinstance(value, bool)}
    address = static_pods.probe_address(instance_of(manifest))
    return gates, {**address, "kubeconfig": clients.admin} if address else None


def unverifiable(pod: StaticPod, plan: StaticPodPlan, clients: ApiClients, host: Host) -> list[str]:
    """What the engine will be unable to verify, as far as known before the change."""
    limits = clients.unverified() if pod.name == API_SERVER else []
    expected, dummy = gate_source(plan.after, clients)
    gates, problem = read_gates(gate_source(plan.before, clients)[1]) if expected else ({}, "")
    # What is down responds to nothing now, and may when it is repaired.
    if gates is None and observe(pod, host).healthy:
        limits.append(unread_gates(expected, problem))
    return limits


def unverified_clients(pod: StaticPod, clients: ApiClients) -> list[str]:
    """Of which clients it is not verified that a running API server serves them, with the engine's requests."""
    if pod.name != API_SERVER:
        return []
    server = static_pods.server_address(pod.manifest)
    responses = {
        each["kubeconfig"]: api_request(each["kubeconfig"], each["path"], server) for each in clients.credentials()
    }
    return [
        *clients.unverified(),
        *(
            f"whether it answers the client of {kubeconfig}: {response.problem}"
            for kubeconfig, response in responses.items()
            if not response.is_ok()
        ),
    ]


def verify_gates(pod: StaticPod, clients: ApiClients) -> list[str]:
    """What could not be verified of the feature gates of a running process. Raises KubeadmError when it reports others than its manifest has."""
    expected, metrics = gate_source(pod.manifest, clients)
    if not expected:
        return []
    gates, problem = read_gates(metrics)
    if gates is None:
        return [unread_gates(expected, problem)]
    wrong = wrong_gates(expected, gates)
    if wrong:
        raise KubeadmError(f"{pod.name} on {clients.node}: there is nothing to change, but {wrong}.")
    return []
