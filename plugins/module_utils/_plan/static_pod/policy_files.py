# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The policy files of a static pod: what a task asks of them, what is ours of them, and what they become.

The record holds the whole former content of a file that we replaced; everything else compares digests. The owner is part
of a digest only where a task names it or named it once: otherwise a file keeps its own.
"""

from __future__ import annotations

import base64
import dataclasses
import typing as t

from ..common.file_values import FileChange, FileVersion
from ..common.ownership import Change, Owned
from . import encryption
from .desired import DesiredFile

_OWNER = ("uid", "gid")


@dataclasses.dataclass(frozen=True)
class PolicyFileChange(FileChange):
    """One policy file that changes.

    is_desired: the task requests this content; otherwise the original goes back. chosen: what of its owner the change
    decides.
    """

    sensitive: bool
    is_desired: bool
    chosen: tuple[str, ...] = ()

    @property
    def preserved_attributes(self) -> tuple[str, ...]:
        """What of its owner an existing file keeps."""
        return tuple(name for name in _OWNER if name not in self.chosen)


@dataclasses.dataclass(frozen=True)
class PolicyFiles:
    """Files with their owners as numbers.

    desired: those that the task names. owned: our record of files. live: what stands there, None where nothing does. users, groups:
    the number of each name.
    """

    desired: t.Sequence[DesiredFile]
    owned: t.Mapping[str, Owned]
    live: t.Mapping[str, FileVersion | None]
    users: t.Mapping[str, int]
    groups: t.Mapping[str, int]

    def values(self) -> dict[str, t.Any]:
        """The digests of the files that exist."""
        return {path: self._digest(path, version) for path, version in self.live.items() if version is not None}

    def targets(self) -> dict[str, t.Any]:
        """The digests that the task requests, None for a file that it removes."""
        return {entry.path: self._digest(entry.path, self._version(entry)) for entry in self.desired}

    def comparable(self) -> dict[str, Owned]:
        """Our record with digests only."""
        return {path: Owned(self._set(path), self._digest(path, self._original(path))) for path in self.owned}

    def change(self, change: Change) -> PolicyFileChange:
        """What becomes of a file whose digest changes."""
        path, before = change.key, self.live.get(change.key)
        entry = self._find_desired(path)
        version = self._version(entry) if entry else None
        is_desired = version is not None and change.after == self._digest(path, version)
        after = None if change.after is None else version if is_desired else self._original(path)
        chosen = tuple(sorted(self._owner_keys(path)))
        sensitive = entry is None or entry.sensitive or any(map(_holds_keys, (before, after)))
        return PolicyFileChange(path, before, after, sensitive, is_desired, chosen)

    def with_originals(self, keys: t.Mapping[str, Owned], changes: t.Iterable[PolicyFileChange]) -> dict[str, Owned]:
        """The record after these changes, with the former content of each file."""
        before = {change.path: change.before for change in changes}
        return {
            # Unlike a flag, which a kubeadm upgrade may write again, a file that we made is ours alone to change.
            path: Owned(entry.set, self.owned[path].original if path in self.owned else _dump_original(before[path]))
            for path, entry in keys.items()
        }

    def _find_desired(self, path: str) -> DesiredFile | None:
        return next((entry for entry in self.desired if entry.path == path), None)

    def _owner(self, entry: DesiredFile | None) -> dict[str, t.Any]:
        """The owner that the task names."""
        named = {
            "uid": None if entry is None or entry.owner is None else self.users[entry.owner],
            "gid": None if entry is None or entry.group is None else self.groups[entry.group],
        }
        return {key: number for key, number in named.items() if number is not None}

    def _owner_keys(self, path: str) -> set[str]:
        """What of the owner counts: the task names it, or it is ours already."""
        managed = self.owned[path].set if path in self.owned else None
        return {key for key in _OWNER if key in self._owner(self._find_desired(path)) or key in (managed or {})}

    def _digest(self, path: str, version: FileVersion | None) -> dict[str, t.Any] | None:
        if version is None:
            return None
        return {**version.digest, **{key: getattr(version, key) for key in sorted(self._owner_keys(path))}}

    def _version(self, entry: DesiredFile) -> FileVersion | None:
        if entry.version is None:
            return None
        managed = self.owned[entry.path].set if entry.path in self.owned else None
        set_by_us = {key: number for key, number in (managed or {}).items() if key in _OWNER}
        version = dataclasses.replace(entry.version, **set_by_us).with_owner_of(self.live.get(entry.path))
        return dataclasses.replace(version, **self._owner(entry))

    def _set(self, path: str) -> dict[str, t.Any] | None:
        """What we set. What we left alone of the owner is as it is now."""
        managed, live = self.owned[path].set, self.live.get(path)
        return None if managed is None else {**(self._digest(path, live) or {}), **managed}

    def _original(self, path: str) -> FileVersion | None:
        original = self.owned[path].original if path in self.owned else None
        if original is None:
            return None
        version = FileVersion(base64.b64decode(original["content"]), int(original["mode"], 8))
        version = version.with_owner_of(self.live.get(path))
        owned = self.owned[path].set or {}
        return dataclasses.replace(
            version, **{key: original[key] for key in _OWNER if key in owned and key in original}
        )


def _holds_keys(version: FileVersion | None) -> bool:
    return version is not None and encryption.holds_keys(version.content)


def _dump_original(file: FileVersion | None) -> dict[str, t.Any] | None:
    if file is None:
        return None
    content = base64.b64encode(file.content).decode("ascii")
    return {"content": content, "mode": f"{file.mode:04o}", "uid": file.uid, "gid": file.gid}
