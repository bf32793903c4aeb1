# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A component whose probes only the kubelet can run: its word counts, and no process is healthy just because it is there."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    COMMITTED,
    ROLLED_BACK,
    WAITING,
    Probe,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Process
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.pod_observation import (
    check_kubelet_probes,
    check_probe,
    config_hash,
    container_problems,
    mirror_pod_path,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import LOG_PREFIX, MIRROR, NEW, OLD, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

EXEC = t.cast(Probe, {"kind": "exec"})
CONTAINER = "c" * 64
PROCESS = Process("a" * 32, 7, CONTAINER, ("x",))


def pod(container: str, *, ready: bool) -> Json:
    """What the kubelet reports of a container."""
    return {"status": {"containerStatuses": [{"containerID": f"containerd://{container}", "ready": ready}]}}


def check_probes(
    mirror_pod: Json | None, process: Process | None = PROCESS, *probes: Probe, demanded: bool = False
) -> tuple[bool | None, str]:
    """What is made of a response of the API."""
    return check_kubelet_probes((mirror_pod, "refused"), process, probes or [EXEC], required=demanded)


def test_where_it_is() -> None:
    assert mirror_pod_path(LOG_PREFIX) == MIRROR
    assert config_hash({"metadata": {"annotations": {"kubernetes.io/config.hash": "x"}}}) == "x"
    assert config_hash({"metadata": {}}) is None


@pytest.mark.parametrize(
    ("mirror_pod", "ok"),
    [
        (pod(CONTAINER, ready=True), True),
        (pod(CONTAINER, ready=False), False),
        (pod("f" * 64, ready=True), False),
        ({"status": {"containerStatuses": None}}, False),
        ({}, False),
    ],
)
def test_the_kubelets_word_is_about_this_container(mirror_pod: Json, ok: bool) -> None:
    assert check_probes(mirror_pod) == (
        ok,
        f"exec probe: the kubelet reports the container {'as ready' if ok else 'not as ready yet'}",
    )


def test_without_a_process_nothing_is_queried() -> None:
    assert check_probes(pod(CONTAINER, ready=True), None) == (False, "exec probe: there is no process")


@pytest.mark.parametrize("demanded", [True, False])
def test_a_word_that_is_not_heard_is_missed_where_it_was_heard_before(demanded: bool) -> None:
    assert check_probes(None, demanded=demanded) == (
        False if demanded else None,
        "exec probe: what the kubelet reports is not known (refused)",
    )


def test_of_grpc_the_port_is_observed_then(served_web: Web) -> None:
    listening = t.cast(Probe, {"kind": "grpc", "host": "127.0.0.1", "port": served_web.port})
    silent = t.cast(Probe, {"kind": "grpc", "host": "127.0.0.1", "port": 1})
    assert check_probes(None, PROCESS, listening)[0] is None
    ok, text = check_probes(None, PROCESS, silent, EXEC)
    assert ok is False
    assert text.startswith("exec and grpc probe: what the kubelet reports is not known (refused); 127.0.0.1:1: ")
    assert check_probes(pod(CONTAINER, ready=True), PROCESS, silent)[0]


def local_probe(port: int, network: str) -> Probe:
    """A probe without a host."""
    return t.cast(Probe, {"kind": "tcp", "host": "127.0.0.1", "port": port, "network": network})


def test_probe_without_host_queries_address_of_node(served_web: Web) -> None:
    """The component listens at the local address alone."""
    probe = local_probe(served_web.port, "host")
    local, other = ({"status": {"podIP": address}} for address in ("127.0.0.1", "127.0.0.2"))
    assert check_probe(probe, (local, ""), required=False)[0] is True
    ok, text = check_probe(probe, (other, ""), required=False)
    assert (ok, text.startswith(f"127.0.0.2:{served_web.port}: ")) == (False, True)
    assert check_probe(probe, ({"status": {}}, ""), required=False)[0] is False


@pytest.mark.parametrize(("demanded", "ok"), [(False, None), (True, False)])
def test_probe_without_host_is_not_known_without_report(served_web: Web, demanded: bool, ok: bool | None) -> None:
    found, text = check_probe(local_probe(served_web.port, "host"), (None, "refused"), required=demanded)
    assert found is ok
    assert "not known at the node's address, which the probe asks (refused)" in text
    assert check_probe(local_probe(1, "host"), (None, "refused"), required=False)[0] is False


UID = "a" * 32


def pod_of(uid: str, *statuses: Json) -> Json:
    """What the kubelet reports of an instance."""
    return {
        "metadata": {"annotations": {"kubernetes.io/config.hash": uid}},
        "status": {"containerStatuses": list(statuses)},
    }


@pytest.mark.parametrize(
    ("mirror_pod", "expected"),
    [
        (None, {}),
        (pod_of("b" * 32, {"name": "kms", "ready": False}), {}),
        (pod_of(UID), {}),
        (pod_of(UID, {"name": "kms", "ready": True}, {"name": "gone", "ready": False}), {"kms": ""}),
        (
            pod_of(UID, {"name": "kms", "ready": False, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}),
            {"kms": "the kubelet reports it as not ready (CrashLoopBackOff)"},
        ),
        (
            pod_of(UID, {"name": "kms", "ready": False, "state": {"running": {"startedAt": "x"}}}),
            {"kms": "the kubelet reports it as not ready (its probes do not pass)"},
        ),
    ],
    ids=["no report", "of former instance", "nothing yet", "ready", "crashes", "not ready"],
)
def test_problems_of_other_containers(mirror_pod: Json | None, expected: dict[str, str]) -> None:
    assert container_problems(mirror_pod, UID, ["kms"]) == expected


# ---- in a transaction ------------------------------------------------------------------------------------------------


def change(node: FakeNode, *, ready: bool, readable_before: bool = True, readable_after: bool = True) -> Json:
    """A change of a component with an exec probe only, of which the kubelet says that the new one is ready, or not."""
    state = {"readable": readable_before}

    def http_get(kubeconfig: str, path: str) -> tuple[Json | None, str]:
        (process,) = node.host.find_in_pods([instance.uid for instance in node.kubelet.instances]) or [PROCESS]
        assert (kubeconfig, path) == (str(node.kubelet_conf), MIRROR)
        report = pod(process.container_id, ready=ready or "--v=1" in process.arguments)
        return (report, "") if state["readable"] else (None, "no answer")

    node.http_get = http_get
    before, after = ({**node.instance(text), "probes": [EXEC]} for text in (OLD, NEW))
    node.prepare(watch={"before": before, "after": after})
    node.once(WAITING, lambda: state.update(readable=readable_after))
    return node.run()


def test_a_component_that_the_kubelet_calls_ready_is_committed(node: FakeNode) -> None:
    result = change(node, ready=True)
    assert result["outcome"] == COMMITTED
    assert result["proof"]["probes"] == ["exec probe: the kubelet reports the container as ready"]


def test_a_component_that_never_gets_ready_is_not_healthy_at_once(node: FakeNode) -> None:
    result = change(node, ready=False)
    assert (result["outcome"], node.manifest.read_text(encoding="utf-8")) == (ROLLED_BACK, OLD)
    assert "the kubelet reports the container not as ready yet" in result["reason"]


@pytest.mark.parametrize(("before", "outcome"), [(True, ROLLED_BACK), (False, COMMITTED)])
def test_a_kubelet_that_is_not_heard_any_more(node: FakeNode, before: bool, outcome: str) -> None:
    """Where it was not heard before either, the repair of whatever keeps it silent has to be possible."""
    result = change(node, ready=True, readable_before=before, readable_after=False)
    assert result["outcome"] == outcome
    limit = "whether its probes pass: exec probe: what the kubelet reports is not known (no answer)"
    # Of the former state no more is known either.
    assert (result["proof"] or {}).get("unverified") == [limit]


def change_beside(node: FakeNode, *, before: bool, after: bool, readable: bool = True) -> Json:
    """A change of a component beside which another container works, or not."""

    def http_get(_kubeconfig: str, _path: str) -> tuple[Json | None, str]:
        (process,) = node.host.find_in_pods([instance.uid for instance in node.kubelet.instances]) or [PROCESS]
        ready = before if "--v=1" in process.arguments else after
        status = {"name": "kms", "ready": ready, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
        return (pod_of(process.uid, status), "") if readable else (None, "refused")

    node.http_get = http_get
    return node.change(watch={side: {**node.instance(text), "containers": ["kms"]} for side, text in SIDES.items()})


SIDES = {"before": OLD, "after": NEW}
NOT_READY = "whether its container kms works: the kubelet reports it as not ready (CrashLoopBackOff)"


def test_other_container_that_works_no_more_is_rolled_back(node: FakeNode) -> None:
    result = change_beside(node, before=True, after=False)
    assert (result["outcome"], node.manifest.read_text(encoding="utf-8")) == (ROLLED_BACK, OLD)
    assert "what worked beside it does not: its container kms: the kubelet reports it as not ready" in result["reason"]


@pytest.mark.parametrize(
    ("before", "after", "readable", "unverified"),
    [(True, True, True, []), (False, False, True, [NOT_READY]), (False, True, True, []), (True, True, False, [])],
)
def test_other_container_that_did_not_work_keeps_no_change(
    node: FakeNode, before: bool, after: bool, readable: bool, unverified: list[str]
) -> None:
    result = change_beside(node, before=before, after=after, readable=readable)
    assert (result["outcome"], result["proof"]["unverified"]) == (COMMITTED, unverified)
