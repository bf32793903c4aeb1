# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The objects of a placement guard: its admission policies with their expressions in CEL, and their bindings.

There is no paramKind. What the policies know stands in their variables: a parameter that is deleted, or a binding that is
removed and made again, can leave API servers that refuse every pod until they are restarted.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing as t

Json = dict[str, t.Any]
ObjectKey = tuple[str, str]  # kind and name of an object

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
MUTATION, MUTATION_BINDING = "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"
# In the order in which they are written. They are removed the other way: a policy without a binding does nothing.
GUARD_KINDS = (POLICY, BINDING, MUTATION, MUTATION_BINDING)
# Who makes an object is written on it: nothing foreign is changed or removed.
OWNER = {"app.kubernetes.io/managed-by": "nodecraft.kubeadm"}
# On the dry-run pods of a trial, which proves a copy of the guard, on a node that does not exist, before the guard is written.
TRIAL_LABEL = "nodecraft.kubeadm/trial"
# Its value on pods that keep the name of their node, so that the proof sees the policy behind.
PROOF_LABEL_VALUE = "proof"
# On pods whose node became an affinity: which policy did it, in which revision.
ANNOTATION = "nodecraft.kubeadm/placement-guard"

_PLURALS = {
    POLICY: "validatingadmissionpolicies",
    BINDING: "validatingadmissionpolicybindings",
    MUTATION: "mutatingadmissionpolicies",
    MUTATION_BINDING: "mutatingadmissionpolicybindings",
}
# As kubeadm has it, and as it is without a service account for each controller.
_DAEMON_SET_CONTROLLERS = ["system:serviceaccount:kube-system:daemon-set-controller", "system:kube-controller-manager"]
_TRIAL = "-trial"
_REVISION = "revision"
_REVISION_LENGTH = 8


@dataclasses.dataclass(frozen=True)
class Guard:
    """What the policies are made of.

    nodes: the protected ones. taints: those that keep pods off them, each with effect, key and value; needed for require_request.
    affinity: whether names of nodes become affinities. exceptions: CEL expressions that let a pod through.
    exempt_namespaces: all that the guard does not concern.
    """

    name: str
    nodes: tuple[str, ...]
    resources: tuple[str, ...]
    taints: tuple[Json, ...]
    require_request: bool
    enforce: bool
    affinity: bool
    schedulers: tuple[str, ...]
    exceptions: tuple[str, ...]
    exempt_daemon_sets: tuple[str, ...]
    exempt_namespaces: tuple[str, ...]


def path_of(kind: str, name: str = "") -> str:
    """Where an object of the guard is in the API; without a name, the list of its kind."""
    return f"{GROUP}/{_PLURALS[kind]}" + (f"/{name}" if name else "")


def kinds_of(*, affinity: bool) -> tuple[str, ...]:
    """The kinds of objects that a guard needs."""
    return GUARD_KINDS if affinity else GUARD_KINDS[:2]


def build_objects(guard: Guard) -> list[Json]:
    """The objects of a guard, in the order in which they are written."""
    actions = ["Deny", "Audit"] if guard.enforce else ["Warn", "Audit"]
    found = [
        _make_policy(guard),
        _make_object(BINDING, guard, {"policyName": guard.name, "validationActions": actions}),
    ]
    if guard.affinity:
        but_proof = {"matchExpressions": [{"key": TRIAL_LABEL, "operator": "NotIn", "values": [PROOF_LABEL_VALUE]}]}
        spec = {"policyName": guard.name, "matchResources": {"objectSelector": but_proof}}
        found += [_make_mutation(guard), _make_object(MUTATION_BINDING, guard, spec)]
    return found


def nodes_of(policy: t.Mapping[str, t.Any] | None) -> list[str]:
    """The nodes that a policy of ours protects. None of one without such a list."""
    return [name for name in _list_variable(policy, "nodes") if isinstance(name, str)]


def taints_of(policy: t.Mapping[str, t.Any] | None) -> list[Json]:
    """The taints that pods may not tolerate by a policy of ours; none of one that does not require a request."""
    return [taint for taint in _list_variable(policy, "taints") if isinstance(taint, dict)]


