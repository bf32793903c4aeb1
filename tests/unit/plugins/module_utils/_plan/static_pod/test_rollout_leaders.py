# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rollout makes of the instance that leads: whether a change is proven."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import rollout, rollout_leaders
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.static_pod_results import StaticPodHost
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.results import MissingProof
from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_hosts import (
    ON,
    SCHEDULER,
    after_turn,
    host,
    pod,
    results,
)

Json = dict[str, t.Any]

OTHER_LEADS = "whether the cluster works: cp3 leads, with other settings than this node"


def committed(leader: str, *, is_changed: bool = False, outcome: str = "committed") -> Json:
    """The result of a change behind which a node led."""
    unverified = [] if is_changed else [OTHER_LEADS, "its probes"]
    proof = {
        "leader": {"node": leader, "is_own": False, "is_changed": is_changed, "is_proof": is_changed},
        "unverified": unverified,
    }
    return {"transaction": {"id": "t", "outcome": outcome, "proof": proof}, "unverified": unverified}


def changed(**changes: Json | None) -> dict[str, StaticPodHost]:
    """Hosts whose scheduler is to change, those with a result behind their turns."""
    hosts = {name: host(name, {SCHEDULER: pod(ON)}) for name in changes}
    return {
        name: results(after_turn(hosts[name], change, order=[SCHEDULER]) if change else hosts[name])
        for name, change in changes.items()
    }


def test_proof_is_missing_while_an_unchanged_node_leads() -> None:
    hosts = changed(cp1=committed("cp3"), cp2=committed("cp3"), cp3=None)
    assert rollout_leaders.missing_proof_lines(hosts, {}) == [
        f"WARNING: cp1, cp2 {SCHEDULER}: not proven yet: cp3 leads"
    ]
    # That line is the only one about it.
    reports = rollout.build_reports(hosts, dry=False)
    assert reports["cp1"][SCHEDULER].unverified == ["its probes"]


def test_later_turn_is_the_proof_of_all() -> None:
    hosts = changed(cp1=committed("cp3"), cp2=committed("cp3"), cp3=committed("cp1", is_changed=True))
    assert rollout_leaders.missing_proof_lines(hosts, {}) == []
    assert rollout.build_reports(hosts, dry=False)["cp2"][SCHEDULER].unverified == ["its probes"]


def test_change_that_was_rolled_back_proves_nothing() -> None:
    hosts = changed(cp1=committed("cp3"), cp2=committed("cp1", is_changed=True, outcome="rolled_back"))
    assert rollout_leaders.missing_proof_lines(hosts, {}) == [f"WARNING: cp1 {SCHEDULER}: not proven yet: cp3 leads"]


def test_lease_keeps_the_missing_proofs_of_a_run() -> None:
    hosts = changed(cp1=committed("cp3"), cp2=committed("cp3"), cp3=None)
    assert rollout_leaders.proofs(hosts) == {SCHEDULER: {"nodes": ["cp1", "cp2"], "leader": "cp3"}}
    hosts = changed(cp1=committed("cp3"), cp2=committed("cp1", is_changed=True))
    assert rollout_leaders.proofs(hosts) == {SCHEDULER: None}
    assert rollout_leaders.proofs(changed(cp1=None)) == {}


def test_missing_proof_of_an_earlier_run_is_named() -> None:
    kept = {SCHEDULER: MissingProof(["cp1", "cp2"], "cp3", "T")}
    line = f"WARNING: cp1, cp2 {SCHEDULER}: a change of an earlier run is not proven yet: cp3 led at T"
    assert rollout_leaders.missing_proof_lines(changed(cp1=None), kept) == [line]
    own = f"WARNING: cp1 {SCHEDULER}: not proven yet: cp2 leads"
    assert rollout_leaders.missing_proof_lines(changed(cp1=committed("cp2")), kept) == [own]
