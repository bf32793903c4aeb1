# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Starts a change by the module of the same name and follows the node's transaction to its end."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..module_utils._plan import outcome

display = Display()

_FOLLOWER = "nodecraft.kubeadm.node_transaction"
_POLL_SECONDS = 5  # of one call of the follower; it returns earlier when there is news
_RECONNECT_SECONDS = 2
# On top of the time that a transaction can take at the most.
_PATIENCE_SECONDS = 120


class ActionModule(ActionBase):
    """The follower: progress lines, reconnects, and the outcome in the task's result."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module, and follow the transaction that it started, if it did."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        result.update(self._execute_module(task_vars=task_vars))
        result.pop("invocation", None)  # it holds environment variables and file contents
        started = result.get("transaction")
        if not started or result.get("failed"):
            return result
        ended = self._follow(result, task_vars or {})
        result["transaction"] = ended
        result["changed"] = outcome.changed(ended["outcome"])
        failure = outcome.failure(result["name"], result["node"], ended)
        if failure:
            result.update(failed=True, msg=failure)
        return result

    def _follow(self, result: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        began = time.monotonic()
        longest = result["transaction"]["longest_seconds"] + _PATIENCE_SECONDS
        arguments = {"name": result["name"], "id": result["transaction"]["id"], "wait": _POLL_SECONDS, "seen": ""}
        while time.monotonic() - began < longest:
            news = self._ask(arguments, task_vars)
            if news is None:
                self._show(result, "is out of reach, trying again; the node goes on by itself", began)
                time.sleep(_RECONNECT_SECONDS)
                self._reconnect()
            elif news["transaction"]:
                return t.cast("dict[str, t.Any]", news["transaction"])
            elif news["message"] != arguments["seen"]:
                self._show(result, news["message"], began)
                arguments["seen"] = news["message"]
        raise AnsibleActionFail(
            f"{result['node']}: transaction {arguments['id']} of {result['name']} was followed for {longest} s without seeing its"
            f" end. The node ends it by itself and the next run reports how; on the node, ask systemctl status"
            f" nodecraft-kubeadm@{result['name']}."
        )

    def _ask(self, arguments: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any] | None:
        """One call of the follower; None when the node cannot be reached."""
        try:
            news: dict[str, t.Any] = self._execute_module(_FOLLOWER, module_args=arguments, task_vars=task_vars)
        except AnsibleConnectionFailure:
            return None
        if "phase" in news:
            return news
        if news.get("failed") and "module_stdout" not in news:  # the module ran and has something to say
            raise AnsibleActionFail(news["msg"])
        return None

    def _reconnect(self) -> None:
        try:
            self._connection.reset()
        except (AnsibleConnectionFailure, NotImplementedError):
            display.vvv("the connection cannot be reset; the next call opens it anew")

    @staticmethod
    def _show(result: dict[str, t.Any], message: str, began: float) -> None:
        display.display(f"{result['node']}: {result['name']} {message}, {time.monotonic() - began:.0f} s")
