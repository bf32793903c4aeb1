# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Byte-span edits of a YAML document: change one value, leave every other byte alone.

A dump by any YAML library reformats what its user wrote (comments, quoting, line ends, flow lists). Here the parser is
only used to find *where* a node stands; the edit then cuts and pastes text at that place. Each edit is verified: the
document is parsed again and must equal the parsed original with the same operation applied to it. What cannot be
edited under that proof is refused, with the line.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import re
import typing as t

from ..common.errors import Refusal
from . import configuration

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package

Path = tuple[t.Union[str, int], ...]

# Words that YAML 1.1 readers take for booleans or null. The kubelet's reader (go-yaml) knows `y` and `n`, PyYAML does
# not, so a round trip through PyYAML alone would call a plain `y` safe.
_RESERVED_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ""))
# A dash and a digit or a dot begin a number for some readers, whatever follows. A quantity with a suffix is a text for all of them.
_PLAIN = re.compile(r"(?:[A-Za-z/]|--?[A-Za-z])[^\s]*(?: [^\s]+)*|[0-9]+(?:\.[0-9]+)?(?:[mkMGTP]|[KMGTPE]i)")
_MERGE_TAG = "tag:yaml.org,2002:merge"
# What PyYAML's constructors let through for a value that does not fit its tag, such as `!!int ""`.
_CONSTRUCTION_ERRORS = (ValueError, LookupError, AttributeError, TypeError, OverflowError, RecursionError)
_RARE_LINE_BREAK = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
_ITEM_PREFIX = re.compile(r" *- +")


@dataclasses.dataclass(frozen=True)
class Operation:
    """One edit, in the terms of RFC 6902.

    op: C(add) appends a key to a mapping, or inserts a list item so that it gets the index that ends the path;
    C(replace) gives a scalar a new value; C(remove) takes a key or a list item away. C(fill) gives a key whose mapping or list is empty, or
    that has no value, its content in block style; C(clear) empties it again, and its value is the text that stands behind the colon then.
    path: keys and list indexes from the document's root.
    value: str, bool, int, float, or dicts and lists of them; not used by C(remove).
    """

    op: str
    path: Path
    value: t.Any = None


@dataclasses.dataclass(frozen=True)
class Document:
    """A YAML text with its parsed value. Immutable: C(apply) returns a new document.

    text: the whole text, line ends and byte order mark included.
    data: the parsed value; never change it in place.
    source: the name of the file, for messages.
    root: the parser's nodes, which know where each value stands.
    """

    text: str
    data: t.Any
    source: str
    root: t.Any = dataclasses.field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str, source: str) -> Document:
        """Read one YAML document, refusing what cannot be edited safely.

        Raises Refusal, with the line, for broken YAML, several documents, duplicate keys, anchors, aliases, merges, and
        line breaks that only some readers take for one.
        """
        root = _compose(text, source)
        return cls(text=text, data=_construct(root, text, source), source=source, root=root)

    def line(self, path: Path) -> int:
        """The number of the line where a value begins."""
        return _line(self.text, _Cursor(self.text, self.source, self.root).node(path).start_mark.index)

    def value_text(self, path: Path) -> str:
        """The text of a key's value, from the colon on."""
        cursor = _Cursor(self.text, self.source, self.root)
        return self.text[cursor.colon(path) : _content_end(self.text, cursor.node(path))]

    def apply(self, operation: Operation) -> Document:
        """Return the document after one edit.

        Raises Refusal when the text cannot be edited so that exactly the requested difference results.
        """
        start, end, replacement = _SPANS[operation.op](_Cursor(self.text, self.source, self.root), operation)
        text = self.text[:start] + replacement + self.text[end:]
        expected = _apply_to_data(self.data, operation)
        edited = _read(text, self.source)
        if edited is None or edited.data != expected or configuration.is_json(text) != configuration.is_json(self.text):
            raise Refusal(
                f"{self.source} line {_line(self.text, start)}: {_pointer(operation.path)} cannot be changed in place"
                " without changing other text. Write that list in plain block style, one item a line."
            )
        return edited

    def masked_text(self, replacements: t.Mapping[Path, str]) -> str:
        """The text with replacements for some values: for output, not for writing."""
        cursor = _Cursor(self.text, self.source, self.root)
        nodes = {path: cursor.node(path) for path in replacements}
        text = self.text
        for path in sorted(nodes, key=lambda path: -nodes[path].start_mark.index):
            text = text[: nodes[path].start_mark.index] + replacements[path] + text[_content_end(text, nodes[path]) :]
        return text


