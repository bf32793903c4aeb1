# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""JSON Patch (RFC 6902) with preconditions: before each change stands a C(test) of what was read.

A test of null holds for a member that is not there. The API server refuses the whole patch when one test fails, so two
writers cannot overwrite each other.
"""

from __future__ import annotations

import copy
import typing as t

PatchOperation = dict[str, t.Any]


def pointer(*names: str) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


def edit_members(
    path: tuple[str, ...], present: t.Mapping[str, t.Any] | None, desired: t.Mapping[str, t.Any]
) -> list[PatchOperation]:
    """The operations that give members of an object other values.

    path: where the object is. present: the object as it was read, None when it is not there.
    desired: the new values, None to remove a member.
    """
    operations: list[PatchOperation] = []
    if present is None and any(value is not None for value in desired.values()):
        operations += edit_value(path, None, {})
    for name, value in desired.items():
        before = (present or {}).get(name)
        if before is None and present is None:
            # The object was just made: there is nothing to test in it.
            operations += edit_value((*path, name), None, value)[1:]
        else:
            operations += edit_value((*path, name), before, value)
    return operations


def edit_value(path: tuple[str, ...], before: t.Any, after: t.Any) -> list[PatchOperation]:
    """The operations that give one place another value; None: it is not there."""
    target = pointer(*path)
    if before == after:
        return []
    test = {"op": "test", "path": target, "value": before}
    if after is None:
        return [test, {"op": "remove", "path": target}]
    return [test, {"op": "add", "path": target, "value": after}]


def changes_of(operations: t.Iterable[PatchOperation]) -> list[PatchOperation]:
    """The operations that change something."""
    return [operation for operation in operations if operation["op"] != "test"]


def apply(document: t.Any, operations: t.Iterable[PatchOperation]) -> t.Any:
    """A copy of a document after the operations that stand here: add, replace and remove of members and items, and test.

    Raises ValueError where one does not fit, as the API server would refuse it.
    """
    result = copy.deepcopy(document)
    for operation in operations:
        *parents, name = _split_pointer(operation["path"])
        parent = result
        for step in parents:
            parent = _get_member(parent, step, operation)
        _apply_one(parent, name, operation)
    return result


def _split_pointer(path: str) -> list[str]:
    return [name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:]]


def _get_member(parent: t.Any, name: str, operation: PatchOperation) -> t.Any:
    try:
        return parent[int(name) if isinstance(parent, list) else name]
    except (LookupError, TypeError, ValueError) as exc:
        raise ValueError(f"{operation['op']} {operation['path']}: there is no {name}") from exc


def _apply_one(parent: t.Any, name: str, operation: PatchOperation) -> None:
    kind = operation["op"]
    if kind == "test":
        known = isinstance(parent, list) or name in parent
        if (_get_member(parent, name, operation) if known else None) != operation["value"]:
            raise ValueError(f"test {operation['path']}: the value differs")
    elif kind == "add" and isinstance(parent, list):
        parent.insert(len(parent) if name == "-" else int(name), copy.deepcopy(operation["value"]))
    elif kind == "add":
        parent[name] = copy.deepcopy(operation["value"])
    else:
        _get_member(parent, name, operation)
        key = int(name) if isinstance(parent, list) else name
        if kind == "remove":
            del parent[key]
        else:
            parent[key] = copy.deepcopy(operation["value"])
