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
from .file_versions import refuse_unsafe, with_target
from .planned_journal import TransactionSettings
from .state import Run, Unusable

# Between two looks: a few small files, a lock, and a question to systemd.
_LOOK_SECONDS = 1.0


_EVERY = ""  # no component is called like that


class LockWait:
    """The time of one call of a module to wait for others, over all the components that it is about. seconds: counted from now on."""

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

    def until_free(self, name: str, run: Run) -> bool:
        """Wait until nothing else is at work that would keep a change of this component out. Whether there was something to wait for.

        Without seconds it does not look. Raises Busy with what is still at work when the time is over.
        """
        waited = False
        while self._seconds > 0:
            try:
                engine_service.refuse_others(name, run=run)
                break
            except Busy:
                if self._clock() >= self._limit:
                    raise
            waited = True
            self._sleep(_LOOK_SECONDS)
        return waited

    def until_node_free(self, names: t.Iterable[str], run: Run) -> None:
        """The same for several components. Then it raises Busy where any other is at work: the kubelet may be away for its own change."""
        for name in names:
            self.until_free(name, run)
        engine_service.refuse_beside_another(_EVERY, run=run)


class DesiredState(t.Protocol):
    """What a module is asked for."""

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
class Earlier:
    """What earlier runs left to tell or to do. previous: a transaction that ended and that was not followed. open: one that waits to be
    taken up again. trouble: what of that is not known, and why. rollback: the change that C(state=previous) reverts.
    """

    previous: dict[str, t.Any] | None = None
    open: Journal | None = None
    trouble: tuple[str, ...] = ()
    rollback: Rollback | None = None


@dataclasses.dataclass
class Told:
    """What every result says, whichever step fails: noted as soon as it is known. unverified: what of the component cannot be verified, or
    will not be after the change, each with the reason. foreseen: those of them that the change itself will show."""

    node: str | None = None
    cluster: ClusterIdentity = dataclasses.field(default_factory=ClusterIdentity)
    earlier: Earlier = Earlier()
    transaction: dict[str, t.Any] | None = None
    unverified: list[str] = dataclasses.field(default_factory=list)
    foreseen: list[str] = dataclasses.field(default_factory=list)
    busy: bool = False


