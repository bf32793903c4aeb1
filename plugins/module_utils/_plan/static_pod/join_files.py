# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files that a control plane needs before it joins: kubeadm generates its manifests with the arguments that name them, and brings no file."""

from __future__ import annotations

import posixpath
import typing as t

from ..common.errors import Refusal
from . import encryption
from .desired import parse_file

_DEFAULTS: dict[str, t.Any] = {
    "content": None,
    "mode": "0600",
    "owner": None,
    "group": None,
    "sensitive": False,
    "state": "present",
}
_DIRECTORIES = ("Directory", "DirectoryOrCreate")


def join_files(requests: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """What has to be on the node. requests: by static pod, as C(requests.build_requests) returns them.

    files: path -> text, mode, owner, group, sensitive. directories: those of the files and those that volumes demand, outermost first, and the
    mode of one that is missing: as a package makes it, unless all files that come into it are secret. Raises
    Refusal for what no run could write, and for a file that two static pods request with different contents.
    """
    files: dict[str, dict[str, t.Any]] = {}
    directories: dict[str, str] = {}
    for name, request in requests.items():
        for given in request.get("files") or ():
            entry = {**_DEFAULTS, **given}
            file = parse_file(entry)
            if file.version is None:
                continue
            required = {
                "text": file.version.text,
                "mode": entry["mode"],
                "owner": file.owner,
                "group": file.group,
                "sensitive": file.sensitive or encryption.holds_keys(file.version.content),
            }
            if files.setdefault(file.path, required) != required:
                raise Refusal(f"files: {file.path} of {name} has another content or mode for another static pod.")
            directory = posixpath.dirname(file.path)
            if file.version.mode & 0o077 or directory not in directories:
                directories[directory] = "0755" if file.version.mode & 0o077 else "0700"
        for volume in request.get("volumes") or ():
            if volume.get("state", "present") == "present" and volume.get("path_type") in _DIRECTORIES:
                directories.setdefault(str(volume["host_path"]).rstrip("/"), "0755")
    return {"files": files, "directories": dict(sorted(directories.items()))}
