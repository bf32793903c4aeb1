# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubelets as those set them up who do not use the units of kubeadm's packages alone."""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets, layouts
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import KUBEADM, KUBEADM_TEXT, UNIT, UNIT_TEXT
from ansible_collections.nodecraft.kubeadm.tests.unit.support.layouts import NodeFiles

KUBELET_ENV = "/etc/kubernetes/kubelet.env"
SYSCONFIG = "/etc/sysconfig/kubelet"
HCLOUD = "/etc/systemd/system/kubelet.service.d/20-hcloud.conf"
ETC_UNIT = "/etc/systemd/system/kubelet.service"


KUBESPRAY = layouts.load("kubespray").kubelet
# The same where every variable of the unit has its line in the file.
_SPRAY_ENV = KUBESPRAY.environment[KUBELET_ENV] or ""
KUBESPRAY_FULL = dataclasses.replace(
    KUBESPRAY,
    environment={
        KUBELET_ENV: _SPRAY_ENV
        + "".join(
            f'{word}=""\n' for word in re.findall(r"\$(\w+)", KUBESPRAY.unit[ETC_UNIT]) if f"{word}=" not in _SPRAY_ENV
        )
    },
    variable="NODECRAFT_KUBEADM_ARGS",
    derived=True,
)
MINIKUBE = layouts.load("minikube").kubelet
BRACES = NodeFiles(
    unit={
        UNIT: UNIT_TEXT,
        KUBEADM: (
            '[Service]\nEnvironment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"\n'
            "ExecStart=\nExecStart=/usr/bin/kubelet --kubeconfig=/etc/kubernetes/%p.conf ${KUBELET_CONFIG_ARGS}\n"
        ),
    },
    environment={},
    variable="NODECRAFT_KUBEADM_ARGS",
    derived=True,
    command="/usr/bin/kubelet --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml",
)
FEDORA = NodeFiles(
    unit={
        UNIT: (
            "[Service]\nEnvironmentFile=-/etc/kubernetes/config\nEnvironmentFile=-/etc/kubernetes/kubelet\n"
            "ExecStart=/usr/bin/kubelet \\\n  $KUBE_LOGTOSTDERR \\\n  $KUBE_LOG_LEVEL \\\n  $KUBELET_API_SERVER \\\n"
            "  $KUBELET_ADDRESS \\\n  $KUBELET_PORT \\\n  $KUBELET_HOSTNAME \\\n  $KUBELET_ARGS\n"
        )
    },
    environment={
        "/etc/kubernetes/config": 'KUBE_LOG_LEVEL="--v=0"\n',
        "/etc/kubernetes/kubelet": (
            'KUBELET_HOSTNAME="--hostname-override=w1"\n'
            'KUBELET_ARGS="--kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml"\n'
        ),
    },
    variable="KUBELET_PORT",
    command=(
        "/usr/bin/kubelet --v=0 --hostname-override=w1 --kubeconfig=/etc/kubernetes/kubelet.conf"
        " --config=/var/lib/kubelet/config.yaml"
    ),
)
_KUBEADM_COMMAND = "/usr/bin/kubelet --bootstrap-kubeconfig=/b --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml"
RPM = layouts.load("rpm").kubelet
HETZNER = NodeFiles(
    unit={
        UNIT: UNIT_TEXT,
        KUBEADM: KUBEADM_TEXT,
        HCLOUD: '[Service]\nEnvironment="KUBELET_EXTRA_ARGS=--cloud-provider=external --max-pods=50"\n',
    },
    environment={kubelets.FLAGS: None, kubelets.EXTRA: None},
    variable="KUBELET_CONFIG_ARGS",
    command=f"{_KUBEADM_COMMAND} --cloud-provider=external --max-pods=50",
)
ALL = {
    **{name: layouts.load(name).kubelet for name in (*layouts.WHOLE, *layouts.PARTS)},
    "kubespray-full": KUBESPRAY_FULL,
    "braces": BRACES,
    "fedora": FEDORA,
    "hetzner": HETZNER,
}
