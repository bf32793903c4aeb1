# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Owners of policy files: named by a task, kept, and given back."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import State, StaticPodPlan
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pods import POLICY, following, state

THEIRS = FileVersion(b"theirs", 0o600, 7, 8)


def planned(before: State, *, purge: bool = False, **entry: t.Any) -> StaticPodPlan:
    """The plan of a task with one file, on a node that knows these accounts."""
    node = dataclasses.replace(before, users={"etcd": 5, "6": 6}, groups={"adm": 4})
    return samples.planned(node, purge=purge, files=[samples.file(POLICY, "ours", **entry)] if entry else [])


def test_a_new_file_gets_the_owner_that_is_named_and_is_roots_otherwise() -> None:
    before = state(files={POLICY: None})
    assert planned(before, owner="etcd", group="adm").files[0].after == FileVersion(b"ours", 0o600, 5, 4)
    assert planned(before, owner="6").files[0].after == FileVersion(b"ours", 0o600, 6, 0)


def test_of_a_file_that_is_there_the_named_owner_changes_and_comes_back() -> None:
    before = state(files={POLICY: THEIRS})
    done = planned(before, owner="etcd")
    assert done.files[0].after == FileVersion(b"ours", 0o600, 5, 8)
    assert done.files[0].preserved_attributes == ("gid",)
    assert planned(following(done, before), owner="etcd").operations == ()
    back = planned(following(done, before), purge=True)
    assert back.files[0].after == THEIRS
    assert back.after.text == before.manifest.text
    assert back.record == {}


def test_another_owner_is_a_change_of_the_component() -> None:
    """It may be the reason why a component could not read the file."""
    before = state(files={POLICY: None})
    first = planned(before, mode="0600")
    done = planned(following(first, before), owner="etcd")
    (operation,) = done.operations
    assert (operation.before["uid"], operation.after["uid"]) == (0, 5)
    assert done.after.text != first.after.text


def test_an_owner_that_is_not_named_any_more_stays_and_is_still_given_back() -> None:
    before = state(files={POLICY: THEIRS})
    first = planned(before, owner="etcd")
    second = planned(following(first, before), mode="0600")
    assert second.operations == ()
    back = planned(following(second, following(first, before)), purge=True)
    assert back.files[0].after == THEIRS


def test_an_owner_that_another_program_changed_is_put_right_only_when_it_is_named() -> None:
    before = state(files={POLICY: THEIRS})
    done = following(planned(before, owner="etcd"), before)
    drifted = dataclasses.replace(done, files={POLICY: FileVersion(b"ours", 0o600, 9, 8)})
    assert planned(drifted, owner="etcd").files[0].after == FileVersion(b"ours", 0o600, 5, 8)
    assert planned(drifted, mode="0600").operations == ()


def test_a_file_of_ours_that_was_removed_gets_its_owner_again() -> None:
    done = following(planned(state(files={POLICY: None}), owner="etcd"))
    gone = dataclasses.replace(done, files={POLICY: None})
    assert planned(gone, mode="0600").files[0].after == FileVersion(b"ours", 0o600, 5, 0)


@pytest.mark.parametrize("known", [True, False], ids=["record of today", "record without owners"])
def test_a_record_without_an_owner_gives_back_content_and_mode(known: bool) -> None:
    before = state(files={POLICY: THEIRS})
    done = following(planned(before, mode="0600"), before)
    if not known:
        for key in ("uid", "gid"):
            del done.record["files"][POLICY].original[key]
    moved = dataclasses.replace(done, files={POLICY: FileVersion(b"ours", 0o600, 9, 9)})
    assert planned(moved, purge=True).files[0].after == FileVersion(b"theirs", 0o600, 9, 9)
