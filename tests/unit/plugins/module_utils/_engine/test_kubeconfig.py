# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfigs as kubelets take them: the same values in all forms, and what cannot be used, by name."""

from __future__ import annotations

import base64
import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.engine_errors import CredentialError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.http_requests import Proxy
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.kubeconfig import (
    Cluster,
    find_problem,
    read_cluster,
    read_credentials,
)

Json = dict[str, t.Any]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def config(cluster: Json | None = None, user: Json | None = None, *, current: str = "k", **more: t.Any) -> Json:
    """A kubeconfig with one of each, all of other names."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "k", "context": {"cluster": "c", "user": "u", "namespace": "default"}}],
        "current-context": current,
        **more,
    }


KUBELET = config(
    {"certificate-authority-data": encoded("authority")},
    {"client-certificate": "pki/client.pem", "client-key": "pki/client.pem"},
)
BLOCKS = yaml.safe_dump(KUBELET)


# ---- forms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        BLOCKS,
        json.dumps(KUBELET),
        json.dumps(KUBELET, indent="\t"),
        yaml.safe_dump(KUBELET, default_flow_style=True),
        yaml.safe_dump(KUBELET, default_style='"'),
        yaml.safe_dump(KUBELET, default_style="'"),
        BLOCKS.replace("6443", "6443 # VIP of the load balancer"),
        BLOCKS.replace("6443", "6443\t# VIP of the load balancer"),
        BLOCKS.replace("server: ", "server:\t"),
        BLOCKS.replace("server: ", "server:\n      "),
        f"# written manually\n---\n{BLOCKS}---\nnot: [read",
        "\ufeff" + BLOCKS.replace("\n", "\r\n"),
    ],
    ids=(
        *(
            "blocks",
            "json",
            "json_with_tabs",
            "flow",
            "double_quotes",
            "single_quotes",
            "comment",
            "tab_and_comment",
            "tab",
        ),
        *("next_line", "documents", "windows"),
    ),
)
def test_every_form_gives_the_same_values(tmp_path: Path, text: str) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki/client.pem").write_text("certificate and key", encoding="ascii")
    path = tmp_path / "kubelet.conf"
    path.write_bytes(text.encode("utf-8"))
    found = read_credentials(str(path))
    assert (found.source, found.server, found.authority) == (str(path), "https://10.0.0.1:6443", b"authority")
    assert found.user.certificate == found.user.key == b"certificate and key"
    assert (found.verify, found.server_name, found.proxy, dict(found.user.headers())) == (True, "", None, {})


def written(path: Path, content: Json) -> str:
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_current_context_chooses_among_several(tmp_path: Path) -> None:
    clusters = [{"name": name, "cluster": {"server": f"https://{name}:6443"}} for name in ("first", "second")]
    users = [{"name": name, "user": {"token": name}} for name in ("one", "two")]
    contexts = [
        {"name": "a", "context": {"cluster": "first", "user": "one"}},
        {"name": "b", "context": {"cluster": "second", "user": "two"}},
    ]
    path = written(tmp_path / "c", config(clusters=clusters, users=users, contexts=contexts, current="b"))
    found = read_credentials(path)
    assert (found.server, found.user.headers()) == ("https://second:6443", {"Authorization": "Bearer two"})
    assert read_cluster(path) == Cluster("https://second:6443")


@pytest.mark.parametrize("name", ["2024-01-01", "12:30", "=", "2024-01-01T10:00:00Z"])
def test_what_only_pyyaml_takes_for_another_value_is_a_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / "c"
    path.write_text(
        f"clusters: [{{name: '{name}', cluster: {{server: 'https://a:1'}}}}]\nusers:\n- name: {name}\n  user:\n    token: {name}\n"
        f"contexts:\n- name: \"{name}\"\n  context:\n    cluster: {name}\n    user: '{name}'\ncurrent-context: {name}\n",
        encoding="utf-8",
    )
    assert read_credentials(str(path)).user.headers() == {"Authorization": f"Bearer {name}"}


@pytest.mark.parametrize("name", ["y", "no", "False", "12", "0", "1.5"])
@pytest.mark.parametrize("key", ["name", "current-context", "cluster", "user"])
def test_what_kubernetes_takes_for_another_value_is_no_name(tmp_path: Path, name: str, key: str) -> None:
    path = tmp_path / "c"
    text = yaml.safe_dump({**config(), "current-context": "k"})
    path.write_text(re.sub(rf"(?m)({key}:) \w$", rf"\1 {name}", text), encoding="utf-8")
    with pytest.raises(CredentialError, match=f"invalid {key}: must be a text"):
        read_credentials(str(path))


def test_files_beside_the_kubeconfig_and_data_are_mixed(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("authority", encoding="ascii")
    (tmp_path / "client.crt").write_text("certificate", encoding="ascii")
    user = {"client-certificate": str(tmp_path / "client.crt"), "client-key-data": encoded("key")}
    found = read_credentials(written(tmp_path / "c", config({"certificate-authority": "ca.crt"}, user)))
    assert (found.authority, found.user.certificate, found.user.key) == (b"authority", b"certificate", b"key")


def test_name_proxy_and_verification_of_the_server(tmp_path: Path) -> None:
    cluster = {"tls-server-name": "kubernetes", "proxy-url": "http://proxy:3128", "insecure-skip-tls-verify": True}
    found = read_credentials(written(tmp_path / "c", config(cluster)))
    assert (found.server_name, found.certificate_name) == ("kubernetes", "kubernetes")
    assert (found.proxy, found.verify) == (Proxy("http://proxy:3128"), False)
    plain = read_credentials(written(tmp_path / "c", config({"insecure-skip-tls-verify": False})))
    assert (plain.verify, plain.certificate_name) == (True, "10.0.0.1")


@pytest.mark.parametrize(
    ("cluster", "server"),
    [
        ({"server": "http://127.0.0.1:10261"}, "http://127.0.0.1:10261"),
        ({"server": "127.0.0.1:8080"}, "http://127.0.0.1:8080"),
        ({"server": "10.0.0.1:6443", "certificate-authority-data": encoded("a")}, "http://10.0.0.1:6443"),
        ({"server": "https://rancher/k8s/clusters/c-1"}, "https://rancher/k8s/clusters/c-1"),
    ],
)
def test_server_is_a_url_or_an_address(tmp_path: Path, cluster: Json, server: str) -> None:
    """As of a proxy on the node, which needs no account: the user that the context names does not exist."""
    found = read_credentials(written(tmp_path / "c", config(cluster, users=None)))
    assert (found.server, found.user.certificate, found.user.headers()) == (server, b"", {})


@pytest.mark.parametrize(
    ("user", "headers"),
    [
        ({"token": "t"}, {"Authorization": "Bearer t"}),
        ({"tokenFile": "token"}, {"Authorization": "Bearer of the file"}),
        ({"token": "t", "tokenFile": "token"}, {"Authorization": "Bearer of the file"}),
        ({"token": "t", "tokenFile": "none"}, {"Authorization": "Bearer t"}),
        ({"token": "t", "tokenFile": "empty"}, {"Authorization": "Bearer t"}),
        ({"username": "me", "password": "p"}, {"Authorization": "Basic bWU6cA=="}),
        (
            {"token": "t", "as": "you", "as-uid": "1", "as-groups": ["g", "h"], "as-user-extra": {"k.io/a%": ["v"]}},
            {
                "Authorization": "Bearer t",
                "Impersonate-User": "you",
                "Impersonate-Uid": "1",
                "Impersonate-Group": ["g", "h"],
                "Impersonate-Extra-k.io%2Fa%25": ["v"],
            },
        ),
        ({}, {}),
    ],
)
def test_user_is_named_by_headers(tmp_path: Path, user: Json, headers: Json) -> None:
    (tmp_path / "token").write_text("of the file\n", encoding="ascii")
    (tmp_path / "empty").touch()
    assert read_credentials(written(tmp_path / "c", config(user=user))).user.headers() == headers


@pytest.mark.parametrize("server", ["http://10.0.0.1:8080", "10.0.0.1:8080"])
@pytest.mark.parametrize(
    "user",
    [
        *({"token": "t"}, {"tokenFile": "none"}, {"username": "me", "password": "p"}),
        *({"client-certificate": "none", "client-key": "none"}, {"exec": {"command": "login"}}),
    ],
)
def test_credentials_are_not_sent_without_encryption(tmp_path: Path, server: str, user: Json) -> None:
    found = read_credentials(written(tmp_path / "c", config({"server": server}, {**user, "as": "you"}))).user
    assert (found.certificate, found.key, found.headers()) == (b"", b"", {"Impersonate-User": "you"})


def test_token_is_read_again_for_each_request(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first", encoding="ascii")
    user = read_credentials(written(tmp_path / "c", config(user={"tokenFile": "token"}))).user
    (tmp_path / "token").write_text("second", encoding="ascii")
    assert user.headers() == {"Authorization": "Bearer second"}


# ---- what cannot be used ---------------------------------------------------------------------------------------------

# client-go refuses these, too.
CONFLICTS: list[tuple[Json, str]] = [
    (config(user={"tokenFile": "/dev/null"}), "/dev/null holds no token"),
    (
        config(users=2 * [{"name": "v"}]),
        "it has more than one user v, which Kubernetes refuses: remove all but one",
    ),
    (
        config({"certificate-authority": "a", "certificate-authority-data": "a"}),
        "it has both certificate-authority and certificate-authority-data, which Kubernetes refuses: remove one",
    ),
    (
        config({"insecure-skip-tls-verify": True, "certificate-authority-data": encoded("authority")}),
        "it has both insecure-skip-tls-verify and an authority, which Kubernetes refuses: remove one",
    ),
    (config(user={"client-certificate-data": encoded("c")}), "it has a client certificate without its key"),
    (
        config(user={"token": "secret", "username": "me"}),
        "the user u has both a token and a username, which Kubernetes refuses: remove one",
    ),
]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a: [", "invalid YAML in line 1"),
        ("users:\n- secret: {", "invalid YAML in line 2"),
        ("\x00", "invalid YAML"),
        ("[]", "it has no current-context"),
        ("- secret", "invalid kubeconfig: must be a mapping"),
        ("", "it has no current-context"),
        (config(current="other"), "it has no context other; it has k"),
        (config(clusters=[]), "it has no cluster c; it has none"),
        (config(clusters={"c": {}}), "invalid clusters: must be a list"),
        (config(contexts=["k"]), "invalid entry of contexts: must be a mapping"),
        (config({"server": None}), "its cluster has no server"),
        (config({"server": 1}), "invalid server: must be a text"),
        (config({"certificate-authority": "/nope/ca.crt"}), "/nope/ca.crt: No such file or directory"),
        (config(user={"tokenFile": "/nope/token"}), "/nope/token: No such file or directory"),
        (config(user={"client-key-data": "=secret"}), "invalid client-key-data: must be in base64"),
        (
            config(user={"exec": {"command": "secret"}}),
            "the user u gets its credentials by exec, which cannot be used on a node",
        ),
        (config(user={"auth-provider": {"name": "oidc"}}), "the user u gets its credentials by auth-provider"),
        (config({"proxy-url": "socks5://me:secret@proxy:1"}), "invalid proxy 'proxy:1': must be http://HOST:PORT"),
        (config({"server": "ftp://10.0.0.1"}), "invalid address 'ftp://10.0.0.1': must be https://HOST:PORT"),
        *CONFLICTS,
    ],
)
def test_what_cannot_be_used_is_named_and_not_shown(tmp_path: Path, content: str | Json, problem: str) -> None:
    path = tmp_path / "kubelet.conf"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    found = find_problem(str(path))
    assert found.startswith(f"{path} cannot be used: {problem}")
    assert "secret" not in found
    with pytest.raises(CredentialError) as caught:
        read_credentials(str(path)).at()
    assert str(caught.value) == found


def test_file_that_is_not_there_is_named() -> None:
    assert find_problem("/nope/config") == "/nope/config cannot be used: /nope/config: No such file or directory"
    assert read_cluster("/nope/config") == Cluster()


# ---- where it is read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("authority", ["/etc/kubernetes/pki/ca.crt", "pki/ca.crt"])
def test_cluster_is_read_below_another_root(tmp_path: Path, authority: str) -> None:
    directory = tmp_path / "etc/kubernetes"
    (directory / "pki").mkdir(parents=True)
    (directory / "pki/ca.crt").write_text("authority", encoding="ascii")
    written(directory / "kubelet.conf", config({"certificate-authority": authority}))
    cluster = Cluster("https://10.0.0.1:6443", b"authority")
    assert read_cluster("/etc/kubernetes/kubelet.conf", str(tmp_path)) == cluster
    (directory / "pki/ca.crt").unlink()
    assert read_cluster("/etc/kubernetes/kubelet.conf", str(tmp_path)) == Cluster("https://10.0.0.1:6443")
