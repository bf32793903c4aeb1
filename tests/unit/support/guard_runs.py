# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of the module C(placement_guard) against a server that puts guards into force while a caller waits, for tests."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.http_pool import Pool
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.placement_guard_steps import PlacementGuardSteps
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.http_requests import Server
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import (
    BINDING,
    MUTATION,
    MUTATION_BINDING,
    POLICY,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, client_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_guards import FakeGuards
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import NAME, NODES, PARAMS, TRIAL
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import Run, StepRunner, run_steps

ENFORCED: Json = {"enforce": True}
AFFINITY: Json = {**ENFORCED, "on_node_name": "affinity"}
STRICT: Json = {**ENFORCED, "require_request": True}
TRIED = [f"POST {POLICY} {TRIAL}", f"POST {BINDING} {TRIAL}", f"DELETE {BINDING} {TRIAL}", f"DELETE {POLICY} {TRIAL}"]
PINS = [f"POST {MUTATION} {NAME}", f"POST {MUTATION_BINDING} {NAME}"]


class GuardRun(Run):
    """A run on a guard."""

    @property
    def message(self) -> str:
        """The error; empty when it did not fail."""
        return str(self.error or "")


def run(api: FakeGuards, *, dry: bool = False, **params: t.Any) -> GuardRun:
    """Run the steps as the runner does, while the API server puts what is written into force."""
    clock = Clock()
    clock.on_sleep = api.sync_policies
    steps = PlacementGuardSteps(
        {**PARAMS, **params},
        connect=lambda: client_of(api.url, clock, connect_to=lambda url: Pool(Server(url.replace("https", "http")))),
        diff=True,
    )
    return run_steps(StepRunner(steps, dry=dry), clock, GuardRun)


def object_names(api: FakeGuards) -> list[str]:
    """The kind and name of each object of the guard."""
    return [f"{kind} {name}" for kind, name in api.guards]


Serve = t.Callable[..., FakeGuards]


@pytest.fixture(name="serve_guards")
def fixture_serve_guards() -> t.Iterator[Serve]:
    """Start a server with nodes."""
    servers: list[FakeGuards] = []

    def serve(*nodes: Json, **more: t.Any) -> FakeGuards:
        servers.append(FakeGuards(*(nodes or NODES), **more))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


@pytest.fixture(name="api")
def fixture_api(serve_guards: Serve) -> FakeGuards:
    """A server with nodes, two of which are reserved for dongles."""
    return serve_guards()