class TransactionSteps(t.Generic[Desired]):
    """One run of such a module. The subclass parses the desired state, reads, plans, rehearses and writes the journal."""

    unrehearsed = ""
    # The options that have no meaning beside C(state=previous).
    _beside_previous: tuple[str, ...] = ()

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
        """lock_wait: how long others are waited for, when not for the seconds of C(lock_timeout) from now on."""
        self._params = params
        self._name = name
        self._diff = diff
        self._run = run
        self._host = host
        self._lock_wait = lock_wait or LockWait(params["lock_timeout"])
        self._told = Told()

    @functools.cached_property
    def _desired(self) -> Desired:
        """The desired state. Raises Refusal."""
        if self._is_revert:
            refuse_settings(self._params, self._beside_previous)
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
        """Check what was asked, wait for others, finish what an earlier run left open, then keep other runs out.

        Raises Busy, Refusal.
        """
        dummy = self._desired, self._settings  # what makes no sense is refused before anything is waited for
        try:
            waited = self._lock_wait.until_free(self._name, self._run)
            if not dry:
                if waited:
                    # The controller may be gone meanwhile. While it is there, it starts another call.
                    raise Busy(messages.waited(self._name))
                self._recover()
            # Before anything is looked at that the change of another component upsets; start() asks again, with the node's lock.
            engine_service.refuse_beside_another(self._name, run=self._run)
            with engine_service.exclusive(self._name, dry=dry):
                yield
        except Busy:
            self._told.busy = True
            raise

    def _recover(self) -> None:
        identifier = engine_service.recover(self._name, run=self._run)
        if identifier is not None:
            engine_service.wait_for_end(self._name, identifier, run=self._run, clock=time.monotonic, sleep=time.sleep)

    def _read_transactions(self, node: str) -> Earlier:
        """See what earlier runs left to tell or to do, and what is to be reverted."""
        try:
            earlier = Earlier(previous=journal_history.unreported(self._name))
        except Unusable as exc:  # it is over; what it was is not known
            earlier = Earlier(trouble=(str(exc),))
        self._told.earlier = earlier
        left_open = engine_service.left_open(self._name, self._run)
        if left_open is not None and left_open["phase"] != PREPARED:
            self._told.earlier = earlier = dataclasses.replace(earlier, open=left_open)
        elif self._is_revert:
            self._told.earlier = earlier = dataclasses.replace(earlier, rollback=undo.find(self._name, node))
        return earlier

    def _notes(self, node: str, earlier: Earlier, *, dry: bool) -> list[str]:
        """Tell how a transaction ended that was not followed, once; and of one that waits to be taken up again."""
        notes = list(earlier.trouble)
        if earlier.open is not None:
            notes.append(messages.left_open(self._name, node, earlier.open["id"], earlier.open["phase"]))
        if earlier.previous is not None:
            notes.append(messages.report(self._name, node, earlier.previous))
            if self._params["acknowledge"] and not dry:
                journal_history.mark_followed(self._name, earlier.previous["id"])
        return notes

    def _revert_notes(self, earlier: Earlier) -> list[str]:
        """What the user should know of a change that is reverted."""
        return undo.notes(earlier.rollback, self._name, str(self._told.node))

    def _not_verified(self, unverified: t.Sequence[str], *, until_changed: bool = False) -> list[str]:
        """Note for the result what was not verified. Returns it as warnings. until_changed: whether a change itself will show it."""
        self._told.unverified += unverified
        self._told.foreseen += unverified if until_changed else ()
        return [messages.not_verified(self._name, str(self._told.node), what) for what in unverified]

    def _will_not_be_verified(self, unverified: t.Sequence[str]) -> list[str]:
        """The same of what the change itself will show."""
        self._told.unverified += unverified
        self._told.foreseen += unverified
        return [messages.will_not_be_verified(self._name, str(self._told.node), what) for what in unverified]

    def _with_reverts(self, verdict: Verdict, earlier: Earlier, operations: t.Sequence[t.Any]) -> Verdict:
        """The verdict of a rehearsal, which names what is only refused because it is reverted."""
        return rehearsal.with_reverts(verdict, () if earlier.rollback else operations, self._desired.values)

    def _unhealthy(self, missing: str, probes: t.Any, log: t.Sequence[str]) -> KubeadmError:
        """The failure of a component that is to stay as it is and is not healthy."""
        last = journal_history.last(self._name)
        return KubeadmError(messages.unwell(self._name, str(self._told.node), missing, probes, list(log), last))

    def finish(self, observed: object, plan: object, *, dry: bool) -> t.Sequence[str]:
        """What becomes of a change is seen by the node's engine."""
        return ()

    def _start(self, journal: Journal, earlier: Earlier) -> None:
        """Hand the change to the node's engine, as a rollback where it is one."""
        if earlier.rollback:
            journal = planned_journal.enter(journal, earlier.rollback)
        refuse_unsafe(entry["path"] for entry in journal["files"])
        engine_service.start(journal, run=self._run)
        self._told.unverified = [what for what in self._told.unverified if what not in self._told.foreseen]
        self._told.transaction = {
            "id": journal["id"],
            "requested": journal["requested"],
            "outcome": None,
            "longest_seconds": engine_service.longest_seconds(journal),
        }

    def _report(self, plan: Planned | None, diff: t.Sequence[t.Any]) -> dict[str, t.Any]:
        """The keys that the results of all these modules have. plan: None before there is one. diff: empty where none is to be shown."""
        told, left_open = self._told, self._told.earlier.open
        operations = plan.operations if plan else ()
        return {
            "name": self._name,
            "node": told.node,
            "cluster": dataclasses.asdict(told.cluster),
            "operations": [
                {
                    **change.described(),
                    "key": with_target(change.key) if change.field == "files" else change.key,
                }
                for change in operations
            ],
            "left_alone": self._left_alone(plan.record) if plan else {},
            "diff": [{**entry, "after_header": with_target(entry["after_header"])} for entry in diff],
            "transaction": told.transaction,
            "unverified": told.unverified,
            "previous_transaction": told.earlier.previous,
            "open_transaction": None if left_open is None else {"id": left_open["id"], "phase": left_open["phase"]},
            "busy": told.busy,
        }

    def _left_alone(self, record: Record) -> dict[str, list[str]]:
        """What we own and the task does not name, where it says all that there shall be. record: after the run."""
        if self._params["state"] != "present" or not self._params["purge"]:
            return {}
        return ownership.left_alone(record, self._params, self._desired.complete)
