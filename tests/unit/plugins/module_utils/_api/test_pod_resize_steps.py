# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resizes of many pods, against a real HTTP server whose kubelets work while a caller waits."""

from __future__ import annotations

import time

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import pods
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import NODE_LEASES, HttpError, node_lease
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_pods import FakePods
from ansible_collections.nodecraft.kubeadm.tests.unit.support.pod_runs import (
    BIGGER,
    NAMES,
    NO_ROOM,
    OWNER,
    Serve,
    containers,
    fixture_serve_pods,
    fixture_web,
    restarting,
    run,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import Json, controller, sized

__all__ = ["fixture_serve_pods", "fixture_web"]


# ---- one pod, many pods ----------------------------------------------------------------------------------------------


def test_one_pod_is_resized_by_the_subresource(serve_pods: Serve) -> None:
    api = serve_pods(sized(), sized("web-2"))
    done = run(api, names=["web-1"], wait=True)
    assert done.error is None
    assert api.patched == ["/api/v1/namespaces/shop/pods/web-1/resize"]
    patch = next(headers for headers, path in zip(api.headers, api.requests) if path.startswith("PATCH"))
    assert patch["Content-Type"] == "application/strategic-merge-patch+json"
    assert api.resources("web-1") == {
        "requests": {"cpu": "1", "memory": "200Mi"},
        "limits": {"cpu": "2", "memory": "400Mi"},
    }
    assert done.pods["web-1"] == {
        "changed": True,
        "failed": False,
        "outcome": "resized",
        "msg": "",
        "node": "w1",
        "restarted": [],
        "rolled_back": None,
        "command": "",
        "operations": [
            {"field": "requests.cpu", "key": "app", "before": "500m", "after": "1"},
            {"field": "limits.cpu", "key": "app", "before": "1", "after": "2"},
        ],
    }
    (diff_entry,) = done.report["diff"]
    assert diff_entry["before_header"] == "Pod shop/web-1"
    assert diff_entry["before"]["app"]["limits"] == {"cpu": "1", "memory": "400Mi"}
    assert diff_entry["after"]["app"]["limits"] == {"cpu": "2", "memory": "400Mi"}


def test_the_second_run_changes_nothing(web: FakePods) -> None:
    run(web, owner=OWNER, wait=True)
    web.requests.clear()
    done = run(web, owner=OWNER, wait=True, containers=containers(requests={"cpu": "1000m"}, limits={"cpu": 2}))
    assert (done.operations, done.error, web.patched) == (0, None, [])
    assert set(done.outcomes.values()) == {"unchanged"}
    assert not any(entry["changed"] for entry in done.pods.values())
    assert done.report["diff"] == []


def test_all_pods_of_a_deployment_and_no_others(web: FakePods) -> None:
    done = run(web, owner=OWNER, wait=True)
    assert done.error is None
    assert done.outcomes == dict.fromkeys(NAMES, "resized")
    assert len(web.patched) == 5


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_all_pods_of_other_controllers(serve_pods: Serve, kind: str) -> None:
    own = (kind, "web", f"uid-of-{kind}-web")
    api = serve_pods(sized(owner=own), sized("web-2"), controllers=[(kind, controller(kind))])
    assert run(api, owner={"kind": kind, "name": "web"}, wait=True).outcomes == {"web-1": "resized"}


def test_pods_by_their_labels(web: FakePods) -> None:
    done = run(web, label_selector="app=web", wait=True)
    assert sorted(done.outcomes) == sorted([*NAMES, "by-hand", "web-of-another"])


def test_many_pods_are_watched_by_one_list(serve_pods: Serve) -> None:
    names = [f"p{number:03}" for number in range(40)]
    api = serve_pods(*map(sized, names))
    done = run(api, names=names, wait=True)
    assert set(done.outcomes.values()) == {"resized"}
    reads = [path for path in api.paths("GET") if path not in ("/api/v1", "/version")]
    shop = "/api/v1/namespaces/shop"
    assert [path.partition("?")[0] for path in reads] == [f"{shop}/pods", f"{shop}/resourcequotas", f"{shop}/pods"]


def test_the_last_one_is_watched_alone(serve_pods: Serve) -> None:
    api = serve_pods(*map(sized, NAMES))
    api.pending = {"web-3": ("Deferred", "no room")}
    run(api, label_selector="app=web", wait=True, wait_timeout=2)
    assert "fieldSelector=metadata.name%3Dweb-3" in api.paths("GET")[-1]


def test_without_waiting(web: FakePods) -> None:
    done = run(web, owner=OWNER)
    assert set(done.outcomes.values()) == {"accepted"}
    assert done.clock.pauses == []


def test_a_pod_without_a_node_is_not_waited_for(serve_pods: Serve) -> None:
    pod = sized(phase="Pending")
    del pod["spec"]["nodeName"]
    done = run(serve_pods(pod), names=["web-1"], wait=True)
    assert (done.outcomes, done.clock.pauses) == ({"web-1": "accepted"}, [])
    assert "starts with the desired resources" in done.pods["web-1"]["msg"]
    limit = "whether the pod shop/web-1 gets its resources: it has no node yet"
    assert (done.report["unverified"], done.warnings[-1]) == ([limit], f"not verified: {limit}")


# ---- up to Kubernetes 1.31 -------------------------------------------------------------------------------------------


def test_an_api_server_without_the_subresource(serve_pods: Serve) -> None:
    api = serve_pods(*map(sized, NAMES), subresource=False)
    api.pending = {"web-3": ("Infeasible", "")}
    done = run(api, label_selector="app=web", wait=True)
    assert sorted(api.patched[:5]) == [f"/api/v1/namespaces/shop/pods/{name}" for name in NAMES]
    assert done.outcomes == {**dict.fromkeys(NAMES, "resized"), "web-3": "infeasible"}
    assert "the kubelet of w1 says: Infeasible, without a reason in this version of Kubernetes" in str(done.error)


def test_an_api_server_that_does_not_resize(serve_pods: Serve) -> None:
    api = serve_pods(sized(), subresource=False)
    api.gate = False
    done = run(api, names=["web-1"])
    assert done.outcomes == {"web-1": "refused"}
    assert "pod updates may not change fields" in str(done.error)
    assert "the playbook nodecraft.kubeadm.feature_gates switches it on." in str(done.error)


# ---- what kubelets report --------------------------------------------------------------------------------------------


def test_one_that_is_too_large_and_others(web: FakePods) -> None:
    web.pending = {"web-2": ("Infeasible", NO_ROOM)}
    done = run(web, owner=OWNER, wait=True)
    assert done.outcomes == {**dict.fromkeys(NAMES, "resized"), "web-2": "infeasible"}
    assert str(done.error) == (
        f"1 of 5 pods failed. shop/web-2: the kubelet of w1 says: Infeasible: {NO_ROOM}. The pod keeps running with its former resources."
        " It was given its former amounts again."
    )
    assert done.error is not None
    assert done.error.changed


def test_one_that_is_put_off(web: FakePods) -> None:
    web.pending = {"web-2": ("Deferred", "Node didn't have enough resource: cpu")}
    done = run(web, owner=OWNER, wait=True, wait_timeout=10)
    assert done.outcomes["web-2"] == "deferred"
    assert "shop/web-2: not done within 10 s: Deferred: Node didn't have enough resource: cpu." in str(done.error)
    assert web.resources("web-2")["limits"]["cpu"] == "1"


def test_deferred_resize_is_reported_without_waiting(web: FakePods) -> None:
    run(web, owner=OWNER)
    web.pending = {"web-2": ("Deferred", "no room"), "web-3": ("Infeasible", NO_ROOM)}
    web.reconcile()
    for dry in (True, False):
        done = run(web, owner=OWNER, dry=dry)
        assert (done.outcomes["web-1"], done.outcomes["web-2"]) == ("unchanged", "deferred")
        assert (done.pods["web-2"]["failed"], done.pods["web-2"]["msg"]) == (False, "Deferred: no room")
        assert done.report["unverified"] == ["whether the pod shop/web-2 gets its resources: Deferred: no room"]
        # What will never be is a failure, however often it is requested.
        assert (done.outcomes["web-3"], NO_ROOM in str(done.error)) == ("infeasible", True)


@pytest.mark.parametrize("dry", [True, False])
def test_resize_that_has_not_started_is_reported_without_waiting(serve_pods: Serve, dry: bool) -> None:
    # Kubernetes 1.33 does not report it: no field, no generation, no condition while its kubelet is down.
    pod = sized()
    pod["metadata"]["generation"] = 2
    del pod["status"]["observedGeneration"]
    pod["spec"]["containers"][0]["resources"] = {**pod["spec"]["containers"][0]["resources"], **BIGGER}
    done = run(serve_pods(pod), names=["web-1"], dry=dry)
    assert done.outcomes == {"web-1": "in_progress"}
    lacks = "requests.cpu of app should be 1 and is 500m; limits.cpu of app should be 2 and is 1"
    assert done.report["unverified"] == [f"whether the pod shop/web-1 gets its resources: {lacks}"]


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize(("reason", "reported"), [("", True), ("ContainersNotReady", False)])
def test_pod_on_an_unready_node_is_unverified(serve_pods: Serve, wait: bool, reason: str, reported: bool) -> None:
    # Seen with 1.37: its containers count as ready until the kubelet comes back, though they are gone.
    api = serve_pods(sized())
    run(api, names=["web-1"], wait=True)
    conditions = api.pods[0]["status"].setdefault("conditions", [])
    conditions[:] = [{"type": "Ready", "status": "False", **({"reason": reason} if reason else {})}]
    done = run(api, names=["web-1"], wait=wait)
    limit = "whether the pod shop/web-1 has its resources: its node w1 is not Ready, so no kubelet reports it"
    assert (done.outcomes, done.report["unverified"]) == ({"web-1": "unchanged"}, [limit] if reported else [])


STOPPED = "its kubelet has stopped or does not reach the API server: it has not renewed the Lease of its node for 1"


@pytest.mark.parametrize(("dry", "wait"), [(True, True), (False, True), (False, False)])
def test_pod_of_a_stopped_kubelet_is_not_verified(serve_pods: Serve, *, dry: bool, wait: bool) -> None:
    """Its Node is still Ready."""
    api = serve_pods(sized(), sized("web-2", node="w2"))
    run(api, names=["web-1", "web-2"], wait=True)
    now = time.time()
    api.responses[NODE_LEASES] = [node_lease("w1", now - 30), node_lease("w2", now)]
    done = run(api, names=["web-1", "web-2"], dry=dry, wait=wait)
    (limit,) = done.report["unverified"]
    assert limit.startswith(f"whether the pod shop/web-1 has its resources: {STOPPED}")
    assert done.outcomes == {"web-1": "unchanged", "web-2": "unchanged"}


def test_leases_matter_only_where_no_kubelet_reported_meanwhile(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.responses[NODE_LEASES] = HttpError(403, "leases is forbidden")
    assert run(api, names=["web-1"], wait=True).report["unverified"] == []
    (limit,) = run(api, names=["web-1"], wait=True).report["unverified"]
    assert limit.startswith("whether the kubelet still runs on w1: ")
    assert "leases is forbidden" in limit
    assert run(api, names=["web-1"], dry=True, containers=containers(requests={"cpu": 2})).report["unverified"] == []


def test_one_that_finds_room_later(web: FakePods) -> None:
    web.pending = {"web-2": ("Deferred", "no room")}
    reconcile = web.reconcile

    def reconcile_and_free() -> None:
        if web.reconciliations == 6:
            web.pending.clear()
        reconcile()

    web.reconcile = reconcile_and_free  # type: ignore[method-assign]
    done = run(web, owner=OWNER, wait=True)
    assert (done.error, done.outcomes["web-2"]) == (None, "resized")


def test_more_than_a_node_has_is_refused_by_admission_from_1_36_on(web: FakePods) -> None:
    message = "node didn't have enough allocatable resources: cpu, requested: 9000, allocatable: 2000"
    web.refusals["web-2"] = HttpError(403, f'pods "web-2" is forbidden: {message}')
    done = run(web, owner=OWNER, wait=True)
    assert done.outcomes == {**dict.fromkeys(NAMES, "resized"), "web-2": "infeasible"}
    assert str(done.error).endswith(message)
    assert not done.pods["web-2"]["changed"]


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
        "limits: Forbidden: memory limits cannot be decreased unless resizePolicy is RestartContainer",
        "requests: Invalid value: must be less than or equal to cpu limit of 1",
    ],
)
def test_refusal_of_a_resize_has_the_message_of_kubernetes(web: FakePods, message: str) -> None:
    web.refusals["web-2"] = HttpError(422, f'Pod "web-2" is invalid: {message}')
    for dry in (True, False):
        done = run(web, owner=OWNER, dry=dry)
        assert done.outcomes == {**dict.fromkeys(NAMES, "accepted"), "web-2": "refused"}
        assert f'422, Pod "web-2" is invalid: {message}' in str(done.error)


