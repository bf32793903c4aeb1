# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(pod_resize): answers as C(stub_pods) says, and notes the call."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """C(stub_pods): the module's result; the default is one pod that was resized, and a template that differs."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask nobody."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        call = {
            "step": "plan" if self._task.check_mode else "change",
            "host": variables["inventory_hostname"],
            "component": "pod_resize",
            "arguments": self._templar.template(self._task.args),
            "becomes": self._connection.become is not None,
        }
        with open(os.environ["STUB_LOG"], "a", encoding="utf-8") as log:
            log.write(json.dumps(call) + "\n")
        pods = {name: {"outcome": "resized", "msg": ""} for name in ("web-1", "web-2")}
        template = {"changed": False, "differs": True}
        default = {"changed": True, "pods": pods, "templates": {"Deployment/web": template}}
        return dict(self._templar.template(variables.get("stub_pods", default)))
