# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One observation of a static pod: which processes and logs are its own, its mirror pod, and whether it runs what its manifest has, alone and ready.

A UID is the pod's when the name of a directory with its logs has it, or when the kubelet's own directory of the pod has a
container of that name and no directory of logs is of another pod. So it is found wherever the kubelet writes, or wrote, logs, and
whatever the node was called when the pod was started.

The mirror pod is what the kubelet reports of a static pod at the API, where the kubelet's own credential may read it.
"""

from __future__ import annotations

import os
import re
import typing as t

from .files import Json
from .journal import Instance, PodIdentity, Probe
from .node import Host, Process, list_dir, log_files
from .probes import HttpGet, run_probe

_UID = re.compile(r"[0-9a-f]{32}")
_LOGGED_UID = re.compile(r'podUID="([0-9a-f]{32})"')
_LOG_DIRECTORY = re.compile(r"(?P<pod>[^_/]+_[^_/]+_)(?P<uid>[0-9a-f]{32})")


class PodProcesses(t.NamedTuple):
    """What is there of a static pod.

    processes: in the containers of its instances, without the sandbox. logs: the directories of each instance, running or gone,
    by UID. unmatched: when there is no process of an instance, those that may be the pod's all the same.
    """

    processes: list[Process]
    logs: dict[str, list[str]]
    unmatched: list[Process]


def find_processes(host: Host, pod: PodIdentity) -> PodProcesses:
    """Find the processes of a static pod, and the logs of its instances."""
    named = _log_directories(host)
    own = {uid for uid, paths in named.items() if any(_is_log_directory_of(pod, path) for path in paths)}
    others = named.keys() - own
    own |= _find_in_kubelet_root(host, pod["container"]) - others
    processes = host.find_in_pods(own)
    program = pod.get("program")
    unmatched = host.find_in_host_network(program, others) if program and not processes else []
    return PodProcesses(processes, {uid: named.get(uid, []) for uid in own}, unmatched)


def _log_directories(host: Host) -> dict[str, list[str]]:
    """The directories with logs of static pods, by UID; the configured place last."""
    links = (os.path.join(host.container_logs, name) for name in list_dir(host.container_logs))
    # PLACE/NAMESPACE_POD_UID/CONTAINER/0.log
    paths = [os.path.dirname(os.path.dirname(target)) for target in map(_target, links) if target]
    paths += [os.path.join(place, name) for place in (host.pod_logs, *host.more_pod_logs) for name in list_dir(place)]
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


def _is_log_directory_of(pod: PodIdentity, path: str) -> bool:
    """Whether a directory holds logs of this pod, of this node or of one that was called otherwise then.

    C(etcd-events) of the node C(cp1) is not C(etcd) of a node C(events-cp1).
    """
    name, prefix = os.path.basename(path)[:-32], pod["log_prefix"]
    if name == prefix:
        return True
    pod_prefix = pod.get("pod_prefix", prefix)
    return name.startswith(pod_prefix) and not name.endswith(f"-{prefix[len(pod_prefix) :]}")


def _find_in_kubelet_root(host: Host, container: str) -> set[str]:
    """The UIDs of static pods that have a container of this name, by the kubelet's own directories."""
    pods = os.path.join(host.kubelet_root, "pods")
    uids = (name for name in list_dir(pods) if _UID.fullmatch(name))
    return {uid for uid in uids if os.path.isdir(os.path.join(pods, uid, "containers", container))}


# Probes of other kinds, inside of a container or in another protocol, are the kubelet's to run.
_NETWORK_PROBES = ("http", "tcp")
_NODE, _POD = "host", "pod"  # networks of probes
# What the kubelet reports: the mirror pod, or None and why not.
Report = tuple[t.Optional[Json], str]


def needs_report(expected: Instance) -> bool:
    """Whether an instance cannot be judged without what the kubelet reports of its pod."""
    return bool(expected.get("containers")) or any(
        probe["kind"] not in _NETWORK_PROBES or "network" in probe for probe in expected["probes"]
    )


def _is_kubelets(probe: Probe) -> bool:
    """Whether only the kubelet can run a probe."""
    return probe["kind"] not in _NETWORK_PROBES or probe.get("network") == _POD


