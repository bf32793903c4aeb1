# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What the files of a kubelet make of it, and where the two files that are ours stand."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.errors import Refusal
from ..common.files import TextFile
from ..documents.systemd_unit import Service, read_service
from ..kubernetes import flags
from . import config as kubelet_config
from .config import Settings

DROP_IN = "/etc/systemd/system/kubelet.service.d/20-nodecraft-kubeadm.conf"
CONFIG_DIR = "/etc/kubernetes/kubelet.conf.d"
# The kubelet merges in alphabetic order, and the last one wins.
FRAGMENT = "zz-nodecraft-kubeadm.conf"
# kubeadm's variable for the arguments that say where the configuration is.
HOOK = "KUBELET_CONFIG_ARGS"


@dataclasses.dataclass(frozen=True)
class Layout:
    """A kubelet as its files make it."""

    service: Service
    settings: Settings

    @property
    def command(self) -> list[str]:
        """Its command line."""
        return self.service.command


def config_dir(arguments: t.Sequence[str]) -> str | None:
    """The folder of fragments that a command line names."""
    return flags.last(arguments, "config-dir")


def layout(
    unit: t.Sequence[TextFile],
    environment: t.Mapping[str, str | None],
    main: TextFile | None,
    fragments: t.Sequence[TextFile],
    *,
    reads_fragments: bool = False,
) -> Layout:
    """Work out what these files make of a kubelet. reads_fragments: although the command line does not say so."""
    service = read_service(unit, environment)
    files = [main] if main else []
    if reads_fragments or config_dir(service.command):
        files += sorted(fragments, key=lambda file: file.path)
    return Layout(service, Settings(service.arguments, tuple(kubelet_config.parse(file) for file in files)))


def refuse_unknown_layout(service: Service) -> None:
    """Refuse a unit that does not take its arguments as kubeadm's packages have it, and say whose it is."""
    hook = service.variables.get(HOOK)
    if f"${HOOK}" in service.words and hook is not None and not hook.from_file:
        return
    where = service.arguments[0].source
    if any(word in ("$KUBELET_API_SERVER", "$KUBE_LOGTOSTDERR", "$KUBELET_HOSTNAME") for word in service.words):
        raise Refusal(
            f"{where} is Kubespray's unit of the kubelet: change its kubelet_* variables and run Kubespray instead."
        )
    why = (
        f"its ExecStart does not take ${HOOK}"
        if f"${HOOK}" not in service.words
        else f"{HOOK} is not set"
        if hook is None
        else f"{HOOK} comes out of {hook.source}, which no drop-in can override"
    )
    raise Refusal(
        f"{where} is not the unit of kubeadm's packages: {why}. Only their layout is changed"
        f" (found: ExecStart={' '.join(service.words)})."
    )
