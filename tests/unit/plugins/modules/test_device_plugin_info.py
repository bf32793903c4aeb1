# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that checks whether a device plugin works."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.modules import device_plugin_info
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play

__all__ = ["fixture_api", "fixture_play"]


def test_what_is_wrong_is_no_failure(play: Start) -> None:
    result = play(device_plugin_info)
    assert (result.get("failed", False), result["changed"], result["selected"]) == (False, False, ["w1"])
    assert "there is no DaemonSet nodecraft-device-plugin/nodecraft-device-plugin" in result["problems"][0]


def test_a_selector_that_matches_nothing_is(play: Start) -> None:
    result = play(device_plugin_info, node_selector={"a": "b"})
    assert "node_selector a=b" in result["msg"]


def test_an_entry_without_resources(play: Start) -> None:
    assert "resources" in play(device_plugin_info, expected=[{"nodes": ["w1"]}])["msg"]
