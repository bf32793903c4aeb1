# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook that checks an upgrade: what it hands over, what it refuses, and what it reports."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

SETTINGS: Json = {"upgrade_check_target": "1.37.2", "upgrade_check_programs": "/new"}

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the playbook on a control plane and a worker. w1: variables of the worker."""

    def play(variables: Json, w1: Json | None = None, cp1: Json | None = None) -> Outcome:
        groups: Json = {"kube_control_plane": {"cp1": cp1 or {}}, "kube_node": {"w1": w1 or {}}}
        return stage.playbook("upgrade_check", groups, variables=variables)

    return play


def test_the_controller_queries_as_its_user_whatever_the_inventory_reports_of_all_hosts(stage: Stage) -> None:
    stage.environment["K8S_AUTH_KUBECONFIG"] = "/here"
    becomes = {"ansible_become": True}
    groups: Json = {"kube_control_plane": {"cp1": becomes}, "controllers": {"localhost": becomes}}
    info = {"cluster_configuration": "a: 1", "kubelets": {"cp1": "v1.36.3"}}
    outcome = stage.playbook("upgrade_check", groups, variables={**SETTINGS, "stub_upgrade_info": info})
    assert outcome.status == 0, outcome.output
    api_calls = [(call["machine"], call["becomes"]) for call in outcome.calls if call["component"] == "upgrade_info"]
    assert api_calls == [("localhost", False)] * 2


@pytest.mark.slice
def test_what_is_requested_reaches_the_modules(play: Play) -> None:
    variables = {
        **SETTINGS,
        "control_plane_feature_gates": {"A": True},
        "control_plane_components": {"etcd": {"args": {"v": 1}}},
        "node_kubelet_config": {"maxPods": 5},
    }
    outcome = play(variables)
    assert outcome.status == 0, outcome.output
    info, *checks, again = outcome.calls
    assert (again["component"], again["machine"], again["becomes"]) == ("upgrade_info", "cp1", True)
    assert "target" not in again["arguments"]
    assert (info["component"], info["machine"], info["becomes"]) == ("upgrade_info", "cp1", True)
    assert info["arguments"]["target"] == "1.37.2"
    assert sorted(call["host"] for call in checks) == ["cp1", "w1"]
    arguments = checks[0]["arguments"]
    assert arguments["cluster_configuration"] == "kind: ClusterConfiguration"
    static_pods = {
        name: {option: value for option, value in entry.items() if value}
        for name, entry in arguments["static_pods"].items()
    }
    assert static_pods["kube-scheduler"] == {"feature_gates": {"A": True}}
    assert static_pods["etcd"] == {"args": {"v": 1}}
    assert (arguments["kubelet"]["config"], arguments["kubelet"]["purge"], arguments["purge"]) == (
        {"maxPods": 5},
        True,
        True,
    )
    (report,) = outcome.reports
    assert "cp1: nothing vanishes and nothing breaks" in report
    assert "Upgrade to 1.37.2: nothing that was rehearsed breaks" in report
    report = outcome.statistics["upgrade_check_report"]
    assert (report["safe"], sorted(report["nodes"]), report["not_checked"]) == (True, ["cp1", "w1"], [])
    # What could not be read of kube-proxy is report by the module that reads it.
    assert arguments["kube_proxy_configuration"] == ""


def test_a_node_that_cannot_be_checked_keeps_no_other_from_it(play: Play) -> None:
    outcome = play(SETTINGS, {"stub_machine": "gone"})
    assert outcome.status != 0
    report = outcome.statistics["upgrade_check_report"]
    assert (report["safe"], report["nodes"]["cp1"]["checked"], report["nodes"]["w1"]["checked"]) == (False, True, False)
    assert "w1: NOT CHECKED" in outcome.output
    assert "cp1: nothing vanishes and nothing breaks" in outcome.output


def test_where_no_node_can_be_checked_each_reports_why(play: Play) -> None:
    failed = {"stub_upgrade": {"failed": True, "msg": "invalid target"}}
    outcome = play(SETTINGS, failed, failed)
    assert outcome.status != 0
    assert "list index" not in outcome.output
    assert {f"{host} was not checked: invalid target" in outcome.output for host in ("cp1", "w1")} == {True}
    assert "cp1: NOT CHECKED: invalid target" in outcome.output


def test_a_cluster_that_is_none_of_kubeadm(play: Play) -> None:
    outcome = play({**SETTINGS, "stub_upgrade_info": {"failed": True, "msg": "there is no kubeadm-config"}})
    assert outcome.status != 0
    assert "there is no kubeadm-config" in outcome.output
    assert [call["component"] for call in outcome.calls] == ["upgrade_info"]
    # It is report all the same that nothing was checked.
    report = outcome.statistics["upgrade_check_report"]
    assert (report["safe"], [report["nodes"][name]["checked"] for name in ("cp1", "w1")]) == (False, [False, False])
    assert "w1: NOT CHECKED" in outcome.output


def test_hosts_of_another_cluster_fail_the_run(stage: Stage) -> None:
    result: Json = {"versions": {}, "findings": []}
    planes: Json = {
        host: {
            "stub_cluster": name,
            "stub_upgrade": {**result, "cluster": {"ca_sha256": name, "server": f"https://{name}:6443"}},
        }
        for host, name in (("cp1", "prod"), ("cp2", "stage"))
    }
    outcome = stage.playbook("upgrade_check", {"kube_control_plane": planes}, variables=SETTINGS)
    assert outcome.status != 0
    assert "cp2: NOT CHECKED: it is of another cluster (https://stage:6443, authority stage) than cp1" in outcome.output
    nodes = outcome.statistics["upgrade_check_report"]["nodes"]
    assert {name: node["checked"] for name, node in nodes.items()} == {"cp1": True, "cp2": False}


def test_a_configuration_that_is_written_meanwhile(play: Play) -> None:
    info = {
        "cluster_configuration": "a: 1",
        "kubelets": {"cp1": "v1.36.3", "w1": "v1.36.3"},
        "again": {"cluster_configuration": "a: 2"},
    }
    outcome = play({**SETTINGS, "stub_upgrade_info": info})
    assert outcome.status != 0
    assert (
        "cluster: BREAKS (ConfigMap kube-system/kubeadm-config, set by kubeadm-config): it was written while"
        in outcome.output
    )
    assert outcome.statistics["upgrade_check_report"]["safe"] is False


NO_ETCD: Json = {"name": "etcd", "reason": "there is no image", "remedy": "pull it"}
UNREHEARSED: Json = {
    "stub_upgrade": {
        "is_control_plane": True,
        "versions": {"kube-apiserver": "v1.36.3"},
        "findings": [],
        "not_rehearsed": [NO_ETCD],
    }
}


def test_what_was_not_rehearsed_fails_the_run(play: Play) -> None:
    outcome = play(SETTINGS, None, UNREHEARSED)
    assert outcome.status != 0
    assert outcome.statistics["upgrade_check_report"]["safe"] is False
    assert "not rehearsed: etcd on cp1: there is no image; pull it" in outcome.output
    assert "accept it by name: -e upgrade_check_accept_unrehearsed=etcd" in outcome.output


@pytest.mark.slice
@pytest.mark.parametrize("names", ["etcd", ["etcd", "kubelet"]])
def test_what_is_accepted_by_name_passes(play: Play, names: t.Any) -> None:
    outcome = play({**SETTINGS, "upgrade_check_accept_unrehearsed": names}, None, UNREHEARSED)
    assert outcome.status == 0, outcome.output
    report = outcome.statistics["upgrade_check_report"]
    assert (report["safe"], report["nodes"]["cp1"]["not_rehearsed"]) == (True, [{**NO_ETCD, "accepted": True}])
    assert "not rehearsed, and accepted: etcd on cp1" in outcome.output


def test_unknown_name_is_refused_before_a_node_is_queried(play: Play) -> None:
    outcome = play({**SETTINGS, "upgrade_check_accept_unrehearsed": "all"}, None, UNREHEARSED)
    assert outcome.status != 0
    assert "invalid upgrade_check_accept_unrehearsed all: must be names" in outcome.output
    assert outcome.calls == []
