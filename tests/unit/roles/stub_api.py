# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(node_resource_info): answers as the host's variable C(stub_api) says, and notes the call."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """C(stub_api): C(rejected) and C(differences) by node; C(silent) or C(gone), which say that nothing is answered.

    C(offered): node -> its extended resources, for a look at all nodes.
    """

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask nobody."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        arguments = self._templar.template(self._task.args)
        answer = self._templar.template(variables.get("stub_api", {}))
        call = {
            "step": "ask",
            "host": variables["inventory_hostname"],
            "component": "api",
            "arguments": arguments,
            "becomes": self._connection.become is not None,
        }
        with open(os.environ["STUB_LOG"], "a", encoding="utf-8") as log:
            log.write(json.dumps(call) + "\n")
        if answer.get("gone"):
            raise AnsibleConnectionFailure("gone")
        if answer.get("silent"):
            return {"failed": True, "msg": "no credentials."}
        if not arguments:
            offered = answer.get("offered", {})
            return {"changed": False, "nodes": {name: {"extended_resources": offered[name]} for name in offered}}
        nodes = [*arguments.get("nodes", []), *arguments.get("kubelets", {})]
        return {"changed": False, "nodes": {name: self._node(name, arguments, answer) for name in nodes}}

    @staticmethod
    def _node(name: str, arguments: dict[str, t.Any], answer: dict[str, t.Any]) -> dict[str, t.Any]:
        differences = answer.get("differences", {}).get(name, [])
        return {
            "readmission": answer.get("rejected", {}).get(name, []) if arguments.get("readmission") else None,
            "kubelet": {"config": {}, "differences": differences} if "kubelets" in arguments else None,
        }