def test_a_right_that_lacks_is_named_with_verb_and_subresource(web: FakePods) -> None:
    message = 'User "u" cannot patch resource "pods/resize" in API group "" in the namespace "shop"'
    web.refusals = {name: HttpError(403, f'pods "{name}" is forbidden: {message}') for name in NAMES}
    done = run(web, owner=OWNER)
    assert set(done.outcomes.values()) == {"refused"}
    assert f"{message}. Grant the account this right, or use another account for the task." in str(done.error)


def test_an_unknown_container(web: FakePods) -> None:
    done = run(web, owner=OWNER, containers=containers("nginx", limits={"cpu": 2}))
    assert "5 of 5 pods failed. shop/web-1: it has no container nginx; its containers are app." in str(done.error)
    assert web.patched == []


def test_a_static_pod(serve_pods: Serve) -> None:
    done = run(serve_pods(sized("etcd-cp1", static=True)), names=["etcd-cp1"])
    assert "shop/etcd-cp1: Kubernetes says: static pods cannot be resized" in str(done.error)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"names": ["Web"]}, "invalid names 'Web': must be the name of a pod"),
        ({"names": []}, "invalid names []: must be the names of pods"),
        ({"namespace": "a/b", "names": ["p"]}, "invalid namespace 'a/b': must be the name of a namespace"),
        ({"label_selector": " "}, "invalid label_selector ''"),
        (
            {"owner": {"kind": "Deployment", "name": "web/scale"}},
            "invalid owner 'web/scale': must be the name of a Deployment",
        ),
        ({"names": ["p"], "containers": []}, "invalid containers []: must name the containers and what they get"),
        ({"names": ["p"], "containers": [], "state": "absent"}, "name the containers, or omit it to select all"),
        ({"names": ["p"], "max_unavailable": "0"}, "invalid max_unavailable '0'"),
        (
            {"names": ["p"], "containers": containers(limits={"example.com/gpu": "1"})},
            "only cpu and memory resources",
        ),
    ],
)
def test_invalid_options_send_no_request(web: FakePods, params: Json, message: str) -> None:
    done = run(web, **params)
    assert message in str(done.error)
    assert web.requests == []
    assert done.report == {"pods": {}, "templates": {}, "unverified": [], "diff": []}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"label_selector": "app=none"}, "label_selector 'app=none' has no running pod in the namespace shop of http"),
        (
            {"owner": {"kind": "DaemonSet", "name": "web"}},
            "owner: there is no DaemonSet web in the namespace shop of http",
        ),
        (
            {"owner": OWNER, "namespace": "empty"},
            "owner: Deployment web has no running pod in the namespace empty of http",
        ),
    ],
)
def test_a_selection_of_nothing(web: FakePods, params: Json, message: str) -> None:
    assert message in str(run(web, **params).error)
    assert web.patched == []


