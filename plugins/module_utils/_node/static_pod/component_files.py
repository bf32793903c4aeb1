# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the checks of a preflight use: the node, and the files of a component as it will see them with a planned change."""

from __future__ import annotations

import dataclasses
import os
import typing as t
import urllib.parse

from ..._engine.files import read_bytes
from ..._engine.node import Host
from ..._engine.watcher import retry_until
from ..._plan.common.errors import KubeadmError
from ..._plan.common.file_values import FileVersion
from ..._plan.kubernetes import flags
from ..._plan.static_pod import plan as static_pod
from ..._plan.static_pod.manifest import Manifest
from ..kubelet.kubelet_reader import Kubelet
from ..transaction.state import Run
from . import static_pods
from .static_pods import covering, on_host

REMOVED = "the change removes"


class ComponentFiles:
    """Flags that name files, and what is in those files: through the mounts, with the files that a change brings."""

    def __init__(self, manifest: Manifest, staged: t.Mapping[str, FileVersion | None] | None = None) -> None:
        self._manifest = manifest
        # Written through links, so the same file may have several paths.
        self._staged = {os.path.realpath(path): version for path, version in (staged or {}).items()}
        # An argument that is made from what only the kubelet knows names no file that could be found.
        self._flags = manifest.expected_flags

    @classmethod
    def planned(cls, plan: static_pod.StaticPodPlan) -> ComponentFiles:
        """The files with a planned change."""
        return cls(plan.after, {change.path: change.after for change in plan.files})

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

    patience: seconds for a moment's weakness. kubeconfig: of the node's administrator. force: as in the module's option. unverified: what the
    checks could not verify, each with the reason.
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
    return retry_until(is_fine, ask, node.clock, node.sleep, seconds=node.patience)


def is_healthy(pod: static_pods.StaticPod, node: PreflightContext) -> bool:
    """Whether a component runs what its manifest says, and is ready."""
    observation = static_pods.watch_until_healthy(
        pod, node.host, seconds=node.patience, clock=node.clock, sleep=node.sleep
    )
    return observation.healthy


def runs(pod: static_pods.StaticPod, node: PreflightContext) -> bool:
    """Whether a component has a process."""
    return static_pods.running_process(pod, node.host) is not None
