# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables that a role does not know or cannot use."""

from __future__ import annotations

import difflib
import typing as t

Specs = t.Mapping[str, t.Mapping[str, t.Any]]

# The variables of the desired state. What none of them names is left alone, so none has a default in its role.
SETTINGS = {
    "control_plane": (
        "control_plane_feature_gates",
        "control_plane_admission_plugins",
        "control_plane_components",
        "control_plane_short_restarts",
    ),
    "node_kubelet": (
        "node_kubelet_feature_gates",
        "node_kubelet_config",
        "node_kubelet_args",
        "node_kubelet_register_with_taints",
    ),
    "node_resources": ("node_resources_extended_resources", "node_resources_labels", "node_resources_taints"),
    # One object each, which is made of these.
    "placement_guard": (
        "placement_guard_nodes",
        "placement_guard_resources",
        "placement_guard_taint_keys",
        "placement_guard_state",
    ),
    "device_plugin": ("device_plugin_config", "device_plugin_image", "device_plugin_state"),
}
# From this similarity on a name counts as misspelled. At the default of 0.6 108 of the 1,761 names of Kubespray are, at this none.
_SIMILARITY = 0.9
# Kubespray has 330 names that begin like this.
_FOREIGN_PREFIXES = ("ansible_", "kube_", "kubeadm_")
_EMPTY_VALUES = {"dict": "{}", "list": "[]"}
_KINDS = {"dict": "a mapping", "list": "a list"}


def options_of(specs: Specs) -> dict[str, t.Any]:
    """The variables of a role with their specifications. specs: C(argument_specs) of its C(meta/argument_specs.yml), by entry point."""
    return {name: option for entry in specs.values() for name, option in entry["options"].items()}


def name_errors(role: str, specs: Specs, names: t.Iterable[str], *, ignored: t.Any = ()) -> list[str]:
    """What is wrong with the names of variables, each with the name that was probably meant.

    names: of all variables of a host. ignored: names that belong to something else, as the user says: a list, or text with commas. What is neither
    names none.
    """
    prefix = f"{role}_"
    listed = ignored if isinstance(ignored, list) else str(ignored).replace(" ", "").split(",")
    known = {name.removeprefix(prefix): name for name in [*options_of(specs), f"{role}_report"]}
    found = []
    for name in sorted(names):
        rest = name.removeprefix(prefix)
        if rest == name or rest in known or name in listed:
            continue
        likely = difflib.get_close_matches(rest, known, n=1)
        hint = f" (did you mean {known[likely[0]]}?)" if likely else ""
        found.append(
            f"The role {role} does not know {name}{hint}; correct it, or list it in {prefix}ignored_variables when it belongs to something else."
        )
    return found


def find_misspelled(names: t.Iterable[str], known: t.Collection[str]) -> dict[str, str]:
    """Names of variables that no role here knows by their beginning, each with the one that was probably meant. known: those of all roles."""
    found = {}
    for name in sorted(names):
        if name in known or name.startswith((*_FOREIGN_PREFIXES, *(f"{role}_" for role in SETTINGS))):
            continue
        likely = difflib.get_close_matches(name, known, n=1, cutoff=_SIMILARITY)
        found.update({name: likely[0]} if likely else {})
    return found


def value_errors(name: str, value: t.Any, option: t.Mapping[str, t.Any]) -> list[str]:
    """What is wrong with the value of a variable that Ansible takes: null at any level that has names of its own, and text for a mapping, which it is
    easily on the command line. option: its specification."""
    kind = option.get("type", "str")
    if value is None:
        empty = _EMPTY_VALUES.get(kind, "a value")
        return [f"invalid {name}: must not be null. Remove it to leave alone what is there, or set it to {empty}."]
    if kind == "dict" and isinstance(value, str):
        whole = "" if "." in name else f", or as JSON around the name too: -e '{{\"{name}\": {{}}}}'"
        return [f"invalid {name}: must be a mapping, not text. Write it in YAML{whole}."]
    is_mapping, inner = isinstance(value, t.Mapping), option.get("options") or {}
    if kind in _KINDS and is_mapping != (kind == "dict") and (is_mapping or kind == "dict"):
        return [f"invalid {name}: must be {_KINDS[kind]}, not {_describe_kind(value)}."]
    if kind == "list" and isinstance(value, list) and inner:
        return [each for number, entry in enumerate(value) for each in _entry_errors(name, number, entry, option)]
    return _key_errors(name, value, inner) if is_mapping and inner else []


def _entry_errors(name: str, number: int, entry: t.Any, option: t.Mapping[str, t.Any]) -> list[str]:
    """What is wrong with one entry of a list of mappings."""
    inner = option["options"]
    if isinstance(entry, t.Mapping):
        # Here null is as good as no key, where one may be missing.
        given = {key: value for key, value in entry.items() if value is not None or inner.get(key, {}).get("required")}
        return _key_errors(f"{name}[{number}]", given, inner)
    return [f"invalid {name}[{number}]: must be a mapping with {', '.join(inner)}, not {_describe_kind(entry)}."]


def _key_errors(name: str, value: t.Mapping[str, t.Any], inner: t.Mapping[str, t.Any]) -> list[str]:
    """What is wrong with the keys of a mapping, and with their values. inner: the specifications of the keys."""
    found = []
    for key, own in value.items():
        if key in inner:
            found += value_errors(f"{name}.{key}", own, inner[key])
            continue
        likely = difflib.get_close_matches(str(key), inner, n=1)
        hint = f" (did you mean {likely[0]}?)" if likely else ""
        found.append(f"invalid {name}.{key}: must be one of {', '.join(inner)}{hint}.")
    return found


def _describe_kind(value: t.Any) -> str:
    """What a value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    return _KINDS["dict"] if isinstance(value, t.Mapping) else _KINDS["list"] if isinstance(value, list) else "text"


def find_set_variables(hosts: t.Iterable[t.Container[str]], candidates: t.Iterable[str]) -> list[str]:
    """Which variables are set for any host. hosts: the names of those of each host."""
    known = list(hosts)
    return [name for name in candidates if any(name in names for names in known)]


def no_settings_error(found: t.Collection[str], required: t.Sequence[str]) -> str:
    """Why a run is refused that names no desired state, and so would change nothing and seem to have succeeded. required: one of these variables
    must be set."""
    if any(name in found for name in required):
        return ""
    return (
        f"None of {', '.join(required)} is set for any host of this run. Set one of them to the desired state; an empty value reverts what was set"
        " earlier."
    )


def unused_options_error(role: str, names: t.Collection[str], specs: Specs) -> str:
    """Why variables of a role are refused none of which has a desired state; empty when one has, or when there is none."""
    if any(name in names for name in SETTINGS[role]):
        return ""
    others = [
        name for name in options_of(specs) if name in names and not name.endswith(("_ignored_variables", "_api_host"))
    ]
    if not others:
        return ""
    return f"{', '.join(others)} without any of {', '.join(SETTINGS[role])}, so nothing would be done."
