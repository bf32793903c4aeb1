# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that are checked and clients that show a certificate, over real TLS."""

from __future__ import annotations

import dataclasses
import json
import ssl
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.credentials import Credentials, User
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.http_pool import ConnectionFailure, Pool
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import CLIENT, SERVER, Authority
from ansible_collections.nodecraft.kubeadm.tests.unit.support.tls_server import Server, server_context


@pytest.fixture(name="authority", scope="module")
def fixture_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """What both sides trust. Its certificates name neither its key nor their own, as those of many old clusters."""
    return Authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture(name="user", scope="module")
def fixture_user(authority: Authority) -> User:
    """Who asks."""
    pair = authority.issue(names="", usage=CLIENT)
    return User(pair.certificate.decode(), pair.key.decode())


@pytest.fixture(name="serve")
def fixture_serve(tmp_path: Path, authority: Authority) -> t.Iterator[t.Callable[..., Server]]:
    """Start servers with certificates for names."""
    servers: list[Server] = []

    def serve(names: str = "IP:127.0.0.1") -> Server:
        pair = authority.issue(names=names, usage=SERVER)
        servers.append(Server(server_context(tmp_path, authority, pair)))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


def asked(pool: Pool) -> dict[str, t.Any]:
    """What the server says of a request."""
    found: dict[str, t.Any] = json.loads(pool.request("GET", "/a", headers=[], body=None, timeout=5).data)
    return found


def of(server: Server, authority: Authority, **more: t.Any) -> Credentials:
    return Credentials("the test", server.url, authority=authority.certificate.decode(), **more)


def test_a_certificate_on_each_side(serve: t.Callable[..., Server], authority: Authority, user: User) -> None:
    server = serve()
    pool = of(server, authority, user=user).pool()
    assert [asked(pool)["client"] for _round in range(2)] == ["component", "component"]
    assert server.connections == 1
    assert asked(of(server, authority).pool())["client"] is None


def test_a_certificate_for_another_name(serve: t.Callable[..., Server], authority: Authority) -> None:
    server = serve("DNS:kubernetes")
    with pytest.raises(ConnectionFailure, match="certificate verify failed") as caught:
        asked(of(server, authority).pool())
    assert caught.value.lasting
    assert asked(of(server, authority, server_name="kubernetes").pool())["path"] == "/a"
    assert asked(of(server, authority, verify=False).pool())["path"] == "/a"


def test_a_certificate_that_says_less_than_python_wants(serve: t.Callable[..., Server], authority: Authority) -> None:
    """Since Python 3.13 its own context turns down what Kubernetes takes: a certificate that does not name its authority's key."""
    server = serve()
    strict = ssl.create_default_context(cadata=authority.certificate.decode())
    if strict.verify_flags & ssl.VERIFY_X509_STRICT:
        with pytest.raises(ConnectionFailure, match="certificate verify failed"):
            asked(Pool(server.url, context=strict))
    assert asked(of(server, authority).pool())["path"] == "/a"


def test_an_authority_that_no_client_trusts(serve: t.Callable[..., Server], tmp_path: Path) -> None:
    with pytest.raises(ConnectionFailure, match="certificate verify failed"):
        asked(of(serve(), Authority(tmp_path / "other")).pool())


def test_another_server_of_the_cluster_is_asked_directly(
    serve: t.Callable[..., Server], authority: Authority, user: User
) -> None:
    credentials = of(serve(), authority, user=user, server_name="elsewhere", proxy="http://127.0.0.1:1")
    server = serve()
    assert asked(credentials.pool(server.url))["client"] == "component"


def test_through_a_proxy(serve: t.Callable[..., Server], authority: Authority, user: User) -> None:
    proxy, server = Server(), serve()
    try:
        credentials = of(server, authority, user=user, proxy=proxy.url, proxy_headers={"Proxy-Authorization": "x"})
        assert asked(credentials.pool())["client"] == "component"
        path, headers = proxy.asked[0]
        assert (path, headers["Proxy-Authorization"]) == (f"127.0.0.1:{server.port}", "x")
        assert asked(dataclasses.replace(credentials, no_proxy="127.0.0.1").pool())["client"] == "component"
        assert len(proxy.asked) == 1
    finally:
        proxy.close()


def test_the_environments_proxy(
    serve: t.Callable[..., Server], authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "127.0.0.1:1")
    server = serve()
    with pytest.raises(ConnectionFailure, match="refused"):
        asked(of(server, authority).pool())
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert asked(of(server, authority).pool())["path"] == "/a"


@pytest.mark.parametrize(
    ("host", "no_proxy", "direct"),
    [
        ("10.0.0.1", "10.0.0.0/8", True),
        ("10.0.0.1", "192.168.0.0/16, 10.0.0.1", True),
        ("api.example.com", "example.com", True),
        ("api.example.com", ".example.com", True),
        ("api.example.com", "ample.com,10.0.0.0/8", False),
        ("api", "*", True),
        ("api", "", False),
    ],
)
def test_what_is_reached_without_a_proxy(host: str, no_proxy: str, direct: bool) -> None:
    found = Credentials("the test", f"http://{host}:6443", proxy="http://proxy", no_proxy=no_proxy)._proxy()
    assert (found is None) is direct


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"authority": "nothing"}, "the certificate of the authority is not PEM"),
        ({"user": User("nothing", "nothing")}, "the client certificate and its key cannot be used"),
    ],
)
def test_what_is_no_certificate(changes: dict[str, t.Any], told: str) -> None:
    with pytest.raises(KubeadmError, match=f"the test: {told}"):
        Credentials("the test", "https://a", **changes).pool()


def test_where_memory_is_no_file(
    serve: t.Callable[..., Server], authority: Authority, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.memfd_create")
    assert asked(of(serve(), authority, user=user).pool())["client"] == "component"
