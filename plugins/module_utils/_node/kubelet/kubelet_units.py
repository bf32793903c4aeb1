# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading the kubelet of a node: its unit, its configuration files, its process, and whom it may ask."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ..._engine.kubeconfig import find_problem
from ..._engine.node import Host
from ..._engine.state_files import named_policy
from ..._plan.common import times
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.file_values import TextFile
from ..._plan.documents.systemd_service import exec_start, is_kubelet
from ..._plan.kubelet import generator as kubelet_generator
from ..._plan.kubelet import layout as kubelet_layout
from ..._plan.kubelet import manager_policies as kubelet_policies
from ..._plan.kubelet.kubelet_state import State
from ..._plan.kubelet.layout import Layout
from ..._plan.kubernetes import flags, versions
from ..._plan.kubernetes.clusters import ClusterIdentity
from ..._plan.transaction import messages
from ..transaction.file_versions import read_version
from ..transaction.owned_record import is_older, own_record
from ..transaction.state import Run
from .kubelet_reader import fragment_paths, joined_at, kubeconfig_of, read_identity, registered_name
from .kubelet_unit_files import UnitFiles, read_text, read_unit_files

KUBELET_NAME = "kubelet"
_CLOCK_SECONDS = 2  # the start of a process is known to a second
_DEFAULT_ROOT = "/var/lib/kubelet"


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
    def root(self) -> str:
        """The directory in which it keeps its state."""
        return _root(self.layout.command)


def read_unit(run: Run, host: Host) -> KubeletUnit:
    """Read the kubelet of this node, running or not. Raises KubeadmError when there is none that can be changed."""
    read = read_unit_files(run)
    command = read.command
    main = flags.last(command, "config")
    pid = read.pid
    running = (host.arguments(pid) or None) if pid else None
    _refuse_script(read, running)
    state = State(
        unit=read.unit,
        environment=read.environment,
        main=read_text(main) if main else None,
        fragments=tuple(
            read_text(path) for path in fragment_paths(kubelet_layout.config_dir(command) or kubelet_layout.CONFIG_DIR)
        ),
        record=own_record(KUBELET_NAME),
        version=_version(command[0], run),
        running=running,
        host=read.host,
        remembered=_remembered(_root(command)),
        generator=read_version(kubelet_generator.GENERATOR),
        joined=_joined_again(command),
    )
    files = [*state.environment, *(file.path for file in (*state.unit, *used_files(state, command)))]
    state = dataclasses.replace(state, newer=_newer(command[0], files, host.started(pid) if pid else None))
    # What runs counts. Its files are read as it sees them.
    root = os.path.join(host.proc, str(pid), "root") if state.running else "/"
    cluster = read_identity(state.running or command, root=root)
    return KubeletUnit(state, state.layout(), pid, registered_name(command), cluster)


def warnings_about(unit: KubeletUnit) -> list[str]:
    """What a user should know of any kubelet: a version that is not tested, and a credential with which its Node cannot be read."""
    problem = find_problem(unit.kubeconfig)
    unread = [messages.unread_node(unit.node_name, problem)] if problem else []
    return [*versions.warnings(unit.node_name, {KUBELET_NAME: [unit.version]}), *unread]


def _refuse_script(read: UnitFiles, running: t.Sequence[str] | None) -> None:
    """Refuse a program that is no kubelet by its name, before it is asked for its version: it may start a second kubelet."""
    program = read.command[0]
    if not is_kubelet(program) and list(running or ()) != read.command:
        found = f"the process of the unit is {running[0]}" if running else "the unit has no process"
        raise Refusal(
            f"{exec_start(read.unit)[1]}: {program} is no kubelet by its name, and {found}: what {program} makes of its arguments is in no file"
            " that can be read here. Start the kubelet itself there, with its whole path, run systemctl daemon-reload and systemctl restart"
            " kubelet, and run again."
        )


def _joined_again(command: t.Sequence[str]) -> str:
    joined = joined_at(command)
    return times.shown(joined) if is_older(KUBELET_NAME, joined) else ""


def _root(command: t.Sequence[str]) -> str:
    return flags.last(command, "root-dir") or _DEFAULT_ROOT


def _remembered(root: str) -> dict[str, str | None]:
    """The policies that the state files name."""
    names = [policy.state_file for policy in kubelet_policies.POLICIES if policy.state_file]
    return {name: named_policy(os.path.join(root, name)) for name in names}


def used_files(state: State, command: t.Sequence[str]) -> list[TextFile]:
    """The configuration files that a command line makes the kubelet read."""
    main = [state.main] if state.main else []
    return [*main, *(state.fragments if kubelet_layout.config_dir(command) else ())]


def _newer(binary: str, files: t.Iterable[str], started: float | None) -> tuple[str, ...]:
    """Those that changed since then. Ours are skipped: a change that is abandoned puts them back as they were, and what our
    generator writes is made at every daemon-reload out of files that are looked at here.

    A package gives its binary the time of its making, so only the inode tells. Of a text that would also tell a chmod.
    """
    if started is None:
        return ()
    texts = [
        path
        for path in files
        if not path.endswith((kubelet_layout.DROP_IN, kubelet_layout.FRAGMENT, kubelet_generator.DERIVED))
        and os.path.exists(path)
    ]
    times = {path: os.stat(path).st_mtime for path in texts}
    if os.path.exists(binary):
        times[binary] = os.stat(binary).st_ctime
    return tuple(path for path, changed in times.items() if changed > started + _CLOCK_SECONDS)


def _version(binary: str, run: Run) -> tuple[int, int]:
    status, output, error = run([binary, "--version"])
    version = versions.parse(output)
    if status != 0 or version is None:
        raise KubeadmError(f"{binary} --version on {os.uname().nodename} gives no version: {(error or output).strip()}")
    return version
