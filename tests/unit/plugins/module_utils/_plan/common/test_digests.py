# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digest of values that may be secret."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.digests import slow_digest


def test_equal_values_have_one_digest() -> None:
    assert slow_digest({"a": 1, "b": [None]}) == slow_digest({"b": [None], "a": 1})
    assert slow_digest({"a": 1}) != slow_digest({"a": 2})


def test_it_is_the_same_in_each_run_and_on_each_controller() -> None:
    """The mark of a failed rollout is read by later runs."""
    assert slow_digest({}) == "9277f12a78c0c732c9e44bb397ed20099e5352808ecf0849bc79aad34e2c6f43"
