# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""For the checks of a preflight: the node, and a component's files as it sees them, now or with a planned change."""

from __future__ import annotations

import dataclasses
import os
import re
import stat
import typing as t
import urllib.parse

from ..._engine.files import read_bytes
from ..._engine.node import Host
from ..._engine.watcher import TRANSIENT_TIMEOUT, retry_until
from ..._plan.common import ownership
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.file_values import FileVersion
from ..._plan.kubernetes import flags
from ..._plan.static_pod import etcd_change
from ..._plan.static_pod import plan as static_pod
from ..._plan.static_pod.manifest import Manifest, Mount
from ..kubelet.kubelet_reader import Kubelet
from ..transaction.state import Run, state_directory
from . import static_pods

REMOVED = "the change removes"


class ComponentFiles:
    """A manifest's flags, or etcd's environment variables, and the files that they name: through the mounts, with those that a change
    writes."""

    def __init__(
        self,
        manifest: Manifest,
        staged: t.Mapping[str, FileVersion | None] | None = None,
        is_changed: t.Callable[[str], bool] = lambda path: False,
    ) -> None:
        """is_changed: whether a file on the node is not the one that the component has read."""
        self._manifest = manifest
        self.is_changed = is_changed
        # Links are followed, so the same file may have several paths.
        self._staged = {os.path.realpath(path): version for path, version in (staged or {}).items()}
        # An argument that the kubelet expands names no file that could be found here.
        self._flags = (
            etcd_change.settings(manifest) if manifest.program == static_pods.ETCD else manifest.expected_flags
        )

    @classmethod
    def planned(cls, plan: static_pod.StaticPodPlan) -> ComponentFiles:
        """The files with a planned change."""
        return cls(plan.after, {change.path: change.after for change in plan.files})

    @classmethod
    def running(cls, pod: static_pods.StaticPod, host: Host) -> ComponentFiles:
        """The files as the running component has read them: one that was changed since its start cannot be read."""
        process = static_pods.running_process(pod, host)
        return cls(pod.manifest, None, lambda path: bool(process and host.changed_since_start(process.pid, [path])))

    def flag(self, name: str) -> str | None:
        """The effective value of a flag: the last one."""
        return flags.value(self._flags, name)

    def flags(self, name: str) -> list[str]:
        """All entries of a flag that takes a list."""
        texts = flags.values(self._flags, name)
        return [entry.strip() for text in texts for entry in text.split(",") if entry.strip()]

    def host_path(self, path: str) -> str:
        """The path on the node of a component's file. Raises KubeadmError when it is not mounted."""
        plain = os.path.normpath(path)
        mount = find_mount(plain, self._manifest.mounts())
        if mount is None:
            raise KubeadmError(f"no volume is mounted over {path}")
        return path_on_host(plain, mount)

    def named_files(self, names: t.Iterable[str]) -> dict[str, str]:
        """The files on the node that some flags name, existing or not; each with its argument."""
        mounts = self._manifest.mounts()
        arguments: dict[str, str] = {}
        for name in names:
            for path in files_to_read(name, self._values(name)):
                mount = find_mount(path, mounts)
                if mount is not None:
                    arguments.setdefault(path_on_host(path, mount), f"args: --{name}={path}")
        return {path: argument for path, argument in arguments.items() if not os.path.isdir(path)}

    def required_files(self) -> dict[str, str]:
        """C(named_files) that the component needs to start, but for those that the change writes."""
        names = dict.fromkeys(flag.name for flag in self._flags)
        arguments = self.named_files(name for name in names if not self._is_optional(name))
        return {path: argument for path, argument in arguments.items() if not self.writes(path)}

    def writes(self, path: str) -> bool:
        """Whether the change writes this file."""
        return self._staged.get(os.path.realpath(path)) is not None

    def _values(self, name: str) -> list[str]:
        """The values of a flag that the component reads."""
        given = flags.values(self._flags, name)
        return given if name in _REPEATED_FLAGS else given[-1:]

    def _is_optional(self, name: str) -> bool:
        """Whether the component starts without the file of a flag, as read in Kubernetes 1.37: no cloud is built in, and neither a signer that is
        switched off nor a flag that a configuration file overrides is read."""
        program = self._manifest.program
        return (
            name == "cloud-config"
            or (name.startswith("cluster-signing-") and not _SIGNERS_OFF.isdisjoint(self.flags("controllers")))
            or (program == "kube-scheduler" and name == "kubeconfig" and self.flag("config") is not None)
            or (
                program == static_pods.ETCD
                and name != etcd_change.CONFIG_FILE
                and self.flag(etcd_change.CONFIG_FILE) is not None
            )
        )

    def read(self, path: str) -> bytes:
        """The content of a file. Raises KubeadmError when the component could not read it."""
        host_path = self.host_path(path)
        real = os.path.realpath(host_path)
        staged = self._staged.get(real)
        if staged is not None:
            return staged.content
        if real in self._staged:
            raise KubeadmError(f"{REMOVED} {host_path}")
        try:
            if self.is_changed(host_path):
                raise KubeadmError(f"{host_path} was changed after the process was started")
            content = read_bytes(host_path)
        except OSError as exc:
            raise KubeadmError(f"{host_path} cannot be read: {exc.strerror}") from exc
        if content is None:
            raise KubeadmError(f"{host_path} does not exist")
        return content

    def is_new(self, flag: str, former: ComponentFiles) -> bool:
        """Whether the file that a flag names is named, moved or written by the change from the former state to this."""
        path = self.flag(flag)
        if path is None or path != former.flag(flag):
            return True
        try:
            host_path = self.host_path(path)
            return os.path.realpath(host_path) in self._staged or host_path != former.host_path(path)
        except KubeadmError:
            return True


