# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that was reset and joined again, on which our files are left."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned, Record
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import rejoining
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_state import State
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets

JOINED = "2026-01-01T00:05:00Z"
DESIRED = {"config": {"maxPods": 120, "imageGCHighThresholdPercent": 90}, "feature_gates": {"Theirs": True}}


def planned(before: State, **given: t.Any) -> kubelet.KubeletPlan:
    return kubelet.plan(kubelets.desired(**given), before)


def rejoined() -> State:
    """What we set before is there, and kubelet-config says something else."""
    before = kubelets.state()
    before = kubelets.after(before, planned(before, **DESIRED))
    main = kubelets.state(main=kubelets.MAIN_TEXT.replace("maxPods: 110", "maxPods: 121")).main
    return dataclasses.replace(before, main=main, joined=JOINED)


def test_what_wins_over_kubelet_config_and_is_not_desired_is_reported() -> None:
    after = rejoined()
    (warning,) = planned(after).warnings
    assert warning.startswith(f"this node was joined to its cluster again at {JOINED}")
    assert "config maxPods" in warning
    assert "config imageGCHighThresholdPercent" in warning
    # A gate that kubelet-config says as well makes no difference.
    assert "Theirs" not in warning
    (other,) = planned(after, config={"maxPods": 120}).warnings
    assert "maxPods" not in other


def test_what_is_requested_or_reverted_is_no_news() -> None:
    after = rejoined()
    assert planned(after, **DESIRED).warnings == ()
    back = planned(after, purge=True)
    assert back.warnings == ()
    assert {each.key for each in back.operations} >= {"maxPods"}
    assert planned(dataclasses.replace(after, joined="")).warnings == ()


def test_both_values_are_known() -> None:
    after = rejoined()
    found = rejoining.find_overrides(after.record, after.without_ours().layout())
    assert rejoining.Override("config", "maxPods", 120, 121) in found
    assert rejoining.Override("config", "imageGCHighThresholdPercent", 90, None) in found


def test_what_kubelet_config_reports_by_now_as_well_hides_nothing() -> None:
    after = rejoined()
    record: Record = {"config": {"maxPods": Owned(121, None)}}
    assert rejoining.find_overrides(record, after.without_ours().layout()) == []
