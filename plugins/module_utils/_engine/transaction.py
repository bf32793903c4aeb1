# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The transaction: what changes files on a node, waits for the outcome, and commits or restores.

The rule at the end is always the same: verified healthy, and confirmed where that was requested, is committed; everything else
is restored to the former bytes, and the former state is verified too.
"""

from __future__ import annotations

import errno
import os
import time
import typing as t

from .engine_errors import EngineError
from .files import POLL_SECONDS, locked
from .health_waiter import RESTORE_TIMEOUT, HealthWaiter
from .journal import (
    ABORTED,
    ALARM,
    APPLYING,
    CLOSED,
    COMMITTED,
    CONFIRMING,
    OBSERVING,
    ON_TRIAL,
    PREPARED,
    ROLLED_BACK,
    ROLLING_BACK,
    UNHEALTHY,
    VERIFYING,
    WAITING,
    Journal,
    PreviousState,
    Result,
    add_note,
    add_unverified,
    is_of_static_pod,
    is_of_unit,
    load_journal,
)
from .node import NODE, Host, Run, read_boot_id, redact, run_program, utc_now
from .observations import Observations
from .open_journal import ChangedFiles, OpenJournal, TransactionTimes
from .probes import HttpGet, api_get
from .static_pod import StaticPodWatcher
from .systemd_unit import UnitWatcher
from .watcher import TRANSIENT_TIMEOUT, Observation, Watcher

# The module that starts an engine still holds the lock then. systemd starts an engine again that gets none.
LOCK_SECONDS = 10.0
# An engine that itself dies this often in one transaction leaves the decision to a human.
MAX_ATTEMPTS = 5

# How long a restore retries a write that fails, where that is not RESTORE_TIMEOUT.
_WRITE_TIMEOUTS = {errno.EPERM: 1.0, errno.EROFS: 1.0, errno.ENOSPC: TRANSIENT_TIMEOUT, errno.EDQUOT: TRANSIENT_TIMEOUT}


class Engine:
    """Takes one journal to its end."""

    def __init__(
        self,
        directory: str,
        *,
        host: Host = NODE,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
        run: Run = run_program,
        http_get: HttpGet = api_get,
    ) -> None:
        self.directory = directory
        self.host = host
        self.run_program = run
        self.http_get = http_get
        self.clock = clock
        self.sleep = sleep
        self.journal: Journal
        self.open_journal: OpenJournal
        self.times: TransactionTimes
        self.files: ChangedFiles
        self.watcher: Watcher
        self.waiter: HealthWaiter
        self.observations: Observations

    def run(self) -> int:
        """Finish the open transaction, if there is one. Returns 0 when none is open any more."""
        with locked(self.directory, seconds=LOCK_SECONDS, clock=self.clock, sleep=self.sleep):
            journal, problem = load_journal(self.directory)
            if journal is None:
                return 0
            self._set_up(journal)
            add_note(self.journal, problem)
            self._begin_attempt()
            while self.journal["phase"] != CLOSED:
                self._PHASES[self.journal["phase"]](self)
            self.open_journal.save_result(RESTORE_TIMEOUT)
            self.open_journal.archive()
            return 0

    def _set_up(self, journal: Journal) -> None:
        """Create what the phases work with."""
        self.journal = journal
        self.open_journal = OpenJournal(self.directory, journal, self.clock, self.sleep)
        self.times = TransactionTimes(self.open_journal)
        self.files = ChangedFiles(journal, self.directory)
        self.watcher = self._watcher()
        self.observations = Observations(
            journal, self.host, self.http_get, self.clock, self.sleep, self.open_journal.publish_progress
        )
        self.waiter = HealthWaiter(self.open_journal, self.times, self.files, self.watcher, self.clock, self.sleep)

    def _watcher(self) -> Watcher:
        """The watcher for the kind of component that the journal is about."""
        watch, node = self.journal["watch"], (self.host, self.run_program, self.http_get, self.clock, self.sleep)
        if is_of_static_pod(watch):
            return StaticPodWatcher(self.journal, watch, *node)
        if is_of_unit(watch):
            return UnitWatcher(self.journal, watch, *node)
        raise EngineError(
            f"{os.path.join(self.directory, 'journal.json')} is about a {watch['kind']}, which this engine does not know"
        )

    def _begin_attempt(self) -> None:
        self.journal["attempts"] = self.journal.get("attempts", 0) + 1
        boot = read_boot_id()
        if self.journal.get("boot", boot) != boot and self.journal["phase"] == PREPARED:
            self._close(ABORTED, "the node was rebooted before the change began, and no run waits for it any more")
        if self.journal.get("boot") != boot:
            # The monotonic clock restarted: times from before a reboot mean nothing.
            self.journal.update({"boot": boot, "deadline": None, "times": {}})
            if self.journal["phase"] in (CONFIRMING, OBSERVING):
                # What was healthy before has to show that it is after it, too. A confirmation stays valid.
                self.journal["phase"] = WAITING
        if self.journal["attempts"] > 1:
            self.times.record_successor()
        if self.journal["attempts"] > MAX_ATTEMPTS and self.journal["phase"] != CLOSED:
            self._close(
                ALARM,
                f"the engine was started {MAX_ATTEMPTS} times and never finished; the files were left as they are",
            )
        self.open_journal.save()

    def _prepare(self) -> None:
        """Record what runs before anything changes: what a failed change must come back to."""
        try:
            observation = self.waiter.observe_now()
            before: PreviousState = {
                "healthy": observation.healthy,
                "running": observation.process is not None,
                "probes_ok": observation.probes_ok,
                **self.watcher.read_previous_state(),
                "observed": self.observations.read_before(),
            }
        except EngineError as exc:
            self._close(ABORTED, str(exc))
            return
        self.watcher.prepare_stop()
        self.times.record("began")
        self.open_journal.save({"phase": APPLYING, "before": before})

    def _apply(self) -> None:
        try:
            self.files.write_new()
        except (OSError, EngineError) as exc:
            self._begin_restore(f"a file could not be written: {exc}")
            return
        try:
            self._activate_files()
        except (OSError, EngineError) as exc:
            self._begin_restore(str(exc))
            return
        self.times.record("switched")
        self.open_journal.save({"phase": WAITING})

    def _activate_files(self) -> None:
        """Make the files take effect, once: the marker is on disk before."""
        if self.journal.get("mark") is None:
            self.open_journal.save({"mark": self.watcher.read_restart_marker()})
        self.watcher.activate_files()

    def _wait(self) -> None:
        failure, observation = self.waiter.wait_until_healthy()
        failure = failure or self._verify_change() or self.files.describe_edit()
        if failure is None:  # what is observed takes minutes
            failure, observation = self.waiter.check_again()
        timeout = self.journal.get("confirm_timeout")
        if failure is not None:
            self._fail(failure, observation)
        elif timeout is not None:
            self.open_journal.save({"phase": CONFIRMING, "deadline": self.clock() + timeout})
        else:
            self._commit(observation)

    def _commit(self, observation: Observation) -> None:
        """Commit what the node has verified, unless the run first observes what only others can see."""
        timeout = self.journal.get("observation_timeout")
        if timeout is None:
            self._close(COMMITTED, None, observation)
        else:
            self.open_journal.save({"phase": OBSERVING, "deadline": self.clock() + timeout})

    def _verify_change(self) -> str | None:
        """Why a healthy component is not as expected; None when it is. After a reboot of the node all is verified again."""
        self.journal["unverified"] = []
        for text in (*self.journal["watch"].get("unverified", ()), *self.journal["before"].get("unverified", ())):
            add_unverified(self.journal, text)
        failure = self.watcher.verify() or self.observations.find_losses() or None
        self.observations.record_failures()
        return failure

    def _confirm(self) -> None:
        failure, observation = self.waiter.wait_until_confirmed()
        self._fail(failure, observation) if failure else self._commit(observation)

    def _observe(self) -> None:
        failure, observation = self.waiter.wait_until_observed()
        self._fail(failure, observation) if failure else self._close(COMMITTED, None, observation)

    def _fail(self, failure: str, observation: Observation) -> None:
        """Take back what is not committed. A restore handles what another program wrote, also without rollback."""
        if not observation.healthy or self.journal["phase"] == WAITING:
            # The log of a component that only lacks the confirmation is no reason.
            self.journal["log"] = self.watcher.read_log(observation)
        if self.journal["rollback"] or self.files.find_foreign_edits():
            self._begin_restore(failure)
        else:
            self._close(UNHEALTHY, failure, observation)

    def _begin_restore(self, reason: str) -> None:
        """Record, before the first file goes back, whether the component has seen the change: it must be verified then."""
        switched = self.journal["phase"] in ON_TRIAL or self.watcher.has_seen_change()
        self.open_journal.save(
            {"phase": ROLLING_BACK, "reason": reason, "switched": switched, "deadline": None, "mark": None}
        )

    def _restore(self) -> None:
        self.open_journal.publish_progress("did not become healthy, rolling back to the former files")
        foreign = self.files.find_foreign_edits()
        if foreign and self.journal["switched"]:
            self._close(
                ALARM,
                f"{self.journal['reason']}; not rolled back, because another process changed {', '.join(foreign)}",
            )
            return
        failure = _retry_restore(lambda: self.files.write_former(foreign), self.open_journal)
        if failure:
            self._close(ALARM, f"{self.journal['reason']}; the rollback to the former files failed: {failure}")
            return
        self.files.remove_new_directories()
        if self.journal["switched"]:
            # What cannot be switched back is found by the proof.
            problem = _retry_restore(self._activate_files, self.open_journal)
            add_note(self.journal, f"the former files could not be made to take effect: {problem}" if problem else "")
            self.open_journal.save({"phase": VERIFYING})
        else:
            self._close(ABORTED, self.journal["reason"])

    def _verify(self) -> None:
        failure, observation = self.waiter.wait_until_healthy()
        edited = self.files.describe_edit()
        self.journal["unverified"] = []
        for text in self.watcher.unverified() if failure is None else ():
            add_unverified(self.journal, text)
        losses = self.observations.find_losses() if failure is None else ""
        if edited is None and not losses and (failure is None or not self._is_worse(observation)):
            self._close(ROLLED_BACK, self.journal["reason"], observation)
        else:
            failure = edited or failure or losses
            self._close(ALARM, f"{self.journal['reason']}; rolled back to the former files, but {failure}", observation)

    def _is_worse(self, observation: Observation) -> bool:
        """Whether a component that is not healthy now was so before the change, or more of it worked: it ran, or its probes passed."""
        before = self.journal["before"]
        is_gone = before.get("running", False) and observation.process is None
        return before["healthy"] or is_gone or (before.get("probes_ok", False) and not observation.probes_ok)

    _PHASES: t.ClassVar[dict[str, t.Callable[[Engine], None]]] = {
        PREPARED: _prepare,
        APPLYING: _apply,
        WAITING: _wait,
        CONFIRMING: _confirm,
        OBSERVING: _observe,
        ROLLING_BACK: _restore,
        VERIFYING: _verify,
    }

    def _close(self, outcome: str, reason: str | None, observation: Observation | None = None) -> None:
        seconds, restart_seconds, outage_seconds = self.times.measure_spans(self.clock())
        result: Result = {
            "outcome": outcome,
            "reason": reason,
            "healthy": observation.healthy if observation else None,
            "ended": utc_now(),
            "seconds": seconds,
            "restart_seconds": restart_seconds,
            "outage_seconds": outage_seconds,
            "proof": self.observations.complete(self.watcher.proof(observation) if observation else None),
            "confirmed": None if self.journal.get("confirm_timeout") is None else self.open_journal.is_confirmed(),
            "observed": self.open_journal.is_observed(),
            "notes": self.journal.get("notes", []),
            "log": [redact(line, self.journal["watch"].get("hidden", {})) for line in self.journal.get("log", [])],
        }
        self.journal.update({"phase": CLOSED, "result": result})
        if outcome == COMMITTED:
            self.files.remove_obsolete_directories()


def _retry_restore(action: t.Callable[[], None], open_journal: OpenJournal) -> str | None:
    """Do a part of a restore, trying as long as that may take. Returns why it did not work.

    An immutable file and a read-only disk do not change by themselves, and a full one seldom, so the alarm must not wait for them."""
    start = open_journal.clock()
    while True:
        try:
            action()
            return None
        except OSError as exc:
            if open_journal.clock() >= start + _WRITE_TIMEOUTS.get(exc.errno or 0, RESTORE_TIMEOUT):
                return str(exc)
            open_journal.publish_progress(f"cannot be rolled back yet: {exc}")
        except EngineError as exc:
            return str(exc)
        open_journal.sleep(POLL_SECONDS)
