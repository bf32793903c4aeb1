# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML read key by key: every problem is kept with its line, and a key that nobody asks for is one.

Scalars are taken as they are written: ``vendor: 0403`` is the text 0403 and no octal number.
"""

from __future__ import annotations

import math
import typing as t

import yaml

T = t.TypeVar("T")

TRUE = frozenset({"true", "yes", "on"})
FALSE = frozenset({"false", "no", "off"})


class Problems(list[str]):
    """What is wrong with a text, one line each."""

    def at(self, node: yaml.Node, where: str, message: str) -> None:
        """Add a problem at a place of the text."""
        self.append(f"line {node.start_mark.line + 1}: {where}: {message}")


def parse(text: str, problems: Problems) -> Mapping | None:
    """The mapping that a text is; None, with the reason among the problems, when it is none."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problems.append(f"{line}no YAML: {getattr(error, 'problem', None) or error}")
        return None
    if not isinstance(root, yaml.MappingNode):
        problems.append("line 1: the text has to be a mapping with the keys version and resources")
        return None
    return Mapping(root, "", problems)


class Mapping:
    """One mapping of the text. Whoever has read all keys calls ``end``."""

    def __init__(self, node: yaml.MappingNode, where: str, problems: Problems) -> None:
        self.node = node
        self.where = where
        self.problems = problems
        self.asked: list[str] = []
        self.members: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value)
            if name in self.members:
                problems.at(key, self.place(name), "is given twice")
            self.members[name] = value

    def place(self, key: str) -> str:
        """How a key is called in a problem: ``resources[0].name``."""
        return f"{self.where}.{key}" if self.where else key

    def complain(self, key: str, message: str) -> None:
        """Add a problem with one key, or with the mapping when the key is not there."""
        self.problems.at(self.members.get(key, self.node), self.place(key), message)

    def end(self) -> None:
        """Complain about every key that nobody asked for."""
        for key in self.members:
            if key not in self.asked:
                self.complain(key, f"is unknown; allowed here: {', '.join(sorted(set(self.asked)))}")

    def has(self, key: str) -> bool:
        """Whether a key is given, and not as null."""
        self.asked.append(key)
        node = self.members.get(key)
        return node is not None and node.tag != "tag:yaml.org,2002:null"

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default the key has to be there."""
        if not self.has(key):
            return self._missing(key, default, "")
        node = self.members[key]
        if not isinstance(node, yaml.ScalarNode) or not (node.value or default == ""):
            self.complain(key, "has to be a text")
            return default or ""
        return str(node.value)

    def choice(self, key: str, allowed: t.Sequence[str], default: str) -> str:
        """One of a few words."""
        value = self.text(key, default)
        if value not in allowed:
            self.complain(key, f"is {value!r}; allowed: {', '.join(allowed)}")
            return default
        return value

    def number(self, key: str, default: float, minimum: float = 0.0) -> float:
        """A number, not below a minimum."""
        return self._numeric(key, default, minimum, float, "a number")

    def integer(self, key: str, default: int | None, minimum: int = 1, maximum: int = 10_000) -> int:
        """A whole number between two others; without a default the key has to be there."""
        value = self._numeric(key, default, minimum, int, "a whole number")
        if value > maximum:
            self.complain(key, f"is {value}; at most {maximum} is allowed")
            return maximum
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.text(key, "true" if default else "false").lower()
        if value not in TRUE | FALSE:
            self.complain(key, f"is {value!r}; allowed: true, false")
        return value in TRUE

    def texts(self, key: str, default: t.Sequence[str] | None = ()) -> tuple[str, ...]:
        """A list of texts; without a default it has to be there and hold something."""
        if not self.has(key):
            return tuple(self._missing(key, default, ()))
        node = self.members[key]
        values = node.value if isinstance(node, yaml.SequenceNode) else None
        if (
            values is None
            or not (values or default == ())
            or not all(isinstance(item, yaml.ScalarNode) and item.value for item in values)
        ):
            self.complain(key, "has to be a list of texts")
            return ()
        return tuple(str(item.value) for item in values)

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        """A mapping of texts to texts, in its order."""
        section = self.mapping(key)
        if section is None:
            return ()
        for name, node in section.members.items():
            if not isinstance(node, yaml.ScalarNode):
                section.complain(name, "has to be a text")
        return tuple((name, str(node.value)) for name, node in section.members.items())

    def mapping(self, key: str) -> Mapping | None:
        """A mapping below this one; None when it is not given or is none."""
        if not self.has(key):
            return None
        node = self.members[key]
        if isinstance(node, yaml.MappingNode):
            return Mapping(node, self.place(key), self.problems)
        self.complain(key, "has to be a mapping")
        return None

    def mappings(self, key: str) -> list[Mapping]:
        """A list of mappings below this one."""
        if not self.has(key):
            return []
        node = self.members[key]
        if not isinstance(node, yaml.SequenceNode):
            self.complain(key, "has to be a list")
            return []
        found = []
        for index, item in enumerate(node.value):
            place = f"{self.place(key)}[{index}]"
            if isinstance(item, yaml.MappingNode):
                found.append(Mapping(item, place, self.problems))
            else:
                self.problems.at(item, place, "has to be a mapping")
        return found

    def _missing(self, key: str, default: T | None, instead: T) -> T:
        if default is not None:
            return default
        self.complain(key, "is required")
        return instead

    def _numeric(self, key: str, default: T | None, minimum: t.Any, kind: t.Callable[[str], T], called: str) -> T:
        if not self.has(key):
            return self._missing(key, default, kind(str(minimum)))
        text = self.text(key, str(minimum))
        try:
            value: t.Any = kind(text)
        except ValueError:
            value = None
        if value is None or not math.isfinite(value) or value < minimum:
            self.complain(key, f"is {text!r}; it has to be {called}, {minimum} or more")
            return default if default is not None else kind(str(minimum))
        return t.cast("T", value)
