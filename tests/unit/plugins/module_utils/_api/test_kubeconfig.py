# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfigs as people have them."""

from __future__ import annotations

import base64
import json
import types
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api import kubeconfig
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.kubeconfig import load
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError

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


def test_as_kubeadm_writes_it(tmp_path: Path) -> None:
    user = {"client-certificate-data": encoded("certificate"), "client-key-data": encoded("key")}
    path = written(tmp_path / "admin.conf", config({"certificate-authority-data": encoded("authority")}, user))
    found = load(path)
    assert (found.source, found.server, found.authority, found.verify) == (path, "https://a:6443", "authority", True)
    assert (found.user.certificate, found.user.key, found.user.headers()) == ("certificate", "key", {})
    assert (found.server_name, found.proxy) == ("", None)


def test_files_beside_the_kubeconfig(tmp_path: Path) -> None:
    for name in ("ca.crt", "me.crt", "me.key", "token"):
        (tmp_path / name).write_text(f"{name}\n", encoding="utf-8")
    user = {"client-certificate": "me.crt", "client-key": str(tmp_path / "me.key"), "tokenFile": "token"}
    cluster = {"certificate-authority": "ca.crt", "tls-server-name": "kubernetes", "proxy-url": "http://proxy:3128"}
    found = load(written(tmp_path / "config", config(cluster, user)))
    assert (found.authority, found.user.certificate, found.user.key) == ("ca.crt\n", "me.crt\n", "me.key\n")
    assert found.user.headers() == {"Authorization": "Bearer token"}
    (tmp_path / "token").write_text("next", encoding="utf-8")
    assert found.user.headers() == {"Authorization": "Bearer next"}
    assert (found.server_name, found.proxy) == ("kubernetes", "http://proxy:3128")


@pytest.mark.parametrize(
    ("user", "headers"),
    [
        ({"token": "t"}, {"Authorization": "Bearer t"}),
        ({"username": "me", "password": "p"}, {"Authorization": "Basic bWU6cA=="}),
        (
            {"token": "t", "as": "you", "as-uid": "1", "as-groups": ["g", "h"], "as-user-extra": {"k": ["v"]}},
            {
                "Authorization": "Bearer t",
                "Impersonate-User": "you",
                "Impersonate-Uid": "1",
                "Impersonate-Group": ["g", "h"],
                "Impersonate-Extra-k": ["v"],
            },
        ),
        ({}, {}),
    ],
)
def test_who_asks(user: Json, headers: Json) -> None:
    found = load(config({"insecure-skip-tls-verify": True}, user))
    assert found.user.headers() == headers
    assert not found.verify
    assert found.source == "the kubeconfig of the task"


def test_another_context(tmp_path: Path) -> None:
    both = ":".join(written(tmp_path / name, config(name=name)) for name in ("a", "b"))
    assert load(both).server == "https://a:6443"
    assert load(both, "b").server == "https://b:6443"
    with pytest.raises(KubeadmError, match=r"has no context c; it has a, b\."):
        load(both, "c")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a: [", "invalid YAML in line 1"),
        ("[]", "is not a mapping"),
        ("{}", "has no current-context; name one with context"),
        (json.dumps({"current-context": "a", "contexts": [{"name": "a"}]}), "'cluster' is missing"),
        (json.dumps({"current-context": "a", "contexts": {"name": "a"}}), "cannot be used as a kubeconfig"),
        (json.dumps({**config(), "clusters": []}), "has no cluster a; it has none"),
        (json.dumps(config({"certificate-authority": "/nope/ca.crt"})), "/nope/ca.crt: No such file or directory"),
        (json.dumps(config(user={"tokenFile": "/nope/token"})), "/nope/token: No such file or directory"),
        (json.dumps(config(user={"client-key-data": "=secret"})), "cannot be used as a kubeconfig"),
        ("token: secret\n\t- a", "invalid YAML in line 2"),
    ],
)
def test_what_is_none(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "config"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(KubeadmError, match=told) as caught:
        load(str(path))
    assert str(path) in str(caught.value)
    assert "secret" not in str(caught.value)
    with pytest.raises(KubeadmError, match="/nope/config: No such file or directory"):
        load("/nope/config")


class ConfigException(Exception):
    """As that of kubernetes."""


@pytest.mark.parametrize("as_file", [True, False])
def test_a_program_hands_out_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, as_file: bool) -> None:
    """The package is asked who asks, and where stands in the kubeconfig."""
    (tmp_path / "c").write_text("certificate", encoding="utf-8")
    tokens = iter("123")

    def settings() -> Json:
        return {
            "BearerToken": {"in": "header", "key": "authorization", "value": f"Bearer {next(tokens)}"},
            "none": {"in": "header", "key": "other", "value": None},
        }

    configuration = types.SimpleNamespace(cert_file=str(tmp_path / "c"), key_file=None, auth_settings=settings)
    asked: list[Json] = []
    package = types.SimpleNamespace(
        client=types.SimpleNamespace(Configuration=lambda: configuration),
        config=types.SimpleNamespace(
            ConfigException=ConfigException,
            load_kube_config=lambda **given: asked.append(given),
            load_kube_config_from_dict=lambda **given: asked.append(given),
        ),
    )
    monkeypatch.setattr(kubeconfig, "kubernetes", package)
    content = config(user={"exec": {"command": "login"}})
    source: t.Any = written(tmp_path / "config", content) if as_file else content
    found = load(source, "a", persist=True)
    assert found.server == "https://a:6443"
    assert (found.user.certificate, found.user.key) == ("certificate", "")
    assert [found.user.headers() for _round in range(2)] == [{"Authorization": f"Bearer {n}"} for n in (1, 2)]
    key = "config_file" if as_file else "config_dict"
    assert asked == [{key: source, "context": "a", "client_configuration": configuration, "persist_config": True}]

    def fail(**_given: t.Any) -> t.NoReturn:
        raise ConfigException("login: not found")

    package.config.load_kube_config = package.config.load_kube_config_from_dict = fail
    with pytest.raises(KubeadmError, match="the user a gets no credentials by exec: login: not found"):
        load(source)


@pytest.mark.parametrize("kind", ["exec", "auth-provider"])
def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(kubeconfig, "kubernetes", None)
    with pytest.raises(KubeadmError, match=f"gets its credentials by {kind}, for which the Python package kubernetes"):
        load(config(user={kind: {"name": "x"}}))
