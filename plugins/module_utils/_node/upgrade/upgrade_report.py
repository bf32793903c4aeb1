# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(upgrade_check) finds on a node."""

from __future__ import annotations

import functools
import os
import time
import typing as t

from ..._engine.files import Json
from ..._engine.node import NODE, Host
from ..._plan.kubeadm_config.cluster_configuration import ClusterConfiguration
from ..._plan.upgrade import findings, prerequisites
from ..._plan.upgrade.api_versions import api_version_findings
from ..._plan.upgrade.findings import UpgradeFindings
from ..kubelet import control_planes
from ..kubelet.kubelet_reader import version_of
from ..kubelet.kubelet_units import read_unit
from ..runtime.container_runtime import runtime_at
from ..static_pod.static_pods import API_SERVER
from ..transaction.disk_space import space_at
from ..transaction.state import Run
from . import upgrade_checks, upgrade_static_pods
from .upgrade_kubelet import KubeletUpgrade
from .upgrade_manifests import refuse_patches
from .upgrade_programs import KUBEADM, KUBELET, NewPrograms
from .upgrade_static_pods import ControlPlane

_KUBERNETES = "/etc/kubernetes"
_COPIES = os.path.join(_KUBERNETES, "tmp")
_RUNTIME = "unix:///run/containerd/containerd.sock"


def read_all(
    params: t.Mapping[str, t.Any], *, run: Run, host: Host = NODE, clock: t.Callable[[], float] = time.monotonic
) -> Json:
    """Check the node. params: of the module. Raises Refusal for what the check cannot be made from."""
    began = clock()
    target, configuration = params["target"], ClusterConfiguration.parse(params["cluster_configuration"])
    wanted_version = prerequisites.target_of(target, configuration.version)
    unit = read_unit(run, host)
    manifest_dir = str(unit.layout.settings.field(("staticPodPath",)) or "")
    is_control_plane = control_planes.has_api_server(unit, host)
    programs = NewPrograms(params["programs"], target, run)
    programs.check([KUBELET, KUBEADM] if is_control_plane else [KUBELET])
    found = UpgradeFindings()
    runtime = runtime_at(str(unit.layout.settings.field(("containerRuntimeEndpoint",)) or _RUNTIME), run)
    for name, check in upgrade_checks.OF_NODES.items():
        if findings.applies(name, wanted_version):
            found.check(name, check(upgrade_checks.Node(unit, manifest_dir, runtime, target, run)))
    version = None
    if is_control_plane:
        refuse_patches(params["patches"])
        wanted = params["static_pods"]
        found.findings += api_version_findings(configuration, wanted_version)
        found.findings += _of_space(configuration)
        node = ControlPlane(
            node_name=unit.node_name,
            manifest_dir=manifest_dir,
            configuration=configuration,
            programs=programs,
            runtime=runtime,
            patches=params["patches"],
            wanted=wanted,
            purge=params["purge"],
            run=run,
            host=host,
            clock=clock,
        )
        version = upgrade_static_pods.check(node, found)
        proxy = params["kube_proxy_configuration"]
        upgrade_checks.rehearse_proxy(proxy, configuration, programs, runtime, clock, found)
    image = configuration.image(API_SERVER, target)
    api_server = functools.partial(programs.component, API_SERVER, image, API_SERVER, runtime)
    KubeletUpgrade(unit, programs, wanted_version, api_server, clock).check(params["kubelet"], found)
    return {
        "node": unit.node_name,
        "target": target,
        "is_control_plane": is_control_plane,
        "versions": {"kubelet": version_of(unit.binary, run), "kube-apiserver": version},
        "seconds": round(clock() - began, 2),
        **found.report(),
    }


def _of_space(configuration: ClusterConfiguration) -> list[t.Any]:
    """kubeadm copies all of etcd's data and the manifests to a directory of its own before it changes them."""
    data = sum(map(_size, _files_below(configuration.etcd_data_dir)))
    # Where it is there already, it may be on another disk, and kubeadm uses it as it is.
    place = _COPIES if os.path.isdir(_COPIES) else _KUBERNETES
    return prerequisites.space_objection(place, space_at(place).bytes, data)


def _files_below(directory: str) -> t.Iterator[str]:
    for place, dummy, names in os.walk(directory):
        yield from (os.path.join(place, name) for name in names)


def _size(path: str) -> int:
    """The bytes of a file; none when etcd removed it meanwhile."""
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0
