# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The node's container runtime: which images it has, what is in them, and how an archive is loaded.

Each runtime has a command line of its own, and a node need not have it.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import typing as t
import urllib.parse

from ..._plan.common.errors import KubeadmError
from ..transaction.state import Run

# With a registry's name and a tag or a digest: containerd stores it under exactly this name.
_WHOLE_NAME = re.compile(r"[^/]+[.:][^/]*/[^@:]+(?::[^/@]+|@sha256:[0-9a-f]{64})|localhost/[^@:]+:[^/@]+")
_TIMEOUT = "10s"  # by default 2 s for crictl, and none for ctr
_NO_PROGRAM = 127


class Runtime:
    """A container runtime, by its own program. socket: where the kubelet reaches it."""

    name: t.ClassVar[str]
    program: t.ClassVar[str]

    def __init__(self, socket: str, run: Run) -> None:
        self.socket = socket
        self._run = run

    def has_image(self, image: str) -> bool | None:
        """Whether the kubelet finds an image without a pull; None when no program of the node reports it."""
        for query in (self._query_crictl, self._query_own_program):
            found = query(image)
            if found is not None:
                return found
        return None

    def unverified_image(self, image: str) -> str:
        """What is unknown where has_image() returns None."""
        return f"whether the image {image} is in {self.name}: neither crictl nor a program of its own shows it"

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

    def _query_own_program(self, image: str) -> bool | None:
        raise NotImplementedError

    def _query_crictl(self, image: str) -> bool | None:
        """Through the CRI, as the kubelet does, whatever the runtime."""
        endpoints = [f"--{kind}-endpoint=unix://{self.socket}" for kind in ("runtime", "image")]
        status, dummy, error = self._run(["crictl", *endpoints, f"--timeout={_TIMEOUT}", "inspecti", "--quiet", image])
        if status == 0:
            return True
        return False if "no such image" in error.lower() else None

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

    def _query_own_program(self, image: str) -> bool | None:
        if not _WHOLE_NAME.fullmatch(image):
            return None
        command = [*self._ctr, f"--timeout={_TIMEOUT}", "images", "list", "--quiet", f"name=={image}"]
        status, output, dummy = self._run(command)
        return image in output.split() if status == 0 else None

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

    def _query_own_program(self, image: str) -> bool | None:
        return {0: True, 1: False}.get(self._run(["podman", "image", "exists", image])[0])

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

    def _query_own_program(self, image: str) -> bool | None:
        status, dummy, error = self._run(["docker", "image", "inspect", "--format={{.Id}}", image])
        if status == 0:
            return True
        return False if "no such image" in error.lower() else None

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
