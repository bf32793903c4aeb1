# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data written as YAML in a random style: the texts that people and tools leave behind on nodes."""

from __future__ import annotations

import copy
import itertools
import json
import typing as t
from random import Random

import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.yaml_edit import Operation, Path
from hypothesis import strategies as st

NAMES = ["name", "value", "mountPath", "x/y", "creationTimestamp", "no", "a b", "12", "ключ", "env", "args", "-dash"]
KEYS = st.sampled_from(NAMES)
WORDS = st.sampled_from(
    [
        "--v=2",
        "--feature-gates=A=true,B=false",
        "--audit-policy-file=/etc/kubernetes/audit.yaml",
        "it's",
        'say "x"',
        "a: b",
        "x # y",
        "true",
        "null",
        "~",
        "10",
        "0x1f",
        "1.5",
        "no",
        "y",
        "",
        " edge ",
        "[x]",
        "{x}",
        "*star",
        "&and",
        "!bang",
        "%percent",
        "@at",
        "-",
        "--- x",
        "x,y",
        "back\\slash",
        "\U0001f600 é",
        "2001-01-01",
        "1:30",
        "<<",
        "=",
        "x" * 200,
    ]
)
SINGLE = st.one_of(
    WORDS,
    st.text(alphabet=st.characters(max_codepoint=0x2FF, exclude_categories=["Cc"]), max_size=12),
)
LINES = st.lists(st.sampled_from(["text", "  deeper", "# no comment", "- x", "a: b"]), min_size=1, max_size=3).map(
    lambda lines: "text\n" + "\n".join(lines) + "\n"
)
SCALARS = st.one_of(SINGLE, SINGLE, st.none(), st.booleans(), st.integers(-5, 70000), LINES)
NEW_VALUES = st.one_of(SINGLE, st.booleans(), st.integers(0, 70000))


def trees(depth: int = 3) -> st.SearchStrategy[t.Any]:
    """Mappings, lists and scalars inside each other."""
    if depth == 0:
        return SCALARS
    inner = trees(depth - 1)
    return st.one_of(
        SCALARS,
        st.dictionaries(KEYS, inner, max_size=4),
        st.lists(inner, max_size=4),
    )


DOCUMENTS = st.dictionaries(KEYS, trees(), min_size=1, max_size=5)


class Text(t.NamedTuple):
    """A YAML text, and what stands in it."""

    text: str
    data: t.Any


class _Writer:
    """Writes one document; every choice of style comes from C(random)."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.comments = itertools.count()

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def mapping(self, data: dict[str, t.Any], indent: int, first: str | None = None) -> None:
        """first: what the first line begins with, when the mapping stands behind a dash."""
        for number, (key, value) in enumerate(data.items()):
            lead = " " * indent
            if number == 0 and first is not None:
                lead = first
            else:
                self.between(indent)
            self.entry(f"{lead}{self.scalar(key, block=False)}:", value, indent)

    def sequence(self, data: list[t.Any], indent: int, first: str | None = None) -> None:
        spaces = self.random.choice([1, 1, 1, 2, 3])
        for number, value in enumerate(data):
            lead = " " * indent
            if number == 0 and first is not None:
                lead = first
            else:
                self.between(indent)
            dash = f"{lead}-{' ' * spaces}"
            inner = indent + 1 + spaces
            if isinstance(value, dict) and value and self.chance(80):
                self.mapping(value, inner, dash)
            elif isinstance(value, list) and value and self.chance(50):
                self.sequence(value, inner, dash)
            else:
                self.entry(f"{lead}-", value, indent, item=True)

    def entry(self, lead: str, value: t.Any, indent: int, *, item: bool = False) -> None:
        """What stands behind a key's colon, or behind a dash."""
        is_block = bool(value) and isinstance(value, (dict, list)) and self.chance(85)
        if is_block:
            self.lines.append(lead + self.comment())
            if isinstance(value, dict):
                self.mapping(value, indent + self.random.choice([1, 2, 2, 4]))
            else:
                least = 1 if item else 0
                self.sequence(value, indent + self.random.choice([least, 2, 4]))
        elif isinstance(value, str) and value.endswith("\n"):
            self.lines.append(f"{lead} |{self.comment()}")
            self.lines += [" " * (indent + 2) + line for line in value.splitlines()]
        elif isinstance(value, (dict, list)):
            self.lines.append(f"{lead} {self.flow(value)}{self.comment()}")
        else:
            text = self.scalar(value, block=True)
            self.lines.append(f"{lead} {text}".rstrip(" ") + self.comment())

    def between(self, indent: int) -> None:
        """Blank lines and comments on lines of their own, never deeper than what follows."""
        if self.chance(5):
            self.lines.append("")
        if self.chance(10):
            self.lines.append(" " * self.random.choice([0, indent]) + f"# comment {next(self.comments)}.")

    def comment(self) -> str:
        return f"  # comment {next(self.comments)}." if self.chance(10) else ""

    def flow(self, value: t.Any) -> str:
        gap = self.random.choice(["", " "])
        comma = self.random.choice([", ", ", ", ",  ", " , "])
        if isinstance(value, dict):
            entries = [f"{self.scalar(key, block=False)}: {self.flow(item)}" for key, item in value.items()]
            return "{" + gap + comma.join(entries) + gap + "}"
        if isinstance(value, list):
            return "[" + gap + comma.join(self.flow(item) for item in value) + gap + "]"
        return self.scalar(value, block=False)

    def scalar(self, value: t.Any, *, block: bool) -> str:
        if value is None:
            return str(self.random.choice(["null", "~", "Null", ""] if block else ["null", "~"]))
        if not isinstance(value, str):
            return json.dumps(value)
        # JSON writes a wide character as two escapes, which YAML reads as two characters.
        choices = [json.dumps(value, ensure_ascii=all(ord(character) < 0x10000 for character in value))]
        choices.append(json.dumps(value, ensure_ascii=False))
        if "\n" not in value:
            choices.append("'" + value.replace("'", "''") + "'")
            if _is_plain(value):
                choices += [value] * 6
        return str(self.random.choice(choices))


