# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that only reads."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.modules import node_resource_info
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play

__all__ = ["fixture_api", "fixture_play"]


def test_what_is_read(play: Start) -> None:
    result = play(node_resource_info, readmission=True)
    assert (result["changed"], result["nodes"]["w1"]["readmission"]) == (False, [])


def test_a_node_that_is_not_there(play: Start) -> None:
    assert "there is no node missing" in play(node_resource_info, nodes=["missing"])["msg"]
