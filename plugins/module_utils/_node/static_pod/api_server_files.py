# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a change does to an API server that its probes do not show: values that cannot be read, callers who are locked out.

Both sides of a change are read as the API server sees them, through its mounts. Only what the change brings is found.
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

# Of a finding: what to look at could not be read, as it stands.
_UNREAD = re.compile(rf"cannot be determined \((?!{REMOVED})")
_ENCRYPTION, _AUTHORIZATION, _ADMISSION = (
    "encryption-provider-config",
    "authorization-config",
    "admission-control-config-file",
)


def findings(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, host: Host) -> list[str]:
    """What a change brings that may be done only on purpose, one sentence each."""
    try:
        sides = _sides(pod, plan)
    except KubeadmError as exc:
        return [f"what the changed files do to {static_pods.API_SERVER} cannot be determined ({exc})."]
    if sides is None:
        return []
    restarted = pod.name == static_pods.API_SERVER
    if not restarted:
        return _brought(*sides)
    running = ComponentFiles.running(pod, host)
    return [*_brought(*sides), *_of_unread_edit(running, *sides), *_of_unread_plugins(running, *sides)]


def is_unread(finding: str) -> bool:
    """Whether a finding says that something could not be read, which is to be repaired before anything is forced."""
    return _UNREAD.search(finding) is not None


def _sides(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan) -> tuple[ComponentFiles, ComponentFiles] | None:
    """What the node's API server sees before the change and with it; None where there is none. The files of another component may be its
    own as well. Raises KubeadmError for a manifest that cannot be read."""
    if pod.name == static_pods.API_SERVER:
        return ComponentFiles(plan.before), ComponentFiles.planned(plan)
    if not plan.files:
        return None
    try:
        path, dummy = static_pods.find(static_pods.API_SERVER, os.path.dirname(pod.path))
    except KubeadmError:
        return None  # the node has none
    manifest = static_pods.read_manifest(path, static_pods.API_SERVER)
    return ComponentFiles(manifest), ComponentFiles(manifest, {change.path: change.after for change in plan.files})


def _brought(before: ComponentFiles, after: ComponentFiles) -> list[str]:
    found = _of_encryption(before, after)
    for look in (_of_authorization, _of_admission):
        brought = look(after)
        if brought:
            former = look(before)
            found += [finding for finding in brought if finding not in former]
    return found


# ---- encryption at rest ----------------------------------------------------------------------------------------------


def _of_encryption(before: ComponentFiles, after: ComponentFiles) -> list[str]:
    former, planned = (_content(files, _ENCRYPTION) for files in (before, after))
    if former == planned:
        return []
    try:
        found = encryption.findings(
            _parsed(*former, "now"),
            _parsed(*planned, "with the change"),
            lambda resource, key: etcd_client.count_values(before, resource, key.wrote),
        )
    except KubeadmError as exc:
        found = [str(exc)]
    return [f"--{_ENCRYPTION}: {'; '.join(found)}. {encryption.STEPS}"] if found else []


def _content(files: ComponentFiles, flag: str) -> tuple[bytes | None, str]:
    """What is in the file that a flag names, None without the flag; and why it cannot be read."""
    path = files.flag(flag)
    if not path:
        return None, ""
    try:
        return files.read(path), ""
    except KubeadmError as exc:
        return None, str(exc)


def _parsed(content: bytes | None, problem: str, when: str) -> encryption.Encryption:
    try:
        if problem:
            raise KubeadmError(problem)
        return encryption.NONE if content is None else encryption.parse(content)
    except KubeadmError as exc:
        raise KubeadmError(f"what the API server reads and writes {when} cannot be determined ({exc})") from None


def _of_unread_edit(running: ComponentFiles, before: ComponentFiles, after: ComponentFiles) -> list[str]:
    """What a restart does that brings in an edit which the running API server has not read, so that its content is unknown."""
    if not _is_unread(running):
        return []
    try:
        planned = _parsed(*_content(after, _ENCRYPTION), "with the change")
        # An edit, and the change with it, may have dropped resources; nearly everybody encrypts this one.
        resources = dict.fromkeys(["secrets", *map(encryption.name_of, planned.keys)])
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
        return running.is_changed(running.place(path))
    except (KubeadmError, OSError):
        return False  # what it cannot read, the comparison tells


# ---- authorization and admission -------------------------------------------------------------------------------------


def _told(flag: str, look: t.Callable[[], list[str]]) -> list[str]:
    """What is found, with the flag that it belongs to, or that nothing can be."""
    try:
        return [f"--{flag}: {finding}." for finding in look()]
    except KubeadmError as exc:
        return [f"--{flag}: its content cannot be determined ({exc})."]


def _of_authorization(files: ComponentFiles) -> list[str]:
    path = files.flag(_AUTHORIZATION)
    if path:
        return _told(_AUTHORIZATION, lambda: access.authorizer_findings(access.parse_authorizers(files.read(path))))
    modes = access.authorizers_of_modes(files.flags("authorization-mode"))
    return _told("authorization-mode", lambda: access.authorizer_findings(modes))


def _of_admission(files: ComponentFiles) -> list[str]:
    path = files.flag(_ADMISSION)
    return _told(_ADMISSION, lambda: _of_plugins(files, path)) if path else []


def _of_unread_plugins(running: ComponentFiles, before: ComponentFiles, after: ComponentFiles) -> list[str]:
    """What a restart brings in with an edit. A running API server reads that of the authorization."""
    former, read, brought = map(_of_admission, (before, running, after))
    return [
        f"{finding} That was edited after the API server started, which this change restarts."
        for finding in brought
        if finding in former and finding not in read
    ]


def _of_plugins(files: ComponentFiles, path: str) -> list[str]:
    enabled, disabled = (files.flags(f"{which}-admission-plugins") for which in ("enable", "disable"))
    found = []
    for name, plugin in access.parse_plugins(files.read(path), path).items():
        if access.is_plugin_judged(name, enabled, disabled):
            settings = plugin.configuration
            if settings is None and plugin.path:
                settings = access.parse_plugin_settings(files.read(plugin.path), name)
            found += access.plugin_findings(name, settings)
    return found
