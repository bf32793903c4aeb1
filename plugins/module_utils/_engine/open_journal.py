# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an engine keeps of its open transaction: the journal on the disk, its times in it, and its progress for followers.

Only an engine has it; C(journal.py) is sent with each poll.
"""

from __future__ import annotations

import contextlib
import json
import os
import typing as t

from .engine_errors import ForeignEdit
from .files import POLL_SECONDS, make_directory, read_bytes, remove, safe_path, write_atomically
from .journal import (
    CONFIRMED,
    OBSERVED,
    ON_TRIAL,
    PREPARED,
    VERIFYING,
    WAITING,
    FileEntry,
    Journal,
    Progress,
    Side,
    StoredVersion,
    archive_journal,
    content_of,
    has_content,
    has_version,
    is_of_unit,
    new_versions,
    prune_history,
    result_of,
    save_journal,
    versions_of,
)
from .watcher import Observation


class OpenJournal:
    """The journal of a component's open transaction, and the files beside it."""

    def __init__(
        self, directory: str, journal: Journal, clock: t.Callable[[], float], sleep: t.Callable[[float], None]
    ) -> None:
        self.directory = directory
        self.journal = journal
        self.clock = clock
        self.sleep = sleep
        self._published: tuple[str, str] = ("", "")

    def save(self, changes: Progress | None = None) -> None:
        """Keep the journal. Once the change has begun, a full or broken disk must not keep an engine from ending it: all
        that a restore needs is on the disk already, and one that dies now comes to the same end by an older journal."""
        progress: Progress = self.journal
        progress.update(changes or {})
        try:
            save_journal(self.directory, self.journal)
        except OSError:
            if self.journal["phase"] == PREPARED or "before" not in self.journal:
                raise

    def publish_progress(self, message: str) -> None:
        """Publish the progress for followers. Not synced: it is no state."""
        if (self.journal["phase"], message) != self._published:
            self._published = (self.journal["phase"], message)
            data = {"id": self.journal["id"], "phase": self.journal["phase"], "message": message, "clock": self.clock()}
            temporary = os.path.join(self.directory, ".progress.json")
            try:
                with open(temporary, "w", encoding="utf-8") as stream:
                    json.dump(data, stream)
                os.rename(temporary, os.path.join(self.directory, "progress.json"))
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    def is_confirmed(self) -> bool:
        """Whether the confirmation is there; it names this transaction."""
        try:
            confirmed_id = read_bytes(os.path.join(self.directory, CONFIRMED)) or b""
        except OSError:  # what cannot be read confirms nothing; without a confirmation the change is rolled back
            return False
        return confirmed_id.strip() == str(self.journal["id"]).encode("ascii")

    def read_losses(self) -> str | None:
        """What the run has observed that worked before and does not now; empty for nothing, None where it has not observed yet."""
        try:
            data = json.loads(read_bytes(os.path.join(self.directory, OBSERVED)) or b"{}")
            return str(data["losses"]) if data.get("id") == self.journal["id"] else None
        except (OSError, ValueError, LookupError, AttributeError):  # what cannot be read says nothing
            return None

    def is_observed(self) -> bool | None:
        """Whether the run has observed the change; None where it was not to."""
        return None if self.journal.get("observation_timeout") is None else self.read_losses() is not None

    def save_result(self, seconds: float) -> None:
        """Keep the outcome, which would be unknown otherwise. A disk that is full gets the seconds. Raises OSError."""
        limit = self.clock() + seconds
        while True:
            try:
                save_journal(self.directory, self.journal)
                return
            except OSError:
                if self.clock() >= limit:
                    raise
            self.sleep(POLL_SECONDS)

    def archive(self) -> None:
        """Move the closed journal to the history, which keeps the last ones and always the last known good."""
        # As long as the journal is open, a killed engine is followed by one that publishes it again.
        self.publish_progress(result_of(self.journal)["outcome"])
        archive_journal(self.directory, self.journal["id"])
        for name in (CONFIRMED, OBSERVED):
            with contextlib.suppress(OSError):  # it names a transaction that is over
                remove(os.path.join(self.directory, name))
        prune_history(self.directory)


