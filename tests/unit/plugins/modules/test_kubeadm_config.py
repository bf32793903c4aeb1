# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that writes kubeadm-config: its parameters, and its result on every path."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.modules import kubeadm_config
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import TEXT, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.config_maps import ConfigMaps
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import schema_errors

SETTINGS: Json = {"etcd": {"args": {"quota-backend-bytes": {"value": ["1"]}}}}


@pytest.fixture(name="play")
def fixture_play(
    start: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> t.Callable[..., Json]:
    """Run the module against ConfigMaps."""

    def play(api: ConfigMaps, **parameters: t.Any) -> Json:
        def connect(module: t.Any) -> ConfigMaps:
            module.client = api
            return api

        monkeypatch.setattr(kubeadm_config, "connect", connect)
        with pytest.raises(SystemExit):
            start(kubeadm_config.main, **parameters)
        result: Json = json.loads(capsys.readouterr().out)
        if result.get("operations") is not None or not result.get("failed"):
            assert schema_errors("kubeadm_config", result) == []
        return result

    return play


def test_settings_are_written_once_and_reverted(play: t.Callable[..., Json]) -> None:
    api = ConfigMaps()
    result = play(api, settings=SETTINGS, _ansible_diff=True)
    assert (result["changed"], result["diff"][0]["before"]) == (True, TEXT)
    assert play(api, settings=SETTINGS)["changed"] is False
    assert play(api, settings={})["changed"] is True
    assert api.text == TEXT


def test_check_mode_writes_nothing(play: t.Callable[..., Json]) -> None:
    api = ConfigMaps()
    result = play(api, settings=SETTINGS, _ansible_check_mode=True)
    assert (result["changed"], result["rehearsal"]["verdict"], api.text) == (True, "accepted", TEXT)


def test_invalid_yaml_in_the_config_map_fails_with_all_keys(play: t.Callable[..., Json]) -> None:
    result = play(ConfigMaps("a: ["), settings=SETTINGS)
    assert result["failed"]
    assert "it is not valid YAML" in result["msg"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "missing required arguments: settings"),
        ({"settings": {"kube-vip": {}}}, "invalid settings kube-vip"),
        # verified has the digests of the text before and after.
        ({"settings": SETTINGS, "verified": {"before": "a"}}, "missing required arguments: after"),
    ],
)
def test_invalid_parameters_are_refused(play: t.Callable[..., Json], given: Json, complaint: str) -> None:
    assert complaint in play(ConfigMaps(), **given)["msg"]


def test_unknown_settings_fail_with_all_keys(play: t.Callable[..., Json]) -> None:
    assert play(ConfigMaps(), settings={"kube-vip": {}})["operations"] == []
