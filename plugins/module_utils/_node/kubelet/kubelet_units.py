# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading the kubelet of a node: its unit, its configuration files, its process, and whom it may ask."""

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
)
from .kubelet_unit_files import read_text, read_unit_files, refuse_script

KUBELET_NAME = "kubelet"
_UNIT_ROOTS = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")


@dataclasses.dataclass(frozen=True)
class KubeletUnit:
    """A kubelet as a node has it.

    state: what a plan is made from. layout: what its files make of it. pid: of its process; None when it is down. cluster: the one that it
    belongs to.
    """

    state: State
    layout: Layout
    pid: int | None
    node_name: str
    cluster: ClusterIdentity

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
        """The credential with which it asks the API server."""
        return kubeconfig_of(self.layout.command)

    @property
    def manifest_dir(self) -> str:
        """Where it finds its static pods; empty for none."""
        return str(self.layout.settings.field(("staticPodPath",)) or "")

    def manifests(self) -> list[str]:
        """The files of its static pods. Raises KubeadmError."""
        return manifest_files(self.manifest_dir)

    @property
    def fragment_directories(self) -> list[str]:
        """Where it finds its fragments."""
        return _fragment_directories(self.layout.command)

    @property
    def root(self) -> str:
        """The directory in which it keeps its state."""
        return kubelet_layout.root_dir(self.layout.command)


def _named(path: str) -> str:
    """A file of the unit as it is named here: of a directory of drop-ins that is a link, systemd names what it leads to."""
    return kubelet_layout.DROP_IN if path == os.path.realpath(kubelet_layout.DROP_IN) else path


def read_unit(run: Run, host: Host) -> KubeletUnit:
    """Read the kubelet of this node, running or not. Raises KubeadmError when there is none that can be changed."""
    read = read_unit_files(run)
    command = read.command
    main = kubelet_layout.config_file(command)
    pid = read.pid
    running = (host.read_arguments(pid) or None) if pid else None
    refuse_script(read, running)
    state = State(
        unit=tuple(dataclasses.replace(file, path=_named(file.path)) for file in read.unit),
        environment=read.environment,
        main=read_text(main) if main else None,
        fragments=tuple(
            read_text(path) for path in fragment_paths(kubelet_layout.config_dir(command) or kubelet_layout.CONFIG_DIR)
        ),
        record=read_record(KUBELET_NAME),
        version=minor_version_of(command[0], run),
        running=running,
        host=read.host,
        remembered=_remembered(kubelet_layout.root_dir(command)),
        generator=read_version(kubelet_generator.GENERATOR),
        joined=joined_again(KUBELET_NAME, joined_at(command)),
    )
    settings = (file.path for file in state.used_files(command) if not file.path.endswith(kubelet_layout.FRAGMENT))
    started = host.read_start_time(pid) if pid else None
    newer = _newer(command[0], [*_unit_texts(state), *settings], _fragment_directories(command), started)
    state = dataclasses.replace(state, newer=newer)
    # What runs counts. Its files are read as it sees them.
    root = os.path.join(host.proc, str(pid), "root") if state.running else "/"
    cluster = read_identity(state.running or command, root=root)
    return KubeletUnit(state, state.layout(), pid, registered_name(command), cluster)


def unread_files(unit: KubeletUnit, host: Host) -> list[str]:
    """Of which configuration files, ours too, and files of the unit it is not known whether the process has read them as they are: of directories,
    whether those that are there. Of ours in the unit the plan compares the command line."""
    paths = [*_unit_texts(unit.state), *(file.path for file in unit.state.used_files(unit.layout.command))]
    whats = {
        **dict.fromkeys([*unit.fragment_directories, *_drop_in_directories()], "a file was added or removed"),
        **dict.fromkeys(paths, "the file was changed"),
    }
    return [
        f"whether it has read {path} as it is: {whats[path]} after the process was started"
        for path in (host.changed_since_start(unit.pid, whats) if unit.pid else ())
    ]


def warnings_about(unit: KubeletUnit) -> list[str]:
    """What a user should know of any kubelet: a version that is not tested, and a credential with which its Node cannot be read."""
    problem = find_problem(unit.kubeconfig)
    unread = [messages.unread_node(unit.node_name, problem)] if problem else []
    return [*versions.warnings(unit.node_name, {KUBELET_NAME: [unit.version]}), *unread]


def _remembered(root: str) -> dict[str, str | None]:
    """The policies that the state files name."""
    names = [policy.state_file for policy in kubelet_policies.POLICIES if policy.state_file]
    return {name: read_policy(os.path.join(root, name)) for name in names}


def _fragment_directories(command: t.Sequence[str]) -> list[str]:
    """Where a kubelet with this command line finds its fragments."""
    directory = kubelet_layout.config_dir(command)
    return fragment_directories(directory) if directory else []


def _drop_in_directories() -> list[str]:
    """Where the drop-ins of the unit are. Only they show that one was removed, which may have set variables for the process alone."""
    return [path for root in _UNIT_ROOTS if os.path.isdir(path := f"{root}/kubelet.service.d")]


def _unit_texts(state: State) -> list[str]:
    """The files of the unit and of its variables. Ours are skipped: a change that is abandoned puts them back as they were, and what our generator
    writes is made at every daemon-reload out of files that are looked at here."""
    unit = [file.path for file in state.unit if file.path not in (kubelet_layout.DROP_IN, kubelet_generator.DERIVED)]
    return [*(path for path, version in state.environment.items() if version), *unit]


def _is_changed_by_others(directory: str) -> bool:
    """Whether a file of others was the last one that was added to a directory or removed there."""
    ours = os.path.join(directory, kubelet_layout.FRAGMENT)
    return not os.path.exists(ours) or os.stat(directory).st_mtime > os.stat(ours).st_ctime + CLOCK_SECONDS


def _newer(binary: str, files: t.Iterable[str], directories: t.Iterable[str], started: float | None) -> tuple[str, ...]:
    """Those that changed since then: directories because of a file that was added or removed.

    A package gives its binary the time of its making, so only the inode tells. Of a text that would also tell a chmod, which refuses no change.
    """
    if started is None:
        return ()
    times = {path: os.stat(path).st_mtime for path in [*files, *filter(_is_changed_by_others, directories)]}
    if os.path.exists(binary):
        times[binary] = os.stat(binary).st_ctime
    return tuple(path for path, changed in times.items() if changed > started + CLOCK_SECONDS)
