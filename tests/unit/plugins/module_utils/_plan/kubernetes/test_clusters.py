# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tells a cluster, and which nodes belong to the same one."""

from __future__ import annotations

import base64
import hashlib

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import (
    ClusterIdentity,
    certificate_fingerprints,
    cluster_conflict,
    group_by_cluster,
    outsiders,
)


def pem(content: bytes) -> str:
    """What looks like a certificate."""
    body = base64.encodebytes(content).decode("ascii")
    return f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_certificates_are_reported_by_their_der_form() -> None:
    assert certificate_fingerprints(pem(b"a") + "# a comment\n" + pem(b"b") + pem(b"a")) == ",".join(
        sorted((digest(b"a"), digest(b"b")))
    )
    assert certificate_fingerprints(
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n" + pem(b"a")
    ) == digest(b"a")
    assert certificate_fingerprints("") == ""


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("a", "https://x"), ("a", "https://y"), True),
        (("a", "https://x"), ("b", "https://x"), False),
        (("a,b", "https://x"), ("b,c", "https://y"), True),
        (("a", "https://x"), ("", "https://x"), True),
        (("a", "https://x"), ("", "https://y"), False),
        (("", "https://x"), ("", "https://x"), True),
        (("a", "https://x"), ("", ""), False),
        (("", ""), ("", ""), False),
    ],
)
def test_nodes_of_one_cluster_trust_a_certificate_in_common(
    one: tuple[str, str], other: tuple[str, str], same: bool
) -> None:
    first, second = ClusterIdentity(*one, "m1"), ClusterIdentity(*other, "m2")
    assert first.is_same_cluster(second) is same
    assert second.is_same_cluster(first) is same


def identity(authority: str, server: str = "https://x:6443") -> ClusterIdentity:
    """What a module tells of a node's cluster."""
    return ClusterIdentity(authority, server, "m")


def test_a_cluster_whose_authority_is_being_replaced_is_one() -> None:
    nodes = {name: ClusterIdentity(authority) for name, authority in {"a": "1", "b": "2", "c": "3", "d": "1,2"}.items()}
    assert group_by_cluster(nodes) == [["a", "b", "d"], ["c"]]


def test_nodes_of_one_cluster_are_in_no_conflict() -> None:
    assert cluster_conflict({"cp1": identity("a"), "w1": identity("a", "https://127.0.0.1:6443"), "w2": None}) == ""
    assert cluster_conflict({"w1": identity("", "")}) == ""
    assert cluster_conflict({}) == ""


def test_node_of_unknown_cluster_is_an_outsider() -> None:
    nodes = {"cp1": ClusterIdentity("aa"), "w1": ClusterIdentity(), "w2": None}
    assert list(outsiders(nodes, "cp1", ClusterIdentity("aa"))) == ["w1"]


def test_a_conflict_names_the_hosts_of_each_cluster_and_what_to_do() -> None:
    nodes = {
        "a1": identity("1" * 64),
        "b1": identity("", "https://y:6443"),
        "a2": identity("1" * 64),
        "c1": identity("", ""),
    }
    assert cluster_conflict(nodes) == (
        "The hosts of this run belong to 3 clusters: a1, a2 (https://x:6443, authority 111111111111);"
        " b1 (https://y:6443, authority not named);"
        " c1 (not known: the kubeconfig of its kubelet cannot be read)."
        " One run changes one cluster, with its Lease and its credentials: run each by itself,"
        " with --limit a1,a2 and --limit b1 and --limit c1."
    )
