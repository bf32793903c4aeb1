# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API shows about an upgrade."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import cluster
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    BROKEN,
    CONFIG_MAP,
    WARNS,
    NotChecked,
)

METRICS = """\
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="flow.io",removed_release="1.37",resource="schemas",subresource="",version="v1beta3"} 1
apiserver_requested_deprecated_apis{group="later.io",removed_release="1.40",resource="x",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="gone.io",removed_release="1.36",resource="x",subresource="",version="v1"} 0
apiserver_request_total{code="200"} 1
"""


def test_apis_that_the_target_serves_no_more() -> None:
    (finding,) = cluster.deprecated_apis(METRICS, "1.37.2")
    assert (finding.impact, finding.key) == (BROKEN, "flow.io/v1beta3/schemas")
    assert "1.37 no longer serves it" in finding.message
    assert list(cluster.deprecated_apis(METRICS, "1.36.9")) == []
    assert len(list(cluster.deprecated_apis(METRICS, "1.40.0"))) == 2


@pytest.mark.parametrize("text", ["", "<html>sign in</html>", "kubelet_node_name 1\n"])
def test_metrics_of_no_api_server_are_not_checked(text: str) -> None:
    with pytest.raises(NotChecked, match="has no metric of an API server"):
        list(cluster.deprecated_apis(text, "1.37.2"))


SILENT = "apiserver_request_total 1\ndisabled_metrics_total {}\n"


@pytest.mark.parametrize("disabled", ["1", "12", "1e+06", "0.5"])
def test_metrics_that_are_switched_off_are_not_checked(disabled: str) -> None:
    with pytest.raises(NotChecked, match=r"switched off \(--disabled-metrics.* shows no apiserver_requested_"):
        list(cluster.deprecated_apis(SILENT.format(disabled), "1.37.2"))


def test_other_metrics_may_be_switched_off() -> None:
    assert list(cluster.deprecated_apis(SILENT.format("0"), "1.37.2")) == []
    assert list(cluster.deprecated_apis(SILENT.format("0.0"), "1.37.2")) == []
    assert len(list(cluster.deprecated_apis(METRICS + SILENT.format("1"), "1.37.2"))) == 1


@pytest.mark.parametrize("label", ['removed_release="unexpected",', ""])
def test_api_without_a_readable_release_is_not_checked(label: str) -> None:
    """Beside one that is found."""
    text = METRICS.replace('removed_release="1.40",', label)
    found = cluster.deprecated_apis(text, "1.37.2")
    assert next(found).key == "flow.io/v1beta3/schemas"
    with pytest.raises(
        NotChecked, match=r"no release as its label removed_release.*later.io/v1/x: (?:unexpected|None)"
    ):
        next(found)


KUBE_SYSTEM = {"kubernetes.io/metadata.name": "kube-system"}
LABELS = {"kube-system": KUBE_SYSTEM, "kube-public": {"kubernetes.io/metadata.name": "kube-public"}}
OTHERS = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]}
CORE = ("configmaps", "pods", "serviceaccounts", "services")
PODS = ("pods", "pods/binding", "pods/status")
ROLES, CLUSTER_ROLES = ("roles", "rolebindings"), ("clusterroles", "clusterrolebindings")
NAMESPACED = (*CORE, "daemonsets", "deployments", "jobs", *ROLES)
EVERYTHING = (*NAMESPACED, *CLUSTER_ROLES)


def webhook(name: str, *resources: str, rule: dict[str, t.Any] | None = None, **given: t.Any) -> dict[str, t.Any]:
    service = {"service": {"namespace": "ns", "name": name}}
    matching = {"apiGroups": ["*"], "operations": ["*"], "resources": list(resources or ["pods"]), **(rule or {})}
    return {"name": name, "clientConfig": service, "rules": [matching], **given}


