# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Byte-span edits, one YAML style after the other, and what is refused."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.yaml_edit import (
    Document,
    Operation,
    Path,
)


def edited(text: str, op: str, path: Path, value: t.Any = None) -> str:
    return Document.parse(text, "file").apply(Operation(op, path, value)).text


LONG = "--tls-cipher-suites=" + ",".join(f"TLS_CIPHER_SUITE_NUMBER_{number}" for number in range(40))

REPLACED = {
    "plain item": ("a:\n- --x=1\n- --y=2\n", ("a", 0), "--x=3", "a:\n- --x=3\n- --y=2\n"),
    "plain value": ("a: b  # why\nc: d\n", ("a",), "x", "a: x  # why\nc: d\n"),
    "single quotes": ("a:\n  - '--x=1'   # one\n", ("a", 0), "--x=it's", "a:\n  - '--x=it''s'   # one\n"),
    "double quotes": ('a:\n    - "--x=1"\n', ("a", 0), '--x="2"', 'a:\n    - "--x=\\"2\\""\n'),
    "single quotes for what they cannot hold": ("a: 'b'\n", ("a",), "x\ty", 'a: "x\\ty"\n'),
    "plain for what has to be quoted": ("a:\n- b\n", ("a", 0), "c: d", 'a:\n- "c: d"\n'),
    "plain for what some readers take for a number": ("a: b\n", ("a",), "-1e3", 'a: "-1e3"\n'),
    "plain for a comment sign": ("a: b\n", ("a",), "x #y", 'a: "x #y"\n'),
    "text that looks like a number": ("a: b\n", ("a",), "10", 'a: "10"\n'),
    "text that looks like a boolean": ("a: b\n", ("a",), "true", 'a: "true"\n'),
    "a boolean of other YAML readers": ("a: b\n", ("a",), "y", 'a: "y"\n'),
    "boolean": ("readOnly: true\nname: x\n", ("readOnly",), False, "readOnly: false\nname: x\n"),
    "number": ("port: 1\n", ("port",), 6443, "port: 6443\n"),
    "flow list": ("a: [x,  '--y=1' ,z]\n", ("a", 1), "--y=2", "a: [x,  '--y=2' ,z]\n"),
    "flow mapping": ("{a: b,  c: [d]}\n", ("a",), "e", "{a: e,  c: [d]}\n"),
    "flow list over several lines": ("a: [\n  x,\n  y,  # last\n]\n", ("a", 1), "z", "a: [\n  x,\n  z,  # last\n]\n"),
    "flow list, with a comma": ("a: [x]\n", ("a", 0), "--y=1,2", 'a: ["--y=1,2"]\n'),
    "block list in a flow list's neighbourhood": ("a: [x]\nb: c\n", ("b",), "--y=1,2", "a: [x]\nb: --y=1,2\n"),
    "CRLF": ("a:\r\n- x\r\n- y\r\n", ("a", 1), "z", "a:\r\n- x\r\n- z\r\n"),
    "byte order mark": ("\ufeffa: x\nb: y\n", ("a",), "z", "\ufeffa: z\nb: y\n"),
    "no final newline": ("a:\n- x\n- y", ("a", 1), "z", "a:\n- x\n- z"),
    "long line": (f"a:\n- {LONG}\n- --y=1\n", ("a", 1), "--y=2", f"a:\n- {LONG}\n- --y=2\n"),
    "long value": (f"a:\n- {LONG}\n- --y=1\n", ("a", 0), "--x", "a:\n- --x\n- --y=1\n"),
    "null beside it": ("creationTimestamp: null\na: b\n", ("a",), "c", "creationTimestamp: null\na: c\n"),
    "null written as nothing beside it": ("x:\na: b\ny: ~\n", ("a",), "c", "x:\na: c\ny: ~\n"),
    "null by its word": ("a: null\n", ("a",), "c", "a: c\n"),
    "null without a word": ("b: c\na:\nd: e\n", ("a",), "x", "b: c\na: x\nd: e\n"),
    "null without a word, at the end": ("b: c\na:", ("a",), "x", "b: c\na: x"),
    "null without a word before a comment": ("a:  # none\nb: c\n", ("a",), "x", "a: x  # none\nb: c\n"),
    "null without a word in braces": ("{a: , b: c}\n", ("a",), "x", "{a: x , b: c}\n"),
    "block scalar beside it": ("a: |\n  text\n\n  more\nb: c\n", ("b",), "d", "a: |\n  text\n\n  more\nb: d\n"),
    "document start": ("---\na: b\n", ("a",), "c", "---\na: c\n"),
    "document end": ("a: b\n...\n", ("a",), "c", "a: c\n...\n"),
    "wide characters before it": ("a: \U0001f600 é\nb: c\n", ("b",), "ü", 'a: \U0001f600 é\nb: "ü"\n'),
}


