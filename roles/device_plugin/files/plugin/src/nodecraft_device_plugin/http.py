# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small HTTP server for probes and metrics. It shares the event loop, so it responds only while the loop runs."""

from __future__ import annotations

import asyncio
import contextlib
import typing as t
from urllib.parse import parse_qsl

from nodecraft_device_plugin import logs

# Limits of a request; seconds and bytes.
_TIMEOUT = 10.0
_LIMIT = 16384
_PHRASES = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Error",
    503: "Unavailable",
}
# Headers that HTTP requires for a status.
_HEADERS = {401: "WWW-Authenticate: Bearer\r\n"}


class Reply(t.NamedTuple):
    """A response."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


def text(status: int, message: str) -> Reply:
    """A response of plain text."""
    return Reply(status, message.encode() + b"\n")


class Request(t.NamedTuple):
    """A request. headers: by their names in lower case. query: the last value of each key."""

    headers: t.Mapping[str, str]
    query: t.Mapping[str, str]


Route = t.Callable[[Request], t.Awaitable[Reply]]


async def start(address: str, port: int, routes: t.Mapping[str, Route]) -> asyncio.Server:
    """Serve GET requests. address: empty for all, of IPv4 and IPv6. routes: by path. Raises OSError when the port is not available."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_TIMEOUT):
                reply = await _reply(await reader.readuntil(b"\r\n\r\n"), routes)
                writer.write(_head(reply) + reply.body)
                await writer.drain()
        writer.close()

    return await asyncio.start_server(handle, address or None, port, limit=_LIMIT)


async def _reply(request: bytes, routes: t.Mapping[str, Route]) -> Reply:
    first, *lines = request.decode("latin-1").split("\r\n")
    words = first.split()
    if len(words) != 3:
        return text(400, "invalid request: must be HTTP")
    if words[0] != "GET":
        return text(405, "invalid method: must be GET")
    path, _separator, query = words[1].partition("?")
    route = routes.get(path)
    if route is None:
        return text(404, f"invalid path: must be one of {', '.join(sorted(routes))}")
    headers = {
        name.strip().lower(): value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon
    }
    try:
        return await route(Request(headers, dict(parse_qsl(query))))
    except Exception as error:  # A failing page must not affect the others.
        logs.LOGGER.exception("a request failed", extra={"fields": {"path": path}})
        return text(500, str(error))


def _head(reply: Reply) -> bytes:
    return (
        f"HTTP/1.1 {reply.status} {_PHRASES[reply.status]}\r\nContent-Type: {reply.content_type}\r\n"
        f"Content-Length: {len(reply.body)}\r\n{_HEADERS.get(reply.status, '')}Connection: close\r\n\r\n"
    ).encode()
