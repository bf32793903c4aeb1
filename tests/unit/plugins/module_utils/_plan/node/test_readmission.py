# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that a kubelet would reject."""

from __future__ import annotations

import dataclasses
import typing as t
from fractions import Fraction

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import readmission
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, pod

D = "example.com/dongle"
TAINT = {"key": "k", "value": "v", "effect": "NoExecute"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(**parts: t.Any) -> readmission.Conditions:
    return readmission.Conditions(
        "w1",
        parts.get("labels", {"a": "1", "n": "5"}),
        parts.get("taints", []),
        {name: Fraction(amount) for name, amount in parts.get("allocatable", {}).items()},
    )


def affinity(*terms: Json) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def expression(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        ({}, True),
        ({"nodeSelector": {"a": "1"}}, True),
        ({"nodeSelector": {"a": "2"}}, False),
        ({"nodeSelector": {"b": "1"}}, False),
        ({"affinity": affinity(expression("a", "In", "1", "2"))}, True),
        ({"affinity": affinity(expression("a", "In", "2"))}, False),
        ({"affinity": affinity(expression("a", "In", "2"), expression("n", "Gt", "4"))}, True),
        ({"affinity": affinity(expression("n", "Lt", "4"))}, False),
        ({"affinity": affinity(expression("a", "Gt", "x"))}, False),
        ({"affinity": affinity(expression("b", "Gt", "1"))}, False),
        ({"affinity": affinity(expression("a", "Exists"))}, True),
        ({"affinity": affinity(expression("a", "DoesNotExist"))}, False),
        ({"affinity": affinity(expression("b", "NotIn", "1"))}, True),
        ({"affinity": affinity(expression("a", "NotIn", "1"))}, False),
        ({"affinity": affinity({})}, False),
        ({"affinity": affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["w1"]}]})}, True),
        (
            {"affinity": affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["w2"]}]})},
            False,
        ),
        ({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}, True),
        ({"nodeSelector": {"b": "1"}, "phase": "Succeeded"}, True),
    ],
)
def test_labels(spec: Json, fits: bool) -> None:
    assert (readmission.find_rejected([pod(**spec)], node()) == []) is fits


def test_a_resource_goes_to_the_oldest() -> None:
    found = [
        pod("young", requests={D: "2"}, created="2026-01-02T00:00:00Z"),
        pod("old", requests={D: "3"}, created="2026-01-01T00:00:00Z"),
        pod("small", requests={D: "1"}, created="2026-01-03T00:00:00Z"),
    ]
    (rejection,) = readmission.find_rejected(found, node(allocatable={D: "4"}))
    assert str(rejection) == "default/young (requests 2 of example.com/dongle, 1 are left)"


def test_a_resource_that_is_gone_does_not_count() -> None:
    assert readmission.find_rejected([pod(requests={D: "2"})], node()) == []
    assert len(readmission.find_rejected([pod(requests={D: "2"})], node(allocatable={D: "0"}))) == 1


def test_devices_stay_with_who_holds_them() -> None:
    """A kubelet counts at least what its device manager gave out before."""
    found = [pod("old", requests={D: "2"}), pod("young", requests={D: "1"}, created="2026-01-02T00:00:00Z")]
    for left in ("0", "2", "3"):
        offers = dataclasses.replace(node(allocatable={D: left}), devices=[D])
        assert readmission.find_rejected(found, offers) == []
    new = pod("new", requests={D: "1"}, created="2026-01-03T00:00:00Z", state={"waiting": {}}, phase="Pending")
    (rejection,) = readmission.find_rejected(
        [new, *found], dataclasses.replace(node(allocatable={D: "3"}), devices=[D])
    )
    assert str(rejection) == (
        "default/new (container c does not run and requests example.com/dongle, which a restarted kubelet does not have until the device"
        " plugin has registered again)"
    )
    assert [entry.pod for entry in readmission.find_rejected(found, node(allocatable={D: "2"}))] == ["default/young"]


