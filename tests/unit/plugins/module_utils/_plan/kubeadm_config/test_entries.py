# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which settings of ours may stand in kubeadm-config, and the reason for each that may not."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config import entries as rules
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.entries import (
    Entries,
    PersistRequest,
    collect_entries,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.plan import DesiredSetting
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.record import Entry, Persisted
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import SettingKey
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import API_SERVER, Json

ARG = SettingKey(API_SERVER, "args", "v")
ALL = ("etcd", API_SERVER)


def reported(place: SettingKey = ARG, value: t.Any = ("5",), files: Json | None = None, **more: t.Any) -> Json:
    """What a node tells of one setting."""
    value = list(value) if isinstance(value, tuple) else value
    entry = {"value": value, "original": None, "ours": True, "named": True, "files": files or {}, **more}
    return {place.component: {"settings": {place.field: {place.key: entry}}, "others": []}}


def collect(
    *hosts: Json,
    persisted: Persisted | None = None,
    request: PersistRequest | None = None,
    static_pods: t.Collection[str] = ALL,
) -> Entries:
    by_host = {f"cp{number}": host for number, host in enumerate(hosts, 1)}
    return collect_entries(by_host, static_pods, persisted or Persisted(), request or PersistRequest())


def recorded(place: SettingKey = ARG, value: t.Any = ("5",)) -> Persisted:
    return Persisted({place: Entry(list(value), ["2"], None)}, "", "")


def test_what_is_the_same_everywhere_is_wanted_with_its_files() -> None:
    found = collect(reported(files={"/a": "1"}), reported(files={"/a": "1"}))
    assert found == Entries({ARG: DesiredSetting(["5"], None, True)}, {}, ["/a"])


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({}, "cp2 does not have it"),
        (reported(value=("6",)), "its value differs between cp1 and cp2"),
        (reported(files={"/a": "2"}), "/a differs between cp1 and cp2"),
        (reported(files={"/a": rules.MISSING}), "/a does not exist on cp2"),
        (reported(files={"/a": rules.UNREADABLE}), "/a cannot be read on cp2"),
        (reported(files={"/a": rules.UNKNOWN}), "cp2 has no sa.key"),
        (reported(files={"/b": "1"}), "/b differs between cp1 and cp2"),
        (reported(), "/a differs between cp1 and cp2"),
    ],
)
def test_what_differs_is_skipped(other: Json, reason: str) -> None:
    found = collect(reported(files={"/a": "1"}), other)
    assert (found.desired, found.files) == ({}, [])
    assert reason in found.skipped[ARG]


def test_files_of_a_single_control_plane_need_no_comparison_and_have_to_be_there() -> None:
    assert collect(reported(files={"/a": rules.UNKNOWN})).files == ["/a"]
    assert collect(reported(files={"/a": rules.MISSING})).skipped == {ARG: "/a does not exist on cp1"}


def test_what_is_ours_on_one_and_equal_on_all_is_wanted_with_what_that_one_had_before() -> None:
    found = collect(reported(ours=False), reported(original=["1"]))
    assert found.desired == {ARG: DesiredSetting(["5"], ["1"], True)}


def test_what_is_ours_nowhere_does_not_count_unless_we_wrote_it_there() -> None:
    unowned = reported(ours=False)
    assert collect(unowned, unowned) == Entries({}, {}, [])
    assert collect(unowned, unowned, persisted=recorded()).desired == {ARG: DesiredSetting(["5"], ["2"], True)}


@pytest.mark.parametrize("named", [False, True])
def test_a_default_of_kubeadm_that_came_back_to_the_nodes_is_not_written(named: bool) -> None:
    back = reported(value=("2",), ours=False, named=named)
    assert collect(back, back, persisted=recorded()) == Entries(
        {ARG: DesiredSetting(["2"], ["2"], True)} if named else {}, {}, []
    )


def test_of_static_pods_that_the_run_does_not_request_what_is_written_stays() -> None:
    persisted = recorded(SettingKey("etcd", "args", "x"))
    assert collect({}, static_pods=(API_SERVER,), persisted=persisted).desired == {
        SettingKey("etcd", "args", "x"): DesiredSetting(["5"], ["2"])
    }
    assert collect({}, persisted=persisted).desired == {}


