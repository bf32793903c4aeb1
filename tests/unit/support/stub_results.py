# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that one host asks for all: answers as a variable says, and notes the call."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.plugins.action import ActionBase

DEFAULTS: dict[str, tuple[str, dict[str, t.Any]]] = {
    "pod_resize": (
        "stub_pods",
        {
            "changed": True,
            "pods": {name: {"outcome": "resized", "msg": ""} for name in ("web-1", "web-2")},
            "templates": {"Deployment/web": {"changed": False, "differs": True}},
        },
    ),
    "placement_guard": (
        "stub_guard",
        {
            "changed": True,
            "enforced": True,
            **{name: [] for name in ("added", "removed", "stale", "untainted")},
            "nodes": ["w1"],
            "summary": ["guard refuses; protected: w1"],
        },
    ),
}


class ActionModule(ActionBase):
    """C(stub_pods), C(stub_guard): the result of the module.

    The defaults are pods that were resized with a template that differs, and a guard for one node.
    """

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask nobody."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        component = self._task.action.rpartition(".")[2]
        call = {
            "step": "plan" if self._task.check_mode else "change",
            "host": variables["inventory_hostname"],
            "component": component,
            "arguments": self._templar.template(self._task.args),
            "becomes": self._connection.become is not None,
            "asks": self._task.delegate_to,
        }
        with open(os.environ["STUB_LOG"], "a", encoding="utf-8") as log:
            log.write(json.dumps(call) + "\n")
        name, default = DEFAULTS[component]
        return dict(self._templar.template(variables.get(name, default)))