def _list_variable(policy: t.Mapping[str, t.Any] | None, name: str) -> list[t.Any]:
    """A variable of a policy that is a list: they are JSON as well as CEL."""
    for variable in ((policy or {}).get("spec") or {}).get("variables") or []:
        if variable.get("name") == name:
            try:
                found = json.loads(variable["expression"])
            except ValueError:
                return []
            return found if isinstance(found, list) else []
    return []


def revision_of(policy: t.Mapping[str, t.Any]) -> str:
    """The revision of a policy of ours, which stands in its refusals: an API server may hold on to the former one for a while."""
    found = [entry["expression"] for entry in policy["spec"]["variables"] if entry["name"] == _REVISION]
    return str(json.loads(found[0]))


def denies(binding: t.Mapping[str, t.Any] | None) -> bool:
    """Whether a binding makes its policy refuse."""
    return "Deny" in (((binding or {}).get("spec") or {}).get("validationActions") or [])


def trial_name(name: str) -> str:
    """What the copy of a guard is called, and the one node more that it protects."""
    return f"{name}{_TRIAL}"


def is_trial(name: str) -> bool:
    """Whether the copy of some guard may be called so. Such copies are removed when they are found."""
    return name.endswith(_TRIAL)


def _make_object(kind: str, guard: Guard, spec: Json) -> Json:
    if "variables" in spec:
        # JSON as well as CEL. It goes first, for later variables may only know earlier ones.
        revision = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:_REVISION_LENGTH]
        spec = {**spec, "variables": [_entry(_REVISION, json.dumps(revision)), *spec["variables"]]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": guard.name, "labels": dict(OWNER)},
        "spec": spec,
    }


def _make_policy(guard: Guard) -> Json:
    strict = guard.require_request
    rules = [_rule("CREATE", "pods", "pods/binding", "bindings")]
    if strict:
        # Tolerations can be added to a pod that waits for a node.
        rules.append(_rule("UPDATE", "pods"))
    spec = {
        # A pod that makes an expression fail must not get through by that. What has to work in any case never meets an
        # expression that could.
        "failurePolicy": "Fail",
        "matchConstraints": {"namespaceSelector": _namespaces(guard), "resourceRules": rules},
        # One that is false ends it, whatever becomes of the others. So schedulers, static pods and pods that leave their
        # place to the scheduler depend on nothing else in here.
        "matchConditions": [
            _entry("not-by-a-scheduler", _by_no_scheduler(guard)),
            _entry("not-a-static-pod", _NO_STATIC_POD),
            _entry("names-a-node", _NAMES_OR_TOLERATES if strict else _NAMES_A_NODE),
        ],
        "variables": [*_variables(guard), *(_strict_variables(guard) if strict else [])],
        "validations": [_name_rule(guard), _binding_rule(guard), *([_toleration_rule(guard)] if strict else [])],
    }
    return _make_object(POLICY, guard, spec)


def _make_mutation(guard: Guard) -> Json:
    spec = {
        # A pod that it cannot change still has to pass the other policy.
        "failurePolicy": "Ignore",
        # Another program may write a node into the pod after it.
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {"namespaceSelector": _namespaces(guard), "resourceRules": [_rule("CREATE", "pods")]},
        "matchConditions": [
            _entry("not-a-static-pod", _NO_STATIC_POD),
            _entry("names-a-node", "has(dyn(object).spec.nodeName)"),
        ],
        "variables": [
            *_variables(guard),
            _entry("terms", _TERMS),
            _entry("pin", _PIN),
            # Of several terms one has to hold, so each of them is narrowed to the node; an empty one never does.
            _entry("pinnedTerms", _PINNED_TERMS),
        ],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _to_affinity(guard)}}],
    }
    return _make_object(MUTATION, guard, spec)


def _namespaces(guard: Guard) -> Json:
    # No expression is evaluated at all for what is in these.
    outside = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": list(guard.exempt_namespaces),
    }
    return {"matchExpressions": [outside]}