# ---- reading -------------------------------------------------------------------------------------------------------


def _read(text: str, source: str) -> Document | None:
    try:
        return Document.parse(text, source)
    except Refusal:
        return None


def _compose(text: str, source: str) -> t.Any:
    _refuse_rare_line_breaks(text, source)
    loader = None
    try:
        loader = configuration.loader_of(text)
        root = configuration.single_node(loader)
    except (yaml.YAMLError, *_CONSTRUCTION_ERRORS) as exc:
        tab = configuration.describe_tab_error(exc)
        why = f"{tab}." if tab else f"this is not a single YAML document: {_one_line(exc)}"
        if configuration.is_multi_document_error(exc):
            why = "another document begins, of which Kubernetes reads nothing. Remove it, and run again."
        raise Refusal(f"{source} line {_line_of(exc, text, default=loader.line + 1 if loader else 1)}: {why}") from exc
    if not configuration.is_json(text):
        _refuse_anchors(text, source)
    _refuse_duplicate_keys(root, source)
    return root


def _construct(root: t.Any, text: str, source: str) -> t.Any:
    if root is None:
        return None
    if configuration.is_json(text):
        return configuration.load(text)
    try:
        return configuration.construct(root)
    except (yaml.YAMLError, *_CONSTRUCTION_ERRORS) as exc:
        line = _broken_node(root).start_mark.line + 1
        raise Refusal(f"{source} line {line}: this value cannot be read: {_one_line(exc)}") from exc


def _broken_node(root: t.Any) -> t.Any:
    """The innermost node that has no value."""
    node, inner = root, root
    while inner is not None:
        node = inner
        inner = next((child for child in _children(node) if not _has_value(child)), None)
    return node


def _children(node: t.Any) -> list[t.Any]:
    if isinstance(node, yaml.ScalarNode):
        return []
    return [child for entry in node.value for child in (entry if isinstance(entry, tuple) else (entry,))]


def _has_value(node: t.Any) -> bool:
    try:
        configuration.construct(node)
    except (yaml.YAMLError, *_CONSTRUCTION_ERRORS):
        return False
    return True


def _refuse_rare_line_breaks(text: str, source: str) -> None:
    found = _RARE_LINE_BREAK.search(text)
    if found:
        raise Refusal(
            f"{source} line {_line(text, found.start())}: the character {found.group()!a} ends a line for some YAML readers only."
            " Write line feeds, alone or behind a carriage return."
        )


def _refuse_anchors(text: str, source: str) -> None:
    if "&" not in text and "*" not in text:
        return
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            raise Refusal(
                f"{source} line {event.start_mark.line + 1}: the YAML anchor or alias {anchor!r} makes one text stand"
                " for several places, so an edit of one place would change others. Write the values out."
            )


def _refuse_duplicate_keys(node: t.Any, source: str) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: dict[tuple[str, str], int] = {}
        for key, value in node.value:
            identity = (key.tag, str(key.value))
            line = key.start_mark.line + 1
            if key.tag == _MERGE_TAG:
                raise Refusal(f"{source} line {line}: a merge (<<) cannot be edited in place. Write the values out.")
            if identity in seen:
                raise Refusal(
                    f"{source} line {line}: the key {key.value!r} occurs twice (first in line {seen[identity]});"
                    " YAML readers disagree on which one counts. Remove one of them."
                )
            seen[identity] = line
            _refuse_duplicate_keys(value, source)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_duplicate_keys(item, source)


