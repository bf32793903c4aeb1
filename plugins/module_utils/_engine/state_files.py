# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files in which a kubelet remembers the policies of its resource managers."""

from __future__ import annotations

import contextlib
import glob
import os
import typing as t

from .engine_errors import Damaged
from .files import read_json, remove, safe_path, sync_directory
from .journal import MovedStateFile

MOVED_SUFFIX = ".nodecraft-kubeadm-"


def read_policy(path: str) -> str | None:
    """The policy that a kubelet's state file was written under, in small letters; None without a file, and empty for one
    that names none. Damaged ones are the kubelet's to reject."""
    try:
        data = read_json(path)
    except (Damaged, OSError):
        return ""
    if data is None:
        return None
    name = data.get("policyName") if isinstance(data, dict) else None
    return name.lower() if isinstance(name, str) else ""


class StateFiles:
    """The state files that are moved away while a kubelet is stopped, because it does not start over those of another policy."""

    def __init__(self, entries: t.Sequence[MovedStateFile]) -> None:
        self.entries = entries

    def are_moved(self, expected: bool) -> bool:
        """Whether those that existed are moved away, or back, as expected."""
        return all(os.path.lexists(entry["aside"]) is expected for entry in self.entries if entry["existed"])

    def move_away(self) -> None:
        """Move them away, so that the kubelet makes new ones. Its unit has to be stopped."""
        # Moved and not copied into the journal: it needs no space, keeps all that a file has, and what is moved is what the
        # stopped component left, not what was there when the journal was written.
        for entry in self.entries:
            path, moved_to = entry["path"], entry["aside"]
            if entry["existed"] and not os.path.lexists(moved_to):
                for older in glob.glob(f"{glob.escape(path + MOVED_SUFFIX)}*"):
                    remove(older)  # of an earlier transaction; one copy is kept
                with contextlib.suppress(FileNotFoundError):
                    os.rename(safe_path(path, follows=False), safe_path(moved_to, follows=False))
            sync_directory(os.path.dirname(path))

    def move_back(self) -> None:
        """Move them back over those of the change. Its unit has to be stopped."""
        for entry in self.entries:
            path, moved_to = entry["path"], entry["aside"]
            if not entry["existed"]:
                remove(path)
            elif os.path.lexists(moved_to):
                os.replace(safe_path(moved_to, follows=False), safe_path(path, follows=False))
            sync_directory(os.path.dirname(path))

    def wrong_policy(self) -> str:
        """Which new file does not name the policy of the change; empty when all do."""
        for entry in self.entries:
            policy = read_policy(entry["path"])
            if policy != entry["policy"]:
                return f"{entry['path']} names {policy or 'no policy'}, not {entry['policy']}"
        return ""
