# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program of a component for its rehearsal: of the process that runs, or out of the component's image."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ..._engine.node import Host
from ..._plan.common.errors import KubeadmError
from ..static_pod.static_pods import StaticPod, running_process
from .container_runtime import Runtime
from .sandbox import mount_table, within

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Program(t.NamedTuple):
    """A component's program. root: the directory on the node that is its root file system, None when the node shows none."""

    binary: str
    root: str | None


@contextlib.contextmanager
def program_of(pod: StaticPod, runtime: Runtime, host: Host) -> t.Iterator[Program]:
    """The program, for as long as the block lasts. While the component runs, the container runtime is not asked.

    Raises KubeadmError when it cannot be had.
    """
    process = running_process(pod, host)
    # Held open, because a component that crashes may be gone when the sandbox starts.
    descriptor = None if process is None else _open(os.path.join(host.proc, str(process.pid), "exe"))
    if process is not None and descriptor is not None:
        try:
            yield Program(f"/proc/{os.getpid()}/fd/{descriptor}", _root_of_process(process.pid, host))
        finally:
            os.close(descriptor)
        return
    image = str(pod.manifest.container.get("image"))
    with contextlib.ExitStack() as opened:
        try:
            program = opened.enter_context(program_in_image(image, str(pod.manifest.entrypoint), runtime))
        except KubeadmError as exc:
            raise KubeadmError(
                f"{pod.name} does not run on {os.uname().nodename}, and its program cannot be extracted from the image {image} for the"
                f" rehearsal ({exc}). Wait until the component runs, or set rehearse: false."
            ) from exc
        yield program


@contextlib.contextmanager
def program_in_image(image: str, command: str, runtime: Runtime) -> t.Iterator[Program]:
    """The program that an image starts, for as long as the block lasts. Raises KubeadmError when it cannot be had."""
    with runtime.opened(image) as root:
        yield Program(_in_image(root, command), root)


def _open(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _root_of_process(pid: int, host: Host) -> str | None:
    """Where the node itself has mounted the root file system of a container. It cannot be bound out of the container's own
    mount namespace: the kernel refuses that."""
    try:
        own = next((mount for mount in reversed(mount_table(host.proc, str(pid))) if mount.point == "/"), None)
        mounts = [] if own is None else mount_table(host.proc, "self")
        inside = os.stat(os.path.join(host.proc, str(pid), "root"))
    except OSError:  # it has just ended
        return None
    for mount in mounts:
        with contextlib.suppress(OSError):
            if own and mount.tree == own.tree and os.path.samestat(os.stat(mount.point), inside):
                return mount.point
    return None


def _in_image(root: str, command: str) -> str:
    places = [command] if command.startswith("/") else [f"{path}/{command}" for path in PATH.split(":")]
    for place in places:
        path = within(root, place)
        if os.path.exists(path):
            return path
    raise KubeadmError(f"it holds no {command} in {', '.join(places)}")