# ---- places --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Cursor:
    text: str
    source: str
    root: t.Any

    def node(self, path: Path) -> t.Any:
        node = self.root
        for step in path:
            node = self.entry(node, step)[1]
        return node

    def entry(self, node: t.Any, step: str | int) -> tuple[t.Any, t.Any]:
        """The (key, value) nodes of one step; a list item is its own key."""
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            return node.value[step], node.value[step]
        found = [entry for entry in node.value if entry[0].value == step] if isinstance(node, yaml.MappingNode) else []
        if not found:
            self.refuse(node.start_mark.index, f"{step!r} is not a key that can be edited here.")
        key, value = found[0]
        return key, value

    def position(self, parent: t.Any, step: str | int) -> int:
        """A step that leads into a list."""
        if isinstance(step, str):
            self.refuse(parent.start_mark.index, f"{step!r} is no position in this list.")
        return step

    def colon(self, path: Path) -> int:
        """The place behind the colon of a key."""
        key, value = self.entry(self.node(path[:-1]), path[-1])
        start, end = key.end_mark.index, value.end_mark.index
        place = int(self.text.find(":", start, end + 1))
        if key is value or place < 0:
            self.refuse(start, f"{_pointer(path)} is not a key with a colon, so it cannot be filled in place.")
        return place + 1

    def is_in_flow(self, path: Path) -> bool:
        """Whether a place is inside of brackets or braces."""
        return any(self.node(path[:depth]).flow_style for depth in range(len(path)))

    def flow(self, value: t.Any) -> str:
        """A value between brackets or braces."""
        return json.dumps(value, ensure_ascii=False) if configuration.is_json(self.text) else _flow(value)

    def refuse(self, index: int, why: str) -> t.NoReturn:
        raise Refusal(f"{self.source} line {_line(self.text, index)}: {why}")

    def line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def next_line(self, index: int) -> int:
        """Where the line after the one of `index` begins; the end of the text for the last line."""
        newline = self.text.find("\n", index)
        return len(self.text) if newline < 0 else newline + 1

    def rest(self, index: int) -> str:
        """What stands between `index` and the end of its line."""
        return self.text[index : self.next_line(index)].rstrip("\r\n")

    def newline(self, index: int) -> str:
        """The line end in use around `index`."""
        end = self.next_line(index)
        if self.text[:end].endswith("\r\n"):
            return "\r\n"
        if self.text[:end].endswith("\n"):
            return "\n"
        return "\r\n" if "\r\n" in self.text else "\n"


def _content_end(text: str, node: t.Any) -> int:
    """Where the text of a node ends. A block collection's own end mark stands after trailing blanks and comments."""
    if not isinstance(node, yaml.ScalarNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _content_end(text, last[1] if isinstance(last, tuple) else last)
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return start + len(text[start:end].rstrip())
    return end


_Span = tuple[int, int, str]


def _replace_span(at: _Cursor, operation: Operation) -> _Span:
    node = at.node(operation.path)
    start, end = node.start_mark.index, node.end_mark.index
    is_missing = start == end and isinstance(operation.path[-1], str)  # a key without a value
    if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">") or (start == end and not is_missing):
        at.refuse(
            start,
            f"{_pointer(operation.path)} is not a value on one line, so it cannot be replaced in place. Write it on one line.",
        )
    if configuration.is_json(at.text):
        return start, end, at.flow(operation.value)
    text = _scalar(operation.value, style=node.style, flow=at.is_in_flow(operation.path))
    if is_missing:
        colon = at.colon(operation.path)
        return colon, colon, f" {text}"
    return start, end, text


def _add_span(at: _Cursor, operation: Operation) -> _Span:
    parent = at.node(operation.path[:-1])
    step = operation.path[-1]
    if isinstance(parent, yaml.ScalarNode):
        at.refuse(parent.start_mark.index, f"{_pointer(operation.path[:-1])} is neither a list nor a mapping.")
    if parent.flow_style or not parent.value:
        return _add_to_flow(at, parent, step, operation.value)
    if isinstance(parent, yaml.SequenceNode):
        return _add_item(at, parent, at.position(parent, step), operation.value)
    return _add_key(at, parent, step, operation.value)


