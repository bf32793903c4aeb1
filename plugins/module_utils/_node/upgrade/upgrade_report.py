# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of the module C(upgrade_check) on a node."""

from __future__ import annotations

import dataclasses
import functools
import time
import typing as t

from ..._engine.node import NODE, Host
from ..._plan.kubeadm_config.cluster_configuration import ClusterConfiguration
from ..._plan.upgrade import findings, prerequisites
from ..._plan.upgrade.api_versions import api_version_findings
from ..._plan.upgrade.findings import UpgradeFindings
from ..kubelet import control_planes
from ..kubelet.kubelet_units import read_unit
from ..runtime.container_runtime import runtime_at
from ..static_pod.static_pods import API_SERVER
from ..transaction.state import Run
from . import upgrade_checks, upgrade_static_pods
from .control_plane_upgrade import ControlPlane, check_space_for_copies
from .upgrade_kubelet import KubeletUpgrade
from .upgrade_programs import KUBEADM, KUBELET, NewPrograms


def read_all(
    params: t.Mapping[str, t.Any], *, run: Run, host: Host = NODE, clock: t.Callable[[], float] = time.monotonic
) -> dict[str, t.Any]:
    """Check the node. params: of the module. Raises Refusal for invalid parameters."""
    began = clock()
    target, configuration = params["target"], ClusterConfiguration.parse(params["cluster_configuration"])
    target_version = prerequisites.target_of(target, configuration.version)
    unit = read_unit(run, host)
    is_control_plane = control_planes.has_api_server(unit, host)
    programs = NewPrograms(params["programs"], target, run)
    programs.check([KUBELET, KUBEADM] if is_control_plane else [KUBELET])
    found = UpgradeFindings()
    runtime = runtime_at(unit.runtime_endpoint, run)
    for name, check in upgrade_checks.OF_NODES.items():
        if findings.applies(name, target_version):
            found.check(name, check(upgrade_checks.Node(unit, runtime, target, run)))
    version = None
    if is_control_plane:
        node = ControlPlane(
            node_name=unit.node_name,
            manifest_dir=unit.manifest_dir,
            configuration=configuration,
            programs=programs,
            runtime=runtime,
            patches=params["patches"],
            desired=params["static_pods"],
            purge=params["purge"],
            run=run,
            host=host,
            clock=clock,
        )
        found.findings += api_version_findings(configuration, target_version)
        found.findings += check_space_for_copies(configuration)
        upgrade_static_pods.refuse_step(node)
        version = upgrade_static_pods.check(node, found)
        proxy = params["kube_proxy_configuration"]
        upgrade_checks.rehearse_proxy(proxy, configuration, programs, runtime, clock, found)
    image = configuration.image(API_SERVER, target)
    api_server = functools.partial(programs.component, API_SERVER, image, API_SERVER, runtime)
    kubelet = KubeletUpgrade(unit, programs, target_version, api_server, clock).check(params["kubelet"], found)
    return {
        "node": unit.node_name,
        "cluster": dataclasses.asdict(unit.cluster),
        "target": target,
        "is_control_plane": is_control_plane,
        "versions": {"kubelet": kubelet, "kube-apiserver": version},
        "seconds": round(clock() - began, 2),
        **found.report(),
    }
