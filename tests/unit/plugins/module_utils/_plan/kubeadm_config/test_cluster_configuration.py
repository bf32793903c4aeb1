# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ConfigMap of kubeadm contains, and what becomes of it for a new kubeadm."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.cluster_configuration import (
    ClusterConfiguration,
    Endpoint,
)

HEAD = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"
ENDPOINT = Endpoint("cp1", "10.0.0.11", 6443, "unix:///s")
TEXT = """\
apiServer:
  extraArgs:
  - name: audit-log-path
    value: /var/log/audit.log
  - name: feature-gates
    value: A=true,B=false
  - name: enable-admission-plugins
    value: NodeRestriction,AlwaysPullImages
  extraEnvs:
  - name: GOGC
    value: "50"
  extraVolumes:
  - name: audit
    hostPath: /etc/audit
    mountPath: /etc/audit
apiVersion: kubeadm.k8s.io/v1beta4
controllerManager: {}
etcd:
  local:
    dataDir: /var/lib/etcd
    extraArgs:
    - name: quota-backend-bytes
      value: "1"
    - name: quota_backend_bytes
      value: "2"
kind: ClusterConfiguration
kubernetesVersion: v1.36.3
myField: 1
"""


def test_it_is_read() -> None:
    configuration = ClusterConfiguration.parse(TEXT)
    assert (configuration.version, configuration.has_external_etcd) == ("v1.36.3", False)
    assert configuration.certificates_dir == "/etc/kubernetes/pki"
    assert ClusterConfiguration.parse(TEXT.replace("local:", "external:")).has_external_etcd


@pytest.mark.parametrize(
    ("etcd", "directory"),
    [
        ("local: {dataDir: /data}", "/data"),
        ("local: {}", "/var/lib/etcd"),
        ("local: []", "/var/lib/etcd"),
        ("external: {endpoints: [x]}", ""),
    ],
)
def test_where_etcd_keeps_its_data(etcd: str, directory: str) -> None:
    text = f"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\netcd:\n  {etcd}\n"
    assert ClusterConfiguration.parse(text).etcd_data_dir == directory
    assert ClusterConfiguration.parse(text.replace("etcd:\n", "etcd: []\nx:\n")).etcd_data_dir == "/var/lib/etcd"


@pytest.mark.parametrize(
    ("component", "field", "key", "line"),
    [
        ("kube-apiserver", "args", "audit-log-path", 3),
        ("kube-apiserver", "feature_gates", "B", 5),
        ("kube-apiserver", "feature_gates", "C", None),
        ("kube-apiserver", "admission_plugins", "AlwaysPullImages", 7),
        ("kube-apiserver", "env", "GOGC", 10),
        ("kube-apiserver", "volumes", "audit", 13),
        ("kube-apiserver", "probes", "livenessProbe.periodSeconds", None),
        ("kube-controller-manager", "args", "audit-log-path", None),
        ("kube-scheduler", "args", "audit-log-path", None),
        ("etcd", "args", "quota-backend-bytes", 24),
        ("kube-vip", "args", "x", None),
    ],
)
def test_where_a_setting_stands(component: str, field: str, key: str, line: int | None) -> None:
    assert ClusterConfiguration.parse(TEXT).line(component, field, key) == line


def test_a_flag_that_stands_twice() -> None:
    text = (
        "apiServer:\n  extraArgs:\n  - {name: feature-gates, value: A=true}\n  - {name: feature-gates, value: 'B=true'}\n"
        "  - {name: v, value: '1'}\n  - {name: v, value: '2'}\n"
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"
    )
    configuration = ClusterConfiguration.parse(text)
    lines = [configuration.line("kube-apiserver", "feature_gates", gate) for gate in ("A", "B", "C")]
    assert lines == [3, 4, None]
    assert configuration.line("kube-apiserver", "args", "v") == 6


def test_arguments_before_v1beta4_are_a_mapping() -> None:
    text = (
        "apiServer:\n  extraArgs:\n    feature-gates: A=true\n    v: '2'\n"
        "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\n"
    )
    configuration = ClusterConfiguration.parse(text)
    assert configuration.line("kube-apiserver", "args", "v") == 4
    assert configuration.line("kube-apiserver", "feature_gates", "A") == 3


def test_what_a_new_kubeadm_is_given() -> None:
    text = ClusterConfiguration.parse(TEXT).for_kubeadm("1.37.2", ENDPOINT)
    cluster, init = text.split("\n---\n")
    assert cluster == TEXT.replace("v1.36.3", "v1.37.2")  # the rest as kubeadm itself is to read it
    assert json.loads(init) == {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "InitConfiguration",
        "localAPIEndpoint": {"advertiseAddress": "10.0.0.11", "bindPort": 6443},
        "nodeRegistration": {"name": "cp1", "criSocket": "unix:///s"},
    }


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("kubernetesVersion: v1.36.3 # as of May\nx: 10:30\n", "kubernetesVersion: v1.37.2\nx: 10:30\n"),
        ("x: 1\nx: 2\nkubernetesVersion: 1.36.3\n", "x: 1\nx: 2\nkubernetesVersion: v1.37.2\n"),
        ("x: 1\n", None),
        ('"kubernetesVersion": v1.36.3\nx: 1\n', None),
        ("kubernetesVersion:\n  v1.36.3\nx: 1\n", None),
    ],
)
def test_the_text_stays_where_its_version_can_be_changed(text: str, given: str | None) -> None:
    configuration = ClusterConfiguration.parse(HEAD + text)
    found = configuration.for_kubeadm("v1.37.2", ENDPOINT).partition("\n---\n")[0]
    if given is None:
        assert json.loads(found) == {**configuration.data, "kubernetesVersion": "v1.37.2"}
    else:
        assert found == HEAD + given


def test_a_configuration_in_braces() -> None:
    text = '{"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "kubernetesVersion": "v1.36.3"}'
    found = ClusterConfiguration.parse(text).for_kubeadm("1.37.2", ENDPOINT).partition("\n---\n")[0]
    assert json.loads(found)["kubernetesVersion"] == "v1.37.2"


def test_of_several_documents_the_first_counts() -> None:
    text = f"---\n{HEAD}kubernetesVersion: v1.36.3\n---\nkind: KubeletConfiguration\nkubernetesVersion: v1.2.3\n"
    configuration = ClusterConfiguration.parse(text)
    assert (configuration.text, configuration.version) == (text.partition("---\nkind: Kubelet")[0], "v1.36.3")
    assert "KubeletConfiguration" not in configuration.for_kubeadm("1.37.2", ENDPOINT)
    assert ClusterConfiguration.parse(f"{HEAD}---\n").text == f"{HEAD}---\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "line 2: it is not valid YAML"),
        (f"---\n---\n{HEAD}", "holds no ClusterConfiguration"),
        ("a: " + 3000 * "[", "it is not valid YAML"),
        ("kind: ClusterConfiguration\n", "holds no ClusterConfiguration of kubeadm.k8s.io/"),
        ("[]", "holds no ClusterConfiguration"),
        ("", "kubectl -n kube-system edit configmap kubeadm-config"),
    ],
)
def test_what_kubeadm_could_not_read_either(text: str, words: str) -> None:
    with pytest.raises(Refusal, match=words.replace("[", "\\[")):
        ClusterConfiguration.parse(text + "\n" if text else "")
