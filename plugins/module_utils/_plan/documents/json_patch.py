# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""JSON Patch (RFC 6902) that says what it relies on: before each change stands a C(test) of what was read.

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
    place: tuple[str, ...], present: t.Mapping[str, t.Any] | None, wanted: t.Mapping[str, t.Any]
) -> list[PatchOperation]:
    """The operations that give members of an object other values.

    place: where the object is. present: the object as it was read, None when it is not there.
    wanted: the new values, None to remove a member.
    """
    operations: list[PatchOperation] = []
    if present is None and any(value is not None for value in wanted.values()):
        operations += edit_value(place, None, {})
    for name, value in wanted.items():
        before = (present or {}).get(name)
        if before is None and present is None:
            # The object was just made: there is nothing to test in it.
            operations += edit_value((*place, name), None, value)[1:]
        else:
            operations += edit_value((*place, name), before, value)
    return operations


def edit_value(place: tuple[str, ...], before: t.Any, after: t.Any) -> list[PatchOperation]:
    """The operations that give one place another value; None: it is not there."""
    path = pointer(*place)
    if before == after:
        return []
    test = {"op": "test", "path": path, "value": before}
    if after is None:
        return [test, {"op": "remove", "path": path}]
    return [test, {"op": "add", "path": path, "value": after}]


def changes_of(operations: t.Iterable[PatchOperation]) -> list[PatchOperation]:
    """The operations that change something."""
    return [operation for operation in operations if operation["op"] != "test"]


def apply(document: t.Any, operations: t.Iterable[PatchOperation]) -> t.Any:
    """A copy of a document after the operations that stand here: add, replace and remove of members and items, and test.

    Raises ValueError where one does not fit, as the API server would refuse it.
    """
    found = copy.deepcopy(document)
    for operation in operations:
        *way, name = _names(operation["path"])
        place = found
        for step in way:
            place = _member(place, step, operation)
        _apply_one(place, name, operation)
    return found


def _names(path: str) -> list[str]:
    return [name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:]]


def _member(place: t.Any, name: str, operation: PatchOperation) -> t.Any:
    try:
        return place[int(name) if isinstance(place, list) else name]
    except (LookupError, TypeError, ValueError) as exc:
        raise ValueError(f"{operation['op']} {operation['path']}: there is no {name}") from exc


def _apply_one(place: t.Any, name: str, operation: PatchOperation) -> None:
    kind = operation["op"]
    if kind == "test":
        known = isinstance(place, list) or name in place
        if (_member(place, name, operation) if known else None) != operation["value"]:
            raise ValueError(f"test {operation['path']}: the value differs")
    elif kind == "add" and isinstance(place, list):
        place.insert(len(place) if name == "-" else int(name), copy.deepcopy(operation["value"]))
    elif kind == "add":
        place[name] = copy.deepcopy(operation["value"])
    else:
        _member(place, name, operation)
        key = int(name) if isinstance(place, list) else name
        if kind == "remove":
            del place[key]
        else:
            place[key] = copy.deepcopy(operation["value"])
