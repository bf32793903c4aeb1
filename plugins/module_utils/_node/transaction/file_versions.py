# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions of a file: as it is now, and as a journal stores it."""

from __future__ import annotations

import os
import stat
import typing as t

from ..._engine.files import read_file, safe_file
from ..._engine.journal import StoredVersion, content_of, version_of
from ..._plan.common.errors import Refusal
from ..._plan.common.file_values import FileVersion


def read_version(path: str) -> FileVersion | None:
    """A file as it is now; None when it does not exist."""
    found = read_file(path)
    if found is None:
        return None
    content, status = found
    return FileVersion(content, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)


def dump_version(version: FileVersion | None) -> StoredVersion | None:
    """A version of a file in the form of a journal."""
    return None if version is None else version_of(version.content, version.mode, version.uid, version.gid)


def load_version(version: StoredVersion | None) -> FileVersion | None:
    """A version of a file out of a journal. Raises EngineError when it is damaged."""
    content = content_of(version)
    if version is None or content is None:
        return None
    return FileVersion(content, version["mode"], version["uid"], version["gid"])


def refuse_unsafe(paths: t.Iterable[str]) -> None:
    """Refuse what is written or removed where others than root can replace it: they would choose the file; and what is no regular file.

    Raises Refusal.
    """
    for path in paths:
        _refuse_unsafe_path(path)


def _refuse_unsafe_path(path: str) -> None:
    try:
        safe_file(path)
    except NotADirectoryError:  # there is no such file, and the write will fail with that
        pass
    except OSError as exc:
        raise Refusal(f"{path} on {os.uname().nodename}: {exc.strerror}.") from exc


def path_with_target(path: str) -> str:
    """A path as messages have it: with the target where it is, or leads through, a link."""
    real = os.path.realpath(path)
    return path if real == os.path.normpath(path) else f"{path} -> {real}"