def hosts_of_urls(urls: t.Iterable[str]) -> list[str]:
    """The hosts of these URLs, each once, without the unspecified address (0.0.0.0, ::)."""
    found = (urllib.parse.urlsplit(url).hostname for url in urls)
    return list(dict.fromkeys(host for host in found if host and host.strip("0.:")))


@dataclasses.dataclass(frozen=True)
class PreflightContext:
    """What the checks use of a node.

    ready_timeout: seconds that something unhealthy may take to recover. kubeconfig: of the node's administrator. force: as in the module's option.
    unverified: what the checks could not verify, each with the reason. facts: what they found that is used later: C(leads), C(sandbox_image).
    """

    kubelet: Kubelet
    run: Run
    host: Host
    clock: t.Callable[[], float]
    sleep: t.Callable[[float], None]
    ready_timeout: float
    kubeconfig: str
    force: bool
    unverified: list[str] = dataclasses.field(default_factory=list)
    facts: dict[str, t.Any] = dataclasses.field(default_factory=dict)


R = t.TypeVar("R")


def retry_until_ready(read: t.Callable[[], R], is_ready: t.Callable[[R], bool], node: PreflightContext) -> R:
    """Read again until the result is ready, or the node's ready_timeout is over. Returns the last result."""
    return retry_until(is_ready, read, node.clock, node.sleep, seconds=min(node.ready_timeout, TRANSIENT_TIMEOUT))


def is_healthy(pod: static_pods.StaticPod, node: PreflightContext) -> bool:
    """Whether a component runs what its manifest says, and is ready."""
    observation = static_pods.watch_until_healthy(
        pod, node.host, seconds=min(node.ready_timeout, TRANSIENT_TIMEOUT), clock=node.clock, sleep=node.sleep
    )
    return observation.healthy


def is_running(pod: static_pods.StaticPod, node: PreflightContext) -> bool:
    """Whether a component has a process."""
    return static_pods.running_process(pod, node.host) is not None


# ---- files that arguments name ---------------------------------------------------------------------------------------

# Flags of the components that name files which must exist, by the endings that Kubernetes gives them. Other values may
# begin with a slash as well: paths of URLs (authorization-always-allow-paths), of etcd keys (etcd-prefix).
_READ_FLAGS = re.compile(
    r"config|cloud-config|tls-sni-cert-key|kubelet-client-key|.*-(?:file|cafile|certfile|keyfile|config|kubeconfig|certificate"
    r"|certificate-authority)|kubeconfig|.*-filepath-[a-z]+"
)
_WRITTEN_FLAGS = frozenset(("audit-log-path", "log-file"))
_REPEATED_FLAGS = frozenset(("service-account-key-file", "tls-sni-cert-key"))  # each of them counts, of others the last
_SIGNERS_OFF = frozenset(("-csrsigning", "-certificatesigningrequest-signing-controller"))


def refuse_unreachable_files(plan: static_pod.StaticPodPlan) -> None:
    """Check that the component can open every file which is written, or whose argument or mount is new.

    Many files are opened only after the point at which a rehearsal ends, so the host's files are checked through the mounts.
    """
    _refuse_uncovered_files(plan)
    _refuse_unusable_volumes(plan)
    _refuse_missing_mount_points(plan)
    former, former_mounts = plan.before.values()["args"], plan.before.mounts()
    mounts = plan.after.mounts()
    files = {change.path: change.after for change in plan.files}
    for flag, values in plan.after.values()["args"].items():
        if flag in _WRITTEN_FLAGS or _READ_FLAGS.fullmatch(flag):
            for value in values:
                is_former = value in former.get(flag, [])
                for path in _paths_in_value(value):
                    mount = find_mount(path, mounts)
                    if not (is_former and mount == find_mount(path, former_mounts)):
                        _refuse_unreachable(flag, path, mount, files)
                        if flag in _WRITTEN_FLAGS and _is_single(path, mount) and _is_owned(plan.record, flag, path):
                            raise Refusal(f"args: {_single_file_message(flag, path)}")


