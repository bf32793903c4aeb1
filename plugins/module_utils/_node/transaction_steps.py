# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What the modules that change a node in a transaction have in common, for the runner."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import typing as t

from .._engine.files import Json
from .._engine.journal import PREPARED, Journal
from .._engine.node import NODE, Host
from .._plan.common.errors import Busy
from .._plan.kubernetes.clusters import ClusterIdentity
from .._plan.transaction import messages
from . import transaction_log, transactions
from .journals import TransactionSettings
from .lock_wait import LockWait
from .state import Run, Unusable


class TransactionSteps:
    """One run of such a module. The subclass parses the wish, reads, plans, rehearses and writes the journal."""

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        name: str,
        dry: bool,
        diff: bool,
        run: Run,
        host: Host = NODE,
        lock_wait: LockWait | None = None,
    ) -> None:
        """lock_wait: how long others are waited for, when not for the seconds of C(lock_timeout) from now on."""
        self._params = params
        self._name = name
        self._dry = dry
        self._diff = diff
        self._run = run
        self._host = host
        self._lock_wait = lock_wait or LockWait(params["lock_timeout"])
        self._node: str | None = None
        self._cluster = ClusterIdentity()
        self._settings: TransactionSettings | None = None
        self._transaction: Json | None = None
        self._previous: Json | None = None
        self._open: Journal | None = None
        self._trouble: list[str] = []
        self._busy = False

    def _parse(self) -> None:
        """Check what was asked. Raises Refusal."""
        raise NotImplementedError

    @contextlib.contextmanager
    def session(self) -> t.Iterator[None]:
        """Check what was asked, wait for others, finish what an earlier run left open, then keep other runs out.

        Raises Busy, Refusal.
        """
        self._parse()
        self._settings = TransactionSettings.of(self._params)
        try:
            waited = self._lock_wait.until_free(self._name, self._run)
            if not self._dry:
                if waited:
                    # The controller may be gone meanwhile. While it is there, it starts another call.
                    raise Busy(messages.waited(self._name))
                self._recover()
            # Before anything is looked at that the change of another component upsets; start() asks again, with the node's lock.
            transactions.refuse_beside_another(self._name, run=self._run)
            with transactions.exclusive(self._name, dry=self._dry):
                yield
        except Busy:
            self._busy = True
            raise

    def _recover(self) -> None:
        identifier = transactions.recover(self._name, run=self._run)
        if identifier is not None:
            transactions.wait_for_end(self._name, identifier, run=self._run, clock=time.monotonic, sleep=time.sleep)

    def _read_transactions(self) -> None:
        """See what earlier runs left to tell or to do."""
        try:
            self._previous = transaction_log.unreported(self._name)
        except Unusable as exc:  # it is over; what it was is not known
            self._trouble.append(str(exc))
        left_open = transactions.left_open(self._name, self._run)
        if left_open is not None and left_open["phase"] != PREPARED:
            self._open = left_open

    def notes(self) -> list[str]:
        """Tell how a transaction ended that nobody followed, once; and of one that waits to be taken up again."""
        notes = list(self._trouble)
        node = self._node or ""
        if self._open is not None:
            notes.append(messages.left_open(self._name, node, self._open["id"], self._open["phase"]))
        if self._previous is not None:
            notes.append(messages.report(self._name, node, self._previous))
            if not self._dry:
                transaction_log.mark_followed(self._name, self._previous["id"])
        return notes

    def _start(self, journal: Journal) -> None:
        """Hand the change to the node's engine."""
        transactions.start(journal, run=self._run)
        self._transaction = {
            "id": journal["id"],
            "requested": journal["requested"],
            "outcome": None,
            "longest_seconds": transactions.longest_seconds(journal),
        }

    def _report(self, operations: t.Sequence[t.Any], diff: t.Sequence[t.Any]) -> dict[str, t.Any]:
        """The keys that the results of all these modules have."""
        return {
            "name": self._name,
            "node": self._node,
            "cluster": dataclasses.asdict(self._cluster),
            "operations": [dataclasses.asdict(change) for change in operations],
            "diff": list(diff) if self._diff else [],
            "transaction": self._transaction,
            "previous_transaction": self._previous,
            "open_transaction": None if self._open is None else {"id": self._open["id"], "phase": self._open["phase"]},
            "busy": self._busy,
        }
