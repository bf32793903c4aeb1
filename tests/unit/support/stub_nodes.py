# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that change nodes through the API: answers as the host's C(stub_nodes) says, and notes the call."""

from __future__ import annotations

import json
import os
import time
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase


def wait_for(path: str) -> None:
    """Wait until a file is there, for a minute at most."""
    for _round in range(600):
        if os.path.exists(path):
            return
        time.sleep(0.1)
    raise AssertionError(f"{path} never came")


class ActionModule(ActionBase):
    """C(stub_nodes): module -> nothing (the default), changes, waits (nothing, when the file beside the log is there), fails (as a whole), or gone."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask nobody."""
        super().run(tmp, task_vars)
        arguments = self._templar.template(self._task.args)
        call = {
            "step": "plan" if self._task.check_mode else "change",
            "host": (task_vars or {})["inventory_hostname"],
            "component": self._task.action.rpartition(".")[2],
            "arguments": arguments,
            "becomes": self._connection.become is not None,
            "asks": self._task.delegate_to,
        }
        with open(os.environ["STUB_LOG"], "a", encoding="utf-8") as log:
            log.write(json.dumps(call) + "\n")
        behaviour = self._templar.template((task_vars or {}).get("stub_nodes", {})).get(call["component"], "nothing")
        if behaviour == "gone":
            raise AnsibleConnectionFailure("gone")
        if behaviour == "waits":
            wait_for(os.environ["STUB_LOG"] + ".go")
        if behaviour == "fails":
            return {"failed": True, "changed": False, "msg": "there are no usable credentials", "nodes": {}}
        changes = behaviour == "changes"
        operations = [{"field": "labels", "key": "a", "before": None, "after": "b"}] if changes else []
        node = {"changed": changes, "failed": False, "msg": "", "operations": operations}
        return {"changed": changes, "nodes": dict.fromkeys(arguments["per_node"], node)}
