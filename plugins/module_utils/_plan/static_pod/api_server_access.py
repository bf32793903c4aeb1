# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Authorization and admission of an API server: what locks out whom the cluster lives on, lets in everybody, or keeps the pods of kube-system
from being made again.

A webhook that answers when it is set up lets an API server become healthy. When it does not answer later, the kubelet's probes are
denied as well, and the kubelet restarts the API server for ever. Nothing of admission shows until one of the pods that run is replaced.
"""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

from ..documents import configuration

KUBE_SYSTEM = "kube-system"
POD_SECURITY, IMAGE_POLICY = "PodSecurity", "ImagePolicyWebhook"
_NODE, _RBAC, _WEBHOOK, _ALWAYS_ALLOW = "Node", "RBAC", "Webhook", "AlwaysAllow"
_NEEDED = {
    _NODE: "kubelets could neither read their pods nor report their nodes",
    _RBAC: "administrators, controllers and the pods of kube-system would be denied",
}
_KUBELETS = "kubelets"
# A request for the health of an API server is authorized, too; kubeadm's probes carry no name.
_REQUIRED_CALLERS = (
    _KUBELETS,
    "administrators",
    "service accounts of kube-system",
    "kube-controller-manager",
    "kube-scheduler",
    "the kubelet's probes of the API server",
)


# ---- authorization ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Authorizer:
    """One of those that decide in turn.

    denies: whether it denies what it could not decide, because its webhook does not respond. has_conditions: whether
    it decides about some requests only.
    """

    type: str
    name: str = ""
    denies: bool = False
    has_conditions: bool = False


def authorizers_of_modes(modes: t.Sequence[str]) -> list[Authorizer]:
    """The authorizers of the flag C(authorization-mode). A webhook of flags has no opinion where it does not respond."""
    return [Authorizer(mode) for mode in modes or [_ALWAYS_ALLOW]]


def parse_authorizers(content: bytes) -> list[Authorizer]:
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


def authorizer_findings(authorizers: t.Sequence[Authorizer]) -> list[str]:
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
    callers: t.Sequence[str] = _REQUIRED_CALLERS
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


# ---- admission -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Plugin:
    """A plugin's entry in an AdmissionConfiguration. configuration: its settings; None when they are in a file, C(path)."""

    configuration: t.Any = None
    path: str = ""


def parse_plugins(content: bytes, path: str) -> dict[str, Plugin]:
    """The plugins of an AdmissionConfiguration. path: of that file. Raises Refusal when it is none."""
    return configuration.read(content, "AdmissionConfiguration", lambda data: _plugins(data, posixpath.dirname(path)))


def _plugins(data: t.Any, directory: str) -> dict[str, Plugin]:
    if "plugins" not in data and "imagePolicy" in data:  # a form that is older than AdmissionConfiguration
        return {IMAGE_POLICY: Plugin(data)}
    return {
        entry["name"]: Plugin(
            entry.get("configuration"), posixpath.join(directory, entry["path"]) if entry.get("path") else ""
        )
        for entry in data.get("plugins") or []
    }


def parse_plugin_settings(content: bytes, plugin: str) -> t.Any:
    """A plugin's settings in a file of their own. Raises Refusal when they are none."""
    return configuration.read(content, f"configuration of {plugin}", lambda data: {**data})


def is_plugin_checked(plugin: str, enabled: t.Container[str], disabled: t.Container[str]) -> bool:
    """Whether a plugin is checked here, and active. enabled, disabled: by the flags. PodSecurity is on by default."""
    return plugin in _FINDINGS and (plugin in enabled or (plugin == POD_SECURITY and plugin not in disabled))


def plugin_findings(plugin: str, settings: t.Any) -> list[str]:
    """What is dangerous about the settings of a plugin that is enabled, one sentence each."""
    return _FINDINGS[plugin](settings or {})


def _pod_security_findings(settings: t.Mapping[str, t.Any]) -> list[str]:
    level = (settings.get("defaults") or {}).get("enforce") or "privileged"
    if level == "privileged" or KUBE_SYSTEM in ((settings.get("exemptions") or {}).get("namespaces") or []):
        return []
    return [
        f"{POD_SECURITY} would enforce {level} in {KUBE_SYSTEM} too, where network, proxy, storage and mirror pods could not be"
        f" recreated; add {KUBE_SYSTEM} to exemptions.namespaces"
    ]


def _image_policy_findings(settings: t.Mapping[str, t.Any]) -> list[str]:
    if (settings.get("imagePolicy") or {}).get("defaultAllow") is True:
        return []
    return [
        f"{IMAGE_POLICY} (defaultAllow: false) would refuse every pod, in {KUBE_SYSTEM} too, while its webhook does not answer;"
        " set defaultAllow: true"
    ]


_FINDINGS: dict[str, t.Callable[[t.Mapping[str, t.Any]], list[str]]] = {
    POD_SECURITY: _pod_security_findings,
    IMAGE_POLICY: _image_policy_findings,
}
