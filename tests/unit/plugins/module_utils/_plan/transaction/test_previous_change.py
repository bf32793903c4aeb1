# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which change is taken back, and when that is refused."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import previous_change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.previous_change import (
    Rollback,
    WrittenFile,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.undos import copy, file, rollback

LEFT = file("/a", "old", "new")
BACK = file("/a", "old", "new", now="old")
FOREIGN = file("/a", "old", "new", now="theirs")


# ---- which one -------------------------------------------------------------------------------------------------------


def ended(outcome: str, each: WrittenFile = LEFT, *, reverts: str | None = None) -> Rollback:
    return rollback(each, outcome=outcome, reverts=reverts, transaction=outcome)


@pytest.mark.parametrize(
    ("newest_first", "chosen"),
    [
        ([], None),
        ([ended("committed"), ended("unhealthy")], "committed"),
        # With rollback off a change is left in place, so it is the one to take back.
        ([ended("unhealthy"), ended("committed")], "unhealthy"),
        ([ended("rolled_back"), ended("aborted"), ended("committed")], "committed"),
        # An alarm may have ended on either side.
        ([ended("alarm", LEFT), ended("committed")], "alarm"),
        ([ended("alarm", FOREIGN), ended("committed")], "alarm"),
        ([ended("alarm", BACK), ended("committed")], "committed"),
        # Asked again there is nothing to do: neither the change nor the one before it.
        ([ended("committed", reverts="x"), ended("committed")], None),
        # Taking back that failed left the change where it was.
        ([ended("rolled_back", reverts="x"), ended("committed")], "committed"),
        ([ended("alarm", BACK, reverts="x"), ended("committed")], "committed"),
    ],
)
def test_the_newest_change_that_stands_is_reverted(newest_first: list[Rollback], chosen: str | None) -> None:
    found = previous_change.choose_change(newest_first)
    assert (found and found.transaction) == chosen


def test_older_ones_are_not_even_observed() -> None:
    def damaged() -> t.Iterator[Rollback]:
        yield ended("committed")
        raise AssertionError("an older journal was read")

    assert previous_change.choose_change(damaged()) is not None


# ---- whether its files are what it left --------------------------------------------------------------------------------


def test_files_that_are_as_they_were_before_need_nothing() -> None:
    assert rollback(BACK).is_done
    assert rollback(BACK, file("/record", None, "x", kind=previous_change.RECORD)).is_done
    assert not rollback(BACK, file("/b", "old", "new")).is_done


@pytest.mark.parametrize(
    "files",
    [
        (FOREIGN,),
        (LEFT, file("/b", None, "new", now="theirs")),
        (LEFT, file("/b", "old", None, now="theirs")),
        (LEFT, file("/b", "old", "new", now=None)),
        # Half of it was reverted manually: what the rest belongs to is unknown.
        (LEFT, file("/b", "old", "new", now="old")),
        (LEFT, file("/record", None, "x", now="y", kind=previous_change.RECORD)),
    ],
)
def test_a_file_that_is_not_what_the_change_left_is_named(files: tuple[WrittenFile, ...]) -> None:
    edited = files[-1].path
    with pytest.raises(Refusal, match=rf"{edited} on cp1 is not what that left: it was changed since.*journal\.json"):
        rollback(*files).refuse_foreign_edits()


def test_a_chmod_is_no_edit() -> None:
    hardened = WrittenFile("/a", copy("old"), copy("new"), copy("new", 0o400))
    rollback(hardened).refuse_foreign_edits()
    assert not hardened.is_reverted


def test_a_change_of_the_mode_alone_is_one() -> None:
    loosened = WrittenFile("/a", copy("same"), copy("same", 0o644), copy("same", 0o644))
    assert not loosened.is_reverted
    assert WrittenFile("/a", copy("same"), copy("same", 0o644), copy("same")).is_reverted


# ---- what is asked and shown -------------------------------------------------------------------------------------------


def test_settings_beside_it_are_refused_by_name() -> None:
    params = {"args": {"v": 4}, "env": {}, "files": None, "purge": True}
    with pytest.raises(Refusal, match="args, purge is given too"):
        previous_change.refuse_settings(params, params)
    previous_change.refuse_settings({"args": {}, "purge": False, "files": None}, params.keys() - {"env"})


def test_a_change_without_settings_is_one_of_files() -> None:
    change = Change("args", "v", ["5"], ["4"])
    assert previous_change.revert_operations([change], [LEFT]) == (change,)
    assert previous_change.revert_operations([], [LEFT]) == (Change("files", "/a", None, "reverted"),)


def test_what_an_info_module_reports() -> None:
    change = rollback(LEFT, file("/new", None, "x"), file("/gone", "x", None))
    diff = {"before_header": "/a", "after_header": "/a", "before": "one\ntwo\n", "after": "one\nthree\n"}
    found = previous_change.describe_rollback(change, [Change("args", "v", ["5"], None)], [diff])
    assert found["transaction"] == change.transaction
    assert found["files"] == [
        {"path": "/a", "change": "changed", "diff": "@@ -1,2 +1,2 @@\n one\n-two\n+three"},
        {"path": "/new", "change": "removed", "diff": None},
        {"path": "/gone", "change": "created", "diff": None},
    ]
    assert found["operations"] == [{"field": "args", "key": "v", "before": ["5"], "after": None}]
    assert found["blocked_by"] is None


def test_a_blocked_change_is_reported_with_the_same_keys() -> None:
    found = previous_change.describe_rollback(None, (), (), blocked_by="damaged")
    assert set(found) == set(previous_change.describe_rollback(rollback(LEFT), (), ()))
    assert (found["transaction"], found["files"], found["blocked_by"]) == (None, [], "damaged")