def warnings_of_single_files(plan: static_pod.StaticPodPlan) -> list[str]:
    """Warnings about written files that are mounted as single files, where the change leaves them as they are."""
    mounts = plan.after.mounts()
    return [
        _single_file_message(flag, path)
        for flag, values in plan.after.values()["args"].items()
        if flag in _WRITTEN_FLAGS
        for value in values
        for path in _paths_in_value(value)
        if _is_single(path, find_mount(path, mounts))
    ]


def _is_single(path: str, mount: Mount | None) -> bool:
    """Whether the mount is of this file alone."""
    return mount is not None and os.path.normpath(mount.mount_path) == path


def _is_owned(record: ownership.Record, flag: str, path: str) -> bool:
    """Whether a task sets the flag or the mount. A restored value may be a single file."""
    mounted = [entry.set["mount_path"] for entry in record.get("volumes", {}).values() if entry.set]
    return flag in record.get("args", {}) or path in map(os.path.normpath, mounted)


def _single_file_message(flag: str, path: str) -> str:
    return (
        f"--{flag}={path} is mounted as a single file, which cannot be renamed: the component cannot rotate it, and loses what it would"
        " write once the file is full (100 MB unless a flag says otherwise). Mount a directory of its own with path_type:"
        " DirectoryOrCreate and read_only: false, and name a file in it, such as /var/log/kubernetes/audit/audit.log."
    )


def _paths_in_value(value: str) -> list[str]:
    """The absolute paths in an argument: tls-sni-cert-key is C(certificate,key), with names behind a colon."""
    return [path for path in map(os.path.normpath, value.partition(":")[0].split(",")) if path.startswith("/")]


def files_to_read(flag: str, values: t.Iterable[str]) -> list[str]:
    """The files that the component reads because of an argument, as it sees them."""
    return [path for value in values for path in _paths_in_value(value)] if _READ_FLAGS.fullmatch(flag) else []


def find_mount(path: str, mounts: t.Sequence[Mount]) -> Mount | None:
    """The mount through which a component sees a path; None when the path is in its image."""
    covering = [
        mount for mount in mounts if path == mount.mount_path or path.startswith(mount.mount_path.rstrip("/") + "/")
    ]
    return max(covering, key=lambda mount: len(mount.mount_path), default=None)


def path_on_host(path: str, mount: Mount) -> str:
    """Where on the node the file is that a component sees through this mount."""
    return os.path.normpath(mount.host_path + path[len(mount.mount_path.rstrip("/")) :])


def _refuse_uncovered_files(plan: static_pod.StaticPodPlan) -> None:
    directories = [mount.host_path.rstrip("/") for mount in plan.after.mounts()]
    for change in plan.files:
        if change.is_desired and not any(
            change.path == directory or change.path.startswith(directory + "/") for directory in directories
        ):
            raise Refusal(
                f"files: {change.path} on {os.uname().nodename} lies below no host path that the static pod mounts, so the component"
                " cannot see it. Name one in volumes (host_path, mount_path)."
            )


# What Kubernetes' HostPathType requires of a path that exists; the kubelet never starts a pod where that is not met.
_PATH_TYPES: dict[str, tuple[str, t.Callable[[int], bool]]] = {
    "Directory": ("directory", stat.S_ISDIR),
    "DirectoryOrCreate": ("directory", stat.S_ISDIR),
    "File": ("file", stat.S_ISREG),
    "FileOrCreate": ("file", stat.S_ISREG),
    "Socket": ("socket", stat.S_ISSOCK),
    "CharDevice": ("character device", stat.S_ISCHR),
    "BlockDevice": ("block device", stat.S_ISBLK),
}


def _refuse_unusable_volumes(plan: static_pod.StaticPodPlan) -> None:
    for problem in _unusable_volumes(
        plan, (mount for mount in plan.after.mounts() if mount not in plan.before.mounts())
    ):
        raise Refusal(problem)


