# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet as kubeadm's packages set it up, as values."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.systemd_service import replace_file
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.config import TAINTS
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.desired import (
    SETTINGS,
    Desired,
    parse_desired,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_state import State

FRAGMENT = f"{kubelet_layout.CONFIG_DIR}/{kubelet_layout.FRAGMENT}"
TAINT = {"key": "example.com/dongle", "value": "", "effect": "NoSchedule"}
UNIT = "/usr/lib/systemd/system/kubelet.service"
KUBEADM = "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"
FLAGS = "/var/lib/kubelet/kubeadm-flags.env"
EXTRA = "/etc/default/kubelet"
MAIN = "/var/lib/kubelet/config.yaml"

UNIT_TEXT = "[Unit]\nDescription=kubelet\n\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n"
KUBEADM_TEXT = """\
# Note: this is kubeadm's
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/b --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
"""
MAIN_TEXT = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard:
  nodefs.available: 0%
featureGates:
  Theirs: true
maxPods: 110
staticPodPath: /etc/kubernetes/manifests
"""
BASE = (
    "/usr/bin/kubelet --bootstrap-kubeconfig=/b --kubeconfig=/etc/kubernetes/kubelet.conf"
    " --config=/var/lib/kubelet/config.yaml --node-ip=10.0.0.1"
)


def state(
    extra: str = "KUBELET_EXTRA_ARGS=\n",
    *,
    main: str = MAIN_TEXT,
    fragments: t.Mapping[str, str] | None = None,
    drop_ins: t.Mapping[str, str] | None = None,
    **given: t.Any,
) -> State:
    """What a node has."""
    unit = [TextFile.of(UNIT, UNIT_TEXT), TextFile.of(KUBEADM, KUBEADM_TEXT)]
    for path, text in (drop_ins or {}).items():
        unit = replace_file(unit, path, TextFile.of(path, text).version)
    fields: dict[str, t.Any] = {
        "unit": tuple(unit),
        "environment": {
            path: TextFile.of(path, text).version
            for path, text in ((FLAGS, 'KUBELET_KUBEADM_ARGS="--node-ip=10.0.0.1"\n'), (EXTRA, extra))
        },
        "main": TextFile.of(MAIN, main),
        "fragments": tuple(TextFile.of(path, text, 0o600) for path, text in sorted((fragments or {}).items())),
        "record": {},
        "version": (1, 32),
        "running": None,
        "host": "w1.example.com",
        **given,
    }
    return State(**fields)


def after(before: State, plan: kubelet.KubeletPlan) -> State:
    """What the node has when a plan was carried out."""
    changed = before.with_files({change.path: change.after for change in plan.files})
    return dataclasses.replace(changed, record=plan.record, running=tuple(plan.after.command))


def desired(**given: t.Any) -> Desired:
    """A task's desired state."""
    return parse_desired(parameters(**given))


def data_of(plan: kubelet.KubeletPlan) -> dict[str, t.Any]:
    """What our fragment sets."""
    assert plan.fragment is not None
    data: dict[str, t.Any] = json.loads(plan.fragment.text.split("\n", 1)[1])
    return data


def parameters(**given: t.Any) -> dict[str, t.Any]:
    """The module's parameters with their defaults. With C(purge) every option is given, as the role does it."""
    nothing: dict[str, t.Any] = {option: [] if option == TAINTS else {} for option in SETTINGS}
    return {
        **(nothing if given.get("purge") else dict.fromkeys(SETTINGS)),
        "state": "present",
        "purge": False,
        "adopt": False,
        "observation_timeout": 0,
        "observed_before": None,
        "force": False,
        "rehearse": True,
        "rollback": True,
        "wait_timeout": 300,
        "min_ready_seconds": 10,
        "confirm": False,
        "confirm_timeout": 60,
        "confirm_url": None,
        "confirm_ca_cert": None,
        "lock_timeout": 0,
        "acknowledge": True,
        **given,
    }
