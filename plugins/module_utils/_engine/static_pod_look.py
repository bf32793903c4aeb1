# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One look at a static pod: whether it runs what its manifest says, alone, and is ready."""

from __future__ import annotations

import os
import typing as t

from . import mirror_pod
from .journal import Instance, Logs
from .node import Host, Process, log_files
from .pod_processes import find
from .probes import Ask, run_probe


def told_unmatched(processes: t.Sequence[Process]) -> str:
    """What is known of a component whose program runs, and not in the static pod as far as that can be told."""
    pids = ", ".join(str(process.pid) for process in processes)
    return (
        f"has an unknown state: {processes[0].program} runs in the node's network (PID {pids}), and could not"
        " be matched to the static pod"
    )


class PodObservation(t.NamedTuple):
    """One look at a static pod.

    process: the process that runs the wanted command line in a pod that may be the wanted one; None when there is none.
    others: processes of other instances of the same pod that still run.
    probes_ok, probes: whether all of the manifest's own probes pass, as far as is known, and what each one said. unknown: what of
    that is not known.
    strange: processes of an instance that may be the wanted one, with another command line. For a moment after its start
    that is the container runtime's own.
    unmatched: when there is no process of any instance, those that may be the pod's all the same.
    starts: how often the wanted instance's container was started; logs: its log files, oldest first.
    """

    process: Process | None
    others: tuple[Process, ...]
    strange: tuple[Process, ...]
    unmatched: tuple[Process, ...]
    probes_ok: bool
    probes: tuple[str, ...]
    unknown: tuple[str, ...]
    starts: int
    logs: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """The one criterion: exactly the wanted process, alone, and ready."""
        return self.process is not None and not self.others and self.probes_ok

    @property
    def crashes(self) -> int:
        """How often the wanted instance ended by itself."""
        return max(self.starts - 1, 0)

    @property
    def hopeless(self) -> str:
        """A static pod can always be waited for."""
        return ""

    @property
    def rest(self) -> int | None:
        """How often it was started, when no process of any instance is there."""
        return None if self.process or self.others or self.strange or self.unmatched else self.starts

    def unverified(self) -> list[str]:
        """What is not known of one that counts as ready, with the reason."""
        if not self.probes:
            return ["whether it works: its manifest has no probe, so only its process was watched"]
        return [f"whether its probes pass: {'; '.join(self.unknown)}"] if self.unknown else []

    def missing(self) -> str:
        """What is not as it should be, in words."""
        if self.strange:
            return "starts, or runs with other arguments than its manifest has"
        if self.process is None and self.others:
            return "stops"
        if self.unmatched:
            return told_unmatched(self.unmatched)
        if self.process is None:
            return "is down, waiting for its start" if self.starts == 0 else f"is down after {self.starts} start(s)"
        if self.others:
            return "runs, and the former process as well"
        return "runs, not ready yet"


def look(
    host: Host,
    watch: Logs,
    wanted: Instance,
    *,
    acceptable: t.Callable[[str], bool],
    baseline: t.Mapping[str, int],
    ask: Ask,
    is_reported: bool = False,
) -> PodObservation:
    """Look at a static pod once.

    wanted: arguments and probes of the instance that should run. acceptable: whether an instance with this UID can be
    the wanted one. baseline: the starts of each UID that happened before, because the kubelet keeps counting when an
    instance with the same UID comes back. is_reported: whether the kubelet's report of the pod has to be there.
    """
    found = find(host, watch)
    arguments, of_image = wanted["arguments"], wanted.get("of_image", False)
    right = [
        process for process in found.processes if acceptable(process.uid) and process.runs(arguments, of_image=of_image)
    ]
    process = right[-1] if right else None
    results: list[tuple[bool | None, str]] = [
        run_probe(probe) for probe in wanted["probes"] if probe["kind"] in mirror_pod.OUTSIDE
    ]
    inside = [probe for probe in wanted["probes"] if probe["kind"] not in mirror_pod.OUTSIDE]
    if inside:
        credential = host.kubelet_conf, mirror_pod.path_of(watch["log_prefix"])
        results.append(mirror_pod.judge(ask, credential, process, inside, is_demanded=is_reported))
    starts, logs = _starts(
        {uid: paths for uid, paths in found.logs.items() if acceptable(uid)}, watch["container"], baseline
    )
    return PodObservation(
        process=process,
        others=tuple(
            other for other in found.processes if not acceptable(other.uid) or (process and other.uid != process.uid)
        ),
        strange=() if process else tuple(other for other in found.processes if acceptable(other.uid)),
        unmatched=tuple(found.unmatched),
        probes_ok=all(ok is not False for ok, dummy in results),
        probes=tuple(text for dummy, text in results),
        unknown=tuple(text for ok, text in results if ok is None),
        starts=starts,
        logs=logs,
    )


def count_starts(directories: t.Sequence[str], container: str) -> int:
    """How often the kubelet started a container, by the number of its newest log file."""
    logs = log_files(directories, container)
    return int(os.path.basename(logs[-1])[: -len(".log")]) + 1 if logs else 0


def _starts(
    directories: t.Mapping[str, t.Sequence[str]], container: str, baseline: t.Mapping[str, int]
) -> tuple[int, tuple[str, ...]]:
    """The new starts among these instances, and the logs of the newest one."""
    fresh = {uid: count_starts(paths, container) - baseline.get(uid, 0) for uid, paths in directories.items()}
    logs = {uid: tuple(log_files(directories[uid], container)) for uid in fresh if fresh[uid] > 0}
    uid = max(logs, key=lambda uid: _written(logs[uid]), default=None)
    return (0, ()) if uid is None else (fresh[uid], logs[uid])


def _written(logs: t.Sequence[str]) -> int:
    """When the newest of these logs was last written; 0 when it is gone."""
    try:
        return os.stat(logs[-1]).st_mtime_ns
    except (OSError, IndexError):
        return 0
