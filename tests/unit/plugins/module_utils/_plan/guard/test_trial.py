# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The copy that is tried, the pods that it is tried on, and what the responses mean."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import policies as placement_policies
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import trial as placement_trial
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import (
    BINDING,
    MUTATION,
    MUTATION_BINDING,
    POLICY,
    Guard,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.trial import Case
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import (
    GUARD,
    NAME,
    STRICT_GUARD,
    D,
    by_kind,
    desired,
    expressions,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json

AFFINITY: Json = {"enforce": True, "on_node_name": "affinity"}


@pytest.mark.parametrize("guard", [GUARD, STRICT_GUARD])
def test_the_trial_is_a_copy_that_concerns_pods_with_its_label_only(guard: Guard) -> None:
    trial = by_kind(placement_trial.trial_objects(guard))
    taints = (*guard.taints, {"effect": "NoSchedule", "key": "nodecraft.kubeadm/trial", "value": ""})
    nodes = ("w1", "w2", "guard-trial")
    twin = dataclasses.replace(guard, name="guard-trial", nodes=nodes, taints=taints)
    expected = by_kind(placement_policies.build_objects(twin))
    selector = {"objectSelector": {"matchLabels": {"nodecraft.kubeadm/trial": "refuse"}}}
    expected[BINDING]["spec"].update(validationActions=["Deny"], matchResources=selector)
    if guard.affinity:
        selector = {"objectSelector": {"matchLabels": {"nodecraft.kubeadm/trial": "affinity"}}}
        expected[MUTATION_BINDING]["spec"].update(matchResources=selector)
    assert trial == expected


def test_exceptions_of_a_guard_that_warns_are_evaluated_in_the_trial_and_let_nothing_through() -> None:
    # Of one that refuses they may let through whom they are for, and that must not be who makes the trial.
    found = by_kind(placement_trial.trial_objects(STRICT_GUARD))[POLICY]
    assert "? false : false" not in expressions(found)["excepted"]
    trial = by_kind(placement_trial.trial_objects(dataclasses.replace(STRICT_GUARD, enforce=False)))
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


def test_pods_of_the_trial_request_what_their_names_state() -> None:
    cases = placement_trial.trial_cases(STRICT_GUARD, "play")
    stamps = {
        thing["kind"]: f"guard-trial {placement_policies.revision_of(thing)}"
        for thing in placement_trial.trial_objects(STRICT_GUARD)
        if thing["kind"] in (POLICY, MUTATION)
    }
    assert [(case.name, case.messages, case.annotation) for case in cases] == [
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
    assert [case.name for case in placement_trial.trial_cases(guard, "default")] == [
        "a pod that names a protected node",
        "a pod that names no node",
    ]


def test_a_plain_pod_as_a_whole() -> None:
    assert placement_trial.harmless_case(GUARD, "default").pod == {
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
    refusal, plain = placement_trial.proof_cases(GUARD, "default", "w2")
    stamp = f"guard {placement_policies.revision_of(placement_policies.build_objects(GUARD)[0])}"
    assert (refusal.messages, refusal.annotation, refusal.or_former) == (("names the node w2", stamp), "", True)
    assert refusal.pod["spec"]["nodeName"] == "w2"
    assert plain == placement_trial.harmless_case(GUARD, "default")
    affinity, naming, tolerating, plain = placement_trial.proof_cases(STRICT_GUARD, "default", "w2")
    found = by_kind(placement_policies.build_objects(STRICT_GUARD))
    stamps = {kind: f"guard {placement_policies.revision_of(found[kind])}" for kind in (POLICY, MUTATION)}
    assert (affinity.messages, affinity.annotation) == ((), stamps[MUTATION])
    # One that the other policy leaves alone, so that it meets this one.
    assert (naming.messages, naming.annotation) == (("names the node w2", stamps[POLICY]), "")
    left_alone = found[MUTATION_BINDING]["spec"]["matchResources"]["objectSelector"]["matchExpressions"]
    assert left_alone == [
        {"key": key, "operator": "NotIn", "values": [value]} for key, value in naming.pod["metadata"]["labels"].items()
    ]
    assert (tolerating.messages, tolerating.annotation) == (("tolerates a taint", stamps[POLICY]), "")
    # Another guard may be for everything else that could be tolerated.
    assert tolerating.pod["spec"]["tolerations"] == [
        {"effect": "NoExecute", "key": "a", "operator": "Equal", "value": ""},
        {"effect": "NoSchedule", "key": "a", "operator": "Equal", "value": "b"},
    ]
    # The copy that may still be in force does not concern them.
    assert [case for case in (refusal, affinity, tolerating, plain) if "labels" in case.pod["metadata"]] == []


# ---- what the responses say ------------------------------------------------------------------------------------------


NAMING = Case("a pod that names w1", {}, messages=("names the node w1",))
OWN = Case("a pod that names w1", {}, messages=("names the node w1", "mine 1a2b3c4d"))
PLAIN = Case("a pod that names no node", {})
PINNED = Case("a pod whose node has to become an affinity", {}, annotation="mine 1a2b3c4d")
PINNED_BY = "nodecraft.kubeadm/placement-guard"


@pytest.mark.parametrize(
    ("case", "accepted", "message", "problem"),
    [
        (NAMING, None, "403, the pod names the node w1, which", ""),
        (NAMING, {"spec": {}}, "", "It did not refuse a pod that names w1 within 30 s. Check whether the API server"),
        (
            OWN,
            None,
            "403, ValidatingAdmissionPolicy 'mine' with binding 'mine' denied: the pod names the node w1, which. (mine 1a2b3c4d)",
            "",
        ),
        (
            OWN,
            None,
            "403, ValidatingAdmissionPolicy 'mine' with denied: the pod names the node w1 (mine 00000000)",
            "It did not refuse",
        ),
        (NAMING, None, "quota exceeded", "within 30 s (quota exceeded). Check"),
        (
            NAMING,
            None,
            "x resulted in error: no such key: team",
            "An expression fails for a pod that names w1: x resulted",
        ),
        (PLAIN, {"spec": {}}, "", ""),
        (
            PLAIN,
            None,
            "no.",
            "It must accept a pod that names no node in the namespace ns, and the API server said: no.",
        ),
        (PINNED, {"metadata": {"annotations": {PINNED_BY: "mine 1a2b3c4d"}}, "spec": {"affinity": {}}}, "", ""),
        (
            PINNED,
            {"metadata": {}, "spec": {"nodeName": "w1"}},
            "",
            "was not turned into an affinity by mine 1a2b3c4d for 30 s. Check whether the API server runs without",
        ),
        (
            PINNED,
            {"metadata": {"annotations": {PINNED_BY: "mine 00000000"}}, "spec": {"affinity": {}}},
            "",
            "was not turned into an affinity by mine 1a2b3c4d",
        ),
        (PINNED, None, "no.", "It must accept a pod whose node has to become an affinity"),
    ],
)
def test_responses_to_pods_are_validated(case: Case, accepted: Json | None, message: str, problem: str) -> None:
    found = placement_trial.case_problem(case, accepted, message, seconds=30, namespace="ns")
    assert problem in found
    assert bool(problem) == bool(found)


def test_what_is_reported_of_expressions() -> None:
    warning = {"fieldRef": "spec.variables[6].expression", "warning": "undefined field 'specs'"}
    assert placement_trial.type_warnings({"status": {"typeChecking": {"expressionWarnings": [warning]}}}) == [
        "The API server says of the expression spec.variables[6].expression: undefined field 'specs'"
    ]
    assert placement_trial.type_warnings({"status": {"observedGeneration": 1}}) == []
    assert placement_trial.type_warnings({}) == []


def test_the_way_out_names_every_binding() -> None:
    assert placement_trial.disable_remedy(desired(enforce=True)) == (
        f"To disable it: kubectl delete validatingadmissionpolicybinding {NAME}."
    )
    assert f"and kubectl delete mutatingadmissionpolicybinding {NAME}." in placement_trial.disable_remedy(
        desired(**AFFINITY)
    )
