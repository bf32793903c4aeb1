# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings whose consequence is named before a change."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import notable_settings
from ansible_collections.nodecraft.kubeadm.tests.unit.plugins.module_utils._plan.kubelet.test_config import settings
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples


def warnings(component: str, before: t.Mapping[str, t.Any], after: t.Mapping[str, t.Any]) -> list[str]:
    return notable_settings.warnings(component, before.get, after.get)


NOTABLE = [
    ("kube-apiserver", "authorization-mode", "Node,AlwaysAllow"),
    ("kube-apiserver", "allow-privileged", "false"),
    ("kube-scheduler", "profiling", "true"),
    ("kube-controller-manager", "tls-min-version", "VersionTLS10"),
    ("kube-controller-manager", "controllers", "node-lifecycle-controller"),
    ("kube-controller-manager", "controllers", "*,-job-controller"),
    ("kube-controller-manager", "node-monitor-grace-period", "2s"),
    ("kubelet", "readOnlyPort", 10255),
    ("kubelet", "authentication.anonymous.enabled", True),
    ("kubelet", "authorization.mode", "AlwaysAllow"),
    ("kubelet", "enableServer", False),
    ("kubelet", "address", "127.0.0.1"),
    ("kube-apiserver", "disable-admission-plugins", "ServiceAccount"),
    ("kube-apiserver", "service-account-lookup", "false"),
    ("kube-apiserver", "enable-bootstrap-token-auth", "false"),
    ("kube-apiserver", "endpoint-reconciler-type", "none"),
    ("kube-apiserver", "etcd-compaction-interval", "0"),
    ("kube-apiserver", "max-requests-inflight", "1"),
    ("kube-apiserver", "event-ttl", "5s"),
    ("kube-apiserver", "enable-admission-plugins", "PodNodeSelector"),
    ("kube-apiserver", "cors-allowed-origins", "//.*$"),
    ("kube-apiserver", "service-account-extend-token-expiration", "false"),
    ("kube-apiserver", "max-connection-bytes-per-sec", "10"),
    ("kube-apiserver", "max-mutating-requests-inflight", "1"),
    ("kube-apiserver", "enable-priority-and-fairness", "false"),
    ("kube-scheduler", "tls-cipher-suites", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("kube-apiserver", "min-request-timeout", "2"),
    ("kube-apiserver", "default-unreachable-toleration-seconds", "0"),
    ("kube-apiserver", "service-node-port-range", "40000-40001"),
    ("kube-apiserver", "service-cluster-ip-range", "10.200.0.0/16"),
    ("kube-apiserver", "requestheader-allowed-names", "proxy"),
    ("kube-scheduler", "leader-elect", "false"),
    ("kube-controller-manager", "allocate-node-cidrs", "false"),
    ("kube-controller-manager", "concurrent-namespace-syncs", "0"),
    ("kube-controller-manager", "node-monitor-period", "1h"),
    ("kube-controller-manager", "node-monitor-grace-period", "1h"),
    ("kubelet", "imagePullCredentialsVerificationPolicy", "AlwaysVerify"),
    ("kube-controller-manager", "enable-garbage-collector", "false"),
    ("kube-scheduler", "leader-elect-lease-duration", "10m"),
    ("kube-controller-manager", "node-eviction-rate", "0"),
    ("kube-controller-manager", "terminated-pod-gc-threshold", "0"),
    ("kube-controller-manager", "cluster-signing-duration", "1h"),
    ("kubelet", "authentication.webhook.enabled", False),
    ("kubelet", "rotateCertificates", False),
    ("kubelet", "enableControllerAttachDetach", False),
    ("kubelet", "syncFrequency", "1h"),
    ("kubelet", "streamingConnectionIdleTimeout", "1s"),
    ("kubelet", "kubeAPIQPS", 1),
    ("kubelet", "podPidsLimit", 30),
    ("kubelet", "clusterDNS", []),
    ("kubelet", "cpuCFSQuota", False),
    ("kubelet", "containerLogMaxSize", "1Ki"),
    ("kubelet", "resolvConf", "/dev/null"),
    ("kubelet", "serverTLSBootstrap", True),
    ("kubelet", "registerNode", False),
    ("kubelet", "maxPods", 0),
]


@pytest.mark.parametrize(("component", "name", "value"), NOTABLE)
def test_notable_setting_is_named_when_a_change_brings_it(component: str, name: str, value: t.Any) -> None:
    (warning,) = warnings(component, {}, {name: value})
    assert warning.startswith(f"{component}: {name} {str(value).lower() if value in (True, False) else value} ")
    assert warnings(component, {name: value}, {name: value}) == []
    assert warnings(component, {name: value}, {}) == []
    assert warnings("etcd", {}, {name: value}) == []


@pytest.mark.parametrize(
    ("component", "name", "value"),
    [
        ("kube-apiserver", "authorization-mode", "Node,RBAC"),
        ("kube-controller-manager", "controllers", "*,bootstrapsigner,tokencleaner"),
        ("kube-controller-manager", "node-monitor-grace-period", "50s"),
        ("kube-controller-manager", "node-monitor-grace-period", "soon"),
        ("kubelet", "readOnlyPort", 0),
        ("kubelet", "address", "0.0.0.0"),  # noqa: S104  # a value
        ("kubelet", "enableServer", True),
        ("kube-apiserver", "disable-admission-plugins", "StorageObjectInUseProtection"),
        ("kube-apiserver", "etcd-compaction-interval", "5m"),
        ("kube-apiserver", "max-requests-inflight", "800"),
        ("kube-apiserver", "max-requests-inflight", "0"),
        ("kube-apiserver", "event-ttl", "24h"),
        ("kube-apiserver", "max-connection-bytes-per-sec", "0"),
        ("kubelet", "tlsCipherSuites", ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]),
        ("kube-apiserver", "default-not-ready-toleration-seconds", "60"),
        ("kube-controller-manager", "cluster-signing-duration", "8760h"),
        ("kube-controller-manager", "concurrent-namespace-syncs", "20"),
        ("kube-controller-manager", "node-monitor-period", "5s"),
        ("kube-scheduler", "leader-elect-lease-duration", "40s"),
        ("kubelet", "syncFrequency", "30s"),
        ("kubelet", "streamingConnectionIdleTimeout", "0s"),
        ("kubelet", "streamingConnectionIdleTimeout", "4h"),
        ("kubelet", "maxPods", 250),
        ("kubelet", "podPidsLimit", -1),
        ("kubelet", "podPidsLimit", 4096),
        ("kubelet", "containerLogMaxSize", "50Mi"),
        ("kubelet", "containerLogMaxSize", "much"),
        ("kubelet", "resolvConf", "/run/systemd/resolve/resolv.conf"),
    ],
)
def test_usual_setting_is_not_named(component: str, name: str, value: t.Any) -> None:
    assert warnings(component, {}, {name: value}) == []


