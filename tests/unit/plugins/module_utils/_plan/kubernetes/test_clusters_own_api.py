# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which API is that of nodes, and where their own one listens."""

from __future__ import annotations

import base64
import hashlib
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import (
    OwnCluster,
    own_api_server_url,
)


def certificate(text: str) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{base64.b64encode(text.encode()).decode()}\n-----END CERTIFICATE-----\n"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def own(*authorities: str, **machines: str) -> OwnCluster:
    found = OwnCluster.parse({"ca_sha256": ",".join(map(digest, authorities)), "machine_ids": machines})
    assert found is not None
    return found


def nodes(**machines: str | None) -> dict[str, dict[str, object]]:
    return {name: {"status": {"nodeInfo": {"machineID": text}}} for name, text in machines.items()}


def test_an_authority_that_the_kubelets_trust() -> None:
    assert own("a").trusts(certificate("a"))
    assert own("a", "b").trusts(certificate("b"))
    # Of the two, the other one may have vouched for the server.
    assert not own("a").trusts(certificate("a") + certificate("b"))
    assert not own("a").trusts(certificate("b"))
    assert not own("a").trusts("")
    assert not own().trusts(certificate("a"))
    assert OwnCluster.parse(None) is None
    assert OwnCluster.parse({}) == OwnCluster(frozenset(), {})


def test_machines_that_are_the_nodes() -> None:
    own("a", w1="1", w2="2", w3="").check_machines(nodes(w1="1", w3="9"), "https://a", "x")


@pytest.mark.parametrize(
    ("machines", "expected"),
    [
        ({"w1": "1", "w2": "3"}, r"its Node w2 ran on other machines"),
        ({"w1": "2", "w2": "3"}, r"its Nodes w1, w2 ran on other machines"),
        ({}, "none of its Nodes can be identified as one of theirs"),
        ({"w9": "1"}, "none of its Nodes can be identified"),
        ({"w1": None}, "its Node w1 ran"),
    ],
)
def test_an_api_of_others(machines: dict[str, str | None], expected: str) -> None:
    with pytest.raises(
        Refusal, match=rf"the API at https://a is not verified .*{expected} .*credentials come from x: name those"
    ):
        own("a", w1="1", w2="2").check_machines(nodes(**machines), "https://a", "x")
    with pytest.raises(Refusal, match="none of its Nodes"):
        own("a").check_machines(nodes(w1="1"), "https://a", "x")


ENDPOINT = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"


def manifest(*arguments: str, **annotations: str) -> t.Any:
    return {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [{"command": ["kube-apiserver", *arguments]}]},
    }


@pytest.mark.parametrize(
    ("found", "url"),
    [
        (manifest("--advertise-address=10.0.0.1", "--secure-port=8443"), "https://10.0.0.1:8443"),
        (manifest("--advertise-address=fd00::1"), "https://[fd00::1]:6443"),
        (manifest(**{ENDPOINT: "10.0.0.1:6443"}), "https://10.0.0.1:6443"),
        (manifest("--advertise-address=$(HOST_IP)", **{ENDPOINT: "10.0.0.1:6443"}), "https://10.0.0.1:6443"),
        (manifest("--advertise-address=$(HOST_IP)"), None),
        (manifest(), None),
        ({"metadata": {}, "spec": {"containers": [{}]}}, None),
        ({"spec": {"containers": []}}, None),
        (None, None),
        ([], None),
    ],
)
def test_the_address(found: t.Any, url: str | None) -> None:
    assert own_api_server_url(found) == url
