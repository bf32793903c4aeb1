# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The desired state of a kubelet: the options of a task, checked and in canonical form."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common import ownership
from ..common.errors import Refusal
from ..common.ownership import Values
from ..kubernetes import flags, option_values
from ..kubernetes import names as node_names
from . import config as kubelet_config
from .config import ARGS, CONFIG, GATES, TAINTS

SETTINGS = (GATES, CONFIG, ARGS, TAINTS)
_OWN_OPTION = {flags.FEATURE_GATES: GATES, kubelet_config.REGISTER_WITH_TAINTS: TAINTS}
# What a rehearsal, the proof or this module itself stands on.
_FIXED_FLAGS = frozenset(
    (
        "bootstrap-kubeconfig",
        "cert-dir",
        "config",
        "config-dir",
        "container-runtime-endpoint",
        "hostname-override",
        "kubeconfig",
        "manifest-url",
        "pod-manifest-path",
        "root-dir",
    )
)
# The same as fields: another one ends every pod, or on a control plane the control plane.
_FIXED_FIELDS = ("containerRuntimeEndpoint", "staticPodPath", "staticPodURL")


@dataclasses.dataclass(frozen=True)
class Desired:
    """The options of a task, checked and in canonical form: field -> key -> value, None to remove.

    complete: the fields of which everything else that we own goes back.
    """

    values: Values
    state: str
    complete: frozenset[str]
    adopt: bool
    force: bool

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The named settings."""
        return [(field, key) for field, keys in self.values.items() for key in keys]


def parse_desired(params: t.Mapping[str, t.Any]) -> Desired:
    """Turn module parameters into a desired state. Raises Refusal for values that no kubelet could take."""
    values: Values = {
        GATES: {gate: option_values.parse_gate(gate, value) for gate, value in (params[GATES] or {}).items()},
        CONFIG: _parse_config(params[CONFIG] or {}),
        ARGS: {flags.normalise(name): _parse_argument(name, value) for name, value in (params[ARGS] or {}).items()},
        TAINTS: {kubelet_config.taint_key(taint): _parse_taint(taint) for taint in params[TAINTS] or []},
    }
    option_values.refuse_duplicates(ARGS, [flags.normalise(name) for name in params[ARGS] or {}])
    option_values.refuse_duplicates(TAINTS, [kubelet_config.taint_key(taint) for taint in params[TAINTS] or []])
    options = {option: params[option] for option in SETTINGS}
    complete = ownership.complete_fields(options, params["state"], purge=params["purge"])
    return Desired(values, params["state"], complete, params["adopt"], params["force"])


def _parse_argument(name: str, value: t.Any) -> list[str] | None:
    if flags.normalise(name) in _FIXED_FLAGS:
        raise Refusal(
            f"args: --{name} decides what this node is and where its kubelet keeps its data; it is not changed here."
        )
    return option_values.parse_argument(name, value, _OWN_OPTION)


def _parse_config(config: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    for name, option in (("featureGates", GATES), ("registerWithTaints", TAINTS)):
        if name in config:
            raise Refusal(f"config: {name} is merged entry by entry; use the option {option} instead.")
    for name in _FIXED_FIELDS:
        if name in config:
            raise Refusal(f"config: {name} decides which pods this node runs and with what; it is not changed here.")
    for name in ("apiVersion", "kind"):
        if name in config:
            raise Refusal(f"config: invalid field {name}: must be a setting of KubeletConfiguration.")
    leaves = kubelet_config.flatten(config)
    for path, value in leaves.items():
        if isinstance(value, str):
            option_values.require_text(CONFIG, kubelet_config.key_of(path), value)
    return {kubelet_config.key_of(path): value for path, value in leaves.items()}


def _parse_taint(taint: t.Mapping[str, t.Any]) -> str:
    """The value of a taint. It is written as that of a Node, so that both are the same taint."""
    key = node_names.check_taint(taint["key"], TAINTS)
    if taint["effect"] not in node_names.EFFECTS:
        raise Refusal(
            f"{TAINTS}: invalid effect {taint['effect']!r} of {key}: must be one of {', '.join(node_names.EFFECTS)}."
        )
    value = taint.get("value")
    return "" if value is None else node_names.text_value(TAINTS, key, value)
