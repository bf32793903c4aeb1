# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Versions of a file: as it stands, and as a journal keeps it."""

from __future__ import annotations

import os
import stat

from .._engine.files import read_bytes
from .._engine.journal import StoredVersion, content_of, version_of
from .._plan.common.files import FileVersion


def read_version(path: str) -> FileVersion | None:
    """A file as it stands; None when it does not exist."""
    content = read_bytes(path)
    if content is None:
        return None
    status = os.stat(path)
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
