# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts 2 and 3: the effects of the changes on pods."""

from __future__ import annotations

import textwrap
import typing as t

from ansible_collections.nodecraft.kubeadm.demo.part_change import LABEL
from ansible_collections.nodecraft.kubeadm.demo.pods import DONGLE, Pods
from ansible_collections.nodecraft.kubeadm.demo.story import Story
from ansible_collections.nodecraft.kubeadm.lab.console import show
from ansible_collections.nodecraft.kubeadm.lab.runs import Json, Observer, Run, run_module, run_playbook
from ansible_collections.nodecraft.kubeadm.lab.waiting import Waiting


def pods(story: Story) -> None:
    """What it is good for."""
    lab, made = story.lab, Pods(story.lab)
    first = lab.worker_names[0]
    show(f"2. Pods that request dongles of {first}, and one that does not")
    with Waiting("pods start, or the scheduler reports why they do not", 5):
        _dongles(story, made, first)
    _resize(story, made)
    _effects(story, made)
    made.remove_all()


def _dongles(story: Story, made: Pods, first: str) -> None:
    made.make("three", devices={DONGLE: 3})
    three = made.wait("three", lambda pod: pod["status"]["phase"] == "Running")
    added = [entry for entry in three["spec"]["tolerations"] if entry.get("key") == DONGLE]
    story.claim(
        _runs_on(three, first) and [entry.get("operator") for entry in added] == ["Exists"],
        f"the pod that requests 3 runs on {first}; admission gave it the toleration",
    )
    made.make("two", devices={DONGLE: 2})
    reason = made.unschedulable("two")
    story.claim(f"Insufficient {DONGLE}" in reason, f"one that requests 2 more is Pending: {reason.split('. ')[0]}")
    made.make("none", selector={LABEL: "r7"})
    reason = made.unschedulable("none")
    story.claim(
        "untolerated taint" in reason,
        f"one that requests none does not land there: {reason.split('. ')[0]}",
    )
    reason = made.rejection("shortcut", first)
    story.claim(
        f"names the node {first}" in reason,
        f"one that names the node in spec.nodeName is refused: {reason.rpartition(': ')[2]}",
    )


def _runs_on(pod: Json, node: str) -> bool:
    return (pod["status"]["phase"], pod["spec"].get("nodeName")) == ("Running", node)


def _resize(story: Story, made: Pods) -> None:
    """All pods of a Deployment get more while they run."""
    with Waiting("the pods of a Deployment start", 5):
        made.make_deployment("web", replicas=5)
    before = made.of("web")
    more = {"cpu": "80m", "memory": "48Mi"}
    desired = {
        "pod_resize_namespace": "default",
        "pod_resize_owner": {"kind": "Deployment", "name": "web"},
        "pod_resize_containers": [{"name": "pause", "resources": {"requests": more, "limits": more}}],
    }
    observer = Observer("the pods of the Deployment are resized", 8)
    run = run_playbook(story.lab, desired, story.output / "2-resize.json", name="resize", observer=observer)
    after = made.of("web")
    story.claim(
        run.rc == 0
        and {made.limit(pod) for pod in after} == {"80m"}
        and {pod["metadata"]["uid"] for pod in after} == {pod["metadata"]["uid"] for pod in before}
        and {pod["status"]["containerStatuses"][0]["restartCount"] for pod in after} == {0},
        f"one task gives {len(after)} running pods of a Deployment 80m instead of 50m, without a restart ({run.seconds:.0f} s)",
    )
    again = run_playbook(story.lab, desired, story.output / "2-resize-again.json", name="resize")
    story.claim(again.rc == 0 and again.changed == 0, f"the same again: changed={again.changed}")


def _effects(story: Story, made: Pods) -> None:
    """The other two effects, on the last worker."""
    last = story.lab.worker_names[-1]
    show(f"3. The other effects of a taint, on {last}")
    _taint(story, "3-prefer.json", {"key": "example.com/quiet", "effect": "PreferNoSchedule"})
    with Waiting("pods start", 5):
        made.make("soft")
        soft = made.wait("soft", lambda pod: pod["status"]["phase"] == "Running")
        story.claim(
            _runs_on(soft, last),
            "PreferNoSchedule: a pod still lands there when there is no other place",
        )
        made.make("tolerant", tolerates="example.com/closed")
        made.wait("tolerant", lambda pod: pod["status"]["phase"] == "Running")
    closed = {"key": "example.com/closed", "effect": "NoExecute"}
    refused = _taint(story, "3-refused.json", closed)
    reasons = " ".join(refused.reasons)
    story.claim(
        refused.rc != 0 and "default/soft" in reasons and "default/tolerant" not in reasons,
        f"NoExecute: refused, because it would evict: {textwrap.shorten(reasons, 110, placeholder=' ...')}",
    )
    allowed = _taint(story, "3-allowed.json", closed, allow_eviction=True)
    with Waiting("the pod is evicted", 5):
        gone = made.wait_gone("soft")
    story.claim(
        allowed.rc == 0 and gone and made.phase("tolerant") == "Running",
        "with allow_eviction that pod goes, and the one that tolerates the taint stays",
    )
    _taint(story, "3-absent.json", state="absent")


def _taint(story: Story, record: str, *taints: Json, **options: t.Any) -> Run:
    desired = {"nodes": [story.lab.worker_names[-1]], "taints": list(taints), **options}
    given = {key: value for key, value in desired.items() if value != []}
    return run_module(story.lab, "node_taint", given, story.output / record)
