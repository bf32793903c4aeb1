# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which cluster a node belongs to, by the files that its kubelet uses."""

from __future__ import annotations

import base64
import hashlib
import ssl
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_reader import read_identity
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import ClusterIdentity
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority

KUBELET = ("/usr/bin/kubelet", "--kubeconfig=/etc/kubernetes/kubelet.conf")
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
- name: kubernetes
  cluster:
    server: https://10.0.0.10:6443
    {authority}
contexts:
- name: system:node:w1@kubernetes
  context: {{cluster: kubernetes, user: system:node:w1}}
current-context: system:node:w1@kubernetes
"""


@pytest.fixture(name="root")
def fixture_root(tmp_path: Path) -> Path:
    """A node's files."""
    write(tmp_path, "etc/machine-id", "0123456789abcdef\n")
    write(tmp_path, "var/lib/dbus/machine-id", "of-dbus\n")
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def digest(authority: Authority) -> str:
    der = ssl.PEM_cert_to_DER_cert(authority.certificate.decode("ascii"))
    return hashlib.sha256(der).hexdigest()


def test_an_authority_in_the_kubeconfig(root: Path, authority: Authority) -> None:
    encoded = base64.b64encode(authority.certificate).decode("ascii")
    text = KUBECONFIG.format(authority=f"certificate-authority-data: {encoded}")
    write(root, "etc/kubernetes/kubelet.conf", text)
    expected = ClusterIdentity(digest(authority), "https://10.0.0.10:6443", "0123456789abcdef")
    assert read_identity(KUBELET, root=str(root)) == expected
    # kubeadm's path, where no flag names another.
    assert read_identity(["kubelet"], root=str(root)) == expected


@pytest.mark.parametrize("path", ["/etc/kubernetes/pki/ca.crt", "pki/ca.crt"])
def test_an_authority_in_a_file(root: Path, authority: Authority, path: str) -> None:
    write(root, "etc/kubernetes/pki/ca.crt", authority.certificate.decode("ascii"))
    write(root, "etc/kubernetes/kubelet.conf", KUBECONFIG.format(authority=f"certificate-authority: {path}"))
    assert read_identity(KUBELET, root=str(root)).ca_sha256 == digest(authority)


def test_values_are_empty_where_nothing_can_be_read(tmp_path: Path) -> None:
    assert read_identity(KUBELET, root=str(tmp_path)) == ClusterIdentity()
    write(tmp_path, "etc/kubernetes/kubelet.conf", KUBECONFIG.format(authority="certificate-authority: /missing"))
    assert read_identity(KUBELET, root=str(tmp_path)) == ClusterIdentity(server="https://10.0.0.10:6443")


def test_the_machine_id_is_the_first_that_can_be_read(root: Path) -> None:
    (root / "etc/machine-id").unlink()
    assert read_identity(KUBELET, root=str(root)).machine_id == "of-dbus"
    write(root, "etc/machine-id", "")
    assert read_identity(KUBELET, root=str(root)).machine_id == ""
    write(root, "mine", "of-mine")
    assert read_identity([*KUBELET, "--machine-id-file=/none,/mine"], root=str(root)).machine_id == "of-mine"
