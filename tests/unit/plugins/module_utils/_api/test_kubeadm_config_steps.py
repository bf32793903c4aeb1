# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both ConfigMaps: what is written in which order, and what becomes of it when another writes too."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import ApiError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.kubeadm_config_steps import (
    KubeadmConfigSteps,
    Observed,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import text_digest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.plan import ConfigPlan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.record import (
    NAME,
    Entry,
    Persisted,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import SettingKey
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import (
    API_SERVER,
    OTHERS,
    TEXT,
    Json,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.config_maps import ConfigMaps
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import StepRunner

V: Json = {API_SERVER: {"args": {"v": {"value": ["4"], "original": ["2"]}}}}
ConfigRun = StepRunner[Observed, ConfigPlan]
CONFIG = "replace kubeadm-config"


def steps(
    api: ConfigMaps, settings: Json | None = None, *, dry: bool = False, verified: Json | None = None
) -> ConfigRun:
    params = {"settings": V if settings is None else settings, "verified": verified}
    return StepRunner(KubeadmConfigSteps(params, connect=lambda: t.cast(t.Any, api), diff=True), dry=dry)


def carry_out(runner: ConfigRun) -> Json:
    with runner.session():
        runner.read()
        if runner.plan().operations:
            runner.rehearse()
            runner.apply()
        else:
            runner.verify()
    return runner.report()


def test_setting_is_recorded_before_the_write_until_it_is_reverted() -> None:
    api = ConfigMaps()
    result = carry_out(steps(api))
    assert api.writes == [f"create {NAME}", CONFIG]
    assert api.objects["kubeadm-config"]["data"]["others"] == "x"
    assert api.objects["kubeadm-config"]["metadata"]["labels"] == {"a": "b"}
    assert [(each["field"], each["key"], each["after"]) for each in result["operations"]] == [
        (API_SERVER, "args v", ["4"])
    ]
    assert (result["diff"][0]["before"], result["diff"][0]["after"]) == (TEXT, api.text)
    assert carry_out(steps(api))["operations"] == []
    api.writes.clear()
    carry_out(steps(api, {}))
    assert api.writes == [CONFIG, f"delete {NAME}"]
    assert (api.text, api.record) == (TEXT, None)


def test_another_setting_is_recorded_with_the_former_one() -> None:
    api = ConfigMaps()
    carry_out(steps(api))
    sizes: list[int] = []
    api.before_write = lambda write: sizes.append(len(Persisted.parse(api.record).entries)) if write == CONFIG else None
    carry_out(steps(api, {API_SERVER: {"args": {"w": {"value": ["1"]}}}}))
    assert sizes == [2]
    assert [place.key for place in Persisted.parse(api.record).entries] == ["w"]
    carry_out(steps(api, {}))
    assert api.text == TEXT


def test_a_run_that_ends_in_the_middle_leaves_nothing_without_an_owner() -> None:
    api = ConfigMaps()

    def end(write: str) -> None:
        if write == CONFIG:
            raise KeyboardInterrupt

    api.before_write = end
    for settings in (V, {}):
        with pytest.raises(KeyboardInterrupt):
            carry_out(steps(api, settings if settings else {API_SERVER: {"args": {"w": {"value": ["1"]}}}}))
    api.before_write = lambda write: None
    carry_out(steps(api))
    carry_out(steps(api, {}))
    assert (api.text, api.record) == (TEXT, None)


@pytest.mark.parametrize("text", [TEXT, OTHERS])
def test_another_value_whose_write_was_not_made_leaves_the_former_one_ours(text: str) -> None:
    five: Json = {API_SERVER: {"args": {"v": {"value": ["5"]}}}}

    def end(write: str) -> None:
        if write == CONFIG:
            raise KeyboardInterrupt

    def write_once(write: str) -> None:
        if write == CONFIG:
            api.before_write = lambda write: None
            api.put("kubeadm-config", {"ClusterConfiguration": f"{api.text}mine: 1\n"})

    api = ConfigMaps(text)
    carry_out(steps(api))
    api.before_write = end
    for _attempt in range(2):
        with pytest.raises(KeyboardInterrupt):
            carry_out(steps(api, five))
    api.before_write = lambda write: None
    carry_out(steps(api, {}))
    assert (api.text, api.record) == (text, None)
    carry_out(steps(api))
    api.before_write = write_once
    carry_out(steps(api, five))
    assert Persisted.parse(api.record).entries[SettingKey(API_SERVER, "args", "v")] == Entry(["5"], None, None)
    carry_out(steps(api, {}))
    assert (api.text, api.record) == (f"{text}mine: 1\n", None)


def test_unrecorded_write_is_recorded_by_the_next_run() -> None:
    api = ConfigMaps()
    carry_out(steps(api))

    def end(write: str) -> None:
        if write == f"replace {NAME}" and '"5"' in api.text:
            raise KeyboardInterrupt

    five: Json = {API_SERVER: {"args": {"v": {"value": ["5"]}}}}
    api.before_write = end
    with pytest.raises(KeyboardInterrupt):
        carry_out(steps(api, five))
    assert Persisted.parse(api.record).entries[SettingKey(API_SERVER, "args", "v")].former == (["4"],)
    api.before_write = lambda write: None
    carry_out(steps(api, five))
    assert Persisted.parse(api.record).entries[SettingKey(API_SERVER, "args", "v")].former == ()
    assert carry_out(steps(api, five))["operations"] == []
    carry_out(steps(api, {}))
    assert (api.text, api.record) == (TEXT, None)


def test_what_another_writes_meanwhile_is_planned_again() -> None:
    api = ConfigMaps()

    def write_once(write: str) -> None:
        if write == CONFIG:
            api.before_write = lambda write: None
            api.put("kubeadm-config", {"ClusterConfiguration": OTHERS})

    api.before_write = write_once
    carry_out(steps(api))
    assert api.writes.count(CONFIG) == 2
    assert "audit_log_maxage" in api.text
    carry_out(steps(api, {}))
    assert api.text == OTHERS


def test_what_was_verified_is_what_is_written() -> None:
    first = steps(ConfigMaps())
    first.read()
    plan = first.plan()
    verified = {"before": text_digest(plan.before), "after": text_digest(plan.after)}
    carry_out(steps(ConfigMaps(), verified=verified))
    for api, given in ((ConfigMaps(OTHERS), verified), (ConfigMaps(), {**verified, "after": "x"})):
        with pytest.raises(Refusal, match="was changed by another client since this run read it"):
            carry_out(steps(api, verified=given))
        assert api.writes == []
    api = ConfigMaps()

    def change(write: str) -> None:
        if write == CONFIG:
            api.put("kubeadm-config", {"ClusterConfiguration": OTHERS})

    api.before_write = change
    with pytest.raises(Refusal, match="was changed by another"):
        carry_out(steps(api, verified=verified))
    assert api.text == OTHERS


def test_refusal_of_the_api_server_is_an_error() -> None:
    api = ConfigMaps()
    api.next_error = 403
    with pytest.raises(ApiError):
        carry_out(steps(api))
    assert api.text == TEXT


def test_check_mode_sends_dry_runs_of_both() -> None:
    api = ConfigMaps()
    dry = steps(api, dry=True)
    dry.read()
    dry.plan()
    assert dry.rehearse().verdict == "accepted"
    assert api.writes == [f"create {NAME} (dry)", f"{CONFIG} (dry)"]
    assert (api.text, api.record) == (TEXT, None)
    api.next_error = 403
    assert dry.rehearse().verdict == "refused"


def test_a_cluster_without_kubeadm_config() -> None:
    with pytest.raises(KubeadmError, match="does not exist"):
        carry_out(steps(ConfigMaps(None)))


def test_settings_that_cannot_be_written_are_reported() -> None:
    settings = {API_SERVER: {"args": {"profiling": {"value": None}}}}
    result = carry_out(steps(ConfigMaps(), settings))
    assert list(result["not_persisted"]) == ["kube-apiserver args profiling"]
    unnamed = {API_SERVER: {"args": {"audit-log-maxage": {"value": ["1"], "named": False}}}}
    assert list(carry_out(steps(ConfigMaps(OTHERS), unnamed))["not_persisted"]) == [
        "kube-apiserver args audit-log-maxage"
    ]
