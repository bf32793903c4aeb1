# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that reviews rights."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.modules import access_info
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play

__all__ = ["fixture_api", "fixture_play"]


@pytest.mark.parametrize("check_mode", [False, True])
def test_rights_are_reviewed_in_check_mode_too(play: Start, api: FakeApi, check_mode: bool) -> None:
    api.granted = {("list", "")}
    rights = [{"verb": "list", "resource": "nodes"}, {"verb": "get", "resource": "nodes/proxy"}]
    result = play(access_info, rights=rights, _ansible_check_mode=check_mode)
    assert (result["changed"], result["user"]) == (False, "runner")
    assert result["missing"] == [{"verb": "get", "resource": "nodes/proxy", "group": "", "namespace": "", "names": []}]


def test_right_without_a_verb_is_an_error(play: Start) -> None:
    assert "verb" in play(access_info, rights=[{"resource": "nodes"}])["msg"]
