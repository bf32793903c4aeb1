# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for a component: until it is healthy, or until its change is confirmed; and when to give it up.

All timeouts are here.
"""

from __future__ import annotations

import typing as t

from .engine_errors import EngineError
from .files import POLL_SECONDS
from .journal import VERIFYING, WAITING, add_note, add_unverified
from .node import KUBELET, Process
from .open_journal import ChangedFiles, OpenJournal, TransactionTimes
from .static_pod import backups_of
from .watcher import Observation, Watcher, retry_until

# A restore gets at least this time, however short the user's timeout for the change was: a component with watches
# open takes its whole grace period to stop, and the kubelet some time to start it again.
RESTORE_TIMEOUT = 300
# A kubelet that did nothing about a pod for this long does nothing about it any more: it stops one within its grace period
# (30 s), reads its directory again every 20 s, syncs each pod every 60 s, and begins its back-off with 10 and 20 s.
STALL_TIMEOUT = 90
# What a component gets at least once its kubelet was restarted for it. Seen: 2 s for that, and 42 s for an API server to stop and start.
RESTART_GRACE = 120
# What is not known without the run.
UNOBSERVED = "whether it starts pods"
# What a kubelet takes to clear up behind a process that has ended. Seen: 1 to 2 s.
END_GRACE = 3


class HealthWaiter:
    """Observes the component of a transaction until it is healthy, confirmed, or given up."""

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
        # Since when nothing at all happens to a component that does not run: idle_fingerprint and time.
        self._idle_since: tuple[int | None, float] = (None, 0.0)
        # When the former instance was first seen to have ended.
        self._ended_at: float | None = None

    def observe_now(self) -> Observation:
        """The component as it is. One failed probe of a busy node does not mean that it is not healthy."""
        return retry_until(lambda seen: seen.healthy, self.watcher.observe, self.clock, self.sleep)

    def check_again(self) -> tuple[str | None, Observation]:
        """Why an instance that was healthy is not any more (None: it is), and the last observation."""
        observation = self.observe_now()
        return None if observation.healthy else self._unhealthy_again(observation), observation

    def wait_until_healthy(self) -> tuple[str | None, Observation]:
        """Watch until the expected instance was healthy for min_ready_seconds without a break.

        Returns why not (None: it was), and the last observation. The time limit is for becoming healthy; the seconds of
        verifying come on top.
        """
        if self.journal.get("deadline") is None:
            self.open_journal.save({"deadline": self.clock() + self._timeout()})
        ready_since: float | None = None
        identity: Process | None = None
        while True:
            observation = self.watcher.observe()
            now = self.clock()
            self.times.record_observation(observation)
            edited = self.files.describe_edit()
            problem = edited or self._write_final(now)
            if problem:
                return problem, observation
            if not observation.healthy or self.files.has_interim():
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
                self._restart_stalled_kubelet(observation, now)
                self.sleep(POLL_SECONDS)

    def wait_until_confirmed(self) -> tuple[str | None, Observation]:
        """Wait for the confirmation: what is healthy on this node may be out of reach for everybody else.

        Returns why that is over without one (None: it is there), and the last observation.
        """
        self.open_journal.publish_progress("is healthy, waits for its confirmation")
        while True:
            observation = self.watcher.observe()
            self.times.record_observation(observation)
            failure = self.files.describe_edit()
            if failure is None and observation.healthy and self.open_journal.is_confirmed():
                return None, observation
            if failure is None and self.clock() >= self._deadline():
                failure = f"there was no confirmation within {self.journal['confirm_timeout']} s that it is reachable"
                if not observation.healthy:
                    failure = self._unhealthy_again(observation)
            if failure is not None:
                return failure, observation
            self.sleep(POLL_SECONDS)

    def wait_until_observed(self) -> tuple[str | None, Observation]:
        """Wait for what the run observes of this node from elsewhere.

        Returns what was lost (None: nothing), and the last observation. What was not observed is kept as far as the node has verified it.
        """
        self.open_journal.publish_progress("is healthy, waits until the run has observed it")
        while True:
            observation = self.watcher.observe()
            self.times.record_observation(observation)
            losses, is_late = self.open_journal.read_losses(), self.clock() >= self._deadline()
            failure = self.files.describe_edit() or losses
            if failure:
                return failure, observation
            if observation.healthy and (is_late or losses is not None):
                if losses is None:
                    why = f"no run has observed it within {self.journal['observation_timeout']} s"
                    add_unverified(self.journal, f"{UNOBSERVED}: {why}")
                return None, observation
            if is_late:
                return self._unhealthy_again(observation), observation
            self.sleep(POLL_SECONDS)

    def _unhealthy_again(self, observation: Observation) -> str:
        return f"{self.journal['name']} {observation.missing()} after it was healthy ({'; '.join(observation.probes)})"

    def _write_final(self, now: float) -> str:
        """Write the last version of a manifest when the former instance has ended. A kubelet starts a pod at once that is new to it then, and checks
        only every 10 to 15 s whether one may start that it has seen before. Returns why it could not be written."""
        if self.journal["phase"] != WAITING or not self.files.has_interim() or not self.watcher.has_ended():
            return ""
        self._ended_at = now if self._ended_at is None else self._ended_at
        if now < self._ended_at + END_GRACE:
            return ""
        try:
            self.files.write_final()
        except (OSError, EngineError) as exc:
            return f"a file could not be written: {exc}"
        return ""

    def _restart_stalled_kubelet(self, observation: Observation, now: float) -> None:
        """After a restart of the node a kubelet was seen not to start a pod whose manifest had been rolled back meanwhile. What
        was healthy before and is not started at all gets one reminder; what crashes is in the kubelet's hands."""
        if self.journal["phase"] != VERIFYING or self.journal.get("triggered") or not self.journal["before"]["healthy"]:
            return
        if observation.idle_fingerprint is None or observation.idle_fingerprint != self._idle_since[0]:
            self._idle_since = (observation.idle_fingerprint, now)
        if now - self._idle_since[1] < STALL_TIMEOUT:
            return
        self._idle_since = (observation.idle_fingerprint, now)
        if not self.watcher.find_blocker():
            add_note(
                self.journal,
                f"{KUBELET} was restarted, because it did not start {self.journal['name']} for {STALL_TIMEOUT} s",
            )
            self.open_journal.save({"triggered": True, "deadline": max(self._deadline(), now + RESTART_GRACE)})
            self.watcher.retrigger()

    def _deadline(self) -> float:
        """Until when to wait."""
        return self.journal.get("deadline") or 0.0

    def _timeout(self) -> float:
        """Seconds for becoming healthy."""
        timeout = float(self.journal["wait_timeout"])
        restores = self.journal["phase"] == VERIFYING and self.journal["before"]["healthy"]
        return max(timeout, RESTORE_TIMEOUT) if restores else timeout

    def _failure_reason(self, observation: Observation, now: float) -> str | None:
        """Why to wait no longer; None when there is no reason."""
        name = self.journal["name"]
        if observation.unrecoverable:
            return f"{name} {observation.unrecoverable}"
        if self.journal["phase"] == WAITING and observation.crashes >= self.watcher.max_crashes:
            if WAITING not in self.journal["times"]:
                return f"{name} crashed {observation.crashes} times and was never ready"
            # One that crashes each time it was healthy for a second does not become stable by waiting.
            if not self.watcher.ends_without_api:
                return f"{name} crashed {observation.crashes} times while it was watched"
        if now < self._deadline():
            return None
        return (
            f"{name} was not healthy within {self._timeout():.0f} s: it {observation.missing()} ({'; '.join(observation.probes)})"
            f"{self._backups_text()}{self._blocker_text()}"
        )

    def _blocker_text(self) -> str:
        blocker = self.watcher.find_blocker()
        return f"; {blocker}" if blocker else ""

    def _backups_text(self) -> str:
        backups = [path for entry in self.journal["files"] if entry["switch"] for path in backups_of(entry["path"])]
        return f"; the kubelet also reads {', '.join(backups)}: move it out of the directory" if backups else ""
