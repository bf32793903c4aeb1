# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a guard, of its trial, and the pods that both are tried on."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import policies as placement_policies
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import (
    BINDING,
    KINDS,
    MUTATION,
    MUTATION_BINDING,
    POLICY,
    Guard,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.plugins.module_utils._plan.guard_texts import FULL, SMALL
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import D, expressions
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json

GUARD = Guard(
    name="guard",
    nodes=("w1", "w2"),
    resources=(D,),
    taints=(),
    require_request=False,
    enforce=False,
    affinity=False,
    schedulers=("system:kube-scheduler",),
    exceptions=(),
    exempt_daemon_sets=(),
    exempt_namespaces=("kube-system",),
)
STRICT = dataclasses.replace(
    GUARD,
    resources=(D, "example.com/b"),
    taints=({"effect": "NoExecute", "key": "a", "value": ""}, {"effect": "NoSchedule", "key": "a", "value": "b"}),
    require_request=True,
    enforce=True,
    affinity=True,
    schedulers=("system:kube-scheduler", "system:serviceaccount:ns:mine"),
    exceptions=('object.metadata.namespace == "ops"', 'request.userInfo.username == "ada"\n'),
    exempt_daemon_sets=("ns/agent",),
    exempt_namespaces=("kube-system", "ops"),
)


def by_kind(objects: list[Json]) -> dict[str, Json]:
    return {entry["kind"]: entry for entry in objects}


@pytest.mark.parametrize(("guard", "text"), [(GUARD, SMALL), (STRICT, FULL)])
def test_objects_as_a_whole(guard: Guard, text: str) -> None:
    found = placement_policies.objects(guard)
    for policy in (thing for thing in found if "variables" in thing["spec"]):
        assert re.fullmatch('"[0-9a-f]{8}"', policy["spec"]["variables"][0]["expression"])
        policy["spec"]["variables"][0]["expression"] = '"00000000"'
    assert found == list(yaml.safe_load_all(text))
    # The same again, and nothing that two of them share.
    assert json.dumps(placement_policies.objects(guard)) == json.dumps(placement_policies.objects(guard))


def test_without_an_order_to_refuse_it_only_warns() -> None:
    def actions(guard: Guard) -> list[str]:
        return list(by_kind(placement_policies.objects(guard))[BINDING]["spec"]["validationActions"])

    assert actions(GUARD) == ["Warn", "Audit"]
    assert actions(dataclasses.replace(GUARD, enforce=True)) == ["Deny", "Audit"]


def test_nothing_outside_the_policies_is_needed() -> None:
    assert "paramKind" not in json.dumps(placement_policies.objects(STRICT))
    assert "paramRef" not in json.dumps(placement_policies.objects(STRICT))


def test_what_decides_before_the_expressions_names_neither_nodes_nor_exceptions() -> None:
    conditions = by_kind(placement_policies.objects(STRICT))[POLICY]["spec"]["matchConditions"]
    assert [entry["name"] for entry in conditions] == ["by-no-scheduler", "no-static-pod", "chooses-a-place"]
    texts = [entry["expression"] for entry in conditions]
    assert [text for text in texts if "variables" in text or "ops" in text or "w1" in text] == []


def test_both_policies_know_the_same() -> None:
    found = by_kind(placement_policies.objects(STRICT))
    own, shared = expressions(found[POLICY]), expressions(found[MUTATION])
    names = ["nodes", "resources", "target", "requests", "daemonSets", "ofDaemonSet", "excepted"]
    assert {name: own[name] for name in names} == {name: shared[name] for name in names}


def test_exceptions_stand_in_brackets() -> None:
    assert expressions(by_kind(placement_policies.objects(STRICT))[POLICY])["excepted"].splitlines() == [
        "variables.ofDaemonSet",
        '|| (object.metadata.namespace == "ops"',
        ")",
        '|| (request.userInfo.username == "ada"',
        ")",
    ]


def test_messages_fit_on_one_line() -> None:
    validations = by_kind(placement_policies.objects(STRICT))[POLICY]["spec"]["validations"]
    assert len(validations) == 3
    assert [entry for entry in validations if "\n" in entry["message"]] == []


def test_nodes_are_read_back() -> None:
    policy = by_kind(placement_policies.objects(GUARD))[POLICY]
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
    revisions = [placement_policies.revision_of(placement_policies.objects(guard)[0]) for guard in changed]
    assert len(set(revisions)) == len(changed)
    assert revisions == [placement_policies.revision_of(placement_policies.objects(guard)[0]) for guard in changed]
    # Whether it refuses is the binding's: the policy stays the same.
    enforced = placement_policies.objects(dataclasses.replace(GUARD, enforce=True))
    assert placement_policies.revision_of(enforced[0]) == revisions[0]


def test_whether_a_binding_denies() -> None:
    assert placement_policies.denies(by_kind(placement_policies.objects(STRICT))[BINDING])
    assert not placement_policies.denies(by_kind(placement_policies.objects(GUARD))[BINDING])
    assert not placement_policies.denies(None)


def test_paths() -> None:
    assert [placement_policies.path_of(kind) for kind in KINDS] == [
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    ]
    assert placement_policies.path_of(POLICY, "g").endswith("/validatingadmissionpolicies/g")


# ---- the trial ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guard", [GUARD, STRICT])
def test_the_trial_is_a_copy_that_concerns_pods_with_its_label_only(guard: Guard) -> None:
    trial = by_kind(placement_policies.trial_objects(guard))
    taints = (*guard.taints, {"effect": "NoSchedule", "key": "nodecraft.kubeadm/trial", "value": ""})
    nodes = ("w1", "w2", "guard-trial")
    twin = dataclasses.replace(guard, name="guard-trial", nodes=nodes, taints=taints)
    expected = by_kind(placement_policies.objects(twin))
    selector = {"objectSelector": {"matchLabels": {"nodecraft.kubeadm/trial": "refuse"}}}
    expected[BINDING]["spec"].update(validationActions=["Deny"], matchResources=selector)
    if guard.affinity:
        selector = {"objectSelector": {"matchLabels": {"nodecraft.kubeadm/trial": "affinity"}}}
        expected[MUTATION_BINDING]["spec"].update(matchResources=selector)
    assert trial == expected


def test_exceptions_of_a_guard_that_warns_are_evaluated_in_the_trial_and_let_nothing_through() -> None:
    # Of one that refuses they may let through whom they are for, and that must not be who makes the trial.
    found = by_kind(placement_policies.trial_objects(STRICT))[POLICY]
    assert "? false : false" not in expressions(found)["excepted"]
    trial = by_kind(placement_policies.trial_objects(dataclasses.replace(STRICT, enforce=False)))
    for kind in (POLICY, MUTATION):
        # Not with &&, of which a false side hides that the other one fails.
        assert expressions(trial[kind])["excepted"].splitlines() == [
            "variables.ofDaemonSet",
            '|| ((object.metadata.namespace == "ops"',
            ") ? false : false",
            ")",
            '|| ((request.userInfo.username == "ada"',
            ") ? false : false",
            ")",
        ]


def test_pods_of_the_trial_ask_for_what_their_names_say() -> None:
    cases = placement_policies.trial_cases(STRICT, "play")
    stamps = {
        thing["kind"]: f"guard-trial {placement_policies.revision_of(thing)}"
        for thing in placement_policies.trial_objects(STRICT)
        if thing["kind"] in (POLICY, MUTATION)
    }
    assert [(case.name, case.says, case.scheduled) for case in cases] == [
        ("a pod that names a protected node", ("names the node", stamps[POLICY]), ""),
        ("a pod that names no node", (), ""),
        (f"a pod that names a protected node and requests {D}", (), ""),
        ("a pod that tolerates a taint of protected nodes", ("tolerates a taint", stamps[POLICY]), ""),
        ("a pod whose node has to become an affinity", (), stamps[MUTATION]),
    ]
    naming, plain, requesting, tolerating, pinned = [case.pod for case in cases]
    assert {pod["metadata"]["namespace"] for pod in (naming, plain, requesting, tolerating, pinned)} == {"play"}
    assert [pod["spec"].get("nodeName") for pod in (naming, plain, requesting, tolerating, pinned)] == [
        "guard-trial",
        None,
        "guard-trial",
        None,
        "guard-trial",
    ]
    assert requesting["spec"]["containers"][0]["resources"]["limits"][D] == "1"
    # No other guard refuses it.
    assert tolerating["spec"]["tolerations"] == [
        {"key": "nodecraft.kubeadm/trial", "operator": "Equal", "effect": "NoSchedule", "value": ""}
    ]
    labels = [
        pod["metadata"]["labels"]["nodecraft.kubeadm/trial"] for pod in (naming, plain, requesting, tolerating, pinned)
    ]
    assert labels == ["refuse"] * 4 + ["affinity"]


def test_a_guard_that_knows_no_resources_and_no_tolerations_is_tried_without() -> None:
    guard = dataclasses.replace(GUARD, resources=(), require_request=True)
    assert [case.name for case in placement_policies.trial_cases(guard, "default")] == [
        "a pod that names a protected node",
        "a pod that names no node",
    ]


def test_a_plain_pod_as_a_whole() -> None:
    assert placement_policies.plain_case(GUARD, "default").pod == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "guard-trial-", "namespace": "default"},
        "spec": {
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "trial",
                    "image": "localhost/nodecraft-trial:1",
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                    "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}},
                }
            ],
        },
    }