@pytest.mark.parametrize(("text", "path", "value", "expected"), REPLACED.values(), ids=REPLACED)
def test_replace_changes_the_value_and_nothing_else(text: str, path: Path, value: t.Any, expected: str) -> None:
    assert edited(text, "replace", path, value) == expected


ADDED = {
    "behind the last item": ("a:\n- x\n", ("a", 1), "new", "a:\n- x\n- new\n"),
    "before the first item": ("a:\n- x\n", ("a", 0), "new", "a:\n- new\n- x\n"),
    "between items": ("a:\n- x # one\n- z\n", ("a", 1), "new", "a:\n- x # one\n- new\n- z\n"),
    "indented list": ("a:\n    -   x\nb: c\n", ("a", 1), "new", "a:\n    -   x\n    -   new\nb: c\n"),
    "before a comment of what follows": ("a:\n- x\n# b is\nb: c\n", ("a", 1), "new", "a:\n- x\n- new\n# b is\nb: c\n"),
    "CRLF": ("a:\r\n- x\r\nb: c\r\n", ("a", 1), "new", "a:\r\n- x\r\n- new\r\nb: c\r\n"),
    "no final newline": ("a:\n- x", ("a", 1), "new", "a:\n- x\n- new"),
    "no final newline, CRLF": ("a:\r\n- x", ("a", 1), "new", "a:\r\n- x\r\n- new"),
    "flow list": ("a: [x, new]\n", ("a", 2), "z", "a: [x, new, z]\n"),
    "flow list, first": ("a: [x, new]\n", ("a", 0), "z", "a: [z, x, new]\n"),
    "empty flow list": ("a: []\nb: c\n", ("a", 0), "x", "a: [x]\nb: c\n"),
    "flow list, quoting": ("a: [x]\n", ("a", 1), "--new=1,2", 'a: [x, "--new=1,2"]\n'),
    "flow mapping": ("a: {x: new}\n", ("a", "z"), {"k": ["v"]}, "a: {x: new, z: {k: [v]}}\n"),
    "empty flow mapping": ("status: {}\n", ("status", "a"), "b", "status: {a: b}\n"),
    "flow list with a comma at its end": ("a: [x, new,]\n", ("a", 2), "z", "a: [x, new, z,]\n"),
    "key": ("a:\n  b: c\nd: e\n", ("a", "x"), "new", "a:\n  b: c\n  x: new\nd: e\n"),
    "key behind a null": ("a:\n  b:\nd: e\n", ("a", "x"), "new", "a:\n  b:\n  x: new\nd: e\n"),
    "key behind an empty list": ("a:\n  b: []\nd: e\n", ("a", "x"), "new", "a:\n  b: []\n  x: new\nd: e\n"),
    "key behind a nested block": (
        "a:\n  b:\n  - c: d\n    e: f\ng: h\n",
        ("a", "x"),
        "new",
        "a:\n  b:\n  - c: d\n    e: f\n  x: new\ng: h\n",
    ),
    "key behind a block scalar": (
        "a:\n  b: |\n    text\nc: d\n",
        ("a", "x"),
        "new",
        "a:\n  b: |\n    text\n  x: new\nc: d\n",
    ),
    "key of the document": ("a: b\n", ("c",), "d", "a: b\nc: d\n"),
    "key in a list item": (
        "a:\n- name: x\n- name: z\n",
        ("a", 0, "value"),
        "new",
        "a:\n- name: x\n  value: new\n- name: z\n",
    ),
    "key that holds a list": (
        "c:\n- name: x\n",
        ("c", 0, "env"),
        [{"name": "A", "value": "1"}],
        'c:\n- name: x\n  env:\n  - name: A\n    value: "1"\n',
    ),
    "key that holds a mapping": ("m:\n  n: x\n", ("m", "a"), {"b/c": "d"}, "m:\n  n: x\n  a:\n    b/c: d\n"),
    "item that is a mapping": (
        "v:\n  -  hostPath:\n       path: /x\n",
        ("v", 1),
        {"hostPath": {"path": "/new"}, "name": "new"},
        "v:\n  -  hostPath:\n       path: /x\n  -  hostPath:\n       path: /new\n     name: new\n",
    ),
    "item behind a mapping": ("v:\n- a: b\n  c: d\nw: x\n", ("v", 1), "e", "v:\n- a: b\n  c: d\n- e\nw: x\n"),
    "item behind an item that ends in a comment": (
        "a:\n- x\n  # on x\n- z\n",
        ("a", 1),
        "new",
        "a:\n- x\n- new\n  # on x\n- z\n",
    ),
}


