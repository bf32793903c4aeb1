# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Connections to one server that are kept, with nothing but the standard library: a control plane has no other packages.

A pool may be used from several threads at once; each request has a connection of its own meanwhile.
"""

from __future__ import annotations

import base64
import collections
import http.client
import select
import socket
import ssl
import typing as t
from email.message import Message
from urllib.parse import SplitResult, unquote, urlsplit

from .._plan.common.errors import KubeadmError

Headers = t.Sequence[tuple[str, str]]  # in their order; a name may stand there more than once

_CONNECT_TIMEOUT = 10.0
# The name is no name, as opposed to a resolver that is silent at the moment. EAI_NODATA is not everywhere.
_NO_NAME = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


class ConnectionFailure(Exception):
    """Nothing was answered. lasting: it is the address or a certificate, and no sign of a restart."""

    def __init__(self, problem: str, *, lasting: bool = False) -> None:
        super().__init__(problem)
        self.lasting = lasting


class ReadTimeout(Exception):
    """The request was sent, and nothing came back in time."""


class Response(t.NamedTuple):
    """What came back."""

    status: int
    headers: Message[str, str]
    data: bytes


class Proxy(t.NamedTuple):
    """What stands between. url: C(http://[USER:PASSWORD@]HOST[:PORT]). headers: for itself."""

    url: str
    headers: t.Mapping[str, str] = {}


class _TlsConnection(http.client.HTTPConnection):
    """Like C(HTTPSConnection), which cannot ask for a certificate of another name than the host's."""

    default_port = 443

    def __init__(self, host: str, port: int, *, context: ssl.SSLContext, server_name: str, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._context = context
        self._server_name = server_name

    def connect(self) -> None:
        """Connect, by a proxy where there is one, and shake hands."""
        super().connect()
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self._server_name)


class Pool:
    """One server. url: with or without a path in front of all others. context: for C(https).

    server_name: the name that its certificate is for, where that is not the host's.
    """

    def __init__(
        self, url: str, *, context: ssl.SSLContext | None = None, server_name: str = "", proxy: Proxy | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self.context = context
        self._place = _checked(self.url, ("https", "http"), "address of the API server")
        self._server_name = server_name or self._place.hostname or ""
        self._proxy_place = _checked(proxy.url, ("http",), "proxy") if proxy else None
        self._proxy_headers = (
            {**_credentials_in(self._proxy_place), **proxy.headers} if proxy and self._proxy_place else {}
        )
        # A proxy is told the whole address, and who asks, with each request that is not encrypted.
        told = bool(proxy) and self._place.scheme == "http"
        self._prefix = self.url if told else self._place.path
        self._headers_of_each = tuple(self._proxy_headers.items()) if told else ()
        self._idle: collections.deque[http.client.HTTPConnection] = collections.deque()

    def request(self, verb: str, target: str, *, headers: Headers, body: bytes | None, timeout: float) -> Response:
        """Send one request, once. target: path and query. Raises ValueError for a header that cannot be sent."""
        connection = self._kept() or self._opened(timeout)
        try:
            connection.sock.settimeout(timeout)
            connection.putrequest(verb, f"{self._prefix}{target}")
            for name, value in (*headers, *self._headers_of_each):
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            found = Response(answer.status, answer.headers, answer.read())
        except ValueError:
            connection.close()
            raise
        except (socket.timeout, TimeoutError) as exc:  # one and the same from Python 3.10 on
            connection.close()
            raise ReadTimeout(f"no answer within {timeout:.0f} s") from exc
        except (OSError, http.client.HTTPException) as exc:
            connection.close()
            raise _failure(exc) from exc
        if answer.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return found

    def close(self) -> None:
        """End the connections that are not used."""
        while self._idle:
            self._idle.pop().close()

    def _kept(self) -> http.client.HTTPConnection | None:
        """A connection that was used before and that the server has not ended since."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            # Nothing was asked, so what can be read is the end.
            if not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()

    def _opened(self, timeout: float) -> http.client.HTTPConnection:
        connection = self._new(min(timeout, _CONNECT_TIMEOUT))
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as exc:
            connection.close()
            raise _failure(exc) from exc
        return connection

    def _new(self, timeout: float) -> http.client.HTTPConnection:
        first = self._proxy_place or self._place
        host, port = first.hostname or "", first.port or _port(first)
        if self._place.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=timeout)
        context = self.context or ssl.create_default_context()
        connection = _TlsConnection(host, port, context=context, server_name=self._server_name, timeout=timeout)
        if self._proxy_place:
            connection.set_tunnel(
                self._place.hostname or "", self._place.port or _port(self._place), self._proxy_headers
            )
        return connection


def _port(place: SplitResult) -> int:
    return 443 if place.scheme == "https" else 80


def _credentials_in(place: SplitResult) -> dict[str, str]:
    """The header of what stands before the host of a proxy."""
    if place.username is None:
        return {}
    text = f"{unquote(place.username)}:{unquote(place.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


def _checked(url: str, schemes: t.Sequence[str], what: str) -> SplitResult:
    """A URL in its parts. Raises KubeadmError when it is none that can be used; that does not show what stands before its host."""
    try:
        place = urlsplit(url)
        valid = place.scheme in schemes and bool(place.hostname) and (place.port is None or place.port > 0)
    except ValueError:
        valid = False
    if not valid:
        shown = url.rpartition("@")[2]
        raise KubeadmError(
            f"invalid {what} {shown!r}: must be {' or '.join(f'{scheme}://HOST:PORT' for scheme in schemes)}."
        )
    return place


def _failure(error: Exception) -> ConnectionFailure:
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if "EOF" in words:
        lasting = False  # a load balancer with no API server behind it hangs up before it shows a certificate
    elif isinstance(error, socket.gaierror):
        lasting = error.errno in _NO_NAME
    else:
        lasting = isinstance(error, ssl.SSLError)
    return ConnectionFailure(words, lasting=lasting)
