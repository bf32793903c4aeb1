# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the host, below a root directory. Paths in and out are the host's own, without that root."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import stat
import typing as t
from pathlib import PurePosixPath

_MAGIC = re.compile(r"[*?\[]")
_LINKS = 40
KINDS = {
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
    stat.S_IFREG: "regular file",
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}
EXPECTED = {
    "device": ("character device", "block device"),
    "char": ("character device",),
    "block": ("block device",),
    "file": ("regular file",),
}


class Unreadable(Exception):
    """A path cannot be read, so its state is unknown."""


class NotUsable(Exception):
    """A path is not of the expected type; the message says what it is."""


class Found(t.NamedTuple):
    """The node to which a path resolves. path: after all links. number: of the device, or of the inode of a file.

    made: its inode and ctime, which distinguish it from an earlier node with the same number.
    """

    path: str
    kind: str
    number: tuple[str, int, int]
    made: tuple[int, float] = (0, 0.0)


class Host:
    """Reads of the file system below ``root``."""

    def __init__(self, root: str = "/", lstat: t.Callable[[str], os.stat_result] = os.lstat) -> None:
        self.root = root.rstrip("/")
        self._lstat = lstat
        self._numa: dict[tuple[str, int, int], tuple[tuple[int, float], int | None]] = {}

    def below(self, path: str) -> str:
        """A path of the host as this process reaches it."""
        return f"{self.root}{path}" if self.root else path

    def names(self, directory: str) -> list[str]:
        """The names in a directory, none when it does not exist. Raises Unreadable."""
        try:
            return os.listdir(self.below(directory) or "/")
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise Unreadable(f"{directory or '/'}: {error.strerror}") from error

    def glob(self, pattern: str) -> list[str]:
        """The paths that match, in order. The standard library's glob hides unreadable directories."""
        found = [""]
        for part in PurePosixPath(pattern).parts[1:]:
            if not _MAGIC.search(part):
                found = [f"{directory}/{part}" for directory in found]
                continue
            matches = _matcher(part)
            found = [f"{directory}/{name}" for directory in found for name in self.names(directory) if matches(name)]
        last_is_plain = not _MAGIC.search(PurePosixPath(pattern).name)
        return sorted(path for path in found if not last_is_plain or os.path.lexists(self.below(path)))

    def resolve(self, path: str) -> str:
        """Where a chain of symbolic links ends. Raises NotUsable for a loop."""
        for dummy in range(_LINKS):
            try:
                target = os.readlink(self.below(path))
            except OSError:
                # Most paths are not links.
                return path
            path = os.path.normpath(os.path.join(os.path.dirname(path), target))
        raise NotUsable(f"{path} is a symbolic link loop")

    def find(self, path: str, expected: str = "device") -> Found:
        """The node to which a path resolves. Raises NotUsable when it is not of the expected type, and Unreadable."""
        real = path
        try:
            status = self._lstat(self.below(path))
            if stat.S_ISLNK(status.st_mode):
                real = self.resolve(path)
                status = self._lstat(self.below(real))
        except FileNotFoundError:
            reason = "does not exist" if real == path else f"is a link to {real}, which does not exist"
            raise NotUsable(f"{path} {reason}") from None
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}") from error
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "file of unknown type")
        if kind not in EXPECTED[expected]:
            raise NotUsable(f"{path} is a {kind}, not a {' or '.join(EXPECTED[expected])}")
        return Found(real, kind, _number(kind, status), (status.st_ino, status.st_ctime))

    def read(self, path: str, default: str | None = None) -> str:
        """The text of a file without white space around it; the default when it does not exist. Raises Unreadable."""
        try:
            with open(self.below(path), encoding="utf-8", errors="replace") as file:
                return file.read(65536).strip()
        except FileNotFoundError:
            if default is None:
                raise Unreadable(f"{path} does not exist") from None
            return default
        except OSError as error:
            if default is None:
                raise Unreadable(f"{path}: {error.strerror}") from error
            return default

    def link_name(self, path: str) -> str:
        """The last part of a link's target; empty when the link does not exist."""
        try:
            return os.path.basename(os.readlink(self.below(path)))
        except OSError:
            return ""

    def numa_node(self, found: Found) -> int | None:
        """The NUMA node of a device node; None when the kernel does not report it."""
        made, node = self._numa.get(found.number, (None, None))
        if made != found.made:
            node = self._read_numa_node(found)
            self._numa[found.number] = found.made, node
        return node

    def _read_numa_node(self, found: Found) -> int | None:
        kind, major, minor = found.number
        if kind not in ("char", "block"):
            return None
        directory = self.resolve(f"/sys/dev/{kind}/{major}:{minor}")
        while directory.startswith("/sys/devices/"):
            text = self.read(f"{directory}/numa_node", "")
            if text:
                return numa_of(text)
            directory = os.path.dirname(directory)
        return None

    def try_open(self, path: str) -> None:
        """Open a device node and close it. Raises NotUsable, or Unreadable without the permission to open it."""
        try:
            os.close(os.open(self.below(path), os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))
        except PermissionError as error:
            raise Unreadable(f"{path} cannot be opened without privileges: {error.strerror}") from error
        except OSError as error:
            raise NotUsable(f"{path} cannot be opened: {error.strerror}") from error


def numa_of(text: str) -> int | None:
    """A NUMA node as sysfs reports it; None for -1, which means none."""
    return int(text) if text.isdigit() else None


def _number(kind: str, status: os.stat_result) -> tuple[str, int, int]:
    if kind == "character device":
        return ("char", os.major(status.st_rdev), os.minor(status.st_rdev))
    if kind == "block device":
        return ("block", os.major(status.st_rdev), os.minor(status.st_rdev))
    return ("file", status.st_dev, status.st_ino)


@functools.lru_cache(maxsize=256)
def _matcher(pattern: str) -> t.Callable[[str], t.Any]:
    return re.compile(fnmatch.translate(pattern)).match
