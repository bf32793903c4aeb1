# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The configuration that a running kubelet reports in C(/configz), compared with the desired one.

The kubelet responds with defaults filled in, flags and gates merged, durations spelt its own way (C(240m) comes back as
C(4h0m0s)), most quantities as they were written, and fields that are zero omitted. So values are compared, not texts.
"""

from __future__ import annotations

import dataclasses
import typing as t
from fractions import Fraction

from ..common.errors import Refusal
from ..common.ownership import Change
from ..kubernetes import option_values, quantities
from . import config as kubelet_config
from .config import CONFIG, GATES


@dataclasses.dataclass(frozen=True)
class ConfigDifference:
    """A setting that the running kubelet has otherwise than desired. found: None when it does not report it."""

    field: str
    key: str
    expected: t.Any
    found: t.Any


def differences(desired: t.Any, running: t.Mapping[str, t.Any]) -> list[ConfigDifference]:
    """Where a running kubelet differs from what is desired.

    desired: C(feature_gates) and C(config) as the module C(kubelet) takes them. What is null there is not compared, because
    any default is right then. running: the kubelet's own KubeletConfiguration. Raises Refusal for what is no such desired state.
    """
    gates = {gate: option_values.parse_gate(gate, value) for gate, value in _mapping(desired, GATES).items()}
    now = running.get("featureGates") or {}
    # A gate that is omitted has its default, which may be either.
    found = [
        ConfigDifference(GATES, gate, value, now.get(gate))
        for gate, value in gates.items()
        if value is not now.get(gate)
    ]
    for path, value in kubelet_config.flatten(_mapping(desired, CONFIG)).items():
        running_value = kubelet_config.value_at(running, path)
        if not is_same(value, running_value):
            found.append(ConfigDifference(CONFIG, kubelet_config.key_of(path), value, running_value))
    return [difference for difference in found if difference.expected is not None]


def reverted_values(operations: t.Iterable[Change]) -> tuple[dict[str, dict[str, t.Any]], list[str]]:
    """What is desired of a running kubelet after a change was reverted, as C(differences) takes it; and the keys of gates and fields with which it cannot
    be compared. operations: those of the plan that reverts it."""
    values: dict[str, dict[str, t.Any]] = {GATES: {}, CONFIG: {}}
    rest = []
    for each in operations:
        if each.field in values and _is_comparable(each):
            path = (each.key,) if each.field == GATES else kubelet_config.path_of(each.key)
            values[each.field] = kubelet_config.with_value(values[each.field], path, each.after)
        elif each.field in values:
            rest.append(each.key)
    return values, rest


def _is_comparable(change: Change) -> bool:
    """Whether a restored value can be compared. Nothing, and a zero as in the files of kubeadm, stand for a default of the kubelet. A text in place of
    another type is that of a flag."""
    is_of_flag = isinstance(change.after, str) and not isinstance(change.before, (str, type(None)))
    return isinstance(change.after, bool) or not (is_of_flag or is_same(change.after, None))


def _mapping(desired: t.Any, field: str) -> dict[str, t.Any]:
    value = desired.get(field) or {} if isinstance(desired, dict) and not {*desired} - {GATES, CONFIG} else None
    if not isinstance(value, dict):
        raise Refusal(f"invalid kubelets {desired!r}: must be a mapping with {GATES} and {CONFIG}.")
    return value


def is_same(given: t.Any, found: t.Any) -> bool:
    """Whether two values of a field mean the same. found: None when the field is omitted."""
    if found is None:
        return not given or quantities.parse_duration(given) == 0
    if isinstance(given, list) and isinstance(found, list):
        return len(given) == len(found) and all(map(is_same, given, found))
    if isinstance(given, dict) and isinstance(found, dict):
        return all(
            is_same(given.get(key), found.get(key)) if key in given else not found[key] for key in {*given, *found}
        )
    if isinstance(given, bool) or isinstance(found, bool):
        return given is found
    return (
        given == found
        or _is_same_number(given, found, quantities.parse_duration)
        or _is_same_number(given, found, _quantity)
    )


def _is_same_number(desired: t.Any, found: t.Any, read: t.Callable[[t.Any], Fraction | None]) -> bool:
    value = read(desired)
    return value is not None and value == read(found)


def _quantity(value: t.Any) -> Fraction | None:
    try:
        return quantities.parse(str(value))
    except ValueError:
        return None
