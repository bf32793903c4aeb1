# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of the API before an upgrade."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.upgrade_facts import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, FakeApi, Refused, client_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import CONFIGURATION

Serve = t.Callable[..., FakeApi]
NAMESPACE = "/api/v1/namespaces/kube-system"
CONFIG_MAP = f"{NAMESPACE}/configmaps/kubeadm-config"
GROUP = "/apis/admissionregistration.k8s.io/v1"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"
CLASSES = "/apis/resource.k8s.io/v1"
METRIC = 'apiserver_requested_deprecated_apis{group="g",removed_release="1.37",resource="x",version="v1"} 1\n'


def read(api: FakeApi, target: str | None = "1.37.2") -> Json:
    return read_all({"target": target}, connect=lambda: client_of(api.url, Clock()))


@pytest.fixture(name="api")
def fixture_api(serve: Serve) -> FakeApi:
    """A cluster of kubeadm in which nothing breaks."""
    record = json.dumps({"example.com/gpu": {"set": "4", "original": None}})
    api = serve(node("w1", annotations={"nodecraft.kubeadm/owned-extended-resources": record}))
    api.objects["w1"]["status"]["nodeInfo"] = {"kubeletVersion": "v1.36.3"}
    api.answers = {
        CONFIG_MAP: {"data": {"ClusterConfiguration": CONFIGURATION}},
        f"{GROUP}/validatingwebhookconfigurations": [],
        f"{GROUP}/mutatingwebhookconfigurations": [],
        "/metrics": "a 1\n",
        NAMESPACE: {"metadata": {"name": "kube-system", "labels": {"kubernetes.io/metadata.name": "kube-system"}}},
        CLASSES: {"kind": "APIResourceList"},
        f"{CLASSES}/deviceclasses": [],
    }
    return api


def test_a_clean_cluster(api: FakeApi) -> None:
    assert read(api) == {
        "cluster_configuration": CONFIGURATION,
        "server_version": "v1.37.2",
        "kubelets": {"w1": "v1.36.3"},
        "findings": [],
    }
    api.requests.clear()
    read(api, None)
    assert len(api.requests) == 3


def test_what_breaks(api: FakeApi) -> None:
    hook = {
        "name": "hook.example.com",
        "clientConfig": {"service": {"namespace": "ns", "name": "hook"}},
        "rules": [{"apiGroups": [""], "operations": ["CREATE"], "resources": ["pods"]}],
    }
    api.answers["/metrics"] = METRIC
    api.answers[f"{GROUP}/validatingwebhookconfigurations"] = [{"webhooks": [hook]}]
    api.answers[SLICES] = [{"metadata": {"labels": {"kubernetes.io/service-name": "hook"}}, "endpoints": None}]
    spec = {"extendedResourceName": "example.com/gpu"}
    api.answers[f"{CLASSES}/deviceclasses"] = [{"metadata": {"name": "gpus"}, "spec": spec}]
    assert [(each["field"], each["key"]) for each in read(api)["findings"]] == [
        ("api", "g/v1/x"),
        ("webhook", "hook.example.com"),
        ("extended_resources", "example.com/gpu"),
    ]
    out = [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]
    skipped = {**hook, "namespaceSelector": {"matchExpressions": out}}
    api.answers[f"{GROUP}/validatingwebhookconfigurations"] = [{"webhooks": [skipped]}]
    assert [each["field"] for each in read(api)["findings"]] == ["api", "extended_resources"]
    api.answers[f"{GROUP}/validatingwebhookconfigurations"] = [{"webhooks": [hook]}]
    ready = {"conditions": {"ready": True}}
    api.answers[SLICES] = [{"metadata": {}, "endpoints": [ready]}]
    assert [each["field"] for each in read(api)["findings"]] == ["api", "extended_resources"]


def test_what_may_not_be_read_is_told_with_the_rest(api: FakeApi) -> None:
    api.answers["/metrics"] = Refused(403, "forbidden")
    api.answers[CLASSES] = Refused(404, "no such group")
    (finding,) = read(api)["findings"]
    assert (finding["component"], finding["fate"]) == ("cluster", "warns")
    assert finding["message"].startswith(
        "the requests for deprecated APIs could not be read, so nothing is known about them: "
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Refused(404, "not found"), "kubeadm-config of .* does not exist, so kubeadm cannot upgrade this cluster"),
        ({"data": {}}, "kubeadm-config of .* has no key ClusterConfiguration"),
    ],
)
def test_a_cluster_that_is_none_of_kubeadm(api: FakeApi, answer: t.Any, words: str) -> None:
    api.answers[CONFIG_MAP] = answer
    with pytest.raises(KubeadmError, match=words):
        read(api)


@pytest.mark.parametrize(
    ("target", "text", "words"),
    [
        ("1.37", CONFIGURATION, "invalid target '1.37': must be a whole version"),
        ("1.38.0", CONFIGURATION, "invalid target 1.38.0: must be of 1.36 or 1.37"),
        ("1.37.2", "a: [", "is not a single YAML document"),
    ],
)
def test_a_target_to_which_kubeadm_does_not_upgrade(api: FakeApi, target: str, text: str, words: str) -> None:
    api.answers[CONFIG_MAP] = {"data": {"ClusterConfiguration": text}}
    with pytest.raises(Refusal, match=words):
        read(api, target)
    assert read(api, None)["cluster_configuration"] == text
