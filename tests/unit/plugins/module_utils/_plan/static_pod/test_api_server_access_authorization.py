# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Authorizers that lock out whom a cluster lives on."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import api_server_access
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.api_server_access import Authorizer

NODE, RBAC = Authorizer("Node", "node"), Authorizer("RBAC", "rbac")


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
    found = api_server_access.authorizer_findings(api_server_access.authorizers_of_modes(modes))
    assert len(found) == len(expected)
    assert all(finding.startswith(words) for finding, words in zip(found, expected))


def webhook(*, denies: bool = True, has_conditions: bool = False) -> Authorizer:
    return Authorizer("Webhook", "opa", denies, has_conditions)


ALL = "kubelets, administrators, service accounts of kube-system, kube-controller-manager, kube-scheduler,"


@pytest.mark.parametrize(
    ("authorizers", "words"),
    [
        ([webhook(), NODE, RBAC], f"would deny {ALL}"),
        ([NODE, webhook(), RBAC], f"would deny {ALL}"),
        ([RBAC, webhook(), NODE], "would deny kubelets while it does not answer; put it behind Node and RBAC"),
        ([NODE, RBAC, webhook()], None),
        ([webhook(has_conditions=True), NODE, RBAC], f"may deny {ALL}"),
        (
            [RBAC, webhook(has_conditions=True), NODE],
            "may deny kubelets while it does not answer: whom its matchConditions",
        ),
        ([NODE, RBAC, webhook(has_conditions=True)], None),
        ([webhook(denies=False), NODE, RBAC], None),
    ],
)
def test_a_webhook_that_denies_must_not_meet_whom_the_cluster_lives_on(
    authorizers: list[Authorizer], words: str | None
) -> None:
    found = api_server_access.authorizer_findings(authorizers)
    assert len(found) == (words is not None)
    for finding in found:
        assert f"the webhook opa (failurePolicy: Deny) {words}" in finding


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
    assert api_server_access.parse_authorizers(content) == [
        webhook(has_conditions=True),
        Authorizer("Webhook", "audit"),
        NODE,
        RBAC,
    ]
    for bad in (b"", b"[]", b"authorizers: [1]", b"authorizers: [{name: x}]", b"a: ["):
        with pytest.raises(Refusal, match="it is no"):
            api_server_access.parse_authorizers(bad)