def _is_plain(value: str) -> bool:
    try:
        return value == value.strip() and bool(yaml.safe_load(f"{{? {value} : [{value}]}}") == {value: [value]})
    except yaml.YAMLError:
        return False


def write(data: t.Any, random: Random) -> str:
    """Data in a random style."""
    writer = _Writer(random)
    writer.mapping(data, 0)
    newline = random.choice(["\n", "\n", "\r\n"])
    text = newline.join(writer.lines) + newline
    if random.randrange(10) == 0:
        text = f"---{newline}{text}"
    if random.randrange(10) == 0:
        text = f"\ufeff{text}"
    if random.randrange(5) == 0 and yaml.safe_load(text.rstrip("\r\n")) == data:
        text = text.rstrip("\r\n")
    assert yaml.safe_load(text) == data, f"not what was to be written: {text!r}"
    return text


def texts(documents: st.SearchStrategy[t.Any] = DOCUMENTS) -> st.SearchStrategy[Text]:
    """Data in a random style. The style hangs on one number: if each choice were drawn, it would take minutes."""
    styles = st.randoms(use_true_random=True)
    return st.builds(lambda data, random: Text(write(data, random), data), documents, styles)


# ---- operations ------------------------------------------------------------------------------------------------------


def paths(data: t.Any, above: Path = ()) -> t.Iterator[tuple[Path, t.Any]]:
    """Every place in the data with what stands there, the root first."""
    yield above, data
    if isinstance(data, dict):
        for key, value in data.items():
            yield from paths(value, above + (key,))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from paths(value, above + (index,))


def operations(data: t.Any, kinds: t.Collection[str] = ("add", "replace", "remove")) -> st.SearchStrategy[Operation]:
    """Any edit that makes sense for the data."""
    choices: list[st.SearchStrategy[Operation]] = []
    for path, value in paths(data):
        if path and "remove" in kinds:
            choices.append(st.just(Operation("remove", path)))
        if path and "replace" in kinds:
            choices.append(st.builds(Operation, st.just("replace"), st.just(path), NEW_VALUES))
        if isinstance(value, dict) and "add" in kinds:
            choices.append(_add([path + (key,) for key in NAMES if key not in value]))
        if isinstance(value, list) and "add" in kinds:
            choices.append(_add([path + (index,) for index in range(len(value) + 1)]))
    return st.one_of(choices)


def _add(places: list[Path]) -> st.SearchStrategy[Operation]:
    values = st.one_of(
        NEW_VALUES,
        st.dictionaries(KEYS, NEW_VALUES, min_size=1, max_size=3),
        st.lists(NEW_VALUES, min_size=1, max_size=3),
        st.just([{"name": "A", "value": "1"}]),
    )
    return st.builds(Operation, st.just("add"), st.sampled_from(places), values)


def after(data: t.Any, operation: Operation) -> t.Any:
    """The data with one operation done: by the test's own understanding of it."""
    result = copy.deepcopy(data)
    parent = result
    for step in operation.path[:-1]:
        parent = parent[step]
    step = operation.path[-1]
    if operation.op == "remove":
        parent.pop(step)
    elif operation.op == "add" and isinstance(parent, list):
        parent.insert(t.cast(int, step), operation.value)
    else:
        parent[step] = operation.value
    return result
