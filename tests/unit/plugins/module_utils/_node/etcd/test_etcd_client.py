# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking etcd, over real TLS."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import run_probe
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.etcd import etcd_client
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.component_files import ComponentFiles
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support import authority as pki
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_etcd import FakeEtcd
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web


@pytest.fixture(name="caller")
def fixture_caller(tmp_path: Path, authority: Authority, server: Pair) -> Caller:
    caller = Caller(tmp_path / "pki")
    caller.write("caller", server)
    caller.write("stranger", Authority(tmp_path / "stranger").issue(usage=pki.CLIENT))
    caller.write("late", authority.issue(first=-9, last=-3))
    (caller.directory / "ca.crt").write_bytes(authority.certificate)
    return caller


class Caller:
    """An API server's files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()

    def write(self, name: str, pair: Pair) -> None:
        (self.directory / f"{name}.crt").write_bytes(pair.certificate)
        (self.directory / f"{name}.key").write_bytes(pair.key)

    def files(self, *urls: str, pair: str = "caller", authority: str = "ca") -> ComponentFiles:
        given = {"cafile": f"{authority}.crt", "certfile": f"{pair}.crt", "keyfile": f"{pair}.key"}
        arguments = [f"--etcd-{flag}=/etc/kubernetes/pki/{name}" for flag, name in given.items()]
        text = samples.with_command(f"--etcd-servers={','.join(urls)}", *arguments)
        return ComponentFiles(samples.manifest(text.replace("/etc/kubernetes/pki", str(self.directory))))


def test_an_api_servers_etcd_is_queried_with_its_certificate(member: FakeEtcd, caller: Caller) -> None:
    (health,) = etcd_client.read_health_for_api_server(caller.files(member.url))
    assert (health.ok, health.message) == (True, f"{member.url} is healthy")
    assert member.requests == ["/health?exclude=NOSPACE"]
    member.healthy = False
    (health,) = etcd_client.read_health_for_api_server(caller.files(member.url))
    assert (health.ok, health.message) == (False, f"{member.url} is not healthy (NO LEADER)")


@pytest.mark.parametrize("pair", ["stranger", "late"])
def test_a_certificate_that_etcd_turns_down_is_distinguished_from_a_broken_connection(
    member: FakeEtcd, caller: Caller, pair: str
) -> None:
    for dummy in range(5):
        (health,) = etcd_client.read_health_for_api_server(caller.files(member.url, pair=pair))
        assert health.ok is False
        assert "rejects the client certificate" in health.message
    assert member.requests == []


def test_an_etcd_whose_certificate_is_not_trusted_is_named(member: FakeEtcd, caller: Caller) -> None:
    (health,) = etcd_client.read_health_for_api_server(caller.files(member.url, authority="stranger"))
    assert (health.ok, "its certificate is not trusted" in health.message) == (False, True)
    url = member.url.replace("127.0.0.1", "127.0.0.2")  # an address that its certificate does not name
    (health,) = etcd_client.read_health_for_api_server(caller.files(url))
    assert health.ok is False


def test_each_address_is_queried(member: FakeEtcd, caller: Caller) -> None:
    healths = etcd_client.read_health_for_api_server(
        caller.files(member.url, "https://127.0.0.1:1", "unix:///run/etcd.sock")
    )
    assert [health.ok for health in healths] == [True, False]
    assert "Connection refused" in healths[1].message
    assert etcd_client.read_health_for_api_server(caller.files("unix:///run/etcd.sock")) == []


def test_what_responds_otherwise_is_not_called_ill(served_web: Web, caller: Caller) -> None:
    served_web.up = False  # it closes the connection without a word
    (health,) = etcd_client.read_health_for_api_server(caller.files(f"http://127.0.0.1:{served_web.port}"))
    assert (health.ok, "cannot be queried" in health.message) == (None, True)
    served_web.up = True  # a response, but not etcd's
    (health,) = etcd_client.read_health_for_api_server(caller.files(f"http://127.0.0.1:{served_web.port}"))
    assert (health.ok, "answers 200" in health.message) == (None, True)


def test_an_etcd_for_the_newest_tls_alone_can_be_queried(
    tmp_path: Path, authority: Authority, server: Pair, caller: Caller
) -> None:
    member = FakeEtcd(tmp_path, authority, server, newest_tls=True)
    try:
        assert etcd_client.read_health_for_api_server(caller.files(member.url))[0].ok
        (health,) = etcd_client.read_health_for_api_server(caller.files(member.url, pair="stranger"))
        assert not health.ok
    finally:
        member.close()


def test_files_that_cannot_be_read_are_named(member: FakeEtcd, caller: Caller) -> None:
    with pytest.raises(KubeadmError, match=r"none\.crt does not exist"):
        etcd_client.read_health_for_api_server(caller.files(member.url, pair="none"))
    (caller.directory / "caller.key").write_bytes((caller.directory / "late.key").read_bytes())
    with pytest.raises(KubeadmError, match="does not match its key"):
        etcd_client.read_health_for_api_server(caller.files(member.url))


# ---- as a member -----------------------------------------------------------------------------------------------------


def etcd_files(caller: Caller, *urls: str, pair: str = "caller") -> ComponentFiles:
    """A member's files, from its manifest."""
    text = samples.etcd(f"--listen-client-urls={','.join(urls)}", pki=str(caller.directory), pair=pair)
    return ComponentFiles(samples.manifest(text, "etcd"))


