# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which keys wrote the values in etcd, read over real TLS."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.etcd import etcd_client
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.component_files import ComponentFiles
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.encryption import IDENTITY, Key
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_etcd import FakeEtcd

K1, K2 = Key("aescbc", "k1"), Key("aescbc", "k2")
KMS = Key("kms v2", "vault")


@pytest.fixture(name="member")
def fixture_member(tmp_path: Path, authority: Authority) -> t.Iterator[FakeEtcd]:
    member = FakeEtcd(tmp_path, authority, authority.issue())
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    yield member
    member.close()


@pytest.fixture(name="files")
def fixture_files(member: FakeEtcd, tmp_path: Path) -> t.Callable[..., ComponentFiles]:
    """The files of an API server that uses the member, with more flags."""

    def make(*arguments: str, url: str = "") -> ComponentFiles:
        names = {"cafile": "ca.crt", "certfile": "server.crt", "keyfile": "server.key"}
        given = [f"--etcd-{flag}=/etc/kubernetes/pki/{name}" for flag, name in names.items()]
        text = samples.with_command(f"--etcd-servers={url or member.url}", *given, *arguments)
        return ComponentFiles(samples.manifest(text.replace("/etc/kubernetes/pki", str(tmp_path))))

    return make


Files = t.Callable[..., ComponentFiles]


def test_values_are_counted_by_the_key_that_wrote_them(member: FakeEtcd, files: Files) -> None:
    member.values = {
        "/registry/secrets/a/1": K1.prefix + b"...",
        "/registry/secrets/a/2": K1.prefix,
        "/registry/secrets/b/1": K2.prefix + b"...",
        "/registry/secrets/b/2": b"k8s\0\n plain",
        "/registry/secrets/b/3": b"",
        "/registry/secretsandmore/a": K1.prefix,
        "/registry/configmaps/a/1": K1.prefix,
        "/registry/deployments/a/1": KMS.prefix + b"...",
        "/elsewhere/secrets/a": K1.prefix,
    }
    counts = {key: etcd_client.count_values(files(), "secrets", key.wrote) for key in (K1, K2, KMS, IDENTITY)}
    assert counts == {K1: 2, K2: 1, KMS: 0, IDENTITY: 2}
    assert etcd_client.count_values(files(), "configmaps", K1.wrote) == 1
    # Where others are kept is not certain, so all values count.
    assert etcd_client.count_values(files(), "deployments.apps", K1.wrote) == 4
    assert etcd_client.count_values(files(), "*.*", KMS.wrote) == 1
    assert etcd_client.count_values(files("--etcd-prefix=elsewhere/"), "secrets", K1.wrote) == 1
    assert {path for path in member.requests if path != "/health?exclude=NOSPACE"} == {"/v3/kv/range"}


@pytest.mark.parametrize("number", [0, 1, 99, 100, 101, 250])
def test_every_value_is_seen(member: FakeEtcd, files: Files, number: int) -> None:
    member.values = {f"/registry/secrets/a/{place:03}": K1.prefix for place in range(number)}
    assert etcd_client.count_values(files(), "secrets", K1.wrote) == number


def test_what_cannot_be_queried_is_no_zero(member: FakeEtcd, files: Files) -> None:
    with pytest.raises(KubeadmError, match="Connection refused"):
        etcd_client.count_values(files(url="https://127.0.0.1:1"), "secrets", K1.wrote)
    with pytest.raises(KubeadmError, match="names no address"):
        etcd_client.count_values(files(url="unix:///x"), "secrets", K1.wrote)
    with pytest.raises(KubeadmError, match="--etcd-servers-overrides keeps some resources elsewhere"):
        etcd_client.count_values(files("--etcd-servers-overrides=/secrets#https://x"), "secrets", K1.wrote)
    assert etcd_client.count_values(files(url=f"https://127.0.0.1:1,{member.url}"), "secrets", K1.wrote) == 0
    member.values = None
    with pytest.raises(KubeadmError, match=r"/v3/kv/range answers 404"):
        etcd_client.count_values(files(), "secrets", K1.wrote)