@pytest.mark.parametrize("offered", ["0", "9"])
def test_devices_of_a_container_that_does_not_run_are_given_again(offered: str) -> None:
    """By a kubelet to which no plugin has registered yet, whatever is offered now."""
    gone = dataclasses.replace(node(allocatable={D: offered}), devices=[D])
    crashed = pod(requests={D: "1"}, state={"waiting": {"reason": "CrashLoopBackOff"}})
    done = pod(requests={D: "1"}, initContainers=[{"name": "i", "resources": {"requests": {D: "1"}}}])
    plain = pod(requests={D: "1"}, initContainers=[{"name": "i"}])
    assert [len(readmission.find_rejected([each], gone)) for each in (crashed, done, plain)] == [1, 1, 0]


def test_resources_of_a_pod_as_a_whole_are_given_again_by_some_kubelets() -> None:
    whole, plain = pod("whole", resources={"limits": {"cpu": "2"}}), pod("plain")
    assert readmission.find_rejected([whole, plain], node()) == []
    (rejection,) = readmission.find_rejected([whole, plain], dataclasses.replace(node(), reallocates=True))
    assert rejection.pod == "default/whole"
    assert "PodLevelResourceManagers" in rejection.reason


def container(number: int, **state: Json) -> Json:
    """The status of a container that was started so often."""
    return {"name": "c", "containerID": f"containerd://{number}", "state": state or {"running": {}}}


def ended(number: int, **fields: t.Any) -> Json:
    return {"terminated": {"containerID": f"containerd://{number}", **fields}}


def before_and_after(status: Json, **metadata: t.Any) -> readmission.Losses:
    """What came of a pod that ran one container."""
    before, now = pod("p"), pod("p")
    for each in (before, now):
        each["metadata"]["uid"] = "u"
        each["status"]["containerStatuses"] = [container(1)]
    now["status"].update(status)
    now["metadata"].update(metadata)
    return readmission.find_losses(readmission.collect_running([before]), [now])


def test_a_pod_that_goes_on_is_no_loss() -> None:
    assert before_and_after({}) == readmission.Losses(1, [], [], [], [])


@pytest.mark.parametrize("reason", ["UnexpectedAdmissionError", "OutOfcpu", "NodeAffinity", "Evicted"])
def test_a_pod_that_the_kubelet_rejected_is_lost(reason: str) -> None:
    status = {"phase": "Failed", "reason": reason, "message": "no devices"}
    (lost,) = before_and_after(status).lost
    assert str(lost) == f"default/p ({reason}: no devices)"


def test_a_pod_that_ended_by_itself_is_no_loss() -> None:
    assert before_and_after({"phase": "Failed"}).lost == []
    assert before_and_after({"phase": "Succeeded"}).lost == []
    assert before_and_after({"phase": "Failed", "reason": "DeadlineExceeded"}).lost == []


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_always_restarts_does_not_end_by_itself(phase: str) -> None:
    found = pod("p", phase=phase, restartPolicy="Always")
    found["metadata"]["uid"] = "u"
    before: readmission.Running = {"u": {"pod": "default/p", "containers": {}}}
    (lost,) = readmission.find_losses(before, [found]).lost
    assert str(lost) == f"default/p ({phase}, although its containers are to be restarted whenever they end)"
    found["spec"]["containers"][0]["restartPolicy"] = "Never"
    assert readmission.find_losses(before, [found]).lost == []


@pytest.mark.parametrize("metadata", [{"uid": "another"}, {"deletionTimestamp": "now"}])
def test_a_pod_that_was_deleted_or_replaced_is_named(metadata: Json) -> None:
    found = before_and_after({"phase": "Failed", "reason": "Evicted"}, **metadata)
    assert found == readmission.Losses(1, [], [], ["default/p"], [])


def test_a_static_pod_with_another_identity_is_not_deleted() -> None:
    before, now = pod("p", static=True), pod("p", static=True)
    before["metadata"]["uid"], now["metadata"]["uid"] = "u", "v"
    assert readmission.find_losses(readmission.collect_running([before]), [now]).deleted == []


