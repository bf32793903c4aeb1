# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the host, below a root folder. Paths in and out are the host's own, without that root."""

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
    stat.S_IFDIR: "folder",
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
    """The host does not let us look, so nothing is known of what is there."""


class NotUsable(Exception):
    """Something is not what it has to be; the text says what it is."""


class Found(t.NamedTuple):
    """A node behind a path. path: where it really is. number: of the device, or of the inode of a file.

    made: tells a node from one that was there before with the same number: its inode, and when that changed.
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
        """Where a path of the host is for us."""
        return f"{self.root}{path}" if self.root else path

    def names(self, folder: str) -> list[str]:
        """The names in a folder, none when there is no such folder. Raises Unreadable."""
        try:
            return os.listdir(self.below(folder) or "/")
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise Unreadable(f"{folder or '/'}: {error.strerror}") from error

    def glob(self, pattern: str) -> list[str]:
        """The paths that match, in order. The standard library's glob would hide what it may not read."""
        found = [""]
        for part in PurePosixPath(pattern).parts[1:]:
            if not _MAGIC.search(part):
                found = [f"{folder}/{part}" for folder in found]
                continue
            matches = _matcher(part)
            found = [f"{folder}/{name}" for folder in found for name in self.names(folder) if matches(name)]
        last_is_plain = not _MAGIC.search(PurePosixPath(pattern).name)
        return sorted(path for path in found if not last_is_plain or os.path.lexists(self.below(path)))

    def resolve(self, path: str) -> str:
        """Where a chain of symbolic links ends. Raises NotUsable when it leads nowhere."""
        for dummy in range(_LINKS):
            try:
                target = os.readlink(self.below(path))
            except OSError:
                # Most paths are no link.
                return path
            path = os.path.normpath(os.path.join(os.path.dirname(path), target))
        raise NotUsable(f"{path} is a link that leads to itself")

    def find(self, path: str, expected: str = "device") -> Found:
        """The node behind a path. Raises NotUsable when it is none of the expected type, Unreadable."""
        real = path
        try:
            status = self._lstat(self.below(path))
            if stat.S_ISLNK(status.st_mode):
                real = self.resolve(path)
                status = self._lstat(self.below(real))
        except FileNotFoundError:
            reason = "is not there" if real == path else f"is a link to {real}, which is not there"
            raise NotUsable(f"{path} {reason}") from None
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}") from error
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        if kind not in EXPECTED[expected]:
            raise NotUsable(f"{path} is a {kind}, not a {' or '.join(EXPECTED[expected])}")
        return Found(real, kind, _number(kind, status), (status.st_ino, status.st_ctime))

    def read(self, path: str, default: str | None = None) -> str:
        """The text of a file without white space around it; the default when it is not there. Raises Unreadable."""
        try:
            with open(self.below(path), encoding="utf-8", errors="replace") as file:
                return file.read(65536).strip()
        except FileNotFoundError:
            if default is None:
                raise Unreadable(f"{path} is not there") from None
            return default
        except OSError as error:
            if default is None:
                raise Unreadable(f"{path}: {error.strerror}") from error
            return default

    def link_name(self, path: str) -> str:
        """The last part of where a link leads; empty when there is none."""
        try:
            return os.path.basename(os.readlink(self.below(path)))
        except OSError:
            return ""

    def numa_node(self, found: Found) -> int | None:
        """The NUMA node of the hardware behind a device node; None when the kernel does not say."""
        made, node = self._numa.get(found.number, (None, None))
        if made != found.made:
            node = self._read_numa_node(found)
            self._numa[found.number] = found.made, node
        return node

    def _read_numa_node(self, found: Found) -> int | None:
        kind, major, minor = found.number
        if kind not in ("char", "block"):
            return None
        folder = self.resolve(f"/sys/dev/{kind}/{major}:{minor}")
        while folder.startswith("/sys/devices/"):
            text = self.read(f"{folder}/numa_node", "")
            if text:
                return numa_of(text)
            folder = os.path.dirname(folder)
        return None

    def try_open(self, path: str) -> None:
        """Open a device node and close it. Raises NotUsable, or Unreadable when it is not for us to open."""
        try:
            os.close(os.open(self.below(path), os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))
        except PermissionError as error:
            raise Unreadable(f"{path} cannot be opened without privileges: {error.strerror}") from error
        except OSError as error:
            raise NotUsable(f"{path} cannot be opened: {error.strerror}") from error


def numa_of(text: str) -> int | None:
    """What sysfs says of a NUMA node; -1 means that there is none."""
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
