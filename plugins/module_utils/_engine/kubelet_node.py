# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the API server knows of a kubelet: its Node, the Lease that it renews, and its static pods."""

from __future__ import annotations

import calendar
import os
import time
import typing as t

from .files import Json
from .journal import ON_TRIAL, PREPARED, KubeletReports, PreviousState, Progress, UnitWatch
from .node import Host, Process
from .probes import HttpGet
from .watcher import retry_until

# For these the kubelet evicts pods.
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
# An API server is not queried four times a second.
NODE_SECONDS = 1.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
# In the message of a Node whose kubelet starts no pods.
_NO_POD_STARTS = ("container runtime is down", "container runtime status check", "container runtime not ready", "PLEG")


def _condition(thing: Json, kind: str) -> Json | None:
    """A condition of a Node or a Pod."""
    return next((entry for entry in thing["status"].get("conditions") or [] if entry["type"] == kind), None)


def _why_not_ready(node: Json) -> str:
    """Why a Node is not ready, by its kubelet; empty when it is."""
    ready = _condition(node, "Ready")
    if ready is not None and ready["status"] == "True":
        return ""
    return str((ready or {}).get("message") or "no condition")


def _starts_pods(why: str) -> bool:
    """Whether a kubelet that is not ready for this reason starts pods all the same, such as those that bring the network."""
    return not any(text in why for text in _NO_POD_STARTS)


def _heartbeat_time(node: Json) -> str | None:
    ready = _condition(node, "Ready")
    return ready.get("lastHeartbeatTime") if ready else None


