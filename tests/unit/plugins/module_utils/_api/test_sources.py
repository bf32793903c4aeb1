# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which credentials win, and that nothing is used that was not named."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api import sources
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.http_requests import Proxy
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError


@pytest.fixture(name="files")
def fixture_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[[str], str]:
    """Kubeconfigs by the names of their clusters, in a home whose own kubeconfig is that of production."""

    def write(name: str, path: Path | None = None) -> str:
        named = {"name": name, "cluster": {"server": f"https://{name}"}, "user": {"token": name}}
        context = {"name": name, "context": {"cluster": name, "user": name}}
        content = {"clusters": [named], "users": [named], "contexts": [context], "current-context": name}
        place = path or tmp_path / name
        place.write_text(json.dumps(content), encoding="utf-8")
        return str(place)

    (tmp_path / ".kube").mkdir()
    write("production", tmp_path / ".kube/config")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / ".kube/config"))
    return write


def test_the_order(files: t.Callable[[str], str]) -> None:
    params: dict[str, t.Any] = {"admin_conf": files("admin")}
    assert sources.find_credentials(params, {}).server == "https://admin"
    assert sources.is_admin_conf(params, {})
    environment = {"K8S_AUTH_KUBECONFIG": files("environment")}
    assert sources.find_credentials(params, environment).server == "https://environment"
    assert not sources.is_admin_conf(params, environment)
    environment["K8S_AUTH_HOST"] = "https://host"
    assert sources.find_credentials(params, environment).server == "https://host"
    params["kubeconfig"] = files("option")
    environment |= {"K8S_AUTH_API_KEY": "secret", "K8S_AUTH_CONTEXT": "environment"}
    found = sources.find_credentials(params, environment)
    assert (found.server, found.user.headers()) == ("https://option", {"Authorization": "Bearer option"})


def test_nothing_that_was_not_named(files: t.Callable[[str], str]) -> None:
    for params in ({}, {"context": "production"}):
        with pytest.raises(KubeadmError, match=r"no usable credentials for the Kubernetes API: none are named for it"):
            sources.find_credentials(params, {})


def test_a_host_with_what_the_environment_knows_of_the_account() -> None:
    environment = {
        "K8S_AUTH_KUBECONFIG": "/nope",
        "K8S_AUTH_CONTEXT": "nope",
        "K8S_AUTH_API_KEY": "t",
        "K8S_AUTH_VERIFY_SSL": "False",
        "K8S_AUTH_IMPERSONATE_USER": "you",
        "K8S_AUTH_IMPERSONATE_GROUPS": "g,h,",
        "K8S_AUTH_PROXY": "http://proxy:1",
        "K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH": "me:p",
        "K8S_AUTH_PROXY_HEADERS_USER_AGENT": "x",
    }
    found = sources.find_credentials({"host": "https://host"}, environment)
    assert (found.server, found.verify) == ("https://host", False)
    assert found.proxy == Proxy("http://proxy:1", {"Proxy-Authorization": "Basic bWU6cA==", "User-Agent": "x"})
    assert found.user.headers() == {
        "Authorization": "Bearer t",
        "Impersonate-User": "you",
        "Impersonate-Group": ["g", "h"],
    }
    by_name = sources.find_credentials({"host": "https://host", "username": "me", "password": "p"}, {})
    assert by_name.user.headers() == {"Authorization": "Basic bWU6cA=="}


def test_options_go_on_top_of_a_kubeconfig(files: t.Callable[[str], str], tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    params = {
        "kubeconfig": files("option"),
        "host": "https://other",
        "validate_certs": True,
        "ca_cert": str(tmp_path / "ca"),
        "client_cert": str(tmp_path / "cert"),
        "client_key": str(tmp_path / "key"),
    }
    found = sources.find_credentials(params, {"K8S_AUTH_VERIFY_SSL": "no", "K8S_AUTH_CLIENT_CERT": "/nope"})
    assert (found.server, found.verify, found.authority) == ("https://other", True, b"ca")
    assert (found.user.certificate, found.user.key) == (b"cert", b"key")


@pytest.mark.parametrize(("option", "others"), [("ca_cert", {}), ("client_cert", {"client_key": "/nope/y"})])
def test_a_file_that_is_not_there_is_named(option: str, others: dict[str, str]) -> None:
    with pytest.raises(KubeadmError, match=r"no usable credentials .*/nope/x\.pem: No such file"):
        sources.find_credentials({"host": "https://a", option: "/nope/x.pem", **others}, {})


@pytest.mark.parametrize("option", ["client_cert", "client_key"])
def test_half_a_pair_is_refused(option: str) -> None:
    with pytest.raises(
        KubeadmError, match=r"client_cert and client_key are needed together, and one of them is missing"
    ):
        sources.find_credentials({"host": "https://a", option: "/nope/x.pem"}, {})


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
    params = {"host": f"https://{host}:6443", "proxy": "http://proxy", "no_proxy": no_proxy}
    assert (sources.find_credentials(params, {}).proxy is None) is direct


def test_proxy_of_the_environment_is_used_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy:3128")
    assert sources.find_credentials({"host": "https://api"}, {}).proxy == Proxy("http://proxy:3128")
    assert sources.find_credentials({"host": "https://api", "proxy": ""}, {}).proxy is None
    monkeypatch.setenv("no_proxy", "api")
    assert sources.find_credentials({"host": "https://api"}, {}).proxy is None
    assert sources.find_credentials({"host": "https://api", "proxy": "http://other"}, {}).proxy == Proxy("http://other")