def test_the_proof_is_a_refusal_or_an_affinity() -> None:
    refusal, plain = placement_policies.proof_cases(GUARD, "default", "w2")
    stamp = f"guard {placement_policies.revision_of(placement_policies.objects(GUARD)[0])}"
    assert (refusal.says, refusal.scheduled, refusal.former) == (("names the node w2", stamp), "", True)
    assert refusal.pod["spec"]["nodeName"] == "w2"
    assert plain == placement_policies.plain_case(GUARD, "default")
    affinity, naming, tolerating, plain = placement_policies.proof_cases(STRICT, "default", "w2")
    found = by_kind(placement_policies.objects(STRICT))
    stamps = {kind: f"guard {placement_policies.revision_of(found[kind])}" for kind in (POLICY, MUTATION)}
    assert (affinity.says, affinity.scheduled) == ((), stamps[MUTATION])
    # One that the other policy leaves alone, so that it meets this one.
    assert (naming.says, naming.scheduled) == (("names the node w2", stamps[POLICY]), "")
    left_alone = found[MUTATION_BINDING]["spec"]["matchResources"]["objectSelector"]["matchExpressions"]
    assert left_alone == [
        {"key": key, "operator": "NotIn", "values": [value]} for key, value in naming.pod["metadata"]["labels"].items()
    ]
    assert (tolerating.says, tolerating.scheduled) == (("tolerates a taint", stamps[POLICY]), "")
    # Another guard may be for everything else that could be tolerated.
    assert tolerating.pod["spec"]["tolerations"] == [
        {"effect": "NoExecute", "key": "a", "operator": "Equal", "value": ""},
        {"effect": "NoSchedule", "key": "a", "operator": "Equal", "value": "b"},
    ]
    # The copy that may still be in force does not concern them.
    assert [case for case in (refusal, affinity, tolerating, plain) if "labels" in case.pod["metadata"]] == []