@pytest.mark.parametrize(
    ("hook", "written"),
    [
        (webhook("a"), ("pods",)),
        (webhook("a", "*"), EVERYTHING),
        (webhook("a", "*/*"), ("configmaps", *PODS, *EVERYTHING[2:])),
        (webhook("a", "pods/*"), PODS),
        (webhook("a", "pods/status", rule={"operations": ["UPDATE"]}), ("pods/status",)),
        (webhook("a", "*/binding"), ("pods/binding",)),
        (webhook("a", "pods/status", objectSelector={"matchLabels": {"component": "etcd"}}), ("pods/status",)),
        (webhook("a", "secrets"), ()),
        (webhook("a", "*", rule={"apiGroups": [""]}), CORE),
        (webhook("a", "jobs", rule={"apiGroups": ["batch"]}), ("jobs",)),
        (webhook("a", "jobs", rule={"apiGroups": ["batch.volcano.sh"]}), ()),
        (webhook("a", "*", rule={"operations": ["DELETE"]}), ("pods",)),
        (webhook("a", "*", rule={"operations": ["CONNECT"]}), ()),
        (webhook("a", "*", rule={"operations": ["CREATE"]}), EVERYTHING),
        (
            webhook("a", "*", rule={"operations": ["UPDATE"]}),
            tuple(each for each in EVERYTHING if each not in ("pods", "jobs")),
        ),
        (webhook("a", "*", rule={"scope": "Cluster"}), CLUSTER_ROLES),
        (webhook("a", "*", rule={"scope": "Namespaced"}), NAMESPACED),
        (webhook("a", "*", namespaceSelector=OTHERS), (*ROLES, *CLUSTER_ROLES)),
        (webhook("a", failurePolicy="Fail"), ("pods",)),
        (webhook("a", failurePolicy="Ignore"), ()),
        (webhook("a", clientConfig={"url": "https://x"}), ()),
        (webhook("a", namespaceSelector=OTHERS), ()),
        (webhook("a", namespaceSelector={"matchLabels": KUBE_SYSTEM}), ("pods",)),
        (webhook("a", objectSelector={"matchLabels": {"inject": "true"}}), ()),
        (webhook("a", objectSelector={}), ("pods",)),
        (webhook("a", objectSelector={"matchLabels": {"tier": "control-plane"}}), ("pods",)),
        (webhook("a", "*", objectSelector={"matchLabels": {"k8s-app": "kube-proxy"}}), ("daemonsets",)),
        (webhook("a", "*", objectSelector={"matchLabels": {"k8s-app": "kube-dns"}}), ("services", "deployments")),
        (webhook("a", rule={"apiGroups": None}), ()),
        (webhook("a", rule={"operations": None}), ()),
        (webhook("a", rule={"resources": None}), ()),
        ({"name": "a"}, ()),
    ],
)
def test_webhooks_that_keep_kubeadm_from_its_work(hook: dict[str, t.Any], written: tuple[str, ...]) -> None:
    found = cluster.fail_closed_webhooks([{"webhooks": [hook]}, {}], LABELS)
    assert [each.written for each in found] == ([written] if written else [])


def test_webhooks_behind_which_nothing_is_ready() -> None:
    hooks = [webhook("closes"), webhook("works"), webhook("may", matchConditions=[{"expression": "false"}])]
    found = cluster.unserved_webhooks(cluster.fail_closed_webhooks([{"webhooks": hooks}], {}), [("ns", "works")])
    assert [(each.key, each.impact) for each in found] == [("closes", BROKEN), ("may", WARNS)]
    assert "Service ns/closes, so what the upgrade writes is refused (pods)" in found[0].message
    assert "(pods; unless its matchConditions skip that)" in found[1].message


def test_device_classes_that_offer_what_we_set() -> None:
    classes: list[dict[str, t.Any]] = [
        {"metadata": {"name": "gpus"}, "spec": {"extendedResourceName": "example.com/gpu"}},
        {"metadata": {"name": "plain"}, "spec": {}},
        {"metadata": {"name": "empty"}, "spec": None},
    ]
    (finding,) = cluster.device_classes(classes, {"w1": ["example.com/gpu"], "w2": ["example.com/nic"]})
    assert (finding.impact, finding.key) == (WARNS, "example.com/gpu")
    assert finding.message.endswith("Provide one name in one way: w1.")


@pytest.mark.parametrize(
    ("kubelets", "not_checked", "impacts"),
    [
        ({"cp1": "v1.36.3"}, [], []),
        ({"w2": "v1.36.3", "cp1": "v1.36.3", "w1": "v1.36.3"}, ["w1", "w2"], []),
        ({"cp1": "v1.36.3", "w1": "v1.33.3"}, ["w1"], [BROKEN]),
    ],
)
def test_nodes_that_the_run_did_not_check(kubelets: dict[str, str], not_checked: list[str], impacts: list[str]) -> None:
    missing = cluster.not_checked(kubelets, ["cp1", "gone"])
    assert missing == not_checked
    assert [finding.impact for finding in cluster.unchecked_kubelets(kubelets, missing, "1.37.2")] == impacts


def test_a_configuration_that_was_written_meanwhile() -> None:
    assert list(cluster.changed_meanwhile("a: 1\n", "a: 1\n")) == []
    (finding,) = cluster.changed_meanwhile("a: 1\n", "a: 2\n")
    assert (finding.impact, finding.set_by) == (BROKEN, CONFIG_MAP)
    assert "check again" in finding.message


def test_configuration_not_read_again_is_not_checked() -> None:
    with pytest.raises(NotChecked, match="kubeadm-config was not read again"):
        list(cluster.changed_meanwhile("a: 1\n", None))
