# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resizes of pods that others change, replace or remove at the same time."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import HttpError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_pods import FakePods
from ansible_collections.nodecraft.kubeadm.tests.unit.support.pod_runs import (
    NAMES,
    OWNER,
    Serve,
    fixture_serve_pods,
    fixture_web,
    run,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import Json, sized

__all__ = ["fixture_serve_pods", "fixture_web"]


def test_a_pod_that_is_gone_when_it_is_patched(web: FakePods) -> None:
    web.before_pod_patch = lambda name: web.pods.remove(web.pod(name)) if name == "web-2" else None
    web.refusals["web-2"] = HttpError(404, 'pods "web-2" not found')
    done = run(web, owner=OWNER, wait=True)
    assert done.outcomes == {**dict.fromkeys(NAMES, "resized"), "web-2": "gone"}
    assert "shop/web-2: it was deleted since it was read." in str(done.error)


@pytest.mark.parametrize("uid", [None, "another"])
def test_a_pod_that_is_gone_while_it_is_waited_for(web: FakePods, uid: str | None) -> None:
    reconcile = web.reconcile

    def reconcile_and_lose() -> None:
        found = [pod for pod in web.pods if pod["metadata"]["name"] == "web-2"]
        for pod in found:
            if uid:
                pod["metadata"]["uid"] = uid
            else:
                web.pods.remove(pod)
        reconcile()

    web.reconcile = reconcile_and_lose  # type: ignore[method-assign]
    done = run(web, owner=OWNER, wait=True)
    assert done.outcomes["web-2"] == "gone"
    assert done.pods["web-2"]["changed"]


def test_failure_while_waiting_takes_all_back(web: FakePods) -> None:
    def refuse(*_args: t.Any) -> list[Json]:
        raise HttpError(403, 'User "u" cannot list resource "pods"')

    web.reconcile = lambda: setattr(web, "_filter_by_field", refuse)  # type: ignore[method-assign]
    done = run(web, owner=OWNER, wait=True)
    assert 'cannot list resource "pods"' in str(done.error)
    assert not getattr(done.error, "changed", False)
    assert [web.resources(name)["limits"]["cpu"] for name in NAMES] == ["1"] * 5
    # That the kubelets have done it could not be looked at.
    assert len([text for text in done.report["unverified"] if "has its former amounts: " in text]) == 5
    # Before the first patch nothing was.
    done = run(web, owner=OWNER)
    assert not getattr(done.error, "changed", False)


def test_a_pod_that_ends_while_it_is_waited_for(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.reconcile = lambda: api.pods[0]["status"].update(phase="Failed")  # type: ignore[method-assign]
    done = run(api, names=["web-1"], wait=True)
    assert "shop/web-1: it has ended (Failed)." in str(done.error)


def test_a_pod_that_another_client_resizes_meanwhile_is_not_waited_for(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    limits = {"cpu": "7"}
    api.reconcile = lambda: api.pods[0]["spec"]["containers"][0]["resources"].update(limits=limits)  # type: ignore[method-assign]
    done = run(api, names=["web-1"], wait=True)
    assert "shop/web-1: another client changed it in the meantime: limits.cpu of app is 7" in str(done.error)
    assert done.clock.now < 10


def test_zero_request_restored_by_another_client_is_an_error(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    requests = {"memory": "32Mi"}
    api.reconcile = lambda: api.pods[0]["spec"]["containers"][0]["resources"].update(requests=requests)  # type: ignore[method-assign]
    desired = [{"name": "app", "resources": {"requests": {"memory": "0"}, "limits": {"cpu": "2"}}}]
    done = run(api, names=["web-1"], wait=True, containers=desired)
    assert "another client changed it in the meantime: requests.memory of app is 32Mi" in str(done.error)


def test_another_writer_was_quicker(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    times = iter([True, True])
    api.before_pod_patch = lambda name: api.touch(name) if next(times, False) else None
    done = run(api, names=["web-1"])
    assert (done.error, len(api.patched), done.outcomes) == (None, 3, {"web-1": "accepted"})


def test_another_writer_never_ends(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.before_pod_patch = api.touch
    assert "another client changed the pod in each of 20 attempts" in str(run(api, names=["web-1"]).error)


def test_a_new_pod_got_the_name(serve_pods: Serve) -> None:
    api = serve_pods(sized())

    def replace(name: str) -> None:
        api.touch(name)
        api.pod(name)["metadata"]["uid"] = "another"

    api.before_pod_patch = replace
    assert run(api, names=["web-1"]).outcomes == {"web-1": "gone"}


def test_patch_whose_response_was_lost_counts(serve_pods: Serve) -> None:
    api = serve_pods(sized())

    def do_it_already(name: str) -> None:
        api.touch(name)
        api.resources(name).update(
            {"requests": {"cpu": "1", "memory": "200Mi"}, "limits": {"cpu": "2", "memory": "400Mi"}}
        )

    api.before_pod_patch = do_it_already
    done = run(api, names=["web-1"], wait=True)
    assert (done.error, done.outcomes) == (None, {"web-1": "resized"})
    assert done.pods["web-1"]["changed"]


def test_patch_without_a_response_is_no_refusal(serve_pods: Serve) -> None:
    api = serve_pods(sized())

    def patch_and_go(name: str) -> None:
        api.refusals[name] = HttpError(503, "gone")
        api.balancer_status = 503

    api.before_pod_patch = patch_and_go
    done = run(api, names=["web-1"])
    assert "did not answer for" in str(done.error)
    assert done.outcomes == {"web-1": "unknown"}
    assert done.report["unverified"] == ["whether the pod shop/web-1 was changed: the API server stopped answering"]


def test_a_failure_can_stop_the_others(web: FakePods) -> None:
    web.refusals["web-1"] = HttpError(422, "no")
    done = run(web, owner=OWNER, on_error="stop", concurrency=1)
    assert done.outcomes == {**dict.fromkeys(NAMES, "not_tried"), "web-1": "refused"}
    assert len(web.patched) == 1
    done = run(web, names=["missing", "web-2"], on_error="stop")
    assert done.outcomes == {"missing": "gone", "web-2": "not_tried"}
    # A pod that has its resources already needs no attempt.
    run(web, names=["web-2"], wait=True)
    done = run(web, names=["missing", "web-2", "web-3"], on_error="stop")
    assert done.outcomes == {"missing": "gone", "web-2": "unchanged", "web-3": "not_tried"}
