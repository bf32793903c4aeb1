# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slow checks."""

from __future__ import annotations

import asyncio
import typing as t

import pytest
from nodecraft_device_plugin import http, probes
from nodecraft_device_plugin.config import ExecCheck, HealthRules, HttpCheck
from nodecraft_device_plugin.devices import Candidate, Node, Outcome
from running_plugin import run

DEVICE = Candidate("a", (Node("/dev/a", "/dev/a", ("char", 1, 1)),))


def probe(rules: HealthRules, commands: probes.Commands | None = None) -> t.Coroutine[t.Any, t.Any, Outcome]:
    return probes.probe(DEVICE, rules, commands or probes.Commands())


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("exit 0", Outcome(True)),
        ("test $DEVICE_IDS:$DEVICE_PATHS = a:/dev/a", Outcome(True)),
        ("echo hot; exit 1", Outcome(False, "sh ended with status 1: hot")),
        ("echo what; exit 7", Outcome(None, "sh ended with status 7: what")),
        ("exec sleep 60", Outcome(None, "sh did not end within 0.5 s")),
    ],
)
def test_a_command(script: str, outcome: Outcome) -> None:
    assert run(probe(HealthRules(exec=ExecCheck(("sh", "-c", script), 0.5)))) == outcome


def test_a_missing_command_is_unknown() -> None:
    outcome = run(probe(HealthRules(exec=ExecCheck(("/nowhere/check",)))))
    assert outcome == Outcome(None, "/nowhere/check cannot be started: No such file or directory")


class Immortal:
    """A process that hangs in the kernel and ignores all signals."""

    returncode: int | None = None

    async def communicate(self) -> tuple[bytes, None]:
        await asyncio.Event().wait()
        return b"", None

    async def wait(self) -> int:
        await asyncio.Event().wait()
        return 0

    def kill(self) -> None:
        """Do nothing."""


def test_a_command_that_cannot_be_killed_delays_no_other_and_is_started_once() -> None:
    started = []

    async def start(*command: str, **_options: t.Any) -> Immortal:
        started.append((Immortal(), command))
        return started[-1][0]

    async def test() -> list[Outcome]:
        commands = probes.Commands(start, grace=0.01)
        rules = HealthRules(exec=ExecCheck(("check",), 0.01))
        outcomes = [await probe(rules, commands), await probe(rules, commands)]
        with pytest.raises(probes.StillRunning):
            await commands.run(["reset"], [Candidate("b"), DEVICE], 1.0)
        assert len(started) == 1
        with pytest.raises(TimeoutError):
            await commands.run(["reset"], [Candidate("b")], 0.01)
        started[0][0].returncode = -9
        return [*outcomes, await probe(rules, commands)]

    hangs = Outcome(None, "check did not end within 0.01 s")
    left = Outcome(None, "check is not started: an earlier command of a was killed and still runs")
    assert run(asyncio.wait_for(test(), 5)) == [hangs, left, hangs]


def test_a_cancelled_check_ends_although_its_command_does_not() -> None:
    async def start(*_command: str, **_options: t.Any) -> Immortal:
        return Immortal()

    async def test() -> None:
        task = asyncio.create_task(probes.Commands(start, grace=0.01).run(["check"], [DEVICE], 60.0))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait_for(asyncio.wait([task]), 5)
        assert task.cancelled()

    run(test())


@pytest.mark.parametrize(("path", "healthy"), [("/a", True), ("/b", False)])
def test_a_url(path: str, healthy: bool) -> None:
    async def page(_request: http.Request) -> http.Reply:
        return http.text(200, "ok")

    async def test() -> Outcome:
        server = await http.start("127.0.0.1", 0, {"/a": page})
        port = server.sockets[0].getsockname()[1]
        async with server:
            check = HttpCheck(f"http://127.0.0.1:{port}{path}?x={{id}}")
            return await probe(HealthRules(http=check))

    outcome = run(test())
    assert outcome.healthy is healthy
    assert healthy or outcome.reason.endswith("/b?x=a responded with status 404")


def test_an_unserved_url_is_unknown() -> None:
    async def test() -> Outcome:
        server = await http.start("127.0.0.1", 0, {})
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        return await probe(HealthRules(http=HttpCheck(f"http://127.0.0.1:{port}/")))

    assert run(test()).healthy is None
