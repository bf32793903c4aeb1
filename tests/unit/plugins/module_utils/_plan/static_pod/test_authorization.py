# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Authorizers that lock out whom a cluster lives on."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import authorization, match_conditions
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.authorization import Authorizer

NODE, RBAC = Authorizer("Node", "node"), Authorizer("RBAC", "rbac")
FREE = tuple(caller.without for caller in match_conditions.CALLERS)


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        (["Node", "RBAC"], []),
        (["RBAC", "Node", "ABAC"], []),
        (["RBAC"], ["without Node kubelets could"]),
        (["Node"], ["without RBAC administrators"]),
        (["Webhook"], ["without Node", "without RBAC"]),
        (["Node", "RBAC", "AlwaysAllow"], ["AlwaysAllow would allow every request"]),
        ([], ["without Node", "without RBAC", "AlwaysAllow"]),
        (["Webhook", "Node", "RBAC"], []),  # by flags it has no opinion when it does not answer
    ],
)
def test_node_and_rbac_are_needed(modes: list[str], expected: list[str]) -> None:
    found = authorization.findings(authorization.of_modes(modes))
    assert len(found) == len(expected)
    assert all(finding.startswith(words) for finding, words in zip(found, expected))


def webhook(*conditions: str, denies: bool = True) -> Authorizer:
    return Authorizer("Webhook", "opa", denies, conditions)


@pytest.mark.parametrize(
    ("authorizers", "met"),
    [
        (
            [webhook(), NODE, RBAC],
            "kubelets, administrators, service accounts of kube-system, kube-controller-manager,",
        ),
        ([NODE, webhook(), RBAC], "kubelets, administrators, "),
        ([RBAC, webhook(), NODE], "kubelets while"),
        ([NODE, webhook(FREE[0]), RBAC], "administrators, service accounts"),
        ([RBAC, webhook(FREE[0]), NODE], None),
        ([NODE, RBAC, webhook()], None),
        ([webhook(*FREE), NODE, RBAC], None),
        ([webhook(denies=False), NODE, RBAC], None),
    ],
)
def test_a_webhook_that_denies_must_not_meet_whom_the_cluster_lives_on(
    authorizers: list[Authorizer], met: str | None
) -> None:
    found = authorization.findings(authorizers)
    assert len(found) == (met is not None)
    for finding in found:
        assert f"the webhook opa (failurePolicy: Deny) would deny {met}" in finding


def test_the_advice_is_followed() -> None:
    """A configuration with the conditions that the message names has no finding left."""
    (finding,) = authorization.findings([webhook(), NODE, RBAC])
    conditions = finding.partition("matchConditions: ")[2].split(" and ")
    assert len(conditions) == 5
    assert authorization.findings([webhook(*conditions), NODE, RBAC]) == []


def test_a_configuration_is_read() -> None:
    entries: list[dict[str, t.Any]] = [
        {
            "type": "Webhook",
            "name": "opa",
            "webhook": {"failurePolicy": "Deny", "matchConditions": [{"expression": "true"}]},
        },
        {"type": "Webhook", "name": "audit", "webhook": {"failurePolicy": "NoOpinion"}},
        {"type": "Node", "name": "node"},
        {"type": "RBAC", "name": "rbac"},
    ]
    content = json.dumps({"kind": "AuthorizationConfiguration", "authorizers": entries}).encode()
    assert authorization.parse(content) == [webhook("true"), Authorizer("Webhook", "audit"), NODE, RBAC]
    for bad in (b"", b"[]", b"authorizers: [1]", b"authorizers: [{name: x}]", b"a: ["):
        with pytest.raises(Refusal, match="it is no"):
            authorization.parse(bad)
