# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rights a run needs, how they are reviewed, and the message about those that are missing."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import access
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.access import AccessResult, Right

PROXY = Right("get", "nodes/proxy", names=("w1", "w2"))
LEASE = Right("update", "leases", "coordination.k8s.io", "kube-system", ("l",))


@pytest.mark.parametrize(
    ("right", "name", "attributes"),
    [
        (PROXY, "", {"verb": "get", "resource": "nodes", "subresource": "proxy"}),
        (PROXY, "w1", {"verb": "get", "resource": "nodes", "subresource": "proxy", "name": "w1"}),
        (
            LEASE,
            "l",
            {
                "verb": "update",
                "group": "coordination.k8s.io",
                "resource": "leases",
                "namespace": "kube-system",
                "name": "l",
            },
        ),
    ],
)
def test_review_names_what_the_right_is_about(right: Right, name: str, attributes: dict[str, str]) -> None:
    review = right.review(name)
    assert (review["kind"], review["spec"]) == ("SelfSubjectAccessReview", {"resourceAttributes": attributes})


def test_rights_survive_the_option_of_the_module() -> None:
    assert [Right.parse(entry) for entry in access.to_option([PROXY, LEASE])] == [PROXY, LEASE]


def test_account_with_all_rights_is_not_refused() -> None:
    assert access.missing_rights_message(typed.parse(AccessResult, {"user": "u", "missing": []}), "x needs") == ""


@pytest.mark.parametrize(("user", "words"), [("u", "the account u lacks"), (None, "of these credentials lacks")])
def test_refusal_names_account_rights_and_rules(user: str | None, words: str) -> None:
    missing = access.to_option(
        [Right("get", "nodes/proxy"), Right("get", "nodes", names=("w1",)), LEASE, Right("list", "nodes")]
    )
    message = access.missing_rights_message(typed.parse(AccessResult, {"user": user, "missing": missing}), "x needs")
    assert words in message
    assert (
        "lacks rights that x needs: get nodes/proxy, get nodes w1, update leases l in kube-system, list nodes."
        in message
    )
    assert "{apiGroups: [''], resources: [nodes/proxy], verbs: [get]}" in message
    assert "{apiGroups: [''], resources: [nodes], verbs: [get, list]}" in message
    assert "{apiGroups: ['coordination.k8s.io'], resources: [leases], verbs: [update]}" in message


@pytest.mark.parametrize(
    ("fields", "resources"),
    [
        ([], []),
        (["resources"], ["nodes/status"]),
        (["labels"], ["nodes"]),
        (["taints", "resources"], ["nodes/status", "nodes"]),
    ],
)
def test_nodes_are_patched_where_something_is_desired(fields: list[str], resources: list[str]) -> None:
    rights = access.of_nodes(["w1"], fields)
    assert [(right.verb, right.resource, right.names) for right in rights] == [
        ("patch", each, ("w1",)) for each in resources
    ]


def test_right_to_create_has_no_name() -> None:
    """No API server could limit it to one: the object has none yet."""
    rights = [*access.of_lease("l", "n"), *access.of_config_maps("a", "b", "n")]
    assert {right.names for right in rights if right.verb == "create"} == {()}
    assert all(right.names and right.namespace == "n" for right in rights if right.verb != "create")


@pytest.mark.parametrize("reads_pods", [False, True])
def test_pods_are_read_only_where_they_matter(reads_pods: bool) -> None:
    resources = [right.resource for right in access.of_kubelets(["w1"], reads_pods=reads_pods)]
    assert ("pods" in resources) is reads_pods
