# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The trial of a placement guard: the copy that is tried, the pods that are sent as dry runs, and what the responses mean."""

from __future__ import annotations

import dataclasses
import typing as t

from .desired import Desired
from .policies import (
    ANNOTATION,
    BINDING,
    MUTATION,
    MUTATION_BINDING,
    POLICY,
    PROOF_LABEL_VALUE,
    TRIAL_LABEL,
    Guard,
    Json,
    build_objects,
    in_brackets,
    revision_of,
    trial_name,
)

# What a pod with the label is for.
_REFUSE, _AFFINITY = "refuse", "affinity"
_TRIAL_TAINT: Json = {"effect": "NoSchedule", "key": TRIAL_LABEL, "value": ""}
_NAMES_NONE = "a pod that names no node"
_LET_THROUGH = "It did not refuse"


@dataclasses.dataclass(frozen=True)
class Case:
    """A pod that is sent as a dry run, and the expected response.

    messages: texts that the refusal has to contain; empty when the pod has to be accepted. annotation: the annotation
    of a pod whose node has to become an affinity. or_former: whether an earlier revision of the policy may still respond.
    """

    name: str
    pod: Json
    messages: tuple[str, ...] = ()
    annotation: str = ""
    or_former: bool = False


def trial_objects(guard: Guard) -> list[Json]:
    """A copy of the policies that refuses, for pods with a label of their own, for one more node and one more taint, which do not exist.

    Nothing else protects that node and knows that taint, so it is this copy that refuses. Of a guard that only warns, exceptions are
    evaluated, so that one that fails shows, and let nothing through: they may well hold for the client of the trial. Of one that
    refuses they may not, since its proof would fail.
    """
    name = trial_name(guard.name)
    # With && an expression that fails would be false.
    tame = tuple(f"{in_brackets(text)} ? false : false" for text in guard.exceptions)
    exceptions = guard.exceptions if guard.enforce else tame
    nodes, taints = (*guard.nodes, name), (*guard.taints, _TRIAL_TAINT)
    copy = dataclasses.replace(guard, name=name, nodes=nodes, taints=taints, enforce=True, exceptions=exceptions)
    found = build_objects(copy)
    for thing in found:
        if thing["kind"] in (BINDING, MUTATION_BINDING):
            label = _REFUSE if thing["kind"] == BINDING else _AFFINITY
            thing["spec"]["matchResources"] = {"objectSelector": {"matchLabels": {TRIAL_LABEL: label}}}
        if thing["kind"] == BINDING:
            thing["spec"]["validationActions"] = ["Deny"]
    return found


def trial_cases(guard: Guard, namespace: str) -> list[Case]:
    """The cases while the copy is in force; the first is refused by nothing else."""
    node = trial_name(guard.name)
    stamps = _revision_stamps(trial_objects(guard))
    naming = build_pod(guard, namespace, node=node, label=_REFUSE)
    cases = [
        Case("a pod that names a protected node", naming, messages=("names the node", stamps[POLICY])),
        Case(_NAMES_NONE, build_pod(guard, namespace, label=_REFUSE)),
    ]
    if guard.resources:
        requesting = build_pod(guard, namespace, node=node, resource=guard.resources[0], label=_REFUSE)
        cases.append(Case(f"a pod that names a protected node and requests {guard.resources[0]}", requesting))
    if guard.require_request and guard.taints:
        tolerating = _tolerating_pod(build_pod(guard, namespace, label=_REFUSE), [_TRIAL_TAINT])
        messages = ("tolerates a taint", stamps[POLICY])
        cases.append(Case("a pod that tolerates a taint of protected nodes", tolerating, messages=messages))
    if guard.affinity:
        pinned = build_pod(guard, namespace, node=node, label=_AFFINITY)
        cases.append(Case("a pod whose node has to become an affinity", pinned, annotation=stamps[MUTATION]))
    return cases


def _revision_stamps(found: t.Iterable[Json]) -> dict[str, str]:
    """What the policies among some objects write into refusals and annotations, by their kinds: name and revision."""
    return {
        thing["kind"]: f"{thing['metadata']['name']} {revision_of(thing)}"
        for thing in found
        if thing["kind"] in (POLICY, MUTATION)
    }


def harmless_case(guard: Guard, namespace: str) -> Case:
    """A pod that is never refused."""
    return Case(_NAMES_NONE, build_pod(guard, namespace))


