# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is verified of an API server whose probes pass: whom it answers, and that its kubelet reported it."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.api_server import AUTHORIZED_PATH
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import COMMITTED, ROLLED_BACK, WAITING
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import MIRROR, NEW, OLD, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web, kubeconfig

OWN_NODE = "/api/v1/nodes/cp1"


def watch(node: FakeNode) -> dict[str, t.Any]:
    """What a journal says of the clients of an API server."""
    for path in (node.kubeconfig, node.kubelet_conf):
        path.write_text(kubeconfig(), encoding="ascii")
    admin, kubelet = str(node.kubeconfig), str(node.kubelet_conf)
    sides = {
        side: {**node.instance(text), "server": node.web.address} for side, text in (("before", OLD), ("after", NEW))
    }
    return {
        **sides,
        "credentials": [{"kubeconfig": admin, "path": AUTHORIZED_PATH}, {"kubeconfig": kubelet, "path": OWN_NODE}],
        "mirror": {"kubeconfig": kubelet, "path": MIRROR},
    }


def change(node: FakeNode, after: t.Callable[[], object] = lambda: None) -> t.Any:
    """A change of this API server. after: what happens when it stands."""
    node.prepare(watch=watch(node))
    node.once(WAITING, after)
    return node.run()


def test_who_is_answered_is_a_part_of_the_proof(node: FakeNode) -> None:
    result = change(node)
    assert (result["outcome"], result["notes"]) == (COMMITTED, [])
    assert result["proof"]["clients"] == [f"{node.kubeconfig}: 200", f"{node.kubelet_conf}: 200"]
    assert result["proof"]["config_hash"] == result["proof"]["uid"]


@pytest.mark.parametrize("path", [AUTHORIZED_PATH, OWN_NODE])
@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_a_client_that_is_not_answered_any_more_is_a_failure(node: FakeNode, path: str, status: int) -> None:
    """Its probes do not identify their callers, so all of them pass."""
    result = change(node, lambda: node.web.api_statuses.update({path: status}))
    assert (result["outcome"], node.manifest.read_text(encoding="utf-8")) == (ROLLED_BACK, OLD)
    owner = node.kubeconfig if path == AUTHORIZED_PATH else node.kubelet_conf
    assert f"answers {status} to the client of {owner}, which it admitted before the change" in result["reason"]
    assert (result["proof"]["clients"], result["proof"]["config_hash"]) == ([], None)


def test_a_node_without_its_object_is_answered(node: FakeNode) -> None:
    node.web.api_statuses[OWN_NODE] = 404
    assert change(node)["proof"]["clients"][1] == f"{node.kubelet_conf}: 404"


@pytest.mark.parametrize("status", [401, 403])
def test_a_client_that_was_refused_before_is_not_verified(node: FakeNode, status: int) -> None:
    """Such as a certificate that has expired: no repair would be possible."""
    node.web.api_statuses[OWN_NODE] = status
    result = change(node)
    assert result["outcome"] == COMMITTED
    assert result["proof"]["clients"] == [f"{node.kubeconfig}: 200"]
    limit = f"whether it answers the client of {node.kubelet_conf}: before the change the API server answers {status}"
    assert (result["notes"], result["proof"]["unverified"]) == ([], [limit])


def test_an_api_server_that_was_down_has_to_respond(node: FakeNode) -> None:
    """A repair that lets no client in is none."""
    node.kubelet.enabled = False
    node.kubelet.kill(node.kubelet.instances[0])
    node.kubelet._serve()
    node.prepare(watch=watch(node))
    node.at(25, lambda: setattr(node.kubelet, "enabled", True))
    node.once(WAITING, lambda: node.web.api_statuses.update({AUTHORIZED_PATH: 401}))
    result = node.run()
    assert (result["outcome"], node.manifest.read_text(encoding="utf-8")) == (ROLLED_BACK, OLD)
    assert f"answers 401 to the client of {node.kubeconfig}" in result["reason"]


def test_an_address_that_never_answered_is_not_the_right_one(node: FakeNode, web: Web) -> None:
    """It was healthy before, so it answers somewhere."""
    given = watch(node)
    for side in ("before", "after"):
        given[side]["server"] = {"scheme": "http", "host": "127.0.0.1", "port": 1}
    result = node.change(watch=given)
    assert (result["outcome"], result["proof"]["clients"]) == (COMMITTED, [])
    assert web.requests
    limit = f"whether it answers the client of {node.kubelet_conf}: before the change the API server cannot be queried"
    assert result["proof"]["unverified"][1].startswith(limit)


def test_an_api_server_that_does_not_know_yet_who_may_do_what_is_waited_for(node: FakeNode) -> None:
    def refuse() -> None:
        node.web.api_status = 403
        node.at(6 + 3 + 5, lambda: setattr(node.web, "api_status", 200))

    assert change(node, refuse)["outcome"] == COMMITTED


@pytest.mark.parametrize("config", [None, kubeconfig(user={"client-certificate-data": "A", "client-key-data": "A"})])
def test_a_credential_that_is_none_is_not_verified(node: FakeNode, config: str | None) -> None:
    given = watch(node)
    node.kubelet_conf.unlink()
    if config is not None:
        node.kubelet_conf.write_text(config, encoding="ascii")
    result = node.change(watch=given)
    assert (result["outcome"], result["proof"]["clients"]) == (COMMITTED, [f"{node.kubeconfig}: 200"])
    (limit,) = result["proof"]["unverified"]
    assert limit.startswith(f"whether it answers the client of {node.kubelet_conf}: before the change ")


# ---- the mirror pod --------------------------------------------------------------------------------------------------


def test_a_kubelet_that_reports_late_is_waited_for(node: FakeNode) -> None:
    node.kubelet.reports_after = 10.0
    assert change(node)["proof"]["config_hash"]


def test_a_kubelet_that_never_reports_the_new_one_is_a_failure(node: FakeNode) -> None:
    result = change(node, lambda: setattr(node.kubelet, "reports_after", 1000.0))
    assert (result["outcome"], node.manifest.read_text(encoding="utf-8")) == (ROLLED_BACK, OLD)
    assert (
        "the kubelet did not report the new kube-apiserver to it: its mirror pod has the config.hash"
        in result["reason"]
    )


@pytest.mark.parametrize("status", [403, 404])
def test_a_kubelet_that_had_not_reported_the_former_one_proves_nothing(node: FakeNode, status: int) -> None:
    node.kubelet.reports_after = 1000.0
    node.web.api_statuses[MIRROR] = status
    result = change(node)
    assert (result["outcome"], result["proof"]["config_hash"]) == (COMMITTED, None)
    reported = "whether its kubelet reports the new instance to it"
    why = f"before the change asked for its mirror pod, the API server answers {status}"
    assert result["proof"]["unverified"] == [f"{reported}: {why}"]
