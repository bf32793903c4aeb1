# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands and URLs that tell the health of a device, and commands before a container starts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import typing as t
from urllib.parse import urlsplit

from nodecraft_device_plugin import devices
from nodecraft_device_plugin.config import ExecCheck, HealthRules, HttpCheck, fill
from nodecraft_device_plugin.devices import Candidate, Outcome

# So that the checks of a thousand devices do not take all of a node's processors.
AT_ONCE = 8


class Survived(Exception):
    """A command is not started because one before it cannot be killed."""


async def probe_all(candidates: t.Iterable[Candidate], rules: HealthRules, commands: Commands) -> dict[str, Outcome]:
    """Check devices, a few at a time. Returns what was said, by device id."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(candidate: Candidate) -> tuple[str, Outcome]:
        async with places:
            return candidate.id, await probe(candidate, rules, commands)

    return dict(await asyncio.gather(*(one(candidate) for candidate in candidates)))


async def probe(candidate: Candidate, rules: HealthRules, commands: Commands) -> Outcome:
    """Check one device; the first check that is not content decides."""
    outcome = devices.HEALTHY
    if rules.exec:
        outcome = await _exec(candidate, rules.exec, commands)
    if rules.http and outcome.healthy:
        outcome = await _http(candidate, rules.http)
    return outcome


def environment(found: t.Iterable[Candidate]) -> dict[str, str]:
    """What a command finds of its devices: DEVICE_IDS and DEVICE_PATHS, separated by commas."""
    candidates = list(found)
    return {
        **os.environ,
        "DEVICE_IDS": ",".join(candidate.id for candidate in candidates),
        "DEVICE_PATHS": ",".join(node.host_path for candidate in candidates for node in candidate.nodes),
    }


class Commands:
    """Runs the commands of a resource. What hangs in the kernel outlives even its kill; its devices get no other one till it ends.

    start: makes a process, as asyncio does. grace: seconds that a killed one may take to be dead.
    """

    def __init__(
        self, start: t.Callable[..., t.Awaitable[t.Any]] = asyncio.create_subprocess_exec, grace: float = 1.0
    ) -> None:
        self._start = start
        self._grace = grace
        self._surviving: dict[str, t.Any] = {}

    async def run(self, command: t.Sequence[str], found: t.Sequence[Candidate], timeout: float) -> tuple[int, str]:
        """Run a command for devices. Returns its exit status and the end of its output.

        Raises OSError, TimeoutError, and Survived when an earlier one of these devices is not dead yet.
        """
        for candidate in found:
            if self._lives(candidate.id):
                raise Survived(f"an earlier command of {candidate.id} was killed and does not end")
        process = await self._start(
            *command,
            env=environment(found),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _nothing = await asyncio.wait_for(process.communicate(), timeout)
        except BaseException:
            self._surviving |= {candidate.id: process for candidate in found}
            await self._kill(process)
            raise
        return process.returncode or 0, output.decode(errors="replace").strip()[-200:]

    def _lives(self, identifier: str) -> bool:
        process = self._surviving.get(identifier)
        if process and process.returncode is not None:
            del self._surviving[identifier]
        return identifier in self._surviving

    async def _kill(self, process: t.Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), self._grace)


async def _exec(candidate: Candidate, check: ExecCheck, commands: Commands) -> Outcome:
    called = check.command[0]
    try:
        status, output = await commands.run(check.command, [candidate], check.timeout)
    except Survived as error:
        return Outcome(None, f"{called} is not started: {error}")
    except TimeoutError:
        return Outcome(None, f"{called} has not ended after {check.timeout:g} s")
    except OSError as error:
        return Outcome(None, f"{called} cannot be started: {error.strerror}")
    if status == 0:
        return devices.HEALTHY
    return Outcome(False if status == 1 else None, f"{called} ended with {status}: {output}")


async def _http(candidate: Candidate, check: HttpCheck) -> Outcome:
    url = fill(check.url, {"id": candidate.id})
    try:
        async with asyncio.timeout(check.timeout):
            status = await _status_of(url)
    except TimeoutError:
        return Outcome(None, f"{url} has not answered after {check.timeout:g} s")
    except (OSError, ValueError) as error:
        return Outcome(None, f"{url} has not answered: {error}")
    return devices.HEALTHY if status < 400 else Outcome(False, f"{url} answered {status}")


async def _status_of(url: str) -> int:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    try:
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        words = (await reader.readline()).split()
        if len(words) < 2:
            raise ValueError("no HTTP")
        return int(words[1])
    finally:
        writer.close()
