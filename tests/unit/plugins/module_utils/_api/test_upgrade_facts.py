# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of the API before an upgrade."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.upgrade_facts import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, FakeApi, HttpError, client_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import CONFIGURATION

Serve = t.Callable[..., FakeApi]
NAMESPACE = "/api/v1/namespaces/kube-system"
PUBLIC = "/api/v1/namespaces/kube-public"
CONFIG_MAP = f"{NAMESPACE}/configmaps/kubeadm-config"
GROUP = "/apis/admissionregistration.k8s.io/v1"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"
WORKLOADS = "/apis/apps/v1/namespaces/kube-system"
CLASSES = "/apis/resource.k8s.io/v1"
PROXY = "kind: KubeProxyConfiguration\n"
CHECKS = ["deprecated-apis", "webhooks", "device-classes", "kube-proxy", "coredns"]
METRIC = 'apiserver_requested_deprecated_apis{group="g",removed_release="1.37",resource="x",version="v1"} 1\n'


def read(api: FakeApi, target: str | None = "1.37.2") -> Json:
    return read_all({"target": target}, connect=lambda: client_of(api.url, Clock()))


@pytest.fixture(name="api")
def fixture_api(serve: Serve) -> FakeApi:
    """A cluster of kubeadm in which nothing breaks."""
    record = json.dumps({"example.com/gpu": {"set": "4", "original": None}})
    api = serve(node("w1", annotations={"nodecraft.kubeadm/owned-extended-resources": record}))
    api.objects["w1"]["status"]["nodeInfo"] = {"kubeletVersion": "v1.36.3"}
    api.responses = {
        CONFIG_MAP: {"data": {"ClusterConfiguration": CONFIGURATION}},
        f"{GROUP}/validatingwebhookconfigurations": [],
        f"{GROUP}/mutatingwebhookconfigurations": [],
        "/metrics": "apiserver_request_total 1\n",
        NAMESPACE: {"metadata": {"name": "kube-system", "labels": {"kubernetes.io/metadata.name": "kube-system"}}},
        PUBLIC: {"metadata": {"name": "kube-public"}},
        CLASSES: {"kind": "APIResourceList"},
        f"{CLASSES}/deviceclasses": [],
        f"{NAMESPACE}/configmaps/kube-proxy": {"data": {"config.conf": PROXY}},
        f"{NAMESPACE}/configmaps/coredns": {"data": {"Corefile": ".:53 {\n  errors\n}\n"}},
    }
    return api


def test_a_clean_cluster(api: FakeApi) -> None:
    assert read(api) == {
        "cluster_configuration": CONFIGURATION,
        "kube_proxy_configuration": PROXY,
        "server_version": "v1.37.2",
        "kubelets": {"w1": "v1.36.3"},
        "findings": [],
        "checks": CHECKS,
        "not_rehearsed": [],
    }
    api.requests.clear()
    found = read(api, None)
    assert len(api.requests) == 3
    assert (found["kube_proxy_configuration"], found["checks"], found["not_rehearsed"]) == (None, [], [])


def test_target_older_than_api_server_is_refused(api: FakeApi) -> None:
    """Whatever kubeadm-config says, such as one that was restored."""
    api.responses["/version"] = {"gitVersion": "v1.38.1"}
    with pytest.raises(Refusal, match=r"must be 1\.38\.1, which the API server has, or newer"):
        read(api)


def test_what_breaks(api: FakeApi) -> None:
    hook = {
        "name": "hook.example.com",
        "clientConfig": {"service": {"namespace": "ns", "name": "hook"}},
        "rules": [{"apiGroups": [""], "operations": ["CREATE"], "resources": ["pods"]}],
    }
    api.responses["/metrics"] = METRIC
    api.responses[f"{GROUP}/validatingwebhookconfigurations"] = [{"webhooks": [hook]}]
    api.responses[SLICES] = [{"metadata": {"labels": {"kubernetes.io/service-name": "hook"}}, "endpoints": None}]
    spec = {"extendedResourceName": "example.com/gpu"}
    api.responses[f"{CLASSES}/deviceclasses"] = [{"metadata": {"name": "gpus"}, "spec": spec}]
    assert [(each["field"], each["key"]) for each in read(api)["findings"]] == [
        ("api", "g/v1/x"),
        ("webhook", "hook.example.com"),
        ("extended_resources", "example.com/gpu"),
    ]
    out = [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]
    skipped = {**hook, "namespaceSelector": {"matchExpressions": out}}
    api.responses[f"{GROUP}/validatingwebhookconfigurations"] = [{"webhooks": [skipped]}]
    assert [each["field"] for each in read(api)["findings"]] == ["api", "extended_resources"]
    api.responses[f"{GROUP}/validatingwebhookconfigurations"] = [{"webhooks": [hook]}]
    ready = {"conditions": {"ready": True}}
    api.responses[SLICES] = [{"metadata": {}, "endpoints": [ready]}]
    assert [each["field"] for each in read(api)["findings"]] == ["api", "extended_resources"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/metrics", "deprecated-apis"),
        (f"{GROUP}/mutatingwebhookconfigurations", "webhooks"),
        (f"{CLASSES}/deviceclasses", "device-classes"),
        (f"{NAMESPACE}/configmaps/kube-proxy", "kube-proxy"),
        (f"{NAMESPACE}/configmaps/coredns", "coredns"),
    ],
)
def test_forbidden_request_leaves_its_check_unmade(api: FakeApi, path: str, name: str) -> None:
    api.responses[path] = HttpError(403, "forbidden")
    found = read(api)
    assert found["findings"] == []
    (entry,) = found["not_rehearsed"]
    assert entry["name"] == name
    assert "forbidden" in entry["reason"]
    assert found["checks"] == [each for each in CHECKS if each != name]


