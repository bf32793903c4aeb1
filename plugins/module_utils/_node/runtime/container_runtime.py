# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The node's container runtime: whether it is ready, which images it has, what is in them, and how an archive is loaded.

The first two by the kubelet's own interface. For the others each runtime has a command line of its own, and a node need not have it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import typing as t
import urllib.parse

from ..._engine.watcher import TRANSIENT_TIMEOUT, retry_until
from ..._plan.common.errors import KubeadmError
from ..transaction.state import Run
from . import cri
from .cri import RuntimeStatus

_NO_PROGRAM = 127


class Runtime:
    """A container runtime, by its own program. socket: where the kubelet reaches it."""

    name: t.ClassVar[str]
    program: t.ClassVar[str]

    def __init__(self, socket: str, run: Run) -> None:
        self.socket = socket
        self._run = run

    def read_status(self) -> RuntimeStatus:
        """Whether the runtime and its network are ready. One that does not answer is not."""
        try:
            return cri.read_status(self.socket)
        except KubeadmError as exc:
            return RuntimeStatus(str(exc), "", "")

    def await_ready(
        self,
        seconds: float,
        *,
        needs_network: bool = False,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> RuntimeStatus:
        """The status of a runtime that is ready, or the last one within the seconds, of which TRANSIENT_TIMEOUT count."""
        return retry_until(
            lambda status: not status.problem(needs_network=needs_network),
            self.read_status,
            clock,
            sleep,
            seconds=min(seconds, TRANSIENT_TIMEOUT),
        )

    @property
    def repair_advice(self) -> str:
        """What to do about one that is not ready."""
        return f"Check {self.name}, such as with journalctl -u {self.name.lower()}, and run again."

    def has_image(self, image: str) -> bool | None:
        """Whether the kubelet finds an image without a pull; None when the runtime does not answer."""
        try:
            return cri.has_image(self.socket, image)
        except KubeadmError:
            return None

    def unverified_image(self, image: str) -> str:
        """What is unknown where has_image() returns None."""
        return f"whether the image {image} is in {self.name}: it does not answer at {self.socket}"

    def find_sandbox_image(self, reported: str) -> tuple[str, bool | None]:
        """The image that every pod begins with, and whether it is there. reported: its name, of the status; where the runtime does not report it, an image
        that is pinned counts as that one. None when it is not known."""
        if reported:
            return reported, self.has_image(reported)
        try:
            pinned = cri.pinned_images(self.socket)
        except KubeadmError:
            pinned = []
        return (pinned[0], True) if pinned else ("", None)

    def mount_image(self, image: str) -> t.ContextManager[str]:
        """An image's root file system, mounted at a directory. Raises KubeadmError, now or when it is entered."""
        raise NotImplementedError

    def load_archive(self, archive: str) -> str:
        """Load the images of an archive. Returns the program's output. Raises KubeadmError."""
        return self._run_program(self._load_command(archive))

    def missing_program(self) -> str:
        """The error and what to install where the node lacks the program; empty where it has it."""
        status, dummy, error = self._run([self.program, "--version"])
        return f"{error.strip()}. {self._advice}" if status == _NO_PROGRAM else ""

    @property
    def _advice(self) -> str:
        return f"Install {self.program} on the node: it shows and loads the images of {self.name}"

    def _load_command(self, archive: str) -> list[str]:
        raise NotImplementedError

    def _run_program(self, command: t.Sequence[str]) -> str:
        status, output, error = self._run(command)
        if status != 0:
            advice = f". {self._advice}" if status == _NO_PROGRAM else ""
            raise KubeadmError(f"{self.name} at {self.socket}: {error.strip() or output.strip()}{advice}")
        return output.strip()


class _Containerd(Runtime):
    name = "containerd"
    program = "ctr"

    @property
    def _ctr(self) -> list[str]:
        return ["ctr", f"--address={self.socket}", "--namespace=k8s.io"]

    @contextlib.contextmanager
    def mount_image(self, image: str) -> t.Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="image-") as directory:
            self._run_program([*self._ctr, "images", "mount", image, directory])
            try:
                yield directory
            finally:
                self._run([*self._ctr, "images", "unmount", "--rm", directory])

    def _load_command(self, archive: str) -> list[str]:
        return [*self._ctr, "images", "import", archive]


class _Crio(Runtime):
    """Its images are in the storage that podman uses, too."""

    name = "CRI-O"
    program = "podman"

    @contextlib.contextmanager
    def mount_image(self, image: str) -> t.Iterator[str]:
        directory = self._run_program(["podman", "image", "mount", image])
        try:
            yield directory
        finally:
            self._run(["podman", "image", "unmount", image])

    def _load_command(self, archive: str) -> list[str]:
        return ["podman", "load", "--quiet", f"--input={archive}"]


class _Docker(Runtime):
    name = "Docker"
    program = "docker"

    def mount_image(self, image: str) -> t.ContextManager[str]:
        raise KubeadmError(f"{self.name} shows no image as a directory")

    def _load_command(self, archive: str) -> list[str]:
        return ["docker", "load", "--quiet", f"--input={archive}"]


_BY_SOCKET = {"crio": _Crio, "docker": _Docker}


def runtime_at(endpoint: str, run: Run) -> Runtime:
    """The runtime at the kubelet's endpoint, by the socket's name; containerd's may have any."""
    socket = urllib.parse.urlsplit(endpoint).path
    name = os.path.basename(socket)
    return next((kind for word, kind in _BY_SOCKET.items() if word in name), _Containerd)(socket, run)