@pytest.mark.parametrize(("text", "path", "value", "expected"), ADDED.values(), ids=ADDED)
def test_add_inserts_in_the_style_of_its_surroundings(text: str, path: Path, value: t.Any, expected: str) -> None:
    assert edited(text, "add", path, value) == expected


REMOVED = {
    "item": ("a:\n- x\n- y\n- z\n", ("a", 1), "a:\n- x\n- z\n"),
    "item with its comment": ("a:\n- x\n- y  # two\n- z\n", ("a", 1), "a:\n- x\n- z\n"),
    "comment of the next item stays": ("a:\n- x\n# on y\n- y\n", ("a", 0), "a:\n# on y\n- y\n"),
    "last item": ("a:\n- x\n- y\nb: c\n", ("a", 1), "a:\n- x\nb: c\n"),
    "last item without newline": ("a:\n- x\n- y", ("a", 1), "a:\n- x"),
    "last item without newline, CRLF": ("a:\r\n- x\r\n- y", ("a", 1), "a:\r\n- x"),
    "CRLF": ("a:\r\n- x\r\n- y\r\n", ("a", 0), "a:\r\n- y\r\n"),
    "key": ("a: b\nc: d\n", ("a",), "c: d\n"),
    "key with a list": ("a:\n- x\n- y\nc: d\n", ("a",), "c: d\n"),
    "key with a null": ("a:\nc: d\n", ("a",), "c: d\n"),
    "key with an empty mapping": ("status: {}\nc: d\n", ("status",), "c: d\n"),
    "key with a block scalar": ("a: |-\n  x\n  y\nc: d\n", ("a",), "c: d\n"),
    "key with a block scalar that keeps its blank lines": ("c: d\na: |+\n  x\n\nb: e\n", ("a",), "c: d\n\nb: e\n"),
    "mapping in a list": ("a:\n- b: c\n  d: e\n- f: g\n", ("a", 0), "a:\n- f: g\n"),
    "key in a list item": ("a:\n- b: c\n  d: e\n", ("a", 0, "d"), "a:\n- b: c\n"),
    "flow item, first": ("a: [x, y]\n", ("a", 0), "a: [y]\n"),
    "flow item, middle": ("a: [x,  y, z]\n", ("a", 1), "a: [x,  z]\n"),
    "flow item, last": ("a: [x, y ]\n", ("a", 1), "a: [x ]\n"),
    "flow item, only": ("a: [ x ]\n", ("a", 0), "a: [  ]\n"),
    "flow key": ("{a: b, c: d}\n", ("c",), "{a: b}\n"),
}


@pytest.mark.parametrize(("text", "path", "expected"), REMOVED.values(), ids=REMOVED)
def test_remove_takes_whole_lines_or_flow_entries(text: str, path: Path, expected: str) -> None:
    assert edited(text, "remove", path) == expected


UNREADABLE = {
    "broken": ("a: b\nc: [d\n", "line 3"),
    "unclosed quote": ('a: "b\n', "line 2"),
    "tab as indentation": ("a:\n\tb: c\n", "line 2"),
    "tab behind a value": ("a: b\t# tab\n", "line 1"),
    "several documents": ("a: b\n---\nc: d\n", "line 2: another document begins"),
    "duplicate key": ("a:\n  b: c\n  d: e\n  b: f\n", "line 4: the key 'b' occurs twice (first in line 2)"),
    "duplicate key in a list item": ("a:\n- x: y\n  x: z\n", "line 3: the key 'x' occurs twice"),
    "duplicate key in a flow mapping": ("a: {x: y, x: z}\n", "line 1: the key 'x' occurs twice"),
    "anchor": ("a: 1\nb: &n x\n", "line 2: the YAML anchor or alias 'n'"),
    "anchor over a list": ("a: &n\n- x\n", "line 1: the YAML anchor or alias 'n'"),
    "alias": ("a: &n x\nb: *n\n", "line 1: the YAML anchor or alias 'n'"),
    "merge key": ("a: &n {x: y}\nb:\n  <<: *n\n", "line 1: the YAML anchor or alias 'n'"),
    "merge key without an anchor": ("a:\n  <<: {x: y}\n", "line 2"),
    "anchor of a list in itself": ("a: b\nc: &n [*n]\n", "line 2"),
    "unknown tag": ("a: b\nc: !mine x\n", "line 2"),
    "control character": ("a: b\nc: \x01\n", "line 2: this is not a single YAML document: unacceptable character"),
    "impossible date": (
        "a: b\nc:\n- !!timestamp 2026-13-45\n",
        "line 3: this value cannot be read: month must be in 1..12",
    ),
    "unhashable key": ("a: b\nc:\n  ? [a]\n  : b\n", "line 3"),
    "impossible boolean": ("a: b\nc: !!bool x\n", "line 2"),
    "impossible number": ('a: b\nc: !!int ""\n', "line 2"),
    "impossible time": ("a: b\nc: !!timestamp x\n", "line 2"),
    "impossible character": ('a: b\nc: "\\UFFFFFFFF"\n', "line 2"),
    "too deep": ("a: b\nc: " + "[" * 5000, "line 2"),
    "carriage return alone": ("a: b\nc: d # x\re: f\n", "line 2: the character '\\r' ends a line"),
    "line break of Unicode": ("a: b\nc: d # x\u2028e: f\n", "line 2: the character '\\u2028' ends a line"),
}


