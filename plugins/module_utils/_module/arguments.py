# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Argument specs that several modules share, and the validation of entries. The doc fragments describe them."""

from __future__ import annotations

import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

if t.TYPE_CHECKING:  # pragma: no cover
    from ansible.module_utils.basic import AnsibleModule


def transaction_options() -> dict[str, t.Any]:
    """How a change of a node is rehearsed, waited for and ended."""
    return {
        "rehearse": {"type": "bool", "default": True},
        "rollback": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 300},  # as kubeadm upgrade waits
        "min_ready_seconds": {"type": "int", "default": 10},
        "confirm": {"type": "bool", "default": False},
        "confirm_timeout": {"type": "int", "default": 60},
        "confirm_url": {"type": "str"},
        "confirm_ca_cert": {"type": "path"},
        "lock_timeout": {"type": "int", "default": 0},
        "acknowledge": {"type": "bool", "default": True},
    }


def check_entries(module: AnsibleModule, option: str, spec: dict[str, t.Any]) -> None:
    """Validate every entry of an option that maps names to options by this spec, and set its defaults."""
    validator = ArgumentSpecValidator(spec)
    for name, entry in (module.params[option] or {}).items():
        if not isinstance(entry or {}, dict):
            module.fail_json(
                msg=f"{option}: invalid entry {entry!r} of {name}: must be a mapping with {', '.join(spec)}."
            )
        result = validator.validate(entry or {})
        if result.error_messages:
            module.fail_json(msg=f"{option}: {name}: {'; '.join(result.error_messages)}")
        module.params[option][name] = result.validated_parameters


_TAINT = {
    "key": {"type": "str", "required": True, "no_log": False},
    "value": {"type": "raw"},
    "effect": {"type": "str", "required": True, "choices": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
}


def kubelet_settings() -> dict[str, t.Any]:
    """The settings of a kubelet, and whether former ones of this collection are removed."""
    return {
        "feature_gates": {"type": "dict"},
        "config": {"type": "dict"},
        "args": {"type": "dict"},
        "register_with_taints": {"type": "list", "elements": "dict", "options": _TAINT},
        "purge": {"type": "bool", "default": False},
        "adopt": {"type": "bool", "default": False},
    }


def _state_option(*more: str) -> dict[str, t.Any]:
    """The option state, with more choices than present and absent."""
    return {"type": "str", "choices": ["present", "absent", *more], "default": "present"}


_VOLUME = {
    "name": {"type": "str", "required": True},
    "host_path": {"type": "str"},
    "mount_path": {"type": "str"},
    "read_only": {"type": "bool", "default": True},
    "path_type": {
        "type": "str",
        "choices": ["DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"],
    },
    "state": _state_option(),
}
_FILE = {
    "path": {"type": "path", "required": True},
    "content": {"type": "raw"},
    "mode": {"type": "str", "default": "0600"},
    "owner": {"type": "str"},
    "group": {"type": "str"},
    "sensitive": {"type": "bool", "default": False},
    "state": _state_option(),
}


def static_pod_settings() -> dict[str, t.Any]:
    """The settings of one static pod."""
    return {
        "feature_gates": {"type": "dict"},
        "admission_plugins": {"type": "dict"},
        "args": {"type": "dict"},
        "env": {"type": "dict"},
        "volumes": {
            "type": "list",
            "elements": "dict",
            "options": _VOLUME,
            "required_if": [("state", "present", ("host_path", "mount_path"))],
        },
        "resources": {"type": "dict"},
        "probes": {"type": "dict"},
        "priority": {"type": "dict"},
        "files": {
            "type": "list",
            "elements": "dict",
            "options": _FILE,
            "required_if": [("state", "present", ("content",))],
        },
    }


def static_pod_options() -> dict[str, t.Any]:
    """How one or several static pods of a node are changed."""
    return {
        "state": _state_option("previous"),
        "purge": {"type": "bool", "default": False},
        "force": {"type": "bool", "default": False},
        "restore_removed": {"type": "bool", "default": False},
        "canary": {"type": "bool", "default": True},
        "canary_namespace": {"type": "str", "default": "nodecraft-kubeadm"},
        "canary_image": {"type": "str"},
        "manifest_dir": {"type": "path"},
        **transaction_options(),
    }