def test_gates_are_requested_by_name() -> None:
    gate = SettingKey(API_SERVER, "feature_gates", "A")
    assert "control_plane_persist_feature_gates" in collect(reported(gate, True)).skipped[gate]
    assert collect(reported(gate, True), request=PersistRequest(gates=["A"])).desired == {gate: DesiredSetting(True)}


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("HTTPS_PROXY", "http://proxy:3128", ""),
        ("HTTPS_PROXY", "http://user:word@proxy:3128", "password"),
        ("HTTPS_PROXY", "http://user@proxy:3128", "password"),
        ("ADDRESS", "user@example.com", ""),
        ("MY_TOKEN", "x", "token"),
        ("DB_PASSWORD", "x", "token"),
        ("TOKENIZER", "x", ""),
        ("COMPASS", "x", ""),
        ("my-token", "x", "token"),
        ("apiTokens", "x", "token"),
        ("DBPASSWORD", "x", "token"),
        ("DB_PASS", "x", "token"),
        ("ENCRYPTION_KEY", "x", "token"),
        ("HTTPS_PROXY", "HTTP://user:word@proxy:3128", "password"),
        ("HTTPS_PROXY", "http://word:@proxy:3128", "password"),
        ("HTTPS_PROXY", "user:word@proxy:3128", "password"),
        ("IMAGE", "busybox:1@sha256:abc", ""),
        ("X", "Basic dXNlcjp3b3Jk", "token"),
        ("X", "github_pat_11ABCDEFG", "token"),
        ("X", "abcdef.0123456789abcdef", "token"),
        ("X", "api.kubernetes.example", ""),
        ("X", "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr.c2ln", "token"),
        ("X", "Bearer abcdef", "token"),
        ("X", "https://hooks.example/x?a=b&access_token=abc", "token"),
        ("X", "https://hooks.example/x?a=b&timeout=3", ""),
        ("X", "-----BEGIN RSA PRIVATE KEY-----", "token"),
    ],
)
def test_a_value_that_may_be_secret_is_never_written(key: str, value: str, reason: str) -> None:
    place = SettingKey(API_SERVER, "env", key)
    found = collect(reported(place, value))
    assert (reason in found.skipped[place]) if reason else found.desired == {place: DesiredSetting(value)}


@pytest.mark.parametrize(
    ("field", "key", "written"), [("env", "A_B", "A_B"), ("args", "a-b", "a-b"), ("args", "a-b", "a_b")]
)
def test_a_value_from_a_vault_is_never_written(field: str, key: str, written: str) -> None:
    place = SettingKey(API_SERVER, field, key)
    assert "vault" in collect(reported(place, "a"), request=PersistRequest(vaulted=[written])).skipped[place]


@pytest.mark.parametrize("field", ["args", "env"])
def test_what_no_variable_names_may_come_from_a_vault_and_is_not_added(field: str) -> None:
    place = SettingKey(API_SERVER, field, "a")
    unnamed = reported(place, "5", named=False)
    assert "no variable names it" in collect(unnamed, unnamed).skipped[place]
    assert collect(unnamed, unnamed, persisted=recorded(place, "5")).desired == {
        place: DesiredSetting("5", None, False)
    }


def test_gates_that_stand_there_stay_where_no_variable_reports_which_may() -> None:
    gate = SettingKey(API_SERVER, "feature_gates", "A")
    persisted = Persisted({gate: Entry(True, None, None)}, "", "")
    unnamed = reported(gate, True, named=False)
    assert collect(unnamed, persisted=persisted).desired == {gate: DesiredSetting(True, None, False)}
    assert gate in collect(unnamed, persisted=persisted, request=PersistRequest(gates=[])).skipped


def test_an_argument_with_a_secret_is_not_written_either() -> None:
    assert "password" in collect(reported(value=("https://a:b@etcd:2379",))).skipped[ARG]


def test_what_a_node_had_before_may_be_secret_as_well() -> None:
    reason = collect(reported(original=["https://a:b@etcd:2379"])).skipped[ARG]
    assert reason.startswith("its former value is a URL with a user's password, and would be kept in ConfigMap")
    theirs = reported(ours=False, named=False)
    assert ARG in collect(theirs, reported(original=["https://a:b@etcd:2379"])).skipped


def test_a_variable_needs_the_variables_that_it_refers_to_and_so_on() -> None:
    found: Json = {}
    for key, value in (("A", "$(B)"), ("B", "$(C)"), ("D", "$(E)"), ("E", "x")):
        found.update(reported(SettingKey(API_SERVER, "env", key), value)[API_SERVER]["settings"]["env"])
    settings = {"args": reported(value=("$(A)",))[API_SERVER]["settings"]["args"], "env": found}
    entries = collect({API_SERVER: {"settings": settings, "others": []}})
    assert [place.key for place in entries.desired] == ["D", "E"]
    assert {place.key: reason.split(",")[0] for place, reason in entries.skipped.items()} == {
        "B": "it refers to C",
        "A": "it refers to B",
        "v": "it refers to A",
    }


def test_an_argument_needs_the_variables_that_it_refers_to() -> None:
    argument, variable = reported(value=("$(LEVEL)",)), reported(SettingKey(API_SERVER, "env", "LEVEL"), "5")
    assert "LEVEL" in collect(argument).skipped[ARG]
    both = {
        API_SERVER: {"settings": {**argument[API_SERVER]["settings"], **variable[API_SERVER]["settings"]}, "others": []}
    }
    assert collect(both).skipped == {}


@pytest.mark.parametrize(
    ("component", "key", "is_guard"),
    [
        (API_SERVER, "encryption-provider-config", True),
        (API_SERVER, "authorization-mode", True),
        (API_SERVER, "oidc-issuer-url", True),
        (API_SERVER, "anonymous-auth", True),
        (API_SERVER, "audit-log-path", False),
        ("kube-scheduler", "authorization-kubeconfig", False),
    ],
)
def test_what_protects_the_cluster_is_known(component: str, key: str, is_guard: bool) -> None:
    place = SettingKey(component, "args", key)
    assert rules.security_settings([place]) == ([place] if is_guard else [])
