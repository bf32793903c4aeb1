# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The argument specs of the modules about static pods. The doc fragment C(static_pod) describes what they have in common."""

from __future__ import annotations

import typing as t

from .arguments import transaction_options


def _state(*more: str) -> dict[str, t.Any]:
    """Whether something is there, or what more."""
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
    "state": _state(),
}
_FILE = {
    "path": {"type": "path", "required": True},
    "content": {"type": "raw"},
    "mode": {"type": "str", "default": "0600"},
    "owner": {"type": "str"},
    "group": {"type": "str"},
    "sensitive": {"type": "bool", "default": False},
    "state": _state(),
}


def static_pod_settings() -> dict[str, t.Any]:
    """What is set of one static pod."""
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
    """How a static pod is changed, or several of a node."""
    return {
        "state": _state("previous"),
        "purge": {"type": "bool", "default": False},
        "force": {"type": "bool", "default": False},
        "restore_removed": {"type": "bool", "default": False},
        "manifest_dir": {"type": "path"},
        **transaction_options(),
    }
