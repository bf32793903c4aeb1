# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading static pods on a node: manifests, processes, and what prevents a change."""

from __future__ import annotations

import dataclasses
import grp
import os
import pwd
import typing as t

from ..._engine.files import POLL_SECONDS
from ..._engine.journal import Address, Instance, PodIdentity
from ..._engine.node import Host, Process
from ..._engine.pod_observation import PodObservation, find_processes, observe_pod, unmatched_message
from ..._engine.probes import HttpGet, api_get
from ..._plan.common import ownership, times
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.file_values import FileVersion
from ..._plan.documents import configuration
from ..._plan.static_pod.desired import DesiredFile
from ..._plan.static_pod.manifest import Manifest, expected_flag, other_containers
from ..kubelet.kubelet_reader import manifest_files
from ..transaction.file_versions import read_version, refuse_unsafe
from ..transaction.owned_record import former_text, is_older, read_record, written_image

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package

API_SERVER, ETCD = "kube-apiserver", "etcd"
_DEFAULT_PORT = 6443


@dataclasses.dataclass(frozen=True)
class StaticPod:
    """One static pod as a node has it.

    path: its manifest. version: the content of that. manifest: the same, parsed. record: what we own of it. log_prefix: how the names
    of its directories of logs begin. written_image: its image at our last write, None when that is not known. former: the manifest before
    our first change, None when it is not known or another program has changed it since. changed: when the manifest was changed last, UTC.
    unread: files beside it that cannot be read as pods.
    """

    name: str
    path: str
    version: FileVersion
    manifest: Manifest
    record: ownership.Record
    log_prefix: str
    written_image: str | None = None
    former: str | None = None
    changed: str = ""
    unread: tuple[str, ...] = ()

    @property
    def container(self) -> str:
        """The name of the component's container."""
        return str(self.manifest.container["name"])

    @property
    def logs(self) -> PodIdentity:
        """The names by which its instances are found."""
        metadata = self.manifest.pod["metadata"]
        return {
            "log_prefix": self.log_prefix,
            "pod_prefix": _pod_prefix(metadata),
            "container": self.container,
            "program": self.manifest.program,
        }


def read_static_pod(name: str, manifest_dir: str, node_name: str, *, joined_at: float = 0.0) -> StaticPod:
    """Find and read a static pod that is going to be changed. joined_at: when its node was, in seconds since 1970; 0.0 when that is not known.

    Raises KubeadmError when there is none, Refusal when it cannot be edited or another file would shadow it.
    """
    path, others = find_manifest(name, manifest_dir)
    pod = parse_static_pod(name, path, node_name, joined_at=joined_at)
    strays = stray_files(path, others, pod.manifest.pod)
    if strays:
        raise Refusal(
            f"{', '.join(strays)} on {os.uname().nodename} is beside {os.path.basename(path)}. The kubelet treats every file"
            " there whose name has no leading dot as a pod, and of two with one name the last in the alphabet wins, so a"
            " change would not hold. Move it out of the directory; if it is the one that runs now, the component restarts then."
        )
    return dataclasses.replace(pod, unread=tuple(file for file in others if pod_identity(file) is None))


def parse_static_pod(name: str, path: str, node_name: str, *, joined_at: float = 0.0) -> StaticPod:
    """Read a manifest and what we own of it. joined_at: as above: kubeadm wrote all manifests then. Raises Refusal when the manifest cannot be edited."""
    version = _read_manifest_version(path)
    manifest = Manifest.parse(_decode_text(version, path), path, name)
    metadata = manifest.pod["metadata"]
    return StaticPod(
        name=name,
        path=path,
        version=version,
        manifest=manifest,
        record=read_record(name),
        log_prefix=f"{_pod_prefix(metadata)}{node_name}_",
        written_image=None if is_older(name, joined_at) else written_image(name),
        former=former_text(name, manifest.text),
        changed=times.format_time(os.stat(path).st_mtime),
    )


def _pod_prefix(metadata: t.Mapping[str, t.Any]) -> str:
    return f"{metadata.get('namespace', 'default')}_{metadata['name']}-"


