# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The templates of pods that are resized: compared with the pods, changed, and reverted to."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import HttpError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_pods import FakePods
from ansible_collections.nodecraft.kubeadm.tests.unit.support.pod_runs import (
    BIGGER,
    NAMES,
    NO_ROOM,
    OWNER,
    SET,
    Serve,
    containers,
    fixture_serve_pods,
    fixture_web,
    run,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import container, controller, sized

__all__ = ["fixture_serve_pods", "fixture_web"]


def test_a_template_that_differs_is_reported(web: FakePods) -> None:
    done = run(web, owner=OWNER, template="report", wait=True)
    assert list(done.report["templates"]) == ["Deployment/web"]
    assert done.template == {
        "changed": False,
        "failed": False,
        "msg": "",
        "differs": True,
        "differences": [
            {"field": "requests.cpu", "container": "app", "template": "500m", "pods": ["1"]},
            {"field": "limits.cpu", "container": "app", "template": "1", "pods": ["2"]},
        ],
        "rollout": "a changed Deployment template always rolls out: all its pods are replaced",
        "operations": [],
    }
    (warning,) = done.warnings
    assert warning.startswith(
        "Deployment web: requests.cpu of app is 500m in the template and 1 in pods, limits.cpu of"
    )
    assert "after its next rollout, have the resources of the template" in warning
    # The warning comes in each run until the template changes.
    assert run(web, owner=OWNER, template="report").warnings == [warning]


def test_a_template_is_brought_in_sync(web: FakePods) -> None:
    done = run(web, owner=OWNER, template="update", wait=True)
    assert done.error is None
    spec = web.controllers["Deployment", "web"]["spec"]["template"]["spec"]
    assert spec["containers"][0]["resources"]["limits"] == {"cpu": "2", "memory": "400Mi"}
    assert web.patched[-1] == "/apis/apps/v1/namespaces/shop/deployments/web"
    assert done.warnings == [
        "Deployment web: its template changes, and a changed Deployment template always rolls out: all its pods are replaced."
    ]
    assert (done.template["changed"], done.template["differs"]) == (True, False)
    assert done.report["diff"][-1]["before_header"] == "Deployment shop/web"
    assert done.report["diff"][-1]["after"]["app"]["limits"]["cpu"] == "2"
    again = run(web, owner=OWNER, template="update", wait=True)
    assert (again.operations, again.warnings, again.template["operations"]) == (0, [], [])


def test_only_the_template_differs(web: FakePods) -> None:
    run(web, owner=OWNER, wait=True)
    done = run(web, owner=OWNER, template="update", wait=True)
    assert (done.error, done.operations, set(done.outcomes.values())) == (None, 2, {"unchanged"})
    assert done.template["changed"]


def test_a_template_is_left_when_one_of_its_pods_failed(web: FakePods) -> None:
    web.pending = {"web-2": ("Infeasible", NO_ROOM)}
    done = run(web, owner=OWNER, template="update", wait=True)
    assert web.controllers["Deployment", "web"] == controller()
    assert (done.template["changed"], done.template["msg"]) == (
        False,
        "the template was not changed, because of web-2",
    )
    resized = [name for name in NAMES if name != "web-2"]
    assert [entry["before_header"] for entry in done.report["diff"]] == [f"Pod shop/{name}" for name in resized]


def test_a_template_is_left_when_one_of_its_pods_is_put_off(web: FakePods) -> None:
    web.pending = {"web-2": ("Deferred", "no room")}
    done = run(web, owner=OWNER, template="update", wait_timeout=2)
    assert done.outcomes["web-2"] == "deferred"
    assert web.controllers["Deployment", "web"] == controller()
    # So it is when the next run finds nothing to change in the pod.
    done = run(web, owner=OWNER, template="update", wait_timeout=2)
    assert (done.outcomes["web-2"], done.template["changed"]) == ("deferred", False)
    assert web.controllers["Deployment", "web"] == controller()


def test_a_template_is_left_as_long_as_one_of_its_pods_has_no_node(web: FakePods) -> None:
    del web.pod("web-2")["spec"]["nodeName"]
    for outcome in ("accepted", "unchanged"):
        done = run(web, owner=OWNER, template="update")
        assert (done.error, done.outcomes["web-2"]) == (None, outcome)
        assert done.template["msg"] == "the template was not changed, because of web-2"
        assert web.controllers["Deployment", "web"] == controller()


def test_pods_are_waited_for_before_their_template_is_changed(web: FakePods) -> None:
    done = run(web, owner=OWNER, template="update", wait=False)
    assert (done.error, done.outcomes) == (None, dict.fromkeys(NAMES, "resized"))
    assert done.template["changed"]


def test_a_template_that_others_change_too(web: FakePods) -> None:
    times = iter([True])

    def touch(name: str) -> None:
        if name == "web" and next(times, False):
            web.controllers["Deployment", "web"]["metadata"]["resourceVersion"] = "9"

    web.before_pod_patch = touch
    assert run(web, owner=OWNER, template="update").template["changed"]
    web.before_pod_patch = lambda name: web.controllers["Deployment", "web"]["metadata"].update(resourceVersion="1")
    web.refusals["web"] = HttpError(403, 'User "u" cannot patch resource "deployments"')
    done = run(web, owner=OWNER, template="update", containers=containers(limits={"cpu": 3}))
    assert "Deployment web: its template was not changed: http" in str(done.error)
    assert 'cannot patch resource "deployments". Grant the account this right' in str(done.error)
    assert set(done.outcomes.values()) == {"resized"}


def test_templates_are_not_read_with_policy_keep(web: FakePods) -> None:
    done = run(web, label_selector="app=web", template="keep")
    assert (done.report["templates"], done.warnings) == ({}, [])
    assert [path for path in web.paths("GET") if "/apis/" in path] == []


def test_pods_of_another_controller_are_not_verified(serve_pods: Serve) -> None:
    rollout = {
        "apiVersion": "apps.kruise.io/v1alpha1",
        "kind": "CloneSet",
        "name": "web",
        "uid": "7",
        "controller": True,
    }
    mirror = {"apiVersion": "v1", "kind": "Node", "name": "w1", "uid": "8", "controller": True}
    pods = sized("web-1"), sized("web-2"), sized("static")
    for pod, owner in zip(pods, (rollout, rollout, mirror)):
        pod["metadata"]["ownerReferences"] = [owner]
    names = [pod["metadata"]["name"] for pod in pods]
    done = run(serve_pods(*pods), names=names, template="report")
    warning = "not verified: whether the templates differ from the pods: CloneSet web made them"
    assert (done.error, done.warnings) == (None, [warning])
    assert run(serve_pods(*pods), names=names, template="keep").warnings == []


def test_templates_that_may_not_be_read(serve_pods: Serve) -> None:
    api = serve_pods(sized(owner=SET))
    place = "/apis/apps/v1/namespaces/shop/replicasets/web-5d"
    api.responses[place] = HttpError(403, 'User "u" cannot get resource "replicasets"')
    api._apps = api._canned_response  # type: ignore[method-assign,assignment]
    done = run(api, names=["web-1"], template="report")
    assert (done.error, done.outcomes) == (None, {"web-1": "accepted"})
    assert "not verified: whether the templates differ from the pods: http" in done.warnings[0]
    for refused in (run(api, names=["web-1"], template="update"), run(api, names=["web-1"], state="absent")):
        assert 'cannot get resource "replicasets"' in str(refused.error)
        assert refused.outcomes == {"web-1": "unchanged"}, "the selected pods are in the result all the same"


def test_a_pod_without_a_controller_has_no_template(serve_pods: Serve) -> None:
    done = run(serve_pods(sized()), names=["web-1"], template="update")
    assert (done.report["templates"], done.outcomes) == ({}, {"web-1": "resized"})


# ---- taking it back --------------------------------------------------------------------------------------------------


def test_pods_get_the_resources_of_their_template_again(web: FakePods) -> None:
    run(web, owner=OWNER, wait=True)
    done = run(web, owner=OWNER, state="absent", containers=None, template="report", wait=True)
    assert done.error is None
    assert done.outcomes == dict.fromkeys(NAMES, "resized")
    assert web.resources("web-1") == web.resources("by-hand")
    assert not done.template["differs"]
    assert run(web, owner=OWNER, state="absent", containers=None).operations == 0


def test_only_some_containers_get_it_back(web: FakePods) -> None:
    run(web, owner=OWNER, wait=True)
    done = run(web, owner=OWNER, state="absent", containers=[{"name": "log"}])
    assert "it has no container log" in str(done.error)
    assert run(web, owner=OWNER, state="absent", containers=[{"name": "app"}]).operations == 10


def test_an_init_container_that_is_done_is_not_waited_for(serve_pods: Serve) -> None:
    init = container("migrate", {"limits": {"cpu": "1"}})
    own = ("StatefulSet", "web", "uid-of-StatefulSet-web")
    pod = sized("web-1", container(resources=BIGGER), owner=own, finished=[init])
    api = serve_pods(pod, controllers=[("StatefulSet", controller("StatefulSet", inits=[init]))])
    done = run(api, names=["web-1"], state="absent", containers=None, wait=True)
    assert (done.error, done.outcomes) == (None, {"web-1": "resized"})


def test_what_a_pod_without_a_controller_had_is_unknown(serve_pods: Serve) -> None:
    done = run(serve_pods(sized()), names=["web-1"], state="absent", containers=None)
    assert "shop/web-1: no controller with a template created it" in str(done.error)
