# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The texts of our files, rendered from what we own."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..common.errors import Refusal
from ..common.ownership import Record
from ..documents.systemd_unit import Service, quote_argument, quote_assignment
from ..kubernetes import flags
from . import config as kubelet_config
from . import generator as kubelet_generator
from . import layout as kubelet_layout
from .config import ARGS, CONFIG, GATES, TAINTS
from .layout import Layout

CONFIG_DIR_SINCE = (1, 30)
_HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
_COMMENT = "# Written by the Ansible collection nodecraft.kubeadm, which also removes it. Manual changes are lost.\n"


@dataclasses.dataclass(frozen=True)
class OwnFiles:
    """The texts of our files, None for one that is not needed, and the variable by which the drop-in brings arguments."""

    drop_in: str | None
    fragment: str | None
    generator: str | None
    variable: str

    @classmethod
    def render(cls, record: Record, base: Layout, version: tuple[int, int], *, keeps_directory: bool) -> OwnFiles:
        """Our files for what we own. keeps_directory: others have files in the directory of fragments that are read now."""
        has_directory = version >= CONFIG_DIR_SINCE
        data = _fragment_data(record, base) if has_directory else {}
        arguments = [] if has_directory else _as_flags(record, base)
        for name, entry in sorted(record.get(ARGS, {}).items()):
            arguments += [f"--{name}={value}" for value in entry.set or []]
        makes_directory = (bool(data) or keeps_directory) and kubelet_layout.config_dir(base.command) is None
        if makes_directory:
            arguments.insert(0, f"--config-dir={kubelet_layout.CONFIG_DIR}")
        text = None if not data else _COMMENT + json.dumps({**_HEAD, **data}, indent=2, sort_keys=True) + "\n"
        free = kubelet_layout.free_variable(base.service)
        variable = free or kubelet_generator.VARIABLE
        drop_in = _drop_in(variable, base.service, arguments, makes_directory) if arguments else None
        return cls(drop_in, text, kubelet_generator.TEXT if arguments and free is None else None, variable)


def _fragment_data(record: Record, base: Layout) -> dict[str, t.Any]:
    data: dict[str, t.Any] = {}
    for key, entry in sorted(record.get(CONFIG, {}).items()):
        data = kubelet_config.with_value(data, kubelet_config.path_of(key), entry.set)
    gates = {gate: entry.set for gate, entry in record.get(GATES, {}).items()}
    taints = _taint_list(record, base)
    return {**data, **({"featureGates": gates} if gates else {}), **({"registerWithTaints": taints} if taints else {})}


def _taint_list(record: Record, base: Layout) -> list[dict[str, t.Any]]:
    """Lists are replaced as a whole, so ours holds the taints of others too."""
    ours = record.get(TAINTS, {})
    if not ours:
        return []
    kept = [taint for taint in base.settings.taint_list() if kubelet_config.taint_key(taint) not in ours]
    added = []
    for place, entry in sorted(ours.items()):
        key, dummy, effect = place.rpartition(":")
        added.append({"key": key, "value": entry.set, "effect": effect})
    return kept + added


def _as_flags(record: Record, base: Layout) -> list[str]:
    """The same for a kubelet without a directory of fragments. Raises Refusal for what has no flag."""
    if record.get(CONFIG):
        raise Refusal(
            f"config: kubelets before {'.'.join(map(str, CONFIG_DIR_SINCE))} read no directory of fragments, and"
            " their configuration file is kubeadm's. Use args."
        )
    gates = {gate: str(entry.set).lower() for gate, entry in record.get(GATES, {}).items()}
    taints = _taint_list(record, base)
    return [
        *([f"--{flags.FEATURE_GATES}={flags.render_gates(gates)}"] if gates else []),
        *([f"--{kubelet_config.REGISTER_WITH_TAINTS}={kubelet_config.render_taints(taints)}"] if taints else []),
    ]


def _drop_in(name: str, base: Service, arguments: t.Sequence[str], makes_directory: bool) -> str:
    """base: the service without it, whose own value of that variable it repeats."""
    theirs = [base.variables[name].value.strip()] if name in base.variables else []
    value = " ".join([*theirs, *(quote_argument(argument) for argument in arguments)])
    # Someone may remove all of /etc/kubernetes; without the directory a kubelet does not start.
    directory = f"ExecStartPre=-/bin/mkdir -p {kubelet_layout.CONFIG_DIR}\n" if makes_directory else ""
    return f"{_COMMENT}[Service]\n{directory}Environment={quote_assignment(name, value)}\n"