def test_a_member_is_reached_at_its_own_node(caller: Caller) -> None:
    access = etcd_client.Access.from_files(etcd_files(caller, "https://10.0.0.11:2379", "https://127.0.0.1:2379"))
    assert access == etcd_client.Access(
        "https://127.0.0.1:2379", *(f"{caller.directory}/{name}" for name in ("caller.crt", "caller.key", "ca.crt"))
    )
    assert etcd_client.Access.from_files(etcd_files(caller, "https://10.0.0.11:2379")).url == "https://10.0.0.11:2379"
    assert etcd_client.Access.from_files(etcd_files(caller, "http://127.0.0.1:2379")) == etcd_client.Access(
        "http://127.0.0.1:2379"
    )
    with pytest.raises(KubeadmError, match="listen-client-urls"):
        etcd_client.Access.from_files(ComponentFiles(samples.manifest(samples.etcd(pki=str(caller.directory)), "etcd")))


def test_kubeadms_certificate_for_the_health_check_is_preferred(caller: Caller, server: Pair) -> None:
    caller.write("healthcheck-client", server)
    access = etcd_client.Access.from_files(etcd_files(caller, "https://127.0.0.1:2379"))
    assert (access.certificate, access.key) == (
        f"{caller.directory}/healthcheck-client.crt",
        f"{caller.directory}/healthcheck-client.key",
    )


@pytest.mark.parametrize(("leader", "leads"), [("10", True), ("11", False), ("0", False)])
def test_the_cluster_knows_whether_this_member_leads(
    member: FakeEtcd, caller: Caller, leader: str, leads: bool
) -> None:
    member.leader = leader
    access = etcd_client.Access.from_files(etcd_files(caller, member.url))
    assert etcd_client.read_cluster(access).leads is leads


def test_the_members_are_read_with_their_health(member: FakeEtcd, caller: Caller) -> None:
    access = etcd_client.Access.from_files(etcd_files(caller, member.url))
    assert member.members is not None
    member.members += [
        member.member("11", ["https://127.0.0.1:1"]),
        member.member("12", ["https://127.0.0.1:1", member.url], learner=True),
        member.member("13", []),
    ]
    found = etcd_client.read_cluster(access).members
    assert [(each.name, each.votes, each.healthy, each.is_this) for each in found] == [
        ("cp10", True, True, True),
        ("cp11", True, False, False),
        ("cp12", False, True, False),
        ("13", True, False, False),
    ]
    assert member.requests[0] == "/v3/cluster/member/list"


def test_a_member_that_does_not_report_is_an_error(member: FakeEtcd, caller: Caller) -> None:
    for pair in ("stranger", "none"):
        with pytest.raises(KubeadmError, match=r"https://127\.0\.0\.1"):
            etcd_client.read_cluster(etcd_client.Access.from_files(etcd_files(caller, member.url, pair=pair)))
    member.members = None
    with pytest.raises(KubeadmError, match="answers 404"):
        etcd_client.read_cluster(etcd_client.Access.from_files(etcd_files(caller, member.url)))


def test_the_engine_can_query_a_member(member: FakeEtcd, caller: Caller) -> None:
    access = etcd_client.Access.from_files(etcd_files(caller, member.url))
    assert run_probe(access.health_probe(member.url))[0]
    member.healthy = False
    assert run_probe(access.health_probe(member.url)) == (False, f"{member.url}/health?exclude=NOSPACE answers 503")
    stranger = etcd_client.Access.from_files(etcd_files(caller, member.url, pair="stranger"))
    assert not run_probe(stranger.health_probe(member.url))[0]
    missing = etcd_client.Access.from_files(etcd_files(caller, member.url, pair="none"))
    assert not run_probe(missing.health_probe(member.url))[0]
