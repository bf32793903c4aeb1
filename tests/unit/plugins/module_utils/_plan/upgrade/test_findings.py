# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of checks: which may be accepted, that is waived where they were not made, and which are refused."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import ACCEPTED, SKIPPED, Verdict
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import versions
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import findings
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    WARNS,
    Finding,
    UpgradeFindings,
)
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT


def test_each_name_is_documented() -> None:
    page = (ROOT / "docs/upgrade.md").read_text(encoding="utf-8")
    section = page.partition("## What was not rehearsed")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE) == list(findings.CHECKS)
    assert "`node/NAME`" in section


def test_components_of_kubeadm_have_names() -> None:
    assert {"etcd", *versions.COMPONENTS} <= set(findings.CHECKS)


@pytest.mark.parametrize(("target", "depends"), [((1, 37, 2), False), ((1, 38, 0), True), ((2, 0, 0), True)])
def test_a_check_applies_from_its_version_on(target: tuple[int, ...], depends: bool) -> None:
    assert findings.applies(findings.USER_NAMESPACES, target) is depends
    assert findings.applies(findings.CERTIFICATES, target)


def test_entry_has_the_remedy_of_its_check() -> None:
    assert findings.unrehearsed_entry("kubelet", "it is newer.") == {
        "name": "kubelet",
        "reason": "it is newer",
        "remedy": "use a release of this collection that is tested with it",
    }
    assert findings.unrehearsed_entry("kubelet", "why", "")["remedy"] == ""
    assert findings.unrehearsed_entry("node/w1", "why")["remedy"] == "check it with the others"


@pytest.mark.parametrize("name", ["all", "kubelets", "", "*", "nodes", "Kubelet"])
def test_unknown_name_is_refused(name: str) -> None:
    refusal = findings.name_refusal(["kubelet", name])
    assert refusal.startswith(
        f"invalid upgrade_check_accept_unrehearsed {name}: must be names of what was not rehearsed"
    )
    assert "kubelet-gates" in refusal


def test_known_names_are_accepted() -> None:
    assert findings.name_refusal([]) == ""
    assert findings.name_refusal([*findings.CHECKS, "node/w1"]) == ""


@pytest.mark.parametrize(
    ("names", "unrehearsed", "rehearsed", "words"),
    [
        (["etcd"], ["etcd"], [], ""),
        # On one node it was rehearsed, on another not.
        (["etcd"], ["etcd"], ["etcd"], ""),
        # What the cluster does not have, such as etcd when that is external.
        (["etcd"], ["kubelet"], ["kube-apiserver"], ""),
        (["etcd"], [], ["etcd"], "etcd: everything was rehearsed, so remove the variable"),
        (["etcd", "kubelet"], ["kubelet"], ["etcd"], "etcd: must be of what was not rehearsed: kubelet"),
        (["node/w1"], ["node/w1"], [], ""),
        (["node/w8"], ["node/w9"], [], "node/w8: must be of what was not rehearsed: node/w9"),
    ],
)
def test_name_of_what_was_rehearsed_is_refused(
    names: list[str], unrehearsed: list[str], rehearsed: list[str], words: str
) -> None:
    refusal = findings.stale_refusal(names, unrehearsed, rehearsed)
    assert words in refusal
    assert bool(refusal) is bool(words)


@pytest.mark.parametrize(
    ("values", "same"), [([None, None], True), ([["etcd"], ["etcd"]], True), ([["etcd"], None], False)]
)
def test_one_list_counts_for_all_hosts(values: list[list[str] | None], same: bool) -> None:
    assert (findings.differing_refusal(values) == "") is same


# ---- what is gathered ----------------------------------------------------------------------------------------------------

FOUND = Finding("node", WARNS, "x")


def test_check_that_ends_with_an_error_was_not_made() -> None:
    def broken() -> t.Iterator[Finding]:
        yield FOUND
        raise KubeadmError("forbidden.")

    gathered = UpgradeFindings()
    gathered.check("webhooks", [FOUND])
    gathered.check("coredns", broken())
    assert gathered.findings == [FOUND, FOUND]
    assert gathered.checks == ["webhooks"]
    assert [(each["name"], each["reason"]) for each in gathered.not_rehearsed] == [("coredns", "forbidden")]


def test_rehearsals_are_noted_once_for_each_reason() -> None:
    gathered, other = UpgradeFindings(), UpgradeFindings()
    gathered.note("etcd", "generated", Verdict(ACCEPTED, "fine", 0.1))
    gathered.note("etcd", "desired", Verdict(SKIPPED, "why"))
    gathered.skip("etcd", "why", "")
    other.add(gathered, [])
    assert other.report() == {
        "findings": [],
        "rehearsed": [
            {"component": "etcd", "what": "generated", "verdict": ACCEPTED, "message": "fine", "seconds": 0.1}
        ],
        "checks": [],
        "not_rehearsed": [{"name": "etcd", "reason": "why", "remedy": ""}],
    }
