# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The YAML text of a pod, while entries of its lists and mappings are set and taken away.

YAML in block style has no empty list and no empty mapping: the first entry brings what it stands in, and the last one takes it along.
"""

from __future__ import annotations

import typing as t

from ..documents.yaml_edit import Document, Operation, Path

# What stands outside of the container has its name by these; what is in it by its way from there, such as `resources.requests`.
VOLUMES, ANNOTATIONS = "spec.volumes", "metadata.annotations"
_OUTSIDE: dict[str, Path] = {VOLUMES: ("spec", "volumes"), ANNOTATIONS: ("metadata", "annotations")}


def value_at(pod: t.Any, path: Path) -> t.Any:
    """What stands at a place of a pod; None when there is nothing."""
    data = pod
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None if data is None else data[step]
    return data


def collection_path(name: str, container: Path) -> Path:
    """Where a list or mapping stands, by its name in C(PodYaml.blanks). container: where the component's container does."""
    return _OUTSIDE.get(name) or (*container, *name.split("."))


def _collection_name(path: Path, container: Path) -> str:
    return ".".join(map(str, path[len(container) :] if path[: len(container)] == container else path))


class PodYaml:
    """A pod's text as far as it is edited.

    document: with all edits so far. blanks: as in C(Manifest).
    """

    def __init__(self, document: Document, container: Path, blanks: t.Mapping[str, str]) -> None:
        self.document = document
        self.blanks = blanks
        self._container = container

    def at(self, path: Path) -> t.Any:
        """What stands at a place now; None when there is nothing."""
        return value_at(self.document.data, path)

    def insert(self, path: Path, item: t.Any) -> None:
        """Add an item to a list that has some, so that it gets the index that ends the path."""
        self._apply("add", path, item)

    def replace(self, path: Path, value: t.Any) -> None:
        """Give another value to a scalar."""
        self._apply("replace", path, value)

    def append(self, path: Path, item: t.Any) -> None:
        """Add an item to a list, creating the list when it is missing."""
        existing = self.at(path)
        if existing:
            self.insert((*path, len(existing)), item)
        elif path[-1] in self.at(path[:-1]):
            self._fill(path, 0, item)
        else:
            self.set_key(path[:-1], path[-1], [item])

    def put(self, path: Path, value: t.Any) -> None:
        """Set a value, with the mappings around it that are missing."""
        if self.at(path[:-1]):
            self.set_key(path[:-1], path[-1], value)
        elif path[-2] in (self.at(path[:-2]) or ()):
            self._fill(path[:-1], path[-1], value)
        else:
            self.put(path[:-1], {path[-1]: value})

    def set_key(self, path: Path, key: str | int, value: t.Any) -> None:
        """Set a key of a mapping; None takes it away."""
        current = self.at(path)
        if value is None:
            if key in current:
                self._apply("remove", (*path, key))
        elif key not in current:
            self._apply("add", (*path, key), value)
        elif current[key] != value:
            self.replace((*path, key), value)

    def remove(self, path: Path) -> None:
        """Take an entry away, and every list and mapping around it in which nothing else is.

        What was empty before this collection filled it is written as it was then.
        """
        around = path[:-1]
        blank = self.blanks.get(_collection_name(around, self._container))
        if len(self.at(around)) > 1:
            self._apply("remove", path)
        elif blank is None:
            self.remove(around)
        else:
            self._apply("clear", around, blank)

    def _fill(self, path: Path, step: str | int, value: t.Any) -> None:
        """Give an empty list or mapping, or a key without a value, its first entry."""
        blank = self.document.value_text(path)
        if self.at(path) is None:
            self._apply("fill", path, [value] if isinstance(step, int) else {step: value})
        else:
            self._apply("add", (*path, step), value)
        self.blanks = {**self.blanks, _collection_name(path, self._container): blank}

    def _apply(self, op: str, path: Path, value: t.Any = None) -> None:
        self.document = self.document.apply(Operation(op, path, value))
