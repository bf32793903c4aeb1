# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes of kubelets that stand and that no run has verified to the end, because it failed or was killed before.

The node keeps the outcome unreported, so the next run that has it observes it first. The Lease keeps its name, so no run leaves it out.
"""

from __future__ import annotations

import typing as t

from ..transaction.messages import COMMITTED
from ..transaction.results import NodesInfo, Report
from ..transaction.rollout import DONE, Hosts
from . import observation, rollout
from .kubelet_results import KubeletHost
from .observation import CanaryResult

Json = dict[str, t.Any]

# The mark of a node whose pods its restart has ended: nothing that can be observed later shows that the next one would not.
_PODS = "pods of "


def hosts_to_observe(hosts: Hosts[KubeletHost]) -> list[str]:
    """The hosts whose kubelet has nothing to change, and so still has such a change. One that changes is observed behind that."""
    return [
        name
        for name, host in hosts.items()
        if host.unverified_change and not host.has_turn and not host.settings.node_kubelet_resume
    ]


def has_canary(host: KubeletHost) -> bool:
    """Whether a canary can show what was lost since the change of a host."""
    change = host.unverified_change
    return bool(change and change.observed_before.canary) and not observation.unobserved_reason(
        host.plan, host.settings
    )


def find_losses(host: KubeletHost, canary: CanaryResult | None, info: NodesInfo) -> tuple[str, list[str]]:
    """Why a run must not go on from a kubelet whose last change was not verified, as sentences, empty for nothing; and what is not known. canary: None
    where none was made. info: with the numbers of its node."""
    change, node = host.unverified_change, host.plan.node
    if change is None or info.nodes is None:
        return "", []
    before = change.observed_before
    lost, unknown = observation.find_losses(dict.fromkeys(before.canary, ""), canary) if canary else ("", "")
    missing = observation.missing_devices(before.allocatable, info, node)
    problems = [change.problem, lost, f"device plugins offer less than before: {'; '.join(missing)}" if missing else ""]
    found = "; ".join(filter(None, problems))
    if not found:
        return "", [unknown] if unknown else []
    return (
        f"The kubelet of {node} has nothing to change and is healthy, but no run has verified its last change to the end (transaction"
        f" {change.id}), and {found}. Set another desired state for it, or revert the change with the playbook rollback. When the cause is"
        " repaired, or that is meant so, run with -e node_kubelet_resume=true."
    ), []


def is_unverified(parts: Report) -> bool:
    """Whether the report of a host has a change that stands and that failed all the same."""
    return any(
        part.failed and each is not None and each.outcome == COMMITTED
        for part in parts.values()
        for each in (part.transaction or part.previous_transaction,)
    )


# ---- the Lease -------------------------------------------------------------------------------------------------------


def intents(hosts: Hosts[KubeletHost], missing: t.Sequence[str]) -> list[str]:
    """With which marks on the Lease a run is refused: of nodes that it leaves out, and of pods that ended where nothing has changed since. missing: the
    nodes of the cluster that are not in this run."""
    unchanged = [host.plan.node for host in hosts.values() if not host.has_turn]
    return [*missing, *(f"{_PODS}{node}" for node in [*missing, *unchanged])]


def release_request(hosts: Hosts[KubeletHost], holder: str, cluster: t.Any) -> Json:
    """How the Lease is released, as options of C(rollout_lease): with the mark of a node whose change stands and was not verified."""
    request: Json = {"name": rollout.LEASE, "holder": holder, "cluster": cluster}
    for host in hosts.values():
        if host.doubt and rollout.was_changed(host.change, check_mode=False):
            ended_pods = host.verification.ended_pods if host.verification else ""
            mark = f"{_PODS if ended_pods else ''}{host.plan.node}"
            reason = ended_pods or host.doubt.msg or "it was not verified"
            return {**request, "state": "halted", "node": host.plan.node, "reason": reason, "intents": [mark]}
    turns = [host for host in hosts.values() if host.has_turn]
    return {**request, "state": "released", "completed": bool(turns) and all(host.state == DONE for host in turns)}
