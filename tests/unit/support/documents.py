# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation of a module says of its result; read as text, because the node's side is tested without Ansible too."""

from __future__ import annotations

import ast
import functools
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import state

MODULES = Path(state.__file__).parents[3] / "modules"
# What Ansible has in every result, whatever the module.
ANSIBLE_KEYS = {"changed", "failed", "msg", "warnings", "deprecations", "invocation", "exception"}
TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "dict": (dict,),
    "float": (float, int),
    "int": (int,),
    "list": (list, tuple),
    "raw": (object,),
    "str": (str,),
}

Json = dict[str, t.Any]


@functools.cache
def returned(module: str) -> Json:
    """C(RETURN) of a module."""
    tree = ast.parse((MODULES / f"{module}.py").read_text(encoding="utf-8"))
    texts = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "RETURN"
    )
    keys: Json = yaml.safe_load(next(texts))
    return keys


def documented(module: str, *path: str) -> set[str]:
    """The keys of a module's result, or of what its keys at this path contain."""
    keys = returned(module)
    for name in path:
        keys = keys[name]["contains"]
    return set(keys)


def breaches(module: str, result: Json, *, of_runner: t.Collection[str] = ()) -> list[str]:
    """In what a result is not as C(RETURN) of its module says: keys that one has and the other has not, other types, null without a word.

    of_runner: documented keys that others add, such as the runner, where only the steps were gone through.
    """
    keys = {key: value for key, value in returned(module).items() if key not in of_runner}
    shown = {key: value for key, value in result.items() if key in keys or key not in ANSIBLE_KEYS}
    needed = ("always",) if result.get("failed") else ("always", "success")
    return list(_breaches(module, keys, shown, needed))


def _breaches(place: str, keys: Json, found: Json, needed: t.Container[str]) -> t.Iterator[str]:
    """needed: when keys are returned that have to be there; those in others are, unless they say when."""
    yield from (f"{place}: {key} is not documented" for key in found if key not in keys)
    may_be_null = any("keys are V(null)" in _text(entry) for entry in keys.values())
    for key, entry in keys.items():
        name = f"{place}: {key}"
        if key not in found:
            if entry.get("returned", "always") in needed:
                yield f"{name} is missing"
        elif found[key] is None:
            if not may_be_null and "V(null)" not in _text(entry):
                yield f"{name} is null, of which nothing is said"
        elif not isinstance(found[key], TYPES[entry["type"]]):
            yield f"{name} is {found[key]!r}, not of type {entry['type']}"
        elif "contains" in entry:
            for element in _elements(entry, found[key]):
                yield from _breaches(name, entry["contains"], element, needed)


def _elements(entry: Json, value: t.Any) -> list[Json]:
    """What has the keys that an entry contains: a dictionary itself, or each of its values where it is one by name."""
    if entry["type"] == "list":
        return list(value)
    return [value] if set(value) & set(entry["contains"]) else list(value.values())


def _text(entry: Json) -> str:
    described = entry["description"]
    return described if isinstance(described, str) else " ".join(described)
