# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter as a template uses it."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.unreachable_objection import FilterModule


def test_it_returns_a_text() -> None:
    objection = FilterModule().filters()["unreachable_objection"]
    assert objection({}, [], hosts=[], limit=0, variable="v") == ""
    assert "v is 0" in objection({"w1": "x"}, ["cp1"], hosts=["w1"], limit=0, variable="v")
