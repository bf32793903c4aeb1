# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is looked at before pods are resized, and what is said of what could not be looked at."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import HttpError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_pods import FakePods
from ansible_collections.nodecraft.kubeadm.tests.unit.support.pod_runs import (
    NAMES,
    OWNER,
    Serve,
    containers,
    fixture_serve_pods,
    fixture_web,
    restarting,
    run,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import Json, sized

__all__ = ["fixture_serve_pods", "fixture_web"]

QUOTA: Json = {
    "metadata": {"name": "q"},
    "status": {"hard": {"requests.cpu": "3"}, "used": {"requests.cpu": "2500m"}},
}
FORBIDDEN = HttpError(403, 'User "u" cannot get resource')
MEBI = 2**20
LOWER = containers(limits={"memory": "300Mi"})


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("wait", [True, False])
def test_quota_that_all_pods_exceed_is_found_before_a_patch(web: FakePods, *, dry: bool, wait: bool) -> None:
    web.quotas = [QUOTA]
    done = run(web, owner=OWNER, on_error="rollback", dry=dry, wait=wait)
    assert "the ResourceQuota q has no room for it: requests.cpu would be 3500m of 3" in str(done.error)
    assert [path for path in web.paths("PATCH") if "dryRun" not in path] == []
    assert done.outcomes == {
        "web-1": "accepted" if dry else "not_tried",
        **dict.fromkeys(NAMES[1:], "refused"),
    }


def test_quota_of_one_pod_is_left_to_the_api_server(serve_pods: Serve) -> None:
    """It applies quotas to dry runs, too (seen with 1.37)."""
    api = serve_pods(sized())
    run(api, names=["web-1"], dry=True)
    assert not [path for path in api.paths("GET") if "resourcequotas" in path]


@pytest.mark.parametrize(
    ("dry", "wait", "is_compared"), [(True, True, True), (False, False, True), (False, True, False)]
)
def test_node_is_compared_where_kubelets_are_not_waited_for(
    serve_pods: Serve, *, dry: bool, wait: bool, is_compared: bool
) -> None:
    api = serve_pods(sized())
    api.objects["w1"]["status"]["allocatable"]["cpu"] = "900m"
    done = run(api, names=["web-1"], dry=dry, wait=wait)
    assert bool(done.error) is is_compared
    if is_compared:
        assert "shop/web-1: its node w1 has no room for it: it would request 1 of cpu" in str(done.error)
        assert done.outcomes == {"web-1": "infeasible"}
        assert [path for path in api.paths("PATCH") if "dryRun" not in path] == []


def test_pods_that_get_less_cost_no_further_request(serve_pods: Serve) -> None:
    api = serve_pods(*map(sized, NAMES))
    run(api, names=NAMES, containers=containers(requests={"cpu": "100m"}), dry=True)
    read = {path.partition("?")[0] for path in api.paths("GET")}
    assert read == {"/api/v1", "/version", *(f"/api/v1/namespaces/shop/pods/{name}" for name in NAMES)}


def test_nothing_to_change_costs_no_further_request(serve_pods: Serve) -> None:
    api = serve_pods(*map(sized, NAMES))
    same = containers(requests={"cpu": "500m"}, limits={"memory": "400Mi"})
    run(api, names=NAMES, containers=same, wait=True)
    read = [path.partition("?")[0] for path in api.paths("GET")]
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    pods = [f"/api/v1/namespaces/shop/pods/{name}" for name in NAMES]
    assert sorted(read) == sorted(["/api/v1", "/version", leases, *pods])


# ---- memory in use ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dry", [True, False])
def test_limit_below_what_is_used_is_refused(serve_pods: Serve, dry: bool) -> None:
    api = serve_pods(sized(), sized("web-2"))
    api.usage = {"web-1": {"app": 350 * MEBI}, "web-2": {"app": 250 * MEBI}}
    done = run(api, names=["web-1", "web-2"], containers=LOWER, dry=dry, wait=True)
    assert done.outcomes == {"web-1": "refused", "web-2": "accepted" if dry else "resized"}
    assert "container app uses 350Mi of memory (as its kubelet reports), and its limit would be 300Mi" in str(
        done.error
    )
    assert done.report["unverified"] == []


def test_metrics_are_used_where_the_kubelet_may_not_be(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.usage = {"web-1": {"app": 350 * MEBI}}
    api.summary_error, api.metrics_error = FORBIDDEN, None
    done = run(api, names=["web-1"], containers=LOWER, dry=True)
    assert "uses 350Mi of memory (as the metrics API reports)" in str(done.error)


def test_unreported_usage_is_named_and_no_verdict(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.usage = {"web-1": {"app": 350 * MEBI}}
    api.summary_error = FORBIDDEN
    done = run(api, names=["web-1"], containers=LOWER, dry=True)
    (unknown,) = done.report["unverified"]
    assert (done.error, done.outcomes) == (None, {"web-1": "accepted"})
    assert unknown.startswith("whether the new limits are above the memory in use of shop/web-1: http")
    assert 'User "u" cannot get resource' in unknown
    assert "the server could not find the requested resource" in unknown
    assert f"not verified: {unknown}" in done.warnings


def test_container_without_a_report_is_named(serve_pods: Serve) -> None:
    api = serve_pods(sized())
    api.usage = {"web-1": {}}
    done = run(api, names=["web-1"], containers=LOWER, dry=True)
    assert done.report["unverified"] == [
        "whether the new limits are above the memory in use of shop/web-1: nothing is reported of app yet"
    ]


def test_memory_of_a_container_that_restarts_is_not_compared(serve_pods: Serve) -> None:
    api = serve_pods(restarting("web-1"))
    api.usage = {"web-1": {"app": 350 * MEBI}}
    desired = containers(requests={"cpu": "400m"}, limits={"memory": "300Mi"})
    done = run(api, names=["web-1"], containers=desired, dry=True, allow_restart=True)
    assert done.error is None


# ---- what the account may not read -----------------------------------------------------------------------------------


def test_what_may_not_be_read_is_named_in_check_mode(web: FakePods) -> None:
    web.quotas_error = FORBIDDEN
    web.responses["/api/v1/nodes/w1"] = FORBIDDEN
    done = run(web, owner=OWNER, dry=True)
    quotas, node = done.report["unverified"]
    assert quotas.startswith("whether the quotas of the namespace have room for all pods together: http")
    assert node.startswith("whether these nodes have room for it: w1: http")
    assert (done.error, set(done.outcomes.values())) == (None, {"accepted"})


def test_what_the_kubelets_did_needs_no_other_look(web: FakePods) -> None:
    web.quotas_error = FORBIDDEN
    done = run(web, owner=OWNER, wait=True)
    assert (done.error, done.report["unverified"]) == (None, [])
    # Without waiting nothing else tells.
    done = run(web, owner=OWNER, containers=containers(requests={"cpu": "1200m"}))
    assert len(done.report["unverified"]) == 1
