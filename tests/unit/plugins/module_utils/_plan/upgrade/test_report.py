# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the check of an upgrade reports."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import findings, report
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    BROKEN,
    COLLECTION,
    CONFIG_MAP,
    KEPT,
    REAPPLIED,
    WARNS,
    Finding,
)

KNOWN = ["target", "programs", "patches"]


@pytest.mark.parametrize(
    ("names", "objection"),
    [
        (["upgrade_check_target", "upgrade_check_programs", "other", "upgrade_check_report"], ""),
        (["upgrade_check_target", "upgrade_check_programs", "upgrade_check_accept_unrehearsed"], ""),
        (["upgrade_check_target"], "Set upgrade_check_programs: "),
        ([], "Set upgrade_check_target and upgrade_check_programs: the version to upgrade to"),
        (["upgrade_check_targt"], "invalid variable upgrade_check_targt: must be one of upgrade_check_target, "),
    ],
)
def test_variables(names: list[str], objection: str) -> None:
    found = report.variables_error(names, KNOWN)
    assert found.startswith(objection)
    assert bool(found) == bool(objection)


def test_unknown_name_to_accept_is_refused() -> None:
    names = ["upgrade_check_target", "upgrade_check_programs", "upgrade_check_accept_unrehearsed"]
    assert report.variables_error(names, KNOWN, ["kubelet", "node/w1"]) == ""
    assert "invalid upgrade_check_accept_unrehearsed all: must be names" in report.variables_error(
        names, KNOWN, ["all"]
    )


def result(*findings: Finding, **more: t.Any) -> dict[str, t.Any]:
    return {
        "node": "cp1",
        "findings": [dataclasses.asdict(finding) for finding in findings],
        "rehearsed": [{"component": "kubelet", "what": "today", "verdict": "accepted", "message": "", "seconds": 0.1}],
        "checks": ["certificates"],
        "not_rehearsed": [],
        **more,
    }


GONE = Finding("kube-apiserver", REAPPLIED, "4 -> unset", "args", "v", COLLECTION, "/m.yaml", 34, "variable")
BROKEN_FLAG = Finding(
    "kube-controller-manager", BROKEN, "unknown flag: --x", "args", "x", CONFIG_MAP, "ConfigMap", 3, "extraArgs"
)
STAYING = Finding("kube-apiserver", KEPT, "stays as it is", "args", "a", CONFIG_MAP)


NO_ETCD = findings.unrehearsed_entry("etcd", "there is no program etcd", "pull its image")
ACCEPT = "upgrade_check_accept_unrehearsed"
END = "docs/upgrade.md says what the check cannot see."


def test_one_line_for_each_node_and_setting_the_worst_first() -> None:
    outcome = report.make_report("1.37.2", {"cp1": result(GONE, STAYING, BROKEN_FLAG)})
    assert report.report_lines(outcome) == [
        "cp1 kube-controller-manager args x: BREAKS (ConfigMap:3, set by kubeadm-config): unknown flag: --x; change extraArgs",
        "cp1 kube-apiserver args v: vanishes, and site brings it back (/m.yaml:34, set by this collection): 4 -> unset",
        "cp1: 1 setting stays",
        "cp1: rehearsed: kubelet (today)",
        "cp1: checked: certificates",
        f"Upgrade to 1.37.2: DO NOT UPGRADE before this is repaired. {END}",
    ]
    assert not outcome["safe"]
    assert "the upgrade to 1.37.2 breaks on cp1: kube-controller-manager args x" in report.failure_reason(
        outcome, "cp1"
    )


def test_clean_cluster_is_safe() -> None:
    outcome = report.make_report("1.37.2", {"cp1": result()})
    assert outcome["safe"]
    assert (outcome["nodes"]["cp1"]["msg"], outcome["refusal"]) == ("", "")
    assert report.failure_reason(outcome, "cp1") == ""
    assert report.report_lines(outcome) == [
        "cp1: nothing vanishes and nothing breaks",
        "cp1: rehearsed: kubelet (today)",
        "cp1: checked: certificates",
        f"Upgrade to 1.37.2: nothing that was rehearsed breaks. {END}",
    ]


