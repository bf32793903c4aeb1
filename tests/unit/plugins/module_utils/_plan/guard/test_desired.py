# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task asks for, in one form, and what is refused before any node was looked at."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.desired import refuse_unserved
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import (
    GUARD_KINDS,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import (
    TRIAL,
    D,
    desired,
    refusal_message,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json

AFFINITY: Json = {"enforce": True, "on_node_name": "affinity"}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"name": "Guard"}, "invalid name 'Guard': must be the name of a policy"),
        ({"name": "g" * 201}, "name: it has 201 characters, and at most 200 are allowed"),
        ({"name": TRIAL}, f"name: '{TRIAL}' is reserved for the copy of another guard"),
        ({"nodes": ["W1"]}, "invalid nodes 'W1': must be the name of a node"),
        ({"resources": ["dongle"]}, "no pod could request 'dongle'"),
        ({"taint_keys": ["a b"]}, "taint_keys: invalid key 'a b'"),
        (
            {"taint_keys": ["node.kubernetes.io/not-ready"]},
            "taint_keys: node.kubernetes.io/not-ready is not set manually",
        ),
        ({"exempt_namespaces": ["A"]}, "invalid exempt_namespaces 'A': must be the name of a namespace"),
        ({"exempt_daemon_sets": ["agent"]}, "exempt_daemon_sets: invalid name 'agent': must be namespace/name"),
        ({"exempt_daemon_sets": ["a/b/c"]}, "must be namespace/name"),
        ({"exceptions": [" "]}, "exceptions: one of them is empty"),
        ({"schedulers": [""]}, "schedulers: one of them is empty"),
        ({"schedulers": []}, "invalid schedulers []: must name one that may place pods"),
        ({"trial_namespace": "A"}, "invalid trial_namespace 'A': must be the name of a namespace"),
        ({"trial_namespace": "kube-system"}, "the guard does not apply to kube-system"),
        ({"exempt_namespaces": ["default"]}, "trial_namespace: the guard does not apply to default"),
        ({"resources": []}, "none of nodes, resources and taint_keys is given"),
        ({"resources": [], "nodes": ["w1"], "require_request": True}, "require_request: resources is empty"),
    ],
)
def test_what_could_not_be_guarded_is_refused(params: Json, message: str) -> None:
    assert message in refusal_message(lambda: desired(**params))


def test_what_is_requested_comes_in_one_form() -> None:
    options = desired(nodes=["w2", "w1", "w2"], exempt_namespaces=["b", "kube-system", "a"])
    assert (options.nodes, options.exempt_namespaces) == (
        ("w1", "w2"),
        ("kube-system", "nodecraft-kubeadm", "a", "b"),
    )
    assert (options.taint_keys, desired(taint_keys=["k"]).taint_keys, desired(taint_keys=[]).taint_keys) == (
        (D,),
        ("k",),
        (D,),
    )


def test_an_affinity_counts_where_it_is_enforced() -> None:
    assert desired(**AFFINITY).affinity
    assert not desired(on_node_name="affinity").affinity


def test_nothing_has_to_be_named_to_remove_it() -> None:
    assert not desired(state="absent", resources=[], schedulers=[]).present


def test_a_cluster_without_policies_is_reported_the_other_way() -> None:
    message = refusal_message(lambda: refuse_unserved(desired(), [], lambda: "v1.29.3"))
    assert message.startswith(
        "this cluster (v1.29.3) does not serve ValidatingAdmissionPolicy of admissionregistration.k8s.io/v1"
    )
    assert "from 1.30 on" in message
    assert f"{{key: {D}, effect: NoExecute}}" in message
    named = desired(resources=[], nodes=["w1"])
    assert "{key: KEY, effect: NoExecute}" in refusal_message(lambda: refuse_unserved(named, [], str))


def test_a_cluster_that_changes_no_pods_refuses_the_affinity_alone() -> None:
    message = refusal_message(lambda: refuse_unserved(desired(**AFFINITY), GUARD_KINDS[:2], lambda: "v1.35.0"))
    assert message == (
        "on_node_name is affinity, and this cluster (v1.35.0) does not serve MutatingAdmissionPolicy of admissionregistration.k8s.io/v1,"
        " which Kubernetes has from 1.36 on. Leave it at refuse."
    )
    refuse_unserved(desired(), GUARD_KINDS[:2], str)
