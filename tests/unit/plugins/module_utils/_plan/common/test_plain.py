# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values whose items become values when they are read."""

from __future__ import annotations

import collections
import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.plain import is_true, to_plain


class LazyList(list[t.Any]):
    """As the containers of ansible-core: what is stored is no value yet."""

    def __getitem__(self, number: t.Any) -> t.Any:
        return f"read {super().__getitem__(number)}"


class LazyDict(dict[str, t.Any]):
    """The same."""

    def __getitem__(self, key: str) -> t.Any:
        value = super().__getitem__(key)
        return value if isinstance(value, (dict, list)) else f"read {value}"


def test_items_are_read_one_by_one() -> None:
    lazy = LazyDict(a=1, b=LazyList([2, 3]), c=LazyDict(d=4))
    assert json.loads(json.dumps(to_plain(lazy))) == {"a": "read 1", "b": ["read 2", "read 3"], "c": {"d": "read 4"}}


def test_other_values_stay() -> None:
    for value in (None, True, 1, 1.5, "text", b"bytes"):
        assert to_plain(value) is value
    assert to_plain(("a", ["b"])) == ["a", ["b"]]


def test_a_text_that_is_a_sequence_of_letters_is_a_text() -> None:
    found = to_plain({"a": [collections.UserString("vaulted")]})
    assert found == {"a": ["vaulted"]}
    assert isinstance(found["a"][0], str)
    assert to_plain(collections.UserList(["a", "b"])) == ["a", "b"]


@pytest.mark.parametrize("value", [True, "yes", "Yes", "on", "1", 1, "true", "t", "y"])
def test_what_is_true(value: t.Any) -> None:
    assert is_true(value)


@pytest.mark.parametrize("value", [False, None, "", "no", "off", "0", 0, "false", "text"])
def test_what_is_not(value: t.Any) -> None:
    assert not is_true(value)
