# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for kubernetes.core's C(k8s) and C(k8s_info), and for C(device_plugin_info): answers as variables say, notes the call."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """C(stub_objects): kind -> the objects that are there. C(stub_same): nothing that is written changes anything.

    C(stub_selected): the nodes that get the plugin; none fails. C(stub_problems): what is wrong after the deployment.
    """

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask nobody."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        arguments = self._templar.template(self._task.args)
        component = self._task.action.rpartition(".")[2]
        call = {
            "step": "plan" if self._task.check_mode else "change",
            "host": variables["inventory_hostname"],
            "component": component,
            "arguments": arguments,
            "becomes": self._connection.become is not None,
            "asks": self._task.delegate_to,
            "environment": self._templar.template(self._task.environment),
        }
        with open(os.environ["STUB_LOG"], "a", encoding="utf-8") as log:
            log.write(json.dumps(call) + "\n")

        def said(name: str, default: t.Any) -> t.Any:
            return self._templar.template(variables.get(name, default))

        if component == "k8s_info":
            return {"changed": False, "resources": said("stub_objects", {}).get(arguments["kind"], [])}
        if component == "k8s":
            return {"changed": not said("stub_same", False)}
        selected = said("stub_selected", ["node-w1", "node-w2"])
        if not selected:
            return {"failed": True, "msg": "no node gets the device plugin"}
        problems = said("stub_problems", []) if arguments.get("wait") else [f"{name}: nothing" for name in selected]
        return {
            "changed": False,
            "selected": selected,
            "problems": problems,
            "waited_seconds": 300.0 if problems else 0.0,
            "summary": problems or [f"{name}: example.com/dongle 4" for name in selected],
            "nodes": {name: {"problem": ""} for name in selected},
        }