def proof_cases(guard: Guard, namespace: str, node: str | None) -> list[Case]:
    """The cases for the guard in force. node: one that it protects; None when it protects none.

    The pods have no label that the copy looks for: API servers may hold on to it for a moment after it was removed.
    """
    if node is None:
        return [harmless_case(guard, namespace)]
    stamps = _revision_stamps(build_objects(guard))
    messages = (f"names the node {node}", stamps[POLICY])
    cases = []
    if guard.affinity:
        pinned = build_pod(guard, namespace, node=node)
        cases.append(
            Case(
                f"a pod whose node {node} has to become an affinity",
                pinned,
                annotation=stamps[MUTATION],
                or_former=True,
            )
        )
    naming = build_pod(guard, namespace, node=node, label=PROOF_LABEL_VALUE if guard.affinity else "")
    cases.append(Case(f"a pod that names {node}", naming, messages=messages, or_former=True))
    if guard.require_request and guard.taints:
        tolerating = _tolerating_pod(build_pod(guard, namespace), guard.taints)
        messages = ("tolerates a taint", stamps[POLICY])
        cases.append(
            Case("a pod that tolerates the taints of the nodes", tolerating, messages=messages, or_former=True)
        )
    return [*cases, harmless_case(guard, namespace)]


def _tolerating_pod(plain: Json, taints: t.Iterable[Json]) -> Json:
    # An API server returns one refusal alone. So the pod tolerates nothing that another guard may be for.
    tolerations = [{**taint, "operator": "Equal"} for taint in taints]
    return {**plain, "spec": {**plain["spec"], "tolerations": tolerations}}


def build_pod(guard: Guard, namespace: str, *, node: str = "", resource: str = "", label: str = "") -> Json:
    """A harmless pod. Quotas and pod security standards have nothing against it. label: what it is for in a trial."""
    limits = {"cpu": "100m", "memory": "64Mi", **({resource: "1"} if resource else {})}
    container = {
        "name": "trial",
        # It is never pulled: the pod is a dry run.
        "image": "localhost/nodecraft-trial:1",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "resources": {"limits": limits},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{trial_name(guard.name)}-",
            "namespace": namespace,
            **({"labels": {TRIAL_LABEL: label}} if label else {}),
        },
        "spec": {
            **({"nodeName": node} if node else {}),
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,  # any user but root
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
        },
    }


# ---- what the responses mean ------------------------------------------------------------------------------------------


def case_problem(
    case: Case, accepted_pod: t.Mapping[str, t.Any] | None, message: str, *, seconds: int, namespace: str
) -> str:
    """What is wrong about the response to a case; empty when nothing is.

    accepted_pod: the pod as the API server would make it; None when it refused. message: its refusal. seconds: for how long requests were sent.
    """
    if is_expression_error(message):
        return f"An expression fails for {case.name}: {message}."
    if case.messages and not all(text in message for text in case.messages):
        text = f" ({message})" if message else ""
        return (
            f"{_LET_THROUGH} {case.name} within {seconds} s{text}. Check whether the API server runs without the admission plugin"
            " ValidatingAdmissionPolicy."
        )
    if not case.messages and accepted_pod is None:
        return f"It must accept {case.name} in the namespace {namespace}, and the API server said: {message}."
    if case.annotation and not _became_affinity(case, accepted_pod or {}):
        return (
            f"The node of {case.name} was not turned into an affinity by {case.annotation} for {seconds} s. Check whether the API server"
            " runs without the admission plugin MutatingAdmissionPolicy."
        )
    return ""


def is_expression_error(message: str) -> bool:
    """Whether a refusal is about an expression that fails."""
    return "resulted in error" in message


def _became_affinity(case: Case, accepted_pod: t.Mapping[str, t.Any]) -> bool:
    annotations = accepted_pod["metadata"].get("annotations") or {}
    return "nodeName" not in accepted_pod["spec"] and annotations.get(ANNOTATION) == case.annotation


def type_warnings(policy: t.Mapping[str, t.Any]) -> list[str]:
    """What the controller manager found wrong with the types in the expressions of a policy."""
    checked = (policy.get("status") or {}).get("typeChecking") or {}
    return [
        f"The API server says of the expression {entry['fieldRef']}: {entry['warning']}"
        for entry in checked.get("expressionWarnings") or []
    ]


def exception_hint(desired: Desired, problems: t.Iterable[str]) -> str:
    """Another possible cause when a guard that refuses lets a pod through; empty when it cannot be."""
    if not (desired.exceptions and desired.enforce and any(text.startswith(_LET_THROUGH) for text in problems)):
        return ""
    return "Or one of its exceptions applies to the account of this task. Remove the account from them, because it must be refused here."


def trial_error(desired: Desired, message: str) -> str:
    """Why nothing can be tried where a harmless pod is refused. message: the refusal."""
    text = message.rstrip(".")
    if f"ValidatingAdmissionPolicy '{desired.name}'" in text:
        return f"the guard that is in force refuses a harmless pod: {text}. Another client changed it. {disable_remedy(desired)} Then run the task again."
    return (
        f"trial_namespace: no trial is possible in {desired.trial_namespace}, because a harmless pod is refused there: {text}. Name another"
        " namespace."
    )


def disable_remedy(desired: Desired) -> str:
    """How to take a guard out of force, whatever else does not work."""
    names = ["validatingadmissionpolicybinding", *(["mutatingadmissionpolicybinding"] if desired.affinity else [])]
    return f"To disable it: {' and '.join(f'kubectl delete {kind} {desired.name}' for kind in names)}."
