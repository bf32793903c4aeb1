# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a change of a worker's kubelet. F41 and the like: the numbers of faults in docs/reliability.md."""

from __future__ import annotations

import json
import os
import shutil
import signal
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.background import Task
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import Cluster, Json, Node, Process, stays, until
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Record, Recorder

pytestmark = pytest.mark.skipif("FAULTS_ONE" not in os.environ, reason="FAULTS_ONE names no lab of one control plane")

KUBELET = "kubelet"
BRISK: Json = {"wait_timeout": 120, "min_ready_seconds": 5}
FRAGMENTS = "/etc/kubernetes/kubelet.conf.d"
STATE_FILE = "/var/lib/kubelet/cpu_manager_state"
STATIC_CPU_POLICY: Json = {"config": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}}

REFUSED = (
    ("unknown field", {"config": {"maxPodz": 5}}, 'unknown field "maxPodz"'),
    ("bad value", {"config": {"maxPods": -1}}, "maxPods"),
    ("unknown feature gate", {"feature_gates": {"NoSuchGate": True}}, "NoSuchGate"),
    ("other cgroup driver on a node with pods", {"config": {"cgroupDriver": "systemd"}}, "drain"),
    ("other CPU manager policy on a node that takes pods", STATIC_CPU_POLICY, "drain"),
)


def change(cluster: Cluster, desired: Json, **settings: t.Any) -> Task:
    """Begin a change of the worker's kubelet."""
    return cluster.task(cluster.workers[0], "kubelet", {**BRISK, **desired, **settings}, by_ssh=True)


def is_ready(cluster: Cluster, node: Node) -> bool:
    """Whether the API server takes the node for ready."""
    conditions = cluster.lab.get("node", node.name)["status"]["conditions"]
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def check_restored(entry: Record, cluster: Cluster, former: Process, result: Json) -> None:
    """The kubelet runs as it did, and the node is ready."""
    node, transaction = cluster.workers[0], result["transaction"]
    entry.outcome, entry.runs_then, entry.fault_evidence = transaction["outcome"], "old", result["msg"]
    entry.outages, entry.restore_seconds = [transaction["outage_seconds"]], transaction["restart_seconds"]
    assert transaction["outcome"] == "rolled_back"
    assert transaction["healthy"]
    assert node.kubelet().arguments == former.arguments
    assert not node.path(FRAGMENTS).exists()
    assert is_ready(cluster, node)


@pytest.mark.parametrize(("title", "desired", "error"), REFUSED, ids=[fault[0].replace(" ", "-") for fault in REFUSED])
def test_is_refused_before_anything_is_written(
    one: Cluster, record: Recorder, title: str, desired: Json, error: str
) -> None:
    entry, running = record("F41", f"kubelet: {title}"), one.workers[0].kubelet()
    with change(one, desired) as task:
        result = task.result()
    assert result["failed"]
    assert error in result["msg"]
    assert result["transaction"] is None
    assert one.workers[0].kubelet() == running
    assert not one.workers[0].path(FRAGMENTS).exists()
    entry.outcome, entry.runs_then, entry.reported, entry.fault_evidence = "refused", "old", True, result["msg"]


ROLLED_BACK = (
    ("bad value that shows at the start", {"config": {"evictionHard": {"memory.available": "abc"}}}),
    ("policy that does not exist", {"config": {"cpuManagerPolicy": "bogus"}, "force": True}),
    ("policy without the CPUs that it needs", {"config": {"cpuManagerPolicy": "static"}, "force": True}),
    ("unknown feature gate, not rehearsed", {"feature_gates": {"NoSuchGate": True}, "rehearse": False}),
)


@pytest.mark.parametrize(("title", "desired"), ROLLED_BACK, ids=[fault[0].replace(" ", "-") for fault in ROLLED_BACK])
def test_is_restored(one: Cluster, record: Recorder, title: str, desired: Json) -> None:
    entry, former = record("F41", f"kubelet: {title}"), one.workers[0].kubelet()
    state = identity_of(former.path(STATE_FILE))
    with change(one, desired) as task:
        result = task.result()
    check_restored(entry, one, former, result)
    assert identity_of(one.workers[0].kubelet().path(STATE_FILE)) == state


def identity_of(path: Path) -> tuple[int, int, bytes]:
    """A file as it is: the same one, with the same rights and bytes."""
    status = path.stat()
    return status.st_ino, status.st_mode, path.read_bytes()