@pytest.mark.parametrize(("text", "complaint"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_edited_safely_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        Document.parse(text, "file")
    assert complaint in str(refusal.value)
    assert "file" in str(refusal.value)


UNEDITABLE = {
    "value over several lines": ("a: |\n  x\nb: c\n", Operation("replace", ("a",), "y"), "line 1: a is not a value"),
    "folded value": ("b: c\na: >-\n  x\n", Operation("replace", ("a",), "y"), "line 2: a is not a value"),
    "null without a word in a list": ("b: c\na:\n-\n", Operation("replace", ("a", 0), "y"), "a.0 is not a value"),
    "list as a value": ("a:\n- x\n", Operation("replace", ("a",), "y"), "a is not a value"),
    "into a scalar": ("a: b\nc: d\n", Operation("add", ("c", "x"), "y"), "line 2: c is neither"),
    "list in a list item": ("a:\n- - x\n  - y\n", Operation("add", ("a", 0, 0), "z"), "line 2"),
    "first key of a list item": (
        "a:\n- b: c\n  d: e\n",
        Operation("remove", ("a", 0, "b")),
        "line 2: a.0.b is not on lines of its own",
    ),
    "the only key": ("a:\n  b: c\n", Operation("remove", ("a", "b")), "line 2: a.b cannot be changed in place"),
    "the only item": ("a:\n- b\n", Operation("remove", ("a", 0)), "line 2: a.0 cannot be changed in place"),
    "flow item with a comment of the next": (
        "a: [\n  x,\n  # on y\n  y]\n",
        Operation("remove", ("a", 0)),
        "line 2: a comment is beside",
    ),
    "last flow item behind a comment": (
        "a: [x, # on x\n  y]\n",
        Operation("remove", ("a", 1)),
        "line 2: a comment is",
    ),
    "key that is no text": (
        "a: b\n5: c\n",
        Operation("replace", (5,), "d"),
        "line 1: 5 is not a key that can be edited here",
    ),
    "key in a list": ("b: c\na:\n- x\n", Operation("add", ("a", "x"), "y"), "line 3: 'x' is no position in this list"),
    "key in a list in brackets": ("a: [x]\n", Operation("add", ("a", "x"), "y"), "line 1: 'x' is no position"),
    "multi-line plain value": ("a: x\n  y\n", Operation("add", ("b",), object()), "cannot be changed in place"),
}


@pytest.mark.parametrize(("text", "operation", "complaint"), UNEDITABLE.values(), ids=UNEDITABLE)
def test_what_cannot_be_changed_in_place_is_refused_with_its_line(
    text: str, operation: Operation, complaint: str
) -> None:
    with pytest.raises(Refusal) as refusal:
        Document.parse(text, "file").apply(operation)
    assert complaint in str(refusal.value)


def test_a_value_on_several_lines_is_replaced_as_one() -> None:
    assert edited("a: x\n  y\nb: c\n", "replace", ("a",), "z") == "a: z\nb: c\n"


def test_an_edit_leaves_the_document_it_came_from_alone() -> None:
    before = Document.parse("a:\n- x\n", "file")
    after = before.apply(Operation("add", ("a", 1), "y"))
    assert before.data == {"a": ["x"]}
    assert before.text == "a:\n- x\n"
    assert after.data == {"a": ["x", "y"]}


def test_an_empty_file_is_a_document_without_a_value() -> None:
    assert Document.parse("", "file").data is None
    assert Document.parse("# only this\n", "file").data is None


def test_masked_shows_other_words_and_the_rest_as_it_is() -> None:
    text = "a:  'secret' # x\nb: {c: other}\nd:\n- |\n  line\n  line\n- e\n"
    masked = Document.parse(text, "file").masked_text({("a",): "(1)", ("b", "c"): "(2)", ("d", 0): "(3)"})
    assert masked == "a:  (1) # x\nb: {c: (2)}\nd:\n- (3)\n- e\n"
