# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The responses of a component: health, metrics and objects, from a real web server on this machine or in place of a request."""

from __future__ import annotations

import base64
import contextlib
import email.message
import http.client
import http.server
import json
import ssl
import tempfile
import textwrap
import threading
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.http_requests import Headers, Response, Server
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import Address, Client, Probe
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import url_of

# The head and one row of /proc/net/tcp: the port and the inode of what listens at 127.0.0.1.
_LISTENERS = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0000000000000000 100 0 0 10 0
"""
INODE = 4711


def hold_port(proc: Path, port: int, *, inode: int = INODE) -> None:
    """Have something listen at a port of a node whose processes stand in a directory."""
    (proc / "net").mkdir(parents=True, exist_ok=True)
    (proc / "net" / "tcp").write_text(_LISTENERS.format(port=port, inode=inode), encoding="ascii")


def open_socket(proc: Path, pid: int, *, inode: int = INODE) -> None:
    """Have a process there hold a socket, beside a file."""
    directory = proc / str(pid) / "fd"
    directory.mkdir(parents=True)
    (directory / "0").symlink_to("/dev/null")
    (directory / "3").symlink_to(f"socket:[{inode}]")


# Of the discard protocol: nothing listens there.
UNUSED_PORT = 9

# A key that was made for these tests and guards nothing, and its certificate for the name unit-tests, as they stand in a kubeconfig's fields.
_KEY = (
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjigYemOL3GwqvvDb6K+wGq8wC8vtDWWsxnvrG0v5G8ehRANCAAT8"
    "7GSMfk3eeArsi1uLcRErHTQDNte7420K428IBEQkGOwlJksBfw0V7xSQhE2VF8gtNAjsjfwjWKfltGU1URwG"
)
_CERTIFICATE = (
    "MIIBZDCCAQqgAwIBAgIBATAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDAp1bml0LXRlc3RzMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjYw"
    "MTAxMDAwMDAwWjAVMRMwEQYDVQQDDAp1bml0LXRlc3RzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/OxkjH5N3ngK7Itbi3ER"
    "Kx00AzbXu+NtCuNvCAREJBjsJSZLAX8NFe8UkIRNlRfILTQI7I38I1in5bRlNVEcBqNJMEcwHQYDVR0OBBYEFF5vz7O0UTgveLKf"
    "f1DRMudWY+2TMA8GA1UdEwEB/wQFMAMBAf8wFQYDVR0RBA4wDIIKdW5pdC10ZXN0czAKBggqhkjOPQQDAgNIADBFAiEAlPcDn1bG"
    "SFp6DYLQZ0uhAUiu1t8iQN2BDoBfUvzxwoECIAVcLNwTiezDMv1Fjfa0mO5BmYTXS6fkNEvIzNpeqMzu"
)


def _pem(kind: str, text: str) -> str:
    lines = "\n".join(textwrap.wrap(text, 64))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n"


CERTIFICATE_PEM = _pem("CERTIFICATE", _CERTIFICATE)
PAIR_PEM = CERTIFICATE_PEM + _pem("PRIVATE KEY", _KEY)


def kubeconfig(server: str = "https://unit-tests:6443", *cluster: str, user: t.Mapping[str, str] | None = None) -> str:
    """A kubeconfig as kubeadm writes it. cluster: more lines of its cluster. user: in place of the client certificate."""
    encoded = {
        "client-certificate-data": base64.b64encode(CERTIFICATE_PEM.encode()).decode(),
        "client-key-data": base64.b64encode(_pem("PRIVATE KEY", _KEY).encode()).decode(),
    }
    lines = [f"    {key}: {value}" for key, value in (encoded if user is None else user).items()]
    return "\n".join(
        [
            "apiVersion: v1",
            "clusters:",
            "- cluster:",
            *(f"    {line}" for line in (*cluster, f"server: {server}")),
            "  name: kubernetes",
            "contexts:",
            "- context:",
            "    cluster: kubernetes",
            "    user: kubernetes-admin",
            "  name: kubernetes-admin@kubernetes",
            "current-context: kubernetes-admin@kubernetes",
            "kind: Config",
            "users:",
            "- name: kubernetes-admin",
            "  user:" if lines else "  user: {}",
            *lines,
            "",
        ]
    )


class Web:
    """A component. Its attributes set its responses.

    up: False hangs up on every caller. health_status: of the health paths. api_status: of a request for an object.
    api_statuses: the same for single objects. objects: what is in them. gates: of /metrics; with None that responds with 403.
    """

    def __init__(self, port: int, scheme: str = "http") -> None:
        self.port, self.scheme = port, scheme
        self.up = True
        self.health_status = 200
        self.api_status = 200
        self.api_statuses: dict[str, int] = {}
        self.objects: dict[str, dict[str, t.Any]] = {}
        self.gates: dict[str, bool] | None = {}
        self.gate_metric = "kubernetes_feature_enabled"
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []

    def probe(self, path: str = "/livez") -> Probe:
        """The address of a health path as a journal holds it."""
        return {"kind": "http", "scheme": self.scheme, "host": "127.0.0.1", "port": self.port, "path": path}

    def metrics(self, kubeconfig_path: str) -> Client:
        """The address of the metrics as a journal holds it."""
        return {**self.address, "kubeconfig": kubeconfig_path}

    @property
    def address(self) -> Address:
        """Its address, as a journal holds it."""
        return {"scheme": self.scheme, "host": "127.0.0.1", "port": self.port}

    def respond(self, path: str, headers: t.Mapping[str, str], *, is_known: bool = True) -> tuple[int, str] | None:
        """The status and the body; None to hang up. is_known: whether the caller has presented a certificate, where one is requested."""
        self.requests.append(path)
        self.headers.append(dict(headers))
        if not self.up:
            return None
        if path == "/metrics":
            return self._metrics() if is_known and self.gates is not None else (403, "Forbidden")
        if path.startswith("/api/"):
            return self.api_statuses.get(path, self.api_status), json.dumps(self.objects.get(path, {}))
        return self.health_status, "ok"

    def _metrics(self) -> tuple[int, str]:
        lines = ["# TYPE kubernetes_feature_enabled gauge", "other_metric 5"]
        for gate, on in (self.gates or {}).items():
            lines.append(f'{self.gate_metric}{{name="{gate}",stage="BETA"}} {int(on)}')
        return 200, "\n".join(lines) + "\n"


@contextlib.contextmanager
def served_web(*, tls: bool = False) -> t.Iterator[Web]:
    """A component behind a real server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            connection: t.Any = self.connection
            is_known = not isinstance(connection, ssl.SSLSocket) or bool(connection.getpeercert())
            response = web.respond(self.path, dict(self.headers), is_known=is_known)
            if response is not None:
                self.send_response(response[0])
                self.end_headers()
                self.wfile.write(response[1].encode())

        def log_request(self, code: t.Any = "-", size: t.Any = "-") -> None:
            """Print nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls:
        server.socket = _server_context().wrap_socket(server.socket, server_side=True)
    web = Web(int(server.server_address[1]), "https" if tls else "http")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def web_in_place(monkeypatch: pytest.MonkeyPatch) -> Web:
    """A component that responds without a connection: a transaction sends a hundred requests. Other addresses work as ever."""
    web = Web(UNUSED_PORT)
    genuine = Server.request

    def request(server: Server, method: str, target: str, *, headers: Headers = (), **options: t.Any) -> Response:
        if server.url != url_of(web.address):
            return genuine(server, method, target, headers=headers, **options)
        response = web.respond(target, dict(headers))
        if response is None:
            raise http.client.RemoteDisconnected("Remote end closed connection without response")
        return Response(response[0], email.message.Message(), response[1].encode())

    monkeypatch.setattr(Server, "request", request)
    return web


def _server_context() -> ssl.SSLContext:
    """As the API server's: client certificates are requested, and a caller without one is let in."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(PAIR_PEM)
        file.flush()
        context.load_cert_chain(file.name)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata=CERTIFICATE_PEM)
    return context
