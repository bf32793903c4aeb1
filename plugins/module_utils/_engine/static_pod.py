# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A static pod: the kubelet sees its manifest change, stops the former pod and starts the new one."""

from __future__ import annotations

import os
import typing as t

from . import pod_observation
from .api_server import ApiServer
from .engine_errors import EngineError
from .etcd_member import EtcdMember
from .files import Json, read_bytes
from .journal import (
    ON_TRIAL,
    PREPARED,
    SIDES,
    VERIFYING,
    Journal,
    PreviousState,
    RestartMarker,
    Side,
    StaticPodWatch,
    add_unverified,
    content_of,
    new_versions,
)
from .node import KUBELET, LOG_WIDTH, Host, Run, read_last_log_lines, read_unit_errors
from .pod_observation import PodObservation, count_starts, find_processes, observe_pod, unmatched_message
from .probes import HttpGet, read_gates, unread_gates, wrong_gates
from .watcher import SIDE_BY_PHASE, Observation, retry_until

# A component that crashed this often and was never ready does not become so later.
MAX_CRASHES = 3
_ELECTED = ("kube-controller-manager", "kube-scheduler")


def backups_of(manifest: str) -> list[str]:
    """Files beside a manifest that the kubelet takes for the same pod, such as an editor's backup."""
    directory, own = os.path.split(manifest)
    return [
        os.path.join(directory, name) for name in sorted(os.listdir(directory)) if name.startswith(own) and name != own
    ]


