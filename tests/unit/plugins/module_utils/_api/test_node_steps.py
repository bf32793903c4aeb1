# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of many nodes, against a real HTTP server."""

from __future__ import annotations

import json
import time
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.node_steps import NodeSteps
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.batch import PartialFailure
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.extended_resources import RESOURCES
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.labels import LABELS
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.plan import Kind
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.taints import TAINTS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import (
    NODE_LEASES,
    Clock,
    FakeApi,
    HttpError,
    client_of,
    node_lease,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import Run, StepRunner, run_steps

Serve = t.Callable[..., FakeApi]
D = "example.com/dongle"
PARAMS: Json = {
    "nodes": None,
    "label_selector": None,
    "labels": None,
    "taints": None,
    "resources": None,
    "per_node": None,
    "state": "present",
    "purge": False,
    "on_error": "continue",
    "wait": False,
    "wait_timeout": 120,
    "concurrency": 8,
    "allow_eviction": False,
}


class NodeRun(Run):
    """A run on nodes."""

    @property
    def nodes(self) -> Json:
        return t.cast(Json, self.report["nodes"])


def run(kind: Kind, api: FakeApi, *, dry: bool = False, clock: Clock | None = None, **params: t.Any) -> NodeRun:
    """Run the steps as the runner does."""
    clock = clock or Clock()
    steps = NodeSteps(kind, {**PARAMS, **params}, connect=lambda: client_of(api.url, clock), diff=True)
    return run_steps(StepRunner(steps, dry=dry), clock, NodeRun)


def labels(api: FakeApi, name: str) -> Json:
    return t.cast(Json, api.objects[name]["metadata"]["labels"])


def nodes(number: int, **parts: t.Any) -> list[Json]:
    return [node(f"n{index:03}", **parts) for index in range(number)]


def names(number: int) -> list[str]:
    return [f"n{index:03}" for index in range(number)]


def test_one_node(serve: Serve) -> None:
    api = serve(node("w1"))
    done = run(RESOURCES, api, nodes=["w1"], resources={D: 4})
    assert done.error is None
    assert done.nodes == {
        "w1": {
            "changed": True,
            "failed": False,
            "msg": "",
            "operations": [{"field": "resources", "key": D, "before": None, "after": "4"}],
            "left_alone": [],
        }
    }
    assert api.objects["w1"]["status"]["capacity"][D] == "4"
    record = api.objects["w1"]["metadata"]["annotations"][RESOURCES.annotation]
    assert json.loads(record) == {D: {"set": "4", "original": None}}


BARE = """\
apiVersion: v1
kind: Node
metadata:
  name: w1
"""
WITH_RESOURCE = """\
apiVersion: v1
kind: Node
metadata:
  annotations:
    nodecraft.kubeadm/owned-extended-resources: '{"example.com/dongle":{"set":"4","original":null}}'
  name: w1
status:
  capacity:
    example.com/dongle: "4"
"""
WITH_LABEL = """\
apiVersion: v1
kind: Node
metadata:
  annotations:
    nodecraft.kubeadm/owned-labels: '{"example.com/rack":{"set":"r7","original":null}}'
  labels:
    example.com/rack: r7
  name: w1
"""
WITH_TAINT = """\
apiVersion: v1
kind: Node
metadata:
  annotations:
    nodecraft.kubeadm/owned-taints: '{"example.com/dongle:NoSchedule":{"set":"true","original":null}}'
  name: w1
spec:
  taints:
  - effect: NoSchedule
    key: example.com/dongle
    value: "true"
"""
TAINT_OPTION = {"key": D, "effect": "NoSchedule", "value": "true", "state": "present"}


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize(
    ("kind", "option", "after"),
    [
        (RESOURCES, {D: 4}, WITH_RESOURCE),
        (LABELS, {"example.com/rack": "r7"}, WITH_LABEL),
        (TAINTS, [TAINT_OPTION], WITH_TAINT),
    ],
)
def test_a_diff_is_a_node_as_kubectl_shows_it(
    serve: Serve, kind: Kind, option: t.Any, after: str, *, dry: bool
) -> None:
    """A diff has nothing that others own, unless it changes."""
    api = serve(node("w1", annotations={"a": "b"}, taints=[{"key": "theirs", "effect": "NoExecute"}]))
    there = run(kind, api, dry=dry, nodes=["w1"], **{kind.field: option})
    header = {"before_header": "node/w1", "after_header": "node/w1"}
    assert there.report["diff"] == [{**header, "before": BARE, "after": after}]
    run(kind, api, nodes=["w1"], **{kind.field: option})
    back = run(kind, api, dry=dry, nodes=["w1"], state="absent")
    assert back.report["diff"] == [{**header, "before": after, "after": BARE}]


@pytest.mark.parametrize("dry", [True, False])
def test_warning_of_the_api_server_is_reported_once(serve: Serve, *, dry: bool) -> None:
    api = serve(*nodes(3))
    api.warning = r'299 - "metadata.labels[\"x\"]: deprecated"'
    done = run(LABELS, api, dry=dry, nodes=names(3), labels={"failure-domain.beta.kubernetes.io/zone": "a"})
    assert [warning for warning in done.warnings if "says" in warning] == [
        'the API server says: metadata.labels["x"]: deprecated'
    ]


def test_there_and_back_leaves_no_trace(serve: Serve) -> None:
    api = serve(node("w1", annotations={"a": "b"}))
    run(LABELS, api, nodes=["w1"], labels={"x": 1})
    assert run(LABELS, api, nodes=["w1"], labels={"x": 1}).operations == 0
    run(LABELS, api, nodes=["w1"], state="absent")
    assert api.objects == {"w1": node("w1", annotations={"a": "b"})}


def test_check_mode_changes_nothing(serve: Serve) -> None:
    api = serve(node("w1"))
    done = run(LABELS, api, dry=True, nodes=["w1"], labels={"x": 1})
    assert done.nodes["w1"]["changed"]
    assert api.objects == {"w1": node("w1")}
    assert "dryRun=All" in api.paths("PATCH")[0]


def test_check_mode_reports_a_refusal(serve: Serve) -> None:
    api = serve(node("w1"))
    api.before_patch = _refusing("w1")
    done = run(LABELS, api, dry=True, nodes=["w1", "missing"], labels={"x": 1})
    assert "declined for w1" in str(done.error)
    assert "missing: there is no node of this name" in str(done.error)


def _refusing(bad: str) -> t.Callable[[str], None]:
    def refuse(name: str) -> None:
        if name == bad:
            raise HttpError(400, f"declined for {name}")

    return refuse


def test_no_change_is_a_list_the_version_and_no_patch(serve: Serve) -> None:
    api = serve(*nodes(600, labels={"x": "1"}))
    assert run(LABELS, api, nodes=names(600), labels={"x": "1"}).operations == 0
    assert len(api.paths("GET")) == 3
    assert api.paths("PATCH") == []


def test_only_needed_patches_are_sent_on_reused_connections(serve: Serve) -> None:
    api = serve(*nodes(100))
    api.objects["n007"]["metadata"]["labels"]["x"] = "1"
    done = run(LABELS, api, nodes=names(100), labels={"x": "1"})
    assert done.error is None
    assert len(api.paths("PATCH")) == 99
    assert api.connections <= 9
    assert not done.nodes["n007"]["changed"]


def test_a_selector_and_names(serve: Serve) -> None:
    api = serve(node("a", labels={"rack": "1"}), node("b"), node("c"))
    done = run(LABELS, api, nodes=["b"], label_selector="rack=1", labels={"x": "1"})
    assert sorted(done.nodes) == ["a", "b"]


def test_a_selector_without_a_match(serve: Serve) -> None:
    api = serve(node("a"))
    done = run(LABELS, api, label_selector="rack=1", labels={"x": "1"})
    assert "label_selector 'rack=1' matches no node" in str(done.error)
    assert run(LABELS, api, label_selector="rack=1", state="absent").error is None


def test_single_nodes_get_their_own(serve: Serve) -> None:
    api = serve(node("a"), node("b"))
    run(LABELS, api, nodes=["a"], labels={"x": "1"}, per_node={"b": {"labels": {"x": "2"}}})
    assert (labels(api, "a")["x"], labels(api, "b")["x"]) == ("1", "2")


def test_an_unknown_node_does_not_keep_others_from_being_done(serve: Serve) -> None:
    api = serve(node("a"))
    done = run(LABELS, api, nodes=["a", "missing"], labels={"x": "1"})
    assert isinstance(done.error, PartialFailure)
    assert done.error.changed
    assert str(done.error).startswith(
        "1 of 2 nodes failed. missing: there is no node of this name in the cluster of http"
    )
    assert labels(api, "a")["x"] == "1"
    assert (done.nodes["missing"]["failed"], done.nodes["a"]["failed"]) == (True, False)


def test_stop_sends_nothing_after_a_failure(serve: Serve) -> None:
    api = serve(*nodes(30))
    api.before_patch = _refusing("n000")
    done = run(LABELS, api, nodes=names(30), labels={"x": "1"}, on_error="stop", concurrency=1)
    assert len(api.paths("PATCH")) == 1
    assert done.nodes["n000"]["failed"]
    assert done.nodes["n029"] == {
        "changed": False,
        "failed": False,
        "msg": "not tried: another node failed, and on_error is stop",
        "operations": [{"field": "labels", "key": "x", "before": None, "after": "1"}],
        "left_alone": [],
    }


def test_stop_counts_unknown_nodes_too(serve: Serve) -> None:
    api = serve(node("a"))
    done = run(LABELS, api, nodes=["a", "missing"], labels={"x": "1"}, on_error="stop")
    assert api.paths("PATCH") == []
    assert not t.cast(PartialFailure, done.error).changed


def test_a_node_that_cannot_be_planned_does_not_keep_others_from_being_done(serve: Serve) -> None:
    api = serve(node("a", capacity={D: "2"}, kubelet_managed=[D]), node("b"))
    done = run(RESOURCES, api, nodes=["a", "b"], resources={D: 4})
    assert "a: resources example.com/dongle is not changed: a device plugin" in str(done.error)
    assert done.nodes["b"]["changed"]


def test_nothing_of_a_second_writer_is_lost(serve: Serve) -> None:
    api = serve(node("w1"))
    rounds = iter(range(5))

    def interfere(name: str) -> None:
        number = next(rounds, None)
        if number is not None:
            api.objects[name]["spec"].setdefault("taints", []).append({"key": f"t{number}", "effect": "NoSchedule"})

    api.before_patch = interfere
    desired = [{"key": "ours", "effect": "NoSchedule", "value": None, "state": "present"}]
    assert run(TAINTS, api, nodes=["w1"], taints=desired).error is None
    assert [taint["key"] for taint in api.objects["w1"]["spec"]["taints"]] == ["t0", "t1", "t2", "t3", "t4", "ours"]


def test_a_conflict_is_planned_again(serve: Serve) -> None:
    api = serve(node("w1"))
    conflicts = iter([HttpError(409, "the object has been modified")])

    def conflict(name: str) -> None:
        for trouble in conflicts:
            raise trouble

    api.before_patch = conflict
    assert run(LABELS, api, nodes=["w1"], labels={"x": "1"}).error is None
    assert labels(api, "w1")["x"] == "1"


def test_a_conflict_without_end(serve: Serve) -> None:
    api = serve(node("w1"))
    api.before_patch = lambda name: _raise(HttpError(409, "the object has been modified"))
    done = run(LABELS, api, nodes=["w1"], labels={"x": "1"})
    assert "w1: another client changed the node in each of 20 attempts" in str(done.error)


def _raise(error: Exception) -> t.NoReturn:
    raise error


def test_final_refusal_is_sent_once(serve: Serve) -> None:
    api = serve(node("w1"))
    api.before_patch = lambda name: _raise(HttpError(422, "Node w1 is invalid: metadata.labels"))
    done = run(LABELS, api, nodes=["w1"], labels={"x": "1"})
    assert "w1: " in str(done.error)
    assert "Node w1 is invalid" in str(done.error)
    assert len(api.paths("PATCH")) == 1


def test_patch_whose_response_was_lost_counts(serve: Serve) -> None:
    api = serve(node("w1"))
    send, lost = api._patch, iter([True])

    def patched(*arguments: t.Any, **options: t.Any) -> Json:
        found = send(*arguments, **options)
        if next(lost, False):
            raise HttpError(504, "timeout")
        return found

    api._patch = patched  # type: ignore[method-assign]
    done = run(LABELS, api, nodes=["w1"], labels={"x": "1"})
    assert done.error is None
    assert done.nodes["w1"]["changed"]


def test_an_api_server_that_restarts_in_the_middle(serve: Serve) -> None:
    api = serve(*nodes(20))
    calls = iter(range(100))

    def down(name: str) -> None:
        if 5 <= next(calls) < 30:
            raise HttpError(503, "apiserver is shutting down")

    api.before_patch = down
    done = run(LABELS, api, nodes=names(20), labels={"x": "1"})
    assert done.error is None
    assert all(labels(api, name)["x"] == "1" for name in names(20))


EVICTING = [{"key": "k", "effect": "NoExecute", "value": None, "state": "present"}]


def test_a_taint_that_evicts_is_refused(serve: Serve) -> None:
    api = serve(node("w1"), node("w2"))
    api.pods = [pod("app", owner="ReplicaSet"), pod("dns", priority=2000000000, node="w1")]
    done = run(TAINTS, api, nodes=["w1", "w2"], taints=EVICTING)
    assert "w1: k:NoExecute would evict 2 pods: default/dns (that nothing recreates), default/app" in str(done.error)
    assert "allow_eviction" in str(done.error)
    assert "taints" not in api.objects["w1"]["spec"]
    assert api.objects["w2"]["spec"]["taints"] == [{"key": "k", "effect": "NoExecute"}]


def test_untested_versions_are_one_warning(serve: Serve) -> None:
    api = serve(*(node(f"n{number}", kubelet="v1.38.1") for number in range(9)), node("w1", kubelet="v1.31.0"))
    api.version = "v1.38.1"
    done = run(LABELS, api, label_selector="kubernetes.io/hostname=w1", nodes=["n1", "n2"], labels={"x": "1"})
    assert done.error is None
    assert done.warnings == [
        f"{api.url}: API server v1.38.1 (newer than tested), kubelet v1.31.0 (older than tested), kubelet v1.38.1 (newer than"
        " tested). This collection is tested with Kubernetes 1.32 to 1.37. Rehearsals still apply; try changes on a test"
        " cluster first."
    ]
    assert len([path for path in api.requests if path == "GET /version"]) == 1


def test_a_version_that_is_not_served_is_not_waited_for(serve: Serve) -> None:
    api = serve(node("w1"))
    api.responses["/version"] = HttpError(503, "no such backend")
    done = run(LABELS, api, nodes=["w1"], labels={"x": "1"})
    assert (done.error, labels(api, "w1")["x"]) == (None, "1")
    assert "API server of unknown version" in done.warnings[0]
    assert len([path for path in api.requests if path == "GET /version"]) == 1


def test_a_version_that_may_not_be_read_ends_no_run(serve: Serve) -> None:
    api = serve(node("w1"))
    api.responses["/version"] = HttpError(403, "cannot get path /version")
    done = run(LABELS, api, nodes=["w1"], labels={"x": "1"})
    assert (done.error, labels(api, "w1")["x"]) == (None, "1")
    assert "API server of unknown version" in done.warnings[0]
    assert "403, cannot get path /version" in done.warnings[0]


def test_a_taint_that_may_evict_warns(serve: Serve) -> None:
    api = serve(node("w1"))
    api.pods = [pod("app")]
    done = run(TAINTS, api, nodes=["w1"], taints=EVICTING, allow_eviction=True)
    assert done.error is None
    assert done.warnings == ["w1: k:NoExecute evicts default/app (that nothing recreates)."]
    assert run(TAINTS, api, nodes=["w1"], taints=EVICTING).operations == 0


@pytest.mark.parametrize("allowed", [True, False])
def test_pods_that_may_not_be_listed(serve: Serve, allowed: bool) -> None:
    api = serve(node("w1"))
    api._filter_by_field = lambda *_a: _raise(HttpError(403, "cannot list resource pods"))  # type: ignore[method-assign]
    done = run(TAINTS, api, nodes=["w1"], taints=EVICTING, allow_eviction=allowed)
    assert (done.error is None) is allowed
    message = done.warnings[0] if allowed else str(done.error)
    begin = (
        "not verified: whether the new taints evict pods: "
        if allowed
        else "which pods the new taints evict could not be"
    )
    assert message.startswith(begin)
    assert "cannot list resource pods" in message
    assert ("Or set allow_eviction" in message) is not allowed


def test_a_change_warns_of_pods_that_would_not_come_back(serve: Serve) -> None:
    api = serve(node("w1", labels={"x": "1"}, capacity={D: "4"}))
    api.pods = [
        pod("selects", nodeSelector={"x": "1"}),
        pod("lost-before", nodeSelector={"y": "1"}),
        pod("uses", requests={D: "3"}),
    ]
    relabelled = run(LABELS, api, nodes=["w1"], labels={"x": None})
    assert relabelled.warnings == [
        "w1: these pods keep running, but the kubelet rejects them when it is restarted: default/selects (selects nodes with x=1)."
    ]
    assert (
        "default/uses (requests 3 of example.com/dongle, 2 are left)"
        in run(RESOURCES, api, nodes=["w1"], resources={D: 2}).warnings[0]
    )
    before = len(api.requests)
    assert run(RESOURCES, api, nodes=["w1"], resources={D: 9}).warnings == []
    assert not any("pods" in request for request in api.requests[before:])


def test_waiting_for_the_kubelet(serve: Serve) -> None:
    api, clock = serve(node("w1"), node("w2"), node("asleep", ready=False)), Clock()

    def kubelet() -> None:
        if clock.now >= 3:
            for name in ("w1", "w2"):
                api.objects[name]["status"]["allocatable"][D] = "4"

    clock.on_sleep = kubelet
    done = run(RESOURCES, api, clock=clock, nodes=["w1", "w2", "asleep"], resources={D: 4}, wait=True)
    assert done.error is None
    assert clock.now == 3.0
    assert done.nodes["asleep"]["msg"] == "not waited for: the node is not Ready, so no kubelet would report it"
    limit = "whether the node asleep offers it: it is not Ready, so no kubelet reports it"
    assert (done.report["unverified"], done.warnings) == ([limit], [f"not verified: {limit}"])


STOPPED = "its kubelet has stopped or does not reach the API server: it has not renewed the Lease of its node for 1"


@pytest.mark.parametrize(("dry", "wait"), [(True, True), (False, True), (False, False)])
def test_what_a_kubelet_showed_that_has_just_stopped_is_not_verified(serve: Serve, *, dry: bool, wait: bool) -> None:
    """Its Node is still Ready."""
    api = serve(node("w1", allocatable={D: "4"}), node("w2", allocatable={D: "4"}))
    run(RESOURCES, api, nodes=["w1", "w2"], resources={D: 4})
    now = time.time()
    api.responses[NODE_LEASES] = [node_lease("w1", now - 30), node_lease("w2", now)]
    done = run(RESOURCES, api, dry=dry, nodes=["w1", "w2"], resources={D: 4}, wait=wait)
    (limit,) = done.report["unverified"]
    assert limit.startswith(f"whether the node w1 offers it: {STOPPED}")
    assert (done.error, done.warnings) == (None, [f"not verified: {limit}"])


def test_reached_values_are_not_verified_without_leases(serve: Serve) -> None:
    api = serve(node("w1", allocatable={D: "4"}))
    api.responses[NODE_LEASES] = HttpError(403, "leases is forbidden")
    (limit,) = run(RESOURCES, api, nodes=["w1"], resources={D: 4}, wait=True).report["unverified"]
    assert limit.startswith("whether the kubelet still runs on w1: ")
    assert "leases is forbidden" in limit


def test_leases_matter_only_where_no_kubelet_reported_meanwhile(serve: Serve) -> None:
    api, clock = serve(node("w1")), Clock()
    api.responses[NODE_LEASES] = HttpError(403, "leases is forbidden")
    clock.on_sleep = lambda: api.objects["w1"]["status"]["allocatable"].update({D: "4"})
    assert run(RESOURCES, api, clock=clock, nodes=["w1"], resources={D: 4}, wait=True).report["unverified"] == []
    assert run(LABELS, api, nodes=["w1"], labels={"a": "b"}, wait=True).report["unverified"] == []


@pytest.mark.parametrize(("dry", "wait"), [(True, True), (True, False), (False, False)])
def test_missing_values_are_not_verified_without_waiting(serve: Serve, *, dry: bool, wait: bool) -> None:
    api = serve(node("w1"), node("asleep", ready=False))
    run(RESOURCES, api, nodes=["w1", "asleep"], resources={D: 4})
    done = run(RESOURCES, api, dry=dry, nodes=["w1", "asleep"], resources={D: 4}, wait=wait)
    assert (done.error, done.report["unverified"]) == (
        None,
        [
            f"whether the node w1 offers it: {D} should be '4' and is unset",
            "whether the node asleep offers it: it is not Ready, so no kubelet reports it",
        ],
    )
    for name in ("w1", "asleep"):
        api.objects[name]["status"].update(allocatable={D: "4"}, conditions=[{"type": "Ready", "status": "True"}])
    assert run(RESOURCES, api, dry=dry, nodes=["w1", "asleep"], resources={D: 4}, wait=wait).report["unverified"] == []


def test_api_that_is_gone_while_waiting_leaves_the_change_in_the_result(serve: Serve) -> None:
    api, clock = serve(node("w1")), Clock()
    clock.on_sleep = lambda: setattr(api, "balancer_status", 503)
    done = run(RESOURCES, api, clock=clock, nodes=["w1"], resources={D: 4}, wait=True)
    assert t.cast(PartialFailure, done.error).changed
    assert (done.nodes["w1"]["changed"], done.nodes["w1"]["failed"]) == (True, True)
    assert str(done.error).startswith(
        "w1: whether it shows in allocatable what is desired is not known: the API server "
    )


def test_patch_without_a_response_may_have_changed_the_node(serve: Serve) -> None:
    api = serve(node("w1"))
    send = api._patch

    def patched(*arguments: t.Any, **options: t.Any) -> Json:
        send(*arguments, **options)
        api.balancer_status = 503
        raise HttpError(503, "gone")

    api._patch = patched  # type: ignore[method-assign]
    done = run(LABELS, api, nodes=["w1"], labels={"x": "1"})
    assert api.objects["w1"]["metadata"]["labels"]["x"] == "1"
    assert "did not answer for" in str(done.error)
    assert not done.nodes["w1"]["changed"]
    assert done.report["unverified"] == ["whether the node w1 was changed: the API server stopped answering"]


def test_waiting_in_vain_names_what_was_found(serve: Serve) -> None:
    api = serve(*nodes(20))
    done = run(RESOURCES, api, nodes=names(20), resources={D: 4}, wait=True, wait_timeout=5)
    assert "n000: not seen in allocatable within 5 s: example.com/dongle should be '4' and is unset" in str(done.error)
    assert t.cast(PartialFailure, done.error).changed
    assert done.nodes["n000"]["changed"]
    assert len(done.report["diff"]) == 20
    # One request for all nodes at a time: the list at the beginning, that of their pods, and five while waiting; and one for the version.
    assert len(api.paths("GET")) == 8
    again = run(RESOURCES, api, nodes=names(20), resources={D: 4}, wait=True, wait_timeout=1)
    assert "within 1 s" in str(again.error)
    assert not t.cast(PartialFailure, again.error).changed


def test_what_is_refused_before_anything_is_sent(serve: Serve) -> None:
    api = serve(node("w1"))
    desired_states: list[Json] = [
        {"resources": {"foo": 1}},
        {"resources": {D: "abc"}},
        {"nodes": ["a/../b"], "resources": {D: 1}},
        {"per_node": {"W1": {"resources": {D: 1}}}},
    ]
    for desired in desired_states:
        done = run(RESOURCES, api, **{"nodes": ["w1"], **desired})
        assert done.error is not None
        assert done.report == {"nodes": {}, "unverified": [], "diff": []}
    assert api.requests == []
