# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Starts a change by the module of the same name and follows the node's transaction to its end."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.plugins.connection import ConnectionBase
from ansible.utils.display import Display

from ..module_utils._plan import outcome

display = Display()

_FOLLOWER = "nodecraft.kubeadm.node_transaction"
_POLL_SECONDS = 5  # of one call of the follower; it returns earlier when there is news
_RECONNECT_SECONDS = 2
# How often in a row an engine may be found not running before nobody waits for it any more: systemd needs a moment to
# start it, and again after a fault.
_MAX_IDLE = 3
# On top of the time that a transaction can take at the most.
_PATIENCE_SECONDS = 120


class ActionModule(ActionBase):
    """The follower: progress lines, reconnects, and the outcome in the task's result."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module, and follow the transaction that it started, if it did."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        result.update(self._execute_module(task_vars=task_vars))
        result.pop("invocation", None)  # empty, because it would hold environment variables and file contents
        started = result.get("transaction")
        if not started or result.get("failed"):
            return result
        ended = self._follow(result, task_vars or {})
        if ended is None:
            result.update(failed=True, changed=True, msg=self._lost(result))
            return result
        result["transaction"] = ended
        result["changed"] = outcome.changed(ended["outcome"])
        failure = outcome.failure(result["name"], result["node"], ended)
        if failure:
            result.update(failed=True, msg=failure)
        return result

    def _follow(self, result: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any] | None:
        """The outcome of the transaction; None when it was not seen in all the time that it can take, or nobody works on it."""
        began, asked_in_vain = time.monotonic(), 0
        longest = result["transaction"]["longest_seconds"] + _PATIENCE_SECONDS
        arguments = {"name": result["name"], "id": result["transaction"]["id"], "wait": _POLL_SECONDS, "seen": ""}
        while time.monotonic() - began < longest:
            news = self._ask(arguments, task_vars)
            asked_in_vain = 0 if news is None or news["running"] else asked_in_vain + 1
            if news is None:
                self._show(result, "cannot be followed, trying again; the node goes on by itself", began)
                time.sleep(_RECONNECT_SECONDS)
                self._reconnect()
            elif news["transaction"]:
                return t.cast("dict[str, t.Any]", news["transaction"])
            elif not news["running"] and asked_in_vain >= _MAX_IDLE:
                return None
            elif news["message"] != arguments["seen"]:
                self._show(result, news["message"], began)
                arguments["seen"] = news["message"]
        return None

    def _ask(self, arguments: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any] | None:
        """One call of the follower; None when it had no answer, for whatever reason: the node is at work all the same."""
        try:
            news: dict[str, t.Any] = self._execute_module(_FOLLOWER, module_args=arguments, task_vars=task_vars)
        except AnsibleError as exc:
            display.vvv(f"{_FOLLOWER}: {exc}")
            return None
        if "phase" not in news:
            display.vvv(f"{_FOLLOWER}: {news.get('msg', news)}")
            return None
        return news

    def _reconnect(self) -> None:
        """Open the connection anew, where it is one that stays open; the others would only warn that they cannot."""
        if type(self._connection).reset is ConnectionBase.reset:
            return
        try:
            self._connection.reset()
        except AnsibleError as exc:
            display.vvv(f"reset: {exc}")

    @staticmethod
    def _lost(result: dict[str, t.Any]) -> str:
        return (
            f"{result['node']}: transaction {result['transaction']['id']} of {result['name']} was started, but its end was not seen:"
            f" either the node was out of reach for longer than it can take, or its engine does not run. Ask systemctl status"
            f" nodecraft-kubeadm@{result['name']} on the node; the next run takes the transaction up again and reports its end."
        )

    @staticmethod
    def _show(result: dict[str, t.Any], message: str, began: float) -> None:
        # Standard output belongs to the callbacks, and some of them print JSON there.
        display.display(f"{result['node']}: {result['name']} {message}, {time.monotonic() - began:.0f} s", stderr=True)
