# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A web server that presents a certificate and may require one, and a proxy in front of it; both record their requests."""

from __future__ import annotations

import functools
import http.server
import json
import select
import socket
import ssl
import threading
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair


class Handler(http.server.BaseHTTPRequestHandler):
    """Responds with the request, as a healthy etcd; forwards what is encrypted."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, server: Server, *arguments: t.Any) -> None:
        self._server = server
        super().__init__(*arguments)

    def setup(self) -> None:
        self._server.connections += 1
        super().setup()

    def do_GET(self) -> None:
        self._server.requests.append((self.path, dict(self.headers)))
        certificate: t.Any = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        subject = dict(name for part in (certificate or {}).get("subject", ()) for name in part)
        response: dict[str, t.Any] = {
            "path": self.path,
            "client": subject.get("commonName"),
            "health": "true",
            "members": [],
        }
        content = json.dumps(response).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def do_CONNECT(self) -> None:
        self._server.requests.append((self.path, dict(self.headers)))
        host, _colon, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as other:
            self.send_response(200)
            self.end_headers()
            pairs = {self.connection: other, other: self.connection}
            while True:
                for ready in select.select(list(pairs), [], [], 10)[0]:
                    data = ready.recv(65536)
                    if not data:
                        self.close_connection = True
                        return
                    pairs[ready].sendall(data)

    def log_message(self, *_arguments: t.Any) -> None:
        """Print nothing."""


class Server:
    """requests: path and headers of each request. connections: how many were opened."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.connections = 0
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, self))
        self._server.daemon_threads = True
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def server_context(directory: Path, authority: Authority, pair: Pair) -> ssl.SSLContext:
    """Of a server with a certificate that requests one of the same authority."""
    context = go_context(directory, pair, authority.certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def go_context(directory: Path, pair: Pair, clients: bytes) -> ssl.SSLContext:
    """A server as Go's with a client-ca-file: it demands a certificate that any of these vouches for, whoever signed that."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    path = directory / "server.pem"
    path.write_bytes(pair.certificate + pair.key)
    context.load_cert_chain(path)
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= 0x80000  # ssl.VERIFY_X509_PARTIAL_CHAIN, from Python 3.10 on
    context.load_verify_locations(cadata=clients.decode("ascii", "ignore"))
    return context
