# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests over HTTP and HTTPS, with nothing but the standard library: a node has no other packages."""

from __future__ import annotations

import base64
import functools
import http.client
import io
import socket
import ssl
import time
import typing as t
from email.message import Message
from urllib.parse import SplitResult, unquote, urlsplit

from . import tls
from .engine_errors import CredentialError

Headers = t.Sequence[tuple[str, str]]  # in their order; a name may stand there more than once
HeaderValues = t.Mapping[str, t.Union[str, t.Sequence[str]]]

# What a request may raise when there is no response. A certificate that is not trusted is an OSError, too.
REQUEST_ERRORS = (OSError, ValueError, OverflowError, http.client.HTTPException)


class Response(t.NamedTuple):
    """A response whose body was read."""

    status: int
    headers: Message[str, str]
    data: bytes


class Proxy(t.NamedTuple):
    """A proxy. url: C(http://[USER:PASSWORD@]HOST[:PORT]). headers: for itself."""

    url: str
    headers: t.Mapping[str, str] = {}


class Server:
    """One server. url: with or without a path in front of all others. context: for C(https), when not that of a client which trusts
    the authorities of the system. server_name: the name that its certificate is for, where that is not the host's.

    Raises CredentialError for an address that cannot be used.
    """

    def __init__(
        self, url: str, *, context: ssl.SSLContext | None = None, server_name: str = "", proxy: Proxy | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self._address = _split_url(self.url, ("https", "http"), "address")
        # No certificate has the dot at the end of a complete name.
        self._server_name = (server_name or self._address.hostname or "").rstrip(".")
        self._context = (context or tls.client_context()) if self._address.scheme == "https" else None
        self._proxy = _split_url(proxy.url, ("http",), "proxy") if proxy else None
        self._proxy_headers = {**_credentials_in(self._proxy), **proxy.headers} if proxy and self._proxy else {}
        # A proxy gets the whole address, and who uses it, with each request that is not encrypted.
        is_forwarded = self._proxy is not None and self._context is None
        self._prefix = self.url if is_forwarded else self._address.path
        self._own_headers = tuple(self._proxy_headers.items()) if is_forwarded else ()

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        """A connection that is open. Raises OSError, and http.client.HTTPException for the response of a proxy."""
        connection = self._new_connection(timeout)
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        return connection

    def send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        *,
        headers: Headers = (),
        body: bytes | None = None,
    ) -> http.client.HTTPResponse:
        """Send one request and read the head of its response. target: path and query.

        Raises ValueError for a header that cannot be sent, and what connect raises.
        """
        # The library has one of its own for each of these, and a server refuses a request with two hosts.
        names = {name.lower() for name, _value in headers}
        skipped = {"skip_host": "host" in names, "skip_accept_encoding": "accept-encoding" in names}
        connection.putrequest(method, f"{self._prefix}{target}", **skipped)
        for name, value in (*headers, *self._own_headers):
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return connection.getresponse()

    def request(
        self, method: str, target: str, *, headers: Headers = (), body: bytes | None = None, timeout: float
    ) -> Response:
        """One request over a connection of its own, with its response within the timeout. Raises one of REQUEST_ERRORS."""
        deadline = time.monotonic() + timeout
        connection = self.connect(timeout)
        # The library calls it, and nothing else.
        connection.response_class = t.cast("t.Any", functools.partial(_DeadlineResponse, deadline=deadline))
        try:
            response = self.send(connection, method, target, headers=headers, body=body)
            return Response(response.status, response.headers, response.read())
        finally:
            connection.close()

    def _new_connection(self, timeout: float) -> http.client.HTTPConnection:
        first = self._proxy or self._address
        host, port = first.hostname or "", _port(first)
        if self._context is None:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        connection = _TlsConnection(host, port, self._context, self._server_name, timeout)
        if self._proxy:
            target = self._address.hostname or ""
            # Before Python 3.13 the library does not do that.
            target = f"[{target}]" if ":" in target else target
            connection.set_tunnel(target, _port(self._address), self._proxy_headers)
        return connection


class _DeadlineResponse(http.client.HTTPResponse):
    """A response that ends at a deadline: the timeout of a socket begins again with each byte."""

    def __init__(self, sock: socket.socket, *arguments: t.Any, deadline: float, **more: t.Any) -> None:
        super().__init__(sock, *arguments, **more)
        self.fp = io.BufferedReader(_DeadlineReader(self.fp, sock, deadline))


class _DeadlineReader(io.RawIOBase):
    def __init__(self, stream: io.BufferedReader, sock: socket.socket, deadline: float) -> None:
        super().__init__()
        self._stream = stream
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: t.Any) -> int:
        """Read what comes until the deadline. Raises OSError behind it."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        self._sock.settimeout(left)
        return self._stream.readinto1(buffer)

    def close(self) -> None:
        """End the stream, too."""
        self._stream.close()
        super().close()


class _TlsConnection(http.client.HTTPConnection):
    """Like C(HTTPSConnection), which cannot check a certificate for another name than the host's."""

    default_port = 443

    def __init__(self, host: str, port: int, context: ssl.SSLContext, server_name: str, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._context = context
        self._server_name = server_name

    def connect(self) -> None:
        """Connect, by a proxy where there is one, and shake hands."""
        super().connect()
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self._server_name)


def _port(address: SplitResult) -> int:
    return address.port or (443 if address.scheme == "https" else 80)


def _credentials_in(address: SplitResult) -> dict[str, str]:
    """The header of what stands before the host of a proxy."""
    if address.username is None:
        return {}
    return {"Proxy-Authorization": basic_auth(unquote(address.username), unquote(address.password or ""))}


def basic_auth(user: str, password: str) -> str:
    """The value of a header that names a user and its password."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def header_lines(values: HeaderValues) -> Headers:
    """The headers as they are sent: one for each value."""
    return [
        (name, text.strip())
        for name, value in values.items()
        for text in ([value] if isinstance(value, str) else value)
    ]


def _split_url(url: str, schemes: t.Sequence[str], what: str) -> SplitResult:
    """A URL in its parts. Raises CredentialError when it cannot be used, without what stands before its host."""
    try:
        address = urlsplit(url)
        valid = address.scheme in schemes and bool(address.hostname) and (address.port is None or address.port > 0)
        (address.hostname or "").encode("idna")  # as the library does, later, and with an error that names nothing
    except ValueError:
        valid = False
    if not valid:
        expected = " or ".join(f"{scheme}://HOST:PORT" for scheme in schemes)
        raise CredentialError(f"invalid {what} {url.rpartition('@')[2]!r}: must be {expected}")
    return address


def describe_failure(error: Exception) -> str:
    """Why there was no response."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"it rejects the client certificate, or does not use TLS ({error.reason or error})"
    if isinstance(error, http.client.HTTPException):
        return f"it cannot be queried over HTTP ({type(error).__name__})"
    return str(error)
