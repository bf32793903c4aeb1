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
    config_hash,
    mirror_pod_path,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import LOG_PREFIX, MIRROR, NEW, OLD, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

EXEC = t.cast(Probe, {"kind": "exec"})
CREDENTIAL = "/etc/kubernetes/kubelet.conf", MIRROR
CONTAINER = "c" * 64
PROCESS = Process("a" * 32, 7, CONTAINER, ("x",))


def pod(container: str, *, ready: bool) -> Json:
    """What the kubelet reports of a container."""
    return {"status": {"containerStatuses": [{"containerID": f"containerd://{container}", "ready": ready}]}}


def check_probes(
    mirror_pod: Json | None, process: Process | None = PROCESS, *probes: Probe, demanded: bool = False
) -> tuple[bool | None, str]:
    """What is made of an answer of the API."""

    def http_get(kubeconfig: str, path: str) -> tuple[Json | None, str]:
        assert (kubeconfig, path) == CREDENTIAL
        return mirror_pod, "refused"

    return check_kubelet_probes(http_get, CREDENTIAL, process, probes or [EXEC], required=demanded)


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


def test_without_a_process_nothing_is_asked() -> None:
    assert check_probes(pod(CONTAINER, ready=True), None) == (False, "exec probe: there is no process")


@pytest.mark.parametrize("demanded", [True, False])
def test_a_word_that_is_not_heard_is_missed_where_it_was_heard_before(demanded: bool) -> None:
    assert check_probes(None, demanded=demanded) == (
        False if demanded else None,
        "exec probe: what the kubelet reports is not known (refused)",
    )


def test_of_grpc_the_port_is_looked_at_then(served_web: Web) -> None:
    listening = t.cast(Probe, {"kind": "grpc", "host": "127.0.0.1", "port": served_web.port})
    silent = t.cast(Probe, {"kind": "grpc", "host": "127.0.0.1", "port": 1})
    assert check_probes(None, PROCESS, listening)[0] is None
    ok, text = check_probes(None, PROCESS, silent, EXEC)
    assert ok is False
    assert text.startswith("exec and grpc probe: what the kubelet reports is not known (refused); 127.0.0.1:1: ")
    assert check_probes(pod(CONTAINER, ready=True), PROCESS, silent)[0]


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
