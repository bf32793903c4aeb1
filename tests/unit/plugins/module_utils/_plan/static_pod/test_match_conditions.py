# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whom an authorization webhook can meet, as far as its conditions tell for certain."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import match_conditions

NAMES = {
    "kubelets": "K",
    "administrators": "A",
    "service accounts of kube-system": "S",
    "kube-controller-manager": "C",
    "kube-scheduler": "D",
    "the kubelet's probes of the API server": "P",
}


def met(*conditions: str) -> str:
    """The callers that such a webhook can meet, one letter each."""
    return "".join(
        NAMES[caller.name] for caller in match_conditions.CALLERS if match_conditions.can_meet(conditions, caller)
    )


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], "KASCDP"),
        (["!('system:nodes' in request.groups)"], "ASCDP"),
        (["! ( 'system:nodes' in request.groups ) "], "ASCDP"),
        (['!("system:nodes" in request.groups)'], "ASCDP"),
        (["!request.user.startsWith('system:node:')"], "ASCDP"),
        (["!request.user.startsWith('system:')"], "A"),
        (["!request.user.startsWith('system:node:w1')"], "KASCDP"),
        (["request.user != 'system:node:w1'"], "KASCDP"),
        (["request.user == 'system:node:w1'"], "K"),
        (["'system:node:w1' == request.user"], "K"),
        (["request.user != 'system:kube-scheduler'"], "KASCP"),
        (["!(request.user in ['system:kube-scheduler', 'kubernetes-admin'])"], "KSCP"),
        (["request.user in ['system:node:w1', 'bob']"], "K"),
        ([caller.without for caller in match_conditions.CALLERS], ""),
        ([" && ".join(caller.without for caller in match_conditions.CALLERS)], ""),
        (["'tenants' in request.groups"], ""),
        (["'system:authenticated' in request.groups"], "KASCD"),
        (["'tenants' in request.groups || 'system:nodes' in request.groups"], "K"),
        (["true"], "KASCDP"),
        (["false"], ""),
        # what is not known counts as met
        (["has(request.resourceAttributes)"], "KASCDP"),
        (["request.resourceAttributes.namespace == 'kube-system'"], "KASCDP"),
        (["request.user.endsWith('x')"], "KASCDP"),
        (["request.groups.exists(g, g == 'x')"], "KASCDP"),
        (["has(request.resourceAttributes) && !('system:nodes' in request.groups)"], "ASCDP"),
        (["has(request.resourceAttributes) || !('system:nodes' in request.groups)"], "KASCDP"),
        (["!(has(request.resourceAttributes) && !('system:nodes' in request.groups))"], "KASCDP"),
        (["has(request.x) ? !('system:nodes' in request.groups) : true"], "KASCDP"),
        (["'!(\\'system:nodes\\' in request.groups)' == request.user"], ""),
        (["request.user == 'a' == true"], "KASCDP"),
        (["request.user < 'a'"], "KASCDP"),
        (["'system:nodes' in request.uid"], "KASCDP"),
        (
            ["1 in request.groups", "request.user == 1", "request.user.startsWith(1)", "request.user.startsWith()"],
            "KASCDP",
        ),
        (["request.user"], "KASCDP"),
        (["(", "", "\0", "(" * 5000], "KASCDP"),
    ],
)
def test_a_caller_is_excluded_only_where_that_is_certain(conditions: list[str], expected: str) -> None:
    assert met(*conditions) == expected
