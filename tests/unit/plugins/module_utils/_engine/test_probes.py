# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to a component and to the API server."""

from __future__ import annotations

import base64
import contextlib
import socket
import socketserver
import threading
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import probes
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import Address
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import (
    ApiResponse,
    api_request,
    read_gates,
    run_probe,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import (
    CERTIFICATE_PEM,
    Web,
    kubeconfig,
    served_web,
)


@pytest.fixture(name="web")
def fixture_web() -> t.Iterator[Web]:
    """Here it is the requests that are tested."""
    with served_web() as web:
        yield web


@pytest.mark.parametrize(("status", "passes"), [(200, True), (302, True), (399, True), (400, False), (500, False)])
def test_http_probes_take_200_to_399(web: Web, status: int, passes: bool) -> None:
    web.health_status = status
    ok, text = run_probe(web.probe("/readyz"))
    assert ok == passes
    assert text == f"http://127.0.0.1:{web.port}/readyz answers {status}"
    assert web.requests == ["/readyz"]


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("healthz", "/healthz"),
        ("?verbose", "/?verbose"),
        ("/a b/ü?x=c d&y=%20#z", "/a%20b/%C3%BC?x=c%20d&y=%20"),
        ("/livez?exclude=etcd", "/livez?exclude=etcd"),
    ],
)
def test_path_of_a_probe_is_requested_as_by_the_kubelet(web: Web, path: str, target: str) -> None:
    assert run_probe(web.probe(path))[0]
    assert web.requests == [target]


def test_a_server_that_hangs_up_does_not_pass(web: Web) -> None:
    web.up = False
    assert not run_probe(web.probe())[0]


def test_a_probe_sends_the_headers_of_the_manifest(web: Web) -> None:
    assert run_probe({**web.probe(), "headers": {"Authorization": "Bearer x"}})[0]
    assert web.headers[-1]["Authorization"] == "Bearer x"


def test_a_port_without_a_listener_does_not_pass() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ok, text = run_probe({"kind": "tcp", "host": "127.0.0.1", "port": port})
    assert not ok
    assert f"127.0.0.1:{port}: " in text
    assert not run_probe({"kind": "http", "scheme": "http", "host": "127.0.0.1", "port": port, "path": "/"})[0]


def test_tcp_probes_only_connect(web: Web) -> None:
    assert run_probe({"kind": "tcp", "host": "127.0.0.1", "port": web.port})[0]
    assert web.requests == []


@pytest.fixture(name="secure")
def fixture_secure() -> t.Iterator[Web]:
    with served_web(tls=True) as web:
        yield web


def test_probes_over_tls_need_no_trust_and_metrics_the_client_certificate(secure: Web, tmp_path: Path) -> None:
    assert run_probe(secure.probe()) == (True, f"https://127.0.0.1:{secure.port}/livez answers 200")
    config = tmp_path / "admin.conf"
    config.write_text(kubeconfig(), encoding="ascii")
    secure.gates = {"A": True, "B": False}
    assert read_gates(secure.metrics(str(config))) == ({"A": True, "B": False}, "")
    config.write_text(kubeconfig(user={"token": "secret"}), encoding="ascii")
    gates, why = read_gates(secure.metrics(str(config)))
    assert (gates, "holds no client certificate (a token is not sent" in why) == (None, True)
    assert not any("Authorization" in headers for headers in secure.headers)


def test_the_gates_of_etcd_have_a_name_of_their_own(tmp_path: Path, web: Web) -> None:
    config = tmp_path / "admin.conf"
    config.write_text(kubeconfig(), encoding="ascii")
    web.gates, web.gate_metric = {"CompactHashCheck": True}, "etcd_server_feature_enabled"
    assert read_gates(web.metrics(str(config))) == ({"CompactHashCheck": True}, "")
    web.gate_metric = "other_feature_enabled"
    assert read_gates(web.metrics(str(config))) == ({}, "")


def test_metrics_that_are_not_served_are_no_gates(tmp_path: Path, web: Web) -> None:
    config = tmp_path / "admin.conf"
    config.write_text(kubeconfig(), encoding="ascii")
    web.up = False
    gates, why = read_gates(web.metrics(str(config)))
    assert gates is None
    assert "cannot be read" in why


# ---- the credential --------------------------------------------------------------------------------------------------


def test_api_server_is_queried_with_the_nodes_certificate(tmp_path: Path, secure: Web) -> None:
    path = tmp_path / "kubelet.conf"
    (tmp_path / "ca").write_text(CERTIFICATE_PEM, encoding="ascii")
    fields = ("certificate-authority: ca", "tls-server-name: unit-tests")
    path.write_text(kubeconfig(f"https://127.0.0.1:{secure.port}", *fields), encoding="ascii")
    assert probes.api_get(str(path), "/api/v1/nodes/w1") == ({}, "")
    assert secure.requests == ["/api/v1/nodes/w1"]
    node, why = probes.api_get(str(path), "/healthz")
    assert node is None
    assert "cannot be queried" in why  # this server speaks no JSON
    secure.health_status = 403
    assert probes.api_get(str(path), "/x") == (None, "the API server answers 403")