def _rule(operation: str, *resources: str) -> Json:
    return {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": list(resources)}


def _entry(name: str, expression: str) -> Json:
    return {"name": name, "expression": expression}


def _cel_list(values: t.Iterable[t.Any]) -> str:
    """A list as CEL has it, one entry on a line."""
    return json.dumps(list(values), indent=2, sort_keys=True)


def _variables(guard: Guard) -> list[Json]:
    """The variables of both policies, of the pod or binding in the request."""
    return [
        _entry("nodes", _cel_list(guard.nodes)),
        _entry("resources", _cel_list(guard.resources)),
        _entry("target", _TARGET),
        _entry("requests", _REQUESTS),
        _entry("daemonSets", _cel_list(guard.exempt_daemon_sets)),
        # Anybody may write an owner into a pod, so it counts only in requests of the controller.
        _entry("ofDaemonSet", _OF_DAEMON_SET),
        _entry("excepted", _excepted(guard)),
    ]


def _strict_variables(guard: Guard) -> list[Json]:
    return [
        _entry("taints", _cel_list(guard.taints)),
        _entry("tolerates", _TOLERATES),
        # As the pods of DaemonSets are, each for one node.
        _entry("elsewhere", _ELSEWHERE),
    ]


def _by_no_scheduler(guard: Guard) -> str:
    return f'object.kind != "Binding" || !(request.userInfo.username in {json.dumps(list(guard.schedulers))})'


def _excepted(guard: Guard) -> str:
    return "\n".join(["variables.ofDaemonSet", *(f"|| {in_brackets(text)}" for text in guard.exceptions)])


def in_brackets(expression: str) -> str:
    """An expression that keeps its meaning beside others."""
    # On a line of its own, for the last one may end in a comment.
    return f"({expression.strip()}\n)"


def _purpose(guard: Guard) -> str:
    return f"request {' or '.join(guard.resources)}" if guard.resources else "match an exception of the guard"


def _name_rule(guard: Guard) -> Json:
    protected = (
        f", which is protected for pods that {_purpose(guard)}, and bypasses the scheduler."
        " Remove spec.nodeName, so that the scheduler places the pod; kubectl debug node/NAME works with --namespace kube-system."
    )
    return {
        "expression": (
            'object.kind == "Binding" || !(variables.target in variables.nodes) || variables.requests || variables.excepted'
        ),
        "reason": "Forbidden",
        "message": "The pod names a protected node and bypasses the scheduler.",
        "messageExpression": f'"the pod names the node " + variables.target + {json.dumps(protected)} + {_identity_suffix(guard)}',
    }


def _binding_rule(guard: Guard) -> Json:
    allowed = f" only by {', '.join(guard.schedulers)}, because it is protected. This binding bypasses the scheduler: it is from "
    return {
        "expression": 'object.kind != "Binding" || !(variables.target in variables.nodes)',
        "reason": "Forbidden",
        "message": "Pods are bound to protected nodes only by schedulers.",
        "messageExpression": (
            f'"pods are bound to the node " + variables.target + {json.dumps(allowed)}\n'
            f"+ request.userInfo.username + {_identity_suffix(guard)}"
        ),
    }


def _toleration_rule(guard: Guard) -> Json:
    refusal = (
        f"the pod tolerates a taint of nodes that are protected for pods that {_purpose(guard)}."
        " Remove the toleration, also one without a key."
    )
    return {
        "expression": (
            'object.kind == "Binding" || !variables.tolerates || variables.requests || variables.elsewhere || variables.excepted'
        ),
        "reason": "Forbidden",
        "message": "The pod tolerates a taint of protected nodes.",
        "messageExpression": f"{json.dumps(refusal)} + {_identity_suffix(guard)}",
    }


def _identity_suffix(guard: Guard) -> str:
    """What ends each message, in CEL: which guard it was, in which revision."""
    return f'{json.dumps(f" ({guard.name} ")} + variables.{_REVISION} + ")"'


_NO_STATIC_POD = """\
!("system:nodes" in request.userInfo.?groups.orValue([])
  && "kubernetes.io/config.mirror" in object.metadata.?annotations.orValue({}))"""

_NAMES_A_NODE = 'object.kind == "Binding" || has(dyn(object).spec.nodeName)'

_NAMES_OR_TOLERATES = """\
object.kind == "Binding"
|| (request.operation == "CREATE"
    ? has(dyn(object).spec.nodeName) || has(dyn(object).spec.tolerations)
    : !has(dyn(oldObject).spec.nodeName) && dyn(object).spec.?tolerations != dyn(oldObject).spec.?tolerations)"""

_TARGET = 'object.kind == "Binding" ? dyn(object).target.name : dyn(object).spec.?nodeName.orValue("")'

_REQUESTS = """\
(dyn(object).spec.containers + dyn(object).spec.?initContainers.orValue([])).exists(container,
  variables.resources.exists(resource,
    quantity(container.?resources.?requests[?resource].orValue("0")).isGreaterThan(quantity("0"))))"""

_OF_DAEMON_SET = f"""\
request.userInfo.username in {json.dumps(_DAEMON_SET_CONTROLLERS)}
&& object.metadata.?ownerReferences.orValue([]).exists(owner,
  owner.kind == "DaemonSet" && request.namespace + "/" + owner.name in variables.daemonSets)"""

_TOLERATES = """\
dyn(object).spec.?tolerations.orValue([]).exists(toleration,
  variables.taints.exists(taint,
    toleration.?key.orValue("") in ["", taint.key] && toleration.?effect.orValue("") in ["", taint.effect]
    && (!(toleration.?operator.orValue("") in ["", "Equal"]) || toleration.?value.orValue("") == taint.value)))"""

_ELSEWHERE = """\
variables.target != "" && !(variables.target in variables.nodes)
|| [dyn(object).spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])]
  .exists(terms, size(terms) > 0 && terms.all(term,
    term.?matchFields.orValue([]).exists(field,
      field.key == "metadata.name" && field.operator == "In" && !field.values.exists(name, name in variables.nodes))))"""

_TERMS = (
    "dyn(object).spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution"
    ".?nodeSelectorTerms.orValue([])"
)

_PIN = '[{"key": dyn("metadata.name"), "operator": dyn("In"), "values": dyn([variables.target])}]'

# From 1.37 on a requirement is a structure of Go's, which a JSON patch cannot hold: it is written again, field by field.
_REQUIREMENTS = """\
term.?%s.orValue([]).map(one,
          {"key": dyn(one.key), "operator": dyn(string(one.operator)), "values": dyn(one.?values.orValue([]).map(value, value))})"""

_PINNED_TERMS = f"""\
size(variables.terms) == 0
? [{{"matchFields": dyn(variables.pin)}}]
: variables.terms.map(term,
    size(term.?matchExpressions.orValue([])) + size(term.?matchFields.orValue([])) == 0
    ? dyn({{}})
    : dyn({{
        "matchExpressions": dyn({_REQUIREMENTS % "matchExpressions"}),
        "matchFields": dyn({_REQUIREMENTS % "matchFields"} + variables.pin)}}))"""

_TO_AFFINITY = """\
!(variables.target in variables.nodes) || variables.excepted ? [] :
[JSONPatch{op: "remove", path: "/spec/nodeName"}]
+ (has(dyn(object).spec.affinity) ? [] :
   [JSONPatch{op: "add", path: "/spec/affinity", value: Object.spec.affinity{}}])
+ (has(dyn(object).spec.affinity) && has(dyn(object).spec.affinity.nodeAffinity) ? [] :
   [JSONPatch{op: "add", path: "/spec/affinity/nodeAffinity", value: Object.spec.affinity.nodeAffinity{}}])
+ [JSONPatch{op: "add", path: "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution",
             value: {"nodeSelectorTerms": variables.pinnedTerms}}]
+ (has(object.metadata.annotations) ? [] :
   [JSONPatch{op: "add", path: "/metadata/annotations", value: dyn({})}])
+ [JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey(%s),
             value: %s + variables.%s}]"""


def _to_affinity(guard: Guard) -> str:
    return _TO_AFFINITY % (json.dumps(ANNOTATION), json.dumps(f"{guard.name} "), _REVISION)
