# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data written as YAML in a random style: the texts that people and tools leave behind on nodes."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import re
import typing as t
from random import Random

import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.yaml_edit import Operation, Path
from hypothesis import strategies as st

NAMES = ["name", "value", "mountPath", "x/y", "creationTimestamp", "no", "a b", "12", "ключ", "env", "args", "-dash"]
KEYS = st.sampled_from(NAMES)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SAMPLES = [
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
    "several words to fold",
    "--x",
]
WORDS = st.sampled_from(SAMPLES)
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


def read(text: str) -> t.Any:
    """What stands in a text, by libyaml: the kubelet's reader is a port of it, and the editor's parser is another."""
    return yaml.load(text, Loader=_LOADER)  # noqa: S506  # a safe one


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
            name = self.scalar(key, block=False)
            if self.chance(2):
                self.lines.append(f"{lead}? {name}{self.comment()}")
                self.entry(f"{' ' * indent}:", value, indent, item=True)
            else:
                self.entry(f"{lead}{name}:", value, indent)

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
        if value and isinstance(value, (dict, list)) and self.chance(5):
            self.lines += self.wrapped_flow(lead, value, indent)
            return
        is_block = bool(value) and isinstance(value, (dict, list)) and self.chance(85)
        if is_block:
            self.lines.append(lead + self.comment())
            if isinstance(value, dict):
                self.mapping(value, indent + self.random.choice([1, 2, 2, 4]))
            else:
                least = 1 if item else 0
                self.sequence(value, indent + self.random.choice([least, 2, 4]))
        elif isinstance(value, str) and value.endswith("\n"):
            self.literal(lead, value, indent)
        elif isinstance(value, str) and _FOLDABLE.fullmatch(value) and self.chance(15):
            self.folded(lead, value, indent)
        elif isinstance(value, (dict, list)):
            self.lines.append(f"{lead} {self.flow(value)}{self.comment()}")
        else:
            text = self.scalar(value, block=True)
            self.lines.append(f"{lead} {text}".rstrip(" ") + self.comment())

    def literal(self, lead: str, value: str, indent: int) -> None:
        """A block scalar that keeps its lines."""
        depth = self.random.choice([1, 2, 2, 4])
        explicit = str(depth) if value.startswith(" ") or self.chance(10) else ""
        body = value[:-1]
        sign = "+" if body.endswith("\n") or self.chance(5) else ""
        self.lines.append(f"{lead} |{explicit}{sign}{self.comment()}")
        self.lines += [" " * (indent + depth) + line if line else "" for line in body.split("\n")]

    def folded(self, lead: str, value: str, indent: int) -> None:
        """A text of several words over several lines, plain, in quotes or folded."""
        quote = self.random.choice(["", "'", '"', ">-"])
        first, *rest = value.split(" ")
        more = [" " * (indent + self.random.choice([2, 3])) + word for word in rest]
        if quote == ">-":
            self.lines += [f"{lead} >-{self.comment()}", *(" " * (indent + 2) + word for word in (first, *rest))]
        else:
            self.lines += [f"{lead} {quote}{first}", *more[:-1], more[-1] + quote + self.comment()]

    def wrapped_flow(self, lead: str, value: t.Any, indent: int) -> list[str]:
        """A list or mapping in brackets, one entry a line."""
        inner = " " * (indent + self.random.choice([1, 2, 4]))
        if isinstance(value, dict):
            entries, brackets = (
                [f"{self.scalar(key, block=False)}: {self.flow(item)}" for key, item in value.items()],
                "{}",
            )
        else:
            entries, brackets = [self.flow(item) for item in value], "[]"
        last = self.random.choice(["", "", ","])
        commas = [","] * (len(entries) - 1) + [last]
        lines = [lead + " " + brackets[0] + self.comment()]
        for entry, comma in zip(entries, commas):
            if self.chance(10):
                lines.append(f"{inner}# comment {next(self.comments)}.")
            lines.append(inner + entry + comma + self.comment())
        return [*lines, " " * (indent + 1) + brackets[1] + self.comment()]

    def between(self, indent: int) -> None:
        """Blank lines and comments on lines of their own, at any depth."""
        if self.chance(5):
            self.lines.append(self.random.choice(["", "", " " * self.random.randrange(8)]))
        if self.chance(10):
            self.lines.append(" " * self.random.choice([0, indent, indent + 2]) + f"# comment {next(self.comments)}.")

    def comment(self) -> str:
        """What may stand behind the last word of a line."""
        if self.chance(3):
            return " " * self.random.randrange(3)
        return f"{self.random.choice([' ', '  '])}# comment {next(self.comments)}." if self.chance(10) else ""

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
            if self.chance(3):
                choices = [f"!!str {choice}" for choice in choices]
            elif _is_plain(value):
                choices += [value] * 6
        return str(self.random.choice(choices))


