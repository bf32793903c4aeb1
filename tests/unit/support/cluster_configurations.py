# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClusterConfiguration as kubeadm writes it, and what stands in it."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.plan import DesiredSetting
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import SettingKey

Json = dict[str, t.Any]

API_SERVER = "kube-apiserver"
TEXT = """\
apiServer: {}
apiVersion: kubeadm.k8s.io/v1beta4
caCertificateValidityPeriod: 87600h0m0s
certificatesDir: /etc/kubernetes/pki
clusterName: kubernetes
controllerManager: {} # ours
dns: {}
etcd:
  local:
    dataDir: /var/lib/etcd
kind: ClusterConfiguration
kubernetesVersion: v1.37.2
notOfKubeadm: {a: 1}
scheduler: {}
"""
# The same with arguments, a plugin, a gate, a volume and a variable of others.
OTHERS = TEXT.replace(
    "apiServer: {}\n",
    """\
apiServer:
  extraArgs:
  - name: audit_log_maxage
    value: '10' # days
  - name: enable-admission-plugins
    value: NodeRestriction,AlwaysPullImages
  - name: feature-gates
    value: A=true
  - name: service-account-issuer
    value: https://a
  - name: service-account-issuer
    value: https://b
  extraEnvs:
  - name: GOGC
    value: "50"
  - name: FROM
    valueFrom: {fieldRef: {fieldPath: status.podIP}}
  extraVolumes:
  - name: audit
    hostPath: /etc/audit
    mountPath: /etc/audit
    readOnly: true
""",
)
VOLUME: Json = {"host_path": "/etc/audit", "mount_path": "/etc/audit", "path_type": "Directory", "read_only": True}


def arg(
    key: str, *values: str, component: str = API_SERVER, named: bool = True, original: t.Any = None
) -> dict[SettingKey, DesiredSetting]:
    """An argument that shall stand there; without a value it shall not."""
    return {SettingKey(component, "args", key): DesiredSetting(list(values) or None, original, named)}


# What a node reports of kubeadm-config, and of one setting of ours.
KNOWN: Json = {
    "problem": None,
    "text": TEXT,
    "record": None,
    "control_planes": ["cp1", "cp2"],
    "managers": [],
    "immutable": [],
    "version": "v1.37.2",
}
ENTRY: Json = {"value": ["5"], "original": None, "ours": True, "named": True, "files": {}}
