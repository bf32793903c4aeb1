# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whoever uses TLS takes the same certificates, and those that Go takes: all users against one table, over real connections."""

from __future__ import annotations

import base64
import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.credentials import pool_of
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.http_pool import ConnectionFailure
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.etcd_member import EtcdCluster, EtcdError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.kubeconfig import Credentials, User
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import api_request, read_gates, run_probe
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.etcd import etcd_client
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import certificate_pairs
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.component_files import ComponentFiles
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import (
    CLIENT,
    ED25519,
    RSA,
    SERVER,
    Authority,
    Pair,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.tls_server import Server, go_context
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import kubeconfig

PASSWORD = "the key has a password"  # noqa: S105  # a message


class TlsSetup(t.NamedTuple):
    """Both sides of a connection. server_ca: what the client trusts. client_ca: what the server trusts."""

    server_ca: bytes
    server: Pair
    client_ca: bytes
    client: Pair


class Pki:
    """Authorities of all kinds."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "former").mkdir()
        self.root = Authority(directory / "root")
        self.intermediate = Authority(directory / "kubernetes", issuer=self.root)
        self.former_root = Authority(directory / "former/root", first=-20, last=-10)
        self.other = Authority(directory / "other")
        self.ed25519 = Authority(directory / "ed25519", key=ED25519)
        self.rsa = Authority(directory / "rsa", key=RSA)
        self._made: dict[str, TlsSetup] = {}

    def made(self, kind: str, make: t.Callable[[Pki], TlsSetup]) -> TlsSetup:
        """A setup of a kind, for which openssl is started once."""
        if kind not in self._made:
            self._made[kind] = make(self)
        return self._made[kind]

    def of(self, authority: Authority, authorities: bytes | None = None, *, behind: bytes = b"") -> TlsSetup:
        """Two pairs of an authority. authorities: the CA bundle of both sides, when not that authority. behind: what follows each
        certificate in its file."""
        server, client = authority.issue(names="IP:127.0.0.1", usage=SERVER), authority.issue(names="", usage=CLIENT)
        bundle = authority.certificate if authorities is None else authorities
        return TlsSetup(
            bundle, Pair(server.certificate + behind, server.key), bundle, Pair(client.certificate + behind, client.key)
        )

    def encrypted(self, *command: str) -> TlsSetup:
        """A client whose key has a password. command: of openssl, which gives it one."""
        setup = self.of(self.root)
        path = self.directory / "plain.key"
        path.write_bytes(setup.client.key)
        done = subprocess.run(
            ["openssl", *command, "-in", str(path), "-passout", "pass:secret"], check=True, capture_output=True
        )
        return setup._replace(client=Pair(setup.client.certificate, done.stdout))


@pytest.fixture(name="pki", scope="module")
def fixture_pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


# ---- the users -------------------------------------------------------------------------------------------------------


class RunningServer(t.NamedTuple):
    """The server of a setup. url: its own. directory: for the files of the client."""

    setup: TlsSetup
    url: str
    directory: Path

    def write(self) -> None:
        """The files of the client."""
        contents = {"ca.crt": self.setup.server_ca, "me.crt": self.setup.client.certificate}
        for name, content in {**contents, "me.key": self.setup.client.key}.items():
            (self.directory / name).write_bytes(content)


Connect = t.Callable[[TlsSetup], RunningServer]


def use_api_client(server: RunningServer) -> str:
    """Send a request with the client of the modules of the API. Returns the problem; empty without one, as below."""
    user = User(server.setup.client.certificate, server.setup.client.key)
    try:
        pool = pool_of(Credentials("the test", server.url, user, server.setup.server_ca))
        assert pool.request("GET", "/api", headers=[], body=None, timeout=5).status == 200
    except (ConnectionFailure, KubeadmError) as exc:
        return str(exc)
    return ""


def use_api_query(server: RunningServer) -> str:
    """Send one with the engine, by a kubeconfig. Returns the problem."""
    parts = {"certificate-authority": server.setup.server_ca}
    client = {
        "client-certificate": server.setup.client.certificate,
        "client-key": server.setup.client.key,
    }
    cluster, user = (
        {f"{name}-data": base64.b64encode(content).decode() for name, content in each.items()}
        for each in (parts, client)
    )
    path = server.directory / "kubelet.conf"
    text = kubeconfig(server.url, *(f"{name}: {content}" for name, content in cluster.items()), user=user)
    path.write_text(text, encoding="ascii")
    response = api_request(str(path), "/api")
    return "" if response.status == 200 else response.problem


def use_engine_etcd(server: RunningServer) -> str:
    """Send one with the engine to a member of etcd. Returns the problem."""
    server.write()
    names = {"authority": "ca.crt", "certificate": "me.crt", "key": "me.key"}
    client: t.Any = {"url": server.url, **{key: str(server.directory / name) for key, name in names.items()}}
    try:
        assert EtcdCluster(client).members() == []
    except EtcdError as exc:
        return str(exc)
    return ""


def use_etcd_health(server: RunningServer) -> str:
    """Send one with the node's side to etcd, as an API server does. Returns the problem."""
    server.write()
    flags = {"cafile": "ca.crt", "certfile": "me.crt", "keyfile": "me.key"}
    arguments = [f"--etcd-{flag}=/etc/kubernetes/pki/{name}" for flag, name in flags.items()]
    text = samples.with_command(f"--etcd-servers={server.url}", *arguments)
    files = ComponentFiles(samples.manifest(text.replace("/etc/kubernetes/pki", str(server.directory))))
    try:
        (health,) = etcd_client.read_health_for_api_server(files)
    except KubeadmError as exc:
        return str(exc)
    return "" if health.ok else health.message


def use_certificates(server: RunningServer) -> str:
    """Check the certificates of both sides, without a connection. Returns the problem."""
    server_ca, server_pair, client_ca, client = server.setup
    problem = certificate_pairs.pair_problem(*client) or certificate_pairs.trust_problem(
        *server_pair, server_ca, names=["127.0.0.1"], is_client=False
    )
    return problem or certificate_pairs.trust_problem(*client, client_ca, names=[], is_client=True) or ""


USERS = {
    "api_client": use_api_client,
    "api_query": use_api_query,
    "engine_etcd": use_engine_etcd,
    "etcd_health": use_etcd_health,
    "certificates": use_certificates,
}


@pytest.fixture(name="connect")
def fixture_connect(tmp_path: Path) -> t.Iterator[Connect]:
    """Start the server of a setup."""
    servers: list[Server] = []

    def connect(setup: TlsSetup) -> RunningServer:
        servers.append(Server(go_context(tmp_path, setup.server, setup.client_ca)))
        return RunningServer(setup, servers[-1].url, tmp_path)

    yield connect
    for server in servers:
        server.close()


# ---- the table -------------------------------------------------------------------------------------------------------

UNREADABLE = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def _trusting(setup: TlsSetup, server_ca: bytes) -> TlsSetup:
    return setup._replace(server_ca=server_ca)


ACCEPTED: dict[str, t.Callable[[Pki], TlsSetup]] = {
    "root": lambda pki: pki.of(pki.root),
    "intermediate": lambda pki: pki.of(pki.intermediate),
    "both_in_one_file": lambda pki: pki.of(pki.intermediate, pki.intermediate.certificate + pki.root.certificate),
    "chain_to_the_root": lambda pki: pki.of(
        pki.intermediate, pki.root.certificate, behind=pki.intermediate.certificate
    ),
    "expired_one_before_it": lambda pki: pki.of(pki.root, pki.former_root.certificate + pki.root.certificate),
    "expired_one_behind_it": lambda pki: pki.of(pki.root, pki.root.certificate + pki.former_root.certificate),
    "one_that_cannot_be_read_before_it": lambda pki: _trusting(pki.of(pki.root), UNREADABLE + pki.root.certificate),
    "one_that_cannot_be_read_behind_it": lambda pki: _trusting(pki.of(pki.root), pki.root.certificate + UNREADABLE),
    "words_between": lambda pki: pki.of(pki.root, "# Zürich\n".encode() + pki.root.certificate),
    "ed25519": lambda pki: pki.of(pki.ed25519),
    "rsa": lambda pki: pki.of(pki.rsa),
}
REFUSED: dict[str, tuple[t.Callable[[Pki], TlsSetup], str]] = {
    "missing_intermediate": (
        lambda pki: pki.of(pki.intermediate, pki.root.certificate),
        "unable to get local issuer certificate",
    ),
    "other_authority": (lambda pki: pki.of(pki.root, pki.other.certificate), "unable to get local issuer certificate"),
    "expired_authority": (lambda pki: pki.of(pki.former_root), "certificate has expired"),
    "authority_that_cannot_be_read": (lambda pki: _trusting(pki.of(pki.root), UNREADABLE), "holds no certificate"),
    "no_authority": (lambda pki: pki.of(pki.root)._replace(server_ca=b"nothing"), "holds no certificate"),
    "key_with_a_password": (lambda pki: pki.encrypted("pkcs8", "-topk8"), PASSWORD),
    "key_with_a_password_of_old": (lambda pki: pki.encrypted("ec", "-aes256"), PASSWORD),
    "key_of_another_certificate": (
        lambda pki: pki.of(pki.root)._replace(
            client=Pair(pki.of(pki.root).client.certificate, pki.of(pki.rsa).client.key)
        ),
        "does not match its key",
    ),
}


@pytest.mark.parametrize("tls_user", USERS)
@pytest.mark.parametrize("kind", ACCEPTED)
def test_what_go_takes_is_taken_by_all(pki: Pki, connect: Connect, kind: str, tls_user: str) -> None:
    assert USERS[tls_user](connect(pki.made(kind, ACCEPTED[kind]))) == ""


@pytest.mark.parametrize("tls_user", USERS)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_go_refuses_is_refused_by_all(pki: Pki, connect: Connect, kind: str, tls_user: str) -> None:
    make, problem = REFUSED[kind]
    assert problem in _refusal(USERS[tls_user], connect, pki.made(kind, make), tls_user)


def _refusal(
    use: t.Callable[[RunningServer], str],
    connect: Connect,
    setup: TlsSetup,
    tls_user: str,
) -> str:
    try:
        return use(connect(setup))
    except KubeadmError as exc:
        assert tls_user == "certificates", "the others say it of the address"
        return str(exc)


@pytest.mark.parametrize("tls_user", USERS)
@pytest.mark.parametrize("names", ["IP:127.0.0.2", "DNS:localhost", ""])
def test_certificate_has_to_name_the_server_among_its_alternatives(
    pki: Pki, connect: Connect, tls_user: str, names: str
) -> None:
    """A member of etcd is asked at addresses that its cluster lists, and counts by its authority."""
    setup = pki.made(
        f"names {names}", lambda pki: pki.of(pki.root)._replace(server=pki.root.issue(names=names, usage=SERVER))
    )
    problem = USERS[tls_user](connect(setup))
    assert bool(problem) is (tls_user != "engine_etcd")


def test_common_name_is_no_name_of_a_server(pki: Pki) -> None:
    """Go passes over it since 1.15. These certificates are of "component"."""
    pair = pki.root.issue(names="", usage=SERVER)
    problem = certificate_pairs.trust_problem(*pair, pki.root.certificate, names=["component"], is_client=False)
    assert "is not valid for component" in str(problem)


# ---- without verification --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ACCEPTED)
def test_probes_and_metrics_show_the_certificate_and_verify_nothing(pki: Pki, connect: Connect, kind: str) -> None:
    server = connect(pki.made(kind, ACCEPTED[kind])._replace(server_ca=pki.other.certificate))
    assert use_api_query(server) != ""
    server.write()
    address: t.Any = {"scheme": "https", "host": "127.0.0.1", "port": int(server.url.rpartition(":")[2])}
    pair = {"certificate": str(server.directory / "me.crt"), "key": str(server.directory / "me.key")}
    probe: t.Any = {"kind": "http", "path": "/health", **address, **pair}
    metrics: t.Any = {**address, "kubeconfig": str(server.directory / "kubelet.conf")}
    assert run_probe(probe)[0]
    assert read_gates(metrics) == ({}, "")


def test_probe_with_a_key_that_has_a_password_is_reported(pki: Pki, connect: Connect) -> None:
    server = connect(pki.encrypted("pkcs8", "-topk8"))
    server.write()
    pair = {"certificate": str(server.directory / "me.crt"), "key": str(server.directory / "me.key")}
    probe: t.Any = {"kind": "http", "scheme": "https", "host": "127.0.0.1", "port": 1, "path": "/", **pair}
    passes, words = run_probe(probe)
    assert (passes, PASSWORD in words) == (False, True)
