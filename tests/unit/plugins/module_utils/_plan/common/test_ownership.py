# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who set what: the table of desired state, live value and record."""

from __future__ import annotations

import copy
import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import ownership
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned
from hypothesis import given
from hypothesis import strategies as st


class Case(t.NamedTuple):
    """One key, f/k. unset: the key is not there, or not named, or not ours."""

    desired: t.Any
    live: t.Any
    owned: Owned | None
    state: str
    purge: bool
    after: t.Any
    record: Owned | None
    warned: bool = False


UNNAMED = object()
OURS = Owned(set="ours", original="first")
OURS_NEW = Owned(set="ours", original=None)

CASES = {
    "set what is not set": Case("x", None, None, "present", False, "x", Owned("x", None)),
    "set over a value of others": Case("x", "old", None, "present", False, "x", Owned("x", "old")),
    "what has the value already is not ours": Case("x", "x", None, "present", False, "x", None),
    "remove a value of others": Case(None, "old", None, "present", False, None, Owned(None, "old")),
    "remove what is not set": Case(None, None, None, "present", False, None, None),
    "set ours again": Case("ours", "ours", OURS, "present", False, "ours", OURS),
    "set ours to another value": Case("x", "ours", OURS, "present", False, "x", Owned("x", "first")),
    "set ours to what it was first": Case("first", "ours", OURS, "present", False, "first", None),
    "a foreign edit of ours is set again": Case(
        "ours", "foreign", OURS, "present", False, "ours", Owned("ours", "foreign")
    ),
    "a foreign edit to the desired value is theirs": Case(
        "foreign", "foreign", OURS, "present", False, "foreign", None
    ),
    "remove ours": Case(None, "ours", OURS_NEW, "present", False, None, None),
    "remove ours, first set by others": Case(None, "ours", OURS, "present", False, None, Owned(None, "first")),
    "not named: stays": Case(UNNAMED, "ours", OURS, "present", False, "ours", OURS),
    "not named, of others: stays": Case(UNNAMED, "old", None, "present", False, "old", None),
    "purge takes ours back": Case(UNNAMED, "ours", OURS, "present", True, "first", None),
    "purge removes ours": Case(UNNAMED, "ours", OURS_NEW, "present", True, None, None),
    "purge leaves others alone": Case(UNNAMED, "old", None, "present", True, "old", None),
    "purge leaves a foreign edit of ours alone": Case(UNNAMED, "foreign", OURS, "present", True, "foreign", None, True),
    "purge leaves a foreign removal of ours alone": Case(UNNAMED, None, OURS, "present", True, None, None, True),
    "purge puts back what we removed": Case(UNNAMED, None, Owned(None, "first"), "present", True, "first", None),
    "purge of what others put back themselves": Case(UNNAMED, "first", OURS, "present", True, "first", None),
    "purge keeps what is named": Case("ours", "ours", OURS, "present", True, "ours", OURS),
    "absent, named, ours": Case("any", "ours", OURS, "absent", False, "first", None),
    "absent, named, ours, new": Case("any", "ours", OURS_NEW, "absent", False, None, None),
    "absent, named, of others": Case("any", "old", None, "absent", False, "old", None),
    "absent, named, that we removed": Case("any", None, Owned(None, "first"), "absent", False, "first", None),
    "absent, named, foreign edit of ours": Case("any", "foreign", OURS, "absent", False, "foreign", None, True),
    "absent, named, not set": Case("any", None, None, "absent", False, None, None),
    "absent without keys takes ours back": Case(UNNAMED, "ours", OURS, "absent", True, "first", None),
    "absent without keys leaves others alone": Case(UNNAMED, "old", None, "absent", True, "old", None),
    "absent without keys, foreign edit": Case(UNNAMED, "foreign", OURS, "absent", True, "foreign", None, True),
}


def resolve(case: Case) -> ownership.Resolution:
    return ownership.resolve(
        desired={"f": {} if case.desired is UNNAMED else {"k": case.desired}},
        live={"f": {} if case.live is None else {"k": case.live}},
        record={"f": {"k": case.owned}} if case.owned else {},
        state=case.state,
        complete="f" if case.purge else (),
    )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_resolve(case: Case) -> None:
    resolution = resolve(case)
    value = case.live
    for change in resolution.changes:
        assert (change.field, change.key, change.before) == ("f", "k", case.live)
        value = change.after
    assert value == case.after
    assert len(resolution.changes) == (case.live != case.after)
    assert resolution.record == ({"f": {"k": case.record}} if case.record else {})
    assert bool(resolution.warnings) == case.warned


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_second_run_changes_nothing(case: Case) -> None:
    first = resolve(case)
    second = resolve(
        case._replace(live=case.after, owned=first.record.get("f", {}).get("k")),
    )
    assert second.changes == ()
    assert second.warnings == ()