def test_what_was_not_rehearsed_is_not_safe() -> None:
    outcome = report.make_report("1.37.2", {"cp1": result(not_rehearsed=[NO_ETCD]), "w1": result()})
    assert not outcome["safe"]
    assert outcome["nodes"]["cp1"]["not_rehearsed"] == [{**NO_ETCD, "accepted": False}]
    assert report.report_lines(outcome)[-2:] == [
        f"not rehearsed: etcd on cp1: there is no program etcd; pull its image, or accept it with {ACCEPT}=etcd",
        f"Upgrade to 1.37.2: NOT KNOWN TO BE SAFE, because this was not rehearsed: etcd. {END}",
    ]
    assert report.failure_reason(outcome, "cp1") == (
        "the upgrade to 1.37.2 is not known to be safe on cp1, because this was not rehearsed: etcd (there is no program etcd). Either have it rehearsed,"
        f" the report says how, or accept it by name: -e {ACCEPT}=etcd"
    )
    assert report.failure_reason(outcome, "w1") == ""
    assert outcome["not_checked"] == [], "that is for nodes"


def test_what_is_accepted_by_name_is_safe() -> None:
    outcome = report.make_report("1.37.2", {"cp1": result(not_rehearsed=[NO_ETCD])}, accepted=["etcd"])
    assert outcome["safe"]
    assert report.failure_reason(outcome, "cp1") == ""
    assert report.report_lines(outcome)[-2:] == [
        "not rehearsed, and accepted: etcd on cp1: there is no program etcd",
        f"Upgrade to 1.37.2: nothing that was rehearsed breaks; not rehearsed, and accepted: etcd. {END}",
    ]


def test_accepting_one_name_leaves_the_others() -> None:
    entries = [NO_ETCD, findings.unrehearsed_entry("certificates", "no CA")]
    outcome = report.make_report("1.37.2", {"cp1": result(checks=[], not_rehearsed=entries)}, accepted=["etcd"])
    assert not outcome["safe"]
    assert report.failure_reason(outcome, "cp1").endswith(f"-e {ACCEPT}=etcd,certificates")


def test_what_breaks_cannot_be_accepted() -> None:
    outcome = report.make_report("1.37.2", {"cp1": result(BROKEN_FLAG, not_rehearsed=[NO_ETCD])}, accepted=["etcd"])
    assert not outcome["safe"]
    assert report.report_lines(outcome)[-1].startswith("Upgrade to 1.37.2: DO NOT UPGRADE")


def test_same_reason_on_several_hosts_is_one_line() -> None:
    entry = findings.unrehearsed_entry("kubelet-manifests", "why")
    outcome = report.make_report("1.38.0", {host: result(not_rehearsed=[entry]) for host in ("cp1", "w1")})
    lines = [line for line in report.report_lines(outcome) if line.startswith("not rehearsed")]
    assert lines == [f"not rehearsed: kubelet-manifests on cp1, w1: why; accept it with {ACCEPT}=kubelet-manifests"]


def test_nodes_outside_of_the_run_are_one_line() -> None:
    cluster = {"not_rehearsed": [findings.unrehearsed_entry(f"node/{name}", "not in the run") for name in ("w1", "w2")]}
    outcome = report.make_report("1.37.2", {"cp1": result()}, cluster)
    lines = [line for line in report.report_lines(outcome) if line.startswith("not rehearsed")]
    assert lines == [
        f"not rehearsed: node/w1, node/w2: not in the run; check it with the others, or accept it with {ACCEPT}=node/w1,node/w2"
    ]
    assert "node/w1, node/w2 (not in the run)" in report.failure_reason(outcome, "cp1")


def test_name_rehearsed_on_one_node_is_accepted_for_another() -> None:
    outcome = report.make_report(
        "1.37.2",
        {"cp1": result(), "w1": result(rehearsed=[], not_rehearsed=[findings.unrehearsed_entry("kubelet", "newer")])},
        accepted=["kubelet"],
    )
    assert (outcome["safe"], outcome["refusal"]) == (True, "")


@pytest.mark.parametrize("name", ["kubelet", "certificates", "node/w9"])
def test_name_of_what_was_rehearsed_is_refused(name: str) -> None:
    outcome = report.make_report("1.37.2", {"cp1": result()}, accepted=[name])
    assert not outcome["safe"]
    assert outcome["refusal"].startswith(f"invalid {ACCEPT} {name}: everything was rehearsed")
    assert report.failure_reason(outcome, "cp1") == outcome["refusal"]
    assert outcome["refusal"] in report.report_lines(outcome)


