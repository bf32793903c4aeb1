# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the checks of a preflight use: the node, and the files of a component as it will see them with a planned change."""

from __future__ import annotations

import dataclasses
import os
import re
import stat
import typing as t
import urllib.parse

from ..._engine.files import read_bytes
from ..._engine.node import Host
from ..._engine.watcher import HICCUP_SECONDS, retry_until
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
    """Flags that name files, or etcd's variables of their names, and what is in those files: through the mounts, with the files that a change
    brings."""

    def __init__(
        self,
        manifest: Manifest,
        staged: t.Mapping[str, FileVersion | None] | None = None,
        is_changed: t.Callable[[str], bool] = lambda place: False,
    ) -> None:
        """is_changed: whether a file on the node is another one than counts."""
        self._manifest = manifest
        self.is_changed = is_changed
        # Written through links, so the same file may have several paths.
        self._staged = {os.path.realpath(path): version for path, version in (staged or {}).items()}
        # An argument that is made from what only the kubelet knows names no file that could be found.
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
        return cls(pod.manifest, None, lambda place: bool(process and host.changed_since_start(process.pid, [place])))

    def flag(self, name: str) -> str | None:
        """The value that counts of a flag."""
        return flags.value(self._flags, name)

    def flags(self, name: str) -> list[str]:
        """All entries of a flag that takes a list."""
        texts = flags.values(self._flags, name)
        return [entry.strip() for text in texts for entry in text.split(",") if entry.strip()]

    def place(self, path: str) -> str:
        """Where on the node the component's file is. Raises KubeadmError when it is not mounted."""
        plain = os.path.normpath(path)
        mount = covering(plain, self._manifest.mounts())
        if mount is None:
            raise KubeadmError(f"no volume is mounted over {path}")
        return on_host(plain, mount)

    def named(self, names: t.Iterable[str]) -> dict[str, str]:
        """The files on the node that the component reads because of some flags, those that do not exist, too; each with its argument."""
        mounts = self._manifest.mounts()
        found: dict[str, str] = {}
        for name in names:
            for path in files_to_read(name, self._values(name)):
                mount = covering(path, mounts)
                if mount is not None:
                    found.setdefault(on_host(path, mount), f"args: --{name}={path}")
        return {place: argument for place, argument in found.items() if not os.path.isdir(place)}

    def needed(self) -> dict[str, str]:
        """C(named) of all flags whose file the component does not start without, but for files that a change brings."""
        names = dict.fromkeys(flag.name for flag in self._flags)
        found = self.named(name for name in names if not self._is_passed_over(name))
        return {place: argument for place, argument in found.items() if not self.brings(place)}

    def brings(self, place: str) -> bool:
        """Whether the change writes this file."""
        return self._staged.get(os.path.realpath(place)) is not None

    def _values(self, name: str) -> list[str]:
        """The values of a flag that the component reads."""
        given = flags.values(self._flags, name)
        return given if name in _REPEATED else given[-1:]

    def _is_passed_over(self, name: str) -> bool:
        """Whether the component starts without the file of a flag, as read in Kubernetes 1.37: no cloud is built in, and neither a signer that is
        switched off nor a flag beside a configuration file that counts instead is looked at."""
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
        place = self.place(path)
        real = os.path.realpath(place)
        staged = self._staged.get(real)
        if staged is not None:
            return staged.content
        if real in self._staged:
            raise KubeadmError(f"{REMOVED} {place}")
        try:
            if self.is_changed(place):
                raise KubeadmError(f"{place} was changed after the process was started")
            content = read_bytes(place)
        except OSError as exc:
            raise KubeadmError(f"{place} cannot be read: {exc.strerror}") from exc
        if content is None:
            raise KubeadmError(f"{place} does not exist")
        return content

    def is_new(self, flag: str, former: ComponentFiles) -> bool:
        """Whether the file that a flag names is named, moved or written by the change from the former state to this."""
        path = self.flag(flag)
        if path is None or path != former.flag(flag):
            return True
        try:
            place = self.place(path)
            return os.path.realpath(place) in self._staged or place != former.place(path)
        except KubeadmError:
            return True


def hosts(urls: t.Iterable[str]) -> list[str]:
    """The hosts of these addresses, each once; none for the address that stands for all of them."""
    found = (urllib.parse.urlsplit(url).hostname for url in urls)
    return list(dict.fromkeys(host for host in found if host and host.strip("0.:")))


@dataclasses.dataclass(frozen=True)
class PreflightContext:
    """What the checks use of a node.

    patience: seconds for a moment's weakness, up to those of a hiccup. kubeconfig: of the node's administrator. force: as in the module's option.
    unverified: what the checks could not verify, each with the reason.
    """

    kubelet: Kubelet
    run: Run
    host: Host
    clock: t.Callable[[], float]
    sleep: t.Callable[[float], None]
    patience: float
    kubeconfig: str
    force: bool
    unverified: list[str] = dataclasses.field(default_factory=list)


