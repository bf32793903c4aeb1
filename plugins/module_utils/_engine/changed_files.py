# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a change: in which order they are written and restored, and whether another program wrote them, too.

Apart from the phases of the transaction, which decide when; here stands what is done to a file, and what is never done to one.
"""

from __future__ import annotations

import contextlib
import os
import typing as t

from .engine_errors import ForeignEdit
from .files import make_directory, read_bytes, remove, safe_path, write_atomically
from .journal import SIDES, VERIFYING, FileEntry, Journal, Side, content_of, holds, is_at, is_of_unit


class ChangedFiles:
    """The files that a journal is about. Each is brought from one version to the other, or found to be there already."""

    def __init__(self, journal: Journal, directory: str) -> None:
        self.journal = journal
        self.directory = directory

    def write_new(self) -> None:
        """Write the new versions, and the directories that they need. Raises OSError, and EngineError for a foreign edit."""
        for directory in self.journal["directories"]:
            make_directory(directory, self._mode_of(directory))
        for entry in self._ordered("after"):
            self._put(entry, "before", "after")

    def write_former(self, foreign: t.Container[str]) -> None:
        """Write the former versions, of all but the foreign paths. Raises OSError, and EngineError for a foreign edit."""
        for entry in self._ordered("before"):
            if entry["path"] not in foreign:
                self._put(entry, "after", "before")

    def remove_new_directories(self) -> None:
        """Remove the directories that only the new files needed."""
        for directory in reversed(self.journal["directories"]):
            with contextlib.suppress(OSError):  # it was never made, or someone else uses it by now
                os.rmdir(safe_path(directory, follows=False))

    def remove_obsolete_directories(self) -> None:
        """Remove the directories of ours that nothing needs after a commit."""
        for directory in self.journal.get("obsolete", []):
            with contextlib.suppress(OSError):  # another program uses it by now
                os.rmdir(safe_path(directory, follows=False))

    def describe_edit(self) -> str | None:
        """What another program did to our files, in words. The component may not have read them yet."""
        side: Side = "before" if self.journal["phase"] == VERIFYING else "after"
        found = [entry["path"] for entry in self.journal["files"] if not holds(entry["path"], entry[side])]
        return (
            f"{', '.join(found)} was changed by another process while {self.journal['name']} was watched"
            if found
            else None
        )

    def find_foreign(self) -> list[str]:
        """The files that hold neither the former nor the new bytes."""
        return [
            entry["path"]
            for entry in self.journal["files"]
            if not any(holds(entry["path"], entry[side]) for side in SIDES)
        ]

    def _mode_of(self, directory: str) -> int:
        """The mode of a new directory: as a package makes it, unless a static pod's files come into it that are all secret."""
        modes = [
            entry["after"]["mode"]
            for entry in self.journal["files"]
            if entry["after"] is not None and entry["path"].startswith(f"{directory}/")
        ]
        return 0o755 if is_of_unit(self.journal["watch"]) or any(mode & 0o077 for mode in modes) else 0o700

    def _ordered(self, side: Side) -> list[FileEntry]:
        """The order that never lets the component see a manifest whose files are missing."""

        def rank(entry: FileEntry) -> int:
            if entry["switch"]:
                return 1
            # A full disk of ours must not keep the component's own files from being rolled back.
            is_record = os.path.dirname(entry["path"]) == self.directory
            return 2 if entry[side] is None or (is_record and side == "before") else 0

        return sorted(self.journal["files"], key=rank)

    def _put(self, entry: FileEntry, expected: Side, wanted: Side) -> None:
        """Bring one file from one version to the other; it may be there already. Raises ForeignEdit for a third one."""
        path = entry["path"]
        old, new = content_of(entry[expected], path), content_of(entry[wanted], path)

        def recheck() -> None:
            if read_bytes(path) != old:
                raise ForeignEdit(f"{path} was changed by another process in the meantime")

        if is_at(path, entry[wanted]):
            return
        recheck()
        version = entry[wanted]
        if new is None or version is None:
            remove(path)
        else:
            write_atomically(path, new, mode=version["mode"], uid=version["uid"], gid=version["gid"], recheck=recheck)