def test_etcd_has_streams_for_an_api_server() -> None:
    (warning,) = warnings("etcd", {}, {"max-concurrent-streams": "1"})
    assert warning.startswith("etcd: max-concurrent-streams 1 may be too few for the watches of an API server")
    assert warnings("etcd", {}, {"max-concurrent-streams": "10000"}) == []


def test_each_plugin_that_is_switched_off_is_named() -> None:
    assert warnings("kube-apiserver", {}, {"disable-admission-plugins": "PodSecurity,LimitRanger"}) == [
        "kube-apiserver: disable-admission-plugins PodSecurity,LimitRanger does not enforce the Pod Security Standards of namespaces",
        "kube-apiserver: disable-admission-plugins PodSecurity,LimitRanger does not apply LimitRanges",
    ]


def test_flag_of_a_kubelet_is_named_as_its_field() -> None:
    before, after = settings(files=["{}"]), settings("--read-only-port=10255", files=["{}"])
    (warning,) = notable_settings.warnings("kubelet", before.field_named, after.field_named)
    assert "readOnlyPort 10255 serves all pods" in warning


def test_plan_of_a_static_pod_names_it() -> None:
    found = samples.planned(args={"profiling": True}).warnings
    assert "kube-apiserver: profiling true serves profiles of the process at /debug/pprof" in found
