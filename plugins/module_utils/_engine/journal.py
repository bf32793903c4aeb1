# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The journal of a transaction: what is in it, and its two copies on the disk.

A component's folder holds one C(journal.json) while a transaction is open, and a second copy of it in C(backup). It is
written and synced before the first byte of a file changes, and after each step, so an engine that died goes on where it
stopped.

Journal (JSON, 0600; format 1):
    sha256                     checksum of all the rest
    id, name, requested        who asked for what, for messages
    phase                      prepared, applying, waiting, confirming, restoring, proving, or closed
    files                      [{path, switch, before, after}]; before and after: {content (base64), mode, uid, gid} or
                               null for a file that does not exist; the one with "switch" is the manifest, whose rename
                               makes the change take effect
    directories                folders that the files need and that do not exist yet
    obsolete                   folders of ours that nobody needs after a commit; removed when they are empty then
    watch                      how the component is recognised: kind, before and after, each with arguments (null stands
                               for any) and probes. Of a static pod (no kind, or "static_pod") log_prefix, container,
                               feature_gates with the metrics address, hidden (values that its log may show, and what is
                               shown instead), client (address and kubeconfig of somebody whom it must not lock out, or
                               null). Of a systemd unit ("systemd_unit") unit, node (name, kubeconfig),
                               set_aside (state files of the component that make way while it is stopped: path, aside,
                               existed, and the policy that the new one has to name)
    wait_timeout, min_ready_seconds, rollback
    confirm_timeout            seconds to wait for a word from outside before the commit; null when none is needed
    notes                      what was noticed on the way, for people
    result                     of a closed transaction: outcome, reason, proof, times in seconds, log lines
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import stat

from .errors import Damaged, OtherFormat
from .files import Json, make_folder, named, read_bytes, read_formatted, remove, sync_folder, to_json, write_json

PREPARED, APPLYING, WAITING, CONFIRMING, RESTORING, PROVING, CLOSED = (
    "prepared",
    "applying",
    "waiting",
    "confirming",
    "restoring",
    "proving",
    "closed",
)
# The phases in which the change stands and is not committed yet.
ON_TRIAL = (WAITING, CONFIRMING)
COMMITTED, RESTORED, ABANDONED, UNHEALTHY, ALARM = "committed", "restored", "abandoned", "unhealthy", "alarm"
STATIC_POD, SYSTEMD_UNIT = "static_pod", "systemd_unit"

# The file with the id of a transaction that somebody confirmed.
CONFIRMED = "confirmed"
KEEP_HISTORY = 10


def version_of(content: bytes, mode: int, uid: int, gid: int) -> Json:
    """A file's version as a journal holds it."""
    return {
        "content": base64.b64encode(content).decode("ascii"),
        "sha256": hashlib.sha256(content).hexdigest(),
        "mode": mode,
        "uid": uid,
        "gid": gid,
    }


def content_of(version: Json | None, path: str = "a file") -> bytes | None:
    """The bytes of a version of a file. Raises Damaged when they are: damaged bytes are never written anywhere."""
    if version is None:
        return None
    try:
        content = base64.b64decode(version["content"], validate=True)
    except (ValueError, TypeError) as exc:
        raise Damaged(f"the journal's copy of {path} is damaged: {exc}") from exc
    if hashlib.sha256(content).hexdigest() != version["sha256"]:
        raise Damaged(f"the journal's copy of {path} does not match its checksum")
    return content


def holds(path: str, version: Json | None) -> bool:
    """Whether a file has this version's bytes. One that cannot be read has none that are known."""
    try:
        return read_bytes(path) == content_of(version, path)
    except OSError:
        return False


def is_at(path: str, version: Json | None) -> bool:
    """Whether a file has this version's bytes, mode and owner."""
    if read_bytes(path) != content_of(version, path):
        return False
    if version is None:
        return True
    status = os.stat(path)
    return bool(
        [stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid] == [version[key] for key in ("mode", "uid", "gid")]
    )


# ---- journals on the disk --------------------------------------------------------------------------------------------

_CHECKSUM = "sha256"


