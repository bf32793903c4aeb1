# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an engine keeps of its open transaction: the journal on the disk, its times in it, and the news for followers.

Apart from C(journal.py), which has what stands in a journal and is sent with each poll; only an engine writes an open one on.
"""

from __future__ import annotations

import contextlib
import json
import os
import typing as t

from .files import POLL_SECONDS, read_bytes, remove
from .journal import (
    CONFIRMED,
    ON_TRIAL,
    PREPARED,
    WAITING,
    Journal,
    Progress,
    file_journal,
    prune_history,
    result_of,
    save_journal,
)
from .watcher import Observation


class OpenJournal:
    """The journal of a component's open transaction, and the files beside it that are about this transaction.

    Apart from the phases: they decide when it is saved, and here stands what a save that fails means.
    """

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
        """Tell followers where we are. Not synced: it is news, not state."""
        if (self.journal["phase"], message) != self._published:
            self._published = (self.journal["phase"], message)
            news = {"id": self.journal["id"], "phase": self.journal["phase"], "message": message, "clock": self.clock()}
            temporary = os.path.join(self.directory, ".progress.json")
            try:
                with open(temporary, "w", encoding="utf-8") as stream:
                    json.dump(news, stream)
                os.rename(temporary, os.path.join(self.directory, "progress.json"))
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    def is_confirmed(self) -> bool:
        """Whether the word is there; it names this transaction."""
        try:
            word = read_bytes(os.path.join(self.directory, CONFIRMED)) or b""
        except OSError:
            return False
        return word.strip() == str(self.journal["id"]).encode("ascii")

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

    def file_away(self) -> None:
        """Move the closed journal to the history, which keeps the last ones and always the last known good."""
        # As long as the journal is open, a killed engine is followed by one that says it again.
        self.publish_progress(result_of(self.journal)["outcome"])
        file_journal(self.directory, self.journal["id"])
        with contextlib.suppress(OSError):  # it names a transaction that is over
            remove(os.path.join(self.directory, CONFIRMED))
        prune_history(self.directory)


class TransactionTimes:
    """When the change began and took effect, and how long the component was away, in the journal by the monotonic clock.

    Apart from what is waited for: nothing is decided by these times but whether a component was ever ready; they are for people.
    """

    def __init__(self, open_journal: OpenJournal) -> None:
        self.open_journal = open_journal
        self.journal = open_journal.journal
        self.clock = open_journal.clock

    def note(self, event: str) -> None:
        """Note when an event happened first, by the monotonic clock."""
        if event not in self.journal["times"]:
            self.journal["times"][event] = self.clock()
            self.open_journal.save()

    def note_observation(self, observation: Observation) -> None:
        """Note when the probes failed first after the switch, when they passed again, and when all was well."""
        times = self.journal["times"]
        if not observation.probes_ok:
            self.note("down")
            times.pop("up", None)
        elif "down" in times:
            self.note("up")
        if observation.healthy:
            self.note(self.journal["phase"])

    def spans(self, now: float) -> tuple[float | None, float | None, float]:
        """Seconds of the whole change, until the component was healthy after the switch, and in which its probes failed."""
        times, phase = self.journal["times"], self.journal["phase"]
        return (
            _span(times.get("began"), now),
            _span(times.get("switched"), times.get(WAITING if phase in ON_TRIAL else phase)),
            _span(times.get("down"), times.get("up", now)) or 0.0,
        )


def _span(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else round(end - start, 2)
