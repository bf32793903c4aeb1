# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Watching a kubelet that is not changed, and whether its node is drained."""

from __future__ import annotations

import time
import typing as t

from ..._engine import probes
from ..._engine.files import POLL_SECONDS
from ..._engine.journal import PREPARED, SYSTEMD_UNIT, UnitWatch
from ..._engine.kubeconfig import find_problem
from ..._engine.node import Host
from ..._engine.systemd_unit import UnitObservation, UnitWatcher
from ..._engine.watcher import TRANSIENT_TIMEOUT
from ..._plan.common.errors import Refusal
from ..._plan.kubelet.plan import KubeletPlan
from ..._plan.kubernetes import pods
from ..._plan.transaction import messages
from ..transaction.state import Run
from .kubelet_journal import instance_of
from .kubelet_unit_files import KUBELET_UNIT
from .kubelet_units import KUBELET_NAME, KubeletUnit


def watch_until_healthy(
    unit: KubeletUnit,
    host: Host,
    *,
    run: Run,
    seconds: float,
    clock: t.Callable[[], float],
    sleep: t.Callable[[float], None],
) -> tuple[UnitObservation, list[str], list[str]]:
    """The observation of a kubelet that runs and is healthy, or the last one in time; its last log lines; and what is not verified of it.

    Its Node is read, and not waited for: a problem of that need not be the kubelet's.
    """
    now = instance_of(unit.layout)
    watch: UnitWatch = {
        "kind": SYSTEMD_UNIT,
        "unit": KUBELET_UNIT,
        "before": now,
        "after": now,
        "node": {"name": unit.node_name, "kubeconfig": unit.kubeconfig},
        "complaints": [],
        "has_static_pods": False,
        "static_pods": [],
        "set_aside": [],
    }
    watcher = UnitWatcher({"phase": PREPARED}, watch, host, run, probes.api_get, clock, sleep)
    limit = clock() + seconds
    while True:
        observation = watcher.observe()
        if (observation.process is not None and observation.probes_ok) or clock() >= limit:
            shortage = watcher.node.reported_pressure()
            unready = [] if observation.node_ok else [f"whether it works: {observation.node}"]
            unready += (
                [f"whether it works: its Node reports {shortage}, so it evicts pods and takes fewer new ones"]
                if shortage
                else []
            )
            unverified = [*watcher.unverified(), *unready]
            return observation, watcher.read_log(observation), unverified
        sleep(POLL_SECONDS)


def read_problem(unit: KubeletUnit, host: Host, run: Run, ready_timeout: float) -> tuple[str, list[str]]:
    """Why a kubelet does not work, with its last log lines, empty when it does; and what is not verified of one that does, such as a Node that is
    not ready now. ready_timeout: seconds that it may take to recover.
    """
    seconds = min(ready_timeout, TRANSIENT_TIMEOUT)
    observation, log, unverified = watch_until_healthy(
        unit, host, run=run, seconds=seconds, clock=time.monotonic, sleep=time.sleep
    )
    if observation.process is not None and observation.probes_ok:
        return "", unverified
    return messages.down_message(KUBELET_NAME, unit.node_name, observation.missing(), observation.probes, log), []


def _read_drain_problem(unit: KubeletUnit) -> str | None:
    """Why this node does not count as drained, read with the kubelet's credential; None when it does."""
    node, problem = probes.api_get(unit.kubeconfig, f"/api/v1/nodes/{unit.node_name}")
    if node is None:
        return problem
    pod_list, problem = probes.api_get(unit.kubeconfig, f"/api/v1/pods?fieldSelector=spec.nodeName%3D{unit.node_name}")
    return problem if pod_list is None else pods.why_not_drained(node, pod_list["items"])


def refuse_undrained(unit: KubeletUnit, plan: KubeletPlan) -> None:
    reason = _read_drain_problem(unit)
    if reason is not None:
        names = ", ".join(dict.fromkeys(name for change in plan.policies for name in change.differences))
        consequences = ". ".join(dict.fromkeys(change.policy.consequence for change in plan.policies))
        is_unread = find_problem(unit.kubeconfig)
        advice = f"Repair {unit.kubeconfig}, and run again." if is_unread else "Drain the node, or set force: true."
        raise Refusal(
            f"config: {names} would change on {unit.node_name}, which is not drained: {reason}. {consequences}. {advice}"
        )
