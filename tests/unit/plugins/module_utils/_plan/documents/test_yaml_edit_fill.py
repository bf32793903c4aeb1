# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first key of an empty mapping, and the mapping when its last one is gone."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.yaml_edit import (
    Document,
    Operation,
    Path,
)

VALUE = {"x": ["y", {"z": "1"}]}
BLOCK = '  b:\n    x:\n    - "y"\n    - z: "1"\n'


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a: {}\nc: d\n", ("a", "b"), f"a:\n{BLOCK}c: d\n"),
        ("a: {} # why\nc: d\n", ("a", "b"), f"a: # why\n{BLOCK}c: d\n"),
        ("a: {}", ("a", "b"), f"a:\n{BLOCK}".rstrip("\n")),
        ("a: {}\r\nc: d\r\n", ("a", "b"), f"a:\n{BLOCK}c: d\n".replace("\n", "\r\n")),
        ("a : { }\n", ("a", "b"), f"a :\n{BLOCK}"),
        ("a:\n  {}\n", ("a", "b"), f"a:\n{BLOCK}"),
        ("o:\n  a: {}\n", ("o", "a", "b"), "o:\n  a:\n" + "".join(f"  {line}\n" for line in BLOCK.splitlines())),
        ("a: {c: d}\n", ("a", "b"), 'a: {c: d, b: {x: ["y", {z: "1"}]}}\n'),
        ("o: {a: {}}\n", ("o", "a", "b"), 'o: {a: {b: {x: ["y", {z: "1"}]}}}\n'),
        ("a:\n  c: d\n", ("a", "b"), f"a:\n  c: d\n{BLOCK}"),
        ("c: d\n", ("b",), "c: d\n" + "".join(f"{line[2:]}\n" for line in BLOCK.splitlines())),
    ],
)
def test_it_is_written_in_block_style_where_its_place_is(text: str, path: Path, expected: str) -> None:
    found = Document.parse(text, "file").apply(Operation("fill", path, VALUE))
    assert found.text == expected


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
    assert Document.parse(text, "file").apply(Operation("clear", ("a",), {})).text == expected
