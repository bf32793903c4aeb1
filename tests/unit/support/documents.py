# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of a module's result; read as text, because the node's side is tested without Ansible too."""

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
def return_documentation(module: str) -> Json:
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
    keys = return_documentation(module)
    for name in path:
        keys = keys[name]["contains"]
    return set(keys)


def schema_errors(module: str, result: Json, *, added_later: t.Collection[str] = ()) -> list[str]:
    """Where a result differs from C(RETURN) of its module: keys that one has and the other has not, other types, undocumented nulls.

    added_later: documented keys that others add, such as the runner, where only the steps were gone through.
    """
    keys = {key: value for key, value in return_documentation(module).items() if key not in added_later}
    compared = {key: value for key, value in result.items() if key in keys or key not in ANSIBLE_KEYS}
    needed = ("always",) if result.get("failed") else ("always", "success")
    return list(_schema_errors(module, keys, compared, needed))


def _schema_errors(place: str, keys: Json, found: Json, needed: t.Container[str]) -> t.Iterator[str]:
    """needed: when keys are returned that have to be there; those in others are, unless they have a condition."""
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
                yield from _schema_errors(name, entry["contains"], element, needed)


def _elements(entry: Json, value: t.Any) -> list[Json]:
    """What has the keys that an entry contains: a dictionary itself, or each of its values where it is one by name."""
    if entry["type"] == "list":
        return list(value)
    return [value] if set(value) & set(entry["contains"]) else list(value.values())


def _text(entry: Json) -> str:
    described = entry["description"]
    return described if isinstance(described, str) else " ".join(described)
