# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run over the control plane decides about kubeadm-config."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import text_digest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.control_plane_persistence import (
    Persistence,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.plan import ConfigPlan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.record import (
    Entry,
    Persisted,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import SettingKey
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.static_pod_results import ConfigWritten
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import (
    API_SERVER,
    ENTRY,
    KNOWN,
    TEXT,
    Json,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_hosts import host, pod, results

FACTS: Json = {"settings": {"args": {"v": ENTRY}}, "others": ["env A"]}
NONE: Json = {"settings": {}, "others": []}
WITH_V = TEXT.replace("apiServer: {}\n", 'apiServer:\n  extraArgs:\n  - name: v\n    value: "5"\n')
RECORD = Persisted({SettingKey(API_SERVER, "args", "v"): Entry(["5"], None, None)}, TEXT, text_digest(WITH_V)).dump()


def hosts(
    known: Json | None = None, *, has_facts: bool = True, facts: t.Any = None, **settings: t.Any
) -> dict[str, Json]:
    facts_of_pod = (facts or FACTS) if has_facts else None
    found = {name: host(name, {API_SERVER: pod(persistable=facts_of_pod)}, **settings) for name in ("cp1", "cp2")}
    for registers in found.values():
        registers["plan"]["kubeadm_config"] = {**KNOWN, **(known or {})}
    return found


def decided(registers: dict[str, Json], *, check_mode: bool = False) -> Persistence | None:
    return Persistence.of({name: results(each) for name, each in registers.items()}, dry=check_mode)


def of(known: Json | None = None, *, check_mode: bool = False, enabled: bool = True, **more: t.Any) -> Persistence:
    found = decided(hosts(known, control_plane_persist=enabled, **more), check_mode=check_mode)
    assert found is not None
    return found


def plan_of(persistence: Persistence) -> ConfigPlan:
    assert persistence.pending_plan is not None
    return persistence.pending_plan


def proof_of(persistence: Persistence) -> Json:
    return persistence.proof_options(plan_of(persistence))


def test_it_is_written_where_it_is_requested_and_nothing_keeps_it() -> None:
    assert (of().refusal(), of().pending_plan is not None, of().failure) == ("", True, "")
    assert not of(check_mode=True).pending_plan
    assert not of(enabled=False).pending_plan
    assert not of(facts=NONE).pending_plan


@pytest.mark.parametrize(
    "known", [{"control_planes": ["cp1", "cp2", "cp3"]}, {"managers": ["minikube"]}, {"text": None}, {"text": "a: ["}]
)
def test_what_keeps_it_is_known_before_the_first_write_where_there_is_something_to_write(known: Json) -> None:
    refused = of(known)
    assert refused.refusal().endswith("run with -e control_plane_persist=false.")
    assert not refused.pending_plan
    assert of(known, enabled=False).refusal() == ""
    assert of(known, facts=NONE).refusal() == ""
    assert of({**known, "record": RECORD}, facts=NONE).refusal() == refused.refusal()


def test_a_text_that_cannot_be_edited_is_refused_as_well() -> None:
    assert "anchor" in of({"text": TEXT.replace("scheduler: {}", "scheduler: &a {}")}).refusal()


def test_an_api_that_does_not_respond_may_be_what_is_to_be_repaired() -> None:
    silent = of({"problem": "no answer", "text": None})
    assert (silent.refusal(), silent.pending_plan) == ("", None)
    assert "could not be read: no answer" in silent.failure
    assert of({"problem": "no answer"}, enabled=False).failure == ""
    assert of({"problem": "no answer"}, check_mode=True).failure == ""
    assert of({"problem": "no answer"}, facts=NONE).failure == ""
    assert of().failure == ""


def test_a_record_that_is_not_ours_keeps_no_run_from_its_end() -> None:
    broken = {"problem": "ConfigMap kube-system/nodecraft-kubeadm-persisted, record: ...", "record": "{"}
    assert of(broken, enabled=False).report_lines(None, diff=False)
    assert "nodecraft-kubeadm-persisted" in of(broken).failure


def test_what_was_put_there_and_is_not_wanted_any_more_goes() -> None:
    assert of({"record": RECORD, "text": WITH_V}, facts=NONE).pending_plan
    assert not of({"text": WITH_V}, facts=NONE).pending_plan
    # Another took it out: the record alone is written, and there is nothing to verify.
    gone = of({"record": RECORD}, facts=NONE)
    assert proof_of(gone)["changes"] == []


def test_one_host_that_can_query_is_enough() -> None:
    found = hosts(control_plane_persist=True)
    found["cp1"]["plan"]["kubeadm_config"] = {**KNOWN, "problem": "no answer", "text": None}
    persistence = decided(found)
    assert persistence is not None
    assert persistence.pending_plan


def test_without_facts_or_in_an_earlier_pass_nothing_is_decided() -> None:
    assert decided(hosts(has_facts=False)) is None
    assert decided(hosts(persists=False)) is None
    assert decided({}) is None
    without = hosts()
    del without["cp2"]["plan"]["kubeadm_config"]
    assert decided(without) is None


def test_what_is_verified_and_what_is_written() -> None:
    proof, request = proof_of(of()), of().write_options(plan_of(of()))
    assert proof["settings"] == {API_SERVER: {"args": {"v": ["5"]}}}
    assert proof["changes"] == [{"component": API_SERVER, "field": "args", "key": "v"}]
    assert proof["before"] == TEXT
    assert request["settings"] == {API_SERVER: {"args": {"v": {"value": ["5"], "original": None, "named": True}}}}
    assert request["verified"] == {"before": text_digest(TEXT), "after": text_digest(proof["after"])}
    assert request["cluster"]["ca_sha256"] == "a"


def test_what_the_text_cannot_have_is_neither_verified_nor_written() -> None:
    facts = {"settings": {"args": {"v": ENTRY, "profiling": {**ENTRY, "value": None}}}, "others": []}
    assert list(proof_of(of(facts=facts))["settings"][API_SERVER]["args"]) == ["v"]


def test_names_that_the_user_gives_reach_the_decision() -> None:
    facts = {
        "settings": {"feature_gates": {"A": {**ENTRY, "value": True}}, "env": {"E": {**ENTRY, "value": "x"}}},
        "others": [],
    }
    assert [change["key"] for change in proof_of(of(facts=facts))["changes"]] == ["E"]
    named: Json = {"control_plane_persist_feature_gates": ["A"], "vaulted": ["E"]}
    assert [change["key"] for change in proof_of(of(facts=facts, **named))["changes"]] == ["A"]


@pytest.mark.parametrize(
    ("written", "more", "line"),
    [
        ({"operations": [1]}, {}, "    kube-apiserver args v: unset -> 5"),
        (
            {"operations": [1], "failed": True},
            {},
            "reverts, and a control plane that joins lacks: kube-apiserver args v",
        ),
        ({}, {}, "reverts, and a control plane that joins lacks: kube-apiserver args v"),
        ({}, {"check_mode": True}, "    kube-apiserver args v: unset -> 5"),
        ({}, {"enabled": False}, "With control_plane_persist: true"),
        ({}, {"known": {"managers": ["minikube"]}}, "kubeadm-config is not written: minikube renders"),
    ],
)
def test_report_lines_at_the_end(written: Json, more: Json, line: str) -> None:
    result = ConfigWritten(**written) if written else None
    lines = of(**more).report_lines(result, diff=False)
    assert line in "\n".join(lines)
    assert "kube-apiserver env A" in "\n".join(lines)
    assert not any(line.startswith("+") for line in lines)
    assert any(line.startswith("+") for line in of(**more).report_lines(result, diff=True))


def test_a_config_map_that_is_not_there_is_reported_at_the_end() -> None:
    lines = of({"text": None}).report_lines(None, diff=True)
    assert "kubeadm-config is not written: there is no ConfigMap" in "\n".join(lines)
    assert not any(line.startswith("+") for line in lines)
