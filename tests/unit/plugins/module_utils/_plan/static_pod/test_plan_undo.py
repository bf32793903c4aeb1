# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last change of a static pod, taken back."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change, Owned
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import (
    State,
    StaticPodPlan,
    build_diff,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import previous_change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.previous_change import WrittenFile
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.undos import file, rollback

NAME = "kube-apiserver"
OWNED = {"args": {"v": Owned(["5"], ["4"])}}


def changed(*files: WrittenFile, **desired: t.Any) -> tuple[StaticPodPlan, StaticPodPlan]:
    """A change of kubeadm's manifest, and the plan that takes it back."""
    before = samples.manifest()
    there = {entry["path"]: None for entry in desired.get("files", [])}
    change = static_pod.plan(samples.desired(**desired), State(before, {}, there))
    manifest = file(samples.SOURCE, before.text, change.after.text, switch=True)
    state = State(change.after, change.record, {})
    return change, plan.plan_undo(NAME, rollback(manifest, *files, record=OWNED), state)


def test_the_former_manifest_and_record_come_back() -> None:
    desired = {"feature_gates": {"A": True}, "args": {"v": 4}, "admission_plugins": {"NodeRestriction": "disabled"}}
    change, back = changed(**desired)
    assert back.after.text == change.before.text
    assert back.record == OWNED
    assert back.operations == (
        Change("feature_gates", "A", True, None),
        Change("admission_plugins", "NodeRestriction", "disabled", "enabled"),
        Change("args", "v", ["4"], None),
    )
    ((entry),) = build_diff(back)
    assert (entry["before"], entry["after"]) == (change.after.text, change.before.text)


def test_neither_environment_nor_policy_files_are_shown() -> None:
    policy = file("/p/policy.yaml", "former secret", "new secret")
    dummy, back = changed(
        policy,
        env={"TOKEN": "hush"},
        volumes=[samples.volume("p", "/p")],
        files=[samples.file("/p/policy.yaml", "new secret")],
    )
    text = repr((back.operations, build_diff(back)))
    assert "secret" not in text
    assert "hush" not in text
    assert Change("env", "TOKEN", "(hidden)", None) in back.operations
    assert Change("files", "/p/policy.yaml", {"mode": "0600"}, {"mode": "0600"}) in back.operations
    (change,) = back.files
    assert change.after is not None
    assert change.after.content == b"former secret"


def test_what_is_back_already_is_no_change() -> None:
    manifest = samples.manifest()
    text = manifest.text
    last_change = rollback(file(samples.SOURCE, text, text.replace("6443", "7443"), now=text, switch=True))
    for each in (last_change, None):
        state = State(manifest, OWNED, {}, written_image="registry.k8s.io/a:v1")
        back = plan.plan_undo(NAME, each, state, ["nothing"])
        assert (back.operations, back.record, back.warnings) == ((), OWNED, ("nothing",))
        assert back.image == state.written_image, "the record stays as it is"


def test_an_edit_since_is_refused() -> None:
    manifest = samples.manifest()
    last_change = rollback(file(samples.SOURCE, "old", "new", now=manifest.text, switch=True))
    with pytest.raises(Refusal, match=f"{samples.SOURCE} on cp1 is not what that left"):
        plan.plan_undo(NAME, last_change, State(manifest, {}, {}))


def test_a_plan_without_settings_is_still_one() -> None:
    manifest = samples.manifest()
    former = manifest.text.replace("status: {}\n", "status: {}\n# a comment\n")
    last_change = rollback(file(samples.SOURCE, former, manifest.text, switch=True))
    back = plan.plan_undo(NAME, last_change, State(manifest, {}, {}))
    assert back.operations == (Change("files", samples.SOURCE, None, "reverted"),)
    assert previous_change.PREVIOUS == "previous"
