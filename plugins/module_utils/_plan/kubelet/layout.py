# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the files of a kubelet make of it, where our own files stand, and by which variable its unit takes arguments."""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

from ..common.file_values import TextFile
from ..documents.systemd_service import Service, Variable
from ..kubernetes import flags
from . import config as kubelet_config
from .config import Settings

UNIT = "kubelet.service"
DROP_IN = "/etc/systemd/system/kubelet.service.d/20-nodecraft-kubeadm.conf"
CONFIG_DIR = "/etc/kubernetes/kubelet.conf.d"
_DEFAULT_ROOT = "/var/lib/kubelet"
# The kubelet merges in alphabetic order, and the last one wins.
FRAGMENT = "zz-nodecraft-kubeadm.conf"
# kubeadm's variable for the arguments with the paths of the configuration.
HOOK = "KUBELET_CONFIG_ARGS"
# They are unset until kubeadm or the administrator writes them into a file, which then wins over every drop-in.
_FILE_VARIABLES = ("KUBELET_KUBEADM_ARGS", "KUBELET_EXTRA_ARGS")


@dataclasses.dataclass(frozen=True)
class Layout:
    """A kubelet as its files make it."""

    service: Service
    settings: Settings

    @property
    def command(self) -> list[str]:
        """Its command line."""
        return self.service.command


def config_file(arguments: t.Sequence[str]) -> str | None:
    """The configuration file that a command line names."""
    return flags.last_value(arguments, "config")


def root_dir(arguments: t.Sequence[str]) -> str:
    """The directory in which a kubelet with this command line keeps its state."""
    return flags.last_value(arguments, "root-dir") or _DEFAULT_ROOT


def config_dir(arguments: t.Sequence[str]) -> str | None:
    """The directory of fragments that a command line names."""
    return flags.last_value(arguments, "config-dir")


def make_layout(
    service: Service, main: TextFile | None, fragments: t.Sequence[TextFile], *, reads_fragments: bool = False
) -> Layout:
    """Work out what its service and these files make of a kubelet. reads_fragments: although the command line does not say so."""
    files = [main] if main else []
    if reads_fragments or config_dir(service.command):
        files += sorted(fragments, key=lambda file: kubelet_config.merge_order(file.path))
    return Layout(service, Settings(service.arguments, tuple(kubelet_config.parse_document(file) for file in files)))


def free_variable(service: Service) -> str | None:
    """The variable by which a unit takes arguments of ours, None when there is none: one that ExecStart splits into words,
    and that our drop-in can set. kubeadm's own before all, then one that nothing sets, because of the others our drop-in
    repeats the value of the unit; the later on the command line the better, because the last flag wins."""
    words = [word[1:] for word in service.words if word.startswith("$") and word[1:].isidentifier()]
    free = [
        name
        for name in words
        if words.count(name) == 1 and name not in service.unset and _is_settable(service.variables.get(name))
    ]
    if HOOK in free:
        return HOOK
    free = [name for name in free if name not in _FILE_VARIABLES]
    unset = [name for name in free if name not in service.variables]
    return next(reversed(unset or free), None)


def _is_settable(variable: Variable | None) -> bool:
    if variable is None:
        return True
    is_later = variable.source.path.endswith(".conf") and posixpath.basename(variable.source.path) > posixpath.basename(
        DROP_IN
    )
    return not variable.from_file and not is_later
