# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubelets as those set them up who do not use the units of kubeadm's packages alone."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.files import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.state import State
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import KUBEADM, KUBEADM_TEXT, UNIT, UNIT_TEXT

KUBELET_ENV = "/etc/kubernetes/kubelet.env"
SYSCONFIG = "/etc/sysconfig/kubelet"
HCLOUD = "/etc/systemd/system/kubelet.service.d/20-hcloud.conf"
ETC_UNIT = "/etc/systemd/system/kubelet.service"


@dataclasses.dataclass(frozen=True)
class NodeFiles:
    """The files of one kubelet.

    unit: its file and its drop-ins, in systemd's order. environment: its environment files. variable: the one that our drop-in sets.
    derived: whether only our generator has the unit take it. command: what it starts without us. main: its configuration.
    """

    unit: t.Mapping[str, str]
    environment: t.Mapping[str, str | None]
    variable: str
    command: str
    derived: bool = False
    main: str = "/var/lib/kubelet/config.yaml"

    def state(self, **given: t.Any) -> State:
        """What such a node has."""
        fields: dict[str, t.Any] = {
            "unit": tuple(TextFile.of(path, text) for path, text in self.unit.items()),
            "environment": {
                path: None if text is None else TextFile.of(path, text).version
                for path, text in self.environment.items()
            },
            "main": TextFile.of(self.main, kubelets.MAIN_TEXT),
            "running": tuple(self.command.split()),
            **given,
        }
        return dataclasses.replace(kubelets.state(), **fields)


_SPRAY_WORDS = [
    "KUBE_LOGTOSTDERR",
    "KUBE_LOG_LEVEL",
    "KUBELET_API_SERVER",
    "KUBELET_ADDRESS",
    "KUBELET_PORT",
    "KUBELET_HOSTNAME",
    "KUBELET_ARGS",
    "DOCKER_SOCKET",
    "KUBELET_NETWORK_PLUGIN",
    "KUBELET_VOLUME_PLUGIN",
    "KUBELET_CLOUDPROVIDER",
]
_SPRAY_UNIT = (
    "[Unit]\nWants=containerd.service\n\n[Service]\nEnvironmentFile=-/etc/kubernetes/kubelet.env\n"
    "ExecStart=/usr/local/bin/kubelet \\\n"
    + " \\\n".join(f"\t\t${word}" for word in _SPRAY_WORDS)
    + "\nRestart=always\nRestartSec=10s\n"
)
_SPRAY_ENV = """\
KUBE_LOG_LEVEL="--v=2"
KUBELET_ADDRESS="--node-ip=10.0.0.1"
KUBELET_HOSTNAME="--hostname-override=w1"

KUBELET_ARGS="--bootstrap-kubeconfig=/b \\
--config=/etc/kubernetes/kubelet-config.yaml \\
--kubeconfig=/etc/kubernetes/kubelet.conf \\
--runtime-cgroups=/system.slice/containerd.service \\
 "
KUBELET_CLOUDPROVIDER=""

PATH=/usr/local/bin:/usr/bin:/bin
"""
_SPRAY_COMMAND = (
    "/usr/local/bin/kubelet --v=2 --node-ip=10.0.0.1 --hostname-override=w1 --bootstrap-kubeconfig=/b"
    " --config=/etc/kubernetes/kubelet-config.yaml --kubeconfig=/etc/kubernetes/kubelet.conf"
    " --runtime-cgroups=/system.slice/containerd.service"
)
KUBESPRAY = NodeFiles(
    unit={ETC_UNIT: _SPRAY_UNIT},
    environment={KUBELET_ENV: _SPRAY_ENV},
    main="/etc/kubernetes/kubelet-config.yaml",
    variable="KUBELET_VOLUME_PLUGIN",
    command=_SPRAY_COMMAND,
)
# The same where every variable of the unit has its line in the file.
KUBESPRAY_FULL = dataclasses.replace(
    KUBESPRAY,
    environment={
        KUBELET_ENV: _SPRAY_ENV + "".join(f'{word}=""\n' for word in _SPRAY_WORDS if f"{word}=" not in _SPRAY_ENV)
    },
    variable="NODECRAFT_KUBEADM_ARGS",
    derived=True,
)
_MINIKUBE_ARGS = (
    "--bootstrap-kubeconfig=/b --config=/var/lib/kubelet/config.yaml --hostname-override=minikube"
    " --kubeconfig=/etc/kubernetes/kubelet.conf --node-ip=192.168.49.2"
)
MINIKUBE = NodeFiles(
    unit={
        "/lib/systemd/system/kubelet.service": "[Service]\nExecStart=/var/lib/minikube/binaries/v1.37.2/kubelet\nRestart=always\n",
        "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf": (
            "[Unit]\nWants=docker.socket\n\n[Service]\nExecStart=\n"
            f"ExecStart=/var/lib/minikube/binaries/v1.37.2/kubelet {_MINIKUBE_ARGS}\n\n[Install]\n"
        ),
    },
    environment={},
    variable="NODECRAFT_KUBEADM_ARGS",
    derived=True,
    command=f"/var/lib/minikube/binaries/v1.37.2/kubelet {_MINIKUBE_ARGS}",
)
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
RPM = NodeFiles(
    unit={UNIT: UNIT_TEXT, KUBEADM: KUBEADM_TEXT.replace("/etc/default/kubelet", SYSCONFIG)},
    environment={kubelets.FLAGS: None, SYSCONFIG: "KUBELET_EXTRA_ARGS=--fail-swap-on=false\n"},
    variable="KUBELET_CONFIG_ARGS",
    command=f"{_KUBEADM_COMMAND} --fail-swap-on=false",
)
KIND = NodeFiles(
    unit={
        "/etc/systemd/system/kubelet.service": (
            "[Unit]\nConditionPathExists=/var/lib/kubelet/config.yaml\n\n[Service]\nExecStart=/usr/bin/kubelet\n"
            'ExecStartPre=/bin/sh -euc "if [ -f /x ]; then exit 1; fi"\n'
        ),
        "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf": KUBEADM_TEXT + "Slice=kubelet.slice\n",
        "/etc/systemd/system/kubelet.service.d/11-kind.conf": (
            '[Service]\nExecStartPre=/bin/sh -c "exit 0"\nCPUAccounting=true\nMemoryAccounting=true\n'
        ),
    },
    environment={
        kubelets.FLAGS: 'KUBELET_KUBEADM_ARGS="--node-ip=172.18.0.2 --node-labels= --provider-id=kind://docker/kind/w1"\n',
        kubelets.EXTRA: "KUBELET_EXTRA_ARGS=--runtime-cgroups=/system.slice/containerd.service\n",
    },
    variable="KUBELET_CONFIG_ARGS",
    command=(
        f"{_KUBEADM_COMMAND} --node-ip=172.18.0.2 --node-labels= --provider-id=kind://docker/kind/w1"
        " --runtime-cgroups=/system.slice/containerd.service"
    ),
)
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
    "kubespray": KUBESPRAY,
    "kubespray-full": KUBESPRAY_FULL,
    "minikube": MINIKUBE,
    "braces": BRACES,
    "fedora": FEDORA,
    "rpm": RPM,
    "kind": KIND,
    "hetzner": HETZNER,
}
