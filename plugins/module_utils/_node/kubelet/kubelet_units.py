# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading the kubelet of a node: its unit, its configuration files, its process, and its credential."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ..._engine.kubeconfig import find_problem
from ..._engine.node import CLOCK_SECONDS, Host
from ..._engine.state_files import read_policy
from ..._plan.kubelet import generator as kubelet_generator
from ..._plan.kubelet import layout as kubelet_layout
from ..._plan.kubelet import manager_policies as kubelet_policies
from ..._plan.kubelet.kubelet_state import State
from ..._plan.kubelet.layout import Layout
from ..._plan.kubernetes import versions
from ..._plan.kubernetes.clusters import ClusterIdentity
from ..._plan.transaction import messages
from ..transaction.file_versions import read_version
from ..transaction.owned_record import joined_again, read_record
from ..transaction.state import Run
from .kubelet_reader import (
    fragment_directories,
    fragment_paths,
    joined_at,
    kubeconfig_of,
    manifest_files,
    minor_version_of,
    read_identity,
    registered_name,
    runtime_endpoint,
)
from .kubelet_unit_files import read_text, read_unit_files, refuse_script

KUBELET_NAME = "kubelet"
_UNIT_ROOTS = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")

_DROP_INS = ("kubelet.service.d", "service.d")  # systemd's, the second for all services


@dataclasses.dataclass(frozen=True)
class KubeletUnit:
    """The kubelet of a node.

    state: what a plan is made from. layout: the settings and command line of its files. pid: of its process; None when it is down. cluster: the one that it
    belongs to. is_disabled: whether no boot starts it.
    """

    state: State
    layout: Layout
    pid: int | None
    node_name: str
    cluster: ClusterIdentity
    is_disabled: bool = False

    @property
    def binary(self) -> str:
        """The program that the unit starts."""
        return self.layout.command[0]

    @property
    def version(self) -> str:
        """The minor version of that program."""
        return ".".join(map(str, self.state.version))

    @property
    def kubeconfig(self) -> str:
        """The credential with which it reaches the API server."""
        return kubeconfig_of(self.layout.command)

    @property
    def runtime_endpoint(self) -> str:
        """Where it finds its container runtime."""
        return runtime_endpoint(self.layout.settings)

    @property
    def manifest_dir(self) -> str:
        """The directory of its static pods; empty for none."""
        return str(self.layout.settings.field(("staticPodPath",)) or "")

    def manifests(self) -> list[str]:
        """The files of its static pods. Raises KubeadmError."""
        return manifest_files(self.manifest_dir)

    @property
    def fragment_directories(self) -> list[str]:
        """The directories of its configuration fragments."""
        return _fragment_directories(self.layout.command)

    @property
    def root(self) -> str:
        """The directory of its state (--root-dir)."""
        return kubelet_layout.root_dir(self.layout.command)


def _canonical_path(path: str) -> str:
    """The path of our drop-in as a constant: where its directory is a link, systemd reports the link's target."""
    return kubelet_layout.DROP_IN if path == os.path.realpath(kubelet_layout.DROP_IN) else path


def read_unit(run: Run, host: Host) -> KubeletUnit:
    """Read the kubelet of this node, running or not. Raises KubeadmError when there is none that can be changed."""
    files = read_unit_files(run)
    command = files.command
    main = kubelet_layout.config_file(command)
    pid = files.pid
    running = (host.read_arguments(pid) or None) if pid else None
    refuse_script(files, running)
    state = State(
        unit=tuple(dataclasses.replace(file, path=_canonical_path(file.path)) for file in files.unit),
        environment=files.environment,
        main=read_text(main) if main else None,
        fragments=tuple(
            read_text(path) for path in fragment_paths(kubelet_layout.config_dir(command) or kubelet_layout.CONFIG_DIR)
        ),
        record=read_record(KUBELET_NAME),
        version=minor_version_of(command[0], run),
        running=running,
        host=files.host,
        state_policies=_read_state_policies(kubelet_layout.root_dir(command)),
        generator=read_version(kubelet_generator.GENERATOR),
        joined=joined_again(KUBELET_NAME, joined_at(command)),
    )
    settings = (file.path for file in state.used_files(command) if not file.path.endswith(kubelet_layout.FRAGMENT))
    started = host.read_start_time(pid) if pid else None
    newer = _newer(command[0], [*_unit_paths(state), *settings], _fragment_directories(command), started)
    state = dataclasses.replace(state, newer=newer)
    # The running process counts. Its files are read as it sees them.
    root = os.path.join(host.proc, str(pid), "root") if state.running else "/"
    cluster = read_identity(state.running or command, root=root)
    return KubeletUnit(state, state.layout(), pid, registered_name(command), cluster, files.is_disabled)


