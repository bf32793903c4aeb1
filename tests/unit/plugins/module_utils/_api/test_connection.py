# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From options to a client."""

from __future__ import annotations

import hashlib
import json
import ssl
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api import connection
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import ApiError, Client
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi, HttpError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import node
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import CERTIFICATE_PEM

Json = dict[str, t.Any]
Serve = t.Callable[..., FakeApi]


class Module:
    """The part of ApiModule that connections use."""

    def __init__(self, **params: t.Any) -> None:
        self.params = {"concurrency": 3, **params}
        self.warnings: list[str] = []
        self.client: Client | None = None

    def warn(self, message: str) -> None:
        self.warnings.append(message)


@pytest.fixture(name="admin")
def fixture_admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., Module]:
    """A module on a control plane. server: of its admin.conf. own: where its own API server listens."""
    monkeypatch.delenv("K8S_AUTH_KUBECONFIG", raising=False)
    manifest = tmp_path / "kube-apiserver.yaml"
    monkeypatch.setattr(connection, "MANIFEST", str(manifest))

    def admin(server: str, own: str = "", **params: t.Any) -> Module:
        context = {"name": "a", "context": {"cluster": "a", "user": "a"}}
        cluster = {"name": "a", "cluster": {"server": server}}
        content = {"clusters": [cluster], "users": [{"name": "a"}], "contexts": [context], "current-context": "a"}
        (tmp_path / "admin.conf").write_text(json.dumps(content), encoding="utf-8")
        if own:
            monkeypatch.setattr(connection, "own_api_server_url", lambda manifest: manifest["own"])
            manifest.write_text(f"own: {json.dumps(own)}\n---\nkind: Service\n", encoding="utf-8")
        return Module(admin_conf=str(tmp_path / "admin.conf"), **params)

    return admin


def test_wait_timeout_of_the_task_bounds_an_outage() -> None:
    for params, seconds in (({}, 60), ({"wait": True, "wait_timeout": 5}, 5), ({"wait": False, "wait_timeout": 5}, 60)):
        module = Module(host="https://a/", **params)
        client = connection.connect(module)
        assert (client.url, client._outage.timeout, module.client) == ("https://a", seconds, client)


def test_unchecked_certificate_is_a_warning_unless_an_option_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K8S_AUTH_VERIFY_SSL", "false")
    module = Module(host="https://a")
    connection.connect(module)
    assert "the certificate of https://a is not checked" in module.warnings[0]
    module = Module(host="https://a", validate_certs=False)
    connection.connect(module)
    assert module.warnings == []


def test_own_api_server_is_used_where_the_first_is_down(admin: t.Callable[..., Module], serve: Serve) -> None:
    api = serve(node("w1"))
    for trouble, connections in (("http://127.0.0.1:1", 0), (serve(), 1)):
        first = trouble if isinstance(trouble, str) else trouble.url
        if isinstance(trouble, FakeApi):
            trouble.balancer_status = 503
        client = connection.connect(admin(first, api.url))
        assert client.get("nodes/w1")["metadata"]["name"] == "w1"
        assert (client.server, client.url) == (api.url, api.url)
        assert client.get("nodes/w1")
        if isinstance(trouble, FakeApi):
            assert trouble.connections == connections


def test_what_a_control_planes_account_is_refused(admin: t.Callable[..., Module], serve: Serve, tmp_path: Path) -> None:
    api = serve()
    api.failures = [HttpError(401, "Unauthorized")]
    with pytest.raises(ApiError, match=r"admin\.conf on .* has expired .*kubeadm certs renew admin\.conf"):
        connection.connect(admin(api.url)).get("nodes/w1")
    api.responses = {"/api/v1/nodes/w1": HttpError(403, "cannot get resource nodes")}
    with pytest.raises(ApiError, match=r"kubeadm:cluster-admins gives it\.$"):
        connection.connect(admin(api.url)).get("nodes/w1")
    (tmp_path / "super-admin.conf").touch()
    api.responses = {"/api/v1/nodes/w1": HttpError(403, "cannot get resource nodes")}
    with pytest.raises(ApiError, match=r"super-admin\.conf there still has every right"):
        connection.connect(admin(api.url)).get("nodes/w1")


def test_an_api_has_to_be_that_of_the_nodes(serve: Serve) -> None:
    w1 = node("w1")
    w1["status"]["nodeInfo"] = {"machineID": "1"}
    api = serve(w1)
    own = {"ca_sha256": "0a", "machine_ids": {"w1": "1"}}
    client = connection.connect(Module(host=api.url, cluster=own))
    assert client.get("nodes/w1")
    assert client.get("nodes/w1")
    assert len(api.paths("GET")) == 3
    client = connection.connect(Module(host=api.url, cluster={**own, "machine_ids": {"w1": "2"}}))
    for _round in range(2):
        with pytest.raises(Refusal, match=r"w1 ran on other machines .*credentials come from"):
            client.patch("nodes/w1", [], dry_run=False)
        with pytest.raises(Refusal):
            client.without_retries().get("nodes/w1")
    assert api.paths("PATCH") == []


def test_an_api_that_shows_the_nodes_authority_needs_no_request(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text(CERTIFICATE_PEM, encoding="utf-8")
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(CERTIFICATE_PEM)).hexdigest()
    options = {"host": "https://a", "ca_cert": str(tmp_path / "ca"), "cluster": {"ca_sha256": f"00,{digest}"}}
    assert connection.connect(Module(**options))._check is None
    assert connection.connect(Module(**options, validate_certs=False))._check is not None
    assert connection.connect(Module(**{**options, "cluster": {"ca_sha256": "00"}}))._check is not None


def test_no_credentials() -> None:
    with pytest.raises(KubeadmError, match="there are no usable credentials for the Kubernetes API"):
        connection.connect(Module())
