# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a running kubelet is watched where nothing changes, and whether its node is drained."""

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
from .kubelet_journal import instance
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
    """The look at a kubelet that runs and answers, or the last one when it does not get so; its last words; and what is not verified of it.

    Its Node is looked at, and not waited for: what is wrong with that need not be the kubelet's.
    """
    now = instance(unit.layout)
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
            short = watcher.node.reported_pressure()
            idle = [] if observation.node_ok else [f"whether it works: {observation.node}"]
            idle += (
                [f"whether it works: its Node reports {short}, so it evicts pods and takes fewer new ones"]
                if short
                else []
            )
            limits = [*watcher.unverified(), *idle]
            return observation, watcher.read_log(observation), limits
        sleep(POLL_SECONDS)


def problem_of(unit: KubeletUnit, host: Host, run: Run, ready_timeout: float) -> tuple[str, list[str]]:
    """Why a kubelet does not work, with its last words, empty when it does; and what is not verified of one that does, such as a Node that is
    not ready now. ready_timeout: seconds for a moment's weakness, up to those of a hiccup.
    """
    seconds = min(ready_timeout, TRANSIENT_TIMEOUT)
    observation, log, limits = watch_until_healthy(
        unit, host, run=run, seconds=seconds, clock=time.monotonic, sleep=time.sleep
    )
    if observation.process is not None and observation.probes_ok:
        return "", limits
    return messages.down(KUBELET_NAME, unit.node_name, observation.missing(), observation.probes, log), []


def _ask_why_not_drained(unit: KubeletUnit) -> str | None:
    """Why this node does not count as drained, as its own credential sees it; None when it does."""
    node, why = probes.api_get(unit.kubeconfig, f"/api/v1/nodes/{unit.node_name}")
    if node is None:
        return why
    found, why = probes.api_get(unit.kubeconfig, f"/api/v1/pods?fieldSelector=spec.nodeName%3D{unit.node_name}")
    return why if found is None else pods.why_not_drained(node, found["items"])


def refuse_undrained(unit: KubeletUnit, plan: KubeletPlan) -> None:
    reason = _ask_why_not_drained(unit)
    if reason is not None:
        names = ", ".join(dict.fromkeys(name for change in plan.policies for name in change.differences))
        consequences = ". ".join(dict.fromkeys(change.policy.consequence for change in plan.policies))
        is_unread = find_problem(unit.kubeconfig)
        advice = f"Repair {unit.kubeconfig}, and run again." if is_unread else "Drain the node, or set force: true."
        raise Refusal(
            f"config: {names} would change on {unit.node_name}, which is not drained: {reason}. {consequences}. {advice}"
        )