# What go-yaml reads as a boolean or a number, and PyYAML as a text.
_VALUE_OF_GO = re.compile(r"[yYnN]|[-+]?(?:0o[0-7_]+|\.?[0-9][0-9_.]*(?:[eE][-+]?[0-9]+)?)")
_FOLDABLE = re.compile(r"[a-z]+(?: [a-z]+)+")


@functools.cache
def _is_plain(value: str) -> bool:
    if _VALUE_OF_GO.fullmatch(value):
        return False
    try:
        return value == value.strip() and bool(yaml.safe_load(f"{{? {value} : [{value}]}}") == {value: [value]})
    except yaml.YAMLError:
        return False


def write(data: t.Any, random: Random) -> str:
    """Data in a random style."""
    for dummy in range(20):
        text = _write(data, random)
        # A comment that is indented like a literal before it belongs to the literal: then another try.
        if read(text) == data:
            return text
    raise AssertionError(f"not what was to be written: {text!r}")


def _write(data: t.Any, random: Random) -> str:
    writer = _Writer(random)
    writer.mapping(data, 0)
    newline = random.choice(["\n", "\n", "\r\n"])
    text = newline.join(writer.lines) + newline
    if random.randrange(10) == 0:
        text = f"---{writer.comment()}{newline}{text}"
        if random.randrange(3) == 0:
            text = f"%YAML 1.1{newline}{text}"
    if random.randrange(10) == 0:
        text = f"\ufeff{text}"
    if random.randrange(20) == 0:
        text = f"{text}...{newline}"
    if random.randrange(5) == 0 and read(text.rstrip("\r\n")) == data:
        text = text.rstrip("\r\n")
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


# ---- whole cases from one number -------------------------------------------------------------------------------------

_LITERALS = ["text\n", "text\n\n  deeper\n", "  first\n# no comment\n", "- x\na: b\n", "text\n\n"]


class Case(t.NamedTuple):
    """A text, what stands in it, and an edit of it."""

    text: str
    data: t.Any
    operation: Operation


def cases(kind: str) -> st.SearchStrategy[Case]:
    """Any edit of a kind in any text. size: about how many values the text holds."""
    return st.builds(_case, st.just(kind), st.integers(1, 10), st.randoms(use_true_random=True))


def _case(kind: str, size: int, random: Random) -> Case:
    keys = random.sample(NAMES, random.randrange(1, min(size, 4) + 1))
    data = {key: _tree(random, size // len(keys), 3) for key in keys}
    return Case(write(data, random), data, _operation(kind, data, random))


def _tree(random: Random, size: int, depth: int) -> t.Any:
    shape = random.randrange(5) if size and depth else 4
    if shape >= 4:
        return _scalar(random)
    count = random.randrange(min(size, 4) + 1)
    inner = [_tree(random, size // count - 1, depth - 1) for dummy in range(count)]
    return dict(zip(random.sample(NAMES, count), inner)) if shape < 2 else inner


def _scalar(random: Random) -> t.Any:
    shape = random.randrange(12)
    if shape < 8:
        return _single(random)
    return random.choice([None, True, False, random.randrange(-5, 70000), random.choice(_LITERALS)])


def _single(random: Random) -> str:
    if random.randrange(5):
        return random.choice(SAMPLES)
    alphabet = [(32, 127), (32, 127), (160, 0x300), (0x1F600, 0x1F610)]
    return "".join(chr(random.randrange(*random.choice(alphabet))) for dummy in range(random.randrange(8)))


def _operation(kind: str, data: t.Any, random: Random) -> Operation:
    """Mostly an edit that a manifest could need: a scalar gets another value, the last entry of something stays."""
    places = list(paths(data))
    collections = [place for place in places if isinstance(place[1], (dict, list))]
    if kind == "add":
        path, value = random.choice(collections)
        free = [name for name in NAMES if name not in value]
        steps: list[t.Any] = list(range(len(value) + 1)) if isinstance(value, list) else free
        return Operation(kind, path + (random.choice(steps),), _new_entry(random))
    if kind == "replace":
        usual = [path for path, value in places if not isinstance(value, (dict, list))]
    else:
        siblings = {path: len(value) for path, value in collections}
        usual = [path for path, dummy in places if path and siblings[path[:-1]] > 1]
    path = random.choice(usual if usual and random.randrange(10) else [path for path, dummy in places if path])
    return Operation(kind, path, _new(random) if kind == "replace" else None)


def _new(random: Random) -> t.Any:
    return random.choice([_single(random), _single(random), _single(random), True, random.randrange(70000)])


def _new_entry(random: Random) -> t.Any:
    shape = random.randrange(6)
    if shape < 3:
        return _new(random)
    names = random.sample(NAMES, random.randrange(1, 4))
    if shape == 3:
        return [_new(random) for dummy in names]
    return {name: _new(random) for name in names} if shape == 4 else [{"name": "A", "value": _single(random)}]
