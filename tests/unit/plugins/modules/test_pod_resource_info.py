# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pod holds which device: parameters, and what is returned."""

from __future__ import annotations

import pytest
from ansible.module_utils import basic
from ansible_collections.nodecraft.kubeadm.plugins.modules import pod_resource_info
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import pod

__all__ = ["fixture_api", "fixture_play"]

LABELS = {"app.kubernetes.io/name": "nodecraft-device-plugin"}
TOKEN = {"plugin_token": "secret"}
IN_SECRET = {"plugin_token_secret": "name"}


@pytest.mark.parametrize("check_mode", [False, True])
def test_what_is_read(play: Start, api: FakeApi, check_mode: bool) -> None:
    api.pods = [pod("plugin", namespace="nodecraft-device-plugin", labels=LABELS)]
    api.proxied = {"plugin": {"holdings": [], "allocatable": {"example.com/dongle": ["a"]}}}
    result = play(pod_resource_info, **TOKEN, _ansible_check_mode=check_mode)
    assert set(result) == {"api", "changed", "nodes", "allocations"}
    assert (result["changed"], result["allocations"]) == (False, [])
    assert result["nodes"]["w1"]["resources"]["example.com/dongle"]["free"] == ["a"]
    assert "warnings" not in result


def test_node_without_a_report_is_a_warning(play: Start, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    # ansible-core keeps warnings for the results of later tests, too.
    monkeypatch.setattr(basic.AnsibleModule, "warn", lambda _module, text: warned.append(text))
    api.pods = [pod("plugin", namespace="nodecraft-device-plugin", labels=LABELS, phase="Pending")]
    result = play(pod_resource_info)
    assert "failed" not in result
    assert not result["nodes"]["w1"]["responded"]
    assert "1 of 1 nodes do not report" in str(warned)


def test_missing_plugin_is_an_error(play: Start) -> None:
    assert "no pod with the labels app.kubernetes.io/name" in play(pod_resource_info)["msg"]


def test_one_token_at_most(play: Start) -> None:
    result = play(pod_resource_info, **TOKEN, **IN_SECRET)
    assert "mutually exclusive" in result["msg"]