Answer = t.TypeVar("Answer")


def patiently(ask: t.Callable[[], Answer], is_fine: t.Callable[[Answer], bool], node: PreflightContext) -> Answer:
    """The first answer that is fine, or the last one when none was within the node's patience."""
    return retry_until(is_fine, ask, node.clock, node.sleep, seconds=min(node.patience, HICCUP_SECONDS))


def is_healthy(pod: static_pods.StaticPod, node: PreflightContext) -> bool:
    """Whether a component runs what its manifest says, and is ready."""
    observation = static_pods.watch_until_healthy(
        pod, node.host, seconds=min(node.patience, HICCUP_SECONDS), clock=node.clock, sleep=node.sleep
    )
    return observation.healthy


def runs(pod: static_pods.StaticPod, node: PreflightContext) -> bool:
    """Whether a component has a process."""
    return static_pods.running_process(pod, node.host) is not None


# ---- files that arguments name ---------------------------------------------------------------------------------------

# Flags of the components that name files which must exist, by the endings that Kubernetes gives them. Other values may
# begin with a slash as well: paths of URLs (authorization-always-allow-paths), of etcd keys (etcd-prefix).
_READ = re.compile(
    r"config|cloud-config|tls-sni-cert-key|kubelet-client-key|.*-(?:file|cafile|certfile|keyfile|config|kubeconfig|certificate"
    r"|certificate-authority)|kubeconfig|.*-filepath-[a-z]+"
)
_WRITTEN = frozenset(("audit-log-path", "log-file"))
_REPEATED = frozenset(("service-account-key-file", "tls-sni-cert-key"))  # each of them counts, of others the last
_SIGNERS_OFF = frozenset(("-csrsigning", "-certificatesigningrequest-signing-controller"))


def refuse_unreachable_files(plan: static_pod.StaticPodPlan) -> None:
    """Check that the component can open every file which is written, or whose argument or mount is new.

    Many files are opened only after the point at which a rehearsal ends, so this looks at the host through the mounts.
    """
    _refuse_uncovered_files(plan)
    _refuse_unusable_volumes(plan)
    _refuse_missing_mount_points(plan)
    former, former_mounts = plan.before.values()["args"], plan.before.mounts()
    mounts = plan.after.mounts()
    files = {change.path: change.after for change in plan.files}
    for flag, values in plan.after.values()["args"].items():
        if flag in _WRITTEN or _READ.fullmatch(flag):
            for value in values:
                is_former = value in former.get(flag, [])
                for path in _paths(value):
                    mount = covering(path, mounts)
                    if not (is_former and mount == covering(path, former_mounts)):
                        _refuse_unreachable(flag, path, mount, files)
                        if flag in _WRITTEN and _is_single_file(path, mount) and _is_ours(plan.record, flag, path):
                            raise Refusal(f"args: {_about_single_file(flag, path)}")


def warnings_of_single_files(plan: static_pod.StaticPodPlan) -> list[str]:
    """What there is to say of written files that are mounted alone, where the change leaves them as they are."""
    mounts = plan.after.mounts()
    return [
        _about_single_file(flag, path)
        for flag, values in plan.after.values()["args"].items()
        if flag in _WRITTEN
        for value in values
        for path in _paths(value)
        if _is_single_file(path, covering(path, mounts))
    ]


def _is_single_file(path: str, mount: Mount | None) -> bool:
    return mount is not None and os.path.normpath(mount.mount_path) == path


def _is_ours(record: ownership.Record, flag: str, path: str) -> bool:
    """Whether the flag or the mount is what a task asks for. What goes back to the way it was before us may be what it was."""
    mounted = [entry.set["mount_path"] for entry in record.get("volumes", {}).values() if entry.set]
    return flag in record.get("args", {}) or path in map(os.path.normpath, mounted)


def _about_single_file(flag: str, path: str) -> str:
    return (
        f"--{flag}={path} is mounted as a single file, which cannot be renamed: the component cannot rotate it, and loses what it would"
        " write once the file is full (100 MB unless a flag says otherwise). Mount a directory of its own with path_type:"
        " DirectoryOrCreate and read_only: false, and name a file in it, such as /var/log/kubernetes/audit/audit.log."
    )


def _paths(value: str) -> list[str]:
    """The absolute paths in an argument: tls-sni-cert-key is C(certificate,key), with names behind a colon."""
    return [path for path in map(os.path.normpath, value.partition(":")[0].split(",")) if path.startswith("/")]


