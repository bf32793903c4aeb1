# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mappings from outside as dataclasses, and back."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.typed import (
    ModuleResult,
    as_mapping,
    parse,
)

Json = dict[str, t.Any]


class Reader(t.NamedTuple):
    host: str
    become: bool

    @classmethod
    def parse(cls, value: t.Mapping[str, t.Any]) -> Reader:
        return cls(**value)


@dataclasses.dataclass(frozen=True)
class Leaf:
    """name is required."""

    name: str
    size: int = 1


@dataclasses.dataclass(frozen=True)
class Tree:
    """With a field of each kind."""

    text: str = "none"
    number: int | None = None
    leaf: Leaf | None = typed.field_of(Leaf)
    reader: Reader | None = typed.field_of(Reader.parse)
    leaves: tuple[Leaf, ...] = typed.tuple_of(Leaf)
    readers: tuple[Reader, ...] | None = typed.tuple_of(Reader.parse, None)
    named: t.Mapping[str, Leaf] = typed.mapping_of(Leaf)
    optional: t.Mapping[str, Leaf] | None = typed.mapping_of(Leaf, is_optional=True)


@dataclasses.dataclass(frozen=True)
class Result(ModuleResult):
    """The result of a module, with a field that is parsed."""

    leaf: Leaf | None = typed.field_of(Leaf)


GIVEN: Json = {
    "text": "",
    "number": 0,
    "leaf": {"name": "a"},
    "reader": {"host": "cp1", "become": True},
    "leaves": [{"name": "b", "size": 2}, {"name": "c"}],
    "readers": [],
    "named": {"d": {"name": "d"}},
    "optional": {},
}
PARSED = Tree(
    text="",
    number=0,
    leaf=Leaf("a"),
    reader=Reader("cp1", True),
    leaves=(Leaf("b", 2), Leaf("c")),
    readers=(),
    named={"d": Leaf("d")},
    optional={},
)


# ---- from outside ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, dict.fromkeys(GIVEN)])
def test_a_key_that_is_missing_or_none_leaves_the_default(given: Json) -> None:
    found = parse(Tree, given)
    assert found == Tree()
    assert (found.text, found.leaf, found.leaves, found.readers, found.named) == ("none", None, (), None, {})
    assert found.optional is None


def test_every_kind_of_field_is_parsed() -> None:
    assert parse(Tree, GIVEN) == PARSED


@pytest.mark.parametrize("given", [{}, {"name": None}])
def test_a_required_field_without_a_value_is_none(given: Json) -> None:
    assert parse(Leaf, given) == Leaf(t.cast("str", None), 1)


def test_defaults_are_not_shared() -> None:
    assert Tree().named is not Tree().named


def test_keys_that_a_class_does_not_name_stay_in_raw_alone() -> None:
    given = {"msg": "x", "invocation": {}, "leaf": {"name": "a", "color": "red"}}
    found = parse(Result, given)
    assert (found.msg, found.leaf) == ("x", Leaf("a"))
    assert found.raw == given
    assert not hasattr(found, "invocation")
    assert "invocation" not in repr(found)
    assert parse(Leaf, {"name": "a", "color": "red"}) == Leaf("a")


def test_what_is_called_raw_outside_is_no_field() -> None:
    given = {"raw": {"msg": "x"}, "failed": True}
    found = parse(Result, given)
    assert (found.msg, found.raw) == ("", given)


# ---- and back --------------------------------------------------------------------------------------------------------


def test_fields_that_are_none_are_dropped() -> None:
    assert as_mapping(Tree()) == {"text": "none", "leaves": [], "named": {}}
    assert as_mapping(Leaf("a")) == {"name": "a", "size": 1}


def test_none_below_a_key_of_a_mapping_stays() -> None:
    assert as_mapping({"a": None, "b": [None, Leaf("b")]}) == {"a": None, "b": [None, {"name": "b", "size": 1}]}


def test_tuples_become_lists_and_named_tuples_mappings() -> None:
    value = {"a": (1, (2, 3)), "b": (Reader("cp1", True),), "c": Reader("cp2", False)}
    assert as_mapping(value) == {
        "a": [1, [2, 3]],
        "b": [{"host": "cp1", "become": True}],
        "c": {"host": "cp2", "become": False},
    }


@pytest.mark.parametrize("value", ["text", "", 0, 1.5, True, None, Leaf])
def test_other_values_stay(value: t.Any) -> None:
    assert as_mapping(value) is value


def test_what_was_parsed_goes_out_as_it_came() -> None:
    given = {"msg": None, "invocation": {"a": None}, "leaf": {"name": "a", "color": "red"}}
    assert as_mapping(parse(Result, given)) == given
    assert as_mapping({"results": (parse(Result, given),)}) == {"results": [given]}


def test_a_round_trip_changes_nothing() -> None:
    assert parse(Tree, as_mapping(PARSED)) == PARSED
    assert parse(Tree, as_mapping(Tree())) == Tree()
    result = parse(Result, {"msg": "x", "leaf": {"name": "a"}, "other": 1})
    assert parse(Result, as_mapping(result)) == result


# ---- results of modules ----------------------------------------------------------------------------------------------


def test_an_updated_result_is_another_one_of_the_same_kind() -> None:
    given = {"msg": "x", "leaf": {"name": "a"}, "other": 1}
    result = parse(Result, given)
    found = result.with_values(failed=True, leaf={"name": "b"})
    assert isinstance(found, Result)
    assert (found.msg, found.failed, found.leaf) == ("x", True, Leaf("b"))
    assert as_mapping(found) == {**given, "failed": True, "leaf": {"name": "b"}}
    assert (result.failed, result.leaf, result.raw) == (False, Leaf("a"), given)


def test_an_update_with_none_is_the_default_and_goes_out() -> None:
    found = parse(Result, {"msg": "x"}).with_values(msg=None)
    assert (found.msg, as_mapping(found)) == ("", {"msg": None})


@pytest.mark.parametrize(
    ("given", "has_failed", "reason"),
    [
        ({}, False, "no answer"),
        ({"failed": True, "msg": "silent."}, True, "silent"),
        ({"unreachable": True, "msg": "gone"}, True, "gone"),
        ({"failed": True, "msg": None}, True, "no answer"),
    ],
)
def test_whether_there_is_a_result_and_why_not(given: Json, has_failed: bool, reason: str) -> None:
    result = parse(ModuleResult, given)
    assert (result.has_failed, result.reason) == (has_failed, reason)


def test_what_ssh_reports_is_one_line() -> None:
    output = "Warning: added 'cp1'.\r\nssh: connect to host cp1 port 22: No route to host\r\n"
    found = typed.parse(typed.ModuleResult, {"unreachable": True, "msg": output})
    assert found.msg == "Warning: added 'cp1'. ssh: connect to host cp1 port 22: No route to host"
    # Of what a component itself prints the lines stay.
    assert typed.parse(typed.ModuleResult, {"msg": "refused:\n  no such gate"}).msg == "refused:\n  no such gate"
