# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads YAML key by key. Each problem is recorded with its line; a key that is not read is an unknown key.

Scalars are read as they are written: ``vendor: 0403`` is the text 0403, not an octal number.
"""

from __future__ import annotations

import math
import typing as t

import yaml

T = t.TypeVar("T")

TRUE = frozenset({"true", "yes", "on"})
FALSE = frozenset({"false", "no", "off"})


class Problems(list[str]):
    """The problems of a text, one line each."""

    def at(self, node: yaml.Node, where: str, message: str) -> None:
        """Add a problem at a position of the text."""
        self.append(f"line {node.start_mark.line + 1}: {where}: {message}")


def parse(text: str, problems: Problems) -> Mapping | None:
    """A text as a mapping; None, with the reason among the problems, when it is not one."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problems.append(f"{line}invalid YAML: {getattr(error, 'problem', None) or error}")
        return None
    if not isinstance(root, yaml.MappingNode):
        problems.append("line 1: invalid configuration: must be a mapping with the keys version and resources")
        return None
    return Mapping(root, "", problems)


class Mapping:
    """One mapping of the text. Call ``end`` after all keys were read."""

    def __init__(self, node: yaml.MappingNode, where: str, problems: Problems) -> None:
        self.node = node
        self.where = where
        self.problems = problems
        self.keys_read: list[str] = []
        self.members: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value)
            if name in self.members:
                problems.at(key, self.place(name), "duplicate key")
            self.members[name] = value

    def place(self, key: str) -> str:
        """The path of a key in a problem: ``resources[0].name``."""
        return f"{self.where}.{key}" if self.where else key

    def add_problem(self, key: str, message: str) -> None:
        """Add a problem with a key, or with the mapping when the key is missing."""
        self.problems.at(self.members.get(key, self.node), self.place(key), message)

    def end(self) -> None:
        """Add a problem for each key that was not read."""
        for key in self.members:
            if key not in self.keys_read:
                self.add_problem(key, f"unknown key: must be one of {', '.join(sorted(set(self.keys_read)))}")

    def has(self, key: str) -> bool:
        """Whether a key is set, and not to null."""
        self.keys_read.append(key)
        node = self.members.get(key)
        return node is not None and node.tag != "tag:yaml.org,2002:null"

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default the key is required."""
        if not self.has(key):
            return self._missing(key, default, "")
        node = self.members[key]
        if not isinstance(node, yaml.ScalarNode) or not (node.value or default == ""):
            self.add_problem(key, "invalid value: must be a string")
            return default or ""
        return str(node.value)

    def choice(self, key: str, allowed: t.Sequence[str], default: str) -> str:
        """One of the allowed words."""
        value = self.text(key, default)
        if value not in allowed:
            self.add_problem(key, f"invalid value {value!r}: must be one of {', '.join(allowed)}")
            return default
        return value

    def number(self, key: str, default: float, minimum: float = 0.0) -> float:
        """A number, not below a minimum."""
        return self._numeric(key, default, minimum, float, "a number")

    def integer(self, key: str, default: int | None, minimum: int = 1, maximum: int = 10_000) -> int:
        """An integer within limits; without a default the key is required."""
        value = self._numeric(key, default, minimum, int, "an integer")
        if value > maximum:
            self.add_problem(key, f"invalid value {value}: must be at most {maximum}")
            return maximum
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.text(key, "true" if default else "false").lower()
        if value not in TRUE | FALSE:
            self.add_problem(key, f"invalid value {value!r}: must be true or false")
        return value in TRUE

    def texts(self, key: str, default: t.Sequence[str] | None = ()) -> tuple[str, ...]:
        """A list of texts; without a default it is required and must not be empty."""
        if not self.has(key):
            return tuple(self._missing(key, default, ()))
        node = self.members[key]
        values = node.value if isinstance(node, yaml.SequenceNode) else None
        if (
            values is None
            or not (values or default == ())
            or not all(isinstance(item, yaml.ScalarNode) and item.value for item in values)
        ):
            self.add_problem(key, "invalid value: must be a list of strings")
            return ()
        return tuple(str(item.value) for item in values)

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        """A mapping of texts to texts, in its order."""
        section = self.mapping(key)
        if section is None:
            return ()
        for name, node in section.members.items():
            if not isinstance(node, yaml.ScalarNode):
                section.add_problem(name, "invalid value: must be a string")
        return tuple((name, str(node.value)) for name, node in section.members.items())

    def mapping(self, key: str) -> Mapping | None:
        """A nested mapping; None when it is not set or invalid."""
        if not self.has(key):
            return None
        node = self.members[key]
        if isinstance(node, yaml.MappingNode):
            return Mapping(node, self.place(key), self.problems)
        self.add_problem(key, "invalid value: must be a mapping")
        return None

    def mappings(self, key: str) -> list[Mapping]:
        """A nested list of mappings."""
        if not self.has(key):
            return []
        node = self.members[key]
        if not isinstance(node, yaml.SequenceNode):
            self.add_problem(key, "invalid value: must be a list")
            return []
        found = []
        for index, item in enumerate(node.value):
            place = f"{self.place(key)}[{index}]"
            if isinstance(item, yaml.MappingNode):
                found.append(Mapping(item, place, self.problems))
            else:
                self.problems.at(item, place, "invalid value: must be a mapping")
        return found

    def _missing(self, key: str, default: T | None, replacement: T) -> T:
        if default is not None:
            return default
        self.add_problem(key, "is required")
        return replacement

    def _numeric(self, key: str, default: T | None, minimum: t.Any, kind: t.Callable[[str], T], kind_name: str) -> T:
        if not self.has(key):
            return self._missing(key, default, kind(str(minimum)))
        text = self.text(key, str(minimum))
        try:
            value: t.Any = kind(text)
        except ValueError:
            value = None
        if value is None or not math.isfinite(value) or value < minimum:
            self.add_problem(key, f"invalid value {text!r}: must be {kind_name}, {minimum} or more")
            return default if default is not None else kind(str(minimum))
        return t.cast("T", value)
