# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts 4 to 6: a run without anything to do, a refusal, and a change that the node reverts."""

from __future__ import annotations

import textwrap

from ansible_collections.nodecraft.kubeadm.demo.story import (
    Story,
    arguments,
    format_outcome,
    nodes_and_objects,
    snapshot_part,
)
from ansible_collections.nodecraft.kubeadm.lab.console import show
from ansible_collections.nodecraft.kubeadm.lab.runs import Observer, run_module

TRIED = 8  # seconds that an API server which cannot become ready gets
# No etcd answers in that time: the API server starts, takes every argument, and never becomes ready.
NEVER_READY = {"name": "kube-apiserver", "args": {"etcd-healthcheck-timeout": "1ns"}, "wait_timeout": TRIED}


def again(story: Story) -> None:
    """A second run has nothing to do."""
    show("4. The same again")
    before = nodes_and_objects(story.lab)
    run = story.run("4-again.json", observer=Observer("site.yml checks all nodes, and finds nothing to change", 22))
    story.facts["again"] = {"seconds": run.seconds, "changed": run.changed}
    story.claim_same(
        "4-again",
        before,
        nodes_and_objects(story.lab),
        f"changed={run.changed}, no component, kubelet or container restarted ({run.seconds:.0f} s)",
        holds=run.rc == 0 and run.changed == 0,
    )


def refusal(story: Story) -> None:
    """A gate that does not exist."""
    show("5. Switch on NoSuchGate")
    before = story.lab.take_snapshot()
    run = story.run(
        "5-refusal.json",
        variables={"control_plane_feature_gates": {story.gate: True, "NoSuchGate": True}},
        observer=Observer("the rehearsal tries the gate on the node's own API server", 10),
    )
    reason = run.reasons[0] if run.reasons else "(no word)"
    show(reason, 5)
    story.facts["refusal"] = {"seconds": run.seconds, "message": reason}
    story.claim_same(
        "5-refusal",
        before,
        story.lab.take_snapshot(),
        f"refused by Kubernetes itself in the rehearsal; nothing was written or restarted ({run.seconds:.0f} s)",
        holds=run.rc != 0 and "unrecognized feature gate: NoSuchGate" in reason,
    )


def restore(story: Story) -> None:
    """An API server that never becomes ready."""
    show(f"6. One task: have the API server give etcd a nanosecond to answer, for {TRIED} s at most")
    lab, before = story.lab, story.lab.take_snapshot()
    observer = Observer("the API server gets its time, then the node rolls back to the former manifest", TRIED + 25)
    record = story.output / "6-restore.json"
    run = run_module(lab, "static_pod", NEVER_READY, record, host=lab.first, observer=observer)
    failed = next(iter(run.changes("static_pod")), {})
    transaction = failed.get("transaction") or {"outcome": "none", "seconds": 0, "outage_seconds": 0}
    show(textwrap.shorten(failed.get("msg", "(no word)"), 225, placeholder=" ..."), 5)
    story.facts["restore"] = {"seconds": run.seconds, "transaction": transaction}
    after = lab.take_snapshot()
    story.claim_same(
        "6-restore",
        {**snapshot_part(before, "manifests"), "kube-apiserver": arguments(before[lab.first], "kube-apiserver")},
        {**snapshot_part(after, "manifests"), "kube-apiserver": arguments(after[lab.first], "kube-apiserver")},
        f"rehearsal accepted, then {format_outcome(transaction)}; the former bytes are back, the API server is ready",
        holds=run.rc != 0
        and failed.get("rehearsal", {}).get("verdict") == "accepted"
        and transaction["outcome"] == "rolled_back"
        and lab.kubectl("get", "--raw=/readyz") == "ok",
    )
