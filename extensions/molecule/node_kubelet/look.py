# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print, as JSON, all of a node that a change of its kubelet may touch. Knows nothing of the collection's own code."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

PLACES = (
    "/etc/default/kubelet",
    "/etc/kubernetes/kubelet.conf.d",
    "/etc/systemd/system/kubelet.service.d",
    "/usr/lib/systemd/system/kubelet.service",
    "/usr/lib/systemd/system/kubelet.service.d",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubeadm-flags.env",
)


def described(path: Path) -> list[object]:
    """A file's content, mode and owner."""
    status = path.stat()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return [digest, f"{status.st_mode & 0o7777:04o}", status.st_uid, status.st_gid]


def arguments(folder: Path) -> list[str]:
    """A process's command line; empty when it ended."""
    try:
        return (folder / "cmdline").read_text(encoding="utf-8").split("\0")[:-1]
    except (OSError, UnicodeDecodeError):
        return []


def in_pod(folder: Path) -> bool:
    """Whether a process belongs to a container of a pod."""
    try:
        return "kubepods" in (folder / "cgroup").read_text(encoding="utf-8")
    except OSError:
        return False


files = [path for place in map(Path, PLACES) for path in (sorted(place.iterdir()) if place.is_dir() else [place])]
processes = [folder for folder in Path("/proc").iterdir() if folder.name.isdigit()]
kubelets = [folder for folder in processes if Path(next(iter(arguments(folder)), "")).name == "kubelet"]
json.dump(
    {
        "files": {str(path): described(path) for path in files if path.is_file()},
        "folders": [place for place in PLACES if Path(place).is_dir()],
        "kubelets": [{"pid": int(folder.name), "arguments": arguments(folder)} for folder in kubelets],
        # Containers that were there before have to be there after, as the same processes.
        "in_pods": sorted(int(folder.name) for folder in processes if in_pod(folder)),
    },
    sys.stdout,
)