def mirror_pod_path(log_prefix: str) -> str:
    """Where the mirror pod is. log_prefix: how the names of the static pod's directories of logs begin."""
    namespace, dummy, name = log_prefix.rstrip("_").partition("_")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def failure_of(pod: Json, *, with_containers: bool) -> str:
    """Why a kubelet does not run a pod, as it reports it at the API: that it did not admit it, or what a container that never ran waits for; empty
    otherwise. with_containers: whether those of the pod are the ones in question."""
    status = pod.get("status") or {}
    waiting = [(each.get("state") or {}).get("waiting") or {} for each in status.get("containerStatuses") or []]
    reports = [status] if status.get("phase") == "Failed" else waiting if with_containers else []
    texts = [
        ": ".join(filter(None, (each.get("reason"), each.get("message"))))
        for each in reports
        if each.get("reason") != "CrashLoopBackOff"  # its own log tells more
    ]
    return "; ".join(filter(None, texts))


def uid_in(line: str) -> str:
    """The UID of the pod that a line of a kubelet's log is about; empty without one."""
    match = _LOGGED_UID.search(line)
    return match.group(1) if match else ""


def config_hash(pod: Json) -> str | None:
    """The UID of the instance that the kubelet reported."""
    try:
        found: str = pod["metadata"]["annotations"]["kubernetes.io/config.hash"]
    except (KeyError, TypeError):
        return None
    return found


def check_probe(probe: Probe, report: Report, *, required: bool) -> tuple[bool | None, str]:
    """Whether a probe passes at the address that the kubelet asks, and the result as text; None when it is not known.

    required: whether the report could be read before. Without it the address of the node is not known; what does not answer at a local one
    counts as wrong.
    """
    if probe.get("network") != _NODE:
        return run_probe(probe)
    pod, why = report
    if pod is None:
        passes, text = run_probe(probe)
        unknown = f"{text}, and not known at the node's address, which the probe asks ({why})"
        return (None if passes and not required else False), unknown
    address = (pod.get("status") or {}).get("podIP")
    return (
        run_probe({**probe, "host": address}) if address else (False, "the kubelet reports no address of the pod yet")
    )


def check_kubelet_probes(
    report: Report, process: Process | None, probes: t.Sequence[Probe], *, required: bool
) -> tuple[bool | None, str]:
    """Whether the probes pass that only the kubelet runs, as it reports, and the result as text; None when it is not known.

    required: whether the report could be read before. Where it cannot be read, a port without a listener is all that is known to be wrong.
    """
    name = f"{' and '.join(sorted({probe['kind'] for probe in probes}))} probe"
    if process is None:
        return False, f"{name}: there is no process"
    pod, why = report
    if pod is not None:
        is_ready = _is_ready(pod, process.container_id)
        return is_ready, f"{name}: the kubelet reports the container {'as ready' if is_ready else 'not as ready yet'}"
    unknown = f"{name}: what the kubelet reports is not known ({why})"
    ports = [run_probe({**probe, "kind": "tcp"}) for probe in probes if probe["kind"] == "grpc"]
    is_wrong = required or not all(ok for ok, dummy in ports)
    return False if is_wrong else None, "; ".join([unknown, *(text for ok, text in ports)])


def container_problems(pod: Json | None, uid: str, names: t.Sequence[str]) -> dict[str, str]:
    """Why other containers of a static pod do not work, by their names; empty for one that does. What the kubelet has not reported of the
    instance with this UID is missing here."""
    if pod is None or config_hash(pod) != uid:
        return {}
    status = pod.get("status") or {}
    statuses = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return {each["name"]: _problem(each) for each in statuses if each.get("name") in names}


def _problem(status: Json) -> str:
    if status.get("ready") is True:
        return ""
    reasons = [details.get("reason") for details in (status.get("state") or {}).values() if details]
    return f"the kubelet reports it as not ready ({next(filter(None, reasons), 'its probes do not pass')})"


