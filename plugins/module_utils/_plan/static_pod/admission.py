# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Admission of an API server: what keeps the pods of kube-system from being made again.

The pods that run go on, so nothing of it shows until one of them is replaced.
"""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

from ..documents import configuration

KUBE_SYSTEM = "kube-system"
POD_SECURITY, IMAGE_POLICY = "PodSecurity", "ImagePolicyWebhook"


@dataclasses.dataclass(frozen=True)
class Plugin:
    """A plugin's entry in an AdmissionConfiguration. configuration: its settings; None when they are in a file, C(path)."""

    configuration: t.Any = None
    path: str = ""


def parse(content: bytes, path: str) -> dict[str, Plugin]:
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


def parse_settings(content: bytes, plugin: str) -> t.Any:
    """A plugin's settings in a file of their own. Raises Refusal when they are none."""
    return configuration.read(content, f"configuration of {plugin}", lambda data: {**data})


def counts(plugin: str, enabled: t.Container[str], disabled: t.Container[str]) -> bool:
    """Whether a plugin is judged here, and at work. enabled, disabled: by the flags. PodSecurity is on by default."""
    return plugin in _FINDINGS and (plugin in enabled or (plugin == POD_SECURITY and plugin not in disabled))


def findings(plugin: str, settings: t.Any) -> list[str]:
    """What is dangerous about the settings of a plugin that is enabled, one sentence each."""
    return _FINDINGS[plugin](settings or {})


def _of_pod_security(settings: t.Mapping[str, t.Any]) -> list[str]:
    level = (settings.get("defaults") or {}).get("enforce") or "privileged"
    if level == "privileged" or KUBE_SYSTEM in ((settings.get("exemptions") or {}).get("namespaces") or []):
        return []
    return [
        f"{POD_SECURITY} would enforce {level} in {KUBE_SYSTEM} too, where network, proxy, storage and mirror pods could not be"
        f" recreated; add {KUBE_SYSTEM} to exemptions.namespaces"
    ]


def _of_image_policy(settings: t.Mapping[str, t.Any]) -> list[str]:
    if (settings.get("imagePolicy") or {}).get("defaultAllow") is True:
        return []
    return [
        f"{IMAGE_POLICY} (defaultAllow: false) would refuse every pod, in {KUBE_SYSTEM} too, while its webhook does not answer;"
        " set defaultAllow: true"
    ]


_FINDINGS: dict[str, t.Callable[[t.Mapping[str, t.Any]], list[str]]] = {
    POD_SECURITY: _of_pod_security,
    IMAGE_POLICY: _of_image_policy,
}
