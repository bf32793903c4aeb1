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
from .journal import SetAside

ASIDE = ".nodecraft-kubeadm-"


def named_policy(path: str) -> str | None:
    """The policy that a kubelet's state file was written under, in small letters; None without a file, and empty for one
    that names none. Damaged ones are the kubelet's to judge."""
    try:
        data = read_json(path)
    except (Damaged, OSError):
        return ""
    if data is None:
        return None
    name = data.get("policyName") if isinstance(data, dict) else None
    return name.lower() if isinstance(name, str) else ""


class StateFiles:
    """The state files that make way while a kubelet is stopped, because it does not start over those of another policy.

    Apart from the unit's watcher, which decides when: here each is moved away once and back once, whichever engine does it.
    """

    def __init__(self, entries: t.Sequence[SetAside]) -> None:
        self.entries = entries

    def are_aside(self, expected: bool) -> bool:
        """Whether those that existed are aside, or back, as expected."""
        return all(os.path.lexists(entry["aside"]) is expected for entry in self.entries if entry["existed"])

    def set_aside(self) -> None:
        """Move them away, so that the kubelet makes new ones. Its unit has to be stopped."""
        # Moved and not copied into the journal: it needs no space, keeps all that a file has, and what is moved is what the
        # stopped component left, not what it said when the journal was written.
        for entry in self.entries:
            path, aside = entry["path"], entry["aside"]
            if entry["existed"] and not os.path.lexists(aside):
                for older in glob.glob(f"{glob.escape(path + ASIDE)}*"):
                    remove(older)  # of an earlier transaction; one copy is kept
                with contextlib.suppress(FileNotFoundError):
                    os.rename(safe_path(path, follows=False), safe_path(aside, follows=False))
            sync_directory(os.path.dirname(path))

    def bring_back(self) -> None:
        """Move them back over those of the change. Its unit has to be stopped."""
        for entry in self.entries:
            path, aside = entry["path"], entry["aside"]
            if not entry["existed"]:
                remove(path)
            elif os.path.lexists(aside):
                os.replace(safe_path(aside, follows=False), safe_path(path, follows=False))
            sync_directory(os.path.dirname(path))

    def wrong_policy(self) -> str:
        """Which new file does not name the policy of the change, in words; empty when all do."""
        for entry in self.entries:
            found = named_policy(entry["path"])
            if found != entry["policy"]:
                return f"{entry['path']} names {found or 'no policy'}, not {entry['policy']}"
        return ""