def test_unread_proxy_configuration_is_null(api: FakeApi) -> None:
    api.responses[f"{NAMESPACE}/configmaps/kube-proxy"] = HttpError(403, "forbidden")
    assert read(api)["kube_proxy_configuration"] is None


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("kube-proxy", {"data": None}, "has no key config.conf"),
        ("kube-proxy", {"data": {"config.conf": "a: ["}}, "it is not a single YAML document"),
        ("coredns", {"data": {"other": ""}}, "has no key Corefile"),
        ("coredns", {"data": {"Corefile": ".:53 {\n  template\n}\n"}}, "does not know how to migrate template"),
    ],
)
def test_addon_that_is_not_understood_is_not_checked(api: FakeApi, name: str, data: Json, message: str) -> None:
    api.responses[f"{NAMESPACE}/configmaps/{name}"] = data
    (entry,) = read(api)["not_rehearsed"]
    assert (entry["name"], message in entry["reason"]) == (name, True)


@pytest.mark.parametrize(
    ("name", "kind", "app"), [("kube-proxy", "daemonsets", "kube-proxy"), ("coredns", "deployments", "kube-dns")]
)
def test_addon_that_runs_without_its_configuration_is_not_checked(api: FakeApi, name: str, kind: str, app: str) -> None:
    api.responses[f"{NAMESPACE}/configmaps/{name}"] = HttpError(404, "not found")
    api.responses[f"{WORKLOADS}/{kind}"] = [{"metadata": {"name": name, "labels": {"k8s-app": app}}}]
    found = read(api)
    (entry,) = found["not_rehearsed"]
    assert entry["name"] == name
    assert f"there is no ConfigMap kube-system/{name} at {api.url}, and {name} runs" in entry["reason"]
    assert name not in found["checks"]


def test_cluster_without_addons_and_resources_is_checked(api: FakeApi) -> None:
    for name, kind in (("kube-proxy", "daemonsets"), ("coredns", "deployments")):
        api.responses[f"{NAMESPACE}/configmaps/{name}"] = HttpError(404, "not found")
        api.responses[f"{WORKLOADS}/{kind}"] = []
    api.responses[CLASSES] = HttpError(404, "no such group")
    found = read(api)
    assert (found["checks"], found["not_rehearsed"], found["kube_proxy_configuration"]) == (CHECKS, [], "")


def test_mode_ipvs_is_a_finding(api: FakeApi) -> None:
    api.responses[f"{NAMESPACE}/configmaps/kube-proxy"] = {"data": {"config.conf": f"{PROXY}mode: ipvs\n"}}
    (finding,) = read(api)["findings"]
    assert (finding["component"], finding["key"], finding["impact"]) == ("kube-proxy", "mode", "warns")


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (HttpError(404, "not found"), "kubeadm-config of .* does not exist, so kubeadm cannot upgrade this cluster"),
        ({"data": {}}, "kubeadm-config of .* has no key ClusterConfiguration"),
    ],
)
def test_a_cluster_that_is_none_of_kubeadm(api: FakeApi, response: t.Any, message: str) -> None:
    api.responses[CONFIG_MAP] = response
    with pytest.raises(KubeadmError, match=message):
        read(api)


@pytest.mark.parametrize(
    ("target", "text", "message"),
    [
        ("1.37", CONFIGURATION, "invalid target '1.37': must be a whole version"),
        ("1.38.0", CONFIGURATION, "invalid target 1.38.0: must be of 1.36 or 1.37"),
        ("1.37.2", "a: [", "is not valid YAML"),
    ],
)
def test_a_target_to_which_kubeadm_does_not_upgrade(api: FakeApi, target: str, text: str, message: str) -> None:
    api.responses[CONFIG_MAP] = {"data": {"ClusterConfiguration": text}}
    with pytest.raises(Refusal, match=message):
        read(api, target)
    assert read(api, None)["cluster_configuration"] == text