def files_to_read(flag: str, values: t.Iterable[str]) -> list[str]:
    """The files that the component reads because of an argument, as it sees them."""
    return [path for value in values for path in _paths(value)] if _READ.fullmatch(flag) else []


def covering(path: str, mounts: t.Sequence[Mount]) -> Mount | None:
    """The mount through which a component sees a path; None when it sees its own image there."""
    found = [
        mount for mount in mounts if path == mount.mount_path or path.startswith(mount.mount_path.rstrip("/") + "/")
    ]
    return max(found, key=lambda mount: len(mount.mount_path), default=None)


def on_host(path: str, mount: Mount) -> str:
    """Where on the node the file is that a component sees through this mount."""
    return os.path.normpath(mount.host_path + path[len(mount.mount_path.rstrip("/")) :])


def _refuse_uncovered_files(plan: static_pod.StaticPodPlan) -> None:
    directories = [mount.host_path.rstrip("/") for mount in plan.after.mounts()]
    for change in plan.files:
        if change.wanted and not any(
            change.path == directory or change.path.startswith(directory + "/") for directory in directories
        ):
            raise Refusal(
                f"files: {change.path} on {os.uname().nodename} lies below no host path that the static pod mounts, so the component"
                " cannot see it. Name one in volumes (host_path, mount_path)."
            )


# What Kubernetes' HostPathType demands of a path that exists; the kubelet never starts a pod where that does not hold.
_KINDS: dict[str, tuple[str, t.Callable[[int], bool]]] = {
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
    """What is wrong with the host paths of some mounts, as they are with the files that a change brings."""
    staged = [change.path for change in plan.files if change.after is not None]
    for mount in mounts:
        path = os.path.normpath(mount.host_path)
        if any(file == path or file.startswith(path + "/") for file in staged):
            continue
        kind, is_right = _KINDS.get(mount.path_type, ("", lambda mode: True))
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
    """What a component that runs would not find again: files that its arguments or we name, and host paths of volumes. Its former state would not
    start either, so no rollback would bring it back.

    A file that did not exist when the process was started either is one that the component does without: its directory is as it was then.
    """
    files = ComponentFiles.planned(plan)
    ours = [path for path, entry in plan.record.get("files", {}).items() if entry.set is not None]
    whats = {**{path: f"files: {path}" for path in ours if not files.brings(path)}, **files.needed()}
    gone = [place for place, at in host.changed_since_start(pid, whats).items() if at is None]
    directories = {
        place: {_existing(os.path.dirname(path)) for path in (place, os.path.realpath(place))} for place in gone
    }
    changed = host.changed_since_start(pid, {path for paths in directories.values() for path in paths})
    removed = [place for place in gone if not directories[place].isdisjoint(changed)]
    # The kubelet looks at these itself, where it is told what they have to be.
    former = (mount for mount in plan.after.mounts() if mount.path_type and mount in plan.before.mounts())
    return [
        *(
            f"{whats[place]} on {os.uname().nodename}: {place} was removed after {name} was started, which would not come up again without it, nor"
            " with a rollback. Bring the file back, or take away what names it."
            for place in removed
        ),
        *_unusable_volumes(plan, former),
    ]


def _existing(directory: str) -> str:
    """The nearest directory that is there."""
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    return directory


def _refuse_missing_mount_points(plan: static_pod.StaticPodPlan) -> None:
    """A volume inside of another one needs a place there: the container runtime makes it where it may write, and fails otherwise."""
    former, mounts = plan.before.mounts(), plan.after.mounts()
    staged = [change.path for change in plan.files if change.after is not None]
    for mount in mounts:
        outer = covering(os.path.dirname(os.path.normpath(mount.mount_path)), mounts)
        if outer is None or not outer.read_only or (mount in former and outer in former):
            continue
        place = on_host(os.path.normpath(mount.mount_path), outer)
        if not os.path.lexists(place) and not any(file == place or file.startswith(place + "/") for file in staged):
            raise Refusal(
                f"volumes: {mount.mount_path} lies inside of {outer.mount_path}, which is mounted read-only from {outer.host_path}, and there"
                f" is no {place} on {os.uname().nodename}, so the container could not be started. Create it first, or mount the outer one with"
                " read_only: false."
            )


def _refuse_unreachable(flag: str, path: str, mount: Mount | None, files: t.Mapping[str, FileVersion | None]) -> None:
    if mount is None:
        raise Refusal(
            f"args: --{flag}={path} on {os.uname().nodename}: no volume of the static pod is mounted over {path}, so the component"
            " cannot see it. Name one in volumes (host_path, mount_path)."
        )
    source = on_host(path, mount)
    if flag in _WRITTEN:
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
