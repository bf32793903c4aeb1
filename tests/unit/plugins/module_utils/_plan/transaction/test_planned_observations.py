# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an engine observes of a component besides its health."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import Address, NodeObject
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import planned_observations

NODE: NodeObject = {"name": "w1", "kubeconfig": "/etc/kubernetes/kubelet.conf"}


def of_kubelet(before: dict[str, t.Any], after: dict[str, t.Any]) -> list[t.Any]:
    return list(planned_observations.of_kubelet(before.get, after.get, NODE))


def test_kubelet_has_its_port_and_the_name_servers_of_its_pods() -> None:
    dns = {"clusterDNS": ["10.96.0.10"], "clusterDomain": "a.example"}
    port, metrics, names = of_kubelet(
        dns, {**dns, "port": 10251, "tlsCertFile": "/a.crt", "clusterDNS": "10.96.0.10,fd00::a"}
    )
    before, after = {"port": 10250, "certificate": ""}, {"port": 10251, "certificate": "/a.crt"}
    assert (port["before"], port["after"], port["node"]) == (before, after, NODE)
    assert metrics == {**port, "kind": "metrics"}
    assert names["before"] == {"servers": ["10.96.0.10"], "name": "kubernetes.default.svc.a.example"}
    assert names["after"]["servers"] == ["10.96.0.10", "fd00::a"]


def test_a_server_that_the_change_switches_off_is_not_demanded() -> None:
    assert [each["kind"] for each in of_kubelet({}, {"enableServer": False})] == ["dns"]
    assert [each["kind"] for each in of_kubelet({}, {"address": "127.0.0.1"})] == ["port", "metrics", "dns"]


def test_api_server_has_tokens_and_versions_at_its_own_address() -> None:
    before: Address = {"scheme": "https", "host": "10.0.0.11", "port": 6443}
    after: Address = {**before, "port": 6444}
    found = planned_observations.of_api_server({"server": before}, {"server": after}, "/etc/kubernetes/admin.conf")
    assert [each["kind"] for each in found] == ["tokens", "versions", "peers", "aggregated", "admission"]
    assert all((each["before"], each["after"]) == ({"server": before}, {"server": after}) for each in found)
