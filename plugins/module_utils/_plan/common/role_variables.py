# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables that a role does not know or cannot use."""

from __future__ import annotations

import difflib
import typing as t

Specs = t.Mapping[str, t.Mapping[str, t.Any]]

# The variables that say what there shall be. What none of them names is left alone, so none has a default in its role.
SETTINGS = {
    "control_plane": ("control_plane_feature_gates", "control_plane_admission_plugins", "control_plane_components"),
    "node_kubelet": (
        "node_kubelet_feature_gates",
        "node_kubelet_config",
        "node_kubelet_args",
        "node_kubelet_register_with_taints",
    ),
    "node_resources": ("node_resources_extended_resources", "node_resources_labels", "node_resources_taints"),
    # One object each, of which these are what makes it.
    "placement_guard": (
        "placement_guard_nodes",
        "placement_guard_resources",
        "placement_guard_taint_keys",
        "placement_guard_state",
    ),
    "device_plugin": ("device_plugin_config", "device_plugin_image", "device_plugin_state"),
}
# Not a variable of a role at all, but nearly the name of one. At the default of 0.6 108 of the 1,761 names of Kubespray are, at this none.
_NEARLY = 0.9
# Kubespray has 330 names that begin like this.
_OF_OTHERS = ("ansible_", "kube_", "kubeadm_")
_EMPTY = {"dict": "{}", "list": "[]"}
_WORDS = {"dict": "a mapping", "list": "a list"}


def options(specs: Specs) -> dict[str, t.Any]:
    """The variables of a role with their specifications. specs: C(argument_specs) of its C(meta/argument_specs.yml), by entry point."""
    return {name: option for entry in specs.values() for name, option in entry["options"].items()}


def objections(role: str, specs: Specs, names: t.Iterable[str], *, ignored: t.Any = ()) -> list[str]:
    """What is wrong with the names of variables, each with the name that was probably likely.

    names: of all variables of a host. ignored: names that belong to something else, as the user says: a list, or text with commas. What is neither
    names none.
    """
    prefix = f"{role}_"
    listed = ignored if isinstance(ignored, list) else str(ignored).replace(" ", "").split(",")
    known = {name.removeprefix(prefix): name for name in [*options(specs), f"{role}_report"]}
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


def near_misses(names: t.Iterable[str], known: t.Collection[str]) -> dict[str, str]:
    """Names of variables that no role here knows by their beginning, each with the one that was probably likely. known: those of all roles."""
    found = {}
    for name in sorted(names):
        if name in known or name.startswith((*_OF_OTHERS, *(f"{role}_" for role in SETTINGS))):
            continue
        likely = difflib.get_close_matches(name, known, n=1, cutoff=_NEARLY)
        found.update({name: likely[0]} if likely else {})
    return found


def value_objections(name: str, value: t.Any, option: t.Mapping[str, t.Any]) -> list[str]:
    """What is wrong with the value of a variable that Ansible takes: null at any level that has names of its own, and text for a mapping, which it is
    easily on the command line. option: its specification."""
    kind = option.get("type", "str")
    if value is None:
        empty = _EMPTY.get(kind, "a value")
        return [f"invalid {name}: must not be null. Remove it to leave alone what is there, or set it to {empty}."]
    if kind == "dict" and isinstance(value, str):
        whole = "" if "." in name else f", or as JSON around the name too: -e '{{\"{name}\": {{}}}}'"
        return [f"invalid {name}: must be a mapping, not text. Write it in YAML{whole}."]
    is_mapping, inner = isinstance(value, t.Mapping), option.get("options") or {}
    if kind in _WORDS and is_mapping != (kind == "dict") and (is_mapping or kind == "dict"):
        return [f"invalid {name}: must be {_WORDS[kind]}, not {_kind_of(value)}."]
    if kind == "list" and isinstance(value, list) and inner:
        return [each for number, entry in enumerate(value) for each in _entry_objections(name, number, entry, option)]
    return _key_objections(name, value, inner) if is_mapping and inner else []


def _entry_objections(name: str, number: int, entry: t.Any, option: t.Mapping[str, t.Any]) -> list[str]:
    """What is wrong with one entry of a list of mappings."""
    inner = option["options"]
    if isinstance(entry, t.Mapping):
        # Here null is as good as no key, where one may be missing.
        given = {key: value for key, value in entry.items() if value is not None or inner.get(key, {}).get("required")}
        return _key_objections(f"{name}[{number}]", given, inner)
    return [f"invalid {name}[{number}]: must be a mapping with {', '.join(inner)}, not {_kind_of(entry)}."]


def _key_objections(name: str, value: t.Mapping[str, t.Any], inner: t.Mapping[str, t.Any]) -> list[str]:
    """What is wrong with the keys of a mapping, and with their values. inner: the specifications of the keys."""
    found = []
    for key, own in value.items():
        if key in inner:
            found += value_objections(f"{name}.{key}", own, inner[key])
            continue
        likely = difflib.get_close_matches(str(key), inner, n=1)
        hint = f" (did you mean {likely[0]}?)" if likely else ""
        found.append(f"invalid {name}.{key}: must be one of {', '.join(inner)}{hint}.")
    return found


def _kind_of(value: t.Any) -> str:
    """What a value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    return _WORDS["dict"] if isinstance(value, t.Mapping) else _WORDS["list"] if isinstance(value, list) else "text"


def named(hosts: t.Iterable[t.Container[str]], looked_for: t.Iterable[str]) -> list[str]:
    """Which variables are set for any host. hosts: the names of those of each host."""
    known = list(hosts)
    return [name for name in looked_for if any(name in names for names in known)]


def nothing_named(found: t.Collection[str], required: t.Sequence[str]) -> str:
    """Why a run is refused that asks for nothing, and so would change nothing and look like one that did its work. required: one of these variables
    must be set."""
    if any(name in found for name in required):
        return ""
    return (
        f"None of {', '.join(required)} is set for any host of this run. Set one of them to the desired state; an empty value reverts what was set"
        " earlier."
    )


def half_configured(role: str, names: t.Collection[str], specs: Specs) -> str:
    """Why variables of a role are refused none of which says what there shall be; empty when one does, or when there is none."""
    if any(name in names for name in SETTINGS[role]):
        return ""
    others = [
        name for name in options(specs) if name in names and not name.endswith(("_ignored_variables", "_api_host"))
    ]
    if not others:
        return ""
    return f"{', '.join(others)} without any of {', '.join(SETTINGS[role])}, so nothing would be done."
