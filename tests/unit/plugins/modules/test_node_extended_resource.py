# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extended resources: parameters."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.modules import node_extended_resource
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play

__all__ = ["fixture_api", "fixture_play"]

D = "example.com/dongle"


def test_amounts_are_numbers_or_texts(play: Start, api: FakeApi) -> None:
    assert play(node_extended_resource, nodes=["w1"], resources={D: "4"})["changed"]
    assert not play(node_extended_resource, nodes=["w1"], resources={D: 4})["changed"]
    assert api.paths("PATCH")[0].startswith("/api/v1/nodes/w1/status?")


@pytest.mark.parametrize("amount", ["-1", "1.5", "abc", ""])
def test_amounts_that_cannot_be(play: Start, api: FakeApi, amount: str) -> None:
    assert "must be a whole number" in play(node_extended_resource, nodes=["w1"], resources={D: amount})["msg"]
    assert api.requests == []
