# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a task is read as each ansible-core hands it to callbacks."""

from __future__ import annotations

import types

import pytest
from ansible_collections.nodecraft.kubeadm.lab.results import content_of

FOUND = {"msg": "found"}


@pytest.mark.parametrize(
    "result",
    [types.SimpleNamespace(_result=FOUND), types.SimpleNamespace(_result={}, result=FOUND)],
    ids=["2.18", "2.19"],
)
def test_what_a_task_found(result: types.SimpleNamespace) -> None:
    assert content_of(result) == FOUND