def test_a_name_that_does_not_exist_does_not_keep_others(serve_pods: Serve) -> None:
    done = run(serve_pods(sized()), names=["web-1", "missing"], wait=True)
    assert done.outcomes == {"web-1": "resized", "missing": "gone"}
    assert "shop/missing: there is no such pod in the cluster of http" in str(done.error)


# ---- check mode ------------------------------------------------------------------------------------------------------


def test_check_mode_sends_dry_runs_and_changes_nothing(web: FakePods) -> None:
    done = run(web, owner=OWNER, dry=True, wait=True, template="update")
    assert done.error is None
    assert all("dryRun=All" in path for path in web.paths("PATCH"))
    assert len(web.patched) == 6
    assert web.resources("web-1")["limits"]["cpu"] == "1"
    assert web.controllers["Deployment", "web"] == controller()
    assert set(done.outcomes.values()) == {"accepted"}
    assert (len(done.report["diff"]), done.clock.pauses) == (6, [])


# ---- restarts --------------------------------------------------------------------------------------------------------


def test_a_restart_is_refused_unless_allowed(serve_pods: Serve) -> None:
    api = serve_pods(restarting("web-1"), sized("web-2"))
    done = run(api, label_selector="app=web", wait=True)
    assert done.outcomes == {"web-1": "refused", "web-2": "resized"}
    assert "shop/web-1: this would restart its container app (for cpu)" in str(done.error)


