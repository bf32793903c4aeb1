# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the check of an upgrade tells."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import report
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    BREAKS,
    COLLECTION,
    CONFIG_MAP,
    RETURNS,
    STAYS,
    WARNS,
    Finding,
)

KNOWN = ["target", "programs", "patches"]


@pytest.mark.parametrize(
    ("names", "objection"),
    [
        (["upgrade_check_target", "upgrade_check_programs", "other", "upgrade_check_report"], ""),
        (["upgrade_check_target"], "Set upgrade_check_programs: "),
        ([], "Set upgrade_check_target and upgrade_check_programs: the version to upgrade to"),
        (["upgrade_check_targt"], "invalid variable upgrade_check_targt: must be one of upgrade_check_target, "),
    ],
)
def test_variables(names: list[str], objection: str) -> None:
    found = report.objection(names, KNOWN)
    assert found.startswith(objection)
    assert bool(found) == bool(objection)


def result(*findings: Finding, **more: t.Any) -> dict[str, t.Any]:
    return {
        "node": "cp1",
        "findings": [dataclasses.asdict(finding) for finding in findings],
        "rehearsed": [{"component": "kubelet", "what": "today", "verdict": "accepted", "message": "", "seconds": 0.1}],
        "not_rehearsed": [],
        **more,
    }


GONE = Finding("kube-apiserver", RETURNS, "4 -> unset", "args", "v", COLLECTION, "/m.yaml", 34, "variable")
BROKEN = Finding(
    "kube-controller-manager", BREAKS, "unknown flag: --x", "args", "x", CONFIG_MAP, "ConfigMap", 3, "extraArgs"
)
STAYING = Finding("kube-apiserver", STAYS, "stays as it is", "args", "a", CONFIG_MAP)


def test_one_line_for_each_node_and_setting_the_worst_first() -> None:
    told = report.report("1.37.2", {"cp1": result(GONE, STAYING, BROKEN)})
    assert report.lines(told) == [
        "cp1 kube-controller-manager args x: BREAKS (ConfigMap:3, set by kubeadm-config): unknown flag: --x; change extraArgs",
        "cp1 kube-apiserver args v: vanishes, and site brings it back (/m.yaml:34, set by this collection): 4 -> unset",
        "cp1: 1 setting stays",
        "cp1: rehearsed: kubelet (today)",
        "Upgrade to 1.37.2: DO NOT UPGRADE before this is repaired. docs/upgrade.md says what the check cannot see.",
    ]
    assert not told["safe"]
    assert "the upgrade to 1.37.2 breaks on cp1: kube-controller-manager args x" in report.failure(told, "cp1")


def test_a_clean_cluster() -> None:
    not_rehearsed = [{"component": "etcd", "reason": "there is no program etcd"}]
    told = report.report("1.37.2", {"cp1": result(not_rehearsed=not_rehearsed)})
    assert told["safe"]
    assert told["nodes"]["cp1"]["msg"] == ""
    assert report.failure(told, "cp1") == ""
    assert report.lines(told) == [
        "cp1: nothing vanishes and nothing breaks",
        "cp1: rehearsed: kubelet (today)",
        "cp1: not rehearsed: etcd: there is no program etcd",
        "Upgrade to 1.37.2: nothing that was rehearsed breaks. docs/upgrade.md says what the check cannot see.",
    ]


def test_a_file_without_a_line() -> None:
    ends = Finding("kube-apiserver", WARNS, "it ends.", "args", "a", file="/a.yaml")
    told = report.report("1.37.2", {"cp1": result(ends)})
    assert report.lines(told)[0] == "cp1 kube-apiserver args a: to be known (/a.yaml): it ends"


@pytest.mark.parametrize(
    ("answer", "why"),
    [({}, "the run ended before"), ({"failed": True, "msg": "no programs", "findings": []}, "no programs")],
)
def test_a_node_that_was_not_checked_is_not_safe(answer: dict[str, t.Any], why: str) -> None:
    told = report.report("1.37.2", {"cp1": answer, "cp2": result()})
    assert not told["safe"]
    assert told["nodes"]["cp1"]["msg"] == why
    assert f"cp1: NOT CHECKED: {why}" in report.lines(told)
    assert report.failure(told, "cp1") == f"cp1 was not checked: {why}"
    assert report.failure(told, "cp2") == ""


def test_what_is_of_no_single_node() -> None:
    mixed = dataclasses.asdict(Finding("cluster", WARNS, "several versions"))
    told = report.report("1.37.2", {"cp1": result()}, [mixed])
    assert told["safe"]
    assert report.lines(told)[0] == "cluster: to be known: several versions"


def test_a_cluster_of_which_nodes_were_not_checked_is_not_safe() -> None:
    told = report.report("1.37.2", {"cp1": result()}, not_checked=["w1", "w2"])
    assert (told["safe"], told["not_checked"]) == (False, ["w1", "w2"])
    assert report.failure(told, "cp1") == ""
    assert report.lines(told)[-1].startswith(
        "Upgrade to 1.37.2: nothing that was rehearsed breaks, and nothing is known about w1, w2."
    )
    assert "DO NOT UPGRADE" in report.lines(report.report("1.37.2", {"cp1": result(BROKEN)}, not_checked=["w1"]))[-1]
    assert report.report("1.37.2", {"cp1": result()})["not_checked"] == []
