# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Templates compared with the pods that were made from them."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod import resize as pod_resize
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod import templates as pod_templates
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod.templates import TemplateDifference
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import Json, container, controller, sized

DESIRED = {"app": {"limits.cpu": "2"}}
LIMITS: Json = {"limits": {"cpu": "1", "memory": "400Mi"}}


def amounts(*resources: Json) -> list[dict[str, dict[str, str]]]:
    return [pod_resize.amounts_after(sized("p", container(resources=entry)), ()) for entry in resources]


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({"matchLabels": {"app": "web", "tier": "front"}}, "app=web,tier=front"),
        (
            {
                "matchExpressions": [
                    {"key": "app", "operator": "In", "values": ["a", "b"]},
                    {"key": "tier", "operator": "NotIn", "values": ["back"]},
                    {"key": "x", "operator": "Exists"},
                    {"key": "y", "operator": "DoesNotExist"},
                ]
            },
            "app in (a,b),tier notin (back),x,!y",
        ),
        ({}, ""),
    ],
)
def test_a_selector_as_a_list_is_requested(selector: Json, text: str) -> None:
    assert pod_templates.selector_text(selector) == text


def test_who_made_a_pod() -> None:
    pod = sized(owner=("ReplicaSet", "web-5d", "u"))
    assert pod_templates.controller_of(pod) == ("ReplicaSet", "web-5d")
    assert pod_templates.is_controlled_by(pod, {"u"})
    assert not pod_templates.is_controlled_by(pod, {"v"})
    assert pod_templates.controller_of(sized()) is None
    assert pod_templates.controller_of(sized(owner=("Job", "once", "u"))) is None
    pod["metadata"]["ownerReferences"][0]["apiVersion"] = "example.com/v1"
    assert pod_templates.controller_of(pod) is None


def test_pods_get_the_limit_as_request_where_the_template_names_no_request() -> None:
    made = {"requests.cpu": "1", "requests.memory": "400Mi", "limits.cpu": "1", "limits.memory": "400Mi"}
    template = controller("Deployment", "web", container(resources=LIMITS), container("log", {}))
    assert pod_templates.desired_of(template, None) == {"app": made}
    assert pod_templates.desired_of(template, ["log"]) == {}
    running = amounts({"requests": LIMITS["limits"], **LIMITS})
    assert pod_templates.find_differences(template, {}, running) == ()


def test_where_pods_differ() -> None:
    same: Json = {"requests": {"cpu": "0.5", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "400Mi"}}
    other: Json = {**same, "limits": {"cpu": "2", "memory": "400Mi"}}
    again: Json = {**same, "limits": {"cpu": "2000m", "memory": "400Mi"}}
    assert pod_templates.find_differences(controller(), DESIRED, amounts(same)) == ()
    (found,) = pod_templates.find_differences(controller(), DESIRED, amounts(same, other, again))
    assert found == TemplateDifference("limits.cpu", "app", "1", ("2",))
    assert str(found) == "limits.cpu of app is 1 in the template and 2 in pods"


def test_what_pods_lack_and_the_template_names_is_a_difference() -> None:
    lacking: Json = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"memory": "400Mi"}}
    (found,) = pod_templates.find_differences(controller(), {}, amounts(lacking, lacking))
    assert found == TemplateDifference("limits.cpu", "app", "1", (None,))
    assert str(found) == "limits.cpu of app is 1 in the template and unset in pods"
    # What neither has is none, also when it is desired.
    bare = controller("Deployment", "web", container(resources={}))
    assert pod_templates.find_differences(bare, DESIRED, amounts({})) == ()


def test_what_a_limit_range_gave_is_no_difference_and_what_was_requested_is() -> None:
    template = controller("Deployment", "web", container(resources={}))
    running = amounts({"limits": {"cpu": "2", "memory": "1Gi"}})
    assert pod_templates.find_differences(template, {}, running) == ()
    (found,) = pod_templates.find_differences(template, DESIRED, running)
    assert str(found) == "limits.cpu of app is unset in the template and 2 in pods"


def test_a_container_that_admission_adds_is_no_difference() -> None:
    pod = pod_resize.amounts_after(sized("p", container(), container("proxy")), ())
    assert pod_templates.find_differences(controller(), {"proxy": {"limits.cpu": "1"}}, [pod]) == ()


def test_a_template_is_brought_in_sync() -> None:
    template = controller()
    changes = pod_templates.template_changes(
        template, {"app": {"limits.cpu": "2", "requests.cpu": "0.5"}, "injected": {"limits.cpu": "2"}}
    )
    assert changes == (Change("limits.cpu", "app", "1", "2"),)
    assert pod_templates.template_patch(template, changes) == {
        "metadata": {"resourceVersion": "3"},
        "spec": {"template": {"spec": {"containers": [{"name": "app", "resources": {"limits": {"cpu": "2"}}}]}}},
    }
    assert pod_templates.template_changes(template, {"app": {"limits.cpu": "1000m"}}) == ()


def test_a_request_that_was_the_limit_stays_when_the_limit_changes() -> None:
    template = controller("Deployment", "web", container(resources=LIMITS))
    changes = pod_templates.template_changes(template, DESIRED)
    assert changes == (Change("limits.cpu", "app", "1", "2"), Change("requests.cpu", "app", None, "1"))
    # Unless that is desired, too, or the limit stays.
    both = {"app": {"limits.cpu": "2", "requests.cpu": "2"}}
    assert [change.after for change in pod_templates.template_changes(template, both)] == ["2", "2"]
    same = {"app": {"limits.cpu": "2", "requests.cpu": "1000m"}}
    assert pod_templates.template_changes(template, same)[1] == Change("requests.cpu", "app", None, "1000m")
    assert pod_templates.template_changes(template, {"app": {"limits.cpu": "1000m"}}) == ()
    # Where there was no limit a request is left to admission.
    bare = controller("Deployment", "web", container(resources={}))
    assert pod_templates.template_changes(bare, DESIRED) == (Change("limits.cpu", "app", None, "2"),)


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        ("Deployment", {}, "a changed Deployment template always rolls out: all its pods are replaced"),
        ("Deployment", {"paused": True}, "this happens when it is resumed"),
        ("ReplicaSet", {}, "a ReplicaSet does not replace its pods"),
        ("StatefulSet", {}, "Kubernetes replaces all its pods"),
        ("StatefulSet", {"updateStrategy": {"type": "OnDelete"}}, "pods keep running until they are deleted"),
        ("StatefulSet", {"updateStrategy": {"rollingUpdate": {"partition": 3}}}, "its pods from number 3 on"),
        ("DaemonSet", {"updateStrategy": {"type": "RollingUpdate"}}, "Kubernetes replaces all its pods"),
    ],
)
def test_what_becomes_of_the_pods(kind: str, spec: dict[str, t.Any], words: str) -> None:
    assert words in pod_templates.describe_rollout(kind, controller(kind, "web", **spec))