def test_a_policy_changes_with_its_state_file(one: Cluster, record: Recorder) -> None:
    entry, node = record("-", "kubelet: CPU manager policy there and back on a drained node"), one.workers[0]
    ends, former = [], identity_of(node.kubelet().path(STATE_FILE))
    one.lab.kubectl("drain", node.name, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s")
    try:
        for desired, policy in ((STATIC_CPU_POLICY, "static"), ({"state": "absent"}, "none")):
            with change(one, desired) as task:
                ends.append(task.result()["transaction"])
            assert ends[-1]["outcome"] == "committed"
            path = node.kubelet().path(STATE_FILE)
            assert json.loads(path.read_bytes())["policyName"] == policy
            assert used_configuration(one, node)["cpuManagerPolicy"] == policy
            (set_aside,) = path.parent.glob(f"{path.name}.*")
            assert (identity_of(set_aside) == former) is (policy == "static"), "of the former ones the last is kept"
            with change(one, desired) as task:
                assert not task.result()["changed"]
    finally:
        one.lab.kubectl("uncordon", node.name)
    entry.outcome, entry.runs_then, entry.false_restore = "committed", "new", False
    entry.outages = [end["outage_seconds"] for end in ends if end["outage_seconds"] is not None]
    entry.fault_evidence = "the state file named static and then none, and so did the kubelet"


def used_configuration(cluster: Cluster, node: Node) -> Json:
    """The configuration that a kubelet uses."""
    response = cluster.lab.kubectl("get", "--raw", f"/api/v1/nodes/{node.name}/proxy/configz")
    found: Json = json.loads(response)["kubeletconfig"]
    return found


def test_a_fragment_that_is_gone_is_written_again(one: Cluster, record: Recorder) -> None:
    entry, node = record("F41", "kubelet: directory of fragments removed by another program"), one.workers[0]
    desired = {"config": {"maxPods": 99}}
    with change(one, desired) as task:
        assert task.result()["transaction"]["outcome"] == "committed"
    shutil.rmtree(node.path(FRAGMENTS))
    node.systemctl("restart", "kubelet")
    until(lambda: one.lab.get("node", node.name)["status"]["capacity"]["pods"] != "99", "the kubelet's own default", 90)
    with change(one, desired) as task:
        result = task.result()
    entry.outcome, entry.runs_then, entry.false_restore = result["transaction"]["outcome"], "new", False
    entry.outages = [result["transaction"]["outage_seconds"]]
    assert entry.outcome == "committed"
    until(lambda: one.lab.get("node", node.name)["status"]["capacity"]["pods"] == "99", "what was asked for", 90)
    entry.fault_evidence = "the kubelet was started without the directory and went back to its default"


DEATH_SECONDS = 60.0


def test_a_kubelet_that_dies_after_a_minute_is_restored(one: Cluster, record: Recorder) -> None:
    entry, node = record("F42", f"kubelet: dies {DEATH_SECONDS:.0f} s after it was healthy"), one.workers[0]
    former, deaths = node.kubelet(), 0
    with change(one, {"config": {"maxPods": 99}}, wait_timeout=40, min_ready_seconds=75) as task:
        node.wait_for_phase("waiting", KUBELET)
        while node.phase(KUBELET) == "waiting":
            until(lambda: node.progress(KUBELET).startswith("is healthy"), "a healthy kubelet", 40)
            stays(lambda: node.progress(KUBELET).startswith("is healthy"), "a healthy kubelet", DEATH_SECONDS)
            node.kubelet().send(signal.SIGKILL)
            deaths += 1
            until(lambda: not node.progress(KUBELET).startswith("is healthy"), "its death", 10)
            until(
                lambda: node.phase(KUBELET) != "waiting" or node.progress(KUBELET).startswith("is healthy"),
                "what follows",
            )
        result = task.result()
    check_restored(entry, one, former, result)
    entry.fault_evidence = f"killed {deaths} time(s) while healthy; {result['msg']}"


def test_a_pod_that_holds_a_resource_lives_on(one: Cluster, record: Recorder) -> None:
    entry, node = record("F43", "kubelet restarted under a pod that holds an extended resource"), one.workers[0]
    one.lab.kubectl(
        "patch", "node", node.name, "--subresource=status", "--type=merge",
        f"--patch={json.dumps({'status': {'capacity': {'example.com/dongle': '4'}}})}",
    )  # fmt: skip
    one.lab.kubectl("apply", "--filename=-", stdin=json.dumps(holder(node.name)))
    try:
        one.lab.kubectl("wait", "--for=condition=Ready", "pod/holder", "--timeout=60s")
        before = one.lab.get("pod", "holder")["status"]["containerStatuses"]
        kubelet = node.kubelet()
        with change(one, {"config": {"maxPods": 99}}) as task:
            result = task.result()
        assert node.kubelet() != kubelet
        after = one.lab.get("pod", "holder")["status"]["containerStatuses"]
        allocatable = one.lab.get("node", node.name)["status"]["allocatable"]
    finally:
        one.lab.kubectl("delete", "pod", "holder", "--now", "--ignore-not-found")
    entry.outcome, entry.runs_then, entry.false_restore = result["transaction"]["outcome"], "new", False
    entry.outages = [result["transaction"]["outage_seconds"]]
    entry.fault_evidence = (
        f"the kubelet was {kubelet.pid} and is {node.kubelet().pid}; the container is {after[0]['containerID'][:24]}"
    )
    assert result["transaction"]["outcome"] == "committed"
    assert [status["containerID"] for status in after] == [status["containerID"] for status in before]
    assert [status["restartCount"] for status in after] == [0]
    assert allocatable["example.com/dongle"] == "4"


def holder(node: str) -> Json:
    """A pod that holds two of the four."""
    amount = {"example.com/dongle": "2"}
    container = {"name": "holder", "image": "lab.local/pause:1", "resources": {"requests": amount, "limits": amount}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "holder", "namespace": "default"},
        "spec": {"nodeSelector": {"kubernetes.io/hostname": node}, "containers": [container]},
    }
