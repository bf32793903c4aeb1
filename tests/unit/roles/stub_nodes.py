# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that change nodes through the API: has nothing to change, and notes the call."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Every node is as it is asked for."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask nobody."""
        super().run(tmp, task_vars)
        arguments = self._templar.template(self._task.args)
        call = {
            "step": "plan" if self._task.check_mode else "change",
            "host": (task_vars or {})["inventory_hostname"],
            "component": self._task.action.rpartition(".")[2],
            "arguments": arguments,
        }
        with open(os.environ["STUB_LOG"], "a", encoding="utf-8") as log:
            log.write(json.dumps(call) + "\n")
        node = {"changed": False, "failed": False, "msg": "", "operations": []}
        return {"changed": False, "nodes": dict.fromkeys(arguments["per_node"], node)}
