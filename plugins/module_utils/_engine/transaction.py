# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The transaction: what changes files on a node, waits for the outcome, and commits or restores.

The rule at the end is always the same: verified healthy, and confirmed where that was asked for, is committed; everything else
is restored to the former bytes, and the former state is verified too.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import typing as t

from .engine_errors import EngineError, ForeignEdit
from .files import POLL_SECONDS, locked, make_directory, read_bytes, remove, safe_path, write_atomically
from .journal import (
    ABORTED,
    ALARM,
    APPLYING,
    CLOSED,
    COMMITTED,
    CONFIRMED,
    CONFIRMING,
    ON_TRIAL,
    PREPARED,
    ROLLED_BACK,
    ROLLING_BACK,
    SIDES,
    UNHEALTHY,
    VERIFYING,
    WAITING,
    FileEntry,
    Former,
    Journal,
    Progress,
    Result,
    Side,
    add_note,
    add_unverified,
    content_of,
    file_journal,
    holds,
    is_at,
    is_of_static_pod,
    is_of_unit,
    load_journal,
    prune_history,
    result_of,
    save_journal,
)
from .node import KUBELET, NODE, Host, Process, Run, boot_id, hide, run_program, utc_now
from .probes import Ask, api_get
from .static_pod import StaticPodWatcher, backups_of
from .systemd_unit import UnitWatcher
from .watcher import HICCUP_SECONDS, Observation, Watcher

