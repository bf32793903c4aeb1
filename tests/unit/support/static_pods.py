# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests as kubeadm lays them out, and what the tests need to speak about them."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import desired
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.desired import Wish
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.manifest import Manifest

SOURCE = "/etc/kubernetes/manifests/kube-apiserver.yaml"

API_SERVER = """\
apiVersion: v1
kind: Pod
metadata:
  annotations:
    kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: 10.0.0.11:6443
  creationTimestamp: null
  labels:
    component: kube-apiserver
    tier: control-plane
  name: kube-apiserver
  namespace: kube-system
spec:
  containers:
  - command:
    - kube-apiserver
    - --advertise-address=10.0.0.11
    - --allow-privileged=true
    - --authorization-mode=Node,RBAC
    - --client-ca-file=/etc/kubernetes/pki/ca.crt
    - --enable-admission-plugins=NodeRestriction
    - --secure-port=6443
    image: registry.k8s.io/kube-apiserver:v1.34.4
    imagePullPolicy: IfNotPresent
    livenessProbe:
      failureThreshold: 8
      httpGet:
        host: 10.0.0.11
        path: /livez
        port: 6443
        scheme: HTTPS
      periodSeconds: 10
    name: kube-apiserver
    readinessProbe:
      httpGet:
        host: 10.0.0.11
        path: /readyz
        port: 6443
        scheme: HTTPS
    resources:
      requests:
        cpu: 250m
    startupProbe:
      httpGet:
        host: 10.0.0.11
        path: /livez
        port: 6443
        scheme: HTTPS
    volumeMounts:
    - mountPath: /etc/ssl/certs
      name: ca-certs
      readOnly: true
    - mountPath: /etc/kubernetes/pki
      name: k8s-certs
      readOnly: true
  hostNetwork: true
  priorityClassName: system-node-critical
  volumes:
  - hostPath:
      path: /etc/ssl/certs
      type: DirectoryOrCreate
    name: ca-certs
  - hostPath:
      path: /etc/kubernetes/pki
      type: DirectoryOrCreate
    name: k8s-certs
status: {}
"""

SCHEDULER = """\
apiVersion: v1
kind: Pod
metadata:
  name: kube-scheduler
  namespace: kube-system
spec:
  containers:
  - command:
    - kube-scheduler
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    image: registry.k8s.io/kube-scheduler:v1.34.4
    livenessProbe:
      httpGet:
        path: /livez
        port: probe-port
        scheme: HTTPS
    name: kube-scheduler
    ports:
    - containerPort: 10259
      name: probe-port
    volumeMounts:
    - mountPath: /etc/kubernetes/scheduler.conf
      name: kubeconfig
      readOnly: true
  volumes:
  - hostPath:
      path: /etc/kubernetes/scheduler.conf
      type: FileOrCreate
    name: kubeconfig
"""

ETCD = """\
apiVersion: v1
kind: Pod
metadata:
  name: etcd
  namespace: kube-system
spec:
  containers:
  - command:
    - etcd
    image: registry.k8s.io/etcd:3.6.5-0
    livenessProbe:
      httpGet:
        host: 127.0.0.1
        path: /livez
        port: 2381
        scheme: HTTP
    name: etcd
    volumeMounts:
    - mountPath: /var/lib/etcd
      name: etcd-data
    - mountPath: /etc/kubernetes/pki/etcd
      name: etcd-certs
  hostNetwork: true
  volumes:
  - hostPath:
      path: /etc/kubernetes/pki/etcd
      type: DirectoryOrCreate
    name: etcd-certs
  - hostPath:
      path: /var/lib/etcd
      type: DirectoryOrCreate
    name: etcd-data
"""


def etcd(*arguments: str, pki: str = "/etc/kubernetes/pki/etcd", pair: str = "server") -> str:
    """A member's manifest with these flags, and with kubeadm's for its data and for the files in C(pki)."""
    files = {"cert-file": f"{pair}.crt", "key-file": f"{pair}.key", "trusted-ca-file": "ca.crt"}
    given = ["--data-dir=/var/lib/etcd", *(f"--{flag}={pki}/{name}" for flag, name in files.items()), *arguments]
    items = "".join(f"    - {argument}\n" for argument in given)
    return ETCD.replace("    - etcd\n", f"    - etcd\n{items}").replace("/etc/kubernetes/pki/etcd", pki)


def manifest(text: str = API_SERVER, name: str = "kube-apiserver") -> Manifest:
    """A parsed manifest."""
    return Manifest.parse(text, SOURCE, name)


def with_command(*arguments: str, base: str = API_SERVER) -> str:
    """The API server's manifest with other flags than kubeadm's."""
    start = base.index("    - --")
    end = base.index("    image: ")
    return base[:start] + "".join(f"    - {argument}\n" for argument in arguments) + base[end:]


def parameters(**given: t.Any) -> dict[str, t.Any]:
    """Module parameters with their defaults."""
    defaults = {
        "name": "kube-apiserver",
        "feature_gates": None,
        "admission_plugins": None,
        "args": None,
        "env": None,
        "volumes": None,
        "files": None,
        "state": "present",
        "purge": False,
        "rehearse": True,
        "rollback": True,
        "wait_timeout": 300,
        "min_ready_seconds": 10,
        "confirm": False,
        "confirm_timeout": 60,
        "confirm_url": None,
        "confirm_ca_cert": None,
        "manifest_dir": None,
    }
    return {**defaults, **given}


def wish(**given: t.Any) -> Wish:
    """A wish as the module makes it from its parameters."""
    return desired.parse_wish(parameters(**given))


def volume(name: str, path: str, **given: t.Any) -> dict[str, t.Any]:
    """One entry of the option ``volumes`` with its defaults."""
    return {
        "name": name,
        "host_path": path,
        "mount_path": path,
        "read_only": True,
        "path_type": None,
        "state": "present",
        **given,
    }


def file(path: str, content: t.Any = "", **given: t.Any) -> dict[str, t.Any]:
    """One entry of the option ``files`` with its defaults."""
    return {"path": path, "content": content, "mode": "0600", "sensitive": False, "state": "present", **given}
