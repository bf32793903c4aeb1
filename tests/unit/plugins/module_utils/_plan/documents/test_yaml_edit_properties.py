# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of texts in any style: exactly the requested difference with every other byte kept, or a refusal."""

from __future__ import annotations

import itertools
import re
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.yaml_edit import (
    Document,
    Operation,
    Path,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support import yaml_texts
from ansible_collections.nodecraft.kubeadm.tests.unit.support.yaml_texts import Case
from hypothesis import given, settings
from hypothesis import strategies as st

# How many times the examples of a profile: an edit of small text is quick, and this is the heart of the collection.
MANY = 32

_COMMENT = re.compile(r"# comment (\d+)\.")


@pytest.mark.parametrize("kind", ["add", "replace", "remove"])
def test_an_edit_is_exact_or_refused(kind: str) -> None:
    """Also counts: a parser that refuses everything must not pass."""
    outcomes = {"exact": 0, "refused": 0}

    @settings(max_examples=MANY * settings().max_examples)
    @given(yaml_texts.cases(kind))
    def check(case: Case) -> None:
        outcomes["exact" if _is_exact_or_refused(case) else "refused"] += 1

    check()
    assert outcomes["exact"] > outcomes["refused"], outcomes


def _is_exact_or_refused(case: Case) -> bool:
    before = Document.parse(case.text, "file")
    assert before.data == case.data
    edited, refusal = _apply(before, case.operation)
    if edited is None:
        assert re.search(r"\bline \d+", refusal)
        return False
    expected = yaml_texts.after(case.data, case.operation)
    assert yaml_texts.read(edited.text) == expected
    assert edited.data == expected
    _assert_other_bytes_unchanged(case.text, edited.text, case.operation)
    return True


def _apply(document: Document, operation: Operation) -> tuple[Document | None, str]:
    try:
        return document.apply(operation), ""
    except Refusal as exc:
        return None, str(exc)


def _assert_other_bytes_unchanged(before: str, after: str, operation: Operation) -> None:
    if before == after:
        return
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    cut, put = before[start : len(before) - end], after[start : len(after) - end]
    # Behind a last line that goes away a blank one may be left.
    assert before.endswith("\n") == after.endswith("\n") or (operation.op == "remove" and not before.endswith("\n"))
    if "\r\n" in before:
        assert after.count("\n") == after.count("\r\n")
    else:
        assert "\r" not in after
    if operation.op == "add":
        assert cut == ""
        assert _COMMENT.findall(after) == _COMMENT.findall(before)
    elif operation.op == "remove":
        assert put == ""
        assert set(_COMMENT.findall(before)) - set(_COMMENT.findall(after)) <= _comments_within(before, operation.path)
    else:
        node, dummy = _nodes(before, operation.path)
        assert node.start_mark.index <= start
        # Where there was no value, the blank before the new one may count as one that stood there.
        is_missing = node.start_mark.index == node.end_mark.index
        assert len(before) - end <= node.end_mark.index + is_missing
        assert _COMMENT.findall(after) == _COMMENT.findall(before)


def _common(one: str, other: str) -> int:
    """How many characters at their beginning are the same."""
    return sum(1 for dummy in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))


def _nodes(text: str, path: Path) -> tuple[t.Any, t.Any]:
    """The (value, key) nodes of a place, by PyYAML's marks; a list item is its own key."""
    node: t.Any = yaml.compose(text, Loader=yaml.SafeLoader)
    key = node
    for step in path:
        if isinstance(node, yaml.SequenceNode):
            node = key = node.value[step]
        else:
            key, node = next(pair for pair in node.value if pair[0].value == step)
    return node, key


def _comments_within(text: str, path: Path) -> set[str]:
    """The comments that may go with a place: those on its lines, from its key to its last word."""
    value, key = _nodes(text, path)
    last = _last_line(text, value)
    lines = text.split("\n")[key.start_mark.line : max(last, key.end_mark.line) + 1]
    return set(_COMMENT.findall("\n".join(lines)))


def _last_line(text: str, node: t.Any) -> int:
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            return int(node.start_mark.line + text[node.start_mark.index : node.end_mark.index].rstrip().count("\n"))
        return int(node.end_mark.line)
    last = node.value[-1]
    return _last_line(text, last[1] if isinstance(last, tuple) else last)


def test_what_was_added_can_be_reverted() -> None:
    @settings(max_examples=100)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        text = data.draw(yaml_texts.texts())
        operation = data.draw(yaml_texts.operations(text.data, kinds=("add",)))
        document = Document.parse(text.text, "file")
        edited, dummy = _apply(document, operation)
        back, dummy = _apply(edited, Operation("remove", operation.path)) if edited else (None, "")
        if back is None:
            return
        assert back.data == document.data
        assert _squeezed(back.text) == _squeezed(text.text)

    check()


def _squeezed(text: str) -> str:
    """Without what an entry of a flow list may leave beside it: blanks, and the comma of a last entry."""
    return re.sub(r"[ ,]", "", text)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["a: b", "- x", "? y", ": z", "&n", "*n", "!!int", "!!set", "!t", "|", ">-", "{", "}", "[", "]", ","]
                + ['"\\UFFFFFFFF"', '"\\ud800"', "%YAML 1.", "!!binary", "!!float", "!%F0"]
                + ["---", "...", "%YAML 1.1", "#", "'", '"', "\t", "<<:", "\r", "\x85", "\u2028", "\ufeff", "~", "="]
            ),
            st.sampled_from(["\n", "\n", "\n  ", "\n    ", " "]),
            st.text(max_size=3),
        ),
        max_size=12,
    ).map("".join)
)
@settings(max_examples=max(400, settings().max_examples))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert Document.parse(text, "file").text == text
    except Refusal as exc:
        refusal = str(exc)
    else:
        refusal = "file"
    assert "file" in refusal


@given(yaml_texts.texts(), st.data())
@settings(max_examples=150)
def test_masked_hides_scalars_in_every_style(text: yaml_texts.Text, data: st.DataObject) -> None:
    places = [path for path, value in yaml_texts.paths(text.data) if isinstance(value, str) and path]
    if not places:
        return
    chosen = data.draw(st.sets(st.sampled_from(places), min_size=1))
    masked = Document.parse(text.text, "file").masked_text(dict.fromkeys(chosen, "hidden"))
    expected = text.data
    for path in chosen:
        expected = yaml_texts.after(expected, Operation("replace", path, "hidden"))
    assert yaml.safe_load(masked) == expected
