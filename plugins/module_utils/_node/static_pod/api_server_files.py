# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a change does to an API server that its probes do not detect: values that cannot be read, clients that are locked out.

The files before and after a change are read as the API server sees them, through its mounts. Only what the change introduces is found.
"""

from __future__ import annotations

import os
import re
import typing as t

from ..._engine.node import Host
from ..._plan.common.errors import KubeadmError
from ..._plan.kubernetes import flags
from ..._plan.static_pod import api_server_access as access
from ..._plan.static_pod import encryption
from ..._plan.static_pod import plan as static_pod
from ..etcd import etcd_client
from . import static_pods
from .component_files import REMOVED, ComponentFiles

# Of a finding: what it is about could not be read, as it is now.
_UNREAD = re.compile(rf"cannot be determined \((?!{REMOVED})")
_ENCRYPTION, _AUTHORIZATION, _ADMISSION = (
    "encryption-provider-config",
    "authorization-config",
    "admission-control-config-file",
)


def findings(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, host: Host) -> list[str]:
    """What a change introduces that needs force, one sentence each."""
    try:
        files = _files(pod, plan)
    except KubeadmError as exc:
        return [f"what the changed files do to {static_pods.API_SERVER} cannot be determined ({exc})."]
    if files is None:
        return []
    restarted = pod.name == static_pods.API_SERVER
    if not restarted:
        return _new_findings(*files)
    running = ComponentFiles.running(pod, host)
    return [*_new_findings(*files), *_unread_encryption(running, *files), *_unread_plugins(running, *files)]


def is_unread(finding: str) -> bool:
    """Whether a finding is that something could not be read, which is to be repaired before anything is forced."""
    return _UNREAD.search(finding) is not None


def _files(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan) -> tuple[ComponentFiles, ComponentFiles] | None:
    """The files of the node's API server before the change and with it; None where there is none. The files of another component may be its
    own as well. Raises KubeadmError for a manifest that cannot be read."""
    if pod.name == static_pods.API_SERVER:
        return ComponentFiles(plan.before), ComponentFiles.planned(plan)
    if not plan.files:
        return None
    try:
        path, dummy = static_pods.find_manifest(static_pods.API_SERVER, os.path.dirname(pod.path))
    except KubeadmError:
        return None  # the node has none
    manifest = static_pods.read_manifest(path, static_pods.API_SERVER)
    return ComponentFiles(manifest), ComponentFiles(manifest, {change.path: change.after for change in plan.files})


def _new_findings(before: ComponentFiles, after: ComponentFiles) -> list[str]:
    found = _encryption_findings(before, after)
    for find in (_authorization_findings, _admission_findings):
        new = find(after)
        if new:
            former = find(before)
            found += [finding for finding in new if finding not in former]
    return found


# ---- encryption at rest ----------------------------------------------------------------------------------------------


def _encryption_findings(before: ComponentFiles, after: ComponentFiles) -> list[str]:
    former, planned = (_read_content(files, _ENCRYPTION) for files in (before, after))
    if former == planned:
        return []
    try:
        found = encryption.find_risks(
            _parse_encryption(*former, "now"),
            _parse_encryption(*planned, "with the change"),
            lambda resource, key: etcd_client.count_values(before, resource, key.wrote),
        )
    except KubeadmError as exc:
        found = [str(exc)]
    return [f"--{_ENCRYPTION}: {'; '.join(found)}. {encryption.STEPS}"] if found else []


def _read_content(files: ComponentFiles, flag: str) -> tuple[bytes | None, str]:
    """The content of the file that a flag names, None without the flag; and why it cannot be read."""
    path = files.flag(flag)
    if not path:
        return None, ""
    try:
        return files.read(path), ""
    except KubeadmError as exc:
        return None, str(exc)


def _parse_encryption(content: bytes | None, problem: str, when: str) -> encryption.Encryption:
    try:
        if problem:
            raise KubeadmError(problem)
        return encryption.NONE if content is None else encryption.parse(content)
    except KubeadmError as exc:
        raise KubeadmError(f"what the API server reads and writes {when} cannot be determined ({exc})") from None


def _unread_encryption(running: ComponentFiles, before: ComponentFiles, after: ComponentFiles) -> list[str]:
    """What a restart does with an edit that the running API server has not read, so that the former content is unknown."""
    if not _is_unread(running):
        return []
    try:
        planned = _parse_encryption(*_read_content(after, _ENCRYPTION), "with the change")
        # The edit may have dropped resources; nearly every cluster encrypts this one.
        resources = dict.fromkeys(["secrets", *map(encryption.resource_name, planned.keys)])
        number = sum(etcd_client.count_values(before, resource, planned.is_foreign) for resource in resources)
        found = f"no key of it can read {number} stored value{'s' if number > 1 else ''}" if number else ""
    except KubeadmError as exc:
        found = f"whether its keys read all stored values cannot be determined ({exc})"
    if not found:
        return []
    return [
        f"--{_ENCRYPTION}: {before.flag(_ENCRYPTION)} was edited after the API server started, which this change restarts, and"
        f" {found}. {encryption.STEPS}"
    ]


def _is_unread(running: ComponentFiles) -> bool:
    path = running.flag(_ENCRYPTION)
    if not path or flags.gate_value(running.flag(f"{_ENCRYPTION}-automatic-reload") or "") is True:
        return False
    try:
        return running.is_changed(running.host_path(path))
    except (KubeadmError, OSError):
        return False  # _encryption_findings reports what cannot be read


# ---- authorization and admission -------------------------------------------------------------------------------------


def _prefix(flag: str, find: t.Callable[[], list[str]]) -> list[str]:
    """The findings with the flag that they belong to, or that the content cannot be determined."""
    try:
        return [f"--{flag}: {finding}." for finding in find()]
    except KubeadmError as exc:
        return [f"--{flag}: its content cannot be determined ({exc})."]


def _authorization_findings(files: ComponentFiles) -> list[str]:
    path = files.flag(_AUTHORIZATION)
    if path:
        return _prefix(_AUTHORIZATION, lambda: access.authorizer_findings(access.parse_authorizers(files.read(path))))
    modes = access.authorizers_of_modes(files.flags("authorization-mode"))
    return _prefix("authorization-mode", lambda: access.authorizer_findings(modes))


def _admission_findings(files: ComponentFiles) -> list[str]:
    path = files.flag(_ADMISSION)
    return _prefix(_ADMISSION, lambda: _plugin_findings(files, path)) if path else []


def _unread_plugins(running: ComponentFiles, before: ComponentFiles, after: ComponentFiles) -> list[str]:
    """What a restart introduces with an edit. A running API server reloads the authorization itself."""
    former, running_findings, planned = map(_admission_findings, (before, running, after))
    return [
        f"{finding} That was edited after the API server started, which this change restarts."
        for finding in planned
        if finding in former and finding not in running_findings
    ]


def _plugin_findings(files: ComponentFiles, path: str) -> list[str]:
    enabled, disabled = (files.flags(f"{which}-admission-plugins") for which in ("enable", "disable"))
    found = []
    for name, plugin in access.parse_plugins(files.read(path), path).items():
        if access.is_plugin_checked(name, enabled, disabled):
            settings = plugin.configuration
            if settings is None and plugin.path:
                settings = access.parse_plugin_settings(files.read(plugin.path), name)
            found += access.plugin_findings(name, settings)
    return found
