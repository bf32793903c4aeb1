# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections that are reused, encrypted ones, proxies, and their failures."""

from __future__ import annotations

import socket
import ssl
import threading
import typing as t
from concurrent.futures import ThreadPoolExecutor

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.http_pool import (
    ConnectionFailure,
    Pool,
    ReadTimeout,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import http_requests
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.http_requests import Response
from ansible_collections.nodecraft.kubeadm.tests.unit.support.tls_server import Server


@pytest.fixture(name="server")
def fixture_server() -> t.Iterator[Server]:
    """A server of the tests."""
    server = Server()
    yield server
    server.close()


def get(pool: Pool, target: str = "/a", *headers: tuple[str, str], timeout: float = 5) -> Response:
    """One request."""
    return pool.request("GET", target, headers=headers, body=None, timeout=timeout)


def test_connections_are_reused(server: Server) -> None:
    pool = Pool(http_requests.Server(server.url + "/base/"))
    for _round in range(3):
        assert get(pool, "/a?b=c", ("X", "1"), ("X", "2")).status == 200
    pool.close()
    assert server.connections == 1
    path, headers = server.requests[0]
    assert (path, headers["Host"]) == ("/base/a?b=c", f"127.0.0.1:{server.port}")


def test_so_many_requests_so_many_connections(server: Server) -> None:
    pool = Pool(http_requests.Server(server.url))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: get(pool, f"/{number}"), range(100)))
    assert server.connections <= 4
    assert len(server.requests) == 100


def test_a_connection_that_the_server_ended_is_replaced() -> None:
    """As an API server does when it restarts: the request after it does not fail."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        for _round in range(2):
            connection, _address = listener.accept()
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            connection.close()
            ended.set()

    thread = threading.Thread(target=serve)
    thread.start()
    pool = Pool(http_requests.Server(f"http://127.0.0.1:{listener.getsockname()[1]}"))
    assert get(pool).status == 200
    ended.wait()
    assert get(pool).status == 200
    thread.join()
    listener.close()


def test_missing_response_is_a_read_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(ReadTimeout, match="no answer within 0 s"):
        get(Pool(http_requests.Server(f"http://127.0.0.1:{listener.getsockname()[1]}")), timeout=0.05)


def test_what_refuses_connections() -> None:
    with pytest.raises(ConnectionFailure, match=r"^Connection refused$") as caught:
        get(Pool(http_requests.Server("http://127.0.0.1:1")))
    assert not caught.value.permanent


def test_a_header_that_cannot_be_sent(server: Server) -> None:
    with pytest.raises(ValueError, match="Invalid header value"):
        get(Pool(http_requests.Server(server.url)), "/a", ("X", "a\nb"))


@pytest.mark.parametrize(
    ("error", "permanent"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), True),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), False),
        (ssl.SSLCertVerificationError(1, "certificate verify failed"), True),
        (ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), False),
        (OSError(113, "No route to host"), False),
    ],
)
def test_permanent_failures_are_distinguished(monkeypatch: pytest.MonkeyPatch, error: OSError, permanent: bool) -> None:
    def fail(*_arguments: t.Any, **_more: t.Any) -> t.NoReturn:
        raise error

    monkeypatch.setattr(socket, "create_connection", fail)
    with pytest.raises(ConnectionFailure) as caught:
        get(Pool(http_requests.Server("http://api.example.com")))
    assert caught.value.permanent is permanent