@pytest.mark.parametrize(("limit", "most"), [("1", 1), ("2", 2), ("40%", 2)])
def test_restarts_are_paced(serve_pods: Serve, limit: str, most: int) -> None:
    api = serve_pods(*map(restarting, NAMES))
    done = run(api, label_selector="app=web", allow_restart=True, max_unavailable=limit)
    assert done.error is None
    assert done.outcomes == dict.fromkeys(NAMES, "restarted")
    assert done.pods["web-1"]["restarted"] == ["app"]
    assert max(api.down) == most
    assert "resizePolicy restarts containers of these pods for it: web-1 (app)" in done.warnings[0]


def test_pods_without_a_restart_do_not_wait_for_the_others(serve_pods: Serve) -> None:
    api = serve_pods(restarting("web-1"), restarting("web-2"), sized("web-3"))
    done = run(api, label_selector="app=web", allow_restart=True)
    assert api.patched[0].endswith("/web-3/resize")
    assert done.outcomes == {"web-1": "restarted", "web-2": "restarted", "web-3": "accepted"}


def test_a_pod_that_does_not_come_back_keeps_the_others_from_going(serve_pods: Serve) -> None:
    api = serve_pods(*map(restarting, NAMES))
    reconcile = api.reconcile

    def reconcile_and_fail() -> None:
        reconcile()
        conditions = api.pod("web-2")["status"]["conditions"]
        if api.pod("web-2")["status"]["containerStatuses"][0]["restartCount"]:
            conditions[:] = [{"type": "Ready", "status": "False"}]

    api.reconcile = reconcile_and_fail  # type: ignore[method-assign]
    done = run(api, label_selector="app=web", allow_restart=True, wait_timeout=5)
    assert done.outcomes == {
        "web-1": "restarted",
        "web-2": "restarted",
        **dict.fromkeys(["web-3", "web-4", "web-5"], "not_tried"),
    }
    assert "shop/web-2: not done within 5 s: it is not Ready." in str(done.error)
    assert "would put more than max_unavailable (1) out of service, because these are not Ready: web-2." in str(
        done.error
    )
    # Its own resize is taken back.
    assert [path.split("/")[-2] for path in api.patched] == ["web-1", "web-2", "web-2"]


