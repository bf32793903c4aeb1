# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why a node counts as a control plane."""

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
from ..._plan.kubernetes import flags
from ..._plan.kubernetes.control_plane_nodes import API_SERVER, COMPONENTS, component_of_pod, role_label
from .kubelet_units import KubeletUnit

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package

ETCD_DATA = "/var/lib/etcd"
_LOCKED_INODE = re.compile(r"^\d+: (?:FLOCK|POSIX|OFDLCK)\s.*\s[0-9a-f]+:[0-9a-f]+:(\d+)\s", re.MULTILINE)


def reasons(
    unit: KubeletUnit, host: Host, *, etcd_data: str = ETCD_DATA, http_get: probes.HttpGet = probes.api_get
) -> list[str]:
    """Why this node counts as a control plane; empty when it does not.

    The Node is read with the kubelet's own credential, and only where nothing on the node is a reason.
    """
    local = [*(reason for dummy, reason in _find_components(unit, host)), *_locked_etcd_data(host, etcd_data)]
    return local or _read_role_label(unit, http_get)


def has_api_server(unit: KubeletUnit, host: Host, *, http_get: probes.HttpGet = probes.api_get) -> bool:
    """Whether this node has an API server, or else the Node's label: its manifest may have been moved away. Raises
    KubeadmError where no API server is found and the Node cannot be read."""
    if any(component == API_SERVER for component, dummy in _find_components(unit, host)):
        return True
    node, problem = http_get(unit.kubeconfig, _node_path(unit))
    if node is None:
        raise KubeadmError(
            f"whether {unit.node_name} is a control plane is not known: it has no manifest of kube-apiserver, which may have been moved away, and"
            f" its Node cannot be read with {unit.kubeconfig}: {problem.rstrip('.')}. Repair that, and check it again."
        )
    return role_label(node) is not None


def _read_role_label(unit: KubeletUnit, http_get: probes.HttpGet) -> list[str]:
    node, dummy = http_get(unit.kubeconfig, _node_path(unit))
    label = role_label(node)
    return [f"its Node has the label {label}"] if label else []


def _node_path(unit: KubeletUnit) -> str:
    return f"/api/v1/nodes/{unit.node_name}"


def _find_components(unit: KubeletUnit, host: Host) -> t.Iterator[tuple[str, str]]:
    """The control plane's components on this node, each with the reason."""
    yield from _components_of_manifests(unit.manifests())
    yield from _running_components(host)


def _components_of_manifests(paths: t.Iterable[str]) -> t.Iterator[tuple[str, str]]:
    for path, pod in _read_pods(paths):
        component = component_of_pod(pod)
        if component:
            yield component, f"{path} is a manifest of {component}"


def _read_pods(paths: t.Iterable[str]) -> t.Iterator[tuple[str, t.Any]]:
    """The pods of manifests. An unreadable manifest is skipped: the kubelet would not start it either."""
    for path in paths:
        with contextlib.suppress(OSError, ValueError, yaml.YAMLError), open_to_read(path) as stream:
            yield path, configuration.load_first(stream.read().decode())


def read_flag(paths: t.Iterable[str], program: str, name: str) -> str | None:
    """The value of a flag in the manifest of a program of the control plane; None where this node has none, or the flag is not set."""
    for dummy, pod in _read_pods(paths):
        with contextlib.suppress(LookupError, TypeError, AttributeError):
            container = pod["spec"]["containers"][0]
            command = [*container["command"], *(container.get("args") or [])]
            if command[0] == program:
                return flags.last_value(command, name)
    return None


def _running_components(host: Host) -> t.Iterator[tuple[str, str]]:
    """Only in the host's network: others belong to hosted control planes or rehearsals."""
    for component in COMPONENTS:
        for process in host.find_in_host_network(component, others=()):
            yield component, f"{component} runs in the host's network as process {process.pid}"


def _locked_etcd_data(host: Host, directory: str) -> t.Iterator[str]:
    """etcd keeps its database locked while it runs, in whatever container."""
    database = os.path.join(directory, "member", "snap", "db")
    with contextlib.suppress(OSError):
        inode = os.stat(database).st_ino
        with open(os.path.join(host.proc, "locks"), encoding="ascii") as stream:
            if str(inode) in _LOCKED_INODE.findall(stream.read()):
                yield f"{directory} is the data directory of an etcd that runs"
