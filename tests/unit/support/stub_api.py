# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(node_resource_info): answers as the host's variable C(stub_api) says, and notes the call."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

PLANE = "node-role.kubernetes.io/control-plane"


class ActionModule(ActionBase):
    """C(stub_api): C(rejected) and C(differences) by node; C(silent) or C(gone), which say that nothing is answered.

    C(devices): node -> how many devices a plugin offers there, a list with one number for each look at the node, the last for
    all that follow; C(silent) among them is a look without an answer.
    C(control_planes): the nodes that have the label of control planes.
    C(offered): node -> its extended resources, for a look at all nodes. C(others): nodes without any.
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
            "asks": self._task.delegate_to,
        }
        with open(os.environ["STUB_LOG"], "a+", encoding="utf-8") as log:
            log.seek(0)
            asked = [json.loads(line)["arguments"].get("nodes", []) for line in log if '"ask"' in line]
            log.write(json.dumps(call) + "\n")
        nodes = [*arguments.get("nodes", []), *arguments.get("kubelets", {})]
        devices = {name: self._devices(answer, name, sum(name in names for names in asked)) for name in nodes}
        if answer.get("gone"):
            raise AnsibleConnectionFailure("gone")
        if answer.get("silent") or "silent" in devices.values():
            return {"failed": True, "msg": "no credentials."}
        if not nodes:
            offered = {**{name: {} for name in answer.get("others", [])}, **answer.get("offered", {})}
            found = {name: {"labels": {}, "extended_resources": offered[name]} for name in offered}
            planes = {name: {"labels": {PLANE: ""}} for name in answer.get("control_planes", [])}
            return {"changed": False, "nodes": {**found, **planes}}
        found = {name: self._node(name, arguments, answer, devices[name]) for name in nodes}
        return {"changed": False, "nodes": found}

    @staticmethod
    def _devices(answer: dict[str, t.Any], name: str, looks: int) -> t.Any:
        offered = answer.get("devices", {}).get(name, [0])
        return offered[min(looks, len(offered) - 1)]

    @staticmethod
    def _node(name: str, arguments: dict[str, t.Any], answer: dict[str, t.Any], devices: int) -> dict[str, t.Any]:
        differences = answer.get("differences", {}).get(name, [])
        return {
            "extended_resources": {
                "example.com/dongle": {"allocatable": str(devices), "device_plugin": True},
                # What nobody waits for.
                "example.com/patched": {"allocatable": str(devices), "device_plugin": False},
            }
            if devices is not None
            else {},
            "readmission": answer.get("rejected", {}).get(name, []) if arguments.get("readmission") else None,
            "kubelet": {"config": {}, "differences": differences} if "kubelets" in arguments else None,
        }