def test_pods_that_fall_again_after_their_restart_stop_the_others(serve_pods: Serve) -> None:
    api = serve_pods(*map(restarting, NAMES))
    reconcile = api.reconcile
    were_ready: set[str] = set()
    down: list[int] = []

    def reconcile_and_fall() -> None:
        reconcile()
        for pod in api.pods:
            name, status = pod["metadata"]["name"], pod["status"]
            if name in were_ready:
                status["conditions"] = [{"type": "Ready", "status": "False"}]
            elif status["containerStatuses"][0]["restartCount"] and pods.is_ready(pod):
                were_ready.add(name)
        down.append(sum(not pods.is_ready(pod) for pod in api.pods))

    api.reconcile = reconcile_and_fall  # type: ignore[method-assign]
    done = run(api, label_selector="app=web", allow_restart=True)
    assert max(down) == 1
    assert done.outcomes == {"web-1": "restarted", **dict.fromkeys(NAMES[1:], "not_tried")}
    assert "more than max_unavailable (1) out of service, because these are not Ready: web-1." in str(done.error)


def test_a_pod_that_is_gone_counts_as_one_that_is_down(serve_pods: Serve) -> None:
    api = serve_pods(*map(restarting, NAMES))
    reconcile = api.reconcile

    def reconcile_and_lose() -> None:
        reconcile()
        api.pods[:] = [pod for pod in api.pods if pod["metadata"]["name"] not in ("web-1", "web-5")]

    api.reconcile = reconcile_and_lose  # type: ignore[method-assign]
    done = run(api, label_selector="app=web", allow_restart=True)
    gone = dict.fromkeys(["web-1", "web-5"], "gone")
    assert done.outcomes == {**dict.fromkeys(NAMES, "not_tried"), **gone}
    assert "because these are not Ready: web-1, web-5." in str(done.error)


def test_unexpected_restart_is_reported(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    reconcile = api.reconcile

    def reconcile_and_kill() -> None:
        reconcile()
        api.pods[0]["status"]["containerStatuses"][0]["restartCount"] = 1

    api.reconcile = reconcile_and_kill  # type: ignore[method-assign]
    done = run(api, names=["web-1"], wait=True)
    assert done.outcomes == {"web-1": "restarted"}
    assert "although resizePolicy does not require it: app" in done.pods["web-1"]["msg"]


# ---- the result ------------------------------------------------------------------------------------------------------


def test_a_version_that_is_not_tested(web: FakePods) -> None:
    web.version = "v2.0.0"
    (warning,) = run(web, owner=OWNER, wait=True).warnings
    assert "API server v2.0.0 (newer than tested)" in warning


def test_what_is_documented_is_returned(web: FakePods) -> None:
    done = run(web, owner=OWNER, template="report")
    assert done.pods["web-1"]["operations"]
    assert done.template["differences"]
    assert schema_errors("pod_resize", done.report, added_later={"api", "rehearsal"}) == []