class StaticPodWatcher:
    """A static pod: each version of its manifest has a UID of its own."""

    max_crashes = MAX_CRASHES

    def __init__(
        self,
        journal: Journal,
        watch: StaticPodWatch,
        host: Host,
        run: Run,
        http_get: HttpGet,
        clock: t.Callable[[], float],
        sleep: t.Callable[[float], None],
    ) -> None:
        self.journal = journal
        self.watch = watch
        self.host = host._replace(**self.watch.get("places", {}))
        self.run = run
        self.http_get = http_get
        self.clock = clock
        self.sleep = sleep
        self.api_server = ApiServer(journal, watch, clock, sleep)
        self.etcd = EtcdMember(journal, watch, clock, sleep)

    @property
    def ends_without_api(self) -> bool:
        """A leader whose lease it cannot renew."""
        return self.watch.get("program") in _ELECTED

    def read_previous_state(self) -> PreviousState:
        """UIDs, their starts, an API server's clients, and whether etcd takes writes."""
        found = find_processes(self.host, self.watch)
        if found.unmatched:
            raise EngineError(f"{self.journal['name']} {unmatched_message(found.unmatched)}")
        uids = sorted({process.uid for process in found.processes})
        is_reported, working = self._read_reported(uids[0] if len(uids) == 1 else "")
        return {
            "uids": uids,
            "reported": is_reported,
            "containers": working,
            "starts": {uid: count_starts(paths, self.watch["container"]) for uid, paths in found.logs.items()},
            **self.api_server.read_previous_state(uids[0] if len(uids) == 1 else None),
            **self.etcd.read_previous_state(),
        }

    def prepare_stop(self) -> None:
        """Only a member of etcd has something to hand over."""
        self.etcd.move_leadership()

    def _read_reported(self, uid: str) -> tuple[bool, list[str]]:
        """Whether the kubelet's report can be read, where it is needed: then it has to be there after the change, too. And the other containers
        that work. uid: of the instance that runs; empty when that is not one."""
        if not any(pod_observation.needs_report(self.watch[side]) for side in SIDES):
            return False, []
        credential = self.host.kubelet_conf, pod_observation.mirror_pod_path(self.watch["log_prefix"])
        pod, dummy = retry_until(
            lambda report: report[0] is not None, lambda: self.http_get(*credential), self.clock, self.sleep
        )
        names = self.watch["before"].get("containers", ())
        found = pod_observation.container_problems(pod, uid, names)
        return pod is not None, [name for name, problem in found.items() if not problem]

    def observe(self) -> PodObservation:
        """Observe the pod's processes and probes."""
        phase = self.journal["phase"]
        acceptable = {PREPARED: lambda uid: True, VERIFYING: self._may_be_former}.get(phase, self._may_be_new)
        return observe_pod(
            self.host,
            self.watch,
            self.watch[SIDE_BY_PHASE[phase]],
            acceptable=acceptable,
            baseline=self.journal.get("before", {}).get("starts", {}),
            http_get=self.http_get,
            is_reported=phase in ON_TRIAL and self.journal["before"].get("reported", False),
            working=self.journal["before"].get("containers", ()) if phase in ON_TRIAL else (),
        )

    def _may_be_new(self, uid: str) -> bool:
        return uid not in self.journal["before"]["uids"]

    def _may_be_former(self, uid: str) -> bool:
        """A UID is derived from the manifest, so the former bytes bring the former UID back."""
        return not self.journal["before"]["uids"] or uid in self.journal["before"]["uids"]

    def has_seen_change(self) -> bool:
        """The kubelet reads the manifest as soon as it is there."""
        return any(
            entry["switch"] and read_bytes(path) in [content_of(version, path) for version in new_versions(entry)]
            for entry in self.journal["files"]
            for path in [entry["path"]]
        )

    def has_ended(self) -> bool:
        """Whether none of the former instance's processes is left."""
        return not any(map(self._may_be_former, {each.uid for each in find_processes(self.host, self.watch).processes}))

    def read_restart_marker(self) -> RestartMarker | None:
        """The kubelet needs no help."""
        return None

    def activate_files(self) -> None:
        """The kubelet does it."""

    def find_blocker(self) -> str:
        """A kubelet that does not run, or what it reports of a pod that it does not start."""
        state = self.run(["systemctl", "is-active", KUBELET])[1].strip() or "not known to run"
        if state != "active":
            return f"{KUBELET} is {state}, and only it starts and stops pods"
        return "" if self.observe().process else self._read_kubelet_report()

    def _read_kubelet_report(self) -> str:
        """Why the kubelet does not start the expected instance. It logs nothing of a pod that it does not admit, and reports nothing while no
        API server responds."""
        path = pod_observation.mirror_pod_path(self.watch["log_prefix"])
        is_expected = self._may_be_former if self.journal["phase"] == VERIFYING else self._may_be_new
        pod, _why = self.http_get(self.host.kubelet_conf, path)
        # One that is not admitted is reported by the mirror pod of the instance before, with its hash (seen with 1.37.2); its containers are then not those
        # that the kubelet tries to start.
        is_current = pod is not None and is_expected(pod_observation.config_hash(pod) or "")
        report = pod_observation.failure_of(pod, with_containers=is_current) if pod else ""
        if not report:
            namespace, _pods, name = path.rsplit("/", 3)[1:]
            errors = read_unit_errors(self.run, KUBELET, f"{namespace}/{name}")
            report = next((error for error in reversed(errors) if is_expected(pod_observation.uid_in(error))), "")
        return f"its kubelet reports: {report[:LOG_WIDTH]}" if report else ""

    def retrigger(self) -> None:
        """Restart the kubelet, which reads all its manifests then. Containers run on meanwhile."""
        self.run(["systemctl", "restart", "--no-block", KUBELET])

    def verify(self) -> str | None:
        """Check an API server's clients, etcd's writes, and the feature gates that the process reports."""
        observation = self.observe()
        if observation.process is None:
            return f"{self.journal['name']} was healthy, and is gone"
        for text in observation.unverified():
            add_unverified(self.journal, text)
        return self.api_server.verify(observation.process.uid) or self.etcd.verify() or self._wrong_gates()

    def _wrong_gates(self) -> str | None:
        desired = self.watch.get("feature_gates") or {}
        if not desired:
            return None
        gates, why = read_gates(self.watch["metrics"])
        if gates is None:
            add_unverified(self.journal, unread_gates(desired, why))
            return None
        self.journal["gates"] = {gate: gates.get(gate) for gate in desired}
        return wrong_gates(desired, gates) or None

    def unverified(self) -> list[str]:
        """What its probes do not show."""
        observation = self.observe()
        return observation.unverified() if observation.healthy else []

    def read_log(self, observation: Observation) -> list[str]:
        """The end of the newest container's log."""
        return read_last_log_lines(observation.logs)

    def proof(self, observation: Observation) -> Json | None:
        """The process, its probes and its gates."""
        if observation.process is None:
            return None
        is_new = self._may_be_new(observation.process.uid)
        side: Side = "after" if is_new else "before"
        return {
            "uid": observation.process.uid,
            "pid": observation.process.pid,
            "container_id": observation.process.container_id,
            # The process runs exactly these, with $(VARIABLES) expanded; their values are not displayed.
            "arguments": self.watch[side]["written"],
            "probes": list(observation.probes),
            "feature_gates": self.journal.get("gates") if is_new else None,
            "unverified": self.journal.get("unverified", []),
            "clients": self.journal.get("clients", []) if is_new else [],
            "config_hash": self.journal.get("config_hash") if is_new else None,
            "etcd": self.journal.get("etcd") if is_new else None,
        }
