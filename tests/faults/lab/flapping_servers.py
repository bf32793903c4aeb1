# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers on a node for a busy cluster: one for names, which stays, and an API group and a webhook, which restart again and again.

    python3 flapping_servers.py "$(cat certificate-and-key.pem)"

It ends when its input is closed. Each start is printed as a line of JSON with the number of requests that were served until then. Python's standard
library only.
"""

from __future__ import annotations

import http.server
import json
import socket
import ssl
import sys
import tempfile
import threading
import time

NAMES_PORT, GROUP_PORT, WEBHOOK_PORT = 5353, 8444, 8445
# How long each of them is there, and how long it is away.
SECONDS = {GROUP_PORT: (5.0, 4.0), WEBHOOK_PORT: (7.0, 3.0)}
GROUP = "busy.example.com"
_RESOURCES = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/v1", "resources": []}


class Handler(http.server.BaseHTTPRequestHandler):
    """An API group without resources, and a webhook that allows everything."""

    served = 0

    def do_GET(self) -> None:
        """The group's resources."""
        self._send(_RESOURCES)

    def do_POST(self) -> None:
        """A review."""
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response = {"uid": review["request"]["uid"], "allowed": True}
        self._send({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response})

    def _send(self, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        Handler.served += 1

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Nothing for each request."""


class Server(http.server.ThreadingHTTPServer):
    """One that takes connections only from clients that speak TLS."""

    daemon_threads = True

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(("", port), Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is none of ours."""


def flap(port: int, context: ssl.SSLContext) -> None:
    """Serve, and be away, without end."""
    up, down = SECONDS[port]
    while True:
        server = Server(port, context)
        sys.stdout.write(json.dumps({"port": port, "served": Handler.served}) + "\n")
        sys.stdout.flush()
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        time.sleep(up)
        server.shutdown()
        server.server_close()
        time.sleep(down)


def serve_names() -> None:
    """Send each question back, which is a response with its identifier."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("", NAMES_PORT))
    while True:
        server.sendto(*server.recvfrom(4096))


def main() -> None:
    """Serve until the input is closed."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.NamedTemporaryFile("w") as pem:
        pem.write(sys.argv[1])
        pem.flush()
        context.load_cert_chain(pem.name)
    threading.Thread(target=serve_names, daemon=True).start()
    for port in SECONDS:
        threading.Thread(target=flap, args=(port, context), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
