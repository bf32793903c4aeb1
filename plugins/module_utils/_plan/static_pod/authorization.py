# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Authorization of an API server: what locks out whom the cluster lives on, or lets in everybody.

A webhook that answers when it is set up lets an API server become healthy. When it does not answer later, the kubelet's probes are
denied as well, and the kubelet restarts the API server for ever.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..documents import configuration
from . import match_conditions

_NODE, _RBAC, _WEBHOOK, _ALWAYS_ALLOW = "Node", "RBAC", "Webhook", "AlwaysAllow"
_NEEDED = {
    _NODE: "kubelets could neither read their pods nor report their nodes",
    _RBAC: "administrators, controllers and the pods of kube-system would be denied",
}


@dataclasses.dataclass(frozen=True)
class Authorizer:
    """One of those that are asked in turn.

    denies: whether it denies what it could not judge, because its webhook does not answer. conditions: which requests reach it.
    """

    type: str
    name: str = ""
    denies: bool = False
    conditions: tuple[str, ...] = ()


def of_modes(modes: t.Sequence[str]) -> list[Authorizer]:
    """The authorizers of the flag C(authorization-mode). A webhook of flags has no opinion where it does not answer."""
    return [Authorizer(mode) for mode in modes or [_ALWAYS_ALLOW]]


def parse(content: bytes) -> list[Authorizer]:
    """The authorizers of an AuthorizationConfiguration. Raises Refusal when it is none."""
    return configuration.read(
        content,
        "AuthorizationConfiguration",
        lambda data: [_authorizer(entry) for entry in data["authorizers"]],
    )


def _authorizer(entry: t.Mapping[str, t.Any]) -> Authorizer:
    webhook = entry.get("webhook") or {}
    conditions = tuple(str(condition["expression"]) for condition in webhook.get("matchConditions") or [])
    return Authorizer(entry["type"], str(entry.get("name")), webhook.get("failurePolicy") == "Deny", conditions)


def findings(authorizers: t.Sequence[Authorizer]) -> list[str]:
    """What is dangerous about these authorizers, one sentence each."""
    types = [authorizer.type for authorizer in authorizers]
    found = [f"without {needed} {consequence}" for needed, consequence in _NEEDED.items() if needed not in types]
    if _ALWAYS_ALLOW in types:
        found.append(f"{_ALWAYS_ALLOW} would allow every request, also anonymous ones")
    for place, authorizer in enumerate(authorizers):
        if authorizer.type == _WEBHOOK and authorizer.denies:
            found += _denials(authorizer, types[:place])
    return found


def _denials(webhook: Authorizer, before: t.Collection[str]) -> t.Iterator[str]:
    """Who is denied while a webhook does not answer. Whom an authorizer before it allows does not meet it."""
    if _RBAC in before:
        callers: t.Sequence[match_conditions.Caller] = () if _NODE in before else (match_conditions.KUBELETS,)
    else:
        callers = match_conditions.CALLERS
    met = [caller for caller in callers if match_conditions.can_meet(webhook.conditions, caller)]
    if met:
        yield (
            f"the webhook {webhook.name} (failurePolicy: Deny) would deny {', '.join(caller.name for caller in met)} while it"
            f" does not answer; put it behind {_NODE} and {_RBAC}, or add to its matchConditions:"
            f" {' and '.join(dict.fromkeys(caller.without for caller in met))}"
        )
