# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""API versions that end: of kubeadm's configuration, which the kubeadm of the target does not read, and of the configuration files of components,
which work until a later upgrade."""

from __future__ import annotations

import posixpath
import typing as t

from ..documents import configuration
from ..kubeadm_config.cluster_configuration import CURRENT_API_VERSION, GROUP, IN_CONFIG_MAP, ClusterConfiguration
from . import prerequisites
from .findings import BROKEN, CONFIG_MAP, WARNS, Finding

# The minor version of the last kubeadm that reads each.
_LAST_READER = {f"{GROUP}v1beta2": (1, 26), f"{GROUP}v1beta3": (1, 36)}
_API_SERVER = "apiserver.config.k8s.io"
# Kind -> the API version that stays, and the minor version that brought it.
_STABLE: dict[str, tuple[str, tuple[int, int]]] = {
    "AdmissionConfiguration": (f"{_API_SERVER}/v1", (1, 17)),
    "AuthenticationConfiguration": (f"{_API_SERVER}/v1", (1, 34)),
    "AuthorizationConfiguration": (f"{_API_SERVER}/v1", (1, 32)),
    "EncryptionConfiguration": (f"{_API_SERVER}/v1", (1, 13)),
    "KubeSchedulerConfiguration": ("kubescheduler.config.k8s.io/v1", (1, 25)),
    "PodSecurityConfiguration": ("pod-security.admission.config.k8s.io/v1", (1, 25)),
    "Policy": ("audit.k8s.io/v1", (1, 12)),
}


def api_version_findings(cluster_configuration: ClusterConfiguration, target: tuple[int, ...]) -> list[Finding]:
    """An API version that the kubeadm of the target does not read. target: its minor version."""
    last = _LAST_READER.get(cluster_configuration.api_version)
    if last is None or tuple(target[:2]) <= last:
        return []
    message = (
        f"kubeadm {target[0]}.{target[1]} does not read {cluster_configuration.api_version}, which ends with {last[0]}.{last[1]}. Rewrite it with the present"
        f" kubeadm, kubeadm config migrate, and put the result into the ConfigMap; {CURRENT_API_VERSION} is read."
    )
    return [
        Finding(
            "kubeadm",
            BROKEN,
            message,
            field="config",
            key="apiVersion",
            set_by=CONFIG_MAP,
            file=IN_CONFIG_MAP,
            line=_line_of(cluster_configuration.text, "apiVersion"),
        )
    ]


def _line_of(text: str, key: str) -> int | None:
    lines = (number for number, line in enumerate(text.splitlines(), 1) if line.startswith(f"{key}:"))
    return next(lines, None)


def _list_plugins(data: t.Any) -> list[dict[str, t.Any]]:
    """The admission plugins in a configuration."""
    plugins = data.get("plugins") if isinstance(data, dict) else None
    return [entry for entry in plugins if isinstance(entry, dict)] if isinstance(plugins, list) else []


def _list_documents(data: t.Any) -> list[tuple[str, str]]:
    """The kind and API version of each configuration in a file: its own, and those of admission plugins that stand in it."""
    if not isinstance(data, dict):
        return []
    found = [(str(data.get("kind")), str(data.get("apiVersion")))]
    return [*found, *(each for entry in _list_plugins(data) for each in _list_documents(entry.get("configuration")))]


def plugin_files(path: str, content: bytes) -> list[str]:
    """The files of their own of the admission plugins in a file. path: of that one, to which theirs are relative. Raises KubeadmError."""
    plugins = configuration.read(content, "configuration", _list_plugins)
    files = [each.get("path") for each in plugins if each.get("configuration") is None]
    return [posixpath.join(posixpath.dirname(path), str(file)) for file in files if file]


def find_ending(component: str, flag: str, path: str, content: bytes, target: str) -> list[Finding]:
    """The documents of a file whose API version has a stable successor in the target. flag: the argument that names the file. Raises KubeadmError."""
    target_version = prerequisites.exact_version(target)
    findings = []
    for kind, version in configuration.read(content, "configuration", _list_documents):
        stable, since = _STABLE.get(kind, (version, (0, 0)))
        if version != stable and target_version is not None and target_version[:2] >= since:
            message = f"{kind} has {version}, which ends: write {stable}, which {since[0]}.{since[1]} brought."
            findings.append(Finding(component, WARNS, message, "args", flag, file=path))
    return findings