def test_absent_with_a_name_leaves_other_keys_of_ours_alone() -> None:
    record = {"f": {"a": Owned("1", None), "b": Owned("2", None)}}
    live = {"f": {"a": "1", "b": "2"}}
    resolution = ownership.resolve(desired={"f": {"a": None}}, live=live, record=record, state="absent")
    assert [change.key for change in resolution.changes] == ["a"]
    assert resolution.record == {"f": {"b": Owned("2", None)}}


def test_field_that_is_not_complete_keeps_what_is_not_named() -> None:
    record = {"f": {"a": Owned("1", None)}, "g": {"b": Owned("2", None)}}
    live = {"f": {"a": "1"}, "g": {"b": "2"}}
    resolution = ownership.resolve(desired={}, live=live, record=record, state="present", complete=("f",))
    assert [(change.field, change.key) for change in resolution.changes] == [("f", "a")]
    assert resolution.record == {"g": {"b": Owned("2", None)}}


@pytest.mark.parametrize(
    ("options", "state", "purge", "complete"),
    [
        ({"f": None, "g": None}, "present", True, ""),
        ({"f": {}, "g": None}, "present", True, "f"),
        ({"f": {"a": 1}, "g": {}}, "present", True, "fg"),
        ({"f": {"a": 1}, "g": {}}, "present", False, ""),
        ({"f": None, "g": None}, "absent", False, "fg"),
        ({"f": {}, "g": None}, "absent", False, ""),
        ({"f": {}, "g": None}, "absent", True, "f"),
    ],
)
def test_only_a_given_option_is_complete(options: t.Any, state: str, purge: bool, complete: str) -> None:
    assert ownership.complete_fields(options, state, purge=purge) == set(complete)


def test_a_warning_names_the_key_and_no_value() -> None:
    (warning,) = resolve(CASES["purge leaves a foreign edit of ours alone"]).warnings
    assert warning.startswith("f k: ")
    assert "ours" not in warning
    assert "foreign" not in warning


VALUES = st.one_of(st.none(), st.sampled_from(["a", "b", "c"]), st.lists(st.sampled_from(["a", "b"]), max_size=2))
KEYED = st.dictionaries(st.sampled_from("kmn"), VALUES, max_size=3)


@given(
    originals=KEYED,
    desired_states=st.lists(st.tuples(KEYED, st.booleans()), max_size=4),
)
def test_purge_gives_back_what_was_there_before_any_desired_state(
    originals: dict[str, t.Any], desired_states: list[tuple[dict[str, t.Any], bool]]
) -> None:
    originals = {key: value for key, value in originals.items() if value is not None}
    live: ownership.Values = {"f": dict(originals)}
    record: ownership.Record = {}
    for desired, purge in [*desired_states, ({}, True)]:
        given_live, given_record = copy.deepcopy(live), copy.deepcopy(record)
        complete = "f" if purge else ""
        resolution = ownership.resolve(
            desired={"f": desired}, live=live, record=record, state="present", complete=complete
        )
        assert (live, record) == (given_live, given_record), "what was given must stay as it is"
        live = {"f": _changed(live["f"], resolution)}
        assert {key: live["f"].get(key) for key in desired} == desired
        record = ownership.load_record(json.loads(json.dumps(ownership.dump_record(resolution.record))))
        assert record == resolution.record
    assert live == {"f": originals}
    assert record == {}


def _changed(live: dict[str, t.Any], resolution: ownership.Resolution) -> dict[str, t.Any]:
    live = dict(live)
    for change in resolution.changes:
        assert live.get(change.key) == change.before
        live[change.key] = change.after
    return {key: value for key, value in live.items() if value is not None}


@pytest.mark.parametrize(("state", "is_marked"), [("present", True), ("absent", False)])
def test_only_what_goes_because_it_is_not_named_is_marked(state: str, is_marked: bool) -> None:
    record = {"args": {"v": ownership.Owned("4", None)}}
    (change,) = ownership.resolve(
        desired={}, live={"args": {"v": "4"}}, record=record, state=state, complete=("args",)
    ).changes
    assert change.no_longer_desired is is_marked
    expected = {"field": "args", "key": "v", "before": "4", "after": None}
    assert change.to_result() == {**expected, **({"no_longer_desired": True} if is_marked else {})}


def test_what_is_owned_of_fields_that_are_not_named() -> None:
    record = {"args": {"v": ownership.Owned("4", None)}, "env": {"A": ownership.Owned("1", None)}, "files": {}}
    assert ownership.left_alone(record, ["files", "env", "args"], ["env"]) == {"args": ["v"]}