def copies_of(folder: str, identifier: str | None = None) -> tuple[str, str]:
    """Where the two copies of a journal are: of the open one, or of a closed one by its id."""
    first = os.path.join("history", f"{identifier}.json") if identifier else "journal.json"
    return os.path.join(folder, first), os.path.join(folder, "backup", os.path.basename(first))


def save_journal(folder: str, journal: Json, identifier: str | None = None) -> None:
    """Write both copies of a journal, each with a checksum of the whole. The first one is never older than the second."""
    checksum = hashlib.sha256(to_json(journal)).hexdigest()
    for path in copies_of(folder, identifier):
        if not os.path.isdir(os.path.dirname(path)):
            make_folder(os.path.dirname(path))
        write_json(path, {**journal, _CHECKSUM: checksum})


def load_journal(folder: str, identifier: str | None = None) -> tuple[Json | None, str]:
    """The intact copy of a journal, and what is wrong with its first one when it is the second; None when there is none.

    Raises Damaged when there is a journal but no intact copy, OtherFormat for that of another version of the collection.
    """
    first, second = copies_of(folder, identifier)
    try:
        problem = f"{first} is missing"
        journal = _read_copy(first)
        if journal is not None:
            return journal, ""
    except Damaged as exc:
        problem = str(exc)
    try:
        journal = _read_copy(second)
    except Damaged as exc:
        raise Damaged(f"{problem}, and of its second copy: {exc}") from exc
    if journal is not None:
        return journal, f"{problem}; its second copy {second} was used"
    if os.path.exists(first):
        raise Damaged(f"{problem}, and its second copy {second} is missing")
    return None, ""


def _read_copy(path: str) -> Json | None:
    """One copy, intact as a whole and file by file; None when it is not there. Raises Damaged, and OtherFormat."""
    journal = read_formatted(path)
    if journal is None:
        return None
    checksum = journal.pop(_CHECKSUM, None)
    try:
        for entry in journal["files"]:
            for side in ("before", "after"):
                content_of(entry[side], f"{entry['path']} in {path}")
    except (KeyError, TypeError) as exc:
        raise Damaged(f"{path} is damaged: it is no journal") from exc
    if checksum != hashlib.sha256(to_json(journal)).hexdigest():
        raise Damaged(f"{path} does not match its checksum")
    return journal


def drop_journal(folder: str) -> None:
    """Remove the open journal, which nothing was done for. A second copy never stands alone."""
    for path in reversed(copies_of(folder)):
        remove(path)


def file_journal(folder: str, identifier: str) -> None:
    """Move the open journal to the history. A second copy never stands alone."""
    make_folder(os.path.join(folder, "history"))
    for source, target in reversed(list(zip(copies_of(folder), copies_of(folder, identifier)))):
        with named(target):
            os.rename(source, target)
        sync_folder(os.path.dirname(target))
        sync_folder(os.path.dirname(source))


def history_ids(folder: str) -> list[str]:
    """The ids of closed transactions, oldest first. Ids begin with a time stamp, so their order is theirs in time."""
    names: set[str] = set()
    for room in ("history", "backup"):
        with contextlib.suppress(FileNotFoundError):
            names.update(os.listdir(os.path.join(folder, room)))
    names.discard("journal.json")
    return sorted(name[: -len(".json")] for name in names if name.endswith(".json") and not name.startswith("."))


def last_known_good(folder: str) -> str | None:
    """The id of the newest committed transaction of which an intact copy is there."""
    for identifier in reversed(history_ids(folder)):
        with contextlib.suppress(Damaged, OtherFormat):
            journal, dummy = load_journal(folder, identifier)
            if journal and journal["result"]["outcome"] == COMMITTED:
                return identifier
    return None


def prune_history(folder: str) -> None:
    """Bound the history. The last known good and what another version of the collection wrote stay in any case."""
    good = last_known_good(folder)
    for identifier in history_ids(folder)[:-KEEP_HISTORY]:
        if identifier != good and not _is_of_another_version(folder, identifier):
            for path in reversed(copies_of(folder, identifier)):
                remove(path)


def _is_of_another_version(folder: str, identifier: str) -> bool:
    try:
        load_journal(folder, identifier)
    except OtherFormat:
        return True
    except Damaged:
        pass
    return False
