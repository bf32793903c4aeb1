# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of a node as values: what was read of them, and what they become."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t


@dataclasses.dataclass(frozen=True)
class FileVersion:
    """What a file is at one time: its bytes, permission bits and owner, who is root when nothing else is known."""

    content: bytes
    mode: int
    uid: int = 0
    gid: int = 0

    @property
    def text(self) -> str:
        """The content of a file that holds text."""
        return self.content.decode("utf-8")

    @property
    def digest(self) -> dict[str, t.Any]:
        """Its checksum and mode, by which records and comparisons know it."""
        return {"sha256": hashlib.sha256(self.content).hexdigest(), "mode": f"{self.mode:04o}"}

    def with_owner_of(self, former: FileVersion | None) -> FileVersion:
        """The same with the owner of the file that it replaces, if there is one."""
        return dataclasses.replace(self, uid=former.uid, gid=former.gid) if former else self


def text_digest(text: str) -> str:
    """The checksum of a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def digest_of(version: FileVersion | None) -> dict[str, t.Any] | None:
    """The digest of a file that may not exist."""
    return None if version is None else version.digest


@dataclasses.dataclass(frozen=True)
class TextFile:
    """A file of the node that holds text, and where it is."""

    path: str
    version: FileVersion

    @classmethod
    def of(cls, path: str, text: str, mode: int = 0o644) -> TextFile:
        """A file of root's with this text."""
        return cls(path, FileVersion(text.encode("utf-8"), mode))

    @property
    def text(self) -> str:
        """Its text."""
        return self.version.text


@dataclasses.dataclass(frozen=True)
class FileChange:
    """One file that changes. None: it does not exist before, or after."""

    path: str
    before: FileVersion | None
    after: FileVersion | None

    @property
    def preserved_attributes(self) -> tuple[str, ...]:
        """The attributes of an existing file that a change leaves as they are."""
        return ("uid", "gid")