def _fill_span(at: _Cursor, operation: Operation) -> _Span:
    """An empty collection is written in braces, whatever its own place looks like. Its first entry need not be."""
    key, node = at.entry(at.node(operation.path[:-1]), operation.path[-1])
    start, end = at.colon(operation.path), _content_end(at.text, node)
    if at.is_in_flow(operation.path):
        return start, end, f" {at.flow(operation.value)}"
    rest = at.rest(end)  # a comment, at most
    lines = _block_entry(operation.path[-1], operation.value, key.start_mark.column)[1:]
    return start, end + len(rest), at.newline(end).join([rest, *lines])


def _clear_span(at: _Cursor, operation: Operation) -> _Span:
    node = at.node(operation.path)
    start, end = at.colon(operation.path), _content_end(at.text, node)
    return start, end, str(operation.value) + ("" if node.flow_style else at.rest(start))


def _add_to_flow(at: _Cursor, parent: t.Any, step: str | int, value: t.Any) -> _Span:
    is_list = isinstance(parent, yaml.SequenceNode)
    text = at.flow(value) if is_list else f"{at.flow(step)}: {at.flow(value)}"
    before = parent.value[: at.position(parent, step)] if is_list else parent.value
    if before:
        last = before[-1] if is_list else before[-1][1]
        place = _content_end(at.text, last)
        return place, place, f", {text}"
    place = at.text.index("[" if is_list else "{", parent.start_mark.index) + 1  # behind a tag
    return place, place, f"{text}, " if parent.value else text


def _add_item(at: _Cursor, parent: t.Any, index: int, value: t.Any) -> _Span:
    neighbour = parent.value[max(index - 1, 0)]
    line = at.line_start(neighbour.start_mark.index)
    prefix = at.text[line : neighbour.start_mark.index]
    if not _ITEM_PREFIX.fullmatch(prefix):
        at.refuse(
            line,
            "a list item is not on a line of its own, so nothing can be inserted beside it. Write its dash, and what follows it, on one line.",
        )
    indent = prefix.index("-")
    lines = _block_item(value, indent, dash=prefix[indent:])
    place = line if index == 0 else at.next_line(_content_end(at.text, neighbour))
    return _whole_lines(at, place, lines)


def _add_key(at: _Cursor, parent: t.Any, key: str | int, value: t.Any) -> _Span:
    last_key, last_value = parent.value[-1]
    indent = parent.value[0][0].start_mark.column
    place = at.next_line(max(_content_end(at.text, last_value), last_key.end_mark.index))
    return _whole_lines(at, place, _block_entry(key, value, indent))


def _whole_lines(at: _Cursor, place: int, lines: t.Sequence[str]) -> _Span:
    newline = at.newline(max(place - 1, 0))
    if place and at.text[place - 1] != "\n":  # the last line of the file has no line end: keep it so
        return place, place, newline + newline.join(lines)
    return place, place, newline.join(lines) + newline


def _remove_span(at: _Cursor, operation: Operation) -> _Span:
    parent = at.node(operation.path[:-1])
    key, value = at.entry(parent, operation.path[-1])
    if parent.flow_style:
        return _remove_from_flow(at, parent, key, value)
    start = at.line_start(key.start_mark.index)
    lead = at.text[start : key.start_mark.index]
    if not (_ITEM_PREFIX.fullmatch(lead) if key is value else lead.strip(" ") == ""):
        at.refuse(
            start,
            f"{_pointer(operation.path)} is not on lines of its own, so it cannot be removed. Write its name, and the dash of a list before it, on one line.",
        )
    end = at.next_line(max(_content_end(at.text, key), _content_end(at.text, value)))
    if end == len(at.text) and not at.text.endswith("\n") and start:
        start -= len(at.newline(start - 1))  # the file keeps ending without a line end
    return start, end, ""