def _unusable_volumes(plan: static_pod.StaticPodPlan, mounts: t.Iterable[Mount]) -> t.Iterator[str]:
    """What is wrong with the host paths of some mounts after the change."""
    staged = [change.path for change in plan.files if change.after is not None]
    for mount in mounts:
        path = os.path.normpath(mount.host_path)
        if any(file == path or file.startswith(path + "/") for file in staged):
            continue
        kind, is_right = _PATH_TYPES.get(mount.path_type, ("", lambda mode: True))
        try:
            is_usable = is_right(os.stat(path).st_mode)
        except FileNotFoundError:
            if not mount.path_type.endswith("OrCreate"):
                yield (
                    f"volumes: {mount.host_path} on {os.uname().nodename} does not exist. Create it first, or set path_type:"
                    " DirectoryOrCreate."
                )
            continue
        if not is_usable:
            yield f"volumes: {mount.host_path} on {os.uname().nodename} is not a {kind}, but path_type says so."


# ---- files that were removed since a start ---------------------------------------------------------------------------


def removed_files(name: str, plan: static_pod.StaticPodPlan, pid: int, host: Host) -> list[str]:
    """What a running component would not find at a restart: files of its arguments or in our record, and host paths of volumes. Its former state would not
    start either, so no rollback would bring it back.

    A file that did not exist when the process was started either is one that the component does without: its directory is as it was then.
    """
    files = ComponentFiles.planned(plan)
    ours = [path for path, entry in plan.record.get("files", {}).items() if entry.set is not None]
    sources = {**{path: f"files: {path}" for path in ours if not files.writes(path)}, **files.required_files()}
    gone = [path for path, at in host.changed_since_start(pid, sources).items() if at is None]
    directories = {
        path: {_existing_parent(os.path.dirname(each)) for each in (path, os.path.realpath(path))} for path in gone
    }
    changed = host.changed_since_start(pid, {path for paths in directories.values() for path in paths})
    removed = [path for path in gone if not directories[path].isdisjoint(changed)]
    # The kubelet checks these itself, where a path_type is set.
    former = (mount for mount in plan.after.mounts() if mount.path_type and mount in plan.before.mounts())
    return [
        *(
            f"{sources[path]} on {os.uname().nodename}: {path} was removed after {name} was started, which would not come up again without it, nor"
            " with a rollback. Bring the file back, or take away what names it."
            for path in removed
        ),
        *_unusable_volumes(plan, former),
    ]


def _existing_parent(directory: str) -> str:
    """The nearest parent directory that exists."""
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    return directory


def _refuse_missing_mount_points(plan: static_pod.StaticPodPlan) -> None:
    """A volume inside of another one needs a mount point, which the container runtime creates where it may write."""
    former, mounts = plan.before.mounts(), plan.after.mounts()
    staged = [change.path for change in plan.files if change.after is not None]
    for mount in mounts:
        outer = find_mount(os.path.dirname(os.path.normpath(mount.mount_path)), mounts)
        if outer is None or not outer.read_only or (mount in former and outer in former):
            continue
        point = path_on_host(os.path.normpath(mount.mount_path), outer)
        if not os.path.lexists(point) and not any(file == point or file.startswith(point + "/") for file in staged):
            raise Refusal(
                f"volumes: {mount.mount_path} lies inside of {outer.mount_path}, which is mounted read-only from {outer.host_path}, and there"
                f" is no {point} on {os.uname().nodename}, so the container could not be started. Create it first, or mount the outer one with"
                " read_only: false."
            )


def _refuse_unreachable(flag: str, path: str, mount: Mount | None, files: t.Mapping[str, FileVersion | None]) -> None:
    if mount is None:
        raise Refusal(
            f"args: --{flag}={path} on {os.uname().nodename}: no volume of the static pod is mounted over {path}, so the component"
            " cannot see it. Name one in volumes (host_path, mount_path)."
        )
    source = path_on_host(path, mount)
    if flag in _WRITTEN_FLAGS:
        if mount.read_only:
            raise Refusal(
                f"args: --{flag}={path} is written to, but its volume is mounted read-only; set read_only: false."
            )
        return
    exists = files[source] is not None if source in files else os.path.lexists(source)
    if (not exists and mount.path_type not in ("DirectoryOrCreate", "FileOrCreate")) or (
        not exists and source != mount.host_path
    ):
        raise Refusal(
            f"args: --{flag}={path} on {os.uname().nodename}: {source} does not exist on the node."
            " Name it in files, or create it there first."
        )


def refuse_special_files(paths: t.Iterable[str], manifest_dir: str) -> None:
    """No file of a task may be among those of this collection, or of the kubelet. Raises KubeadmError."""
    state = state_directory("")
    for path in paths:
        real = os.path.realpath(path)
        if real.startswith(f"{os.path.realpath(state)}/"):
            raise KubeadmError(
                f"files: {path} would be in {state}, where this collection keeps its own state of the node."
            )
        if os.path.dirname(real) == os.path.realpath(manifest_dir):
            raise KubeadmError(
                f"files: {path} would be in the directory of static pods, where the kubelet treats it as one."
            )
