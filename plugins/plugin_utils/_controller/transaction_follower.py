# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action plugin of modules that start a transaction: runs the module of its task and follows the transaction to its end."""

from __future__ import annotations

import os
import time
import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.connection import ConnectionBase
from ansible.utils.display import Display

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.common.typed import Mapped
from ...module_utils._plan.transaction import messages as outcome
from ...module_utils._plan.transaction.messages import CONFIRMING, OBSERVING, Transaction
from ...module_utils._plan.transaction.results import StartedChange, TransactionProgress
from .confirmer import Confirmer
from .lock_waiter import show_progress

display = Display()

_FOLLOWER = "nodecraft.kubeadm.node_transaction"
_POLL_SECONDS = 5  # of one call of the follower, which costs 0.2 s of CPU; it returns earlier when there is news
_RECONNECT_SECONDS = 2
_RETRY_SECONDS = 1  # between two attempts to be able to confirm
# How often in a row an engine may be found not running before it is not waited for any more: systemd needs a moment to
# start it, and again after a fault.
_MAX_IDLE = 3
# On top of the time that a transaction can take at the most.
_GRACE_SECONDS = 120


class TransactionFollower(Confirmer):
    """The follower: waits for others, then progress lines, reconnects, and the outcome in the task's result."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module, and follow the transaction that it started, if it did."""
        result = super().run(tmp, task_vars)
        started = typed.parse(StartedChange, result)
        if not started.transaction.id or started.failed:
            return result
        try:
            ended, problem = self._follow_transaction(started, task_vars or {})
        except Refusal as exc:
            ended, problem = None, str(exc)
        if ended is None:
            result.update(failed=True, changed=True, msg=self._lost_message(started, problem))
            return result
        name, node = started.name, started.node
        transaction = typed.parse(Transaction, ended)
        if transaction.phase == OBSERVING:
            result.update(transaction=ended, changed=True)
            return result
        limits = [outcome.unverified_warning(name, node, what) for what in transaction.unverified]
        notes = [f"{node}: {name}: {note}" for note in transaction.notes]
        result.update(
            # What the preflight could not verify was warned of already.
            ended_result(name, node, ended, started.unverified),
            warnings=[*started.warnings, *notes, *limits],
        )
        return result

    def _follow_transaction(self, started: StartedChange, task_vars: dict[str, t.Any]) -> tuple[Mapped | None, str]:
        """The outcome of the transaction; None and why, when it was not seen in all the time that it can take, or nothing works on
        it. Raises Refusal when the node knows nothing of it: waiting would bring the same result."""
        started_at, idle_count, problem = time.monotonic(), 0, ""
        controller_pid = os.getppid()
        arguments: dict[str, t.Any] = {
            "name": started.name,
            "id": started.transaction.id,
            "wait": _POLL_SECONDS,
            "seen": "",
            "acknowledge": self._task.args.get("acknowledge", True),
        }
        while time.monotonic() - started_at < started.transaction.longest_seconds + _GRACE_SECONDS:
            if os.getppid() != controller_pid:
                # Killed without a chance to end its workers: the next run gets the result, and confirms.
                return None, "its controller was killed"
            progress, problem = self._poll_follower(arguments, task_vars)
            idle_count = 0 if progress is None or progress.running else idle_count + 1
            if progress is None:
                arguments["confirm"] = None  # the next result shows whether it arrived
                self._show_progress(
                    started, f"cannot be followed ({problem}), trying again; the node continues by itself", started_at
                )
                time.sleep(_RECONNECT_SECONDS)
                self._reconnect()
            elif progress.transaction:
                return progress.transaction, ""
            elif progress.phase == OBSERVING:  # who observes it ends it
                return {"id": started.transaction.id, "phase": OBSERVING}, ""
            elif not progress.running and idle_count >= _MAX_IDLE:
                return None, "its engine does not run"
            else:
                if progress.message != arguments["seen"]:
                    self._show_progress(started, progress.message, started_at)
                arguments.update(seen=progress.message, **self._confirmation_arguments(started, progress, started_at))
        silence = f" (the last question had no answer: {problem})" if problem else ""
        return None, f"it was followed for longer than it can take{silence}"

    def _confirmation_arguments(
        self, started: StartedChange, progress: TransactionProgress, started_at: float
    ) -> dict[str, t.Any]:
        """Arguments of the next call of the follower for a change that waits to be confirmed; without a confirmation it polls again soon."""
        if progress.phase != CONFIRMING or not self.confirms():
            return {"wait": _POLL_SECONDS, "confirm": None}
        problem = self.connection_problem()
        if problem:
            self._show_progress(
                started,
                f"waits for its confirmation, and confirm_url cannot be reached from this controller ({problem})",
                started_at,
            )
        return {"wait": _RETRY_SECONDS, "confirm": None if problem else started.transaction.id}

    def _poll_follower(
        self, arguments: dict[str, t.Any], task_vars: dict[str, t.Any]
    ) -> tuple[TransactionProgress | None, str]:
        """One call of the follower; None and why, when it had no result: the node is at work all the same.

        Raises Refusal when the follower itself declines. A confirmation that came too early or too late is no reason to stop following.
        """
        try:
            result = self._execute_module(_FOLLOWER, module_args=arguments, task_vars=task_vars)
        except AnsibleError as exc:
            return None, str(exc)
        progress = typed.parse(TransactionProgress, result)
        if "phase" in result:
            return progress, ""
        problem = str(result.get("msg", result))
        # Only the follower returns this. A connection that broke, or a node that is going down, leaves something else.
        if result.get("busy") is False and not arguments.get("confirm"):
            raise Refusal(problem)
        return None, problem

    def _reconnect(self) -> None:
        """Open the connection again, where it is one that stays open; the others would only warn that they cannot."""
        if type(self._connection).reset is ConnectionBase.reset:
            return
        try:
            self._connection.reset()
        except AnsibleError as exc:
            display.vvv(f"reset: {exc}")

    @staticmethod
    def _lost_message(started: StartedChange, problem: str) -> str:
        return (
            f"{started.node}: transaction {started.transaction.id} of {started.name} was started, but its end was not seen:"
            f" {problem.rstrip('.')}. Check systemctl status nodecraft-kubeadm@{started.name} on the node; the next run resumes the"
            " transaction and reports its end."
        )

    def _show_progress(self, started: StartedChange, message: str, started_at: float) -> None:
        show_progress(f"{started.node}: {started.name} {message}", time.monotonic() - started_at)


def ended_result(name: str, node: str, ended: Mapped, unverified: t.Iterable[str]) -> dict[str, t.Any]:
    """The keys of a task's result that the end of its transaction sets. unverified: what was known of that before."""
    transaction = typed.parse(Transaction, ended)
    failure = outcome.failure_message(name, node, ended)
    return {
        "transaction": ended,
        "unverified": list(dict.fromkeys([*unverified, *transaction.unverified])),
        "changed": outcome.has_changed_node(transaction.outcome),
        **({"failed": True, "msg": failure} if failure else {}),
    }
