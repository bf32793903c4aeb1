# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders watched by inotify. Only a hint to look again: everything is polled as well."""

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
# Writing to a node of /dev is no change of it, so entries alone are watched by default.
ENTRIES = CREATE | DELETE | MOVED | _SELF

_LIBC = ctypes.CDLL(None, use_errno=True)


class Watcher:
    """Calls ``on_event`` when entries of the watched folders change.

    A folder that is not there is waited for in the nearest one above it that is.
    """

    def __init__(self, on_event: t.Callable[[], None], mask: int = ENTRIES) -> None:
        self._on_event = on_event
        self._mask = mask
        self._watches: dict[str, int] = {}
        self._refused: set[str] = set()
        self._descriptor: int | None = None

    def watch(self, folders: t.Iterable[Path]) -> None:
        """Watch these folders and no others. To be called again when something has changed."""
        if self._descriptor is None:
            self._descriptor = self._open()
        if self._descriptor < 0:
            return
        wanted = {str(nearest(folder)) for folder in folders}
        for folder in set(self._watches) - wanted:
            _LIBC.inotify_rm_watch(self._descriptor, self._watches.pop(folder))
        for folder in wanted:
            # Asked for again it is the same watch, unless the folder is another one by now.
            number = _LIBC.inotify_add_watch(self._descriptor, os.fsencode(folder), self._mask)
            if number >= 0:
                self._watches[folder] = number
            else:
                self._warn(folder, ctypes.get_errno())

    def close(self) -> None:
        """Watch nothing any more."""
        if self._descriptor is not None and self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
        self._descriptor = None
        self._watches.clear()

    def _warn(self, folder: str, error: int) -> None:
        # One that has just gone is asked for again soon.
        if error not in (errno.ENOENT, errno.ENOTDIR) and folder not in self._refused:
            self._refused.add(folder)
            logs.warn("a folder is only polled, for it cannot be watched", folder=folder, reason=os.strerror(error))

    def _open(self) -> int:
        descriptor = int(_LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if descriptor < 0:
            logs.warn("no inotify, so changes are only found by polling", reason=os.strerror(ctypes.get_errno()))
        else:
            asyncio.get_running_loop().add_reader(descriptor, self._read, descriptor)
        return descriptor

    def _read(self, descriptor: int) -> None:
        try:
            os.read(descriptor, 65536)
        except BlockingIOError:
            return
        self._on_event()


def nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder
