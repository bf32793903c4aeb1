# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pod's status says of a resize, in every version of Kubernetes that has one."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod import resize_state as pod_resize_state
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod.resize_state import (
    DEFERRED,
    IN_PROGRESS,
    INFEASIBLE,
    REFUSED,
    RESIZED,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import Json, container, sized

DESIRED = {"app": {"limits.cpu": "2"}}
WORDS = "Node didn't have enough capacity: cpu, requested: 9000, capacity: 2000"


def has(cpu: str = "2", **parts: t.Any) -> Json:
    """A pod whose container has a limit. parts: conditions, resize, generation, and those of the container's status."""
    pod = sized("p", container(resources={"limits": {"cpu": cpu}}))
    status = pod["status"]
    pod["metadata"]["generation"] = parts.pop("generation", 1)
    status["conditions"] += parts.pop("conditions", [])
    if "resize" in parts:
        status["resize"] = parts.pop("resize")
    status["containerStatuses"][0].update(parts)
    return pod


def condition(kind: str = "Pending", reason: str = "", message: str = "", observed: int | None = None) -> Json:
    generation = {"observedGeneration": observed} if observed else {}
    return {"type": f"PodResize{kind}", "status": "True", "reason": reason, "message": message, **generation}


@pytest.mark.parametrize(
    ("pod", "outcome", "reason"),
    [
        (has("2"), RESIZED, ""),
        (has("2000m"), RESIZED, ""),
        (has("1"), IN_PROGRESS, "limits.cpu of app should be 2 and is 1"),
        (has(resources={}), IN_PROGRESS, "limits.cpu of app should be 2 and is unset"),
        (has(resources={"limits": {"cpu": "2"}, "requests": {}}), RESIZED, ""),
        (has(state={"waiting": {"reason": "CrashLoopBackOff"}}), IN_PROGRESS, r"does not run \(CrashLoopBackOff\)"),
        (has(state={}), IN_PROGRESS, "container app does not run"),
        (has(generation=2), IN_PROGRESS, "the kubelet has not seen it yet"),
        # From 1.33 on there are conditions.
        (has(conditions=[condition("Pending", "Infeasible", WORDS)]), INFEASIBLE, f"Infeasible: {WORDS}"),
        (has(conditions=[condition("Pending", "Deferred", "no room")]), DEFERRED, "Deferred: no room"),
        (has(conditions=[condition("InProgress")]), IN_PROGRESS, "the kubelet is resizing it"),
        (has(conditions=[condition("InProgress", "Error", "below usage")]), IN_PROGRESS, "Error: below usage"),
        # What waits says more than what is under way.
        (has(conditions=[condition("InProgress"), condition("Pending", "Deferred", "x")]), DEFERRED, "Deferred: x"),
        # A condition of an earlier generation is over.
        (has(conditions=[condition("Pending", "Infeasible", WORDS, 1)], generation=2), IN_PROGRESS, "has not seen it"),
        (has(conditions=[condition("Pending", "Infeasible", WORDS, 2)], generation=2), INFEASIBLE, WORDS),
        # Up to 1.32 there is a field.
        (has(resize="Proposed"), IN_PROGRESS, "Proposed, without a reason"),
        (has(resize="Deferred"), DEFERRED, "Deferred, without a reason"),
        (has(resize="Infeasible"), INFEASIBLE, "Infeasible, without a reason in this version of Kubernetes"),
        (has(resize=""), RESIZED, ""),
    ],
)
def test_what_the_kubelet_reports(pod: Json, outcome: str, reason: str) -> None:
    found = pod_resize_state.resize_state(pod, DESIRED)
    assert found.outcome == outcome
    if reason:
        assert re.search(reason, found.reason)
    else:
        assert found.reason == ""


def test_a_kubelet_that_reports_nothing() -> None:
    pod = has()
    del pod["status"]["containerStatuses"][0]["resources"]
    assert "the kubelet's gate InPlacePodVerticalScaling is on" in pod_resize_state.resize_state(pod, DESIRED).reason


def test_a_condition_that_may_be_from_before_is_doubted() -> None:
    old = condition("Pending", "Infeasible", WORDS)
    pod = has("1", conditions=[old])
    assert pod_resize_state.resize_conditions(pod) == [old]
    assert pod_resize_state.resize_state(pod, DESIRED, [old]).outcome == IN_PROGRESS
    assert pod_resize_state.resize_state(pod, DESIRED).outcome == INFEASIBLE
    # One that says which generation it belongs to is not.
    new = condition("Pending", "Infeasible", WORDS, 1)
    assert pod_resize_state.resize_state(has("1", conditions=[new]), DESIRED, [new]).outcome == INFEASIBLE


@pytest.mark.parametrize(
    ("field", "desired", "actual", "done"),
    [
        ("requests.cpu", "1m", "2m", True),
        ("limits.cpu", "5m", "10m", True),
        ("limits.cpu", "5m", "5m", True),
        ("limits.cpu", "5m", "20m", False),
        ("requests.cpu", "5m", "10m", False),
        ("requests.cpu", "0", None, True),
        ("requests.cpu", "0", "100m", False),
        # As Kubernetes 1.36 reports it for good.
        ("requests.memory", "0", "67108864", True),
        ("requests.memory", "1Mi", "67108864", False),
        ("limits.memory", "1Mi", "1048576", True),
        # What Kubernetes rounds up, in a template.
        ("limits.memory", "0.1Gi", "107374183", True),
        ("limits.memory", "0.1Gi", "107374182", False),
        ("limits.cpu", "100500u", "101m", True),
        ("limits.cpu", "100500u", "100500u", True),
        ("requests.cpu", "100u", "2m", True),
    ],
)
def test_what_cgroups_cannot_hold_is_not_waited_for(field: str, desired: str, actual: str | None, done: bool) -> None:
    kind, _dot, resource = field.partition(".")
    pod = has(resources={kind: {resource: actual} if actual else {}})
    assert (pod_resize_state.resize_state(pod, {"app": {field: desired}}).outcome == RESIZED) is done


def test_a_sidecar_is_seen() -> None:
    pod = sized("p", sidecars=[container("proxy", {"limits": {"cpu": "1"}})])
    assert pod_resize_state.resize_state(pod, {"proxy": {"limits.cpu": "2"}}).reason.startswith(
        "limits.cpu of proxy should be 2"
    )


def test_an_init_container_that_is_done_has_nothing_to_show() -> None:
    init = container("migrate", {"limits": {"cpu": "1"}})
    desired = {"migrate": {"limits.cpu": "1"}, "app": {"limits.cpu": "1"}}
    assert pod_resize_state.resize_state(sized("p", finished=[init]), desired).outcome == RESIZED
    # One that still runs has, and so has a sidecar that ended.
    running = sized("p", finished=[init])
    running["status"]["initContainerStatuses"][0].update(state={"running": {}}, resources={"limits": {"cpu": "500m"}})
    assert "of migrate should be 1" in pod_resize_state.resize_state(running, desired).reason
    sidecar = sized("p", sidecars=[init])
    sidecar["status"]["initContainerStatuses"][0]["state"] = {"terminated": {"reason": "Error"}}
    assert "container migrate does not run (Error)" in pod_resize_state.resize_state(sidecar, desired).reason
    # One that failed is started again.
    failed = sized("p", finished=[init])
    failed["status"]["initContainerStatuses"][0]["state"] = {"terminated": {"exitCode": 1, "reason": "Error"}}
    assert "container migrate does not run (Error)" in pod_resize_state.resize_state(failed, desired).reason


def test_a_container_of_which_nothing_is_queried_needs_no_status() -> None:
    pod = has()
    pod["status"]["containerStatuses"] = []
    assert pod_resize_state.resize_state(pod, {"app": {}}).outcome == RESIZED


def test_restarts_are_counted() -> None:
    before, after = sized("p", container(), container("log")), sized("p", container(), container("log"))
    assert pod_resize_state.find_restarted(before, after) == []
    after["status"]["containerStatuses"][1]["restartCount"] = 1
    assert pod_resize_state.find_restarted(before, after) == ["log"]


def test_a_pod_of_the_same_name_is_another_one() -> None:
    other = sized()
    other["metadata"]["uid"] = "another"
    assert pod_resize_state.is_same(sized(), sized())
    assert not pod_resize_state.is_same(sized(), other)


# In the words of Kubernetes 1.31 to 1.36.
@pytest.mark.parametrize(
    ("words", "outcome", "advice"),
    [
        (
            'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
            REFUSED,
            "A Guaranteed pod",
        ),
        ('metadata: Invalid value: "Burstable": Pod QoS is immutable', REFUSED, "A Guaranteed pod needs requests that"),
        (
            "spec.containers[0].resources.limits: Forbidden: memory limits cannot be decreased unless resizePolicy is RestartContainer",
            REFUSED,
            "1.34 and newer do it without",
        ),
        ("spec: Forbidden: pod updates may not change fields other than `spec.tolerations`", REFUSED, "feature_gates"),
        ("Forbidden: Pod running on node without support for resize", REFUSED, "The kubelet there is too old"),
        ('requests: Invalid value: "2": must be less than or equal to cpu limit of 1', REFUSED, "name the limit, too"),
        (
            'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 9000, allocatable: 2000',
            INFEASIBLE,
            "",
        ),
        ('pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=2', REFUSED, ""),
    ],
)
def test_a_refusal_is_reported_in_kubernetes_words(words: str, outcome: str, advice: str) -> None:
    found, message = pod_resize_state.interpret_refusal(words)
    assert (found, message.startswith(words)) == (outcome, True)
    assert advice in message
    assert message.endswith(".") or not advice


@pytest.mark.parametrize("named", ["", "Burstable"])
@pytest.mark.parametrize(
    ("qos_class", "advice"),
    [
        ("Guaranteed", "A Guaranteed pod stays one: name requests and limits, and give both the same amounts"),
        ("Burstable", "a Burstable pod must not become one: leave one of its requests below its limit"),
        ("BestEffort", "A pod without requests and limits cannot be given any: change the template"),
    ],
)
def test_advice_follows_the_class_of_the_pod(qos_class: str, advice: str, named: str) -> None:
    message = f'spec: Invalid value: "{named or qos_class}": Pod QOS Class may not change as a result of resizing'
    pod = {"metadata": {"name": "web"}, "status": {"qosClass": qos_class}} if named else None
    assert advice in pod_resize_state.interpret_refusal(message, pod)[1]
