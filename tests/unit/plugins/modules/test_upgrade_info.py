# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that only reads."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.modules import upgrade_info
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi, HttpError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play

__all__ = ["fixture_api", "fixture_play"]

CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"


def test_what_is_read(play: Start, api: FakeApi) -> None:
    api.responses[CONFIG_MAP] = {"data": {"ClusterConfiguration": "a: 1\n"}}
    result = play(upgrade_info)
    assert (result["changed"], result["cluster_configuration"], list(result["kubelets"])) == (False, "a: 1\n", ["w1"])
    assert result["api"]["server"] == api.url


def test_a_cluster_that_is_none_of_kubeadm(play: Start, api: FakeApi) -> None:
    api.responses[CONFIG_MAP] = HttpError(404, "not found")
    assert "kubeadm cannot upgrade this cluster" in play(upgrade_info)["msg"]
