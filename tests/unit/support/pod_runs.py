# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of the module C(pod_resize) against a server whose kubelets work while a caller waits, for tests."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.pod_resize_steps import PodResizeSteps
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, client_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_pods import FakePods
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import (
    RESTART,
    Json,
    container,
    controller,
    sized,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import Run, StepRunner, run_steps

SET = ("ReplicaSet", "web-5d", "uid-of-ReplicaSet-web-5d")
NAMES = [f"web-{number}" for number in range(1, 6)]
BIGGER: Json = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
OWNER = {"kind": "Deployment", "name": "web"}
NO_ROOM = "Node didn't have enough capacity: cpu, requested: 9000, capacity: 2000"
PARAMS: Json = {
    "namespace": "shop",
    "names": None,
    "label_selector": None,
    "owner": None,
    "containers": [{"name": "app", "resources": BIGGER}],
    "state": "present",
    "template": "keep",
    "allow_restart": False,
    "max_unavailable": "1",
    "on_error": "continue",
    "wait": False,
    "wait_timeout": 120,
    "concurrency": 8,
}


class PodRun(Run):
    """A run on pods."""

    @property
    def pods(self) -> Json:
        return t.cast(Json, self.report["pods"])

    @property
    def outcomes(self) -> dict[str, str]:
        """The outcome of each pod."""
        return {name: entry["outcome"] for name, entry in self.pods.items()}

    @property
    def template(self) -> Json:
        """The only template."""
        (found,) = self.report["templates"].values()
        return t.cast(Json, found)


def run(api: FakePods, *, dry: bool = False, **params: t.Any) -> PodRun:
    """Run the steps as the runner does, while the kubelets work."""
    clock = Clock()
    clock.on_sleep = api.reconcile
    steps = PodResizeSteps({**PARAMS, **params}, connect=lambda: client_of(api.url, clock), diff=True)
    return run_steps(StepRunner(steps, dry=dry), clock, PodRun)


def containers(name: str = "app", **resources: Json) -> list[Json]:
    return [{"name": name, "resources": resources}]


def restarting(name: str) -> Json:
    return sized(name, container(cpu=RESTART))


Serve = t.Callable[..., FakePods]


@pytest.fixture(name="serve_pods")
def fixture_serve_pods() -> t.Iterator[Serve]:
    """Start a server with pods."""
    servers: list[FakePods] = []

    def serve(*pods: Json, **more: t.Any) -> FakePods:
        servers.append(FakePods(*pods, **more))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


@pytest.fixture(name="web")
def fixture_web(serve_pods: Serve) -> FakePods:
    """A Deployment with five pods, and what does not belong to it."""
    mine = [sized(name, owner=SET) for name in NAMES]
    others = [
        sized("web-of-another", owner=("ReplicaSet", "other-1", "uid-of-ReplicaSet-other-1")),
        sized("by-hand"),
        sized("ended", owner=SET, phase="Succeeded"),
        sized("going", owner=SET, deleted=True),
        sized("elsewhere", owner=SET, namespace="bank"),
    ]
    deployment = controller()
    above = ("Deployment", "web", deployment["metadata"]["uid"])
    sets = [
        controller("ReplicaSet", "web-5d", owner=above),
        controller("ReplicaSet", "other-1", owner=("Deployment", "other", "u")),
    ]
    controllers = [("Deployment", deployment), *(("ReplicaSet", entry) for entry in sets)]
    return serve_pods(*mine, *others, controllers=controllers)
