# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands and URLs that check the health of a device, and commands that run before a container starts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import typing as t
from urllib.parse import urlsplit

from nodecraft_device_plugin import devices
from nodecraft_device_plugin.config import ExecCheck, HealthRules, HttpCheck, fill
from nodecraft_device_plugin.devices import Candidate, Outcome

# Limits the processors that the checks of a thousand devices use.
AT_ONCE = 8


class StillRunning(Exception):
    """A command is not started because an earlier one was killed and still runs."""


async def probe_all(candidates: t.Iterable[Candidate], rules: HealthRules, commands: Commands) -> dict[str, Outcome]:
    """Check devices, a few at a time. Returns the results by device id."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(candidate: Candidate) -> tuple[str, Outcome]:
        async with limit:
            return candidate.id, await probe(candidate, rules, commands)

    return dict(await asyncio.gather(*(one(candidate) for candidate in candidates)))


async def probe(candidate: Candidate, rules: HealthRules, commands: Commands) -> Outcome:
    """Check one device; the first check that does not report healthy decides."""
    outcome = devices.HEALTHY
    if rules.exec:
        outcome = await _exec(candidate, rules.exec, commands)
    if rules.http and outcome.healthy:
        outcome = await _http(candidate, rules.http)
    return outcome


def environment(found: t.Iterable[Candidate]) -> dict[str, str]:
    """The environment of a command, with DEVICE_IDS and DEVICE_PATHS, separated by commas."""
    candidates = list(found)
    return {
        **os.environ,
        "DEVICE_IDS": ",".join(candidate.id for candidate in candidates),
        "DEVICE_PATHS": ",".join(node.host_path for candidate in candidates for node in candidate.nodes),
    }


class Commands:
    """Runs the commands of a resource. A process that hangs in the kernel survives its kill; until it ends, no other one is started for its devices.

    start: creates a process, as asyncio does. grace: seconds in which a killed process should end.
    """

    def __init__(
        self, start: t.Callable[..., t.Awaitable[t.Any]] = asyncio.create_subprocess_exec, grace: float = 1.0
    ) -> None:
        self._start = start
        self._grace = grace
        self._unended: dict[str, t.Any] = {}

    async def run(self, command: t.Sequence[str], found: t.Sequence[Candidate], timeout: float) -> tuple[int, str]:
        """Run a command for devices. Returns its exit status and the end of its output.

        Raises OSError, TimeoutError, and StillRunning when an earlier command of these devices was killed and still runs.
        """
        for candidate in found:
            if self._is_running(candidate.id):
                raise StillRunning(f"an earlier command of {candidate.id} was killed and still runs")
        process = await self._start(
            *command,
            env=environment(found),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _stderr = await asyncio.wait_for(process.communicate(), timeout)
        except BaseException:
            self._unended |= {candidate.id: process for candidate in found}
            await self._kill(process)
            raise
        return process.returncode or 0, output.decode(errors="replace").strip()[-200:]

    def _is_running(self, identifier: str) -> bool:
        process = self._unended.get(identifier)
        if process and process.returncode is not None:
            del self._unended[identifier]
        return identifier in self._unended

    async def _kill(self, process: t.Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), self._grace)


async def _exec(candidate: Candidate, check: ExecCheck, commands: Commands) -> Outcome:
    program = check.command[0]
    try:
        status, output = await commands.run(check.command, [candidate], check.timeout)
    except StillRunning as error:
        return Outcome(None, f"{program} is not started: {error}")
    except TimeoutError:
        return Outcome(None, f"{program} did not end within {check.timeout:g} s")
    except OSError as error:
        return Outcome(None, f"{program} cannot be started: {error.strerror}")
    if status == 0:
        return devices.HEALTHY
    return Outcome(False if status == 1 else None, f"{program} ended with status {status}: {output}")


async def _http(candidate: Candidate, check: HttpCheck) -> Outcome:
    url = fill(check.url, {"id": candidate.id})
    try:
        async with asyncio.timeout(check.timeout):
            status = await _status_of(url)
    except TimeoutError:
        return Outcome(None, f"{url} did not respond within {check.timeout:g} s")
    except (OSError, ValueError) as error:
        return Outcome(None, f"{url} did not respond: {error}")
    return devices.HEALTHY if status < 400 else Outcome(False, f"{url} responded with status {status}")


async def _status_of(url: str) -> int:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    try:
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        words = (await reader.readline()).split()
        if len(words) < 2:
            raise ValueError("invalid response: must be HTTP")
        return int(words[1])
    finally:
        writer.close()
