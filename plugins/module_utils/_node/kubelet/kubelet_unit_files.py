# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading the files of the kubelet's unit: those that systemd has loaded, and the command line that results."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import typing as t

from ..._engine.files import open_to_read
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.file_values import FileVersion, TextFile
from ..._plan.documents.systemd_service import environment_files, exec_start, is_kubelet, read_service
from ..transaction.file_versions import read_version
from ..transaction.state import Run

KUBELET_UNIT = "kubelet.service"
# These override those of packages, the first of them the second.
_STRONGER_UNITS = (f"/etc/systemd/system/{KUBELET_UNIT}", f"/run/systemd/system/{KUBELET_UNIT}")


@dataclasses.dataclass(frozen=True)
class UnitFiles:
    """The unit as systemd loaded it, its own file first. environment: its EnvironmentFiles, None for one that does not exist.

    host: the name of the machine. command: what the unit starts. pid: of the process; None when there is none. is_disabled: whether no boot starts it.
    """

    unit: tuple[TextFile, ...]
    environment: t.Mapping[str, FileVersion | None]
    host: str
    command: list[str]
    pid: int | None
    is_disabled: bool


def read_unit_files(run: Run) -> UnitFiles:
    """Read the unit, whether the kubelet runs or not. Raises KubeadmError when there is none that systemd could start."""
    properties = _read_properties(run)
    unit = [read_text(path) for path in (properties["FragmentPath"], *properties["DropInPaths"].split())]
    name = os.uname().nodename
    paths = [path for pattern in environment_files(unit, name) for path in sorted(glob.glob(pattern)) or [pattern]]
    environment = {path: _read_text_version(path) for path in paths}
    texts = {path: version.text if version else None for path, version in environment.items()}
    command = read_service(unit, texts, name).command
    pid = int(properties["MainPID"] or 0) or None
    return UnitFiles(tuple(unit), environment, name, command, pid, properties["UnitFileState"] == "disabled")


def _read_properties(run: Run) -> dict[str, str]:
    names = ("LoadState", "FragmentPath", "DropInPaths", "MainPID", "NeedDaemonReload", "UnitFileState")
    status, output, error = run(["systemctl", "show", f"--property={','.join(names)}", KUBELET_UNIT])
    properties = {**dict.fromkeys(names, ""), **dict(line.split("=", 1) for line in output.splitlines() if "=" in line)}
    if status != 0 or properties["LoadState"] != "loaded":
        raise KubeadmError(
            f"{os.uname().nodename} has no {KUBELET_UNIT} that systemd could start ({error.strip() or properties['LoadState'] or 'no answer'})."
            " Only kubelets of kubeadm's packages are changed: check that the host is a node."
        )
    if properties["NeedDaemonReload"] == "yes" or _is_shadowed(properties["FragmentPath"]):
        raise Refusal(
            f"{os.uname().nodename}: a file of {KUBELET_UNIT} was changed or added and not loaded, and this change would load that"
            " too. Check it with systemctl cat kubelet, run systemctl daemon-reload and systemctl restart kubelet, and run"
            " again."
        )
    if not all(
        path.startswith("/") for path in properties["DropInPaths"].split()
    ):  # such a property has a word in brackets instead
        raise Refusal(
            f"{os.uname().nodename}: systemctl does not tell the name of a drop-in of {KUBELET_UNIT} that has a blank in it. Find it with"
            " systemctl cat kubelet, rename it, run systemctl daemon-reload and systemctl restart kubelet, and run again."
        )
    return properties


def _is_shadowed(loaded: str) -> bool:
    """Whether a unit exists that would override the loaded one: NeedDaemonReload does not report that."""
    for path in _STRONGER_UNITS:
        if path == loaded:
            return False
        # A link to the loaded one is the same unit.
        if os.path.lexists(path) and os.path.realpath(path) != os.path.realpath(loaded):
            return True
    return False


def read_text(path: str) -> TextFile:
    """A file that must exist. Raises KubeadmError, Refusal."""
    version = _read_text_version(path)
    if version is None:
        raise KubeadmError(f"{path} on {os.uname().nodename}, which {KUBELET_UNIT} needs, does not exist.")
    return TextFile(path, version)


def _read_text_version(path: str) -> FileVersion | None:
    """A file that must be text; None when it does not exist."""
    version = read_version(path)
    try:
        if version is not None:
            version.content.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise Refusal(f"{path} on {os.uname().nodename} is not UTF-8 text: {exc}.") from exc
    return version


def refuse_script(files: UnitFiles, running: t.Sequence[str] | None) -> None:
    """Refuse a script, and a program that is no kubelet by its name, before it is run with --version: it may start a second kubelet."""
    program = files.command[0]
    is_script = _is_script(program)
    if (is_script or not is_kubelet(program)) and list(running or ()) != files.command:
        kind = "a script" if is_script else "no kubelet by its name"
        process = f"the process of the unit is {running[0]}" if running else "the unit has no process"
        raise Refusal(
            f"{exec_start(files.unit)[1]}: {program} is {kind}, and {process}: what {program} makes of its arguments is in no file"
            " that can be read here. Start the kubelet itself there, with its whole path, run systemctl daemon-reload and systemctl restart"
            " kubelet, and run again."
        )


def _is_script(program: str) -> bool:
    """Whether a program names another one that runs it, as scripts do, whatever it is called."""
    with contextlib.suppress(OSError), open_to_read(program) as stream:
        return stream.read(2) == b"#!"
    return False
