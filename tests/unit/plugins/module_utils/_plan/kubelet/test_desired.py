# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module parameters turned into a desired state, and what no kubelet could take."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.desired import SETTINGS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import (
    TAINT,
    data_of,
    desired,
    state,
)


def test_a_taint_is_registered_as_it_is_set_on_a_node() -> None:
    plan = kubelet.plan(desired(register_with_taints=[{**TAINT, "value": True}]), state())
    assert data_of(plan)["registerWithTaints"] == [{**TAINT, "value": "true"}]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"feature_gates": {"A": "perhaps"}}, "must be true, false"),
        ({"config": {"featureGates": {"A": True}}}, "use the option feature_gates"),
        ({"config": {"registerWithTaints": []}}, "use the option register_with_taints"),
        ({"config": {"kind": "x"}}, "config: invalid field kind: must be a setting"),
        ({"config": {"staticPodPath": "/x"}}, "not changed here"),
        ({"config": {"clusterDomain": ""}}, "must be null"),
        ({"args": {"feature-gates": "A=true"}}, "use the option feature_gates"),
        ({"args": {"config_dir": "/x"}}, "not changed here"),
        ({"args": {"max-pods": 1, "max_pods": 2}}, "named twice"),
        ({"register_with_taints": [TAINT, TAINT]}, "named twice"),
        (
            {"register_with_taints": [{**TAINT, "value": "a b"}]},
            "register_with_taints: invalid value 'a b' of example.com/dongle",
        ),
        ({"register_with_taints": [{**TAINT, "effect": "Nope"}]}, "NoSchedule, PreferNoSchedule"),
        ({"register_with_taints": [{**TAINT, "key": ""}]}, "invalid key"),
    ],
)
def test_what_no_kubelet_could_take_is_refused(given: dict[str, t.Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        desired(**given)


def test_an_option_that_is_given_but_empty_takes_nothing_back() -> None:
    assert desired(state="absent", config={}).complete == set()
    assert desired(state="absent").complete == set(SETTINGS)