def read_files(paths: t.Iterable[str]) -> dict[str, FileVersion | None]:
    """The policy files that a plan is about; None for one that does not exist."""
    files: dict[str, FileVersion | None] = {}
    for path in paths:
        refuse_unsafe([path])
        if os.path.isdir(path):
            raise Refusal(f"files: {path} is a directory on {os.uname().nodename}; name a file.")
        files[path] = read_version(path)
    return files


def read_accounts(files: t.Iterable[DesiredFile]) -> tuple[dict[str, int], dict[str, int]]:
    """The number of each owner and group that a task names for its files, as this node knows them. Raises Refusal."""
    users: dict[str, int] = {}
    groups: dict[str, int] = {}
    for entry in files:
        for kind, name, numbers, find_number in (
            ("owner", entry.owner, users, lambda name: pwd.getpwnam(name).pw_uid),
            ("group", entry.group, groups, lambda name: grp.getgrnam(name).gr_gid),
        ):
            if name is None:
                continue
            try:
                numbers[name] = int(name) if name.isdigit() else find_number(name)
            except KeyError as exc:
                raise Refusal(
                    f"files: invalid {kind} {name!r} of {entry.path}: must be a name that {os.uname().nodename} knows, or a number."
                ) from exc
    return users, groups


def read_manifest(path: str, name: str) -> Manifest:
    """The manifest of a static pod. Raises KubeadmError when there is none, Refusal when it cannot be edited."""
    return Manifest.parse(_decode_text(_read_manifest_version(path), path), path, name)


def _read_manifest_version(path: str) -> FileVersion:
    version = read_version(path)
    if version is None:
        raise KubeadmError(f"{path} is a link to a file that does not exist.")
    return version


def _decode_text(version: FileVersion, path: str) -> str:
    try:
        return version.text
    except UnicodeDecodeError as exc:
        raise Refusal(f"{path} is not UTF-8 text: {exc}.") from exc


# ---- the directory ---------------------------------------------------------------------------------------------------


def find_manifest(name: str, manifest_dir: str) -> tuple[str, list[str]]:
    """The manifest of a static pod, and the other files beside it."""
    files = manifest_files(manifest_dir)
    usual = os.path.join(manifest_dir, f"{name}.yaml")
    # A file with another name counts when no file with the usual name exists.
    path = (
        usual if usual in files else next((file for file in files if (pod_identity(file) or ("", ""))[1] == name), None)
    )
    if path is None:
        found = ", ".join(os.path.basename(file) for file in files) or "no file"
        raise KubeadmError(
            f"there is no manifest of {name} in {manifest_dir} on {os.uname().nodename} (found: {found})."
            " Is this host a control plane, and is the name that of a static pod?"
        )
    return path, [file for file in files if file != path]


def pod_identity(path: str) -> tuple[str, str] | None:
    """(namespace, name) of the pod that a file declares; None when it declares none."""
    try:
        data = configuration.load_first(_decode_text(_read_manifest_version(path), path))
        return str(data["metadata"].get("namespace", "default")), str(data["metadata"]["name"])
    except (KubeadmError, yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, OSError):
        return None


def stray_files(path: str, others: t.Sequence[str], pod: t.Mapping[str, t.Any]) -> list[str]:
    """Files that the kubelet takes for the same pod, or that are copies of its manifest which it cannot read."""
    identity = (str(pod["metadata"].get("namespace", "default")), str(pod["metadata"]["name"]))
    copy_of = os.path.basename(path)
    return [other for other in others if pod_identity(other) == identity or os.path.basename(other).startswith(copy_of)]


# ---- what runs -----------------------------------------------------------------------------------------------------------


def running_process(pod: StaticPod, host: Host) -> Process | None:
    """The component's process: of this static pod and of the binary that the manifest names, if it does. None when it is down."""
    entrypoint = pod.manifest.entrypoint
    right = [
        process
        for process in find_processes(host, pod.logs).processes
        if entrypoint is None or process.program == pod.manifest.program
    ]
    return right[-1] if right else None


