# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The programs of the new version, from a directory or images; rehearsed until they have named all that they refuse."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
import tempfile
import typing as t

from ..._engine.files import open_to_read
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.ownership import Values
from ..._plan.common.verdict import REFUSED, Verdict
from ..._plan.kubelet.config import GATES
from ..._plan.kubernetes import versions
from ..._plan.transaction import rehearsal
from ..._plan.upgrade import prerequisites, refusals
from ..._plan.upgrade.findings import KUBE_PROXY
from ..._plan.upgrade.refusals import Setting
from ..runtime.container_runtime import Runtime
from ..runtime.programs import PATH, Program, program_in_image
from ..runtime.sandbox_runs import base64_of, run_in_sandbox
from ..transaction.state import Run

KUBEADM, KUBELET = "kubeadm", "kubelet"
_MOST_NAMES = 12  # of a directory that a message lists
_VERSION_ARGUMENTS = {KUBEADM: ("version", "--output=short")}


@dataclasses.dataclass(frozen=True)
class NewPrograms:
    """The programs. directory: where they are on the node. target: the version that they have to be."""

    directory: str
    target: str
    run: Run

    def check(self, needed: t.Iterable[str]) -> None:
        """Refuse a directory without these, and any program in it of another version. Raises Refusal."""
        refuse_relative("programs", self.directory)
        try:
            names = os.listdir(self.directory)
        except OSError as exc:
            raise Refusal(
                f"invalid programs {self.directory} on {os.uname().nodename}: must be a directory with the programs of {self.target}"
                f" ({exc.strerror}). Unpack or copy them there first, and name it in upgrade_check_programs."
            ) from exc
        missing = [name for name in needed if name not in names]
        if missing:
            raise Refusal(
                f"invalid programs {self.directory} on {os.uname().nodename}: must hold {' and '.join(missing)} of {self.target}; found:"
                f" {_list_names(names)}. Unpack or copy it there first."
            )
        for name in (KUBEADM, KUBELET, KUBE_PROXY, *versions.COMPONENTS):
            if name in names:
                self._check_one(name)

    def _check_one(self, name: str) -> None:
        path = self.path(name)
        objection = _file_objection(path) or prerequisites.program_error(
            name, path, self._version_output(name, path), self.target
        )
        if objection:
            raise Refusal(f"invalid programs on {os.uname().nodename}: {objection}")

    def _version_output(self, name: str, path: str) -> str:
        status, output, error = self.run([path, *_VERSION_ARGUMENTS.get(name, ("--version",))])
        return output if status == 0 else error or output

    def path(self, name: str) -> str:
        """Where a program is, or would be."""
        return os.path.join(self.directory, name)

    @contextlib.contextmanager
    def component(self, name: str, image: str, command: str, runtime: Runtime) -> t.Iterator[Program]:
        """The new program of a static pod, for as long as the block lasts. Raises KubeadmError where there is none.

        image, command: those of the manifest that kubeadm generates.
        """
        path = self.path(name)
        if os.path.exists(path):
            if name not in versions.COMPONENTS:
                self._check_release(name, path, image)
            yield Program(path, None)
            return
        if runtime.has_image(image) is False:
            raise KubeadmError(
                f"there is neither {path} nor the image {image} on the node (kubeadm config images pull)"
            )
        with program_in_image(image, command, runtime) as program:
            yield program

    def _check_release(self, name: str, path: str, image: str) -> None:
        """Check a program with its own version, as in the image's tag, such as etcd."""
        objection = _file_objection(path)
        required = prerequisites.parse_version(versions.tag_of(image))
        if not objection and required is not None:
            objection = prerequisites.program_error(
                name, path, self._version_output(name, path), prerequisites.format_version(required)
            )
        if objection:
            raise KubeadmError(objection.rstrip("."))


