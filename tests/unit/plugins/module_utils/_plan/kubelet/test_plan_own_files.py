# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts of our two files."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import (
    TAINT,
    data_of,
    desired,
    state,
)


def test_flags_alone_need_no_fragment() -> None:
    plan = kubelet.plan(desired(args={"v": 4}), state())
    assert [change.path for change in plan.files] == [kubelet_layout.DROP_IN]
    assert "mkdir" not in plan.files[0].visible_text(plan.files[0].after)


def test_null_takes_a_setting_of_others_away() -> None:
    plan = kubelet.plan(desired(config={"maxPods": None}, feature_gates={"Theirs": None}), state())
    assert data_of(plan)["maxPods"] is None
    assert "maxPods" not in plan.after.settings.config
    assert plan.after.settings.gates() == {}


def test_an_old_kubelet_takes_gates_and_taints_as_flags() -> None:
    plan = kubelet.plan(desired(feature_gates={"A": True}, register_with_taints=[TAINT]), state(version=(1, 29)))
    assert plan.after.command[4:6] == [
        "--feature-gates=A=true",
        "--register-with-taints=example.com/dongle=:NoSchedule",
    ]
    with pytest.raises(Refusal, match=r"before 1.30 .* Use args"):
        kubelet.plan(desired(config={"maxPods": 50}), state(version=(1, 29)))


def test_taints_of_others_stay_in_the_list() -> None:
    main = kubelets.MAIN_TEXT + "registerWithTaints:\n- {key: a, effect: NoSchedule}\n"
    plan = kubelet.plan(desired(register_with_taints=[TAINT]), state(main=main))
    assert [taint["key"] for taint in plan.after.settings.taint_list()] == ["a", "example.com/dongle"]
