# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Which callers that a cluster lives on an authorization webhook can meet, by its matchConditions.

A webhook is passed over when one of its conditions is false. The conditions are CEL; those that look at the user and the
groups of a request are worked out here, and whatever else they say counts as unknown. So a caller is skipped only where
that is certain.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import typing as t

# What CEL writes otherwise than Python does; texts in quotes stay as they are.
_TOKENS = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|&&|\|\||!(?!=)""")
_WORDS = {"&&": " and ", "||": " or ", "!": " not "}
_CONSTANTS = {"true": True, "false": False}
_USER, _GROUPS = "request.user", "request.groups"

Truth = t.Optional[bool]  # None: unknown


@dataclasses.dataclass(frozen=True)
class Caller:
    """A caller whose requests must not be denied.

    user: the whole name, or with C(prefix) what it begins with. without: a condition that leaves them out.
    """

    name: str
    user: str
    prefix: bool
    groups: tuple[str, ...]
    without: str


_KUBE_SYSTEM = "system:serviceaccounts:kube-system"
KUBELETS = Caller(
    "kubelets", "system:node:", True, ("system:nodes", "system:authenticated"), "!('system:nodes' in request.groups)"
)
CALLERS = (
    KUBELETS,
    Caller(
        "administrators",
        "kubernetes-admin",
        False,
        ("kubeadm:cluster-admins", "system:authenticated"),
        "!('kubeadm:cluster-admins' in request.groups)",
    ),
    Caller(
        "service accounts of kube-system",
        "system:serviceaccount:kube-system:",
        True,
        ("system:serviceaccounts", _KUBE_SYSTEM, "system:authenticated"),
        f"!('{_KUBE_SYSTEM}' in request.groups)",
    ),
    *(
        Caller(
            component,
            f"system:{component}",
            False,
            ("system:authenticated",),
            "!request.user.startsWith('system:kube-')",
        )
        for component in ("kube-controller-manager", "kube-scheduler")
    ),
    # A request for the health of an API server is authorized, too; kubeadm's probes carry no name.
    Caller(
        "the kubelet's probes of the API server",
        "system:anonymous",
        False,
        ("system:unauthenticated",),
        "!('system:unauthenticated' in request.groups)",
    ),
)


def can_meet(conditions: t.Iterable[str], caller: Caller) -> bool:
    """Whether requests of a caller can reach a webhook that has these conditions."""
    return not any(_evaluate(condition, caller) is False for condition in conditions)


def _evaluate(condition: str, caller: Caller) -> Truth:
    text = _TOKENS.sub(lambda match: _WORDS.get(match.group(), match.group()), condition)
    try:
        return _truth(ast.parse(text.strip(), mode="eval").body, caller)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _truth(node: ast.expr, caller: Caller) -> Truth:
    """By the rules of three-valued logic."""
    if isinstance(node, ast.BoolOp):
        answers = [_truth(value, caller) for value in node.values]
        decisive = isinstance(node.op, ast.Or)
        return decisive if decisive in answers else None if None in answers else not decisive
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        answer = _truth(node.operand, caller)
        return None if answer is None else not answer
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison(node.left, node.ops[0], node.comparators[0], caller)
    if isinstance(node, ast.Call):
        return _beginning(node, caller)
    return _CONSTANTS.get(node.id) if isinstance(node, ast.Name) else None


def _comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr, caller: Caller) -> Truth:
    if isinstance(operator, ast.In):
        if ast.unparse(right) == _GROUPS:
            group = _text(left)
            return None if group is None else group in caller.groups
        if ast.unparse(left) == _USER and isinstance(right, ast.List):
            return _truth(ast.BoolOp(ast.Or(), [ast.Compare(left, [ast.Eq()], [each]) for each in right.elts]), caller)
        return None
    sides = {ast.unparse(left): right, ast.unparse(right): left}
    name = _text(sides[_USER]) if _USER in sides else None
    if name is None or not isinstance(operator, (ast.Eq, ast.NotEq)):
        return None
    same = name == caller.user
    if caller.prefix:
        if name.startswith(caller.user):
            return None
        same = False
    return same if isinstance(operator, ast.Eq) else not same


def _beginning(node: ast.Call, caller: Caller) -> Truth:
    if ast.unparse(node.func) != f"{_USER}.startsWith" or len(node.args) != 1:
        return None
    beginning = _text(node.args[0])
    if beginning is None or (caller.prefix and beginning != caller.user and beginning.startswith(caller.user)):
        return None
    return caller.user.startswith(beginning)


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