def start_program(
    program: Program, command: t.Sequence[str], run: Run, *, files: t.Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Start a program in the sandbox with its image alone: (status, all its output).

    files: by their path in C(rehearsal.DIRECTORY). Raises KubeadmError when it could not be started.
    """
    image = [] if program.root is None else [{"source": program.root, "target": "/", "missing": None}]
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as root:
        request = {
            "binary": program.binary,
            "arguments": list(command),
            "environment": {"PATH": PATH},
            "root": root,
            "mounts": [*image, {"source": rehearsal.DIRECTORY, "target": rehearsal.DIRECTORY, "missing": "directory"}],
            "staged": {path: base64_of(text.encode("utf-8")) for path, text in (files or {}).items()},
        }
        return run_in_sandbox(command[0], request, run)


def _list_names(names: t.Collection[str]) -> str:
    """The names in a directory, of many the first."""
    listed = sorted(names)[:_MOST_NAMES]
    more = [f"{len(names) - len(listed)} more"] if len(names) > len(listed) else []
    return ", ".join([*listed, *more]) or "nothing"


def refuse_relative(option: str, path: str) -> None:
    """Refuse a relative path: its base differs in the sandbox, and at the next login. Raises Refusal."""
    if not os.path.isabs(path):
        raise Refusal(f"invalid {option} {path!r}: must be an absolute path on each node, such as /opt/{option}.")


def _file_objection(path: str) -> str:
    try:
        with open_to_read(path) as stream:
            header = stream.read(prerequisites.HEADER_BYTES)
            mode = os.fstat(stream.fileno()).st_mode
    except OSError as exc:
        return f"{path} cannot be read ({exc.strerror}): must be a program."
    if not mode & stat.S_IXUSR:
        return f"{path} is not executable: run chmod 755 on it."
    return prerequisites.machine_error(path, header, os.uname().machine)


def installed_kubeadm(run: Run) -> tuple[str, str] | None:
    """The path and the version of the node's own kubeadm; None where it has none."""
    for directory in PATH.split(":"):
        path = os.path.join(directory, KUBEADM)
        if os.path.isfile(path):
            status, output, dummy = run([path, *_VERSION_ARGUMENTS[KUBEADM]])
            return (path, output.strip()) if status == 0 else None
    return None


MOST_REFUSALS = 12  # of one component; each costs a start of it

Refused = list[tuple[t.Optional[Setting], str]]


class Trial(t.Protocol):
    """A component with settings, which can be rehearsed."""

    def rehearse(self) -> Verdict:
        """Start it in the sandbox."""

    def values(self) -> Values:
        """The settings it is started with."""

    def without(self, settings: t.Sequence[Setting]) -> Trial:
        """The same without settings. Raises Refusal where that is impossible."""


@dataclasses.dataclass(frozen=True)
class GateTrial:
    """A program that is started with feature gates, of which those that it refuses are removed.

    gates: by name. start: starts it with gates, and returns the verdict.
    """

    gates: t.Mapping[str, t.Any]
    start: t.Callable[[t.Mapping[str, t.Any]], Verdict]
    clock: t.Callable[[], float]

    def rehearse(self) -> Verdict:
        """Start it in the sandbox."""
        began = self.clock()
        verdict = self.start(self.gates)
        return dataclasses.replace(verdict, seconds=round(self.clock() - began, 2))

    def values(self) -> Values:
        """Its gates."""
        return {GATES: dict(self.gates)}

    def without(self, settings: t.Sequence[Setting]) -> GateTrial:
        """The same without some of them."""
        gone = {key for field, key in settings if field == GATES}
        return dataclasses.replace(self, gates={gate: value for gate, value in self.gates.items() if gate not in gone})


def rehearse_all(trial: Trial) -> tuple[Verdict, Refused]:
    """Rehearse a component and, since it names the first thing only that it refuses, again without what it named.

    Returns the first verdict, and each refused setting with the component's error; None where that does not name it.
    """
    first = verdict = trial.rehearse()
    refused: Refused = []
    for number in range(1, MOST_REFUSALS + 1):
        if verdict.verdict != REFUSED:
            break
        named = refusals.offending_settings(verdict.message, trial.values())
        offending = [setting for setting in named if setting not in dict(refused)]
        if named and not offending:  # removing it did not help
            break
        refused += [(setting, verdict.message) for setting in offending] or [(None, verdict.message)]
        if not offending or number == MOST_REFUSALS:
            break
        try:
            trial = trial.without(offending)
        except Refusal:
            break
        verdict = trial.rehearse()
    return first, refused
