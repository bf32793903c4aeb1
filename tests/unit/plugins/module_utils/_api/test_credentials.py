# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfigs as people name them in tasks, and the connections that are made from them."""

from __future__ import annotations

import base64
import json
import types
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api import credentials
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.credentials import load_credentials, pool_of
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.http_requests import Proxy
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.kubeconfig import Credentials, User
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import CLIENT, SERVER, Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.tls_server import Server, server_context

Json = dict[str, t.Any]


def config(cluster: Json | None = None, user: Json | None = None, name: str = "a") -> Json:
    """A kubeconfig with one of each."""
    return {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def written(path: Path, content: Json) -> str:
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_content_of_a_task_is_a_kubeconfig() -> None:
    user = {"client-certificate-data": encoded("certificate"), "client-key-data": encoded("key")}
    found = load_credentials(config({"certificate-authority-data": encoded("authority")}, user))
    assert (found.source, found.server) == ("the kubeconfig of the task", "https://a:6443")
    assert (found.authority, found.user.certificate, found.user.key) == (b"authority", b"certificate", b"key")


def test_first_of_several_files_counts_and_any_context_can_be_named(tmp_path: Path) -> None:
    both = ":".join(written(tmp_path / name, config(name=name)) for name in ("a", "b"))
    assert load_credentials(both).server == "https://a:6443"
    assert load_credentials(both, "b").server == "https://b:6443"
    with pytest.raises(KubeadmError, match=r"it has no context c; it has a, b\."):
        load_credentials(both, "c")


def test_missing_one_of_several_files_is_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path / "a", config())
    assert load_credentials(f"/nope/config:{path}").server == "https://a:6443"
    with pytest.raises(KubeadmError, match=r"^/nope/a cannot be used: /nope/a: No such file"):
        load_credentials("/nope/a:/nope/b")


def test_user_that_is_not_there_is_named() -> None:
    with pytest.raises(KubeadmError, match=r"the kubeconfig of the task cannot be used: it has no user a\."):
        load_credentials({**config(), "users": []})


def test_kubeconfig_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("a: [", encoding="utf-8")
    with pytest.raises(KubeadmError, match=f"{path} cannot be used: invalid YAML in line 1"):
        load_credentials(str(path))


class ConfigException(Exception):
    """As that of kubernetes."""


@pytest.mark.parametrize("as_file", [True, False])
def test_a_program_hands_out_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, as_file: bool) -> None:
    """The package provides the user, and the kubeconfig the server."""
    (tmp_path / "c").write_text("certificate", encoding="utf-8")
    tokens = iter("123")

    def settings() -> Json:
        return {
            "BearerToken": {"in": "header", "key": "authorization", "value": f"Bearer {next(tokens)}"},
            "none": {"in": "header", "key": "other", "value": None},
        }

    configuration = types.SimpleNamespace(cert_file=str(tmp_path / "c"), key_file=None, auth_settings=settings)
    requests: list[Json] = []
    package = types.SimpleNamespace(
        client=types.SimpleNamespace(Configuration=lambda: configuration),
        config=types.SimpleNamespace(
            ConfigException=ConfigException,
            load_kube_config=lambda **given: requests.append(given),
            load_kube_config_from_dict=lambda **given: requests.append(given),
        ),
    )
    monkeypatch.setattr(credentials, "kubernetes", package)
    content = config(user={"exec": {"command": "login"}})
    source: t.Any = written(tmp_path / "config", content) if as_file else content
    found = load_credentials(source, "a", persist=True)
    assert found.server == "https://a:6443"
    assert (found.user.certificate, found.user.key) == (b"certificate", b"")
    assert [found.user.headers() for _round in range(2)] == [{"Authorization": f"Bearer {n}"} for n in (1, 2)]
    key = "config_file" if as_file else "config_dict"
    assert requests == [{key: source, "context": "a", "client_configuration": configuration, "persist_config": True}]

    def fail(**_given: t.Any) -> t.NoReturn:
        raise ConfigException("login: not found")

    package.config.load_kube_config = package.config.load_kube_config_from_dict = fail
    with pytest.raises(KubeadmError, match="the user a gets no credentials by exec: login: not found"):
        load_credentials(source)


@pytest.mark.parametrize("kind", ["exec", "auth-provider"])
def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(credentials, "kubernetes", None)
    with pytest.raises(KubeadmError, match=f"gets its credentials by {kind}, for which the Python package kubernetes"):
        load_credentials(config(user={kind: {"name": "x"}}))


# ---- connections -----------------------------------------------------------------------------------------------------


@pytest.fixture(name="authority", scope="module")
def fixture_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The certificate authority of both sides."""
    return Authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture(name="client", scope="module")
def fixture_client(authority: Authority) -> Pair:
    """The user of a request."""
    return authority.issue(names="", usage=CLIENT)


@pytest.fixture(name="server")
def fixture_server(tmp_path: Path, authority: Authority) -> t.Iterator[Server]:
    """A server that requires a certificate."""
    server = Server(server_context(tmp_path, authority, authority.issue(names="IP:127.0.0.1", usage=SERVER)))
    yield server
    server.close()


def get(found: Credentials, url: str = "") -> Json:
    """The response of the server to a request."""
    response = pool_of(found, url).request("GET", "/a", headers=[], body=None, timeout=5)
    content: Json = json.loads(response.data)
    return content


def test_client_certificate_is_sent_to_other_servers_of_the_cluster(
    server: Server, authority: Authority, client: Pair
) -> None:
    user = User(client.certificate, client.key)
    assert get(Credentials("the test", server.url, user, authority.certificate))["client"] == "component"
    elsewhere = Credentials(
        "the test", "https://a", user, authority.certificate, server_name="b", proxy=Proxy("http://127.0.0.1:1")
    )
    assert get(elsewhere, server.url)["client"] == "component"


def test_proxy_gets_its_headers_and_nothing_else(server: Server, authority: Authority) -> None:
    proxy = Server()
    try:
        given = Proxy(proxy.url, {"Proxy-Authorization": "x"})
        get(Credentials("the test", server.url, authority=authority.certificate, proxy=given))
        path, headers = proxy.requests[0]
        assert (path, headers["Proxy-Authorization"]) == (f"127.0.0.1:{server.port}", "x")
    finally:
        proxy.close()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"server": "api"}, "invalid address 'api': must be https://HOST:PORT or http://HOST:PORT"),
        ({"authority": b"nothing"}, "the authority's file holds no certificate"),
        ({"user": User(b"nothing", b"nothing")}, "the certificate or its key is not a readable PEM file"),
    ],
)
def test_what_cannot_be_used_is_named(given: Json, problem: str) -> None:
    with pytest.raises(KubeadmError, match=f"the test cannot be used: {problem}"):
        pool_of(Credentials("the test", **{"server": "https://a", **given}))
