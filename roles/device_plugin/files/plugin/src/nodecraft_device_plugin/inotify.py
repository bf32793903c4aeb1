# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Directories watched by inotify. An event only triggers an earlier scan: everything is polled as well."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import typing as t
from pathlib import Path

from nodecraft_device_plugin import logs

CREATE = 0x100
DELETE = 0x200
MOVED = 0x40 | 0x80
CLOSE_WRITE = 0x8
_SELF = 0x400 | 0x800
# A write to a device does not change its node, so by default only directory entries are watched.
ENTRIES = CREATE | DELETE | MOVED | _SELF

_LIBC = ctypes.CDLL(None, use_errno=True)


class Watcher:
    """Calls ``on_event`` when entries of the watched directories change.

    Of a directory that does not exist, the nearest existing parent is watched.
    """

    def __init__(self, on_event: t.Callable[[], None], mask: int = ENTRIES) -> None:
        self._on_event = on_event
        self._mask = mask
        self._watches: dict[str, int] = {}
        self._refused: set[str] = set()
        self._descriptor: int | None = None

    def watch(self, directories: t.Iterable[Path]) -> None:
        """Watch these directories and no others. Call it again after each event."""
        if self._descriptor is None:
            self._descriptor = self._open()
        if self._descriptor < 0:
            return
        desired = {str(nearest(directory)) for directory in directories}
        for directory in set(self._watches) - desired:
            _LIBC.inotify_rm_watch(self._descriptor, self._watches.pop(directory))
        for directory in desired:
            # A second watch of the same directory is the same one, unless the directory was recreated.
            number = _LIBC.inotify_add_watch(self._descriptor, os.fsencode(directory), self._mask)
            if number >= 0:
                self._watches[directory] = number
            else:
                self._warn(directory, ctypes.get_errno())

    def close(self) -> None:
        """Stop watching."""
        if self._descriptor is not None and self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
        self._descriptor = None
        self._watches.clear()

    def _warn(self, directory: str, error: int) -> None:
        # A directory that was just removed is watched again with the next call.
        if error not in (errno.ENOENT, errno.ENOTDIR) and directory not in self._refused:
            self._refused.add(directory)
            logs.warn("cannot watch a directory, it is only polled", directory=directory, reason=os.strerror(error))

    def _open(self) -> int:
        descriptor = int(_LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if descriptor < 0:
            logs.warn("inotify is not available, changes are found by polling", reason=os.strerror(ctypes.get_errno()))
        else:
            asyncio.get_running_loop().add_reader(descriptor, self._read, descriptor)
        return descriptor

    def _read(self, descriptor: int) -> None:
        try:
            os.read(descriptor, 65536)
        except BlockingIOError:
            return
        self._on_event()


def nearest(directory: Path) -> Path:
    """The directory, or the nearest one above it that exists."""
    while not directory.is_dir() and directory != directory.parent:
        directory = directory.parent
    return directory
