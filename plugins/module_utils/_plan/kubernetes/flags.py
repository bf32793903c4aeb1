# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Command lines of Kubernetes components: flags, feature gates and admission plugins as values.

All of it follows pflag, the flag library of every Kubernetes component: C(--name=value), C(--name value), a bare
C(--name) for a boolean, C(_) for C(-) in names, and the short C(-v4).
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

FEATURE_GATES = "feature-gates"
ENABLE_PLUGINS = "enable-admission-plugins"
DISABLE_PLUGINS = "disable-admission-plugins"

TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
# A dash alone is a file name (standard output), and no component has a flag that begins with a digit: these are values.
_VALUE = re.compile(r"(?!-)|-(?:[0-9.]|$)")
# C(-v) is the only flag of a component that has a short form with a value, which may follow without a sign between.
_SHORT = re.compile(r"-v(?P<value>[0-9]+)")
# Components may be given gates by component name since 1.31. API server flags know the prefix "kube:".
_GATE_PREFIX = "kube:"


@dataclasses.dataclass(frozen=True)
class Flag:
    """One occurrence of a flag in a list of arguments.

    name: without dashes, C(_) turned into C(-).
    value: the text after C(=) or the following item; None for a bare flag, which means "true".
    index: where the flag stands in the list.
    split: True when the value is the item after the flag.
    """

    name: str
    value: str | None
    index: int
    split: bool = False

    @property
    def text(self) -> str:
        """The value as the component reads it."""
        return "true" if self.value is None else self.value


def normalise(name: str) -> str:
    """The one spelling of a flag's name."""
    return name.replace("_", "-")


def parse(arguments: t.Sequence[str]) -> list[Flag]:
    """The flags in a list of arguments, in order. Items that are no flag (the binary's name) are passed over.

    An item after a bare flag that is no flag is taken for its value: Kubernetes components have no positional arguments.
    """
    flags: list[Flag] = []
    skip = False
    for index, item in enumerate(arguments):
        if skip or not item.startswith("-") or not item.strip("-"):
            skip = False
            continue
        short = _SHORT.fullmatch(item)
        if short:
            flags.append(Flag("v", short.group("value"), index))
            continue
        name, equals, value = item.lstrip("-").partition("=")
        following = arguments[index + 1] if index + 1 < len(arguments) else None
        if equals:
            flags.append(Flag(normalise(name), value, index))
        elif following is not None and can_follow(following):
            flags.append(Flag(normalise(name), following, index, split=True))
            skip = True
        else:
            flags.append(Flag(normalise(name), None, index))
    return flags


def can_follow(value: str) -> bool:
    """Whether a value that is the item after its flag is not taken for a flag."""
    return _VALUE.match(value) is not None


def values(flags: t.Iterable[Flag], name: str) -> list[str]:
    """All values that a flag is given, in order; empty when it is not set."""
    return [flag.text for flag in flags if flag.name == name]


def value(flags: t.Iterable[Flag], name: str) -> str | None:
    """The value that counts for a flag that takes one: the last one given; None when it is not set."""
    found = values(flags, name)
    return found[-1] if found else None


def last_value(arguments: t.Sequence[str], name: str, default: str | None = None) -> str | None:
    """C(value) of a flag in a list of arguments."""
    found = value(parse(arguments), name)
    return default if found is None else found


def join_values(texts: t.Iterable[str]) -> str:
    """The value of a flag that is a list or a mapping: each occurrence adds to those before."""
    return ",".join(filter(None, texts))


# ---- edits -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Edit:
    """One edit of a list of arguments. op: C(replace), C(remove), or C(add), so that the text gets this index."""

    op: str
    index: int
    text: str = ""


def plan_edits(arguments: t.Sequence[str], given: t.Iterable[Flag], name: str, desired: t.Sequence[str]) -> list[Edit]:
    """The edits that give a flag exactly these values, in this order: replaced, those that are more added behind, what is too much removed.

    given: the flags among C(arguments). New ones come behind the flag's last occurrence, else behind all arguments. The edits go from the
    back to the front, so that none moves the place of one after it.
    """
    found = [flag for flag in given if flag.name == name]
    behind = found[-1].index + found[-1].split + 1 if found else len(arguments)
    added = [Edit("add", behind + n, f"--{name}={value}") for n, value in enumerate(desired[len(found) :])]
    removed = [
        Edit("remove", index)
        for flag in reversed(found[len(desired) :])
        for index in ((flag.index + 1, flag.index) if flag.split else (flag.index,))
    ]
    changed = [(flag, value) for flag, value in zip(found, desired) if flag.text != value]
    replaced = [edit for flag, value in reversed(changed) for edit in _replacement(flag, arguments[flag.index], value)]
    return [*added, *removed, *replaced]


def _replacement(flag: Flag, written: str, value: str) -> list[Edit]:
    if flag.split and can_follow(value):
        return [Edit("replace", flag.index + 1, value)]
    # A value that looks like a flag needs the equals sign.
    spelling = "-v" if _SHORT.fullmatch(written) else written.partition("=")[0]
    joined = Edit("replace", flag.index, f"{spelling}={value}")
    return [Edit("remove", flag.index + 1), joined] if flag.split else [joined]


# ---- feature gates ---------------------------------------------------------------------------------------------------


def parse_gates(texts: t.Iterable[str]) -> dict[str, str]:
    """Gate -> text of its value, over all occurrences of the flag; the last one wins, as in the component."""
    gates: dict[str, str] = {}
    for text in texts:
        for entry in filter(None, (part.strip() for part in text.split(","))):
            gate, dummy, value = entry.partition("=")
            gates[gate.strip()] = value.strip()
    return gates


def gate_key(gates: t.Mapping[str, str], gate: str) -> str:
    """The spelling under which a gate stands, or would have to stand, among C(gates).

    Prefixed and bare names may not be mixed on one command line, so a new gate follows what is there.
    """
    if gate in gates:
        return gate
    prefixed = _GATE_PREFIX + gate
    if prefixed in gates or any(key.startswith(_GATE_PREFIX) for key in gates):
        return prefixed
    return gate


def gate_values(gates: t.Mapping[str, str]) -> dict[str, t.Any]:
    """Gate -> bool, without prefixes; a text that is no boolean is given as it is."""
    return {_strip_prefix(gate): gate_value(text) for gate, text in gates.items()}


def _strip_prefix(gate: str) -> str:
    return gate[len(_GATE_PREFIX) :] if gate.startswith(_GATE_PREFIX) else gate


def gate_value(text: str) -> bool | str:
    """The boolean that the component reads, by the rules of Go's strconv.ParseBool."""
    return True if text in TRUE else False if text in FALSE else text


def render_gates(gates: t.Mapping[str, str]) -> str:
    """The flag's value."""
    return ",".join(f"{gate}={value}" for gate, value in gates.items())


# ---- admission plugins -----------------------------------------------------------------------------------------------


def parse_plugins(texts: t.Iterable[str]) -> list[str]:
    """The plugins in all occurrences of a plugin flag, in order, each once."""
    names = (name.strip() for text in texts for name in text.split(","))
    return list(dict.fromkeys(filter(None, names)))
