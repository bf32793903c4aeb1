# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preferred devices for a container."""

from __future__ import annotations

import pytest
from nodecraft_device_plugin.preference import preferred

NUMA: dict[str, int | None] = {"a": 0, "b": 0, "c": 1, "d": 1, "e": 1}


def replicas(*counts: str) -> list[str]:
    """a2 stands for a::0 and a::1."""
    return [f"{count[0]}::{number}" for count in counts for number in range(int(count[1:]))]


@pytest.mark.parametrize(
    ("available", "must", "size", "policy", "selected"),
    [
        # One NUMA node: the fullest with enough devices, or the emptiest.
        (list("abcde"), [], 2, "packed", ["a", "b"]),
        (list("abcde"), [], 2, "spread", ["c", "d"]),
        (list("abcde"), [], 3, "packed", ["c", "d", "e"]),
        # More than any node has: the largest first.
        (list("abcde"), [], 4, "packed", ["c", "d", "e", "a"]),
        # The node of the ones already selected.
        (list("abcde"), ["d"], 2, "packed", ["d", "c"]),
        # Different physical devices before anything else.
        (replicas("a2", "c1"), [], 2, "packed", ["a::0", "c::0"]),
        (replicas("a3", "b3"), [], 3, "packed", ["a::0", "b::0", "a::1"]),
        # The most used, or the least.
        (replicas("a3", "b1"), [], 1, "packed", ["b::0"]),
        (replicas("a3", "b1"), [], 1, "spread", ["a::0"]),
        (["a"], ["a"], 1, "packed", ["a"]),
        (["a"], [], 5, "packed", ["a"]),
        (["x", "y"], [], 1, "packed", ["x"]),
    ],
)
def test_preference(available: list[str], must: list[str], size: int, policy: str, selected: list[str]) -> None:
    assert preferred(available, must, size, NUMA, policy) == selected
    assert preferred(list(reversed(available)), must, size, NUMA, policy) == selected
