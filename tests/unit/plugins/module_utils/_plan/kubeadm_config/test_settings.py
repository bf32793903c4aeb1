# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node tells of its static pods."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned, Record, Values
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config import settings
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import SettingKey
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import VOLUME

LIVE: Values = {
    "args": {"v": ["5"], "w": ["1"], "x": ["9"]},
    "env": {"A": "secret", "B": "b"},
    "resources": {"requests.cpu": "1"},
}
RECORD: Record = {
    "args": {"v": Owned(["5"], ["2"]), "w": Owned(["other"], None), "gone": Owned(None, ["1"])},
    "env": {"A": Owned("secret", None), "B": Owned("b", None)},
    "resources": {"requests.cpu": Owned("1", None)},
    "files": {"/a": Owned({}, None)},
}


def test_what_is_ours_as_it_is_and_of_secrets_only_the_name() -> None:
    found = settings.collect_settings(LIVE, RECORD, {"args": {"v": ["5"]}}, (), ["B"])
    assert found["others"] == ["env A", "resources requests.cpu"]
    assert settings.by_setting_key({"etcd": found}) == {
        SettingKey("etcd", "args", "v"): {"value": ["5"], "original": ["2"], "ours": True, "named": True},
        SettingKey("etcd", "args", "gone"): {"value": None, "original": ["1"], "ours": True, "named": False},
        SettingKey("etcd", "env", "B"): {"value": "b", "original": None, "ours": True, "named": False},
    }
    assert "secret" not in str(found)


def test_without_names_of_variables_those_in_kubeadm_config_are_reported() -> None:
    found = settings.collect_settings(LIVE, RECORD, {}, [("env", "B")], None)
    assert found["settings"]["env"] == {"B": {"value": "b", "original": None, "ours": True, "named": False}}
    assert "env A" in found["others"]


def test_values_of_others_that_are_named_or_that_we_wrote_to_kubeadm_config_are_reported_as_theirs() -> None:
    named: Values = {"args": {"x": ["9"], "w": ["2"], "v": ["6"], "none": None}, "env": {"A": "secret"}}
    found = settings.collect_settings(LIVE, {}, named, [("args", "w"), ("args", "missing")], ())
    assert found == {
        "settings": {
            "args": {
                "x": {"value": ["9"], "original": None, "ours": False, "named": True},
                "w": {"value": ["1"], "original": None, "ours": False, "named": True},
            }
        },
        "others": [],
    }


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"etcd": {"args": {"v": {"value": ["1"]}}}}, ""),
        ({"kube-vip": {}}, "invalid settings kube-vip"),
        ({"etcd": {"files": {}}}, "invalid settings etcd files"),
        ({"etcd": ["args"]}, "invalid settings etcd"),
        ({"etcd": {"args": {"v": ["1"]}}}, "must be a mapping with value"),
        ({"etcd": {"args": ["v"]}}, "must be a mapping with value"),
        ({"etcd": {"args": {"v": {"value": "30"}}}}, "must have a list of strings as its value"),
        ({"etcd": {"args": {"v": {"value": [30]}}}}, "must have a list of strings as its value"),
        ({"etcd": {"args": {"v": {"value": []}}}}, "must have a list of strings as its value"),
        ({"etcd": {"args": {"a_b": {"value": ["1"]}}}}, "must be the name of a flag with dashes"),
        ({"etcd": {"args": {"--v": {"value": ["1"]}}}}, "must be the name of a flag with dashes"),
        ({"etcd": {"args": {"feature-gates": {"value": ["A=true"]}}}}, "no list of gates or plugins"),
        ({"etcd": {"feature_gates": {"A": {"value": "false"}}}}, "must have a boolean as its value"),
        ({"etcd": {"feature_gates": {"A": {"value": False}}}}, ""),
        ({"etcd": {"admission_plugins": {"A": {"value": "on"}}}}, "must have enabled or disabled as its value"),
        ({"etcd": {"admission_plugins": {"A": {"value": "disabled"}}}}, ""),
        ({"etcd": {"env": {"A": {"value": 1}}}}, "must have a string as its value"),
        ({"etcd": {"env": {"A": {"value": None}}}}, ""),
        ({"etcd": {"volumes": {"a": {"value": {"host_path": "/a"}}}}}, "must have a mapping with host_path"),
        ({"etcd": {"volumes": {"a": {"value": {**VOLUME, "read_only": "yes"}}}}}, "must have a mapping with host_path"),
        ({"etcd": {"volumes": {"a": {"value": VOLUME}}}}, ""),
    ],
)
def test_settings_in_another_form_are_refused(given: t.Any, complaint: str) -> None:
    assert settings.settings_error(given) == "" if not complaint else complaint in settings.settings_error(given)
