# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The desired state of a static pod: what a task asks for, checked and in canonical form."""

from __future__ import annotations

import dataclasses
import json
import posixpath
import re
import typing as t

from ..common import ownership
from ..common.errors import Refusal
from ..common.file_values import FileVersion
from ..common.identifiers import is_pod_name
from ..common.ownership import Values
from ..kubernetes import flags, option_values
from . import pod_fields

SETTINGS = ("feature_gates", "admission_plugins", "args", "env", "volumes", *pod_fields.FIELDS, "files")
_VOLUME_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
# A mount there would hide the component's binary, or what every container needs.
_RESERVED_MOUNT_PATHS = frozenset(
    ("/", "/bin", "/dev", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local")
) | {"/usr/local/bin", "/usr/local/sbin", "/usr/sbin"}
_ACCOUNT = re.compile(r"[0-9]{1,9}|[A-Za-z_][A-Za-z0-9_.@-]*\$?")
_ENV_NAME = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")
_PLUGIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_PLUGIN_STATES = {"enabled": "enabled", "disabled": "disabled", "default": None}
_OWN_OPTION = {
    flags.FEATURE_GATES: "feature_gates",
    flags.ENABLE_PLUGINS: "admission_plugins",
    flags.DISABLE_PLUGINS: "admission_plugins",
}


@dataclasses.dataclass(frozen=True)
class DesiredFile:
    """A file that the task names. version: None when the task removes it. sensitive: never display its content.

    owner, group: a name of the node's or a number, None to leave what is there.
    """

    path: str
    version: FileVersion | None
    sensitive: bool
    owner: str | None = None
    group: str | None = None


@dataclasses.dataclass(frozen=True)
class Desired:
    """What a task requests, checked and in canonical form.

    values: field -> key -> value, None to remove. state: what to do with the named keys. complete: the fields of which everything else
    that we own goes back. restore_removed: whether what someone took out of the manifest is set again.
    """

    name: str
    values: Values
    files: tuple[DesiredFile, ...]
    state: str
    complete: frozenset[str]
    restore_removed: bool = False


def parse_desired(params: t.Mapping[str, t.Any]) -> Desired:
    """Turn module parameters into a desired state. Raises Refusal for values that no component could take."""
    if not is_pod_name(params["name"]):
        raise Refusal(
            f"invalid name {params['name']!r}: must be the name of a static pod (lower case letters, digits, dots and dashes)."
        )
    values: Values = {
        "feature_gates": {
            gate: option_values.parse_gate(gate, value) for gate, value in (params["feature_gates"] or {}).items()
        },
        "admission_plugins": {
            plugin: _parse_plugin(plugin, value) for plugin, value in (params["admission_plugins"] or {}).items()
        },
        "args": {
            flags.normalise(name): option_values.parse_argument(name, value, _OWN_OPTION)
            for name, value in (params["args"] or {}).items()
        },
        "env": {name: _parse_variable(name, value) for name, value in (params["env"] or {}).items()},
        "volumes": {volume["name"]: _parse_volume(volume) for volume in params["volumes"] or []},
        pod_fields.RESOURCES: pod_fields.desired_resources(params[pod_fields.RESOURCES] or {}),
        pod_fields.PROBES: pod_fields.desired_probes(params[pod_fields.PROBES] or {}),
        pod_fields.PRIORITY: pod_fields.desired_priority(params[pod_fields.PRIORITY] or {}),
    }
    if values["admission_plugins"] and params["name"] != "kube-apiserver":
        raise Refusal(
            f"admission_plugins was given for {params['name']}, but only kube-apiserver has admission plugins."
        )
    files = tuple(parse_file(entry) for entry in params["files"] or [])
    option_values.refuse_duplicates("args", [flags.normalise(name) for name in params["args"] or {}])
    option_values.refuse_duplicates("volumes", [volume["name"] for volume in params["volumes"] or []])
    option_values.refuse_duplicates("files", [entry.path for entry in files])
    options = {option: params[option] for option in SETTINGS}
    complete = ownership.complete_fields(options, params["state"], purge=params["purge"])
    return Desired(params["name"], values, files, params["state"], complete, params["restore_removed"])


def _parse_plugin(plugin: str, value: t.Any) -> str | None:
    if not _PLUGIN_NAME.fullmatch(plugin):
        raise Refusal(f"admission_plugins: invalid name {plugin!r}: must be letters and digits.")
    if value is None:
        return None
    if not isinstance(value, str) or value not in _PLUGIN_STATES:
        raise Refusal(f"admission_plugins: invalid value {value!r} of {plugin}: must be enabled, disabled or default.")
    return _PLUGIN_STATES[value]


def _parse_variable(name: str, value: t.Any) -> str | None:
    if not _ENV_NAME.fullmatch(name):
        raise Refusal(f"env: invalid name {name!r}: must be that of an environment variable.")
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        raise Refusal(f"env: invalid value of {name}: must be a string, a number or a boolean.")
    return option_values.require_text("env", name, str(value))


def _parse_volume(volume: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    if volume["state"] == "absent":
        return None
    if not _VOLUME_NAME.fullmatch(volume["name"]):
        raise Refusal(
            f"volumes: invalid name {volume['name']!r}: must be at most 63 lower case letters, digits and dashes."
        )
    for key in ("host_path", "mount_path"):
        if not volume[key] or not volume[key].startswith("/"):
            raise Refusal(f"volumes: {volume['name']} needs {key}, an absolute path; found {volume[key]!r}.")
    plain = "/" + posixpath.normpath(volume["mount_path"]).lstrip("/")
    if plain != (volume["mount_path"].rstrip("/") or "/"):
        raise Refusal(f"volumes: mount_path {volume['mount_path']!r} of {volume['name']} is not a normalized path.")
    if ".." in volume["host_path"].split("/") or ":" in volume["mount_path"]:
        raise Refusal(
            f"volumes: the kubelet refuses '..' in host_path and ':' in mount_path of {volume['name']}, and with them the pod."
        )
    if plain in _RESERVED_MOUNT_PATHS:
        raise Refusal(
            f"volumes: {volume['name']} at {volume['mount_path']} would hide the component's own image or what its container needs."
        )
    return {
        "host_path": volume["host_path"],
        "path_type": volume["path_type"] or "",
        "mount_path": volume["mount_path"],
        "read_only": volume["read_only"],
    }


def parse_file(entry: t.Mapping[str, t.Any]) -> DesiredFile:
    """One entry of the option files. Raises Refusal for one that cannot be written."""
    path = entry["path"]
    if not path.startswith("/") or path.startswith("//") or posixpath.normpath(path) != path:
        raise Refusal(f"files: invalid path {path!r}: must be absolute and normalized.")
    if not re.fullmatch(r"0[0-7]{3}", entry["mode"]):
        raise Refusal(
            f"files: invalid mode {entry['mode']!r} of {path}: must be a zero and three octal digits in quotes, such as '0600'."
        )
    if entry["state"] == "present" and entry["content"] is None:
        raise Refusal(f"files: {path} has no content.")
    if entry["state"] != "present":
        return DesiredFile(path, None, entry["sensitive"])
    for key in ("owner", "group"):
        if entry[key] is not None and not _ACCOUNT.fullmatch(entry[key]):
            raise Refusal(f"files: invalid {key} {entry[key]!r} of {path}: must be a name or a number.")
    version = FileVersion(_file_content(path, entry["content"]), int(entry["mode"], 8))
    return DesiredFile(path, version, entry["sensitive"], entry["owner"], entry["group"])


def _file_content(path: str, content: t.Any) -> bytes:
    """Text as it is; a mapping or a list as JSON, which is YAML too: Ansible turns text that looks like one into one."""
    if isinstance(content, (dict, list)):
        content = json.dumps(content, indent=2, sort_keys=True) + "\n"
    if not isinstance(content, str):
        raise Refusal(f"files: the content of {path} must be text, a mapping or a list.")
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise Refusal(f"files: the content of {path} is not UTF-8 text.") from exc