def _is_ready(pod: Json, container_id: str) -> bool:
    """Of this very container: the status of a former one stands there until the kubelet has reported the new one."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return any(
        status.get("ready") is True and str(status.get("containerID")).endswith(f"/{container_id}")
        for status in statuses
    )


def unmatched_message(processes: t.Sequence[Process]) -> str:
    """What is known of a component whose program runs, and not in the static pod as far as that is known."""
    pids = ", ".join(str(process.pid) for process in processes)
    return (
        f"has an unknown state: {processes[0].program} runs in the node's network (PID {pids}), and could not"
        " be matched to the static pod"
    )


class PodObservation(t.NamedTuple):
    """One observation of a static pod.

    process: the process with the expected command line in a pod that may be the expected one; None without one.
    others: processes of other instances of the same pod that still run.
    probes_ok, probes: whether all of the manifest's own probes pass, as far as is known, and the result of each. unknown: what of
    that is not known.
    strange: processes of an instance that may be the expected one, with another command line. For a moment after its start
    that is the container runtime's own.
    unmatched: when there is no process of any instance, those that may be the pod's all the same.
    starts: how often the expected instance's container was started; logs: its log files, oldest first.
    containers: why the pod's other containers do not work, as C(container_problems). working: those of them that have to.
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
    containers: t.Mapping[str, str]
    working: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """The one criterion: exactly the expected process, alone, and ready, and the pod's other containers as before."""
        return self.process is not None and not self.others and self.probes_ok and not self.lost_containers

    @property
    def lost_containers(self) -> list[str]:
        """The other containers that have to work and do not, as far as the kubelet has reported, each with why."""
        reasons = {name: self.containers.get(name, "the kubelet has not reported it yet") for name in self.working}
        return [f"its container {name}: {reason}" for name, reason in reasons.items() if reason]

    @property
    def is_probed(self) -> bool:
        """Whether it has a probe whose result is known."""
        return len(self.unknown) < len(self.probes)

    @property
    def crashes(self) -> int:
        """How often the expected instance ended by itself."""
        return max(self.starts - 1, 0)

    @property
    def unrecoverable(self) -> str:
        """A static pod can always be waited for."""
        return ""

    @property
    def idle_fingerprint(self) -> int | None:
        """How often it was started, when no process of any instance is there."""
        return None if self.process or self.others or self.strange or self.unmatched else self.starts

    def unverified(self) -> list[str]:
        """What is not known of one that counts as ready, with the reason."""
        if not self.probes:
            found = ["whether it works: its manifest has no probe, so only its process was watched"]
        else:
            found = [f"whether its probes pass: {'; '.join(self.unknown)}"] if self.unknown else []
        return found + [f"whether its container {name} works: {why}" for name, why in self.containers.items() if why]

    def missing(self) -> str:
        """What is not as it should be."""
        if self.strange:
            return "starts, or runs with other arguments than its manifest has"
        if self.process is None and self.others:
            return "stops"
        if self.unmatched:
            return unmatched_message(self.unmatched)
        if self.process is None:
            return "is down, waiting for its start" if self.starts == 0 else f"is down after {self.starts} start(s)"
        if self.others:
            return "runs, and the former process as well"
        lost = (
            f", and what worked beside it does not: {'; '.join(self.lost_containers)}" if self.lost_containers else ""
        )
        return f"runs{lost}" if self.probes_ok and lost else "runs, not ready yet"


def observe_pod(
    host: Host,
    watch: PodIdentity,
    expected: Instance,
    *,
    acceptable: t.Callable[[str], bool],
    baseline: t.Mapping[str, int],
    http_get: HttpGet,
    is_reported: bool = False,
    working: t.Sequence[str] = (),
) -> PodObservation:
    """Observe a static pod once.

    expected: arguments and probes of the instance that should run. acceptable: whether an instance with this UID can be
    the expected one. baseline: the starts of each UID that happened before, because the kubelet keeps counting when an
    instance with the same UID comes back. is_reported: whether the kubelet's report of the pod has to be there. working: other containers that have to.
    """
    found = find_processes(host, watch)
    arguments, of_image = expected["arguments"], expected.get("of_image", False)
    right = [
        process for process in found.processes if acceptable(process.uid) and process.runs(arguments, of_image=of_image)
    ]
    process = right[-1] if right else None
    report: Report = None, "there is no process"
    if process and needs_report(expected):
        report = http_get(host.kubelet_conf, mirror_pod_path(watch["log_prefix"]))
    results: list[tuple[bool | None, str]] = [
        check_probe(probe, report, required=is_reported) for probe in expected["probes"] if not _is_kubelets(probe)
    ]
    inside = [probe for probe in expected["probes"] if _is_kubelets(probe)]
    if inside:
        results.append(check_kubelet_probes(report, process, inside, required=is_reported))
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
        containers=container_problems(report[0], process.uid, expected.get("containers", ())) if process else {},
        working=tuple(working),
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
    uid = max(logs, key=lambda uid: _last_written(logs[uid]), default=None)
    return (0, ()) if uid is None else (fresh[uid], logs[uid])


def _last_written(logs: t.Sequence[str]) -> int:
    """When the newest of these logs was last written; 0 when it is gone."""
    try:
        return os.stat(logs[-1]).st_mtime_ns
    except (OSError, IndexError):
        return 0
