# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a node has space for a transaction, checked before its journal is written."""

from __future__ import annotations

import os
import typing as t

from ..._engine.files import to_json
from ..._engine.journal import SIDES, Journal, content_of
from ..._plan.common.errors import KubeadmError

# Of a file, its former and its new version and a temporary one; of the journal, its two copies and a temporary one.
COPIES = 3


class Space(t.NamedTuple):
    """What a file system has left for root. size: of its blocks. files: how many more it takes; None when it sets no limit.
    read_only: it is mounted so.
    """

    bytes: int
    size: int
    files: int | None
    read_only: bool = False


def space_at(directory: str) -> Space:
    """The space on the file system of a directory."""
    status = os.statvfs(directory)
    # The blocks that are reserved for root count: the engine runs as root.
    return Space(
        bytes=status.f_bfree * status.f_frsize,
        size=status.f_frsize,
        files=status.f_ffree if status.f_files else None,
        read_only=bool(status.f_flag & os.ST_RDONLY),
    )


def require_space(journal: Journal, state: str, read_space: t.Callable[[str], Space] = space_at) -> None:
    """Refuse a change that could not be written, or would run out of space half-way. state: the directory of the journal.

    Raises KubeadmError with the file system, what is needed, and what is there.
    """
    written = _written_sizes(journal, state)
    # A directory that is bound over another one may be read-only where its file system is not.
    for directory in dict.fromkeys(_existing_parent(directory) for directory, dummy in written):
        if read_space(directory).read_only:
            raise _space_error(
                journal["name"], directory, "is mounted read-only. Nothing was changed. Mount it for writing"
            )
    for mount, sizes in _sizes_by_mount(written).items():
        space = read_space(mount)
        needed = COPIES * sum(-(-size // space.size) * space.size for size in sizes)
        if space.bytes < needed:
            raise _no_space_error(journal["name"], mount, f"{space.bytes} bytes free, and this change needs {needed}")
        if space.files is not None and space.files < COPIES * len(sizes):
            raise _no_space_error(
                journal["name"], mount, f"{space.files} free inodes, and this change needs {COPIES * len(sizes)}"
            )


def _no_space_error(name: str, mount: str, problem: str) -> KubeadmError:
    return _space_error(
        name, mount, f"has {problem} ({COPIES} copies of what it writes there). Nothing was changed. Make space there"
    )


def _space_error(name: str, mount: str, problem: str) -> KubeadmError:
    return KubeadmError(f"{name} on {os.uname().nodename}: the file system of {mount} {problem} and run again.")


def _written_sizes(journal: Journal, state: str) -> list[tuple[str, int]]:
    """The directory and the size of each file that is written."""
    written = [(state, len(to_json(journal)))]
    for entry in journal["files"]:
        versions = [content_of(entry[side], entry["path"]) or b"" for side in SIDES]
        written.append((os.path.dirname(os.path.realpath(entry["path"])), max(map(len, versions))))
    return written


def _sizes_by_mount(written: t.Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Mount point -> the size of each file that is written below it."""
    sizes: dict[str, list[int]] = {}
    for directory, size in written:
        sizes.setdefault(_mount_point(directory), []).append(max(size, 1))
    return sizes


def _existing_parent(directory: str) -> str:
    """A directory, or the one that it will be made in."""
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    return directory


def _mount_point(directory: str) -> str:
    """Where the file system begins on which a directory is, or will be."""
    directory = _existing_parent(directory)
    while not os.path.ismount(directory):
        directory = os.path.dirname(directory)
    return directory