def test_token_is_sent_to_a_verified_server_only(tmp_path: Path, secure: Web) -> None:
    path = tmp_path / "kubelet.conf"
    (tmp_path / "ca").write_text(CERTIFICATE_PEM, encoding="ascii")
    (tmp_path / "token").write_text("first\n", encoding="ascii")
    fields = (f"https://127.0.0.1:{secure.port}", "certificate-authority: ca")
    for user in ({"tokenFile": "token"}, {"token": "other", "tokenFile": "none"}):
        path.write_text(kubeconfig(*fields, "tls-server-name: unit-tests", user=user), encoding="ascii")
        assert probes.api_get(str(path), "/api/v1/x") == ({}, "")
    assert [headers["Authorization"] for headers in secure.headers] == ["Bearer first", "Bearer other"]
    path.write_text(kubeconfig(*fields, "tls-server-name: another", user={"token": "secret"}), encoding="ascii")
    assert api_request(str(path), "/api/v1/x").is_final
    assert len(secure.requests) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "No such file or directory"),
        ("", "it has no current-context"),
        ("server: https://127.0.0.1:1\n", "it has no current-context"),
        ("a: [", "invalid YAML in line 1"),
        (kubeconfig(user={"exec": "{command: aws}"}), "the user kubernetes-admin gets its credentials by exec"),
    ],
)
def test_credential_that_cannot_be_used_is_named(tmp_path: Path, text: str | None, reason: str) -> None:
    path = tmp_path / "kubelet.conf"
    if text is not None:
        path.write_text(text, encoding="ascii")
    node, why = probes.api_get(str(path), "/x")
    assert node is None
    assert why.startswith(f"{path} cannot be used: ")
    assert reason in why
    assert api_request(str(path), "/x").is_final


def test_this_very_server_has_to_be_the_one_of_the_kubeconfig(tmp_path: Path, secure: Web) -> None:
    path = tmp_path / "admin.conf"
    (tmp_path / "ca.crt").write_text(CERTIFICATE_PEM, encoding="ascii")

    def request(server: str, *fields: str) -> ApiResponse:
        path.write_text(kubeconfig(server, *fields), encoding="ascii")
        return api_request(str(path), "/api/v1/namespaces/x", secure.address)

    trusted = "certificate-authority: ca.crt"
    assert request("https://unit-tests:6443", trusted).is_ok()
    assert request("https://other:6443", trusted, "tls-server-name: unit-tests").is_ok()
    assert request("https://other:6443", "insecure-skip-tls-verify: true").is_ok()
    assert secure.requests == ["/api/v1/namespaces/x"] * 3
    assert request("https://[::1", trusted).is_final, "an address that is none is no crash"
    for fields in ((), (trusted,), (trusted, "tls-server-name: another"), ("certificate-authority: none.crt",)):
        response = request("https://other:6443", *fields)
        assert (response.is_ok(), response.is_final, response.status) == (False, True, None)
        assert "cannot be " in response.problem
        assert "_ssl.c" not in response.problem, "a place in the source of Python is no reason"
    assert len(secure.requests) == 3, "the certificate went to no other server"
    secure.api_status = 403
    response = request("https://unit-tests:6443", trusted)
    assert (response.refused, response.is_final, response.problem) == (True, False, "the API server answers 403")


# ---- a proxy ---------------------------------------------------------------------------------------------------------


@pytest.fixture(name="proxy")
def fixture_proxy() -> t.Iterator[tuple[int, list[str]]]:
    """The port of a proxy that asks for the user "me", and what it was asked for."""
    targets: list[str] = []

    class Tunnel(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            target = self.rfile.readline().decode().split()[1]
            headers = dict(line.split(": ", 1) for line in iter(lambda: self.rfile.readline().decode().strip(), ""))
            targets.append(target)
            if headers.get("Proxy-Authorization") != f"Basic {base64.b64encode(b'me:s@t').decode()}":
                self.wfile.write(b"HTTP/1.0 407 Proxy Authentication Required\r\n\r\n")
                return
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
            host, _colon, port = target.rpartition(":")
            with socket.create_connection((host, int(port))) as server:
                other = threading.Thread(target=self._copy, args=(server, self.connection))
                other.start()
                self._copy(self.connection, server)
                other.join()

        @staticmethod
        def _copy(source: socket.socket, target: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tunnel) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1], targets
        server.shutdown()
        thread.join()


def test_the_proxy_of_a_kubeconfig_is_used(tmp_path: Path, secure: Web, proxy: tuple[int, list[str]]) -> None:
    path, (port, targets) = tmp_path / "kubelet.conf", proxy
    (tmp_path / "ca.crt").write_text(CERTIFICATE_PEM, encoding="ascii")

    def request(url: str, at: Address | None = None) -> ApiResponse:
        fields = ("certificate-authority: ca.crt", "tls-server-name: unit-tests", f"proxy-url: {url}")
        path.write_text(kubeconfig(f"https://127.0.0.1:{secure.port}", *fields), encoding="ascii")
        return api_request(str(path), "/api/v1/namespaces/x", at)

    url = f"http://me:s%40t@127.0.0.1:{port}"
    assert request(url).is_ok()
    assert targets == [f"127.0.0.1:{secure.port}"]
    # The server of this very node is asked without it.
    assert request(url, secure.address).is_ok()
    assert len(targets) == 1
    assert "407" in request(f"http://127.0.0.1:{port}").problem
    response = request("socks5://me:secret@127.0.0.1:1080")
    assert (response.is_final, response.status) == (True, None)
    assert f"{path} cannot be used: invalid proxy '127.0.0.1:1080': must be http://HOST:PORT" in response.problem
