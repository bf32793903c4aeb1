# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a guard as the API gets them."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import policies as placement_policies
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import (
    BINDING,
    GUARD_KINDS,
    MUTATION,
    POLICY,
    Guard,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.data import data_text
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import (
    GUARD,
    STRICT_GUARD,
    by_kind,
    expressions,
)


@pytest.mark.parametrize(("guard", "name"), [(GUARD, "guard_small.txt"), (STRICT_GUARD, "guard_full.txt")])
def test_objects_as_a_whole(guard: Guard, name: str) -> None:
    """As they were verified on Kubernetes 1.36."""
    found = placement_policies.build_objects(guard)
    for policy in (thing for thing in found if "variables" in thing["spec"]):
        assert re.fullmatch('"[0-9a-f]{8}"', policy["spec"]["variables"][0]["expression"])
        policy["spec"]["variables"][0]["expression"] = '"00000000"'
    assert found == list(yaml.safe_load_all(data_text(name)))
    # The same again, and nothing that two of them share.
    assert json.dumps(placement_policies.build_objects(guard)) == json.dumps(placement_policies.build_objects(guard))


def test_without_an_order_to_refuse_it_only_warns() -> None:
    def actions(guard: Guard) -> list[str]:
        return list(by_kind(placement_policies.build_objects(guard))[BINDING]["spec"]["validationActions"])

    assert actions(GUARD) == ["Warn", "Audit"]
    assert actions(dataclasses.replace(GUARD, enforce=True)) == ["Deny", "Audit"]


def test_nothing_outside_the_policies_is_needed() -> None:
    assert "paramKind" not in json.dumps(placement_policies.build_objects(STRICT_GUARD))
    assert "paramRef" not in json.dumps(placement_policies.build_objects(STRICT_GUARD))


def test_what_decides_before_the_expressions_names_neither_nodes_nor_exceptions() -> None:
    conditions = by_kind(placement_policies.build_objects(STRICT_GUARD))[POLICY]["spec"]["matchConditions"]
    assert [entry["name"] for entry in conditions] == ["not-by-a-scheduler", "not-a-static-pod", "names-a-node"]
    texts = [entry["expression"] for entry in conditions]
    assert [text for text in texts if "variables" in text or "ops" in text or "w1" in text] == []


def test_both_policies_know_the_same() -> None:
    found = by_kind(placement_policies.build_objects(STRICT_GUARD))
    own, shared = expressions(found[POLICY]), expressions(found[MUTATION])
    names = ["nodes", "resources", "target", "requests", "daemonSets", "ofDaemonSet", "excepted"]
    assert {name: own[name] for name in names} == {name: shared[name] for name in names}


def test_exceptions_stand_in_brackets() -> None:
    assert expressions(by_kind(placement_policies.build_objects(STRICT_GUARD))[POLICY])["excepted"].splitlines() == [
        "variables.ofDaemonSet",
        '|| (object.metadata.namespace == "ops"',
        ")",
        '|| (request.userInfo.username == "ada"',
        ")",
    ]


def test_messages_fit_on_one_line() -> None:
    validations = by_kind(placement_policies.build_objects(STRICT_GUARD))[POLICY]["spec"]["validations"]
    assert len(validations) == 3
    assert [entry for entry in validations if "\n" in entry["message"]] == []


def test_nodes_are_read_back() -> None:
    policy = by_kind(placement_policies.build_objects(GUARD))[POLICY]
    assert placement_policies.nodes_of(policy) == ["w1", "w2"]
    assert placement_policies.nodes_of(None) == []
    (nodes,) = (entry for entry in policy["spec"]["variables"] if entry["name"] == "nodes")
    nodes["expression"] = "variables.others"
    assert placement_policies.nodes_of(policy) == []
    nodes["expression"] = '{"a": 1}'
    assert placement_policies.nodes_of(policy) == []


def test_every_difference_is_another_revision() -> None:
    changed = [
        GUARD,
        dataclasses.replace(GUARD, nodes=("w1",)),
        dataclasses.replace(GUARD, exceptions=("true",)),
        dataclasses.replace(GUARD, exempt_namespaces=("kube-system", "ops")),
        dataclasses.replace(GUARD, schedulers=("mine",)),
    ]
    revisions = [placement_policies.revision_of(placement_policies.build_objects(guard)[0]) for guard in changed]
    assert len(set(revisions)) == len(changed)
    assert revisions == [
        placement_policies.revision_of(placement_policies.build_objects(guard)[0]) for guard in changed
    ]
    # Whether it refuses is the binding's: the policy stays the same.
    enforced = placement_policies.build_objects(dataclasses.replace(GUARD, enforce=True))
    assert placement_policies.revision_of(enforced[0]) == revisions[0]


def test_whether_a_binding_denies() -> None:
    assert placement_policies.denies(by_kind(placement_policies.build_objects(STRICT_GUARD))[BINDING])
    assert not placement_policies.denies(by_kind(placement_policies.build_objects(GUARD))[BINDING])
    assert not placement_policies.denies(None)


def test_paths() -> None:
    assert [placement_policies.path_of(kind) for kind in GUARD_KINDS] == [
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    ]
    assert placement_policies.path_of(POLICY, "g").endswith("/validatingadmissionpolicies/g")
