# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real web server on this machine that answers as a component does: health and metrics."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import tempfile
import textwrap
import threading
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import Address, Client, Probe

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
    """The server. What it answers is set by its attributes.

    up: False hangs up on every caller. status: of the health paths. admission: the answer to a request for an object.
    statuses: the same for single objects. objects: what is in them. gates: what /metrics tells; None answers 403.
    """

    def __init__(self, *, tls: bool = False) -> None:
        self.up = True
        self.status = 200
        self.admission = 200
        self.statuses: dict[str, int] = {}
        self.objects: dict[str, dict[str, t.Any]] = {}
        self.gates: dict[str, bool] | None = {}
        self.gate_metric = "kubernetes_feature_enabled"
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        if tls:
            self._server.socket = _server_context().wrap_socket(self._server.socket, server_side=True)
        self.scheme = "https" if tls else "http"
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def probe(self, path: str = "/livez") -> Probe:
        """The address of a health path as a journal holds it."""
        return {"kind": "http", "scheme": self.scheme, "host": "127.0.0.1", "port": self.port, "path": path}

    def metrics(self, kubeconfig_path: str) -> Client:
        """The address of the metrics as a journal holds it."""
        return {**self.address, "kubeconfig": kubeconfig_path}

    @property
    def address(self) -> Address:
        """Where it answers, as a journal holds it."""
        return {"scheme": self.scheme, "host": "127.0.0.1", "port": self.port}

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.requests.append(self.path)
                web.headers.append(dict(self.headers))
                if not web.up:
                    return
                if self.path == "/metrics":
                    self._answer(*web._metrics(self.connection))
                elif self.path.startswith("/api/"):
                    status = web.statuses.get(self.path, web.admission)
                    self._answer(status, json.dumps(web.objects.get(self.path, {})))
                else:
                    self._answer(web.status, "ok")

            def _answer(self, status: int, body: str) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_request(self, code: t.Any = "-", size: t.Any = "-") -> None:
                """Say nothing."""

        return Handler

    def _metrics(self, connection: t.Any) -> tuple[int, str]:
        known = not isinstance(connection, ssl.SSLSocket) or connection.getpeercert()
        if self.gates is None or not known:
            return 403, "Forbidden"
        lines = ["# TYPE kubernetes_feature_enabled gauge", "other_metric 5"]
        for gate, on in self.gates.items():
            lines.append(f'{self.gate_metric}{{name="{gate}",stage="BETA"}} {int(on)}')
        return 200, "\n".join(lines) + "\n"


def _server_context() -> ssl.SSLContext:
    """As the API server's: certificates of callers are asked for, and a caller without one is let in."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(PAIR_PEM)
        file.flush()
        context.load_cert_chain(file.name)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata=CERTIFICATE_PEM)
    return context