def test_the_command_comes_last_and_keeps_the_names_that_count() -> None:
    """What is copied from the message accepts all that has to be, on every node, and nothing that is refused."""
    entries = [NO_ETCD, findings.unrehearsed_entry("user-namespaces", "no getsubids")]
    results = {
        "cp1": result(not_rehearsed=entries),
        "w1": result(rehearsed=[], not_rehearsed=[findings.unrehearsed_entry("kubelet", "newer")]),
    }
    outcome = report.make_report("1.37.2", results, accepted=["kubelet", "etcd", "certificates"])
    reason = report.failure_reason(outcome, "cp1")
    assert reason.startswith(f"{outcome['refusal']} the upgrade to 1.37.2 is not known to be safe on cp1, because")
    assert reason.endswith(f" -e {ACCEPT}=etcd,kubelet,user-namespaces")


def test_names_are_not_refused_while_a_node_is_unknown() -> None:
    """The node that failed may be the one that lacks the program."""
    outcome = report.make_report("1.37.2", {"cp1": result(), "cp2": {}}, accepted=["kubelet"])
    assert (outcome["safe"], outcome["refusal"]) == (False, "")


def test_a_file_without_a_line() -> None:
    ends = Finding("kube-apiserver", WARNS, "it ends.", "args", "a", file="/a.yaml")
    outcome = report.make_report("1.37.2", {"cp1": result(ends)})
    assert report.report_lines(outcome)[0] == "cp1 kube-apiserver args a: to be known (/a.yaml): it ends"


@pytest.mark.parametrize(
    ("check_result", "why"),
    [({}, "the run ended before"), ({"failed": True, "msg": "no programs", "findings": []}, "no programs")],
)
def test_a_node_that_was_not_checked_is_not_safe(check_result: dict[str, t.Any], why: str) -> None:
    outcome = report.make_report("1.37.2", {"cp1": check_result, "cp2": result()})
    assert not outcome["safe"]
    assert outcome["nodes"]["cp1"]["msg"] == why
    assert f"cp1: NOT CHECKED: {why}" in report.report_lines(outcome)
    assert report.failure_reason(outcome, "cp1") == f"cp1 was not checked: {why}"
    assert report.failure_reason(outcome, "cp2") == ""


def test_a_run_without_hosts_is_not_safe() -> None:
    assert not report.make_report("1.37.2", {})["safe"]


def test_what_is_of_no_single_node() -> None:
    mixed = dataclasses.asdict(Finding("cluster", WARNS, "several versions"))
    outcome = report.make_report("1.37.2", {"cp1": result()}, {"findings": [mixed]})
    assert outcome["safe"]
    assert report.report_lines(outcome)[0] == "cluster: to be known: several versions"


def test_checks_of_the_cluster_have_a_line() -> None:
    outcome = report.make_report("1.37.2", {"cp1": result()}, {"checks": ["webhooks", "coredns"]})
    assert report.report_lines(outcome)[0] == "cluster: checked: coredns, webhooks"


def test_unread_check_of_the_cluster_fails_each_host() -> None:
    cluster = {"not_rehearsed": [findings.unrehearsed_entry("webhooks", "forbidden", "")]}
    outcome = report.make_report("1.37.2", {"cp1": result(), "w1": result()}, cluster)
    assert not outcome["safe"]
    assert all("webhooks (forbidden)" in report.failure_reason(outcome, host) for host in ("cp1", "w1"))
    assert f"not rehearsed: webhooks: forbidden; accept it with {ACCEPT}=webhooks" in report.report_lines(outcome)
    assert report.make_report("1.37.2", {"cp1": result()}, cluster, ["webhooks"])["safe"]


def test_nodes_outside_of_the_run_are_accepted_one_by_one() -> None:
    cluster = {"not_rehearsed": [findings.unrehearsed_entry(f"node/{name}", "not in the run") for name in ("w2", "w1")]}
    outcome = report.make_report("1.37.2", {"cp1": result()}, cluster, ["node/w1"])
    assert (outcome["safe"], outcome["not_checked"]) == (False, ["w1", "w2"])
    assert outcome["cluster"]["not_rehearsed"][0]["accepted"] is False
    assert "node/w2 (not in the run)" in report.failure_reason(outcome, "cp1")
    assert "node/w1 (" not in report.failure_reason(outcome, "cp1")
    assert report.make_report("1.37.2", {"cp1": result()}, cluster, ["node/w1", "node/w2"])["safe"]
