# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the modules that change a node in a transaction have in common, for the runner."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
import typing as t

from ..._engine.journal import PREPARED, Journal
from ..._engine.node import NODE, Host
from ..._plan.common import ownership
from ..._plan.common.errors import Busy, KubeadmError
from ..._plan.common.ownership import Change, Record, Values
from ..._plan.common.verdict import Verdict
from ..._plan.kubernetes.clusters import ClusterIdentity
from ..._plan.transaction import messages, rehearsal
from ..._plan.transaction.previous_change import PREVIOUS, Rollback, refuse_settings
from . import engine_service, journal_history, planned_journal, undo
from .file_versions import path_with_target, refuse_unsafe
from .planned_journal import TransactionSettings
from .state import Run, Unusable

# Between two checks: a few small files, a lock, and a call of systemctl.
_POLL_INTERVAL = 1.0


_NO_COMPONENT = ""  # no component is called like that


class LockWait:
    """How long one call of a module may wait for others, for all its components together. seconds: from now on."""

    def __init__(
        self,
        seconds: float,
        *,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self._seconds = seconds
        self._limit = clock() + seconds
        self._clock = clock
        self._sleep = sleep

    def wait_until_free(self, name: str, run: Run) -> bool:
        """Wait until no other run or engine prevents a change of this component. Returns whether there was one.

        Without seconds it does not check. Raises Busy with the one that is still active when the time is over.
        """
        waited = False
        while self._seconds > 0:
            try:
                engine_service.refuse_busy_component(name, run=run)
                break
            except Busy:
                if self._clock() >= self._limit:
                    raise
            waited = True
            self._sleep(_POLL_INTERVAL)
        return waited

    def wait_until_node_free(self, names: t.Iterable[str], run: Run) -> None:
        """The same for several components. Then it raises Busy where any other is active: the kubelet may be away for its own change."""
        for name in names:
            self.wait_until_free(name, run)
        engine_service.refuse_busy_node(_NO_COMPONENT, run=run)


class DesiredState(t.Protocol):
    """What a task requests of a module."""

    @property
    def values(self) -> Values:
        """The settings by field and name."""

    @property
    def complete(self) -> frozenset[str]:
        """The fields of which everything else that we own goes back."""


class Planned(t.Protocol):
    """What a run will do to one component."""

    @property
    def operations(self) -> tuple[Change, ...]:
        """What changes."""

    @property
    def record(self) -> Record:
        """What we own afterwards."""


Desired = t.TypeVar("Desired", bound=DesiredState)


@dataclasses.dataclass(frozen=True)
class PreviousTransactions:
    """What earlier runs left to report or to do. unreported: a transaction that ended and no run has reported. open: one that waits to be
    resumed. problems: what of that is not known, and why. rollback: the change that C(state=previous) reverts.
    """

    unreported: dict[str, t.Any] | None = None
    open: Journal | None = None
    problems: tuple[str, ...] = ()
    rollback: Rollback | None = None


@dataclasses.dataclass
class ResultContext:
    """What every result holds, whichever step fails: recorded as soon as it is known. unverified: what of the component cannot be verified, or
    will not be after the change, each with the reason. verified_by_change: those that the change itself will verify."""

    node: str | None = None
    cluster: ClusterIdentity = dataclasses.field(default_factory=ClusterIdentity)
    previous: PreviousTransactions = PreviousTransactions()
    transaction: dict[str, t.Any] | None = None
    unverified: list[str] = dataclasses.field(default_factory=list)
    verified_by_change: list[str] = dataclasses.field(default_factory=list)
    busy: bool = False


class TransactionSteps(t.Generic[Desired]):
    """One run of such a module. The subclass parses the desired state, reads, plans, rehearses and writes the journal."""

    unrehearsed = ""
    # The options that have no meaning beside C(state=previous).
    _conflicts_with_previous: tuple[str, ...] = ()

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        name: str,
        diff: bool,
        run: Run,
        host: Host = NODE,
        lock_wait: LockWait | None = None,
    ) -> None:
        """lock_wait: of this call; by default C(lock_timeout) seconds."""
        self._params = params
        self._name = name
        self._diff = diff
        self._run = run
        self._host = host
        self._lock_wait = lock_wait or LockWait(params["lock_timeout"])
        self._context = ResultContext()

    @functools.cached_property
    def _desired(self) -> Desired:
        """The desired state. Raises Refusal."""
        if self._is_revert:
            refuse_settings(self._params, self._conflicts_with_previous)
        return self._parse()

    def _parse(self) -> Desired:
        """The desired state that the options name. Raises Refusal."""
        raise NotImplementedError

    @property
    def _is_revert(self) -> bool:
        return bool(self._params["state"] == PREVIOUS)

    @functools.cached_property
    def _settings(self) -> TransactionSettings:
        return TransactionSettings.of(self._params)

    @contextlib.contextmanager
    def session(self, *, dry: bool) -> t.Iterator[None]:
        """Check the parameters, wait for others, finish what an earlier run left open, then keep other runs out.

        Raises Busy, Refusal.
        """
        dummy = self._desired, self._settings  # what makes no sense is refused before anything is waited for
        try:
            waited = self._lock_wait.wait_until_free(self._name, self._run)
            if not dry:
                if waited:
                    # The controller may be gone meanwhile. While it is there, it starts another call.
                    raise Busy(messages.lock_wait_message(self._name))
                self._recover()
            # Before anything is read that the change of another component upsets; start_engine() checks again, with the node's lock.
            engine_service.refuse_busy_node(self._name, run=self._run)
            with engine_service.hold_lock(self._name, dry=dry):
                yield
        except Busy:
            self._context.busy = True
            raise

    def _recover(self) -> None:
        identifier = engine_service.resume_transaction(self._name, run=self._run)
        if identifier is not None:
            engine_service.wait_for_end(self._name, identifier, run=self._run, clock=time.monotonic, sleep=time.sleep)

    def _read_transactions(self, node: str) -> PreviousTransactions:
        """Read what earlier runs left to report or to do, and what is to be reverted."""
        try:
            previous = PreviousTransactions(unreported=journal_history.unreported_outcome(self._name))
        except Unusable as exc:  # it is over; what it was is not known
            previous = PreviousTransactions(problems=(str(exc),))
        self._context.previous = previous
        left_open = engine_service.read_stopped_journal(self._name, self._run)
        if left_open is not None and left_open["phase"] != PREPARED:
            previous = dataclasses.replace(previous, open=left_open)
        elif self._is_revert:
            previous = dataclasses.replace(previous, rollback=undo.find_rollback(self._name, node))
        self._context.previous = previous
        return previous

    def _transaction_warnings(self, node: str, previous: PreviousTransactions, *, dry: bool) -> list[str]:
        """Report an unreported transaction once, and one that waits to be resumed."""
        notes = list(previous.problems)
        if previous.open is not None:
            notes.append(messages.open_message(self._name, node, previous.open["id"], previous.open["phase"]))
        if previous.unreported is not None:
            notes.append(messages.report_message(self._name, node, previous.unreported))
            if self._params["acknowledge"] and not dry:
                journal_history.set_reported(self._name, previous.unreported["id"])
        return notes

    def _revert_warnings(self, previous: PreviousTransactions) -> list[str]:
        """Warnings about a change that is reverted."""
        return undo.warnings(previous.rollback, self._name, str(self._context.node))

    def _record_unverified(self, unverified: t.Sequence[str], *, until_changed: bool = False) -> list[str]:
        """Record what was not verified. Returns warnings. until_changed: whether the change itself will verify it."""
        self._context.unverified += unverified
        self._context.verified_by_change += unverified if until_changed else ()
        return [messages.unverified_warning(self._name, str(self._context.node), what) for what in unverified]

    def _record_unverifiable(self, unverified: t.Sequence[str]) -> list[str]:
        """The same of what the change itself will verify."""
        self._context.unverified += unverified
        self._context.verified_by_change += unverified
        return [messages.unverifiable_warning(self._name, str(self._context.node), what) for what in unverified]

    def _with_reverts(self, verdict: Verdict, previous: PreviousTransactions, operations: t.Sequence[t.Any]) -> Verdict:
        """The verdict of a rehearsal, which names what is only refused because it is reverted."""
        return rehearsal.name_reverts(verdict, () if previous.rollback else operations, self._desired.values)

    def _unhealthy_error(self, missing: str, probes: t.Any, log: t.Sequence[str]) -> KubeadmError:
        """The failure of a component that is to stay as it is and is not healthy."""
        last = journal_history.last_outcome(self._name)
        return KubeadmError(
            messages.unhealthy_message(self._name, str(self._context.node), missing, probes, list(log), last)
        )

    def finish(self, observed: object, plan: object, *, dry: bool) -> t.Sequence[str]:
        """The node's engine verifies a change."""
        return ()

    def _start(self, journal: Journal, previous: PreviousTransactions) -> None:
        """Hand the change to the node's engine, as a rollback where it is one."""
        if previous.rollback:
            journal = planned_journal.make_rollback(journal, previous.rollback)
        refuse_unsafe(entry["path"] for entry in journal["files"])
        engine_service.start_engine(journal, run=self._run)
        context = self._context
        context.unverified = [what for what in context.unverified if what not in context.verified_by_change]
        context.transaction = {
            "id": journal["id"],
            "requested": journal["requested"],
            "outcome": None,
            "longest_seconds": engine_service.longest_seconds(journal),
        }

    def _report(self, plan: Planned | None, diff: t.Sequence[t.Any]) -> dict[str, t.Any]:
        """The keys that the results of all these modules have. plan: None before there is one. diff: empty without --diff."""
        context, left_open = self._context, self._context.previous.open
        operations = plan.operations if plan else ()
        return {
            "name": self._name,
            "node": context.node,
            "cluster": dataclasses.asdict(context.cluster),
            "operations": [
                {
                    **change.to_result(),
                    "key": path_with_target(change.key) if change.field == "files" else change.key,
                }
                for change in operations
            ],
            "left_alone": self._left_alone(plan.record) if plan else {},
            "diff": [{**entry, "after_header": path_with_target(entry["after_header"])} for entry in diff],
            "transaction": context.transaction,
            "unverified": context.unverified,
            "previous_transaction": context.previous.unreported,
            "open_transaction": None if left_open is None else {"id": left_open["id"], "phase": left_open["phase"]},
            "busy": context.busy,
        }

    def _left_alone(self, record: Record) -> dict[str, list[str]]:
        """What we own and the task, which has purge, does not name. record: after the run."""
        if self._params["state"] != "present" or not self._params["purge"]:
            return {}
        return ownership.left_alone(record, self._params, self._desired.complete)