class TransactionTimes:
    """When the change began and took effect, and how long the component was away, in the journal by the monotonic clock."""

    def __init__(self, open_journal: OpenJournal) -> None:
        self.open_journal = open_journal
        self.journal = open_journal.journal
        self.clock = open_journal.clock

    def record(self, event: str) -> None:
        """Record when an event happened first, by the monotonic clock."""
        if event not in self.journal["times"]:
            self.journal["times"][event] = self.clock()
            self.open_journal.save()

    def record_observation(self, observation: Observation) -> None:
        """Record when the probes failed first after the switch, when they passed again, and when all was well."""
        times = self.journal["times"]
        if not observation.is_probed:
            self.record("unseen")
        if not observation.probes_ok:
            self.record("down")
            times.pop("up", None)
        elif "down" in times:
            self.record("up")
        if observation.healthy:
            self.record(self.journal["phase"])

    def record_successor(self) -> None:
        """Record that an engine takes over from one that ended after the change began: unless that one saved a failed probe, none is known."""
        if self.journal["phase"] != PREPARED and "down" not in self.journal["times"]:
            self.record("unseen")

    def measure_spans(self, now: float) -> tuple[float | None, float | None, float | None]:
        """Seconds of the whole change, until the component was healthy after the switch, and in which its probes failed; each None when that was
        not measured."""
        times, phase = self.journal["times"], self.journal["phase"]
        return (
            _span(times.get("began"), now),
            _span(times.get("switched"), times.get(WAITING if phase in ON_TRIAL else phase)),
            None if "unseen" in times else _span(times.get("down", now), times.get("up", now)),
        )


def _span(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else round(end - start, 2)


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
            self._replace_file(entry, [entry["before"]], new_versions(entry)[0])

    def has_interim(self) -> bool:
        """Whether a manifest is not as it shall stay yet."""
        return any(has_content(entry["path"], entry["interim"]) for entry in self._with_interim())

    def write_final(self) -> None:
        """Write the last version where there was one before it. Raises OSError, and EngineError for a foreign edit."""
        for entry in self._with_interim():
            self._replace_file(entry, [entry["interim"]], entry["after"])

    def _with_interim(self) -> list[FileEntry]:
        return [entry for entry in self.journal["files"] if "interim" in entry]

    def write_former(self, foreign: t.Container[str]) -> None:
        """Write the former versions, of all but the foreign paths. Raises OSError, and EngineError for a foreign edit."""
        for entry in self._ordered("before"):
            if entry["path"] not in foreign:
                self._replace_file(entry, new_versions(entry), entry["before"])

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
        """What another program did to our files. The component may not have read them yet."""
        is_former = self.journal["phase"] == VERIFYING
        found = [
            entry["path"]
            for entry in self.journal["files"]
            if not _has_any(entry["path"], [entry["before"]] if is_former else new_versions(entry))
        ]
        return (
            f"{', '.join(found)} was changed by another process while {self.journal['name']} was watched"
            if found
            else None
        )

    def find_foreign_edits(self) -> list[str]:
        """The files that hold neither the former nor the new bytes."""
        return [entry["path"] for entry in self.journal["files"] if not _has_any(entry["path"], versions_of(entry))]

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

    def _replace_file(
        self, entry: FileEntry, expected: t.Sequence[StoredVersion | None], version: StoredVersion | None
    ) -> None:
        """Bring one file from one of the versions to the other; it may be there already. Raises ForeignEdit for another one."""
        path = entry["path"]
        old, new = [content_of(each, path) for each in expected], content_of(version, path)

        def recheck() -> None:
            if read_bytes(path) not in old:
                raise ForeignEdit(f"{path} was changed by another process in the meantime")

        if has_version(path, version):
            return
        recheck()
        if new is None or version is None:
            remove(path, follows=True)
        else:
            write_atomically(path, new, mode=version["mode"], uid=version["uid"], gid=version["gid"], recheck=recheck)


def _has_any(path: str, versions: t.Iterable[StoredVersion | None]) -> bool:
    return any(has_content(path, version) for version in versions)
