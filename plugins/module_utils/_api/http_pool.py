# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections to one server, which are reused.

A pool may be used from several threads at once; each request has a connection of its own meanwhile.
"""

from __future__ import annotations

import collections
import http.client
import select
import socket
import ssl

from .._engine.http_requests import Headers, Response, Server

# Shorter than the timeout of a request, so that the next of several addresses is tried soon.
_CONNECT_TIMEOUT = 10.0
# The name does not exist, as opposed to a resolver that does not respond. EAI_NODATA is not on every system.
_NO_NAME = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


class ConnectionFailure(Exception):
    """No response. permanent: the cause is the address or a certificate, and no restart of the server."""

    def __init__(self, problem: str, *, permanent: bool = False) -> None:
        super().__init__(problem)
        self.permanent = permanent


class ReadTimeout(Exception):
    """The request was sent, and no response came in time."""


class Pool:
    """The connections to one server."""

    def __init__(self, server: Server) -> None:
        self.url = server.url
        self._server = server
        self._idle: collections.deque[http.client.HTTPConnection] = collections.deque()

    def request(self, verb: str, target: str, *, headers: Headers, body: bytes | None, timeout: float) -> Response:
        """Send one request, once. target: path and query. Raises ValueError for a header that cannot be sent."""
        connection = self._idle_connection() or self._new_connection(timeout)
        try:
            connection.sock.settimeout(timeout)
            response = self._server.send(connection, verb, target, headers=headers, body=body)
            result = Response(response.status, response.headers, response.read())
        except ValueError:
            connection.close()
            raise
        except (socket.timeout, TimeoutError) as exc:  # one and the same from Python 3.10 on
            connection.close()
            raise ReadTimeout(f"no answer within {timeout:.0f} s") from exc
        except (OSError, http.client.HTTPException) as exc:
            connection.close()
            raise _connection_failure(exc) from exc
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return result

    def close(self) -> None:
        """End the connections that are not used."""
        while self._idle:
            self._idle.pop().close()

    def _idle_connection(self) -> http.client.HTTPConnection | None:
        """A connection that was used before and that the server has not closed since."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            # No request is open, so readable data is the end of the connection.
            if not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()

    def _new_connection(self, timeout: float) -> http.client.HTTPConnection:
        try:
            return self._server.connect(min(timeout, _CONNECT_TIMEOUT))
        except (OSError, http.client.HTTPException) as exc:
            raise _connection_failure(exc) from exc


def _connection_failure(error: Exception) -> ConnectionFailure:
    message = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if "EOF" in message:
        permanent = False  # a load balancer with no API server behind it hangs up before it shows a certificate
    elif isinstance(error, socket.gaierror):
        permanent = error.errno in _NO_NAME
    else:
        permanent = isinstance(error, ssl.SSLError)
    return ConnectionFailure(message, permanent=permanent)
