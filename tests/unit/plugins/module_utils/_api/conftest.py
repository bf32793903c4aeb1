# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server for each test that uses one."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi


@pytest.fixture(name="serve")
def fixture_serve() -> t.Iterator[t.Callable[..., FakeApi]]:
    """Start a server with nodes."""
    servers: list[FakeApi] = []

    def serve(*nodes: dict[str, t.Any]) -> FakeApi:
        servers.append(FakeApi(*nodes))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()
