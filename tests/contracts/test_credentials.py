# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The account in docs/credentials.md has every right that the roles review before their first write, and its kubeconfig has nothing of another one."""

from __future__ import annotations

import re
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import access
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.access import Right
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.lease import LEASE_NAMESPACE
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

PAGE = ROOT / "docs/credentials.md"
REVIEWED = [
    *access.of_kubelets(["w1"], reads_pods=True),
    *access.of_nodes(["w1"], ["labels", "taints", "resources"]),
    *access.of_lease("l", LEASE_NAMESPACE),
    *access.of_config_maps("a", "b", LEASE_NAMESPACE),
]


def granted(text: str) -> set[tuple[str, str, str, str]]:
    """Namespace, group, resource and verb of all rules on a page. The namespace is empty for those of a ClusterRole."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    objects: list[t.Any] = [each for block in blocks for each in yaml.safe_load_all(block)]
    return {
        (each["metadata"].get("namespace", ""), group, resource, verb)
        for each in objects
        if each.get("kind") in ("ClusterRole", "Role")
        for rule in each["rules"]
        for group in rule.get("apiGroups", [])
        for resource in rule.get("resources", [])
        for verb in rule["verbs"]
    }


def is_granted(right: Right, rules: set[tuple[str, str, str, str]]) -> bool:
    return any((namespace, right.group, right.resource, right.verb) in rules for namespace in ("", right.namespace))


@pytest.mark.parametrize("right", REVIEWED, ids=str)
def test_reviewed_right_is_granted_by_the_page(right: Right) -> None:
    assert is_granted(right, granted(PAGE.read_text(encoding="utf-8")))


def test_right_that_no_rule_grants_is_found() -> None:
    rules = {("kube-system", "", "configmaps", "get"), ("", "", "nodes", "get")}
    assert is_granted(Right("get", "nodes"), rules)
    assert is_granted(Right("get", "configmaps", "", "kube-system"), rules)
    assert not is_granted(Right("get", "configmaps", "", "default"), rules)
    assert not is_granted(Right("get", "nodes/proxy"), rules)


# A copy of the administrator's kubeconfig keeps the administrator's key until its users are removed.
IN_THIS_ORDER = ("umask 077", "config view --raw", "config unset users", "config set-credentials")


def missing(text: str) -> list[str]:
    """The commands that a page does not have in their order, so that the kubeconfig holds a token of the account, and nothing of another one."""
    remaining = list(IN_THIS_ORDER)
    for line in text.splitlines():
        if remaining and line.startswith("$ ") and remaining[0] in line:
            del remaining[0]
    return remaining


def test_the_kubeconfig_holds_nothing_of_another_account() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert missing(text) == []
    assert missing(text.replace("config unset users", "config view")) == list(IN_THIS_ORDER[2:])
