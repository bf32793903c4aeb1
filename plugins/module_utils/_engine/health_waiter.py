# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for a component: until it is healthy, or until its change is confirmed; and when to give it up.

Apart from the phases of the transaction, which decide what follows from it, and from the watchers, which know what a look at one
kind of component is. Here stand all limits of time.
"""

from __future__ import annotations

import typing as t

from .files import POLL_SECONDS
from .journal import VERIFYING, WAITING, add_note
from .node import KUBELET, Process
from .open_journal import ChangedFiles, OpenJournal, TransactionTimes
from .static_pod import backups_of
from .watcher import HICCUP_SECONDS, Observation, Watcher

# A restore gets at least this time, however short the user's patience with the change was: a component with watches
# open takes its whole grace period to stop, and the kubelet some time to start it again.
RESTORE_SECONDS = 300
# A kubelet that did nothing about a pod for this long does nothing about it any more: it stops one within its grace period
# (30 s), reads its directory again every 20 s, looks at each pod every 60 s, and begins its back-off with 10 and 20 s.
QUIET_SECONDS = 90
# What a component gets at least once its kubelet was restarted for it. Seen: 2 s for that, and 42 s for an API server to stop and start.
REVIVAL_SECONDS = 120


class HealthWaiter:
    """Looks at the component of a transaction again and again, until it is clear what became of it."""

    def __init__(
        self,
        open_journal: OpenJournal,
        times: TransactionTimes,
        files: ChangedFiles,
        watcher: Watcher,
        clock: t.Callable[[], float],
        sleep: t.Callable[[float], None],
    ) -> None:
        self.open_journal = open_journal
        self.journal = open_journal.journal
        self.times = times
        self.files = files
        self.watcher = watcher
        self.clock = clock
        self.sleep = sleep
        # Since when nothing at all happens to a component that is not there.
        self._quiet: tuple[int | None, float] = (None, 0.0)

    def is_healthy_before(self) -> bool:
        """Whether the component is healthy now. One failed probe of a busy node does not mean that it is not."""
        limit = self.clock() + HICCUP_SECONDS
        while not self.watcher.observe().healthy:
            if self.clock() >= limit:
                return False
            self.sleep(POLL_SECONDS)
        return True

    def wait_until_healthy(self) -> tuple[str | None, Observation]:
        """Watch until the wanted instance was healthy for min_ready_seconds without a break.

        Returns why not (None: it was), and the last look. The time limit is for becoming healthy; the seconds of
        verifying come on top.
        """
        if self.journal.get("deadline") is None:
            self.open_journal.save({"deadline": self.clock() + self._timeout()})
        ready_since: float | None = None
        identity: Process | None = None
        while True:
            observation = self.watcher.observe()
            now = self.clock()
            self.times.note_observation(observation)
            edited = self.files.describe_edit()
            if edited is not None:
                return edited, observation
            if not observation.healthy:
                ready_since = None
            elif ready_since is None or observation.process != identity:
                ready_since = now
            identity = observation.process
            if ready_since is not None:
                self.open_journal.publish_progress(f"is healthy, watched for {self.journal['min_ready_seconds']} s")
                left = ready_since + self.journal["min_ready_seconds"] - now
                if left <= 0:
                    return None, observation
                self.sleep(min(POLL_SECONDS, left))
            else:
                failure = self._failure_reason(observation, now)
                if failure:
                    return failure, observation
                self.open_journal.publish_progress(observation.missing())
                self._remind_kubelet(observation, now)
                self.sleep(POLL_SECONDS)

    def wait_until_confirmed(self) -> tuple[str | None, Observation]:
        """Wait for the confirmation: what is healthy on this node may be out of reach for everybody else.

        Returns why that is over without one (None: it is there), and the last look.
        """
        self.open_journal.publish_progress("is healthy, waits for its confirmation")
        while True:
            observation = self.watcher.observe()
            self.times.note_observation(observation)
            failure = self.files.describe_edit()
            if failure is None and observation.healthy and self.open_journal.is_confirmed():
                return None, observation
            if failure is None and self.clock() >= self._deadline():
                failure = f"there was no confirmation within {self.journal['confirm_timeout']} s that it is reachable"
                if not observation.healthy:
                    failure = f"{self.journal['name']} {observation.missing()} after it was healthy ({'; '.join(observation.probes)})"
            if failure is not None:
                return failure, observation
            self.sleep(POLL_SECONDS)

    def _remind_kubelet(self, observation: Observation, now: float) -> None:
        """After a restart of the node a kubelet was seen not to start a pod whose manifest had been rolled back meanwhile. What
        was healthy before and is not started at all gets one reminder; what crashes is in the kubelet's hands."""
        if self.journal["phase"] != VERIFYING or self.journal.get("triggered") or not self.journal["before"]["healthy"]:
            return
        if observation.rest is None or observation.rest != self._quiet[0]:
            self._quiet = (observation.rest, now)
        if now - self._quiet[1] < QUIET_SECONDS:
            return
        self._quiet = (observation.rest, now)
        if not self.watcher.blocker():
            add_note(
                self.journal,
                f"{KUBELET} was restarted, because it did not start {self.journal['name']} for {QUIET_SECONDS} s",
            )
            self.open_journal.save({"triggered": True, "deadline": max(self._deadline(), now + REVIVAL_SECONDS)})
            self.watcher.trigger()

    def _deadline(self) -> float:
        """Until when what is waited for may take; what was given no time has none left."""
        return self.journal.get("deadline") or 0.0

    def _timeout(self) -> float:
        """Seconds for becoming healthy."""
        wanted = float(self.journal["wait_timeout"])
        restores = self.journal["phase"] == VERIFYING and self.journal["before"]["healthy"]
        return max(wanted, RESTORE_SECONDS) if restores else wanted

    def _failure_reason(self, observation: Observation, now: float) -> str | None:
        """Why to wait no longer; None when there is no reason."""
        name = self.journal["name"]
        if observation.hopeless:
            return f"{name} {observation.hopeless}"
        never_ready = self.journal["phase"] == WAITING and WAITING not in self.journal["times"]
        if never_ready and observation.crashes >= self.watcher.max_crashes:
            return f"{name} crashed {observation.crashes} times and was never ready"
        if now < self._deadline():
            return None
        return (
            f"{name} was not healthy within {self._timeout():.0f} s: it {observation.missing()} ({'; '.join(observation.probes)})"
            f"{self._backups()}{self._blocker()}"
        )

    def _blocker(self) -> str:
        found = self.watcher.blocker()
        return f"; {found}" if found else ""

    def _backups(self) -> str:
        found = [path for entry in self.journal["files"] if entry["switch"] for path in backups_of(entry["path"])]
        return f"; the kubelet also reads {', '.join(found)}: move it out of the directory" if found else ""