def _remove_from_flow(at: _Cursor, parent: t.Any, key: t.Any, value: t.Any) -> _Span:
    entries = [(item, item) if not isinstance(item, tuple) else item for item in parent.value]
    position = next(number for number, entry in enumerate(entries) if entry[0] is key)
    start, end = key.start_mark.index, _content_end(at.text, value)
    cut_from, cut_to = start, end
    if position + 1 < len(entries):
        cut_to = entries[position + 1][0].start_mark.index
    elif position:
        cut_from = _content_end(at.text, entries[position - 1][1])
    if "#" in at.text[cut_from:start] + at.text[end:cut_to]:
        at.refuse(
            start,
            "a comment is beside an entry that has to be removed, and would be removed with it. Move that comment.",
        )
    return cut_from, cut_to, ""


_SPANS: dict[str, t.Callable[[_Cursor, Operation], _Span]] = {
    "replace": _replace_span,
    "add": _add_span,
    "fill": _fill_span,
    "clear": _clear_span,
    "remove": _remove_span,
}


# ---- rendering -----------------------------------------------------------------------------------------------------


def _scalar(value: t.Any, style: str | None = None, *, flow: bool = False) -> str:
    """One value on one line, in the given quoting where the value allows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    text = str(value)
    if style == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if style is None and _is_plain(text, flow=flow):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _is_plain(text: str, *, flow: bool) -> bool:
    if text.lower() in _RESERVED_WORDS or not _PLAIN.fullmatch(text) or not text.isprintable():
        return False
    try:
        return bool(yaml.safe_load(f"[{text}]" if flow else f"- {text}") == [text])
    except yaml.YAMLError:
        return False


def _flow(value: t.Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key, flow=True)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return _scalar(value, flow=True)


def _block_entry(key: str | int, value: t.Any, indent: int) -> list[str]:
    lead = " " * indent + _scalar(key) + ":"
    if isinstance(value, dict):
        return [lead] + [line for name, item in value.items() for line in _block_entry(name, item, indent + 2)]
    if isinstance(value, list):  # kubeadm's own style: list items stand below their key's first letter
        return [lead] + [line for item in value for line in _block_item(item, indent)]
    return [f"{lead} {_scalar(value)}"]


def _block_item(value: t.Any, indent: int, dash: str = "- ") -> list[str]:
    lead = " " * indent + dash
    if not isinstance(value, dict):
        return [lead + _scalar(value)]
    lines = [line for name, item in value.items() for line in _block_entry(name, item, len(lead))]
    return [lead + lines[0].lstrip(" ")] + lines[1:]


# ---- the same operation on parsed data: what an edit is verified against ---------------------------------------------


def _apply_to_data(data: t.Any, operation: Operation) -> t.Any:
    data = copy.deepcopy(data)
    parent = data
    for step in operation.path[:-1]:
        parent = parent[step]
    last = operation.path[-1]
    if operation.op == "remove":
        del parent[last]
    elif operation.op == "add" and isinstance(parent, list) and isinstance(last, int):
        parent.insert(last, operation.value)
    elif operation.op == "clear":
        parent[last] = yaml.safe_load(operation.value.replace("\t", " "))
    else:
        parent[last] = operation.value
    return data


def _line(text: str, index: int) -> int:
    return text.count("\n", 0, index) + 1


def _pointer(path: Path) -> str:
    return ".".join(str(step) for step in path)


def _line_of(exc: Exception, text: str, default: int) -> int:
    """The line that an error of the parser is about."""
    if isinstance(exc, yaml.reader.ReaderError):
        return _line(text, exc.position)
    mark = getattr(exc, "problem_mark", None)
    return default if mark is None else int(mark.line) + 1


def _one_line(exc: Exception) -> str:
    return getattr(exc, "problem", None) or (str(exc).splitlines() or [type(exc).__name__])[0]
