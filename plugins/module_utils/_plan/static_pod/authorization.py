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

_NODE, _RBAC, _WEBHOOK, _ALWAYS_ALLOW = "Node", "RBAC", "Webhook", "AlwaysAllow"
_NEEDED = {
    _NODE: "kubelets could neither read their pods nor report their nodes",
    _RBAC: "administrators, controllers and the pods of kube-system would be denied",
}


_KUBELETS = "kubelets"
# A request for the health of an API server is authorized, too; kubeadm's probes carry no name.
_VITAL_CALLERS = (
    _KUBELETS,
    "administrators",
    "service accounts of kube-system",
    "kube-controller-manager",
    "kube-scheduler",
    "the kubelet's probes of the API server",
)


@dataclasses.dataclass(frozen=True)
class Authorizer:
    """One of those that are asked in turn.

    denies: whether it denies what it could not judge, because its webhook does not answer. has_conditions: whether
    it is asked about some requests only.
    """

    type: str
    name: str = ""
    denies: bool = False
    has_conditions: bool = False


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
    denies = webhook.get("failurePolicy") == "Deny"
    return Authorizer(entry["type"], str(entry.get("name")), denies, bool(webhook.get("matchConditions")))


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
    """Who may be denied while a webhook does not answer. Whom an authorizer before it allows does not meet it."""
    callers: t.Sequence[str] = _VITAL_CALLERS
    if _RBAC in before:
        callers = () if _NODE in before else (_KUBELETS,)
    if not callers:
        return
    advice = f"put it behind {_NODE} and {_RBAC}"
    if webhook.has_conditions:
        # They are CEL, which only an API server evaluates.
        yield (
            f"the webhook {webhook.name} (failurePolicy: Deny) may deny {', '.join(callers)} while it does not answer: whom its"
            f" matchConditions leave out is not known here; {advice}, or see to it that they leave out all of these"
        )
    else:
        yield f"the webhook {webhook.name} (failurePolicy: Deny) would deny {', '.join(callers)} while it does not answer; {advice}"
