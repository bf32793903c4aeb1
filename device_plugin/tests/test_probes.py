# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that take their time."""

from __future__ import annotations

import pytest
from nodecraft_device_plugin import http, probes
from nodecraft_device_plugin.config import ExecCheck, HealthRules, HttpCheck
from nodecraft_device_plugin.devices import Candidate, Node, Outcome
from plugin_at_work import run

DEVICE = Candidate("a", (Node("/dev/a", "/dev/a", ("char", 1, 1)),))


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("exit 0", Outcome(True)),
        ("test $DEVICE_IDS:$DEVICE_PATHS = a:/dev/a", Outcome(True)),
        ("echo hot; exit 1", Outcome(False, "sh ended with 1: hot")),
        ("echo what; exit 7", Outcome(None, "sh ended with 7: what")),
        ("exec sleep 60", Outcome(None, "sh has not ended after 0.5 s")),
    ],
)
def test_a_command(script: str, outcome: Outcome) -> None:
    assert run(probes.probe(DEVICE, HealthRules(exec=ExecCheck(("sh", "-c", script), 0.5)))) == outcome


def test_a_command_that_is_not_there_says_nothing() -> None:
    said = run(probes.probe(DEVICE, HealthRules(exec=ExecCheck(("/nowhere/check",)))))
    assert said == Outcome(None, "/nowhere/check cannot be started: No such file or directory")


@pytest.mark.parametrize(("path", "healthy"), [("/a", True), ("/b", False)])
def test_a_url(path: str, healthy: bool) -> None:
    async def page(_request: http.Request) -> http.Reply:
        return http.text(200, "ok")

    async def test() -> Outcome:
        server = await http.start("127.0.0.1", 0, {"/a": page})
        port = server.sockets[0].getsockname()[1]
        async with server:
            check = HttpCheck(f"http://127.0.0.1:{port}{path}?x={{id}}")
            return await probes.probe(DEVICE, HealthRules(http=check))

    said = run(test())
    assert said.healthy is healthy
    assert healthy or said.reason.endswith("/b?x=a answered 404")


def test_a_url_that_nobody_serves_says_nothing() -> None:
    async def test() -> Outcome:
        server = await http.start("127.0.0.1", 0, {})
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        return await probes.probe(DEVICE, HealthRules(http=HttpCheck(f"http://127.0.0.1:{port}/")))

    assert run(test()).healthy is None