def unread_files(unit: KubeletUnit, host: Host) -> list[str]:
    """Of which configuration files, ours too, and files of the unit it is not known whether the process has read them as they are: of directories,
    whether those that are there. Of ours in the unit the plan compares the command line."""
    paths = [*_unit_paths(unit.state), *(file.path for file in unit.state.used_files(unit.layout.command))]
    causes = {
        **dict.fromkeys([*unit.fragment_directories, *_drop_in_directories()], "a file was added or removed"),
        **dict.fromkeys(paths, "the file was changed"),
    }
    return [
        f"whether it has read {path} as it is: {causes[path]} after the process was started"
        for path in (host.changed_since_start(unit.pid, causes) if unit.pid else ())
    ]


def warnings_of(unit: KubeletUnit) -> list[str]:
    """Warnings about any kubelet: a version that is not tested, and a credential with which its Node cannot be read."""
    problem = find_problem(unit.kubeconfig)
    unread = [messages.unread_node_message(unit.node_name, problem)] if problem else []
    return [*versions.warnings(unit.node_name, {KUBELET_NAME: [unit.version]}), *unread]


def _read_state_policies(root: str) -> dict[str, str | None]:
    """The policies in the resource managers' state files."""
    names = [policy.state_file for policy in kubelet_policies.POLICIES if policy.state_file]
    return {name: read_policy(os.path.join(root, name)) for name in names}


def _fragment_directories(command: t.Sequence[str]) -> list[str]:
    """The directories of fragments of a kubelet with this command line."""
    directory = kubelet_layout.config_dir(command)
    return fragment_directories(directory) if directory else []


def _drop_in_directories() -> list[str]:
    """The directories of the unit's drop-ins. Only they show that one was removed, which may have set variables of the process."""
    return [path for root in _UNIT_ROOTS for name in _DROP_INS if os.path.isdir(path := f"{root}/{name}")]


def _unit_paths(state: State) -> list[str]:
    """The files of the unit and its EnvironmentFiles. Ours are skipped: a rollback writes them again as they were, and what our generator
    writes is made at every daemon-reload from files that are checked here."""
    unit = [file.path for file in state.unit if file.path not in (kubelet_layout.DROP_IN, kubelet_generator.DERIVED)]
    return [*(path for path, version in state.environment.items() if version), *unit]


def _is_changed_by_others(directory: str) -> bool:
    """Whether the last file that was added to a directory or removed from it is not ours."""
    fragment = os.path.join(directory, kubelet_layout.FRAGMENT)
    return not os.path.exists(fragment) or os.stat(directory).st_mtime > os.stat(fragment).st_ctime + CLOCK_SECONDS


def _newer(binary: str, files: t.Iterable[str], directories: t.Iterable[str], started: float | None) -> tuple[str, ...]:
    """The paths that changed since the start: directories because of a file that was added or removed.

    A package keeps its binary's build time as mtime, so its ctime counts. The ctime of a text would also change with a chmod.
    """
    if started is None:
        return ()
    times = {path: os.stat(path).st_mtime for path in [*files, *filter(_is_changed_by_others, directories)]}
    if os.path.exists(binary):
        times[binary] = os.stat(binary).st_ctime
    return tuple(path for path, changed in times.items() if changed > started + CLOCK_SECONDS)
