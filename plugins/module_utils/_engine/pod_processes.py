# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which processes and logs of a node are those of a static pod: its instances are known by their UIDs.

A UID is the pod's when one of the directories with its logs says so, or when the kubelet's own directory of the pod has a
container of that name and no directory of logs says otherwise. So it is found wherever the kubelet writes, or wrote, logs, and
whatever the node was called when the pod was started.
"""

from __future__ import annotations

import os
import re
import typing as t

from .journal import Logs
from .node import Host, Process, entries

_UID = re.compile(r"[0-9a-f]{32}")
_LOG_DIRECTORY = re.compile(r"(?P<pod>[^_/]+_[^_/]+_)(?P<uid>[0-9a-f]{32})")


class PodProcesses(t.NamedTuple):
    """What is there of a static pod.

    processes: in the containers of its instances, without the sandbox. logs: the directories of each instance, running or gone,
    by UID. unmatched: when there is no process of an instance, those that may be the pod's all the same.
    """

    processes: list[Process]
    logs: dict[str, list[str]]
    unmatched: list[Process]


def find(host: Host, pod: Logs) -> PodProcesses:
    """Find the processes of a static pod, and the logs of its instances."""
    named = _log_directories(host)
    own = {uid for uid, paths in named.items() if any(_is_of(pod, path) for path in paths)}
    others = named.keys() - own
    own |= _in_kubelets_root(host, pod["container"]) - others
    processes = host.processes(own)
    program = pod.get("program")
    unmatched = host.in_host_network(program, others) if program and not processes else []
    return PodProcesses(processes, {uid: named.get(uid, []) for uid in own}, unmatched)


def _log_directories(host: Host) -> dict[str, list[str]]:
    """The directories with logs of static pods, by UID; the configured place last."""
    links = (os.path.join(host.container_logs, name) for name in entries(host.container_logs))
    # PLACE/NAMESPACE_POD_UID/CONTAINER/0.log
    paths = [os.path.dirname(os.path.dirname(target)) for target in map(_target, links) if target]
    paths += [os.path.join(place, name) for place in (host.pod_logs, *host.more_pod_logs) for name in entries(place)]
    found: dict[str, list[str]] = {}
    # A path that comes twice counts where it comes last.
    for path in reversed(list(dict.fromkeys(reversed(paths)))):
        match = _LOG_DIRECTORY.fullmatch(os.path.basename(path))
        if match:
            found.setdefault(match.group("uid"), []).append(path)
    return found


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:  # its container was removed, or it is no link
        return ""


def _is_of(pod: Logs, path: str) -> bool:
    """Whether a directory holds logs of this pod, of this node or of one that was called otherwise then.

    C(etcd-events) of the node C(cp1) is not C(etcd) of a node C(events-cp1).
    """
    name, prefix = os.path.basename(path)[:-32], pod["log_prefix"]
    if name == prefix:
        return True
    pod_prefix = pod.get("pod_prefix", prefix)
    return name.startswith(pod_prefix) and not name.endswith(f"-{prefix[len(pod_prefix) :]}")


def _in_kubelets_root(host: Host, container: str) -> set[str]:
    """The UIDs of static pods that have a container of this name, by the kubelet's own directories."""
    pods = os.path.join(host.kubelet_root, "pods")
    uids = (name for name in entries(pods) if _UID.fullmatch(name))
    return {uid for uid in uids if os.path.isdir(os.path.join(pods, uid, "containers", container))}