LOCK_SECONDS = 10.0
# A restore gets at least this time, however short the user's patience with the change was: a component with watches
# open takes its whole grace period to stop, and the kubelet some time to start it again.
RESTORE_SECONDS = 300
# A kubelet that did nothing about a pod for this long does nothing about it any more: it stops one within its grace period
# (30 s), reads its directory again every 20 s, looks at each pod every 60 s, and begins its back-off with 10 and 20 s.
QUIET_SECONDS = 90
# What a component gets at least once its kubelet was restarted for it.
REVIVAL_SECONDS = 120
# An engine that itself dies this often in one transaction leaves the decision to a human.
MAX_ATTEMPTS = 5


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
        ask: Ask = api_get,
    ) -> None:
        self.directory = directory
        self.host = host
        self.run_program = run
        self.ask = ask
        self.clock = clock
        self.sleep = sleep
        self.journal: Journal
        self.watcher: Watcher
        self._progress: tuple[str, str] = ("", "")
        # Since when nothing at all happens to a component that is not there.
        self._quiet: tuple[int | None, float] = (None, 0.0)

    def path(self, *names: str) -> str:
        """A path in the transaction's directory."""
        return os.path.join(self.directory, *names)

    def run(self) -> int:
        """Finish the open transaction, if there is one. Returns 0 when none is open any more."""
        with locked(self.directory, seconds=LOCK_SECONDS, clock=self.clock, sleep=self.sleep):
            journal, problem = load_journal(self.directory)
            if journal is None:
                return 0
            self.journal = journal
            self.watcher = self._watcher()
            add_note(self.journal, problem)
            self._begin_attempt()
            while self.journal["phase"] != CLOSED:
                self._PHASES[self.journal["phase"]](self)
            self._file_away()
            return 0

    def _watcher(self) -> Watcher:
        """The watcher for the kind of component that the journal is about."""
        watch = self.journal["watch"]
        if is_of_static_pod(watch):
            return StaticPodWatcher(self.journal, watch, self.host, self.run_program, self.ask, self.clock, self.sleep)
        if is_of_unit(watch):
            return UnitWatcher(self.journal, watch, self.host, self.run_program, self.ask, self.clock, self.sleep)
        raise EngineError(f"{self.path('journal.json')} is about a {watch['kind']}, which this engine does not know")

    def _begin_attempt(self) -> None:
        self.journal["attempts"] = self.journal.get("attempts", 0) + 1
        boot = boot_id()
        if self.journal.get("boot", boot) != boot and self.journal["phase"] == PREPARED:
            self._close(ABORTED, "the node was rebooted before the change began, and no run waits for it any more")
        if self.journal.get("boot") != boot:
            # The monotonic clock restarted: times from before a reboot mean nothing.
            self.journal.update({"boot": boot, "deadline": None, "times": {}})
            if self.journal["phase"] == CONFIRMING:
                # What was healthy before has to show that it is after it, too. A word that was given stays given.
                self.journal["phase"] = WAITING
        if self.journal["attempts"] > MAX_ATTEMPTS and self.journal["phase"] != CLOSED:
            self._close(
                ALARM,
                f"the engine was started {MAX_ATTEMPTS} times and never finished; the files were left as they are",
            )
        self._save()

    def _save(self, changes: Progress | None = None) -> None:
        """Keep the journal. Once the change has begun, a full or broken disk must not keep an engine from ending it: all
        that a restore needs is on the disk already, and one that dies now comes to the same end by an older journal."""
        progress: Progress = self.journal
        progress.update(changes or {})
        try:
            save_journal(self.directory, self.journal)
        except OSError:
            if self.journal["phase"] == PREPARED or "before" not in self.journal:
                raise

    def _say(self, message: str) -> None:
        """Tell followers where we are. Not synced: it is news, not state."""
        if (self.journal["phase"], message) != self._progress:
            self._progress = (self.journal["phase"], message)
            news = {"id": self.journal["id"], "phase": self.journal["phase"], "message": message, "clock": self.clock()}
            temporary = self.path(".progress.json")
            try:
                with open(temporary, "w", encoding="utf-8") as stream:
                    json.dump(news, stream)
                os.rename(temporary, self.path("progress.json"))
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    # -- phases --------------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Look at what runs before anything changes: what a failed change must come back to."""
        try:
            before: Former = {"healthy": self._is_healthy_before(), **self.watcher.what_runs()}
        except EngineError as exc:
            self._close(ABORTED, str(exc))
            return
        self._time("began")
        self._save({"phase": APPLYING, "before": before})

    def _is_healthy_before(self) -> bool:
        """Whether the component is healthy now. One failed probe of a busy node does not mean that it is not."""
        limit = self.clock() + HICCUP_SECONDS
        while not self.watcher.look().healthy:
            if self.clock() >= limit:
                return False
            self.sleep(POLL_SECONDS)
        return True

    def _apply(self) -> None:
        try:
            for directory in self.journal["directories"]:
                make_directory(directory, self._mode_of(directory))
            for entry in self._ordered("after"):
                self._put(entry, "before", "after")
        except (OSError, EngineError) as exc:
            self._begin_restore(f"a file could not be written: {exc}")
            return
        try:
            self._switch()
        except (OSError, EngineError) as exc:
            self._begin_restore(str(exc))
            return
        self._time("switched")
        self._save({"phase": WAITING})

    def _mode_of(self, directory: str) -> int:
        """The mode of a new directory: as a package makes it, unless a static pod's files come into it that are all secret."""
        modes = [
            entry["after"]["mode"]
            for entry in self.journal["files"]
            if entry["after"] is not None and entry["path"].startswith(f"{directory}/")
        ]
        return 0o755 if is_of_unit(self.journal["watch"]) or any(mode & 0o077 for mode in modes) else 0o700

    def _switch(self) -> None:
        """Make the files take effect. The mark is on disk before, so that it happens once even if this engine dies."""
        if self.journal.get("mark") is None:
            self._save({"mark": self.watcher.mark()})
        self.watcher.switch()

    def _ordered(self, side: Side) -> list[FileEntry]:
        """The order that never lets the component see a manifest whose files are missing."""

        def rank(entry: FileEntry) -> int:
            if entry["switch"]:
                return 1
            # A full disk of ours must not keep the component's own files from being rolled back.
            is_record = os.path.dirname(entry["path"]) == self.directory
            return 2 if entry[side] is None or (is_record and side == "before") else 0

        return sorted(self.journal["files"], key=rank)

    def _put(self, entry: FileEntry, expected: Side, wanted: Side) -> None:
        """Bring one file from one version to the other; it may be there already. Raises ForeignEdit for a third one."""
        path = entry["path"]
        old, new = content_of(entry[expected], path), content_of(entry[wanted], path)

        def recheck() -> None:
            if read_bytes(path) != old:
                raise ForeignEdit(f"{path} was changed by another process in the meantime")

        if is_at(path, entry[wanted]):
            return
        recheck()
        version = entry[wanted]
        if new is None or version is None:
            remove(path)
        else:
            write_atomically(path, new, mode=version["mode"], uid=version["uid"], gid=version["gid"], recheck=recheck)

    def _wait(self) -> None:
        failure, observation = self._watch_until_healthy()
        failure = failure or self._verify_change() or self._edited()
        timeout = self.journal.get("confirm_timeout")
        if failure is not None:
            self._fail(failure, observation)
        elif timeout is not None:
            self._save({"phase": CONFIRMING, "deadline": self.clock() + timeout})
        else:
            self._close(COMMITTED, None, observation)

    def _verify_change(self) -> str | None:
        """Why a healthy component is not what it should be; None when it is. After a reboot of the node all is verified again."""
        self.journal["unverified"] = []
        for text in (*self.journal["watch"].get("unverified", ()), *self.journal["before"].get("unverified", ())):
            add_unverified(self.journal, text)
        return self.watcher.verify()

    def _confirm(self) -> None:
        """Wait for the confirmation: what is healthy on this node may be out of reach for everybody else."""
        self._say("is healthy, waits for its confirmation")
        while True:
            observation = self.watcher.look()
            self._measure(observation)
            failure = self._edited()
            if failure is None and observation.healthy and self._is_confirmed():
                self._close(COMMITTED, None, observation)
                return
            if failure is None and self.clock() >= self._deadline():
                failure = f"there was no confirmation within {self.journal['confirm_timeout']} s that it is reachable"
                if not observation.healthy:
                    failure = f"{self.journal['name']} {observation.missing()} after it was healthy ({'; '.join(observation.probes)})"
            if failure is not None:
                self._fail(failure, observation)
                return
            self.sleep(POLL_SECONDS)

    def _is_confirmed(self) -> bool:
        """Whether the word is there; it names this transaction."""
        try:
            return (read_bytes(self.path(CONFIRMED)) or b"").strip() == str(self.journal["id"]).encode("ascii")
        except OSError:
            return False

    def _fail(self, failure: str, observation: Observation) -> None:
        """Take back what is not committed. What another program wrote is for a restore to judge, also without rollback."""
        if not observation.healthy or self.journal["phase"] == WAITING:
            # What a component says that only lacks the confirmation is no reason.
            self.journal["log"] = self.watcher.log(observation)
        if self.journal["rollback"] or self._foreign():
            self._begin_restore(failure)
        else:
            self._close(UNHEALTHY, failure, observation)

    def _edited(self) -> str | None:
        """What another program did to our files, in words. The component may not have read them yet."""
        side: Side = "before" if self.journal["phase"] == VERIFYING else "after"
        found = [entry["path"] for entry in self.journal["files"] if not holds(entry["path"], entry[side])]
        return (
            f"{', '.join(found)} was changed by another process while {self.journal['name']} was watched"
            if found
            else None
        )

    def _foreign(self) -> list[str]:
        """The files that hold neither the former nor the new bytes."""
        return [
            entry["path"]
            for entry in self.journal["files"]
            if not any(holds(entry["path"], entry[side]) for side in SIDES)
        ]

    def _begin_restore(self, reason: str) -> None:
        """Note, before the first file goes back, whether the component has seen the change: it must be verified then."""
        switched = self.journal["phase"] in ON_TRIAL or self.watcher.has_seen_change()
        self._save({"phase": ROLLING_BACK, "reason": reason, "switched": switched, "deadline": None, "mark": None})

    def _restore(self) -> None:
        self._say("did not become healthy, rolling back to the former files")
        foreign = self._foreign()
        if foreign and self.journal["switched"]:
            self._close(
                ALARM,
                f"{self.journal['reason']}; not rolled back, because another process changed {', '.join(foreign)}",
            )
            return
        failure = self._write_former([entry for entry in self._ordered("before") if entry["path"] not in foreign])
        if failure:
            self._close(ALARM, f"{self.journal['reason']}; the rollback to the former files failed: {failure}")
            return
        for directory in reversed(self.journal["directories"]):
            with contextlib.suppress(OSError):  # it was never made, or someone else uses it by now
                os.rmdir(safe_path(directory, follows=False))
        if self.journal["switched"]:
            # What cannot be switched back is found by the proof.
            problem = self._persist(self._switch)
            add_note(self.journal, f"the former files could not be made to take effect: {problem}" if problem else "")
            self._save({"phase": VERIFYING})
        else:
            self._close(ABORTED, self.journal["reason"])

    def _write_former(self, entries: list[FileEntry]) -> str | None:
        """Bring files back to their former versions. Returns why it did not work."""

        def put() -> None:
            for entry in entries:
                self._put(entry, "after", "before")

        return self._persist(put)

    def _persist(self, action: t.Callable[[], None]) -> str | None:
        """Do a part of a restore, trying as long as that may take: a full disk may get space, a read-only one be mounted
        again. Returns why it did not work."""
        limit = self.clock() + RESTORE_SECONDS
        while True:
            try:
                action()
                return None
            except OSError as exc:
                if self.clock() >= limit:
                    return str(exc)
                self._say(f"cannot be rolled back yet: {exc}")
            except EngineError as exc:
                return str(exc)
            self.sleep(POLL_SECONDS)

    def _verify(self) -> None:
        failure, observation = self._watch_until_healthy()
        edited = self._edited()
        self.journal["unverified"] = []
        for text in self.watcher.unverified() if failure is None else ():
            add_unverified(self.journal, text)
        if edited is None and (failure is None or not self.journal["before"]["healthy"]):
            # What was broken before need not be healthy now: it is as it was.
            self._close(ROLLED_BACK, self.journal["reason"], observation)
        else:
            failure = edited or failure
            self._close(ALARM, f"{self.journal['reason']}; rolled back to the former files, but {failure}", observation)

    _PHASES: t.ClassVar[dict[str, t.Callable[[Engine], None]]] = {
        PREPARED: _prepare,
        APPLYING: _apply,
        WAITING: _wait,
        CONFIRMING: _confirm,
        ROLLING_BACK: _restore,
        VERIFYING: _verify,
    }

    # -- waiting -------------------------------------------------------------------------------------------------------

    def _watch_until_healthy(self) -> tuple[str | None, Observation]:
        """Watch until the wanted instance was healthy for min_ready_seconds without a break.

        Returns why not (None: it was), and the last look. The time limit is for becoming healthy; the seconds of
        verifying come on top.
        """
        if self.journal.get("deadline") is None:
            self._save({"deadline": self.clock() + self._patience()})
        ready_since: float | None = None
        identity: Process | None = None
        while True:
            observation = self.watcher.look()
            now = self.clock()
            self._measure(observation)
            edited = self._edited()
            if edited is not None:
                return edited, observation
            if not observation.healthy:
                ready_since = None
            elif ready_since is None or observation.process != identity:
                ready_since = now
            identity = observation.process
            if ready_since is not None:
                self._say(f"is healthy, watched for {self.journal['min_ready_seconds']} s")
                left = ready_since + self.journal["min_ready_seconds"] - now
                if left <= 0:
                    return None, observation
                self.sleep(min(POLL_SECONDS, left))
            else:
                failure = self._given_up(observation, now)
                if failure:
                    return failure, observation
                self._say(observation.missing())
                self._trigger(observation, now)
                self.sleep(POLL_SECONDS)

    def _trigger(self, observation: Observation, now: float) -> None:
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
            self._save({"triggered": True, "deadline": max(self._deadline(), now + REVIVAL_SECONDS)})
            self.watcher.trigger()

    def _deadline(self) -> float:
        """Until when what is waited for may take; what was given no time has none left."""
        return self.journal.get("deadline") or 0.0

    def _patience(self) -> float:
        """Seconds for becoming healthy."""
        wanted = float(self.journal["wait_timeout"])
        restores = self.journal["phase"] == VERIFYING and self.journal["before"]["healthy"]
        return max(wanted, RESTORE_SECONDS) if restores else wanted

    def _given_up(self, observation: Observation, now: float) -> str | None:
        name = self.journal["name"]
        if observation.hopeless:
            return f"{name} {observation.hopeless}"
        never_ready = self.journal["phase"] == WAITING and WAITING not in self.journal["times"]
        if never_ready and observation.crashes >= self.watcher.max_crashes:
            return f"{name} crashed {observation.crashes} times and was never ready"
        if now < self._deadline():
            return None
        return (
            f"{name} was not healthy within {self._patience():.0f} s: it {observation.missing()} ({'; '.join(observation.probes)})"
            f"{self._backups()}{self._blocker()}"
        )

    def _blocker(self) -> str:
        found = self.watcher.blocker()
        return f"; {found}" if found else ""

    def _backups(self) -> str:
        found = [path for entry in self.journal["files"] if entry["switch"] for path in backups_of(entry["path"])]
        return f"; the kubelet also reads {', '.join(found)}: move it out of the directory" if found else ""

    def _time(self, event: str) -> None:
        """Note when an event happened first, by the monotonic clock."""
        if event not in self.journal["times"]:
            self.journal["times"][event] = self.clock()
            self._save()

    def _measure(self, observation: Observation) -> None:
        """Note when the probes failed first after the switch, when they passed again, and when all was well."""
        times = self.journal["times"]
        if not observation.probes_ok:
            self._time("down")
            times.pop("up", None)
        elif "down" in times:
            self._time("up")
        if observation.healthy:
            self._time(self.journal["phase"])

    # -- the end -------------------------------------------------------------------------------------------------------

    def _close(self, outcome: str, reason: str | None, observation: Observation | None = None) -> None:
        times, now, phase = self.journal["times"], self.clock(), self.journal["phase"]
        result: Result = {
            "outcome": outcome,
            "reason": reason,
            "healthy": observation.healthy if observation else None,
            "ended": utc_now(),
            "seconds": _span(times.get("began"), now),
            "restart_seconds": _span(times.get("switched"), times.get(WAITING if phase in ON_TRIAL else phase)),
            "outage_seconds": _span(times.get("down"), times.get("up", now)) or 0.0,
            "proof": self.watcher.proof(observation) if observation else None,
            "confirmed": None if self.journal.get("confirm_timeout") is None else self._is_confirmed(),
            "notes": self.journal.get("notes", []),
            "log": [hide(line, self.journal["watch"].get("hidden", {})) for line in self.journal.get("log", [])],
        }
        self.journal.update({"phase": CLOSED, "result": result})
        if outcome == COMMITTED:
            for directory in self.journal.get("obsolete", []):
                with contextlib.suppress(OSError):  # another program uses it by now
                    os.rmdir(safe_path(directory, follows=False))

    def _file_away(self) -> None:
        """Move the closed journal to the history, which keeps the last ones and always the last known good."""
        self._insist()
        # As long as the journal is open, a killed engine is followed by one that says it again.
        self._say(result_of(self.journal)["outcome"])
        file_journal(self.directory, self.journal["id"])
        with contextlib.suppress(OSError):  # it names a transaction that is over
            remove(self.path(CONFIRMED))
        prune_history(self.directory)

    def _insist(self) -> None:
        """Keep the outcome, however long the disk is full: it would be unknown otherwise."""
        limit = self.clock() + RESTORE_SECONDS
        while True:
            try:
                save_journal(self.directory, self.journal)
                return
            except OSError:
                if self.clock() >= limit:
                    raise
            self.sleep(POLL_SECONDS)


def _span(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else round(end - start, 2)
