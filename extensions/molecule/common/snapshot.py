# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print, as JSON, all of a node that a change of its control plane may touch. Knows nothing of the collection's own code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

MANIFESTS = Path("/etc/kubernetes/manifests")
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")


def manifest(path: Path) -> dict[str, object]:
    """A file of the directory that the kubelet watches."""
    status = path.stat()
    return {
        "mode": f"{status.st_mode & 0o7777:04o}",
        "owner": [status.st_uid, status.st_gid],
        "lines": path.read_text(encoding="utf-8").splitlines(keepends=True),
    }


def process(directory: Path) -> dict[str, object] | None:
    """A process of the control plane; None for any other."""
    try:
        arguments = (directory / "cmdline").read_text(encoding="utf-8").split("\0")[:-1]
        # The start time differs from that of a later process with the same number.
        started = (directory / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, UnicodeDecodeError):
        return None
    if not arguments or Path(arguments[0]).name not in COMPONENTS:
        return None
    return {
        "component": Path(arguments[0]).name,
        "pid": int(directory.name),
        "started": started,
        "arguments": arguments[1:],
    }


processes = [process(directory) for directory in Path("/proc").iterdir() if directory.name.isdigit()]
found: dict[str, object] = {
    "manifests": {path.name: manifest(path) for path in sorted(MANIFESTS.iterdir())} if MANIFESTS.is_dir() else {},
    "processes": {
        name: [entry for entry in processes if entry is not None and entry["component"] == name] for name in COMPONENTS
    },
}
json.dump(found, sys.stdout)