class KubeletNode:
    """The Node of a kubelet whose change a journal is about."""

    def __init__(
        self,
        journal: Progress,
        watch: UnitWatch,
        host: Host,
        http_get: HttpGet,
        clock: t.Callable[[], float],
        sleep: t.Callable[[float], None],
    ) -> None:
        self.journal = journal
        self.watch = watch
        self.host = host
        self.http_get = http_get
        self.clock = clock
        self.sleep = sleep
        self._last: tuple[float, Json | None, str] | None = None
        self._reporter = ""

    def read_previous_state(self) -> PreviousState:
        """Its part of C(PreviousState). node: whether it is known."""
        node, dummy = retry_until(lambda node: node[0] is not None, self._read, self.clock, self.sleep)
        return {
            "node": node is not None,
            "not_ready": "" if node is None else _why_not_ready(node),
            "enough": self._with_pressure("False"),
            "short": self._with_pressure("True"),
            "static_pods": self._ready_before(is_known=node is not None),
            "has_device_socket": os.path.exists(self.host.device_socket),
        }

    def check_readiness(self, process: Process) -> tuple[bool, str]:
        """Whether the Node is ready, as reported by this process.

        Where the API server could be queried before the change it must be possible after it: this very change may have made
        it impossible. An outage that was there before, or came while the former files are verified, is not the kubelet's.
        """
        node, why = self._read()
        phase = self.journal["phase"]
        if node is None:
            return phase not in ON_TRIAL or not self.journal["before"]["node"], f"its Node is not known ({why})"
        why = _why_not_ready(node)
        state = f"its Node is not ready ({why})" if why else "its Node is ready"
        if phase == PREPARED:
            return not why, state
        if why and not (why == self.journal["before"].get("not_ready") and _starts_pods(why)):
            return False, state
        # The uid of a kubelet is an InvocationID.
        if process.uid != self.journal["before"]["invocation"] and not self._is_reported_by(process, node):
            return False, f"{state}, as reported by the former process only"
        missing = self._missing_static_pods()
        return (False, f"its static pods are not ready yet ({missing})") if missing else (True, state)

    def find_new_pressure(self) -> str:
        """The pressure that is new: a threshold of eviction that is too high ends every pod of the node within seconds, and the Node stays ready.
        What was not known before the change may be older."""
        found = self.reported_pressure(self.journal["before"]["enough"])
        return f"evicts pods, because with this change its Node reports {found}" if found else ""

    def reported_pressure(self, kinds: t.Collection[str] = PRESSURES) -> str:
        """The pressures that the Node reports, of some kinds; empty without."""
        pressures = self._pressures().items()
        return ", ".join(
            f"{kind} ({message})" for kind, (status, message) in pressures if status == "True" and kind in kinds
        )

    def unverified(self) -> list[str]:
        """What of it is not known although the change counts as healthy, each with the reason."""
        node, why = self._read()
        found = [f"whether its Node is ready and evicts no pods: {why}"] if node is None else []
        if self.journal["phase"] not in ON_TRIAL:  # the former files are back, and with them whatever was there before
            return found
        not_ready = "" if node is None else _why_not_ready(node)
        found += [f"whether it works: its Node is not ready ({not_ready}), as before the change"] if not_ready else []
        # What the change brings ends it.
        new = [kind for kind in self._with_pressure("True") if kind not in self.journal["before"].get("short", ())]
        if new:
            unknown = f"its Node reports {', '.join(new)}, and what it reported before the change is not known"
            found.append(f"whether it evicts pods because of the change: {unknown}")
        if node is not None and not self._is_known_to_have_started(node):
            found.append(f"whether its start is over: there is no {self.host.device_socket}")
        return [*found, *self._unverified_static_pods()]

    def _unverified_static_pods(self) -> list[str]:
        """Static pods that the API server does not have, or that are not ready, as before the change."""
        if not self.watch["has_static_pods"]:
            return []
        pods, why = self._static_pods()
        if pods is None:
            return [f"whether its static pods are ready: {why}"]
        hidden = [name for name in self.watch["static_pods"] if name not in pods]
        not_ready = [name for name in self.watch["static_pods"] if pods.get(name) is False]
        return [
            f"whether its static pods are ready: {why}"
            for why, names in (
                (f"the API server shows no {' and no '.join(hidden)}", hidden),
                (f"the API server does not show as ready, as before the change: {', '.join(not_ready)}", not_ready),
            )
            if names
        ]

    def read_last_reports(self) -> KubeletReports:
        """When its kubelet reported last: conditions and Lease."""
        self._last = None  # as late as can be
        return {"heartbeat": _heartbeat_time(self._read()[0] or {"status": {}}), "renewed": self._renew_time()}

    def _renew_time(self) -> str | None:
        """When the Node's Lease was renewed."""
        node = self.watch["node"]
        lease, dummy = self.http_get(node["kubeconfig"], f"{LEASES}/{node['name']}")
        renewed: str | None = lease["spec"].get("renewTime") if lease else None
        return renewed

    def _read(self) -> tuple[Json | None, str]:
        """The Node and '', or None and why; cached for NODE_SECONDS."""
        if self._last is None or self.clock() - self._last[0] >= NODE_SECONDS:
            node = self.watch["node"]
            found = self.http_get(node["kubeconfig"], f"/api/v1/nodes/{node['name']}")
            self._last = (self.clock(), *found)
        return self._last[1], self._last[2]

    def _pressures(self) -> dict[str, tuple[str, str]]:
        """The pressures that the kubelet reports: condition -> status and message."""
        node = self._read()[0] or {}
        return {
            condition["type"]: (condition["status"], condition.get("message", ""))
            for condition in node.get("status", {}).get("conditions") or []
            if condition["type"] in PRESSURES
        }

    def _with_pressure(self, status: str) -> list[str]:
        """The pressures that the kubelet reports with this status: True, False or Unknown."""
        return sorted(kind for kind, (reported, dummy) in self._pressures().items() if reported == status)

    def _is_reported_by(self, process: Process, node: Json) -> bool:
        """Whether this process has reported the Node's conditions, or can do so from now on.

        A kubelet renews its Lease while it still starts: one with a kubeReserved larger than the machine did so for 25 s, and then
        ended for ever. Behind all that can end its start, one of 1.37 writes the conditions of its Node. One of 1.32 writes them only
        when they change, but has made the socket of its device manager by then.
        """
        if self._reporter != process.uid and (
            self._is_written_by(process, _heartbeat_time(node), "heartbeat")
            or (self._has_started(process) and self._is_written_by(process, self._renew_time(), "renewed"))
        ):
            self._reporter = process.uid
        return self._reporter == process.uid

    def _is_written_by(self, process: Process, timestamp: str | None, kind: t.Literal["heartbeat", "renewed"]) -> bool:
        """Whether a time that stands at the API was written by this process."""
        mark = self.journal.get("mark")  # the former kubelet's last times
        if timestamp is None or (mark and timestamp == mark.get(kind)):
            return False
        # Both clocks are this node's; a time in whole seconds may seem to be before the start.
        return calendar.timegm(time.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S")) >= self._start_time(process)

    def _has_started(self, process: Process) -> bool:
        """Whether this process has made its device manager's socket; not known where there was none before."""
        try:
            return os.stat(self.host.device_socket).st_mtime >= self._start_time(process)
        except OSError:
            return not self.journal["before"].get("has_device_socket")

    def _is_known_to_have_started(self, node: Json) -> bool:
        mark = self.journal.get("mark")
        is_reported = mark is not None and _heartbeat_time(node) != mark.get("heartbeat")
        return is_reported or os.path.exists(self.host.device_socket)

    def _start_time(self, process: Process) -> float:
        return (self.host.read_start_time(process.pid) or 0.0) - 1

    # A setting that changes a pod's defaults gives every static pod another UID: then all of them restart, also a member of
    # etcd. The next node must not have its turn before they are back.

    def _ready_before(self, *, is_known: bool) -> list[str] | None:
        """The static pods that are ready; None when that is not known. is_known: whether the API server answers."""
        if not self.watch["has_static_pods"]:
            return []
        if not is_known:
            return None
        found, dummy = retry_until(lambda pods: pods[0] is not None, self._static_pods, self.clock, self.sleep)
        return None if found is None else sorted(name for name, is_ready in found.items() if is_ready)

    def _missing_static_pods(self) -> str:
        """The static pods that were ready and are not, by name. Where those were not known, all that there are have to be."""
        before = self.journal["before"]["static_pods"]
        is_on_trial = self.journal["phase"] in ON_TRIAL
        if before == [] or (before is None and not is_on_trial):
            return ""
        found, why = self._static_pods()
        if found is None:
            return f"not known: {why}" if before else ""
        return ", ".join(name for name in sorted(found if before is None else before) if not found.get(name))

    def _static_pods(self) -> tuple[dict[str, bool] | None, str]:
        """Whether each static pod of this node is ready, by the API server; None and why when that is not known."""
        path = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.watch['node']['name']}"
        found, why = self.http_get(self.watch["node"]["kubeconfig"], path)
        if found is None:
            return None, why
        return {
            pod["metadata"]["name"]: (_condition(pod, "Ready") or {}).get("status") == "True"
            for pod in found.get("items") or []
            if "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {})
        }, ""
