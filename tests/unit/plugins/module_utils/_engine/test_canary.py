# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A canary is made, used and deleted, and what of that does not work is named."""

from __future__ import annotations

import json
import os
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import canary
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.canary import NAME, NODE_TAINTS, Canary
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.engine_errors import EngineError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import Side
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import ApiResponse
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import canary_objects as planned_canary
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import planned_observations
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import Clock

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
CREATED, POD, PLACE, STARTED, LOG, TOKEN, SLICE, END = (
    "the creation of a Deployment and a Service",
    "a pod for the Deployment",
    "the pod's place on a node",
    "the start of the pod",
    "the pod's log",
    "a token of its ServiceAccount",
    "an EndpointSlice with its address",
    "the end of the pod without its Deployment",
)
ALL = (CREATED, POD, PLACE, STARTED, LOG, TOKEN, SLICE, END)
ISSUED = "issued"
ARGUMENTS = ".containers.kube-scheduler.command"
LED = "the renewal of the leader's Lease"


class FakeCluster:
    """An API server whose controllers, scheduler and kubelet act at once. Its attributes say what of it does not.

    refused: by the end of the path of a request, the status and the message. statuses: of the pod's container, instead of one that is ready. events: about the
    pod. slow, slow_start: requests for the pod that find none yet, and that find none of its containers. leader: who renews the Lease; empty for none.
    """

    def __init__(self) -> None:
        self.refused: dict[str, tuple[int, str]] = {}
        self.conditions: list[Json] = []
        self.makes_pods = self.schedules = self.ends_pods = self.knows_tokens = self.has_endpoints = True
        self.mounts_tokens = True
        self.statuses: list[Json] = [{"ready": True, "state": {"running": {}}}]
        self.events: list[Json] = []
        self.slow = self.slow_start = self.failing_deletions = 0
        self.failed = ""
        self.on_log: t.Callable[[], None] = lambda: None
        self.leader = "cp1_1"
        self.leader_pod: Json = {}
        self.requests: list[tuple[str, str]] = []
        self.made: dict[str, Json] = {}
        self._renewals = 0
        self.seen: Canary | None = None

    def request(self, method: str, path: str, body: Json | None) -> ApiResponse:
        self.requests.append((method, path))
        if path.endswith("/log"):
            self.on_log()
        for end, (status, message) in self.refused.items():
            if path.partition("?")[0].endswith(end):
                return self._response(status, {"message": message})
        return self._response(*self._respond(method, path, body or {}))

    def _response(self, status: int, body: Json) -> ApiResponse:
        data = json.dumps(body).encode()
        return ApiResponse(status, data, f"the API server answers {status}", refused=status in (401, 403))

    def _respond(self, method: str, path: str, body: Json) -> tuple[int, Json]:
        place = path.partition("?")[0]
        last = place.rpartition("/")[2]
        if method == "DELETE" and self.failing_deletions:
            self.failing_deletions -= 1
            return 429, {"message": "later"}
        if method == "DELETE":
            self.made = {kind: made for kind, made in self.made.items() if kind in ("namespaces", "serviceaccounts")}
            return 200, {}
        if method == "POST" and last == "token":
            return (201, {"status": {"token": ISSUED}}) if self.knows_tokens else (404, {"message": "no such account"})
        if method == "POST":
            status = 409 if last in self.made else 201
            self.made.setdefault(last, body)
            return status, {}
        if place == LEASE:
            self._renewals += 1
            found = {"spec": {"holderIdentity": self.leader, "renewTime": str(self._renewals)}}
            return (200, found) if self.leader else (404, {"message": "not found"})
        return 200, self._read(place, last)

    def _read(self, place: str, last: str) -> Json:
        if place == "/api/v1/nodes/cp1":
            return {"spec": {"taints": [{"key": "a.example/gpu", "value": "x", "effect": "NoSchedule"}]}}
        if place.startswith("/api/v1/namespaces/kube-system/pods/"):
            return self.leader_pod
        if "/deployments/" in place:
            return {"status": {"conditions": self.conditions}}
        endpoints = [{"addresses": ["10.1.0.1"]}] if self.has_endpoints else None
        lists = {"events": self.events, "endpointslices": [{"endpoints": endpoints}]}
        return {"items": self._pods() if last == "pods" else lists.get(last, [])}

    def _pods(self) -> list[Json]:
        if self.slow:
            self.slow -= 1
            return []
        if not self.makes_pods or (self.ends_pods and not {"deployments", "pods"}.intersection(self.made)):
            return []
        if self.slow_start:
            self.slow_start -= 1
            if not self.slow_start:
                self.statuses = [{"ready": True, "state": {"running": {}}}]
        condition = {"type": "PodScheduled", "message": "0/2 nodes are available"}
        status = {
            "phase": "Failed" if self.failed else "Running",
            "message": self.failed,
            "containerStatuses": self.statuses,
            "conditions": [] if self.schedules else [condition],
        }
        volume = {"name": "kube-api-access-x", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
        spec = {
            "serviceAccountName": "canary",
            "volumes": [{"name": "other"}, *([volume] if self.mounts_tokens else [])],
            **({"nodeName": "cp1"} if self.schedules else {}),
        }
        return [{"metadata": {"name": "x-1"}, "spec": spec, "status": status}]


@pytest.fixture(name="cluster")
def fixture_cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    cluster = FakeCluster()
    monkeypatch.setattr(
        canary, "token_problem", lambda _kubeconfig, _address, issued: "" if issued == ISSUED else "401"
    )
    return cluster


def planned(*, lease: str = "", must_start: bool = True, component: str = "kube-scheduler") -> Json:
    side = {"server": {"scheme": "https", "host": "10.0.0.11", "port": 6443}, "lease": lease}
    sides = {
        "before": {**side, "has": [f"{ARGUMENTS}=--v=1"], "lacks": [f"{ARGUMENTS}=--v=2"]},
        "after": {**side, "has": [f"{ARGUMENTS}=--v=2"], "lacks": [f"{ARGUMENTS}=--v=1"]},
    }
    workload = planned_canary.Canary("canaries", "registry.k8s.io/pause:3.10", "cp1", component, NODE_TAINTS, NAME)
    return planned_observations.of_canary(
        workload, sides, "/admin.conf", wait_timeout=60, must_start=must_start, is_elected=bool(lease)
    )


def look(
    cluster: FakeCluster,
    side: Side = "after",
    *,
    lease: str = "",
    must_start: bool = True,
    clock: Clock | None = None,
    component: str = "kube-scheduler",
) -> tuple[Json, str]:
    """What a look finds, and what it does not show."""
    clock = clock or Clock()
    made = Canary(
        planned(lease=lease, must_start=must_start, component=component),
        side,
        "kube-scheduler-abcdef-after",
        send=cluster.request,
        clock=clock,
        sleep=clock.sleep,
        is_first=side == "before",
    )
    cluster.seen = made
    return made.observe(60), made.unverified


def test_all_that_is_made_is_used_and_deleted(cluster: FakeCluster) -> None:
    assert look(cluster) == (dict.fromkeys(ALL, ""), "")
    assert set(cluster.made) == {"namespaces", "serviceaccounts"}
    # Quick on a quiet cluster, and few requests: an API server that comes back has its hands full.
    assert len(cluster.requests) == 14


def test_what_is_made_is_for_this_node_alone(cluster: FakeCluster) -> None:
    cluster.refused["/log"] = (503, "")
    cluster.ends_pods = False
    made: dict[str, Json] = {}
    delete = cluster._respond

    def respond(method: str, path: str, body: Json) -> tuple[int, Json]:
        made.update(cluster.made)
        return delete(method, path, body)

    cluster._respond = respond  # type: ignore[method-assign]
    look(cluster)
    pod = made["deployments"]["spec"]["template"]
    assert pod["spec"]["tolerations"] == [{"key": "a.example/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert made["deployments"]["metadata"]["name"] == "kube-scheduler-abcdef-after"
    assert made["services"]["spec"]["selector"] == {"nodecraft.kubeadm/canary": "kube-scheduler-abcdef-after"}
    assert pod["metadata"]["labels"]["nodecraft.kubeadm/canary-of"] == "kube-scheduler.cp1"
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["cp1"]
    sweeps = [path for method, path in cluster.requests if method == "DELETE"]
    assert len(sweeps) == 2
    assert all("labelSelector=nodecraft.kubeadm/canary-of%3Dkube-scheduler.cp1" in path for path in sweeps)


def test_what_is_slow_is_waited_for(cluster: FakeCluster) -> None:
    cluster.slow = 20
    clock = Clock()
    assert look(cluster, clock=clock)[0] == dict.fromkeys(ALL, "")
    assert clock.now >= 1020


@pytest.mark.parametrize(
    ("lost", "step", "problem"),
    [
        ({"makes_pods": False}, POD, "none was made, after 60 s"),
        (
            {"makes_pods": False, "conditions": [{"type": "ReplicaFailure", "message": "exceeded quota: pods"}]},
            POD,
            "exceeded quota: pods, after 60 s",
        ),
        ({"schedules": False}, PLACE, "0/2 nodes are available, after 60 s"),
        ({"statuses": []}, STARTED, "its kubelet reports nothing, after 60 s"),
        (
            {"statuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]},
            STARTED,
            "ContainerCreating, after 60 s",
        ),
        (
            {"statuses": [], "events": [{"reason": "FailedMount", "message": "kube-root-ca.crt not found"}]},
            STARTED,
            "kube-root-ca.crt not found, after 60 s",
        ),
        ({"knows_tokens": False}, TOKEN, "the API server answers 404: no such account, after 30 s"),
        ({"mounts_tokens": False}, TOKEN, "the pod has no volume with one, after 30 s"),
        ({"has_endpoints": False}, SLICE, "no EndpointSlice has it, after 60 s"),
        ({"ends_pods": False}, END, "it is still there, after 60 s"),
        ({"refused": {"/log": (502, "dial tcp")}}, LOG, "the API server answers 502: dial tcp, after 30 s"),
        (
            {"refused": {"/services": (500, "out of range")}},
            CREATED,
            "the API server answers 500: out of range, after 60 s",
        ),
        ({"refused": {"/deployments": (422, "invalid")}}, CREATED, "the API server answers 422: invalid, after 0 s"),
    ],
)
def test_what_does_not_work_is_named_with_its_reason(
    cluster: FakeCluster, lost: t.Mapping[str, t.Any], step: str, problem: str
) -> None:
    for name, value in lost.items():
        setattr(cluster, name, value)
    found, unverified = look(cluster, component="kube-apiserver")
    assert found == {**dict.fromkeys(ALL[: ALL.index(step)], ""), step: problem}
    assert unverified == ""
    assert "deployments" not in cluster.made


@pytest.mark.parametrize(
    ("refused", "conditions", "tried", "why"),
    [
        ({"/services": (403, "webhook denied")}, [], (), "the API server answers 403: webhook denied"),
        ({}, [{"type": "ReplicaFailure", "message": "exceeded quota"}], (CREATED,), "exceeded quota"),
    ],
)
def test_what_others_refuse_is_no_problem_of_a_component_that_does_not_answer_for_it(
    cluster: FakeCluster,
    refused: dict[str, tuple[int, str]],
    conditions: list[Json],
    tried: tuple[str, ...],
    why: str,
) -> None:
    cluster.refused, cluster.conditions, cluster.makes_pods = refused, conditions, False
    assert look(cluster) == (dict.fromkeys(tried, ""), why)


def test_an_api_server_that_is_away_in_the_end_shows_nothing_of_others(cluster: FakeCluster) -> None:
    cluster.refused = {"/log": (502, "away")}
    assert look(cluster)[0][LOG] == "the API server answers 502: away, after 30 s"
    cluster.on_log = lambda: cluster.refused.update({"/nodes/cp1": (503, "shutting down")})
    assert look(cluster) == (dict.fromkeys(ALL[:4], ""), "the API server answers 503: shutting down")


def test_a_pod_that_its_kubelet_does_not_admit_shows_nothing(cluster: FakeCluster) -> None:
    cluster.statuses, cluster.failed = [], "OutOfpods"
    clock = Clock()
    assert look(cluster, clock=clock) == (dict.fromkeys(ALL[:3], ""), "its kubelet does not admit the pod: OutOfpods")
    assert clock.now < 1010


def test_a_pod_that_the_kubelet_which_is_changed_does_not_admit_is_its_loss(cluster: FakeCluster) -> None:
    cluster.statuses, cluster.failed = [], "OutOfpods"
    clock = Clock()
    found, unverified = look(cluster, clock=clock, component="kubelet")
    assert (found[STARTED], unverified) == ("its kubelet does not admit the pod: OutOfpods, after 0 s", "")


def test_an_image_that_the_kubelet_had_before_its_change_is_its_loss(cluster: FakeCluster) -> None:
    cluster.statuses = [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such host"}}}]
    found, unverified = look(cluster, component="kubelet")
    assert (found[STARTED], unverified) == ("its image cannot be pulled: no such host, after 60 s", "")


def test_a_deletion_that_fails_once_is_tried_again(cluster: FakeCluster) -> None:
    cluster.failing_deletions = 2
    assert look(cluster) == (dict.fromkeys(ALL, ""), "")
    assert "deployments" not in cluster.made


def test_an_image_that_cannot_be_pulled_proves_nothing(cluster: FakeCluster) -> None:
    cluster.statuses = [{"state": {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}}]
    assert look(cluster) == (dict.fromkeys(ALL[:3], ""), "its image cannot be pulled: no such host")


@pytest.mark.parametrize(
    ("side", "must_start", "message", "is_refused"),
    [
        ("before", True, "failed to start shim", True),
        ("before", False, "failed to start shim", False),
        ("before", True, "failed to setup network for sandbox", False),
        ("after", True, "failed to start shim", False),
    ],
)
def test_nothing_is_stopped_where_the_kubelet_starts_no_pod(
    cluster: FakeCluster, side: Side, must_start: bool, message: str, is_refused: bool
) -> None:
    cluster.statuses = []
    cluster.events = [{"reason": "FailedCreatePodSandBox", "message": message}]
    if is_refused:
        with pytest.raises(EngineError, match="neither the changed component nor the former one: failed to start shim"):
            look(cluster, side, must_start=must_start)
        assert "deployments" not in cluster.made
    else:
        assert look(cluster, side, must_start=must_start)[0][STARTED] == f"{message}, after 60 s"


def test_a_sandbox_that_is_made_at_last_is_no_reason(cluster: FakeCluster) -> None:
    cluster.statuses, cluster.slow_start = [], 3
    cluster.events = [{"reason": "FailedCreatePodSandBox", "message": "failed to start shim"}]
    assert look(cluster, "before") == (dict.fromkeys(ALL, ""), "")


def test_nothing_is_made_where_the_node_cannot_be_read(cluster: FakeCluster) -> None:
    cluster.refused["/nodes/cp1"] = (503, "away")
    assert look(cluster) == ({}, "the API server answers 503: away")
    assert not any(method == "POST" for method, _path in cluster.requests)


def leader_pod(*arguments: str) -> Json:
    """A scheduler's mirror pod, with the API's defaults."""
    container = {
        "name": "kube-scheduler",
        "command": ["kube-scheduler", *arguments],
        "terminationMessagePath": "/dev/termination-log",
    }
    return {"spec": {"containers": [container]}}


# ---- a component that is elected -----------------------------------------------------------------------------------------


def test_who_leads_on_this_node_is_observed(cluster: FakeCluster) -> None:
    for leader in ("cp1_1", f"{os.uname().nodename}_1"):
        cluster.leader = leader
        assert look(cluster, lease=LEASE) == ({LED: "", **dict.fromkeys(ALL, "")}, "")
        assert cluster.seen is not None
        assert cluster.seen.leader == {"node": "cp1", "is_own": True, "is_changed": True, "is_proof": True}


@pytest.mark.parametrize(
    ("arguments", "is_shown"), [(["--v=2"], True), (["--v=1"], False), (["--v=2", "--v=1"], False), ([], False)]
)
def test_another_leader_shows_the_change_only_when_it_has_it(
    cluster: FakeCluster, arguments: list[str], is_shown: bool
) -> None:
    cluster.leader = "cp2_1"
    cluster.leader_pod = leader_pod(*arguments)
    found, unverified = look(cluster, lease=LEASE)
    if is_shown:
        assert (found[END], unverified) == ("", "")
    else:
        assert (found, unverified) == ({}, "cp2 leads, with other settings than this node")
        assert cluster.made == {}
    assert cluster.seen is not None
    assert cluster.seen.leader == {"node": "cp2", "is_own": False, "is_changed": is_shown, "is_proof": is_shown}


def test_any_leader_shows_what_works_before_the_change(cluster: FakeCluster) -> None:
    cluster.leader = "cp2_1"
    assert look(cluster, "before", lease=LEASE)[0][END] == ""


@pytest.mark.parametrize(
    ("lost", "leader", "arguments", "must_start", "is_refused"),
    [
        ({"schedules": False}, "cp2_1", ["--v=2"], True, True),
        ({"schedules": False}, "cp2_1", ["--v=2"], False, False),
        ({"schedules": False}, "cp2_1", ["--v=1"], True, False),
        ({"schedules": False}, "cp1_1", ["--v=2"], True, False),
        # Not what a scheduler is for.
        ({"has_endpoints": False}, "cp2_1", ["--v=2"], True, False),
    ],
)
def test_what_fails_under_a_leader_that_is_set_as_planned_is_not_done_here_too(
    cluster: FakeCluster, lost: Json, leader: str, arguments: list[str], must_start: bool, is_refused: bool
) -> None:
    cluster.leader, cluster.leader_pod = leader, leader_pod(*arguments)
    for name, value in lost.items():
        setattr(cluster, name, value)
    if is_refused:
        with pytest.raises(
            EngineError,
            match=r"cp2 leads with the planned settings, and the pod's place on a node does not work under it: 0/2 nodes",
        ):
            look(cluster, "before", lease=LEASE, must_start=must_start)
        assert "deployments" not in cluster.made
    else:
        assert any(look(cluster, "before", lease=LEASE, must_start=must_start)[0].values())


def test_other_leader_that_cannot_be_read_shows_nothing(cluster: FakeCluster) -> None:
    cluster.leader = "cp2_1"
    cluster.refused["/pods/kube-scheduler-cp2"] = (404, "not found")
    assert look(cluster, lease=LEASE)[1] == "cp2 leads (the API server answers 404: not found)"


def test_no_leader_is_a_loss(cluster: FakeCluster) -> None:
    cluster.leader = ""
    problem = "the Lease kube-scheduler cannot be read (the API server answers 404: not found), after 60 s"
    assert look(cluster, lease=LEASE) == ({LED: problem}, "")


def test_lease_that_is_not_renewed_has_no_leader(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_respond", lambda *_: (200, {"spec": {"holderIdentity": "cp1_1", "renewTime": "1"}}))
    assert look(cluster, lease=LEASE)[0] == {LED: "cp1_1 does not renew it, after 60 s"}


# ---- a pod on one node -------------------------------------------------------------------------------------------------


def test_a_node_starts_a_pod_that_no_scheduler_gives_to_it(cluster: FakeCluster) -> None:
    workload = planned_canary.Canary("canaries", "registry.k8s.io/pause:3.10", "w1", "kubelet", NODE_TAINTS, NAME)
    made: list[Json] = []
    respond = cluster._respond

    def keep(method: str, path: str, body: Json) -> tuple[int, Json]:
        made.extend([body] if method == "POST" else [])
        return respond(method, path, body)

    cluster._respond = keep  # type: ignore[method-assign]
    clock = Clock()
    pod = planned_observations.of_pod(workload)
    observation = Canary(
        pod, "before", "kubelet-1", send=cluster.request, clock=clock, sleep=clock.sleep, is_first=True
    )
    assert list(observation.observe(30)) == [
        "the creation of a pod",
        "the pod at the API",
        "the start of the pod",
        "the pod's log",
        "the end of the pod",
    ]
    assert [each["kind"] for each in made] == ["Namespace", "ServiceAccount", "Pod"]
    assert made[-1]["spec"]["nodeName"] == "w1"
    assert "affinity" not in made[-1]["spec"]
    assert [path.partition("?")[0] for method, path in cluster.requests if method == "DELETE"] == [
        "/api/v1/namespaces/canaries/pods"
    ]


def test_a_leader_under_which_not_all_works_is_no_proof(cluster: FakeCluster) -> None:
    cluster.statuses = [{"state": {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}}]
    look(cluster, lease=LEASE)
    assert cluster.seen
    assert cluster.seen.leader == {
        "node": "cp1",
        "is_own": True,
        "is_changed": True,
        "is_proof": False,
    }
