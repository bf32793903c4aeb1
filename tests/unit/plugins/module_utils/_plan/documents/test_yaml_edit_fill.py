# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first key of an empty mapping, and the mapping when its last one is gone."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.yaml_edit import (
    Document,
    Operation,
    Path,
)

VALUE = {"b": {"x": ["y", {"z": "1"}]}}
BLOCK = '  b:\n    x:\n    - "y"\n    - z: "1"\n'
ITEMS = ["y", {"z": "1"}]


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a: {}\nc: d\n", ("a",), f"a:\n{BLOCK}c: d\n"),
        ("a: {} # why\nc: d\n", ("a",), f"a: # why\n{BLOCK}c: d\n"),
        ("a: {}", ("a",), f"a:\n{BLOCK}".rstrip("\n")),
        ("a: {}\r\nc: d\r\n", ("a",), f"a:\n{BLOCK}c: d\n".replace("\n", "\r\n")),
        ("a : { }\n", ("a",), f"a :\n{BLOCK}"),
        ("a:\n  {}\n", ("a",), f"a:\n{BLOCK}"),
        ("a:\n", ("a",), f"a:\n{BLOCK}"),
        ("a: ~\nc: d\n", ("a",), f"a:\n{BLOCK}c: d\n"),
        ("'a:b': null # why\n", ("a:b",), f"'a:b': # why\n{BLOCK}"),
        ("o:\n  a: {}\n", ("o", "a"), "o:\n  a:\n" + "".join(f"  {line}\n" for line in BLOCK.splitlines())),
        ("o: {a: {}}\n", ("o", "a"), 'o: {a: {b: {x: ["y", {z: "1"}]}}}\n'),
        ("o: {a: , c: d}\n", ("o", "a"), 'o: {a: {b: {x: ["y", {z: "1"}]}} , c: d}\n'),
    ],
)
def test_it_is_written_in_block_style_where_its_place_is(text: str, path: Path, expected: str) -> None:
    before = Document.parse(text, "file")
    found = before.apply(Operation("fill", path, VALUE))
    assert found.text == expected
    assert found.apply(Operation("clear", path, before.value_text(path))).text == text


@pytest.mark.parametrize("text", ["a: []\n", "a: [ ] # why\nb: c\n", "o:\n- a: []\n  b: c\n", "a:\n"])
def test_list_is_filled_and_cleared(text: str) -> None:
    before, path = Document.parse(text, "file"), (("o", 0, "a") if text.startswith("o") else ("a",))
    found = before.apply(Operation("fill", path, ITEMS))
    assert '- "y"' in found.text
    assert found.apply(Operation("clear", path, before.value_text(path))).text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:\n  b: c\n  d:\n  - e\nf: g\n", "a: {}\nf: g\n"),
        ("a: # why\n  b: c\n# behind\nf: g\n", "a: {} # why\n# behind\nf: g\n"),
        ("a:\r\n  b: c\r\nf: g\r\n", "a: {}\r\nf: g\r\n"),
        ("a:\n  b: c", "a: {}"),
        ("a: {b: c} # why\n", "a: {} # why\n"),
    ],
)
def test_what_is_cleared_is_an_empty_mapping(text: str, expected: str) -> None:
    assert Document.parse(text, "file").apply(Operation("clear", ("a",), " {}")).text == expected


def test_key_without_a_colon_is_refused() -> None:
    with pytest.raises(Refusal, match=r"line 1: o\.a is not a key with a colon"):
        Document.parse("o: {a, b: c}\n", "file").apply(Operation("fill", ("o", "a"), VALUE))