@pytest.mark.parametrize(
    ("state", "is_restarted"),
    [
        ({"exitCode": 137, "reason": "Error"}, True),
        ({"exitCode": 143, "reason": "Error"}, True),
        ({"exitCode": 0, "reason": "ContainerStatusUnknown"}, True),
        ({"exitCode": 137, "reason": "OOMKilled"}, False),
        ({"exitCode": 1, "reason": "Error"}, False),
        ({"exitCode": 0, "reason": "Completed"}, False),
    ],
)
def test_a_container_that_was_ended_is_a_restart(state: Json, *, is_restarted: bool) -> None:
    new = {**container(2), "lastState": ended(1, **state)}
    down = container(1, **ended(1, **state))
    for status in (new, down):
        found = before_and_after({"containerStatuses": [status]})
        assert [each.reason for each in found.restarted] == ["container c was ended"] * is_restarted
        assert found.unknown == []


@pytest.mark.parametrize(
    "status",
    [
        {**container(2), "lastState": ended(1, exitCode=255, reason="Unknown")},
        {**container(3), "lastState": ended(2, exitCode=137, reason="Error")},
        container(2),
    ],
)
def test_a_container_whose_end_is_not_known_is_named(status: Json) -> None:
    assert before_and_after({"containerStatuses": [status]}) == readmission.Losses(1, [], [], [], ["default/p"])


def test_what_had_ended_before_is_not_watched() -> None:
    over = pod("p", phase="Succeeded")
    over["metadata"]["uid"] = "u"
    assert readmission.collect_running([over]) == {}


def test_their_number() -> None:
    found = [pod("static", static=True), pod("old"), pod("young", created="2026-01-02T00:00:00Z")]
    (rejection,) = readmission.find_rejected(found, node(allocatable={"pods": 2}))
    assert str(rejection) == "default/young (requests 1 of pods, 0 are left)"


def test_a_fraction_of_a_cpu() -> None:
    (rejection,) = readmission.find_rejected([pod(requests={"cpu": "1500m"})], node(allocatable={"cpu": "1.3333"}))
    assert rejection.reason == "requests 1.5 of cpu, 1.33 are left"


def test_a_kernel_parameter() -> None:
    sets = pod(securityContext={"sysctls": [{"name": "net.x", "value": "1"}]})
    strict = dataclasses.replace(node(), forbids=lambda sysctl: sysctl == "net.x")
    (rejection,) = readmission.find_rejected([sets, pod("plain")], strict)
    assert str(rejection) == "default/p (sets net.x, which is not allowed any more)"
    assert readmission.find_rejected([sets], node()) == []


def test_a_taint() -> None:
    tolerant = pod("tolerant", tolerations=[{"operator": "Exists"}])
    static = pod("static", static=True)
    (rejection,) = readmission.find_rejected([pod(), tolerant, static], node(taints=[TAINT]))
    assert (rejection.pod, rejection.reason) == ("default/p", "does not tolerate k:NoExecute")
    assert readmission.find_rejected([pod()], node(taints=[{**TAINT, "effect": "NoSchedule"}])) == []


def test_requests_of_a_pod_as_a_whole_and_its_overhead() -> None:
    found = pod(requests={"cpu": "1", D: "1"}, resources={"requests": {"cpu": "3"}}, overhead={"cpu": "250m"})
    assert pods.sum_requests(found) == {"cpu": Fraction(13, 4), D: 1}


def test_requests_of_init_containers_and_sidecars() -> None:
    def container(amount: str, **more: t.Any) -> Json:
        return {"resources": {"requests": {D: amount}}, **more}

    init = [container("1", restartPolicy="Always"), container("5"), container("1", restartPolicy="Always")]
    assert pods.sum_requests(pod(requests={D: "2"}, initContainers=init)) == {D: Fraction(6)}
    assert pods.sum_requests(pod(requests={D: "4"}, initContainers=init[:1])) == {D: Fraction(5)}
    assert pods.total_requests([pod(requests={D: "4"}), pod(requests={D: "4"}, phase="Failed")]) == {D: Fraction(4)}
