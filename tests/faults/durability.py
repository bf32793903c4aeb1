# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a trace shows about a power loss: no test can cut the power, but the order of writes and syncs can be checked by rules.

A file is synced before it takes another's name, and each step is on the disk before the next begins: a rename, a removal or
a new directory counts as done when the directory that holds it is synced.
"""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Call

_WRITES = {"write", "pwrite64", "ftruncate", "fchmod", "fchown", "fsetxattr", "fallocate"}
_STEPS = {"rename", "renameat", "renameat2", "unlink", "unlinkat", "symlink", "symlinkat", "link", "linkat"}
_DIRECTORIES = {"mkdir", "mkdirat"}
# Progress for people, written all the time, and worth nothing after a power loss; and the lock, which lasts as long as its holder.
_VOLATILE = {".progress.json", "progress.json", "lock"}


def unsynced_steps(calls: t.Iterable[Call], root: Path) -> list[str]:
    """What a power loss could break, as messages."""
    problems: list[str] = []
    unsynced_files: set[str] = set()
    unsynced_directories: dict[str, str] = {}
    for call in calls:
        if not call.succeeded or not call.paths or not call.below(root) or os.path.basename(call.paths[0]) in _VOLATILE:
            continue
        source, target = call.paths[0], call.paths[-1]
        if call.name in _WRITES:
            unsynced_files.add(source)
        elif call.name == "fsync":
            unsynced_files.discard(source)
            unsynced_directories.pop(source, None)
        elif call.name in _STEPS and not _is_temporary(target):
            if source in unsynced_files:
                problems.append(f"{call.name} of {source}, which is not synced")
            problems += [
                f"{call.name} of {target} before {directory} was synced after {step}"
                for directory, step in unsynced_directories.items()
            ]
            unsynced_directories = {
                os.path.dirname(path): f"{call.name} of {path}" for path in (source, target) if not _is_temporary(path)
            }
            if call.name.startswith("symlink"):
                unsynced_directories = {os.path.dirname(target): f"{call.name} of {target}"}
        elif call.name in _DIRECTORIES:
            unsynced_directories[os.path.dirname(target)] = f"{call.name} of {target}"
    return problems + [f"{directory} is never synced after {step}" for directory, step in unsynced_directories.items()]


def _is_temporary(path: str) -> bool:
    return os.path.basename(path).startswith(".")


def torn_writes(calls: t.Iterable[Call], directory: Path) -> list[str]:
    """Calls that a kubelet which reads this directory could see half done: anything but a rename onto a name without a dot."""
    torn = []
    for call in calls:
        if not call.changes or not call.succeeded:
            continue
        seen = [path for path in call.paths if os.path.dirname(path) == str(directory) and not _is_temporary(path)]
        is_rename = call.name.startswith("rename") and seen == [call.paths[-1]]
        is_shared = (
            call.name == "openat" and not (call.flag("O_EXCL") and call.flag("O_NOFOLLOW")) and call.below(directory)
        )
        if (seen and not is_rename and call.name != "fsync") or is_shared:
            torn.append(f"{call.name}({call.arguments})")
    return torn


def readable_by_others(calls: t.Iterable[Call], directory: Path) -> list[str]:
    """Files that were made in this directory, for however short a time, with rights for others than their owner."""
    return [
        f"{call.name}({call.arguments})"
        for call in calls
        if call.name == "openat"
        and call.succeeded
        and call.below(directory)
        and call.flag("O_CREAT")
        and _mode(call) & 0o77
        # The service's umask holds for the rest.
        and os.path.basename(call.paths[0]) not in _VOLATILE
    ]


def _mode(call: Call) -> int:
    return int(call.arguments.rpartition(", ")[2], 8)
