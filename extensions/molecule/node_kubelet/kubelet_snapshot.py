# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print, as JSON, all of a node that a change of its kubelet may touch. Knows nothing of the collection's own code."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

# With all that is below them.
PLACES = (
    "/etc/containerd",
    "/etc/default/kubelet",
    "/etc/kubernetes",
    "/etc/systemd/system-generators",
    "/etc/systemd/system/kubelet.service",
    "/etc/systemd/system/kubelet.service.d",
    "/run/systemd/system/kubelet.service.d",
    "/usr/lib/systemd/system/kubelet.service",
    "/usr/lib/systemd/system/kubelet.service.d",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/instance-config.yaml",
    "/var/lib/kubelet/kubeadm-flags.env",
)
# The snapshot of the control plane has these, which a change of a kubelet does not touch.
MANIFESTS = Path("/etc/kubernetes/manifests")
PODS = "kubepods"  # the control group below which the kubelet has those of all pods
START_TIME = 19  # the field of /proc/PID/stat, counted from the one after the name


def file_state(path: Path) -> list[object]:
    """A file's content, mode and owner."""
    status = path.stat()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return [digest, f"{status.st_mode & 0o7777:04o}", status.st_uid, status.st_gid]


def arguments(directory: Path) -> list[str]:
    """A process's command line; empty when it ended."""
    try:
        return (directory / "cmdline").read_text(encoding="utf-8").split("\0")[:-1]
    except (OSError, UnicodeDecodeError):
        return []


def place_in_pod(cgroup: str) -> tuple[str, str] | None:
    """The pod's UID and the container's id out of the text of /proc/PID/cgroup; None for a process outside of pods.

    With the kubelet's driver cgroupfs the path ends with kubepods/burstable/podUID/ID, with systemd's with
    kubepods-burstable-podUID.slice/cri-containerd-ID.scope, where the UID has underscores.
    """
    for line in cgroup.splitlines():
        _before, found, below = line.partition(PODS)
        if found:
            *_slices, pod, container = ["", "", *below.split("/")]
            uid = pod.rpartition("pod")[2].replace(".slice", "").replace("_", "-")
            return uid, container.rpartition("-")[2].replace(".scope", "")
    return None


def in_container(directory: Path) -> dict[str, object] | None:
    """A process of a container of a pod; None for any other, and for one that ended."""
    try:
        place = place_in_pod((directory / "cgroup").read_text(encoding="utf-8"))
        if place is None:
            return None
        # The start time differs from that of a later process with the same number.
        started = int((directory / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[START_TIME])
    except OSError:
        return None
    return {"pod": place[0], "container": place[1], "pid": int(directory.name), "started": started}


def first_of_each(processes: list[dict[str, object]]) -> list[dict[str, object]]:
    """The first process of each container.

    It lives as long as its container. What it starts comes and goes: kube-proxy starts iptables every now and then,
    and the kubelet starts what an exec probe names.
    """
    ordered = sorted(processes, key=lambda entry: (entry["pod"], entry["container"], entry["started"], entry["pid"]))
    first: dict[tuple[object, object], dict[str, object]] = {}
    for entry in ordered:
        first.setdefault((entry["pod"], entry["container"]), entry)
    return list(first.values())


def take_snapshot(proc: Path = Path("/proc"), places: Sequence[str] = PLACES) -> dict[str, object]:
    """All of it."""
    paths = [path for place in map(Path, places) for path in (place, *sorted(place.rglob("*")))]
    found = [path for path in paths if MANIFESTS not in path.parents]
    processes = [directory for directory in proc.iterdir() if directory.name.isdigit()]
    kubelets, runtimes = (
        [directory for directory in processes if Path(next(iter(arguments(directory)), "")).name == name]
        for name in ("kubelet", "containerd")
    )
    inside = [entry for entry in map(in_container, processes) if entry is not None]
    return {
        "files": {str(path): file_state(path) for path in found if path.is_file()},
        "directories": [str(path) for path in found if path.is_dir()],
        "kubelets": [{"pid": int(directory.name), "arguments": arguments(directory)} for directory in kubelets],
        "runtimes": [int(directory.name) for directory in runtimes],
        # Containers that were there before have to be there after, with the same first process.
        "in_pods": [
            {**entry, "command": next(iter(arguments(proc / str(entry["pid"]))), "")} for entry in first_of_each(inside)
        ],
    }


if __name__ == "__main__":
    json.dump(take_snapshot(), sys.stdout)
