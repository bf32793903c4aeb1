# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads why a node counts as a control plane."""

from __future__ import annotations

import contextlib
import os
import re
import typing as t

from ..._engine import probes
from ..._engine.files import open_to_read
from ..._engine.node import Host
from ..._plan.common.errors import KubeadmError
from ..._plan.documents import configuration
from ..._plan.kubernetes.control_plane_nodes import API_SERVER, COMPONENTS, component_of_pod, role_label
from .kubelet_units import KubeletUnit

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package

ETCD_DATA = "/var/lib/etcd"
_LOCK = re.compile(r"^\d+: (?:FLOCK|POSIX|OFDLCK)\s.*\s[0-9a-f]+:[0-9a-f]+:(\d+)\s", re.MULTILINE)


def reasons(
    unit: KubeletUnit, host: Host, *, etcd_data: str = ETCD_DATA, ask: probes.HttpGet = probes.api_get
) -> list[str]:
    """Why this node counts as a control plane; empty when it does not.

    The API is asked with the kubelet's own credential, and only about a node on which nothing else says so.
    """
    found = [*(reason for dummy, reason in _components(unit, host)), *_data(host, etcd_data)]
    return found or _label(unit, ask)


def has_api_server(unit: KubeletUnit, host: Host, *, ask: probes.HttpGet = probes.api_get) -> bool:
    """Whether this node has an API server, whatever its manifest is called. The Node's label tells of one whose manifest was moved away. Raises
    KubeadmError where nothing else tells and the Node cannot be read."""
    if any(component == API_SERVER for component, dummy in _components(unit, host)):
        return True
    node, why = ask(unit.kubeconfig, _node_path(unit))
    if node is None:
        raise KubeadmError(
            f"whether {unit.node_name} is a control plane is not known: it has no manifest of kube-apiserver, which may have been moved away, and"
            f" its Node cannot be read with {unit.kubeconfig}: {why.rstrip('.')}. Repair that, and check it again."
        )
    return role_label(node) is not None


def _label(unit: KubeletUnit, ask: probes.HttpGet) -> list[str]:
    node, dummy = ask(unit.kubeconfig, _node_path(unit))
    label = role_label(node)
    return [f"its Node has the label {label}"] if label else []


def _node_path(unit: KubeletUnit) -> str:
    return f"/api/v1/nodes/{unit.node_name}"


def _components(unit: KubeletUnit, host: Host) -> t.Iterator[tuple[str, str]]:
    """The components that belong to this node, each with the reason."""
    yield from _manifests(unit.manifests())
    yield from _processes(host)


def _manifests(paths: t.Iterable[str]) -> t.Iterator[tuple[str, str]]:
    """A pod that cannot be read is none that the kubelet would start."""
    for path in paths:
        with contextlib.suppress(OSError, ValueError, yaml.YAMLError):
            with open_to_read(path) as stream:
                component = component_of_pod(configuration.load_first(stream.read().decode()))
            if component:
                yield component, f"{path} is a manifest of {component}"


def _processes(host: Host) -> t.Iterator[tuple[str, str]]:
    """One with a network of its own belongs to a hosted control plane, or to a rehearsal."""
    for component in COMPONENTS:
        for process in host.find_in_host_network(component, others=()):
            yield component, f"{component} runs in the host's network as process {process.pid}"


def _data(host: Host, directory: str) -> t.Iterator[str]:
    """etcd keeps its database locked while it runs, wherever it runs."""
    database = os.path.join(directory, "member", "snap", "db")
    with contextlib.suppress(OSError):
        inode = os.stat(database).st_ino
        with open(os.path.join(host.proc, "locks"), encoding="ascii") as stream:
            if str(inode) in _LOCK.findall(stream.read()):
                yield f"{directory} is the data directory of an etcd that runs"