def instance_of(manifest: Manifest) -> Instance:
    """How the processes of a static pod with this manifest are identified."""
    return {
        "arguments": manifest.expected_arguments(),
        "written": manifest.arguments,
        "of_image": manifest.entrypoint is None or manifest.is_wrapped,
        "probes": [{**probe} for probe in manifest.probes()],
        "containers": other_containers(manifest),
    }


def advertised_address(manifest: Manifest) -> Address:
    """The address of an API server without an HTTP probe."""
    host, port = (expected_flag(manifest, name) for name in ("advertise-address", "secure-port"))
    return {"scheme": "https", "host": host or "127.0.0.1", "port": int(port or _DEFAULT_PORT)}


def server_address(manifest: Manifest) -> Address:
    """The address of an API server on its own node."""
    return probe_address(instance_of(manifest)) or advertised_address(manifest)


def probe_address(instance: Instance) -> Address | None:
    """The address of the first HTTP probe of an instance; None without one."""
    probe = next((probe for probe in instance["probes"] if probe["kind"] == "http"), None)
    return probe and {"scheme": probe["scheme"], "host": probe["host"], "port": probe["port"]}


def refuse_unmatched(pod: StaticPod, host: Host) -> None:
    """Refuse a component with unidentified processes: it must not count as stopped. Raises Refusal."""
    found = find_processes(host, pod.logs)
    if found.unmatched:
        raise Refusal(
            f"{pod.name} on {os.uname().nodename} {unmatched_message(found.unmatched)}, so it must not be changed. Nothing was"
            f" written. Check /proc/{found.unmatched[0].pid}/cgroup: stop the process when it is not the static pod's; otherwise"
            f" check that the directory of the pod's logs ({pod.log_prefix}UID) or the kubelet's own of the pod (pods/UID) is there."
        )


# The kubelet waits between two starts of what crashed, and a restarted API server makes the others restart.
STABLE_SECONDS = 60.0


def observe(pod: StaticPod, host: Host, http_get: HttpGet = api_get) -> PodObservation:
    """Observe once whether a component runs what its manifest says, alone, and is ready."""
    return observe_pod(
        host, pod.logs, instance_of(pod.manifest), acceptable=lambda uid: True, baseline={}, http_get=http_get
    )


def watch_until_healthy(
    pod: StaticPod,
    host: Host,
    *,
    seconds: float,
    clock: t.Callable[[], float],
    sleep: t.Callable[[float], None],
) -> PodObservation:
    """The first observation of a healthy component, or the last one in time."""
    limit = clock() + seconds
    while True:
        observation = observe(pod, host)
        if observation.healthy or clock() >= limit:
            return observation
        sleep(POLL_SECONDS)


def unread_files(paths: t.Iterable[str], process: Process | None, host: Host) -> list[str]:
    """Of which files it is not known whether the component has read them as they are: nothing restarts it for a manual edit."""
    changed = host.changed_since_start(process.pid, paths) if process else {}
    return [
        f"whether it has read {path} as it is: the file "
        + (
            "does not exist, and most files are read at the start only"
            if when is None
            else f"was changed at {times.format_time(when)}, after the process was started, and most files are read at the start only"
        )
        for path, when in changed.items()
    ]


def readiness(name: str, directory: str, node_name: str, host: Host) -> dict[str, t.Any]:
    """Whether a static pod is ready with what its manifest says, what is wrong otherwise, and what is unknown, by one observation."""
    try:
        path, dummy = find_manifest(name, directory)
        return readiness_of(observe(parse_static_pod(name, path, node_name), host))
    except (KubeadmError, OSError) as exc:
        return unready(str(exc))


def readiness_of(observation: PodObservation) -> dict[str, t.Any]:
    """The same from an observation."""
    return (
        {"ready": True, "problem": None, "unverified": observation.unverified()}
        if observation.healthy
        else unready("; ".join((observation.missing(), *observation.probes)))
    )


def unready(problem: str) -> dict[str, t.Any]:
    """The same for a static pod that is not ready, or cannot be read."""
    return {"ready": False, "problem": problem, "unverified": []}
