# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of a plugin's objects, and that no data of Secrets is."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.device_plugin_report import read_objects
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.daemons import daemon_set
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, FakeApi, HttpError, client_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json

OWNED = {"app.kubernetes.io/managed-by": "nodecraft.kubeadm"}
IN_CORE, IN_APPS = "/api/v1/namespaces/x", "/apis/apps/v1/namespaces/x"
EMPTY = (
    *(f"{IN_CORE}/{kind}" for kind in ("configmaps", "persistentvolumeclaims", "pods", "secrets", "services")),
    *(f"{IN_APPS}/{kind}" for kind in ("daemonsets", "deployments", "statefulsets")),
    *(f"/apis/batch/v1/namespaces/x/{kind}" for kind in ("cronjobs", "jobs")),
    "/apis/networking.k8s.io/v1/namespaces/x/networkpolicies",
)
GONE = HttpError(404, "not found")


def named(name: str, labels: Json | None = None) -> Json:
    return {"metadata": {"name": name, **({} if labels is None else {"labels": labels})}}


@pytest.fixture(name="api")
def fixture_api(serve: t.Callable[..., FakeApi]) -> FakeApi:
    """A cluster with a plugin."""
    api = serve()
    found = daemon_set()
    found["spec"]["template"]["spec"]["volumes"] = [{"hostPath": {}}, {"configMap": {"name": "p-config-0123456789"}}]
    configs = [
        named("p-config-0123456789", OWNED),
        named("p-config-9876543210"),
        named("p-config"),
        named("kube-root-ca.crt"),
        named("p-config-map"),
    ]
    api.responses = {
        **{path: [] for path in EMPTY},
        IN_CORE: named("x", OWNED),
        f"{IN_APPS}/daemonsets/p": found,
        f"{IN_CORE}/configmaps": configs,
        f"{IN_CORE}/secrets/p-token": named("p-token", OWNED),
        f"{IN_APPS}/deployments": [named("theirs", {"a": "b"})],
    }
    return api


def read(api: FakeApi, *subsets: str) -> dict[str, list[Json]]:
    return read_objects(client_of(api.url, Clock()), "x", "p", subsets, workers=2)


def test_objects_of_the_deployment(api: FakeApi) -> None:
    found = read(api, "objects")
    assert [(each["kind"], each["name"], each["config_maps"]) for each in found["objects"]] == [
        ("Namespace", "x", []),
        ("DaemonSet", "p", ["p-config-0123456789"]),
        ("ConfigMap", "p-config-0123456789", []),
        ("ConfigMap", "p-config-9876543210", []),
        ("Secret", "p-token", []),
    ]
    assert [each["labels"] for each in found["objects"] if each["kind"] != "DaemonSet"] == [OWNED, OWNED, {}, OWNED]
    assert found["others"] == []
    assert len(api.requests) == 4


def test_objects_that_are_not_there(api: FakeApi) -> None:
    api.responses = {IN_CORE: GONE, f"{IN_APPS}/daemonsets/p": GONE, f"{IN_CORE}/configmaps": []}
    assert read(api, "nodes", "objects", "others") == {"objects": [], "others": []}


def test_only_metadata_is_requested(api: FakeApi) -> None:
    read(api, "objects", "others")
    assert len(api.headers) == len(api.requests)
    kinds = [
        (request.partition("?")[0].removeprefix("GET "), api.headers[number].get_all("Accept"))
        for number, request in enumerate(api.requests)
    ]
    whole = [path for path, accepted in kinds if accepted == ["application/json"]]
    assert whole == [f"{IN_APPS}/daemonsets/p"]
    one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert [accepted for path, accepted in kinds if path == f"{IN_CORE}/secrets/p-token"] == [[one]]
    several = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    assert [accepted for path, accepted in kinds if path == f"{IN_CORE}/secrets"] == [[several]]


def test_what_shares_a_namespace_that_goes_with_the_plugin(api: FakeApi) -> None:
    found = read(api, "others")
    assert found["objects"] == []
    assert [(each["kind"], each["name"]) for each in found["others"]] == [
        ("ConfigMap", "p-config-0123456789"),
        ("ConfigMap", "p-config-9876543210"),
        ("ConfigMap", "p-config"),
        ("ConfigMap", "p-config-map"),
        ("Deployment", "theirs"),
    ]


def test_content_of_a_foreign_namespace_is_not_read(api: FakeApi) -> None:
    api.responses[IN_CORE] = named("x")
    assert read(api, "others") == {"objects": [], "others": []}
    assert len(api.requests) == 4


def test_only_requested_subsets_are_read(api: FakeApi) -> None:
    assert read(api, "nodes") == {"objects": [], "others": []}
    assert api.requests == []


def test_an_account_that_may_not_read(api: FakeApi) -> None:
    api.responses[f"{IN_APPS}/deployments"] = HttpError(403, "deployments is forbidden")
    with pytest.raises(KubeadmError, match="deployments is forbidden"):
        read(api, "objects", "others")
