# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses, proxies and what goes wrong with them."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import tls
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.engine_errors import CredentialError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.http_requests import Proxy, Server, header_lines
from ansible_collections.nodecraft.kubeadm.tests.unit.support import tls_server
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority


@pytest.fixture(name="peer")
def fixture_peer() -> t.Iterator[tls_server.Server]:
    """A server of the tests."""
    server = tls_server.Server()
    yield server
    server.close()


def test_path_of_the_address_comes_before_each_target(peer: tls_server.Server) -> None:
    assert Server(f"{peer.url}/base/").request("GET", "/a?b=c", headers=[("X", "1")], timeout=5).status == 200
    path, headers = peer.requests[0]
    assert (path, headers["X"], headers["Host"]) == ("/base/a?b=c", "1", f"127.0.0.1:{peer.port}")


class Listener:
    """Sends these texts to whoever connects, with a pause before each but the first. received: what it was sent before that."""

    def __init__(self, texts: t.Iterable[bytes], pause: float = 0.05) -> None:
        self.received = b""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._texts = texts
        self._pause = pause
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _address = self._socket.accept()
        # Whoever has heard enough hangs up.
        with connection, contextlib.suppress(OSError):
            while not self.received.endswith(b"\r\n\r\n"):
                self.received += connection.recv(65536)
            for text in self._texts:
                connection.sendall(text)
                time.sleep(self._pause)

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._thread.join()
        self._socket.close()


def test_header_of_the_caller_replaces_that_of_the_library() -> None:
    """Go's servers refuse a request that names two hosts."""
    with Listener([b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], 0) as peer:
        headers = [("Host", "health.example.com"), ("Accept-Encoding", "gzip")]
        assert Server(f"http://127.0.0.1:{peer.port}").request("GET", "/", headers=headers, timeout=5).status == 200
    assert sorted(peer.received.split(b"\r\n")[1:-2]) == [b"Accept-Encoding: gzip", b"Host: health.example.com"]


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"])
def test_response_that_comes_in_drops_ends_in_time(begin: bytes) -> None:
    with Listener([begin, *itertools.repeat(b".", 60)]) as peer:
        began = time.monotonic()
        with pytest.raises(OSError, match="timed out"):
            Server(f"http://127.0.0.1:{peer.port}").request("GET", "/", timeout=0.2)
        assert time.monotonic() - began < 2


def test_dot_at_the_end_of_a_name_is_none_of_the_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    server = tls_server.Server(tls_server.server_context(tmp_path, authority, authority.issue()))
    try:
        context = tls.client_context(authority.certificate)
        for name in ("localhost", "localhost."):
            assert Server(server.url, context=context, server_name=name).request("GET", "/", timeout=5).status == 200
    finally:
        server.close()


def test_address_of_ipv6_is_in_brackets_for_a_proxy() -> None:
    with Listener([b"HTTP/1.0 502 none\r\n\r\n"], 0) as peer, pytest.raises(OSError, match="502"):
        Server("https://[::1]:6443", proxy=Proxy(f"http://127.0.0.1:{peer.port}")).connect(5)
    assert peer.received.startswith(b"CONNECT [::1]:6443 HTTP/")


def test_proxy_gets_the_whole_address_of_what_is_not_encrypted(peer: tls_server.Server) -> None:
    proxy = Proxy(peer.url.replace("//", "//me:p%40ss@"), {"User-Agent": "x"})
    assert Server("http://api.example.com/k8s", proxy=proxy).request("GET", "/version", timeout=5).status == 200
    path, headers = peer.requests[0]
    assert path == "http://api.example.com/k8s/version"
    assert (headers["Proxy-Authorization"], headers["User-Agent"]) == ("Basic bWU6cEBzcw==", "x")


@pytest.mark.parametrize(
    "url",
    [
        *("api.example.com", "https://", "ftp://a", "https://a:b", "https://a:99999", "https://[a"),
        *("https://api..example.com", f"https://{'a' * 64}.example.com"),
    ],
)
def test_address_that_cannot_be_used_is_named(url: str) -> None:
    with pytest.raises(CredentialError, match=r"invalid address .*: must be https://HOST:PORT or http"):
        Server(url)


def test_proxy_that_cannot_be_used_is_named_without_its_password() -> None:
    with pytest.raises(CredentialError, match=r"invalid proxy 'proxy:1080': must be http://HOST:PORT") as caught:
        Server("https://a", proxy=Proxy("socks5://me:secret@proxy:1080"))
    assert "secret" not in str(caught.value)


def test_each_value_of_a_header_is_a_line() -> None:
    values = {"Authorization": "Bearer t\n", "Impersonate-Group": ["a", "b"]}
    assert header_lines(values) == [
        ("Authorization", "Bearer t"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
    ]
