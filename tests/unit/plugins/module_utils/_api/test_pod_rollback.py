# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that fail, and what they give back, against a real HTTP server whose kubelets work while a caller waits."""

from __future__ import annotations

import shlex
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import HttpError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_pods import FakePods
from ansible_collections.nodecraft.kubeadm.tests.unit.support.pod_runs import (
    NAMES,
    NO_ROOM,
    OWNER,
    PodRun,
    Serve,
    containers,
    fixture_serve_pods,
    fixture_web,
    restarting,
    run,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import SIZE, Json, container, controller, sized

__all__ = ["fixture_serve_pods", "fixture_web"]

EXCEEDED = (
    'pods "web-3" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=3, limited: 3'
)


def run_strictly(api: FakePods, **params: t.Any) -> PodRun:
    """Run with on_error as it is by default."""
    return run(api, **{"on_error": "rollback", "wait": True, "wait_timeout": 5, **params})


def assert_former(api: FakePods, *names: str) -> None:
    assert [api.resources(name) for name in names] == [SIZE] * len(names)


# ---- all or nothing --------------------------------------------------------------------------------------------------


def test_pod_that_is_refused_takes_the_others_back(web: FakePods) -> None:
    web.refusals["web-3"] = HttpError(403, EXCEEDED)
    done = run_strictly(web, owner=OWNER, concurrency=1)
    assert_former(web, *NAMES)
    assert done.outcomes == {
        **dict.fromkeys(["web-1", "web-2"], "rolled_back"),
        "web-3": "refused",
        **dict.fromkeys(["web-4", "web-5"], "not_tried"),
    }
    assert [done.pods[name]["rolled_back"] for name in NAMES] == [True, True, None, None, None]
    assert not any(entry["changed"] for entry in done.pods.values())
    assert not getattr(done.error, "changed", True)
    assert str(done.error).endswith(
        f"{EXCEEDED}. These were resized, too, and have their former amounts again: web-1, web-2."
    )
    assert done.report["diff"] == []
    # What the kubelets have is looked at, and nothing is left to do.
    assert all(web.pod(name)["status"]["containerStatuses"][0]["resources"] == SIZE for name in NAMES)
    assert done.report["unverified"] == []


@pytest.mark.parametrize("reason", ["Deferred", "Infeasible"])
def test_resize_that_a_kubelet_does_not_do_is_undone(web: FakePods, reason: str) -> None:
    web.pending = {"web-2": (reason, NO_ROOM)}
    reconcile = web.reconcile

    def reconcile_and_forget() -> None:
        """A kubelet reports nothing of a resize that is taken back."""
        if web.resources("web-2") == SIZE:
            web.pending.clear()
        reconcile()

    web.reconcile = reconcile_and_forget  # type: ignore[method-assign]
    done = run_strictly(web, owner=OWNER)
    assert_former(web, *NAMES)
    assert done.outcomes == {**dict.fromkeys(NAMES, "rolled_back"), "web-2": reason.lower()}
    assert "It was given its former amounts again." in done.pods["web-2"]["msg"]
    assert done.report["unverified"] == []
    # A second run finds what the first one found, and so changes nothing either.
    web.pending = {"web-2": (reason, NO_ROOM)}
    assert not getattr(run_strictly(web, owner=OWNER).error, "changed", True)


@pytest.mark.parametrize("policy", ["continue", "stop"])
def test_other_policies_undo_only_what_failed(web: FakePods, policy: str) -> None:
    web.pending = {"web-2": ("Deferred", "no room")}
    done = run_strictly(web, owner=OWNER, on_error=policy)
    assert_former(web, "web-2")
    assert done.outcomes == {**dict.fromkeys(NAMES, "resized"), "web-2": "deferred"}
    assert [name for name in NAMES if done.pods[name]["changed"]] == ["web-1", "web-3", "web-4", "web-5"]
    # Its kubelet still reports the former resize.
    assert done.report["unverified"] == ["whether the pod shop/web-2 has its former amounts: Deferred: no room"]


def test_nothing_is_sent_when_one_pod_cannot_be_resized(web: FakePods) -> None:
    done = run_strictly(web, names=["web-1", "missing"])
    assert (web.patched, done.outcomes) == ([], {"web-1": "not_tried", "missing": "gone"})
    assert done.pods["web-1"]["msg"] == "not tried: another pod failed, and on_error is rollback"
    assert str(done.error).endswith("Nothing was changed.")
    # Check mode finds what is wrong with each of them.
    web.refusals["web-1"] = HttpError(422, "no")
    web.refusals["web-2"] = HttpError(422, "neither")
    done = run_strictly(web, names=["web-1", "web-2", "missing"], dry=True)
    assert done.outcomes == {"web-1": "refused", "web-2": "refused", "missing": "gone"}


# ---- what another client did -----------------------------------------------------------------------------------------


def test_amounts_of_another_client_stay(web: FakePods) -> None:
    web.pending = {"web-2": ("Deferred", "no room")}
    reconcile = web.reconcile

    def reconcile_and_resize() -> None:
        reconcile()
        if web.reconciliations == 2:
            web.resources("web-1")["limits"]["cpu"] = "7"
            web.touch("web-1")

    web.reconcile = reconcile_and_resize  # type: ignore[method-assign]
    done = run_strictly(web, owner=OWNER)
    assert web.resources("web-1")["limits"]["cpu"] == "7"
    assert_former(web, *NAMES[1:])
    entry = done.pods["web-1"]
    assert (entry["failed"], entry["changed"], entry["rolled_back"], entry["command"]) == (True, True, False, "")
    assert "Its resize was not taken back: another client changed it since: limits.cpu of app is 7" in entry["msg"]
    assert getattr(done.error, "changed", False)


def test_undo_is_sent_again_after_conflicts(serve_pods: Serve) -> None:
    """Each report of a kubelet makes a new version of a pod."""
    api = serve_pods(sized(), sized("web-2"))
    api.pending = {"web-2": ("Infeasible", NO_ROOM)}
    times = iter([False, False, True, True, True])
    api.before_pod_patch = lambda name: api.touch(name) if next(times, False) else None
    done = run_strictly(api, names=["web-1", "web-2"], concurrency=1)
    assert_former(api, "web-1", "web-2")
    assert [entry["rolled_back"] for entry in done.pods.values()] == [True, True]


@pytest.mark.parametrize("uid", [None, "another"])
def test_pod_that_is_gone_has_nothing_to_undo(serve_pods: Serve, uid: str | None) -> None:
    api = serve_pods(sized(), sized("web-2"))
    api.pending = {"web-2": ("Infeasible", NO_ROOM)}
    lost = iter([False, False, True])

    def lose(name: str) -> None:
        if not next(lost, False):
            return
        if uid:
            api.touch(name)
            api.pod(name)["metadata"]["uid"] = uid
        else:
            api.pods.remove(api.pod(name))

    api.before_pod_patch = lose
    done = run_strictly(api, names=["web-1", "web-2"], concurrency=1)
    (gone,) = [entry for entry in done.pods.values() if entry["outcome"] == "gone"]
    assert (gone["rolled_back"], gone["command"]) == (None, "")
    assert gone["msg"].endswith("It was deleted since then.")


def test_pod_without_a_controller_is_not_promised_a_successor(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.reconcile = api.pods.clear  # type: ignore[method-assign]
    done = run_strictly(api, names=["web-1"])
    assert "shop/web-1: it was deleted since it was read, and no controller creates it again." in str(done.error)


def test_pod_as_desired_after_a_conflict_may_be_of_another_client(serve_pods: Serve) -> None:
    api = serve_pods(sized(), sized("web-2"))

    def resize_already(name: str) -> None:
        if name == "web-1":
            api.touch(name)
            api.resources(name).update(
                {"requests": {"cpu": "1", "memory": "200Mi"}, "limits": {"cpu": "2", "memory": "400Mi"}}
            )

    api.before_pod_patch = resize_already
    api.refusals["web-2"] = HttpError(403, "no")
    done = run_strictly(api, names=["web-1", "web-2"], concurrency=1)
    entry = done.pods["web-1"]
    assert api.resources("web-1")["limits"]["cpu"] == "2"
    assert "whether this task or another client made it" in entry["msg"]
    assert shlex.split(entry["command"])[:4] == ["kubectl", "--namespace", "shop", "patch"]


# ---- admission -------------------------------------------------------------------------------------------------------


def cap(pod: Json) -> None:
    """Admission that gives no container more than 1500m."""
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    limits["cpu"] = "1500m" if limits["cpu"] == "2" else limits["cpu"]


@pytest.mark.parametrize("dry", [True, False])
def test_amounts_that_admission_changes_are_an_error(serve_pods: Serve, dry: bool) -> None:
    api = serve_pods(sized())
    api.admit = cap
    done = run_strictly(api, names=["web-1"], dry=dry)
    assert "shop/web-1: the API server stored something else than it was sent" in str(done.error)
    assert "limits.cpu of app should be 2 and is 1500m" in str(done.error)
    assert_former(api, "web-1")
    assert (done.pods["web-1"]["changed"], done.pods["web-1"]["rolled_back"]) == (False, None if dry else True)


def test_undo_that_admission_changes_is_named_with_its_command(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.pending = {"web-1": ("Infeasible", NO_ROOM)}

    def raise_requests(pod: Json) -> None:
        requests = pod["spec"]["containers"][0]["resources"]["requests"]
        requests["cpu"] = "600m" if requests["cpu"] == "500m" else requests["cpu"]

    api.admit = raise_requests
    done = run_strictly(api, names=["web-1"])
    entry = done.pods["web-1"]
    assert (entry["rolled_back"], entry["changed"]) == (False, True)
    assert (
        "the API server stored other amounts than the former ones: requests.cpu of app should be 500m" in entry["msg"]
    )


# ---- what cannot be taken back ---------------------------------------------------------------------------------------


def test_undo_that_is_refused_is_named_with_its_command(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.pending = {"web-1": ("Deferred", "no room")}
    reconcile = api.reconcile

    def reconcile_and_refuse() -> None:
        reconcile()
        api.refusals["web-1"] = HttpError(403, "no more")

    api.reconcile = reconcile_and_refuse  # type: ignore[method-assign]
    done = run_strictly(api, names=["web-1"])
    entry = done.pods["web-1"]
    assert (entry["outcome"], entry["rolled_back"], entry["changed"]) == ("deferred", False, True)
    assert "403, no more. This gives it its former amounts: kubectl --namespace shop patch pod web-1" in entry["msg"]
    assert entry["command"] in str(done.error)
    assert '"limits": {"cpu": "1"}' in entry["command"]


def test_added_limit_stays_and_is_warned_of(serve_pods: Serve) -> None:
    api = serve_pods(sized("web-1", container(resources={"requests": {"memory": "200Mi"}})))
    api.pending = {"web-1": ("Infeasible", NO_ROOM)}
    done = run_strictly(api, names=["web-1"], containers=containers(limits={"cpu": "9"}))
    assert "These get a limit that they did not have" in done.warnings[0]
    assert api.resources("web-1") == {"requests": {"memory": "200Mi", "cpu": "0"}, "limits": {"cpu": "9"}}
    entry = done.pods["web-1"]
    assert "limits.cpu of app stays 9, for Kubernetes removes no limit from a running pod" in entry["msg"]
    assert (entry["rolled_back"], entry["changed"]) == (False, True)


@pytest.mark.parametrize("is_stored", [True, False])
def test_patch_without_a_response_is_undone_where_it_was_made(serve_pods: Serve, is_stored: bool) -> None:
    api = serve_pods(sized())
    read = "GET /api/v1/namespaces/shop/pods/web-1"
    api.refusals["web-1"] = HttpError(500, "gone")

    def store_and_go(name: str) -> None:
        if is_stored and api.resources(name) == SIZE:
            api.resources(name).update(
                {"requests": {"cpu": "1", "memory": "200Mi"}, "limits": {"cpu": "2", "memory": "400Mi"}}
            )
            api.touch(name)
        if api.requests.count(read) > 1:  # it is read again to be taken back
            api.refusals.clear()

    api.before_pod_patch = store_and_go
    done = run_strictly(api, names=["web-1"])
    entry = done.pods["web-1"]
    assert_former(api, "web-1")
    assert (entry["outcome"], entry["rolled_back"], entry["changed"]) == ("unknown", True, False)
    assert entry["msg"].endswith(
        "It was given its former amounts again." if is_stored else "It has its former amounts."
    )


def test_patch_without_a_response_leaves_its_command(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.refusals["web-1"] = HttpError(500, "gone")
    api.before_pod_patch = lambda name: setattr(api, "balancer_status", 503)
    entry = run_strictly(api, names=["web-1"]).pods["web-1"]
    assert (entry["outcome"], entry["rolled_back"]) == ("unknown", False)
    assert "Its resize, if it was made, was not taken back" in entry["msg"]
    assert '"limits": {"cpu": "1"}' in entry["command"]


def test_api_server_that_is_gone_leaves_the_commands(serve_pods: Serve) -> None:
    api = serve_pods(sized(), sized("web-2"))
    api.reconcile = lambda: setattr(api, "balancer_status", 503)  # type: ignore[method-assign]
    done = run_strictly(api, names=["web-1", "web-2"])
    assert getattr(done.error, "changed", False)
    for name in ("web-1", "web-2"):
        entry = done.pods[name]
        assert (entry["rolled_back"], entry["changed"]) == (False, True)
        assert f"patch pod {name}" in entry["command"]
        assert entry["command"] in str(done.error)


# ---- restarts --------------------------------------------------------------------------------------------------------


def test_undo_restarts_pods_one_after_the_other(serve_pods: Serve) -> None:
    api = serve_pods(*map(restarting, NAMES))
    api.refusals["web-4"] = HttpError(403, EXCEEDED)
    done = run_strictly(api, label_selector="app=web", allow_restart=True)
    assert_former(api, *NAMES)
    assert max(api.down) == 1
    assert [done.pods[name]["rolled_back"] for name in NAMES] == [True, True, True, None, None]
    assert done.outcomes["web-5"] == "not_tried"


def test_resize_that_failed_is_undone_before_the_others(serve_pods: Serve) -> None:
    """Or the room that they give back has its kubelet do it, and restart it twice (seen with 1.37)."""
    api = serve_pods(*map(restarting, NAMES[:2]))
    api.pending = {"web-2": ("Deferred", "no room")}
    run_strictly(api, label_selector="app=web", allow_restart=True)
    assert [path.split("/")[-2] for path in api.patched] == ["web-1", "web-2", "web-2", "web-1"]


def test_container_that_starves_with_its_new_limit_fails(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.usage = {"web-1": {"app": 1}}
    reconcile = api.reconcile

    def reconcile_and_kill() -> None:
        reconcile()
        status = api.pods[0]["status"]["containerStatuses"][0]
        if status["resources"]["limits"]["memory"] == "300Mi":
            status.update(restartCount=1, lastState={"terminated": {"reason": "OOMKilled", "exitCode": 137}})

    api.reconcile = reconcile_and_kill  # type: ignore[method-assign]
    done = run_strictly(api, names=["web-1"], containers=containers(limits={"memory": "300Mi"}))
    assert "container app needed more memory than the new limit and was ended for it (OOMKilled)" in str(done.error)
    assert_former(api, "web-1")


# ---- templates and earlier resizes -----------------------------------------------------------------------------------


def test_template_stays_when_pods_failed(web: FakePods) -> None:
    web.pending = {"web-2": ("Infeasible", NO_ROOM)}
    done = run_strictly(web, owner=OWNER, template="update")
    assert web.controllers["Deployment", "web"] == controller()
    assert done.template["msg"] == "the template was not changed: pods failed, and on_error is rollback"


def test_template_that_is_refused_takes_its_pods_back(web: FakePods) -> None:
    web.refusals["web"] = HttpError(403, "no")
    done = run_strictly(web, owner=OWNER, template="update")
    assert done.outcomes == dict.fromkeys(NAMES, "rolled_back")
    assert_former(web, *NAMES)
    # With another policy they keep what was requested.
    done = run_strictly(web, owner=OWNER, template="update", on_error="continue")
    assert done.outcomes == dict.fromkeys(NAMES, "resized")


def test_earlier_resize_that_is_not_done_has_a_command(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    run(api, names=["web-1"])
    api.pending = {"web-1": ("Deferred", "no room")}
    api.reconcile()
    done = run_strictly(api, names=["web-1"])
    entry = done.pods["web-1"]
    assert (entry["outcome"], entry["rolled_back"]) == ("deferred", None)
    assert "This task did not change it. This gives it what its containers have: kubectl" in entry["msg"]
    assert '"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}' in entry["command"]
    # Without waiting it is no failure, and the command is there all the same.
    assert run(api, names=["web-1"]).pods["web-1"]["command"] == entry["command"]
