# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A control plane that is checked before an upgrade: its node, its disk space, and the programs of the new version."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ..._engine.files import Json
from ..._engine.node import Host
from ..._plan.common.verdict import Verdict
from ..._plan.kubeadm_config.cluster_configuration import ClusterConfiguration, Endpoint
from ..._plan.static_pod.plan import StaticPodPlan
from ..._plan.upgrade import prerequisites
from ..._plan.upgrade.findings import Finding
from ..runtime.container_runtime import Runtime
from ..runtime.programs import Program, rehearse
from ..static_pod.static_pods import StaticPod, find_manifest, parse_static_pod
from ..transaction.disk_space import space_at
from ..transaction.state import Run
from .upgrade_manifests import Kubeadm
from .upgrade_programs import NewPrograms

_KUBERNETES = "/etc/kubernetes"
_COPIES = os.path.join(_KUBERNETES, "tmp")


@dataclasses.dataclass(frozen=True)
class ControlPlane:
    """A control plane that is checked.

    desired: options of the module C(static_pod) by the name of the static pod, as the inventory sets them; None when it sets none.
    """

    node_name: str
    manifest_dir: str
    configuration: ClusterConfiguration
    programs: NewPrograms
    runtime: Runtime
    patches: str | None
    desired: t.Mapping[str, Json] | None
    purge: bool
    run: Run
    host: Host
    clock: t.Callable[[], float]

    def kubeadm(self, program: str, version: str, endpoint: Endpoint) -> Kubeadm:
        """A kubeadm that generates for a version of Kubernetes."""
        config = self.configuration.for_kubeadm(version, endpoint, self.patches)
        return Kubeadm(program, config, self.configuration, self.run, self.patches)

    def read_pod(self, name: str) -> StaticPod:
        """One of its static pods. Raises KubeadmError."""
        return parse_static_pod(name, find_manifest(name, self.manifest_dir)[0], self.node_name)

    def rehearse(self, pod: StaticPod, plan: StaticPodPlan, program: Program) -> Verdict:
        """Start a new component in the sandbox."""
        return rehearse(
            pod, plan, run=self.run, runtime=self.runtime, clock=self.clock, host=self.host, program=program
        )


def check_space_for_copies(configuration: ClusterConfiguration) -> list[Finding]:
    """kubeadm copies all of etcd's data and the manifests to a directory of its own before it changes them."""
    try:
        sizes = [_file_size(path) for path in _files_below(configuration.etcd_data_dir)]
    except OSError as exc:
        return [prerequisites.unread_data(configuration.etcd_data_dir, exc.strerror)]
    # Where it is there already, it may be on another disk, and kubeadm uses it as it is.
    directory = _COPIES if os.path.isdir(_COPIES) else _KUBERNETES
    space = space_at(directory)
    return prerequisites.space_findings(
        directory, space.bytes, sum(sizes), free_files=space.files, files=len(sizes), read_only=space.read_only
    )


def _files_below(directory: str) -> t.Iterator[str]:
    """The files below a directory; none when the name is empty. Raises OSError for one that cannot be listed."""

    def fail(error: OSError) -> None:
        # etcd removes what is below it.
        if error.filename == directory or not isinstance(error, FileNotFoundError):
            raise error

    for parent, dummy, names in os.walk(directory, onerror=fail) if directory else ():
        yield from (os.path.join(parent, name) for name in names)


def _file_size(path: str) -> int:
    """The bytes of a file; none when etcd removed it meanwhile."""
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0
