# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter that makes a digest of a desired state."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.desired_state_digest import FilterModule


def test_the_digest_is_that_of_the_values() -> None:
    digest = FilterModule().filters()["desired_state_digest"]
    assert digest({"a": ("b",)}) == digest({"a": ["b"]})
    assert digest({"a": ["c"]}) != digest({"a": ["b"]})
