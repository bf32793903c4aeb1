# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last change of a kubelet, reverted."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import kubelet_undo
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_state import State
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.plan import KubeletPlan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.previous_change import (
    Rollback,
    WrittenFile,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.undos import file, rollback


def change(before: State, **desired: t.Any) -> tuple[State, Rollback]:
    """What the node has after a change, and that change as something to take back."""
    plan = kubelet.plan(kubelets.desired(**desired), before)
    assert plan.operations
    files = [WrittenFile(each.path, each.before, each.after, each.after) for each in plan.files]
    return kubelets.after(before, plan), rollback(*files, record=before.record)


def revert(state: State, last_change: Rollback | None, *, force: bool = False) -> KubeletPlan:
    return kubelet_undo.plan(last_change, state, force=force)


def assert_same(found: State, expected: State) -> None:
    for field in ("unit", "environment", "fragments", "record"):
        assert getattr(found, field) == getattr(expected, field), field


@pytest.mark.parametrize(
    ("desired", "operations"),
    [
        ({"config": {"maxPods": 50}}, [Change("config", "maxPods", 50, 110)]),
        ({"args": {"v": 4}}, [Change("args", "v", ["4"], None)]),
        (
            {"feature_gates": {"A": True, "Theirs": False}},
            [Change("feature_gates", "A", True, None), Change("feature_gates", "Theirs", False, True)],
        ),
        (
            {"register_with_taints": [{"key": "a", "effect": "NoSchedule"}]},
            [Change("register_with_taints", "a:NoSchedule", "", None)],
        ),
    ],
)
def test_the_first_change_goes_back_to_nothing_of_ours(desired: dict[str, t.Any], operations: list[Change]) -> None:
    before = kubelets.state()
    state, last_change = change(before, **desired)
    plan = revert(state, last_change)
    assert list(plan.operations) == operations
    assert_same(kubelets.after(state, plan), before)
    assert plan.after.command == before.layout().command


def test_a_later_change_goes_back_to_the_one_before() -> None:
    first, dummy = change(kubelets.state(), config={"maxPods": 50}, args={"v": 4})
    second, last_change = change(first, config={"maxPods": 60}, args={"v": None}, purge=False)
    plan = revert(second, last_change)
    assert plan.operations == (Change("config", "maxPods", 60, 50), Change("args", "v", None, ["4"]))
    assert plan.limits is not None
    assert plan.limits["max_pods"] == 50
    assert plan.fragment is not None
    assert_same(kubelets.after(second, plan), first)


def test_what_took_everything_away_is_reverted_too() -> None:
    first, dummy = change(kubelets.state(), config={"maxPods": 50})
    second, last_change = change(first, state="absent")
    plan = revert(second, last_change)
    assert plan.operations == (Change("config", "maxPods", 110, 50),)
    assert_same(kubelets.after(second, plan), first)


def test_what_was_adopted_goes_back_to_its_file() -> None:
    before = kubelets.state("KUBELET_EXTRA_ARGS=--feature-gates=A=true --v=2\n")
    state, last_change = change(before, feature_gates={"A": True}, adopt=True)
    plan = revert(state, last_change)
    assert plan.operations == (Change("adopted", kubelets.EXTRA, None, "reverted"),)
    assert_same(kubelets.after(state, plan), before)
    # Values of others in that file are not shown.
    entry = next(each for each in kubelet.diff_files(plan) if each["after_header"] == kubelets.EXTRA)
    assert "--feature-gates=A=true" in entry["after"]


def test_and_out_of_it_again() -> None:
    adopted, dummy = change(
        kubelets.state("KUBELET_EXTRA_ARGS=--feature-gates=A=true\n"), feature_gates={"A": True}, adopt=True
    )
    state, last_change = change(adopted, state="absent")
    plan = revert(state, last_change)
    assert Change("adopted", kubelets.EXTRA, "reverted", None) in plan.operations
    assert_same(kubelets.after(state, plan), adopted)


def test_a_policy_is_reported_so_that_the_node_has_to_be_drained() -> None:
    state, last_change = change(kubelets.state(), config={"cpuManagerPolicy": "static"})
    assert [change.differences for change in revert(state, last_change).policies] == [("cpuManagerPolicy",)]


def test_nothing_to_revert_changes_nothing() -> None:
    before = kubelets.state()
    state, last_change = change(before, config={"maxPods": 50})
    done = rollback(*(file(each.path, None, "new", now=None) for each in last_change.files))
    for each in (None, done):
        plan = revert(state, each)
        assert (plan.operations, plan.files, plan.record) == ((), (), state.record)


# ---- what is refused ---------------------------------------------------------------------------------------------------


def test_an_edit_since_is_refused() -> None:
    state, last_change = change(kubelets.state(), config={"maxPods": 50})
    edited = rollback(*(file(each.path, None, "new", now="theirs") for each in last_change.files))
    with pytest.raises(Refusal, match=rf"{kubelet_layout.FRAGMENT}.* is not what that left"):
        revert(state, edited)


def test_files_that_are_newer_than_the_kubelet_are_refused() -> None:
    before = kubelets.state(newer=("/usr/bin/kubelet",))
    state, last_change = change(before, force=True, config={"maxPods": 50})
    newer = dataclasses.replace(state, newer=("/usr/bin/kubelet",))
    with pytest.raises(Refusal, match="changed after the kubelet was started"):
        revert(newer, last_change)
    assert revert(newer, last_change, force=True).operations


def test_a_kubelet_out_of_step_is_refused() -> None:
    state, last_change = change(kubelets.state(), config={"maxPods": 50})
    with pytest.raises(Refusal, match="runs with another command line"):
        revert(dataclasses.replace(state, running=("/usr/bin/kubelet",)), last_change)


def test_a_former_drop_in_that_repeats_an_outdated_unit_is_refused() -> None:
    first, dummy = change(kubelets.state(), args={"v": 4})
    second, last_change = change(first, args={"v": 5})
    moved = [
        TextFile.of(each.path, each.text.replace("/var/lib/kubelet/config.yaml", "/etc/kubelet.yaml"))
        for each in second.unit
    ]
    state = dataclasses.replace(second, unit=tuple(moved), running=None)
    with pytest.raises(Refusal, match=r"10-kubeadm\.conf:4 sets KUBELET_CONFIG_ARGS to another value than it did then"):
        revert(state, last_change)


def test_fragments_that_no_kubelet_reads_are_not_woken() -> None:
    first, dummy = change(kubelets.state(), config={"maxPods": 50})
    second, last_change = change(first, state="absent")
    theirs = TextFile.of(f"{kubelet_layout.CONFIG_DIR}/10-theirs.conf", "kind: KubeletConfiguration\n")
    state = dataclasses.replace(second, fragments=(theirs,))
    with pytest.raises(Refusal, match=r"10-theirs\.conf: the kubelet does not read this directory now"):
        revert(state, last_change)
    assert revert(state, last_change, force=True).operations
